"""WordNet's senses learnt by a small net, so that a pipeline can know them without WordNet."""

from collections import Counter
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from thinc.api import Model, Softmax
from thinc.types import Floats2d, Ints1d

from ..errors import Errors
from ..layers.clusters import LOOKUPS, lookups_table, read_clusters
from ..layers.learned_senses import LearnedSenses
from ..layers.senses import CLASS_BITS, LANGUAGE, read_senses
from ..output.writing import check_file, write_file
from ..types import NET_SUFFIX
from .hash_nets import in_few_bytes, learn_net

PROBABILITIES = "lexeme_prob"  # of spacy-lookups-data
CLASSES = 1 << CLASS_BITS
LEAST = 0.97
HELD_OUT = 20_000  # words without a sense, of which it is only asked


class Size(NamedTuple):
    """Of the net, and of what it learns."""

    n_rows: int = 18_000
    width: int = 32
    n_hidden: int = 64
    n_paths: int = 1_000
    n_others: int = 100_000
    epochs: int = 30


class Learnt(NamedTuple):
    """What a net has learnt: shares of words for which it says what it is to say."""

    n_nouns: int
    n_others: int
    right: float  # of the nouns: their path
    others: float  # of the other words: none
    held_out: float  # of other words that it never saw: none


class Words(NamedTuple):
    """What is learnt: hashes of words, and which path each has; 0 for none."""

    hashes: Ints1d  # (n_words,) uint64
    labels: Ints1d  # (n_words,)
    paths: Ints1d  # (n_paths,) uint32, of label 1 and on
    held_out: Ints1d  # (n,) uint64, words without a sense


def distil_senses(source: str, output: Path, seed: int = 0, size: Size = Size()) -> Learnt:  # noqa: B008
    """Write what a net has learnt of WordNet, for 'senses' of longtail.RichEmbed.v1.

    source (str): "wordnet" for nltk's data, or a folder with the files of an English WordNet.
    output (Path): The file to write, *.npz; an earlier one is replaced.
    seed (int): Of weights and of the order of words. size (Size): Of the net.
    RETURNS (Learnt): What of it the net has learnt.
    RAISES (ValueError): L001, L262, L263, L268, L269, L402, L406, L432, L436, L437.
    """
    if output.suffix != NET_SUFFIX:
        fix = f"Name it {output.stem}{NET_SUFFIX}."
        raise ValueError(
            Errors.L001.format(name="output", rule=f"a file *{NET_SUFFIX}", value=f"{output}", fix=fix)
        )
    check_file(output, [Path(source)], f"{LearnedSenses._fields[-1]}.npy")
    words = read_words(source, size)
    senses = quantised(learn_senses(words, size, seed), words.paths)
    content = BytesIO()
    np.savez_compressed(content, **senses._asdict())
    write_file(output, content.getvalue())
    return check_learnt(senses, words)


def read_words(source: str, size: Size) -> Words:
    """The nouns that English Brown clusters know, with their paths, and frequent words that are none.

    A path that few nouns share becomes that of its class alone.

    source (str): WordNet, as for `read_senses`. size (Size): Of the net.
    RAISES (ValueError): L262, L263, L268, L269, L402, L406.
    """
    senses, clusters = read_senses(source), read_clusters(LOOKUPS, LANGUAGE)
    used = clusters.find(senses.keys) >= 0
    if not used.any():
        raise ValueError(Errors.L268.format(source=source, n=len(used)))
    nouns, paths = senses.keys[used], senses.paths[used]
    frequent = [path for path, _ in Counter(paths.tolist()).most_common(size.n_paths)]
    alone = sorted({path % CLASSES for path in paths.tolist()} - set(frequent))
    rows = {path: i for i, path in enumerate([*frequent, *alone], start=1)}
    labels = [rows.get(path) or rows[path % CLASSES] for path in paths.tolist()]
    words = frequent_words()
    words = words[senses.find(words) < 0]
    others, rest = words[: size.n_others], words[size.n_others :]
    return Words(
        np.concatenate([nouns, others]),
        np.array([*labels, *[0] * len(others)]),
        np.array(list(rows), dtype="uint32"),
        rest[:HELD_OUT],
    )


@cache  # it takes seconds
def frequent_words() -> Ints1d:
    """Hashes of English words as they are written, the most probable one first.

    RAISES (ValueError): L406.
    """
    table = lookups_table(LANGUAGE, PROBABILITIES)
    words = np.fromiter(table, dtype="uint64", count=len(table))
    log_p = np.fromiter(table.values(), dtype="float64", count=len(table))
    found: Ints1d = words[np.argsort(-log_p, kind="stable")]
    return found


def learn_senses(words: Words, size: Size, seed: int) -> Model[Ints1d, Floats2d]:
    """Train the net. seed (int): Of weights and of the order."""

    def gradient(batch: Ints1d, guesses: Floats2d) -> Floats2d:
        guesses[np.arange(len(batch)), words.labels[batch]] -= 1
        return guesses / len(batch)

    return learn_net(
        words.hashes,
        gradient,
        partial(Softmax, 1 + len(words.paths), size.n_hidden),
        n_rows=size.n_rows,
        width=size.width,
        n_hidden=size.n_hidden,
        epochs=size.epochs,
        seed=seed,
    )


def quantised(net: Model[Ints1d, Floats2d], paths: Ints1d) -> LearnedSenses:
    """The net in few bytes, with what its outputs stand for."""
    return LearnedSenses(*in_few_bytes(net), paths, np.array([LEAST], dtype="float32"))


def check_learnt(senses: LearnedSenses, words: Words) -> Learnt:
    """How much of the words a net has learnt."""
    is_right = 1 + senses.find(words.hashes) == words.labels
    is_noun = words.labels > 0
    none = senses.find(words.held_out) < 0
    shares = (float(right.mean()) for right in (is_right[is_noun], is_right[~is_noun], none))
    return Learnt(int(is_noun.sum()), int((~is_noun).sum()), *shares)
