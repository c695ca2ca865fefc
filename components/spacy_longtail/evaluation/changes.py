"""What became of the entities that another pipeline found in the same documents."""

from collections import Counter

from .records import Document, Evaluation


def entity_changes(before: Evaluation, after: Evaluation) -> dict[str, dict[str, int]]:
    """Compare the entities that two pipelines found in the same documents.

    before (Evaluation): Of the pipeline as it was. after (Evaluation): Of the new one.
    RETURNS (Dict[str, Dict[str, int]]): By type, the most frequent before first: entities before
        and after; those kept, with the same bounds and type; and those lost.
    """
    counts = {name: Counter[str]() for name in ("before", "after", "kept", "lost")}
    for was, now in zip(map(_places, before.documents), map(_places, after.documents), strict=True):
        for name, places in zip(counts, (was, now, was & now, was - now), strict=True):
            counts[name].update(label for *_, label in places)
    types = sorted({*counts["before"], *counts["after"]}, key=lambda t: (-counts["before"][t], t))
    return {t: {name: counter[t] for name, counter in counts.items()} for t in types}


def _places(doc: Document) -> set[tuple[int, int, str]]:
    return {(start, end, label) for start, end, label, _ in doc.predicted}
