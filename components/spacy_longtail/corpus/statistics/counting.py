"""One pass over the parts of a corpus: what is counted, in memory bounded by the counts."""

from __future__ import annotations  # array[int]

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.attrs import IS_SPACE
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..counts import CorpusCounts, count_doc, entity_bounds
from ..cutting import cut
from ..folder import PARTS, CorpusTypes, part_path, read_types
from ..formats.docbin import stream_docs
from ..rare import tail_limit
from ..sentences import all_bounds
from . import records
from .diagnosis import diagnose
from .records import PartStatistics, Statistics, TypeStatistics

N_EXAMPLES = 3

keys = partial(array, "Q")  # 8 bytes for each sentence


def counted_sentences(doc: Doc) -> Iterator[Doc]:
    """The sentences of a document; one without sentence boundaries is one sentence.

    An entity that runs across a boundary is not annotated there: no pipe learns it.
    """
    bounds = all_bounds(doc)
    return iter([doc]) if len(bounds) == 1 else cut(doc, bounds)


def present_parts(corpus: Path) -> dict[str, Path]:
    """Where the parts of a converted corpus are, those that it has.

    RETURNS (Dict[str, Path]): By part. A corpus that was not split has all of it as train; else
        train is named whether it is there or not.
    """
    paths = {part: part_path(corpus, part) for part in PARTS}
    whole = part_path(corpus, "all")
    if not paths["train"].exists() and whole.exists():
        return {"train": whole}
    return {part: path for part, path in paths.items() if part == "train" or path.exists()}


def read_part(path: Path) -> Iterator[Doc]:
    """The documents of a .spacy file or folder, one file at a time in memory."""
    yield from stream_docs(path, spacy.blank("xx"))


@dataclass
class PartTally:
    """What a part holds: `add` streams documents in."""

    n_docs: int = 0
    counts: CorpusCounts = field(default_factory=CorpusCounts)
    surfaces: Counter[tuple[str, str]] = field(default_factory=Counter)  # case-folded, with type
    # of each sentence: hashes of its words and of its entities, 0 without any; is each word annotated?
    words: array[int] = field(default_factory=keys)
    entities: array[int] = field(default_factory=keys)
    complete: array[int] = field(default_factory=keys)

    def add(self, doc: Doc) -> None:
        """Count a document."""
        self.n_docs += 1
        for sentence in counted_sentences(doc):
            self._add_sentence(sentence)

    def _add_sentence(self, sentence: Doc) -> None:
        place = np.cumsum(sentence.to_array(IS_SPACE) == 0).tolist()  # words up to each token
        words = [token.text for token in sentence if not token.is_space]
        counts, places = count_doc(sentence), []
        self.counts.add(counts)
        for start, end, label in entity_bounds(sentence):
            name = sentence.vocab.strings[label]
            places.append((place[start], place[end - 1], name))
            self.surfaces[sentence[start:end].text.casefold(), name] += 1
        # equal texts have equal keys, whatever their case
        self.words.append(get_string_id("\0".join(words).casefold()) if words else 0)
        self.entities.append(get_string_id(repr(places)) if places else 0)
        self.complete.append(counts.length == len(words))


def tally_part(path: Path) -> PartTally:
    """Count a .spacy file or folder."""
    tally = PartTally()
    for doc in read_part(path):
        tally.add(doc)
    return tally


def corpus_statistics(corpus: Path) -> Statistics:
    """Count everything about a corpus, in one pass over each part.

    corpus (Path): A folder that `convert` wrote; dev and test may be absent.
    """
    tallies = {part: tally_part(path) for part, path in present_parts(corpus).items()}
    return described_corpus(corpus, read_types(corpus), tallies)


def described_corpus(corpus: Path, types: CorpusTypes, tallies: Mapping[str, PartTally]) -> Statistics:
    """The statistics of a corpus, from what its parts hold."""
    training = tallies["train"]
    occurring = {label for tally in tallies.values() for label in tally.counts.mentions}
    undeclared = sorted(occurring - set(types.labels))
    labels = types.labels + undeclared
    parts = {
        part: described_part(tally, labels, None if part == "train" else training)
        for part, tally in tallies.items()
    }
    test = parts["test"].types if "test" in parts else {}
    statistics = Statistics(
        corpus=corpus.name,
        lang=types.lang,
        labels=types.labels,
        undeclared=undeclared,
        tail=types.tail,
        buckets=buckets(training.counts.mentions, labels),
        parts=parts,
        unseen={label: test[label].unseen if test else None for label in types.labels},
        **overlaps(present_parts(corpus), tallies),
        diagnosis=[],
    )
    return statistics.model_copy(update={"diagnosis": diagnose(statistics)})


def described_part(tally: PartTally, labels: list[str], training: PartTally | None) -> PartStatistics:
    """A part. training (Optional[PartTally]): The training part, for what is unseen in this one."""
    counts, rareness, unseen = tally.counts, tally.counts.rareness(), Counter[str]()
    for surface, n in tally.surfaces.items():
        unseen[surface[1]] += n if training and surface not in training.surfaces else 0
    types = {}
    for label in labels:
        n = counts.mentions[label]
        new: dict[str, Any] = {"unseen": _share(unseen[label], n) if n else None} if training else {}
        types[label] = TypeStatistics(
            mentions=n,
            tokens=counts.tokens[label],
            sentences=counts.units[label],
            rareness=rareness.get(label),
            **new,
        )
    return PartStatistics(
        documents=tally.n_docs,
        sentences=counts.n_units,
        entity_sentences=counts.n_entity_units,
        tokens=counts.n_tokens,
        entity_tokens=counts.n_entity_tokens,
        mentions=counts.mentions.total(),
        types=types,
    )


def buckets(mentions: Mapping[str, int], labels: Iterable[str]) -> dict[str, list[str]]:
    """Types by training mentions, most frequent first.

    RETURNS (Dict[str, List[str]]): head, the fewest types that hold half of the mentions; tail,
        others with at most a tenth of the mentions of the most frequent; mid, the rest.
    """
    numbers = {t: mentions.get(t, 0) for t in labels}
    total, limit, held = sum(numbers.values()), tail_limit(numbers), 0
    groups: dict[str, list[str]] = {"head": [], "mid": [], "tail": []}
    for label, n in sorted(numbers.items(), key=lambda row: (-row[1], row[0])):
        groups["head" if 2 * held < total else "mid" if n > limit else "tail"].append(label)
        held += n
    return groups


def overlaps(paths: Mapping[str, Path], tallies: Mapping[str, PartTally]) -> dict[str, Any]:
    """Sentences that stand in a part more than once, in training too, or with two annotations.

    A sentence is known by the hash of its words; the texts of the few examples are read again.

    RETURNS (Dict[str, Any]): The fields duplicates, leakage and conflicts of the statistics.
    """
    words, entities, complete = (
        np.concatenate([np.asarray(getattr(tally, name)) for tally in tallies.values()])
        for name in ("words", "entities", "complete")
    )
    parts = np.repeat(list(tallies), [len(tally.words) for tally in tallies.values()])
    repeated, leaks = {}, {}
    in_training = np.isin(words, words[parts == "train"]) & (words != 0)
    for part in tallies:
        texts = words[(parts == part) & (words != 0)]
        repeated[part] = len(texts) - len(np.unique(texts))
        if part != "train":
            rows = np.flatnonzero(in_training & (parts == part))
            leaks[part] = rows[np.argsort(entities[rows] == 0, kind="stable")]
    rows = np.flatnonzero((complete != 0) & (words != 0))
    order = rows[np.lexsort((rows, entities[rows], words[rows]))]
    same = (words[order][1:] == words[order][:-1]) & (entities[order][1:] != entities[order][:-1])
    _, kept = np.unique(words[order][:-1][same], return_index=True)
    pairs = np.sort(np.column_stack([order[:-1], order[1:]])[same][kept])
    shown = sorted(pairs.tolist())[:N_EXAMPLES]
    first = [rows[:N_EXAMPLES].tolist() for rows in leaks.values()]
    marked = sentence_texts(paths, set(chain(*shown, *first)))

    def place(i: int) -> records.MarkedPlace:
        return records.MarkedPlace(part=str(parts[i]), text=marked[i])

    return {
        "duplicates": repeated,
        "leakage": {
            part: records.Leakage(
                sentences=len(rows),
                entity_sentences=int(np.count_nonzero(entities[rows])),
                share=_share(len(rows), len(tallies[part].words)),
                examples=[marked[i] for i in rows[:N_EXAMPLES].tolist()],
            )
            for part, rows in leaks.items()
        },
        "conflicts": records.Conflicts(
            texts=len(kept),
            examples=[
                [records.MarkedPlace(part=str(parts[i]), text=marked[i]) for i in pair] for pair in shown
            ],
        ),
    }


def sentence_texts(paths: Mapping[str, Path], wanted: set[int]) -> dict[int, str]:
    """The text of some sentences, numbered over all parts, entities marked up as [Oslo|GEO]."""
    if not wanted:
        return {}
    docs = (doc for path in paths.values() for doc in read_part(path))
    sentences = (sentence for doc in docs for sentence in counted_sentences(doc))
    rows = islice(enumerate(sentences), max(wanted) + 1)
    return {i: marked_up(sentence, 0, len(sentence)) for i, sentence in rows if i in wanted}


def marked_up(doc: Doc, first: int, last: int) -> str:
    """The text of some tokens, entities marked up as [Oslo|GEO]."""
    bounds = entity_bounds(doc)
    opens = {start: "[" for start, *_ in bounds}
    closes = {end: f"|{doc.vocab.strings[label]}]" for _, end, label in bounds}
    chunks = [
        f"{opens.get(token.i, '')}{token.text}{closes.get(token.i + 1, '')}{token.whitespace_}"
        for token in doc[first:last]
    ]
    return "".join(chunks).strip().replace("\n", "\\n")  # an example is one line


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
