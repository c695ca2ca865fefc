"""Counting the parts of a corpus in one pass."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ...sentences import all_bounds
from ..counts import CorpusCounts, EntityBounds, count_doc, entity_bounds
from ..cutting import cut
from ..descriptions import CorpusTypes
from ..likeness import template_key
from ..parts import bare_vocab, stream_docs
from . import Conflicts, Leakage, MarkedPlace, PartStatistics, Statistics, TypeStatistics
from .diagnosis import diagnose

N_EXAMPLES = 3


class CountedSentence(NamedTuple):
    """Hashes and annotation of a sentence, by which it is recognised elsewhere."""

    words: int  # hash of the words in any case; 0 without words
    exact: int  # hash of the words in their case: "May" is a name, "may" is not
    template: int  # hash of the sentence without its names and numbers; 0 for a short one
    entities: tuple[tuple[int, int, str], ...]  # first word, last word, type
    complete: bool  # whether each word is annotated
    text: str  # with its entities marked up


def counted_sentences(doc: Doc) -> Iterator[Doc]:
    """Return the sentences of a document. Without boundaries, the document is one sentence.

    An entity across a boundary counts as not annotated, because no pipe learns it.
    """
    bounds = all_bounds(doc)
    return iter([doc]) if len(bounds) == 1 else cut(doc, bounds)


@dataclass
class PartTally:
    """Counts of a part. `add` streams documents in."""

    n_docs: int = 0
    counts: CorpusCounts = field(default_factory=CorpusCounts)
    surfaces: Counter[tuple[str, str]] = field(default_factory=Counter)  # case-folded, with type
    sentences: list[CountedSentence] = field(default_factory=list)

    def add(self, doc: Doc) -> None:
        """Count a document."""
        self.n_docs += 1
        for sentence in counted_sentences(doc):
            place = np.cumsum(sentence.to_array(IS_SPACE) == 0).tolist()  # words up to each token
            words = [token.text for token in sentence if not token.is_space]
            bounds, entities = entity_bounds(sentence), []
            counts = count_doc(sentence, bounds)
            self.counts.add(counts)
            for start, end, label in bounds:
                name = sentence.vocab.strings[label]
                entities.append((place[start], place[end - 1], name))
                self.surfaces[sentence[start:end].text.casefold(), name] += 1
            joined = "\0".join(words)
            counted = CountedSentence(
                words=get_string_id(joined.casefold()) if words else 0,
                exact=get_string_id(joined) if words else 0,
                template=template_key(sentence, 0, len(sentence), bounds),
                entities=tuple(entities),
                complete=counts.length == len(words),
                text=marked_up(sentence, 0, len(sentence), bounds),
            )
            self.sentences.append(counted)


def tally_part(path: Path) -> PartTally:
    """Return the counts of a .spacy file or folder, with one file at a time in memory."""
    tally = PartTally()
    for doc in stream_docs(path, bare_vocab()):
        tally.add(doc)
    return tally


def described_corpus(corpus: Path, types: CorpusTypes, tallies: Mapping[str, PartTally]) -> Statistics:
    """Return the statistics of a corpus from the counts of its parts."""
    training = tallies["train"]
    occurring = {label for tally in tallies.values() for label in tally.counts.mentions}
    undeclared = sorted(occurring - set(types.labels))
    labels = types.labels + undeclared
    statistics = Statistics(
        corpus=corpus.name,
        lang=types.lang,
        labels=types.labels,
        undeclared=undeclared,
        tail=types.tail,
        buckets=buckets(training.counts.mentions, labels, types.tail),
        parts={part: _described(part, tally, labels, training) for part, tally in tallies.items()},
        **_repetitions(tallies),
    )
    return statistics.model_copy(update={"diagnosis": diagnose(statistics)})


def _described(part: str, tally: PartTally, labels: list[str], training: PartTally) -> PartStatistics:
    counts, rareness, unseen = tally.counts, tally.counts.rareness(), Counter[str]()
    for (text, label), n in tally.surfaces.items():
        unseen[label] += n * ((text, label) not in training.surfaces)
    types = {
        label: TypeStatistics(
            mentions=counts.mentions[label],
            tokens=counts.tokens[label],
            sentences=counts.units[label],
            rareness=rareness.get(label),
            unseen=unseen[label] / n if part != "train" and (n := counts.mentions[label]) else None,
        )
        for label in labels
    }
    return PartStatistics(
        documents=tally.n_docs,
        sentences=counts.n_units,
        entity_sentences=counts.n_entity_units,
        tokens=counts.n_tokens,
        entity_tokens=counts.n_entity_tokens,
        mentions=counts.mentions.total(),
        types=types,
    )


def buckets(
    mentions: Mapping[str, int], labels: Iterable[str], tail: Collection[str]
) -> dict[str, list[str]]:
    """Group types by training mentions, most frequent first.

    mentions (Mapping[str, int]): Training mentions by type.
    labels (Iterable[str]): The types to group.
    tail (Collection[str]): The rare types.
    RETURNS (Dict[str, List[str]]): The types of each group. tail has the rare types, head the
        smallest number of other types with half of all mentions, and mid the rest.
    """
    counts = {t: mentions.get(t, 0) for t in labels}
    total, held = sum(counts.values()), 0
    groups: dict[str, list[str]] = {"head": [], "mid": [], "tail": []}
    for label, n in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
        groups["tail" if label in tail else "head" if 2 * held < total else "mid"].append(label)
        held += n * (label not in tail)
    return groups


def _repetitions(tallies: Mapping[str, PartTally]) -> dict[str, Any]:
    """Return the sentences that are repeated in a part or in training, or have two annotations."""
    training = {sentence.words for sentence in tallies["train"].sentences}
    templates = {sentence.template for sentence in tallies["train"].sentences} - {0}
    first: dict[int, tuple[str, CountedSentence]] = {}
    repeated, leakage = dict[str, int](), dict[str, Leakage]()
    conflicts = dict[int, list[MarkedPlace]]()
    for part, tally in tallies.items():
        worded = [sentence for sentence in tally.sentences if sentence.words]
        repeated[part] = len(worded) - len({sentence.words for sentence in worded})
        if part != "train":
            leaked = [sentence for sentence in worded if sentence.words in training]
            leaked.sort(key=lambda sentence: not sentence.entities)
            leakage[part] = Leakage(
                sentences=len(leaked),
                entity_sentences=sum(bool(sentence.entities) for sentence in leaked),
                share=len(leaked) / max(len(tally.sentences), 1),
                near=sum(s.template in templates and s.words not in training for s in worded),
                examples=[sentence.text for sentence in leaked[:N_EXAMPLES]],
            )
        for sentence in worded:
            if sentence.complete:
                other_part, other = first.setdefault(sentence.exact, (part, sentence))
                if other.entities != sentence.entities and sentence.exact not in conflicts:
                    conflicts[sentence.exact] = [
                        MarkedPlace(part=other_part, text=other.text),
                        MarkedPlace(part=part, text=sentence.text),
                    ]
    shown = Conflicts(texts=len(conflicts), examples=[*conflicts.values()][:N_EXAMPLES])
    return {"duplicates": repeated, "leakage": leakage, "conflicts": shown}


def marked_up(doc: Doc, first: int, last: int, bounds: Iterable[EntityBounds]) -> str:
    """Return the text of tokens `first` to `last`, with the given entities marked as [Oslo|GEO]."""
    chunks = [token.text_with_ws for token in doc[first:last]]
    for start, end, label in bounds:
        if first <= start < last:
            chunks[start - first] = f"[{chunks[start - first]}"
        if first < end <= last:
            space = doc[end - 1].whitespace_
            word = chunks[end - 1 - first].removesuffix(space)
            chunks[end - 1 - first] = f"{word}|{doc.vocab.strings[label]}]{space}"
    return "".join(chunks).strip().replace("\n", "\\n")  # an example is one line
