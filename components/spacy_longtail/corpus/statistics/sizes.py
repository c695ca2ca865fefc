"""How much larger or smaller each way of resampling makes the training part."""

from ...types import SentenceCounts
from ..repeats import RandomOversampling, RandomUndersampling, Repeats, nsCRD, sC, sCR, sCRD
from .records import SizeFactors
from .tallies import PartTally

POLICIES: dict[str, Repeats] = {
    "sC": sC(),
    "sCR": sCR(),
    "sCRD": sCRD(),
    "nsCRD": nsCRD(),
    "RandomOversampling": RandomOversampling(),
    "RandomUndersampling": RandomUndersampling(),
}


def size_factors(training: PartTally) -> dict[str, SizeFactors]:
    """The size of the training part after / before, of every policy at its default settings.

    RETURNS (Dict[str, SizeFactors]): By policy. Expected factors, since some policies draw.
        "augmentation" is one rewritten copy of every sentence, of the same length.
    """
    before = training.counts
    if not before.n_entity_tokens:
        return {}
    found = {name: _applied(policy, training) for name, policy in POLICIES.items()}
    types = [t for t in before.labels if before.tokens[t]]
    found["BUS"] = SizeFactors(
        sentences=training.undersampled["sentences"] / before.n_units,
        tokens=training.undersampled["tokens"] / before.n_tokens,
        types=dict.fromkeys(types, 1.0),
    )
    twice = dict.fromkeys(types, 2.0)
    found["augmentation"] = SizeFactors(sentences=2.0, tokens=2.0, types=twice)
    return found


def _applied(policy: Repeats, training: PartTally) -> SizeFactors:
    before, copies = training.counts, policy.fit(training.counts)
    n_sentences, n_tokens, by_type = 0.0, 0.0, dict.fromkeys(before.labels, 0.0)
    for (length, tokens), times in training.kinds.items():
        n = times * copies(SentenceCounts(dict(tokens), length, {}, {}))
        n_sentences += n
        n_tokens += n * length
        for label, n_own in tokens:
            by_type[label] += n * n_own
    return SizeFactors(
        sentences=n_sentences / before.n_units,
        tokens=n_tokens / before.n_tokens,
        types={t: n / before.tokens[t] for t, n in by_type.items() if before.tokens[t]},
    )
