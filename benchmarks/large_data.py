"""Measure nlp.pipe, Ray Data and Spark on many documents, each with one and with two workers.

    python benchmarks/large_data.py CORPUS PIPELINE [PIPELINE ...]

The script repeats the test part of a corpus as separate documents, and processes them with each
engine in a process of its own, from files to files and including the start. It appends JSON
records to benchmarks/results/large_data.jsonl, and skips engines that are not installed with a
message.
"""

import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import spacy
import srsly
import typer
from serving import read

ROOT = Path(__file__).parents[1]
ENGINES = {"ray": "ray_bulk.py", "pyspark": "spark_bulk.py"}  # package: recipe
MILLION = 1_000_000


def write_documents(corpus: Path, path: Path, n_docs: int) -> int:
    """Write the documents to eight files for the recipes, and return the number of words."""
    texts = [" ".join(words) for words in read(corpus)]
    rows = [{"id": str(i), "text": texts[i % len(texts)]} for i in range(n_docs)]
    path.mkdir()
    for shard in range(8):
        srsly.write_jsonl(path / f"{shard}.jsonl", rows[shard::8])
    return sum(len(row["text"].split()) for row in rows)


def by_pipe(pipeline: Path, source: Path, target: Path, workers: int) -> None:
    """Do the same with spaCy alone: read documents from files, and write entities to a file."""
    nlp = spacy.load(pipeline)
    rows = [row for path in sorted(source.glob("*.jsonl")) for row in srsly.read_jsonl(path)]
    given = ((row["text"], row["id"]) for row in rows)
    docs = nlp.pipe(given, as_tuples=True, n_process=workers)
    srsly.write_jsonl(
        target,
        (
            {"id": name, "entities": [(e.start_char, e.end_char, e.label_) for e in doc.ents]}
            for doc, name in docs
        ),
    )


def peak_mib(process: "subprocess.Popen[bytes]") -> float:
    """The most memory that a process and its descendants had at one time, sampled.

    Pages that processes share count in each of them.
    """
    import psutil

    most = 0.0
    while process.poll() is None:
        try:
            family = [psutil.Process(process.pid)]
            family += family[0].children(recursive=True)
            most = max(most, sum(one.memory_info().rss for one in family) / 2**20)
        except psutil.NoSuchProcess:  # it has ended since
            pass
        time.sleep(0.5)
    return most


def measure(command: list[str], n_docs: int, n_words: int) -> dict[str, Any]:
    """Return the time and memory of a command whose processes have one thread each."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as log:  # a pipe that nobody reads would stop Spark when it is full
        process = subprocess.Popen(
            command, env={**os.environ, **threads}, stdout=subprocess.DEVNULL, stderr=log
        )
        memory = peak_mib(process)
        seconds = time.perf_counter() - start
        if process.returncode:
            log.seek(0)
            raise SystemExit(log.read().decode()[-2000:])
    return {
        "seconds": round(seconds, 1),
        "words_per_second": round(n_words / seconds),
        "minutes_a_million": round(seconds / n_docs * MILLION / 60, 1),
        "peak_mib": round(memory),
    }


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")],
    pipelines: Annotated[list[Path], typer.Argument(help="Trained pipelines.")],
    docs: Annotated[int, typer.Option(min=1, help="Number of documents.")] = 20_000,
    pipe: Annotated[int, typer.Option(hidden=True)] = 0,
    engines: Annotated[str, typer.Option(help="Engines, separated by commas.")] = "nlp.pipe,ray,pyspark",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/large_data.jsonl",
) -> None:
    """Measure each pipeline with each engine, with one worker and with two."""
    if pipe:  # the child: corpus is the documents, then the pipeline and the output
        by_pipe(pipelines[0], corpus, pipelines[1], pipe)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "documents"
        n_words = write_documents(corpus, source, docs)
        for pipeline in pipelines:
            for engine in engines.split(","):
                if engine in ENGINES and importlib.util.find_spec(engine) is None:
                    typer.echo(f"{engine} is not installed.")
                    continue
                for workers in (1, 2):
                    target = Path(folder) / f"{engine}-{workers}-{pipeline.name}"
                    paths = [str(source), str(pipeline), str(target), "--pipe", str(workers)]
                    command = [sys.executable, __file__, *paths]
                    if engine in ENGINES:
                        recipe = str(ROOT / "recipes" / ENGINES[engine])
                        paths = [str(pipeline), str(source), str(target)]
                        command = [sys.executable, recipe, *paths, "--workers", str(workers)]
                    record = {
                        "pipeline": pipeline.name,
                        "engine": engine,
                        "workers": workers,
                        "docs": docs,
                        "words": n_words,
                        **measure(command, docs, n_words),
                        "corpus": corpus.name,
                        "cores": os.cpu_count(),
                        "python": platform.python_version(),
                    }
                    typer.echo(json.dumps(record))
                    with results.open("a", encoding="utf8") as file:
                        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    typer.run(main)
