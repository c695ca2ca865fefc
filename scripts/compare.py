"""Train configs over seeds at equal steps, and keep one record a run: the tables of docs/results.md."""

import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

AVERAGES = ("macro_f", "f", "tail_f")


def run_one(config: Path, corpus: Path, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train and evaluate one config with one seed, each in its own process."""
    output = folder / f"{corpus.name}-{config.stem}-{seed}"
    python = [sys.executable, "-m", "spacy_longtail"]
    settings = ["--system.seed", str(seed), "--training.max_steps", str(steps)]
    commands = [[*python, "train", *map(str, (config, corpus, output)), *settings]]
    model = str(output / "model-best")
    for part in ("dev", "test"):
        target = str(output / f"{part}.json")
        commands.append([*python, "evaluate", model, str(corpus), "--part", part, "-o", target])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    record: dict[str, Any] = {"corpus": corpus.name, "config": config.stem, "seed": seed, "steps": steps}
    for part in ("dev", "test"):
        scores = json.loads((output / f"{part}.json").read_text(encoding="utf8"))["scores"]
        record[part] = scores
    return record


def read_records(results: Path) -> list[dict[str, Any]]:
    lines = results.read_text(encoding="utf8").splitlines() if results.is_file() else []
    return [json.loads(line) for line in lines]


def spread(values: list[float]) -> str:
    """Mean and standard deviation over seeds in points; a single value has no spread."""
    mean = f"{100 * statistics.mean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def print_table(records: list[dict[str, Any]], configs: list[str]) -> None:
    """Markdown: averages and F1 by type, with the choice on dev named."""
    types = list(records[0]["test"]["ents_per_type"])
    support = [records[0]["test"]["ents_per_type"][t]["support"] for t in types]
    head = ["config", "seeds", "dev macro", "macro", "micro", "tail"]
    head += [f"{t} ({n})" for t, n in zip(types, support, strict=True)]
    rows = []
    for config in configs:
        own = [r for r in records if r["config"] == config]
        if own:
            row = [config, str(len(own)), spread([r["dev"]["ents_macro_f"] for r in own])]
            row += [spread([r["test"][f"ents_{a}"] for r in own]) for a in AVERAGES]
            row += [spread([r["test"]["ents_per_type"][t]["f"] for r in own]) for t in types]
            rows.append((statistics.mean(r["dev"]["ents_macro_f"] for r in own), row))
    for cells in (head, ["---"] * len(head), *(row for _, row in rows)):
        typer.echo(f"| {' | '.join(cells)} |")
    others = [(dev, row[0]) for dev, row in rows if row[0] != "baseline"]
    if others:
        typer.echo(f"\nOurs, the best on dev macro F1: {max(others)[1]}")


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="A folder that `convert` wrote.")],
    configs: Annotated[list[Path], typer.Argument(exists=True, help="Configs to train.")],
    results: Annotated[Path, typer.Option(help="JSONL to append to; what it holds is not run again.")],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    steps: Annotated[int, typer.Option(help="Training steps, the same for all.")] = 1000,
    workers: Annotated[int, typer.Option(help="Trainings at a time.")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder for the models.")] = Path("training/compare"),
) -> None:
    """Train every config with every seed, append one record each, and print the table."""
    keys = ("corpus", "config", "seed", "steps")
    done = {tuple(r[k] for k in keys) for r in read_records(results)}
    wanted = [(c, int(s)) for s in seeds.split(",") for c in configs]
    jobs = [(c, s) for c, s in wanted if (corpus.name, c.stem, s, steps) not in done]
    results.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(workers) as pool, tqdm(total=len(jobs), unit="run") as progress:
        futures = [pool.submit(run_one, c, corpus, s, steps, folder) for c, s in jobs]
        failed = []
        for future in as_completed(futures):  # a run that fails must not cost the others their record
            progress.update()
            if future.exception() is not None:
                failed.append(str(future.exception()))
                continue
            with results.open("a", encoding="utf8") as file:
                file.write(json.dumps(future.result()) + "\n")
    for message in failed:
        typer.echo(message, err=True)
    if failed:
        raise typer.Exit(1)
    found = [r for r in read_records(results) if r["corpus"] == corpus.name and r["steps"] == steps]
    print_table(found, [c.stem for c in configs])


if __name__ == "__main__":
    typer.run(main)
