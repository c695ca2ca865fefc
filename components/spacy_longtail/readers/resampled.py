"""Resampling: each sentence as often as a policy says."""

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Literal

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from wasabi import table

from ..counts import CorpusCounts, count_doc
from ..errors import Errors
from ..types import Repeats
from .base import Reader, Unit, units

SHUFFLE_BUFFER = 2_000  # examples held back so that copies do not share a batch
JOIN_LIMIT = 10  # sentences: enough for a model to see what borders on what


class ResampledCorpus:
    """Yield each sentence of a corpus as often as a resampling policy says.

    The corpus is read twice: a counting pass that fits the policy and keeps one number a sentence,
    and a pass that yields. A sentence and its copies are the same object, until they are joined.

    Models that read over sentence borders must see borders in training: trained on single sentences
    and used on documents, spaCy's HashEmbedCNN loses several points of F1 (docs/resampling.md). `join`
    therefore makes training documents of about the corpus's own number of sentences.

    corpus (Callable): The reader to resample, nlp to examples, such as spacy.Corpus.v1.
    repeats (Repeats): The policy, such as longtail.sCR.v1.
    unit (str): "sentence" splits documents where sentence boundaries are annotated; "doc" keeps them.
    join (Optional[int]): Resampled sentences that make one training document, in the shuffled order;
        null takes the corpus's mean sentences a document, at most 10. 1 yields single sentences.
    mode (str): "repeat" yields every copy. "sample" draws `epoch_size` sentences an epoch, with
        replacement and in proportion to their copies; it needs [training] max_epochs = -1.
    epoch_size (Optional[int]): Sentences an epoch in mode "sample"; null is the corpus size.
    augmenter (Optional[Callable]): A spaCy augmenter for copies 2..n; null leaves copies alike.
    seed (int): Fixes the draws and the order. Call i of one instance uses (seed, i).
    RAISES (ValueError): L102, L103, L104, L106 when built or first called; L101, L105 while reading.
    SOURCE: Wang & Wang 2022; mode "sample" is ours (METHODS section 1).
    """

    def __init__(
        self,
        corpus: Reader,
        repeats: Repeats,
        unit: Unit = "sentence",
        join: int | None = None,
        mode: Literal["repeat", "sample"] = "repeat",
        epoch_size: int | None = None,
        augmenter: Callable[[Language, Example], Iterator[Example]] | None = None,
        seed: int = 0,
    ) -> None:
        if not callable(getattr(repeats, "fit", None)):
            raise ValueError(Errors.L103.format(found=type(repeats).__name__))
        if epoch_size is not None and (mode == "repeat" or int(epoch_size) < 1):
            raise ValueError(Errors.L104.format(value=epoch_size, mode=mode))
        if join is not None and (
            isinstance(join, bool) or int(join) < 1 or (unit == "doc" and join > 1)
        ):
            raise ValueError(Errors.L106.format(value=join, unit=unit))
        self.corpus = corpus
        self.repeats = repeats
        self.unit: Unit = unit
        self.join = join
        self.mode = mode
        self.epoch_size = epoch_size
        self.augmenter = augmenter
        self.seed = int(seed)
        self._copies: list[int] | None = None
        self._calls = 0

    def __call__(self, nlp: Language) -> Iterator[Example]:
        """nlp (Language): The current pipeline.
        YIELDS (Example): The resampled examples, in a seeded order where spaCy does not shuffle."""
        max_epochs = nlp.config["training"].get("max_epochs", 0)
        if self.mode == "sample" and max_epochs != -1:
            raise ValueError(Errors.L102.format(found=max_epochs))
        if self._copies is None:
            self._copies = self._count(nlp)
        rng = random.Random(f"{self.seed}/{self._calls}")
        self._calls += 1
        copies = self._copies if self.mode == "repeat" else self._draw(self._copies, rng)
        repeated = self._repeated(nlp, copies)
        if self.join != 1:
            yield from _joined(_shuffled(repeated, rng), self.join or 1)
        elif max_epochs == -1:
            yield from _shuffled(repeated, rng)
        else:  # spaCy keeps the whole corpus then, and shuffles it itself
            yield from repeated

    def _count(self, nlp: Language) -> list[int]:
        """The counting pass: copies of every unit in corpus order, reported as a table."""
        before, kinds, n_docs = CorpusCounts(), [], 0
        for eg in self.corpus(nlp):
            n_docs += 1
            for part in units([eg], self.unit):
                kinds.append(count_doc(part.reference))
                before.add(kinds[-1])
        if self.join is None:
            self.join = min(round(len(kinds) / n_docs), JOIN_LIMIT) if n_docs else 1
        fitted = self.repeats.fit(before)
        copies = [fitted(kind) for kind in kinds]
        after = CorpusCounts()
        for kind, n in zip(kinds, copies, strict=True):
            after.add(kind, n)
        _show_once(describe(self.repeats, self.unit, before, after, copies))
        return copies

    def _draw(self, copies: list[int], rng: random.Random) -> list[int]:
        size = self.epoch_size or len(copies)
        drawn = [0] * len(copies)
        for i in rng.choices(range(len(copies)), weights=copies, k=size) if copies else ():
            drawn[i] += 1
        return drawn

    def _repeated(self, nlp: Language, copies: list[int]) -> Iterator[Example]:
        n_units = 0
        for eg in units(self.corpus(nlp), self.unit):
            if n_units == len(copies):
                raise ValueError(Errors.L105.format(first=len(copies), second="more"))
            for i in range(copies[n_units]):
                if i and self.augmenter is not None:
                    yield from self.augmenter(nlp, eg)
                else:
                    yield eg
            n_units += 1
        if n_units < len(copies):
            raise ValueError(Errors.L105.format(first=len(copies), second=n_units))


@cache
def _show_once(text: str) -> None:
    """spaCy builds a training corpus twice, for initialisation and for training: one table is enough.

    Printed, since `spacy train` hides what is logged below errors.
    """
    sys.stdout.write(f"{text}\n\n")


def _shuffled(examples: Iterable[Example], rng: random.Random) -> Iterator[Example]:
    """A bounded shuffle: each example leaves from a random place of a full buffer."""
    held: list[Example] = []
    for eg in examples:
        if len(held) < SHUFFLE_BUFFER:
            held.append(eg)
            continue
        i = int(rng.random() * SHUFFLE_BUFFER)
        held[i], eg = eg, held[i]
        yield eg
    rng.shuffle(held)
    yield from held


def _joined(examples: Iterable[Example], size: int) -> Iterator[Example]:
    """Documents of `size` consecutive sentences."""
    for group in minibatch(examples, size):
        sides = zip(*((eg.predicted, eg.reference) for eg in group), strict=True)
        predicted, reference = (Doc.from_docs(list(docs), exclude=["user_data"]) for docs in sides)
        # joining marks where each part starts, which a predicted document must not know
        predicted.from_array(["SENT_START"], np.zeros((len(predicted), 1), dtype="uint64"))
        yield Example(predicted, reference)


def describe(
    repeats: Repeats, unit: Unit, before: CorpusCounts, after: CorpusCounts, copies: list[int]
) -> str:
    """What a policy does to a corpus, as a table for the log."""
    spread = sorted(copies)
    total = f"{before.n_units} -> {after.n_units} {unit}s ({_ratio(before.n_units, after.n_units)}x)"
    if copies:
        total += f", copies median {spread[len(spread) // 2]}, most {spread[-1]}"
    rows = [("tokens", before.n_tokens, after.n_tokens, _ratio(before.n_tokens, after.n_tokens))]
    for label in before.labels:
        n, m = before.tokens[label], after.tokens[label]
        rows.append((label, n, m, _ratio(n, m)))
    head = ("", "before", "after", "factor")
    body = table(rows, header=head, divider=True, aligns=("l", "r", "r", "r"))
    return f"Resampled with {repeats}: {total}{body.rstrip()}"


def _ratio(before: int, after: int) -> str:
    return f"{after / before:.2f}" if before else "-"
