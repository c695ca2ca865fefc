"""What became of the entities that a pipeline found before it was extended."""

from collections import Counter
from collections.abc import Iterable

from spacy.language import Language
from spacy.tokens import Doc, Span

from ...records import Record

Place = tuple[int, int, str]


class TypeChange(Record):
    """The entities of one type, on the same documents before and after."""

    before: int
    after: int
    kept: int  # that stand where they stood

    @property
    def lost(self) -> int:
        return self.before - self.kept


def compare_entities(
    before: Language, after: Language, docs: Iterable[Doc], old: Iterable[str]
) -> dict[str, TypeChange]:
    """Read documents with both pipelines, and count what became of entities.

    before (Language): The pipeline as it was. after (Language): The extended one.
    docs (Iterable[Doc]): Of any pipeline; their texts are read.
    old (Iterable[str]): Types to count although nobody found one.
    RETURNS (Dict[str, TypeChange]): By type, most frequent before first.
    """
    texts = [doc.text for doc in docs]
    n_before, n_after, n_kept = Counter[str](), Counter[str](), Counter[str]()
    for one, other in zip(before.pipe(texts), after.pipe(texts), strict=True):
        was, now = _places(one.ents), _places(other.ents)
        n_before.update(label for *_, label in was)
        n_after.update(label for *_, label in now)
        n_kept.update(label for *_, label in was & now)
    types = sorted({*old, *n_before, *n_after}, key=lambda t: (-n_before[t], t))
    return {t: TypeChange(before=n_before[t], after=n_after[t], kept=n_kept[t]) for t in types}


def _places(ents: Iterable[Span]) -> set[Place]:
    return {(ent.start_char, ent.end_char, ent.label_) for ent in ents}
