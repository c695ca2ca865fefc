"""Terms and descriptions that stand for a type before anybody has labelled a mention of it."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.language import Language
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc
from thinc.types import Floats2d

from ..corpus.formats.json_stream import read_records
from ..corpus.formats.text import bad_line, lines
from ..errors import Errors

MATCHED = 0.5  # expected mentions of a sentence with a term
ALIKE = 0.001  # added to a sentence that says just what the description says: it breaks ties
FIX = 'Write TYPE, a tab and the term, or {"label": "EVE", "pattern": "festival"}.'


class Terms(NamedTuple):
    """Phrases by type, matched by lower case, and by lemma where the pipeline has lemmas."""

    matcher: PhraseMatcher
    lemmas: PhraseMatcher | None
    labels: frozenset[str]  # of types that have a term

    def find(self, doc: Doc) -> list[tuple[str, int, int]]:
        """Type, first token and one past the last of each match, in order."""
        found = set(self.matcher(doc))
        if self.lemmas is not None:
            found |= set(self.lemmas(doc))
        name = doc.vocab.strings
        return sorted(((name[key], a, b) for key, a, b in found), key=lambda m: (m[1], m[2], m[0]))


def read_terms(path: Path, nlp: Language, types: Collection[str]) -> Terms:
    """A file of terms: TYPE, a tab and the term on each line; or JSON lines with label and pattern.

    path (Path): The file. nlp (Language): Its tokenizer cuts the terms.
    types (Collection[str]): That may be named.
    RAISES (ValueError): L401, L402, L423, L426, L504.
    """
    pairs = _records(path) if path.suffix in (".jsonl", ".json") else _lines(path)
    found = [(label, term) for label, term in pairs if term.strip()]
    unknown = sorted({label for label, _ in found} - set(types))
    if unknown:
        raise ValueError(
            Errors.L504.format(path=path, unknown=", ".join(unknown), known=", ".join(types))
        )
    if not found:
        raise ValueError(Errors.L403.format(path=path, fix=FIX))
    lemmatizes = any("token.lemma" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names)
    matcher = PhraseMatcher(nlp.vocab, attr="LOWER")
    lemmas = PhraseMatcher(nlp.vocab, attr="LEMMA") if lemmatizes else None
    for label, term in found:
        matcher.add(label, [nlp.make_doc(term)])
        if lemmas is not None:
            lemmas.add(label, [nlp(term)])
    return Terms(matcher, lemmas, frozenset(label for label, _ in found))


def _lines(path: Path) -> list[tuple[str, str]]:
    found = []
    for i, line in enumerate(lines(path, "utf8"), 1):
        if line.strip():
            label, tab, term = line.partition("\t")
            if not tab or not term.strip():
                raise bad_line(path, i, f"{line[:60]!r} is no type with a term", FIX)
            found.append((label.strip(), term.strip()))
    return found


def _records(path: Path) -> list[tuple[str, str]]:
    found = []
    for place, record in read_records(path, "utf8"):
        label, pattern = record.get("label"), record.get("pattern")
        if isinstance(pattern, list):  # a pattern of spaCy's Matcher, of words alone
            words = [
                token.get("lower", token.get("LOWER")) for token in pattern if isinstance(token, dict)
            ]
            pattern = " ".join(map(str, words)) if all(isinstance(w, str) for w in words) else None
        if not isinstance(label, str) or not isinstance(pattern, str):
            raise bad_line(place.path, place.line, f"{str(record)[:60]!r} is no type with a term", FIX)
        found.append((label, pattern))
    return found


class Likeness:
    """How near a sentence is to the description of a type, by the pipeline's static vectors.

    nlp (Language): The pipeline. texts (Mapping[str, str]): By type.
    """

    def __init__(self, nlp: Language, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.has_vectors = bool(nlp.vocab.vectors.n_keys) and len(nlp.vocab.vectors) > 0
        if self.has_vectors:
            self.types = np.stack([_unit(nlp.make_doc(text).vector) for text in texts.values()])

    def knows(self, label: str) -> bool:
        """Whether the description of a type has a vector."""
        return self.has_vectors and bool(self.types[list(self.texts).index(label)].any())

    def ties(self, doc: Doc, bounds: list[tuple[int, int]]) -> Floats2d:
        """What the likeness of each sentence adds to its score for each type. (n, n_types)"""
        if not self.has_vectors or not bounds:
            return np.zeros((len(bounds), len(self.texts)))
        rows = np.stack(
            [_unit(doc[a:b].vector) if b > a else np.zeros_like(self.types[0]) for a, b in bounds]
        )
        return ALIKE * np.maximum(rows @ self.types.T, 0.0)


def _unit(vector: np.ndarray) -> np.ndarray:
    found = vector.get() if hasattr(vector, "get") else vector
    return found / max(float(np.linalg.norm(found)), 1e-12)
