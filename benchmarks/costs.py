"""Measure CPU time, memory and disk of short trainings, and CPU time of whole ones.

    python benchmarks/costs.py CORPUS
    python benchmarks/costs.py CORPUS --sentences 100 --sentences 1000 --steps 400
    python benchmarks/costs.py --installed ".[torch,transformers]"

The first command trains each config for one step and for some more, each in a process of its own.
The second trains `configs/transformer.cfg` to the end on the first sentences of a corpus. Both use
one thread and need en_longtail_trf_small. The third measures the size of everything that pip
installs into a new environment. All append JSON records to benchmarks/results/costs.jsonl.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Annotated

import spacy
import srsly
import typer
from spacy.tokens import DocBin

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "costs.jsonl"
# Peak memory is that of the largest child so far, so that the heaviest comes last.
STEPS = {"baseline": 100, "pretrained_cnn": 100, "transformer": 20}


def train(config: str, corpus: Path, output: Path, steps: int, *given: str) -> float:
    """Train in a process of its own with one thread, and return the CPU time in seconds."""
    command = [sys.executable, "-m", "spacy_longtail", "train", str(ROOT / config), str(corpus)]
    command += [str(output), "--training.max_steps", str(steps), *given]
    command += ["--paths.pretrained", "en_longtail_trf_small"] if "transformer" in config else []
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(config: str, corpus: Path, steps: int) -> dict:
    """Return the CPU time, memory and disk of a short training."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        seconds = train(config, corpus, output, steps, "--training.eval_frequency", "1000")
        files = [path for path in (output / "model-best").rglob("*") if path.is_file()]
        return {
            "config": config,
            "corpus": corpus.name,
            "steps": steps,
            "cpu_s": round(seconds, 1),
            "peak_mib": getrusage(RUSAGE_CHILDREN).ru_maxrss // 1024,
            "disk_mib": round(sum(path.stat().st_size for path in files) / 2**20),
        }


def whole(corpus: Path, n_sentences: int, steps: int) -> dict:
    """Return the CPU minutes of training three layers on the first sentences, and the dev curve."""
    with tempfile.TemporaryDirectory() as folder:
        part, output = Path(folder) / corpus.name, Path(folder) / "output"
        shutil.copytree(corpus, part)
        docs = DocBin().from_disk(part / "train.spacy").get_docs(spacy.blank("en").vocab)
        sentences = [sentence.as_doc() for doc in docs for sentence in doc.sents][:n_sentences]
        DocBin(docs=sentences).to_disk(part / "train.spacy")
        minutes = train("configs/transformer.cfg", part, output, steps) / 60
        curve = [
            (line["step"], round(line["scores"]["ents_macro_f"], 1))
            for line in srsly.read_jsonl(output / "curve.jsonl")
        ]
    return {
        "config": "configs/transformer.cfg",
        "corpus": corpus.name,
        "sentences": len(sentences),
        "steps": steps,
        "minutes": round(minutes, 2),
        "dev_macro": max(macro for _, macro in curve),
        "curve": curve,
    }


def installed(requirements: str) -> dict:
    """Return the size on disk of all that pip installs into a new environment, without pip."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "packages"
        pip = [sys.executable, "-m", "pip", "install", "-q", "-c", "constraints.txt"]
        subprocess.run([*pip, "--target", str(target), *requirements.split()], check=True, cwd=ROOT)
        blocks = sum(path.lstat().st_blocks for path in target.rglob("*"))
    return {"installed": requirements, "mib": round(blocks * 512 / 2**20)}


def main(
    corpus: Annotated[Path | None, typer.Argument(help="A folder that `convert` wrote.")] = None,
    sentences: Annotated[
        list[int], typer.Option(help="Number of sentences of a whole training; repeatable.")
    ] = [],  # noqa: B006
    steps: Annotated[int, typer.Option(help="Steps of a whole training.")] = 400,
    requirements: Annotated[str, typer.Option("--installed", help="Requirements for pip.")] = "",
) -> None:
    """Measure, and append the records."""
    works = [lambda: installed(requirements)] if requirements else []
    if corpus is not None:
        works += [lambda n=n: whole(corpus, n, steps) for n in sentences] or [
            lambda name=name, n=n: measure(f"configs/{name}.cfg", corpus, n)
            for name, last in STEPS.items()
            for n in (1, last)
        ]
    for work in works:
        record = json.dumps(work())
        typer.echo(record)
        with RECORDS.open("a", encoding="utf8") as file:
            file.write(record + "\n")


if __name__ == "__main__":
    typer.run(main)
