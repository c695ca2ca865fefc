"""Statistics of a converted corpus: the columns of the papers' first tables, and more per type."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..folder import CorpusTypes, read_types
from ..rare import TAIL
from .diagnosis import diagnose
from .overlap import overlaps
from .records import PartStatistics, SizeFactors, Statistics, TypeShare, TypeStatistics
from .sizes import size_factors
from .tallies import PartTally, present_parts, tally_part


def corpus_statistics(corpus: Path) -> Statistics:
    """Count everything about a corpus, in one pass over each part.

    corpus (Path): A folder that `convert` wrote; dev and test may be absent.
    """
    types = read_types(corpus)
    tallies = {part: tally_part(path) for part, path in present_parts(corpus).items()}
    statistics = described_corpus(corpus, types, tallies, size_factors(tallies["train"]))
    return statistics.model_copy(update={"diagnosis": diagnose(statistics)})


def described_corpus(
    corpus: Path,
    types: CorpusTypes,
    tallies: Mapping[str, PartTally],
    policies: dict[str, SizeFactors] | None = None,
) -> Statistics:
    """The statistics of a corpus, without a diagnosis.

    policies (Optional[Dict[str, SizeFactors]]): What resampling makes of it, if that is wanted.
    """
    training, whole = tallies["train"], sum(tallies.values(), PartTally())
    undeclared = sorted(set(whole.counts.labels) - set(types.labels))
    labels = types.labels + undeclared
    parts = {
        part: described_part(tally, labels, None if part == "train" else training)
        for part, tally in tallies.items()
    }
    test = parts["test"].types if "test" in parts else {}
    return Statistics(
        corpus=corpus.name,
        lang=types.lang,
        labels=types.labels,
        undeclared=undeclared,
        tail=types.tail,
        buckets=buckets(training.counts.mentions, labels),
        parts=parts,
        all=described_part(whole, labels),
        unseen={label: test[label].unseen if test else None for label in types.labels},
        policies=policies or {},
        **overlaps(present_parts(corpus), tallies)._asdict(),
    )


def described_part(
    tally: PartTally, labels: Iterable[str], training: PartTally | None = None
) -> PartStatistics:
    """A part, or several together.

    training (Optional[PartTally]): The training part, for what is unseen in this one.
    """
    counts, labels = tally.counts, list(labels)
    n_mentions = counts.mentions.total()
    entity_tokens = counts.n_entity_tokens
    shares = {t: counts.tokens[t] / counts.n_tokens for t in labels if counts.tokens[t]}
    ends = sorted(shares, key=lambda t: (shares[t], t))
    return PartStatistics(
        documents=tally.n_docs,
        one_sentence_documents=tally.n_one_sentence,
        documents_without_boundaries=tally.n_unbounded,
        longest_sentence=tally.longest,
        sentences=counts.n_units,
        entity_sentences=counts.n_entity_units,
        entity_sentence_share=_share(counts.n_entity_units, counts.n_units),
        tokens=counts.n_tokens,
        unannotated_tokens=tally.n_unannotated,
        entity_tokens=entity_tokens,
        outside_tokens=counts.n_tokens - entity_tokens,
        entity_share=_share(entity_tokens, counts.n_tokens),
        outside_share=_share(counts.n_tokens - entity_tokens, counts.n_tokens),
        begin_share=_share(n_mentions, counts.n_tokens),
        inside_share=_share(entity_tokens - n_mentions, counts.n_tokens),
        mentions=n_mentions,
        found_types=len(counts.labels),
        bio_classes=2 * len(labels) + 1,
        least=TypeShare(type=ends[0], share=shares[ends[0]]) if ends else None,
        most=TypeShare(type=ends[-1], share=shares[ends[-1]]) if ends else None,
        types=described_types(tally, labels, training),
    )


def described_types(
    tally: PartTally, labels: Iterable[str], training: PartTally | None = None
) -> dict[str, TypeStatistics]:
    """What a part holds of each type. RETURNS (Dict[str, TypeStatistics]): By type."""
    counts, rareness = tally.counts, tally.counts.rareness()
    n_mentions = counts.mentions.total()
    n_types: Counter[str] = Counter()
    most: dict[str, int] = {}  # mentions of a surface with its most frequent type
    for (text, _), n in tally.surfaces.items():
        n_types[text] += 1
        most[text] = max(most.get(text, 0), n)
    surfaces: Counter[str] = Counter()
    ambiguous: Counter[str] = Counter()
    minority: Counter[str] = Counter()
    for (text, label), n in tally.surfaces.items():
        surfaces[label] += 1
        ambiguous[label] += n_types[text] > 1
        minority[label] += n if n < most[text] else 0
    outside = Counter(label for word, label in tally.single_words if word in tally.outside)
    unseen = {} if training is None else unseen_shares(tally, training)
    return {
        t: TypeStatistics(
            mentions=counts.mentions[t],
            one_token_mentions=counts.singles[t],
            tokens=counts.tokens[t],
            sentences=counts.units[t],
            rareness=rareness.get(t),
            token_share=_share(counts.tokens[t], counts.n_tokens),
            mention_share=_share(counts.mentions[t], n_mentions),
            surfaces=surfaces[t],
            ambiguous_surfaces=ambiguous[t],
            minority_mentions=minority[t],
            surfaces_also_outside=outside[t],
            **({} if training is None else {"unseen": unseen.get(t)}),
        )
        for t in labels
    }


def unseen_shares(tally: PartTally, training: PartTally) -> dict[str, float]:
    """Share of each type's mentions whose case-folded surface training does not have with that type.

    RETURNS (Dict[str, float]): By type, in [0, 1]; none of a type without a mention.
    """
    mentions: Counter[str] = Counter()
    unseen: Counter[str] = Counter()
    for surface, n in tally.surfaces.items():
        mentions[surface[1]] += n
        unseen[surface[1]] += n if surface not in training.surfaces else 0
    return {label: _share(unseen[label], n) for label, n in mentions.items()}


def buckets(mentions: Mapping[str, int], labels: Iterable[str]) -> dict[str, list[str]]:
    """Types by training mentions, most frequent first.

    RETURNS (Dict[str, List[str]]): head, the fewest types that hold half of the mentions; tail, others
        with at most a tenth of the mentions of the most frequent; mid, the rest.
    """
    ranked = sorted(labels, key=lambda t: (-mentions.get(t, 0), t))
    numbers = [mentions.get(t, 0) for t in ranked]
    half, held, n_head = sum(numbers) / 2, 0, 0
    limit = TAIL.limit(dict(zip(ranked, numbers, strict=True)))
    while held < half:
        held += numbers[n_head]
        n_head += 1
    rest = list(zip(ranked, numbers, strict=True))[n_head:]
    return {
        "head": ranked[:n_head],
        "mid": [t for t, n in rest if n > limit],
        "tail": [t for t, n in rest if n <= limit],
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
