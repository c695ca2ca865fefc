"""What became of the entities that another pipeline found in the same documents."""

from collections import Counter
from typing import NamedTuple

from .records import Document, Evaluation


class EntityChange(NamedTuple):
    """The entities of one type, in the same documents before and after."""

    before: int
    after: int
    kept: int  # with the same bounds and the same type

    @property
    def lost(self) -> int:
        return self.before - self.kept


def entity_changes(before: Evaluation, after: Evaluation) -> dict[str, EntityChange]:
    """Compare the entities that two pipelines found in the same documents.

    before (Evaluation): Of the pipeline as it was. after (Evaluation): Of the new one.
    RETURNS (Dict[str, EntityChange]): By type, the most frequent before first.
    """
    n_before, n_after, n_kept = Counter[str](), Counter[str](), Counter[str]()
    for was, now in zip(map(_places, before.documents), map(_places, after.documents), strict=True):
        for counter, places in ((n_before, was), (n_after, now), (n_kept, was & now)):
            counter.update(label for *_, label in places)
    types = sorted({*n_before, *n_after}, key=lambda t: (-n_before[t], t))
    return {t: EntityChange(n_before[t], n_after[t], n_kept[t]) for t in types}


def _places(doc: Document) -> set[tuple[int, int, str]]:
    return {(start, end, label) for start, end, label, _ in doc.predicted}
