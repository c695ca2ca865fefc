"""What distillation gives: its records, pipelines measured, and the files that compare them."""

import json
import time
from pathlib import Path

from pydantic import JsonValue
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.descriptions import CorpusTypes
from ..corpus.folder import load_docs
from ..corpus.parts import part_path
from ..evaluation.evaluate import evaluate_model, load_pipeline
from ..evaluation.report.rendering import render
from ..records import Record
from ..writing import write_file

RECORD, PAGE, TWIN = "distil.json", "distil.html", "distil.md"
MEGABYTE = 1e6
PASSES = 3  # over the test part, to see how fast a pipeline is
ENOUGH = 20.0  # seconds, after which none begins


class Silver(Record):
    """What a teacher gave in one round."""

    texts: int
    sentences: int
    known: int  # that stand in the gold corpus
    unknown: dict[str, int]  # mentions of types that the gold corpus does not declare
    lacking: list[str]  # declared types that the teacher cannot read
    silver: int  # sentences
    empty: int  # of them without any entity
    mentions: dict[str, int]  # by type
    tokens: int
    missing: int  # tokens without annotation


class Round(Record):
    """A student, and what it learnt from."""

    round: int
    teacher: str
    student: str
    silver: Silver
    dev_macro: float  # F1 in [0, 1]


class System(Record):
    """A pipeline on the test part."""

    name: str
    model: str
    macro: float  # F1 in [0, 1]
    tail: float | None
    micro: float
    words_per_second: float
    megabytes: float


class Distilled(Record):
    """The result, as distil.json has it."""

    corpus: str
    settings: dict[str, JsonValue]
    rounds: list[Round]
    best: int  # the round whose student is best on dev
    systems: list[System]


def measure(name: str, model: Path, gold: Path, types: CorpusTypes) -> System:
    """Score a pipeline on the test part of a corpus.

    name (str): What it is called. model (Path): Its folder. gold (Path): The corpus.
    types (CorpusTypes): The types to score.
    RAISES (ValueError): L402, L403, L404, L408.
    """
    test = part_path(gold, "test")
    scores = evaluate_model(model, test, types.labels, types.tail).scores
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    nlp = load_pipeline(model)
    return System(
        name=name,
        model=str(model),
        macro=float(scores.ents_macro_f),
        tail=None if scores.ents_tail_f is None else float(scores.ents_tail_f),
        micro=float(scores.ents_f),
        words_per_second=round(words_per_second(nlp, load_docs(test, nlp)), 1),
        megabytes=round(size / MEGABYTE, 3),
    )


def words_per_second(nlp: Language, docs: list[Doc]) -> float:
    """The speed of the fastest of a few passes: a single one depends on what else the machine does."""
    texts = [doc.text for doc in docs]
    fastest, begin = 0.0, time.perf_counter()
    for _ in range(PASSES):
        start = time.perf_counter()
        n = sum(map(len, nlp.pipe(texts)))
        end = time.perf_counter()
        fastest = max(fastest, n / max(end - start, 1e-9))
        if end - begin > ENOUGH:
            break
    return fastest


def headline(found: Distilled) -> str:
    """What the student gives up for its speed, and what silver gave it."""
    by_name = {system.name: system for system in found.systems}
    teacher, student = by_name["teacher"], by_name["student"]
    faster = student.words_per_second / max(teacher.words_per_second, 1e-9)
    behind = 100 * (student.macro - teacher.macro)
    said = f"The student is {behind:+.1f} macro F1 from its teacher, at {faster:.1f} times its speed."
    without = by_name.get("student without silver")
    if without is None:
        return said
    return f"{said} Silver gave it {100 * (student.macro - without.macro):+.1f} macro F1."


def write_comparison(found: Distilled, output: Path) -> None:
    """Write distil.json, and the page with its Markdown twin. RAISES (ValueError): L432."""
    write_file(output / RECORD, json.dumps(found.model_dump(), indent=2))
    for name in (PAGE, TWIN):
        write_file(output / name, render(name, found=found, headline=headline(found)))
