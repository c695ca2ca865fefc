"""What the recipes' tests share: documents, a pipeline whose worker dies, a run as typed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin

from tests.util import ROOT, write_files

from .plugin import FACTORIES

dataset = pytest.importorskip("pyarrow.dataset").dataset

RECIPES = ROOT / "recipes"
PATTERNS = [
    {"label": "GEO", "pattern": "Oslo"},
    {"label": "NAT", "pattern": "Storm Ida"},
    {"label": "ART", "pattern": [{"LOWER": "ship"}, {"IS_DIGIT": True}]},
]
WORD = "ship 137 "  # in one document, in the middle


class Job(NamedTuple):
    model: Path
    source: Path  # a folder with two files
    output: Path
    deaths: Path  # as many characters as workers died
    expected: dict[str, list[dict[str, Any]]]  # entities by id, predicted in this process


def documents(n: int) -> list[dict[str, str]]:
    places = ["Oslo", "Bergen", "Ōsaka 🌊 and Oslo"]
    texts = [f"Storm Ida sank ship {i} off {places[i % 3]}." if i % 7 else "" for i in range(n)]
    # ids that look like times, which Arrow would make of them
    return [{"id": f"2020-01-01T00:{i // 60:02}:{i % 60:02}", "text": t} for i, t in enumerate(texts)]


def pipeline() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns(PATTERNS)
    nlp.add_pipe("test_scores")
    return nlp


def entities(doc) -> list[dict[str, Any]]:
    group = doc.spans["entity_scores"]
    scored = {(s.start_char, s.end_char): v for s, v in zip(group, group.attrs["scores"])}
    return [
        {"start": e.start_char, "end": e.end_char, "label": e.label_}
        | {"score": scored.get((e.start_char, e.end_char))}
        for e in doc.ents
    ]


def make_job(folder: Path, times: int, n: int = 300) -> Job:
    """Documents in two files, and a pipeline whose process dies that many times at one of them."""
    rows, nlp = documents(n), pipeline()
    docs = nlp.pipe([row["text"] for row in rows])
    expected = {row["id"]: entities(doc) for row, doc in zip(rows, docs)}
    job = Job(folder / "model", folder / "two files", folder / "out", folder / "deaths", expected)
    job.deaths.touch()
    nlp.add_pipe("test_dies", config={"record": str(job.deaths), "word": WORD, "times": times})
    nlp.to_disk(job.model)
    job.source.mkdir()
    for name, part in (("a", rows[: n // 3]), ("b", rows[n // 3 :])):
        lines = [json.dumps({"source": [name, 1] if i % 2 else 1, **row}) for i, row in enumerate(part)]
        (job.source / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf8")
    (job.source / "empty.jsonl").touch()
    return job


def run(script: str, job: Job, *options: str) -> subprocess.CompletedProcess:
    """Run a recipe as a user does, the test's components installed as a package's would be."""
    site = job.model.parent / "site"
    info = site / "recipe_tests-0.dist-info"
    entries = [f"{name} = tests.recipes.plugin:{made}" for name, made in FACTORIES.items()]
    files = {
        "METADATA": "Metadata-Version: 2.1\nName: recipe-tests\nVersion: 0\n",
        "entry_points.txt": "\n".join(["[spacy_factories]", *entries, ""]),
    }
    write_files(info, files)
    path = os.pathsep.join([str(site), str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = {"PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
    # short runs: code that the JVM compiles well does not pay
    settings["JAVA_TOOL_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | settings
    arguments = [str(job.model), job.source.name, job.output.name, *options]
    return subprocess.run(
        [sys.executable, str(RECIPES / script), *arguments],
        cwd=job.model.parent,
        env={**environment, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=900,
    )


def left_behind(job: Job) -> list[str]:
    """What a run left beside its input."""
    known = {job.model.name, job.source.name, job.deaths.name, "site"}
    return sorted(p.name for p in job.model.parent.iterdir() if p.name not in known)


def check_output(job: Job, deaths: int) -> None:
    """Each id once, with the entities and documents of a pipeline that was not interrupted."""
    assert len(job.deaths.read_text()) == deaths
    assert left_behind(job) == [job.output.name]
    rows = dataset(job.output, format="parquet").to_table().to_pylist()
    assert sorted(row["id"] for row in rows) == sorted(job.expected)
    assert {row["id"]: row["entities"] for row in rows} == job.expected
    found = [e for row in rows for e in row["entities"]]
    assert {e["score"] is None for e in found if e["label"] == "GEO"} == {True}
    assert {e["score"] is None for e in found if e["label"] != "GEO"} == {False}
    vocab = spacy.blank("en").vocab
    docs = {row["id"]: next(DocBin().from_bytes(row["doc"]).get_docs(vocab)) for row in rows}
    assert {id: entities(doc) for id, doc in docs.items()} == job.expected
