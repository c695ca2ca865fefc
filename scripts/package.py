"""Package the method with the best macro F1 on dev, its first seed, with its card."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from spacy.cli.package import package
from wasabi import msg

from spacy_longtail.experiments.report import metrics_files, read_report, write_card


def main(
    metrics: Annotated[Path, typer.Argument(help="Folder with the evaluations of a run.")],
    output: Annotated[Path, typer.Argument(help="Folder for the package; emptied first.")],
    baseline: Annotated[
        str, typer.Option(help="Name of the model that is never packaged.")
    ] = "baseline",
    version: Annotated[str, typer.Option(help="Version of the package.")] = "0.1.0",
) -> None:
    """Build an sdist with the pipeline inside, and write where it is to package.json."""
    try:
        statistics, evaluations = metrics_files(metrics)
        ours = read_report(statistics, evaluations, baseline).choice.ours.runs[0].data
    except ValueError as error:
        msg.fail(str(error), exits=1)
    if output.exists():
        shutil.rmtree(output)
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"  # a copy: weasel trains again where a model has changed
        shutil.copytree(ours["model"], model)
        name = f"longtail_{metrics.name}"
        meta = json.loads((model / "meta.json").read_text(encoding="utf8"))
        (model / "meta.json").write_text(json.dumps({**meta, "name": name}), encoding="utf8")
        write_card(statistics, evaluations, Path(ours["model"]), model)
        package(model, output, name=name, version=version, create_wheel=False, force=True)
    archives = sorted(output.rglob("*.tar.gz"))
    if not archives:
        msg.fail(f"No package was written to {output}", exits=1)
    record = {"model": ours["name"], "package": str(archives[0])}
    (output / "package.json").write_text(json.dumps(record, indent=2), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
