"""What scheduling a matrix costs: 200 trials that only sleep, by eight workers.

Overhead is wall-clock time over that of the sleeping alone, less one. On a loaded machine it holds the
waiting for a processor too; processor seconds per trial do not. Appends one JSON record to
benchmarks/results/scheduling.jsonl.
"""

import json
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from spacy_longtail.about import __version__
from spacy_longtail.studies.trials.plan import Trial, read_plan
from spacy_longtail.studies.trials.process import Outcome
from spacy_longtail.studies.trials.run import Matrix, Options

PLAN = "seeds: {seeds}\ngrids: [{{head: [softmax, crf]}}]\n"
SCORES = json.dumps({"scores": {"ents_macro_f": 0.5}})


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")] = Path(
        "corpus/field_notes"
    ),
    trials: Annotated[int, typer.Option(min=2, help="Trials.")] = 200,
    workers: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 8,
    seconds: Annotated[float, typer.Option(min=0, help="That each trial sleeps.")] = 2.0,
    storage: Annotated[str | None, typer.Option(help="As that of the command.")] = None,
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = Path(__file__).parent
    / "results"
    / "scheduling.jsonl",
) -> None:
    """Run a plan of sleeping trials, and append a record."""
    slept = []

    def sleep(trial: Trial, work: Path, stop: Callable[[], str | None]) -> Outcome:
        start = time.perf_counter()
        time.sleep(seconds)
        slept.append(time.perf_counter() - start)
        for part in ("dev", "test"):
            (work / f"{part}.json").write_text(SCORES, encoding="utf8")
        return Outcome("done", slept[-1], "")

    with tempfile.TemporaryDirectory() as name:
        plan = Path(name) / "plan.yml"
        plan.write_text(PLAN.format(seeds=trials // 2), encoding="utf8")
        start, cpu = time.perf_counter(), time.process_time()
        matrix = Matrix(read_plan(str(plan), {"corpora": [str(corpus)]}), Path(name) / "out")
        planned, planned_cpu = time.perf_counter() - start, time.process_time() - cpu
        start, cpu = time.perf_counter(), time.process_time()
        records = matrix.run(Options(workers=workers, storage=storage), runner=sleep)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    record = {
        "name": "scheduling",
        "trials": len(records),
        "workers": workers,
        "seconds_each": seconds,
        "storage": "sqlite" if storage is None else storage.partition(":")[0],
        "planning_seconds": round(planned, 2),
        "planning_cpu_seconds": round(planned_cpu, 2),
        "wall_seconds": round(wall, 2),
        "overhead": round(wall / (sum(slept) / workers) - 1, 4),
        "cpu_seconds_a_trial": round(cpu / len(records), 4),
        "spacy_longtail": __version__,
        "optuna": version("optuna"),
    }
    typer.echo(json.dumps(record))
    with results.open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    typer.run(main)
