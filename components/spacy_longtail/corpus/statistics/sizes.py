"""How much larger or smaller each way of resampling makes the training part."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...types import SentenceCounts
from ..counts import CorpusCounts, SentenceTable
from ..repeats import (
    RandomOversampling,
    RandomUndersampling,
    Repeats,
    kept_tokens,
    nsCRD,
    sC,
    sCR,
    sCRD,
)
from .columns import Batch
from .records import SizeFactors
from .tallies import Kind

POLICIES: dict[str, Repeats] = {
    "sC": sC(),
    "sCR": sCR(),
    "sCRD": sCRD(),
    "nsCRD": nsCRD(),
    "RandomOversampling": RandomOversampling(),
    "RandomUndersampling": RandomUndersampling(),
}


@dataclass
class UndersampledTally:
    """What balanced undersampling keeps."""

    n_sentences: int = 0
    n_tokens: int = 0

    def add(self, batch: Batch, table: SentenceTable) -> None:
        """batch (Batch): Documents. table (SentenceTable): Their sentences."""
        entity = np.isin(batch.columns.iob, (1, 3)) & (batch.columns.label != 0)
        owners = np.unique(table.sentence[entity])
        bounds = np.searchsorted(table.sentence, np.stack([owners, owners + 1]))
        for first, last in bounds.T.tolist():
            kept = kept_tokens(entity[first:last])
            self.n_sentences += 1
            self.n_tokens += int(np.count_nonzero(table.counted[first:last][kept]))


def size_factors(
    before: CorpusCounts, kinds: Counter[Kind], undersampled: UndersampledTally
) -> dict[str, SizeFactors]:
    """The size of the training part after / before, of every policy at its default settings.

    kinds (Counter[Kind]): How often sentences with the same counts occur.
    RETURNS (Dict[str, SizeFactors]): By policy. Expected factors, since some policies draw.
        "augmentation" is one rewritten copy of every sentence, of the same length.
    """
    if not before.n_entity_tokens:
        return {}
    types = [t for t in before.labels if before.tokens[t]]
    found = {name: _applied(policy, before, kinds) for name, policy in POLICIES.items()}
    found["BUS"] = SizeFactors(
        sentences=undersampled.n_sentences / before.n_units,
        tokens=undersampled.n_tokens / before.n_tokens,
        types=dict.fromkeys(types, 1.0),
    )
    twice = dict.fromkeys(types, 2.0)
    found["augmentation"] = SizeFactors(sentences=2.0, tokens=2.0, types=twice)
    return found


def _applied(policy: Repeats, before: CorpusCounts, kinds: Counter[Kind]) -> SizeFactors:
    copies = policy.fit(before)
    n_sentences, n_tokens, by_type = 0.0, 0.0, dict.fromkeys(before.labels, 0.0)
    for (length, tokens), times in kinds.items():
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
