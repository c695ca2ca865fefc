"""CPU time, memory and disk of short trainings, one thread.

    python benchmarks/costs.py CORPUS

trains each config for one step and for some more, each in a process of its own, and appends JSON
records to benchmarks/results/costs.jsonl. `configs/transformer.cfg` needs en_longtail_trf_small.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import typer

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "costs.jsonl"
# Peak memory is that of the largest child so far, so that the heaviest comes last.
STEPS = {"baseline": 100, "pretrained_cnn": 100, "transformer": 20}


def measure(config: str, corpus: Path, steps: int) -> dict:
    """One training in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        command = [sys.executable, "-m", "spacy_longtail", "train", str(ROOT / config), str(corpus)]
        given = ["--training.max_steps", str(steps), "--training.eval_frequency", "1000"]
        before = getrusage(RUSAGE_CHILDREN)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, str(output), *given], check=True, env=environment)
        after = getrusage(RUSAGE_CHILDREN)
        files = [path for path in (output / "model-best").rglob("*") if path.is_file()]
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {
            "config": config,
            "corpus": corpus.name,
            "steps": steps,
            "cpu_s": round(seconds, 1),
            "peak_mib": after.ru_maxrss // 1024,
            "disk_mib": round(sum(path.stat().st_size for path in files) / 2**20),
        }


def main(corpus: Path) -> None:
    """Measure all configs."""
    for name, steps in STEPS.items():
        for n in (1, steps):
            with RECORDS.open("a", encoding="utf8") as file:
                file.write(json.dumps(measure(f"configs/{name}.cfg", corpus, n)) + "\n")


if __name__ == "__main__":
    typer.run(main)
