"""What distillation gives: its records, pipelines measured, and the files that compare them."""

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, JsonValue
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.descriptions import CorpusTypes
from ..corpus.folder import load_docs
from ..corpus.parts import part_path
from ..corpus.tokenizers import blank
from ..evaluation.evaluate import score_pipeline
from ..evaluation.report.rendering import render
from ..output.writing import write_file
from ..records import Record

RECORD, PAGE, TWIN = "distil.json", "distil.html", "distil.md"
MEGABYTE = 1e6
PASSES = 3  # of each pipeline over the same texts, to see how fast it is
ENOUGH = 60.0  # seconds of all pipelines, after which no round of passes begins
MOST = 20_000  # words of the part that are read for it
WARM = 32  # documents that are read before time is taken


class Silver(Record):
    """What a teacher gave in one round."""

    texts: int
    sentences: int
    known: int  # that stand in the gold corpus
    unknown: dict[str, int]  # mentions of types that the gold corpus does not declare
    lacking: list[str]  # declared types that the teacher cannot read
    unscored: dict[str, int] = Field(default_factory=dict)  # mentions without a score: missing tokens
    silver: int  # sentences
    empty: int  # of them without any entity
    mentions: dict[str, int]  # by type
    tokens: int
    missing: int  # tokens without annotation
    gold_copies: int  # of each gold document beside them


class Round(Record):
    """A student, and what it learnt from."""

    round: int
    teacher: str
    student: str
    silver: Silver
    dev_macro: float  # F1 in [0, 1]


class System(Record):
    """A pipeline on a part of a corpus."""

    name: str
    model: str
    macro: float  # F1 in [0, 1]
    tail: float | None
    micro: float
    words_per_second: float
    speed_ratio: float  # to the first one's, a teacher's
    megabytes: float  # on disk


class Distilled(Record):
    """The result, as distil.json has it."""

    corpus: str
    settings: dict[str, JsonValue]
    rounds: list[Round]
    best: int  # the round whose student is best on dev
    systems: list[System]


class Candidate(NamedTuple):
    """A pipeline that is to be measured."""

    name: str  # what it is called
    nlp: Language
    folders: tuple[Path, ...]  # where it is; several of a mean of teachers


def measure(
    candidates: Sequence[Candidate], gold: Path, types: CorpusTypes, part: str = "test"
) -> list[System]:
    """Score pipelines on a part of a corpus, and see how fast they are, beside each other.

    candidates (Sequence[Candidate]): The first is what the others' speed is compared with.
    gold (Path): The corpus. types (CorpusTypes): The types to score. part (str): Of the corpus.
    RAISES (ValueError): L402, L403, L404.
    """
    data = part_path(gold, part)
    texts, n_words = _texts(load_docs(data, blank(types.lang, types.tokens)))
    found = []
    speeds = words_per_second([own.nlp for own in candidates], texts, n_words)
    for own, speed in zip(candidates, speeds, strict=True):
        scores = score_pipeline(own.nlp, data, types.labels, types.tail)
        found.append(
            System(
                name=own.name,
                model=" + ".join(map(str, own.folders)),
                macro=float(scores.ents_macro_f),
                tail=None if scores.ents_tail_f is None else float(scores.ents_tail_f),
                micro=float(scores.ents_f),
                words_per_second=round(speed, 1),
                speed_ratio=round(speed / speeds[0], 3),
                megabytes=megabytes(own.folders),
            )
        )
    return found


def megabytes(folders: Iterable[Path]) -> float:
    """What folders take on disk."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return round(sum(path.stat().st_size for path in files) / MEGABYTE, 3)


def _texts(docs: list[Doc]) -> tuple[list[str], int]:
    """Texts of at most `MOST` words, one at least, from all over the part; and their words."""
    step = max(1, -(-sum(map(len, docs)) // MOST))
    some = docs[::step]
    return [doc.text for doc in some], sum(map(len, some))


def words_per_second(
    pipelines: Sequence[Language],
    texts: list[str],
    n_words: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """How fast pipelines read the same texts, in this process: each in the fastest of its passes.

    They take turns, after a few texts that are not timed, and each has as many passes as the others:
    what else the machine does then, slows none of them alone. A word is one of the corpus, whatever a
    pipeline's tokenizer makes of it.
    """
    for nlp in pipelines:
        for _ in nlp.pipe(texts[:WARM]):
            pass
    fastest, begin = [math.inf] * len(pipelines), clock()
    for _ in range(PASSES):
        for i, nlp in enumerate(pipelines):
            start = clock()
            for _ in nlp.pipe(texts):
                pass
            fastest[i] = min(fastest[i], clock() - start)
        if clock() - begin > ENOUGH:
            break
    return [n_words / max(seconds, 1e-9) for seconds in fastest]


def headline(found: Distilled) -> str:
    """What the student gives up for its speed, and what silver gave it."""
    by_name = {system.name: system for system in found.systems}
    teacher, student = by_name["teacher"], by_name["student"]
    behind = 100 * (student.macro - teacher.macro)
    smaller = student.megabytes / max(teacher.megabytes, 1e-9)
    said = f"The student is {behind:+.1f} macro F1 from its teacher, at {student.speed_ratio:.1f} times"
    said = f"{said} its speed and {100 * smaller:.0f} % of its size on disk."
    without = by_name.get("student without silver")
    if without is None:
        return said
    return f"{said} Silver gave it {100 * (student.macro - without.macro):+.1f} macro F1."


def write_comparison(found: Distilled, output: Path) -> None:
    """Write distil.json, and the page with its Markdown twin. RAISES (ValueError): L432."""
    write_file(output / RECORD, json.dumps(found.model_dump(), indent=2))
    for name in (PAGE, TWIN):
        write_file(output / name, render(name, found=found, headline=headline(found)))
