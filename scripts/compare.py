"""Train configs over seeds at equal steps, and keep one record a run: the tables of docs/results.md."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from tqdm import tqdm

AVERAGES = ("macro_f", "f", "tail_f")


class Variant(NamedTuple):
    name: str
    config: Path
    overrides: dict[str, Any]  # config values by dotted name


def read_settings(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE of the command line: values as on spaCy's, JSON where they can be read as it."""
    found = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not (separator and "." in name):
            raise typer.BadParameter(f"--set takes SECTION.NAME=VALUE, found {text!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def read_variants(paths: list[Path], common: dict[str, Any]) -> list[Variant]:
    """A config is a variant of its own; a JSON file names variants: a config each, and what differs.

    common: Settings of all of them; a variant's own win.
    """
    found = []
    for path in paths:
        if path.suffix != ".json":
            found.append(Variant(path.stem, path, common))
            continue
        for name, settings in json.loads(path.read_text(encoding="utf8")).items():
            config = Path(settings.pop("config"))
            found.append(Variant(name, config, {**common, **settings}))
    return found


def recorded(overrides: dict[str, Any]) -> dict[str, Any]:
    """What a record keeps of the settings: of a path its last name, for its folder is one machine's."""
    return {
        name: Path(value).name if name.startswith("paths.") and isinstance(value, str) else value
        for name, value in overrides.items()
    }


def check_settings(records: list[dict[str, Any]], variants: list[Variant], results: Path) -> None:
    """Figures of other settings must not stand under a variant's name."""
    for v in variants:
        if any(
            r["config"] == v.name and r.get("overrides", {}) != recorded(v.overrides) for r in records
        ):
            raise typer.BadParameter(f"{results} has runs of {v.name!r} with other settings: rename it.")


def run_one(variant: Variant, corpus: Path, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train and evaluate one variant with one seed, each in its own process."""
    output = folder / f"{corpus.name}-{variant.name}-{seed}"
    python = [sys.executable, "-m", "spacy_longtail"]
    settings = {"system.seed": seed, "training.max_steps": steps, **variant.overrides}
    options = [part for k, v in settings.items() for part in (f"--{k}", as_option(v))]
    commands = [[*python, "train", *map(str, (variant.config, corpus, output)), *options]]
    model = str(output / "model-best")
    for part in ("dev", "test"):
        target = str(output / f"{part}.json")
        commands.append([*python, "evaluate", model, str(corpus), "--part", part, "-o", target])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    record: dict[str, Any] = {
        "corpus": corpus.name,
        "config": variant.name,
        "seed": seed,
        "steps": steps,
        "overrides": recorded(variant.overrides),
    }
    for part in ("dev", "test"):
        scores = json.loads((output / f"{part}.json").read_text(encoding="utf8"))["scores"]
        record[part] = scores
    return record


def as_option(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def run_all(run: Callable[[Any], dict[str, Any]], jobs: list[Any], results: Path, workers: int) -> None:
    """Append the record of each job as it ends; a job that fails costs the others nothing."""
    results.parent.mkdir(parents=True, exist_ok=True)
    failed = []
    with ThreadPoolExecutor(workers) as pool, tqdm(total=len(jobs), unit="run") as progress:
        for future in as_completed([pool.submit(run, job) for job in jobs]):
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


def read_records(results: Path) -> list[dict[str, Any]]:
    lines = results.read_text(encoding="utf8").splitlines() if results.is_file() else []
    return [json.loads(line) for line in lines]


def spread(values: list[float]) -> str:
    """Mean and standard deviation over seeds in points; a single value has no spread."""
    mean = f"{100 * statistics.mean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def print_table(records: list[dict[str, Any]], configs: list[str], stock: Collection[str]) -> None:
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
    others = [(dev, row[0]) for dev, row in rows if row[0] not in stock]
    if others:
        typer.echo(f"\nOurs, the best on dev macro F1: {max(others)[1]}")


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="A folder that `convert` wrote.")],
    configs: Annotated[
        list[Path], typer.Argument(exists=True, help="Configs to train, or a JSON of variants.")
    ],
    results: Annotated[Path, typer.Option(help="JSONL to append to; what it holds is not run again.")],
    seeds: Annotated[str, typer.Option(help="Seeds, separated by commas.")] = "0,1,2",
    steps: Annotated[int, typer.Option(help="Training steps, the same for all.")] = 1000,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="SECTION.NAME=VALUE of every config; repeatable.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Trainings at a time.")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder for the models.")] = Path("training/compare"),
) -> None:
    """Train every config with every seed, append one record each, and print the table."""
    records = [r for r in read_records(results) if (r["corpus"], r["steps"]) == (corpus.name, steps)]
    variants = read_variants(configs, read_settings(settings or []))
    check_settings(records, variants, results)
    done = {(r["config"], r["seed"]) for r in records}
    wanted = [(v, int(s)) for s in seeds.split(",") for v in variants]
    jobs = [(v, s) for v, s in wanted if (v.name, s) not in done]
    run_all(lambda job: run_one(job[0], corpus, job[1], steps, folder), jobs, results, workers)
    found = [r for r in read_records(results) if r["corpus"] == corpus.name and r["steps"] == steps]
    stock = {v.name for v in variants if v.config.stem in ("baseline", "bert_ner")}
    print_table(found, [v.name for v in variants], stock)


if __name__ == "__main__":
    typer.run(main)
