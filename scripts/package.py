"""The package of a run: of a method that dev shows to be better than the baseline, else of that."""

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, NamedTuple

import srsly
import typer
from spacy.cli.package import package
from wasabi import msg

from spacy_longtail.errors import Errors
from spacy_longtail.evaluation.records import read_evaluation
from spacy_longtail.evaluation.report import metrics_files, read_report, write_card
from spacy_longtail.evaluation.report.systems import System
from spacy_longtail.output.targets import check_folder, unless_holds
from spacy_longtail.output.writing import whole_folder
from spacy_longtail.studies.comparison.recommendation import recommend

DEV = "dev"  # below the folder of evaluations: those on dev, under the same names
RECORD = "package.json"


class Packaged(NamedTuple):
    """What package.json says."""

    model: str  # name of the method
    package: str  # the archive
    reason: str  # why this one, in a sentence


def build_package(metrics: Path, output: Path, baseline: str, version: str) -> Packaged:
    """Build an sdist with a pipeline and its card inside, and write where it is to package.json.

    metrics (Path): Folder with the corpus's statistics, the evaluations on test, and in DEV those
        on dev; what has none there is no candidate.
    output (Path): The folder to write; an earlier package there is replaced.
    baseline (str): Name of the method that is packaged unless another is shown to be better on dev.
    version (str): Version of the package.
    RETURNS (Packaged): What was packaged, and why.
    """
    check_folder(output, [metrics], unless_holds(RECORD))
    statistics, evaluations = metrics_files(metrics)
    report = read_report(statistics, evaluations, baseline)
    choice = recommend(_on_dev(report.systems, metrics, baseline), report.statistics.labels, baseline)
    chosen = next(system for system in report.systems if system.name == choice.method).runs[0].evaluation
    name = "_".join(["longtail", *re.findall("[0-9A-Za-z]+", metrics.name)])  # of a module
    with whole_folder(output) as new, tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"  # a copy: weasel trains again where a model has changed
        shutil.copytree(chosen.model, model)
        meta = json.loads((model / "meta.json").read_text(encoding="utf8"))
        (model / "meta.json").write_text(json.dumps({**meta, "name": name}), encoding="utf8")
        write_card(report, Path(chosen.model), model)
        archive = _built(model, new, name, version, output)
        record = Packaged(chosen.name, str(output / archive.relative_to(new)), choice.text)
        srsly.write_json(new / RECORD, record._asdict())
    return record


def _on_dev(systems: list[System], metrics: Path, baseline: str) -> dict[str, dict[int, Path]]:
    """The evaluations on dev by method and seed. What has no seed, as an ensemble of several seeds,
    is compared with the first seed of the baseline."""
    found: dict[str, dict[int | None, Path]] = {}
    for system in systems:
        for run in system.runs:
            path = metrics / DEV / run.path.name
            if path.is_file():
                _check_dev(path, run.evaluation.model)
                found.setdefault(system.name, {})[run.seed] = path
    first = min((seed for seed in found.get(baseline, {}) if seed is not None), default=0)
    return {
        name: {first if seed is None else seed: path for seed, path in own.items()}
        for name, own in found.items()
    }


def _built(model: Path, folder: Path, name: str, version: str, output: Path) -> Path:
    """The sdist that spaCy makes of a pipeline."""
    problem = "see above."
    try:
        package(model, folder, name=name, version=version, create_wheel=False, force=True, silent=True)
    except SystemExit as stop:
        problem = str(stop)
    archive = next(iter(sorted(folder.rglob("*.tar.gz"))), None)
    if archive is None:
        fix = f"spaCy built no package: {problem}"
        raise ValueError(Errors.L402.format(path=output, fix=fix))
    return archive


def _check_dev(path: Path, model: str) -> None:
    """Refuse what is no evaluation of this model on dev."""
    found = read_evaluation(path)
    if (found.part, found.model) != (DEV, model):
        problem = f"it is no evaluation of {model} on {DEV}"
        raise ValueError(Errors.L405.format(path=path, problem=problem, command="evaluate --part dev"))


def main(
    metrics: Annotated[Path, typer.Argument(help="Folder with the evaluations of a run.")],
    output: Annotated[
        Path, typer.Argument(help="Folder for the package; an earlier one there is replaced.")
    ],
    baseline: Annotated[
        str, typer.Option(help="Name of the model that is packaged unless another beats it.")
    ] = "baseline",
    version: Annotated[str, typer.Option(help="Version of the package.")] = "0.1.0",
) -> None:
    """Build an sdist with the pipeline inside, and write where it is to package.json."""
    try:
        found = build_package(metrics, output, baseline, version)
    except ValueError as error:
        msg.fail(str(error), exits=1)
    msg.good(found.reason)


if __name__ == "__main__":
    typer.run(main)
