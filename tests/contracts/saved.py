"""Pipelines as a version saved them, and what they find. `scripts/fixtures.py` writes them."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc

from tests.contracts.check_pipe import Case, trained
from tests.contracts.pipe_cases import ABSENT, CASES, ensemble
from tests.util import SMALL, TOKEN_MODEL, WEAK

FOLDER = Path(__file__).parents[1] / "fixtures" / "pipelines"
EXPECTED = "expected.json"
TEXTS = (
    "Maria sailed to Oslo on the Fram. Nobody saw Storm Ida coming.",
    "Jon Berg and Maria met in Rome. Rome sent help when Storm Ida passed. It rained.",
    *("Old Maria sold the Fram in Oslo .", "The Fram  left\n\nRome .", "Maria", " ", ""),
)
FEWER = {"width": 16, "embed_size": 40, "window_size": 10, "hidden_width": 16}  # at most, or files grow
RNNCNN = {"@architectures": "longtail.RNNCNNGate.v1", "tok2vec": SMALL, "hidden_width": 8}
TORCH = {  # weights in safetensors
    "longtail_sentence_gate: rnncnn": Case(
        "longtail_sentence_gate", {"rare_labels": WEAK}, {"model": RNNCNN}
    )
}
SAVED = {**CASES, **TORCH}
NEEDS_TORCH = {
    *TORCH,
    "longtail_token_ner: bilstm",
    "longtail_gliner",
}  # and what else is needed is in ABSENT


class Saved(NamedTuple):
    version: str
    name: str  # of SAVED, as a folder
    path: Path


def needs(name: str) -> list[str]:
    """Return the packages that a saved pipeline needs beside the light core."""
    packages = ["torch", "safetensors"] if name in map(folder_name, NEEDS_TORCH) else []
    return [*packages, "gliner"] if name == "longtail_gliner" else packages


def folder_name(name: str) -> str:
    return name.replace(": ", "-")


def all_saved() -> Iterator[Saved]:
    """What lies in the folder, of all versions."""
    for path in sorted(FOLDER.glob(f"*/*/{EXPECTED}")):
        yield Saved(path.parts[-3], path.parts[-2], path.parent)


def seen(doc: Doc) -> dict[str, Any]:
    """All that pipes write, as JSON data."""
    return {
        "tokens": [token.text for token in doc],
        "ents": [[e.start, e.end, e.label_] for e in doc.ents],
        "spans": {key: [[s.start, s.end, s.label_] for s in group] for key, group in doc.spans.items()},
        "scores": {
            key: [round(x, 6) for x in g.attrs.get("scores", ())] for key, g in doc.spans.items()
        },
    }


def fewer(settings: Any) -> Any:
    """Settings of models with at most as many rows and weights."""
    if isinstance(settings, list | tuple):
        return type(settings)(map(fewer, settings))
    if not isinstance(settings, Mapping):
        return settings
    found = {key: fewer(value) for key, value in settings.items()}
    return found | {key: min(most, found[key]) for key, most in FEWER.items() if key in found}


def smaller(case: Case) -> Case:
    parts = {name: fewer(getattr(case, name)) for name in ("required", "small", "before")}
    return case._replace(**parts, made=case.made and partial(ensemble, fewer(TOKEN_MODEL)))


def finished(case: Case) -> Language:
    """A case's trained pipeline, with sentences and a small tokenizer: English's has 100 KB."""
    nlp = trained(smaller(case)).nlp
    if "sentencizer" not in nlp.pipe_names:
        nlp.tokenizer = Tokenizer(nlp.vocab, suffix_search=re.compile(r"[.,]$").search)
        nlp.add_pipe("sentencizer", first=True)
    return nlp


def without_folders(path: Path) -> None:
    """Take the temporary folders of this machine out of what a pipeline says of itself."""
    place = re.compile(re.escape(tempfile.gettempdir()) + r"[^\"'\s]*")
    for file in path.rglob("*"):
        if file.name == "cfg" or file.suffix in (".cfg", ".json"):
            file.write_text(place.sub("tiny", file.read_text(encoding="utf8")), encoding="utf8")


def save(case: Case, path: Path) -> None:
    """Write a pipeline and what it finds."""
    nlp = finished(case)
    nlp.to_disk(path)
    without_folders(path)
    found = [{"text": text, **seen(nlp(text))} for text in TEXTS]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found)
    (path / EXPECTED).write_text(f"[\n{lines}\n]\n", encoding="utf8")


def load(path: Path) -> tuple[Language, list[dict[str, Any]]]:
    return spacy.load(path), json.loads((path / EXPECTED).read_text(encoding="utf8"))


def can_save() -> dict[str, Callable[[Path], None]]:
    """What writes each pipeline that can be had here, by its folder's name."""
    return {
        folder_name(name): lambda path, case=case: save(case, path)
        for name, case in SAVED.items()
        if case.factory not in ABSENT
    }
