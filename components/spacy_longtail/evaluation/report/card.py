"""Model card: a pipeline's training data, its scores and its limits."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import srsly

from ...corpus.statistics import Statistics
from ...encoders import located
from ...errors import Errors
from ...output.targets import check_file
from ...output.writing import replacing
from ...pipes.sources import sources_of
from ..significance import intervals, named_metrics, stack
from .comparison import HEADLINES, Report
from .page import render
from .systems import AVERAGES, Run, System

META_KEY = "spacy_longtail"  # in meta.json
FEW = 30  # with fewer test mentions the score of a type is unreliable
CARD = "README.md"  # the name that `spacy package` looks for
MARK = "made with spacy-longtail"  # in each card, which may be replaced


def write_card(report: Report, model: Path, output: Path | None = None) -> Path:
    """Write a model card into a pipeline: README.md and meta.json, which `spacy package` includes.

    report (Report): Report on evaluations, one of which is of this pipeline.
    model (Path): Folder of the pipeline, or name of an installed package.
    output (Optional[Path]): Copy of the pipeline to write to instead.
    RETURNS (Path): The README.
    RAISES (ValueError): If no evaluation is of this pipeline as it is now (L414).
    """
    folder = located(model)
    if not (folder / "meta.json").is_file():
        raise ValueError(Errors.L402.format(path=folder / "meta.json", fix="Name a trained pipeline."))
    performance = srsly.read_json(folder / "meta.json").get("performance", {})
    system, run = _run_of(report.systems, model, performance)
    target = output or folder
    check_file(target / CARD, mark=MARK)
    stats = report.statistics
    card = card_data(stats, run)
    meta = srsly.read_json(target / "meta.json")
    if not meta.get("description"):
        rare = ", ".join(stats.tail)
        meta["description"] = f"Named entities of {stats.corpus}" + (rare and f"; rare types: {rare}")
    meta[META_KEY] = card
    text = render(
        "card.md",
        card=card,
        meta=meta,
        few=FEW,
        system=system,
        sources=[{"name": source} if isinstance(source, str) else source for source in sources_of(meta)],
    )
    with replacing(target) as folder:  # writes both files or none
        srsly.write_json(folder / "meta.json", meta)
        (folder / CARD).write_text(text, encoding="utf8", errors="replace")
    return target / CARD


def _run_of(systems: list[System], model: Path, now: Mapping[str, float]) -> tuple[System, Run]:
    """Return the system and the run of the evaluation of a pipeline as it is now."""
    runs = [(system, run) for system in systems for run in system.runs]
    problem = f"there are those of {', '.join(run.evaluation.model for _, run in runs)}"
    for system, run in runs:
        if Path(run.evaluation.model).resolve() == model.resolve():
            left = run.evaluation.performance  # scores in the meta data at that time
            if all(math.isclose(now.get(k, math.nan), v, abs_tol=1e-9) for k, v in left.items()):
                return system, run
            problem = f"its own scores are not those in {run.path}"
    raise ValueError(Errors.L414.format(model=model, problem=problem))


def card_data(stats: Statistics, run: Run) -> dict[str, Any]:
    """Return the content of the card for meta.json.

    stats (Statistics): Statistics of the corpus.
    run (Run): Run of the pipeline.
    RETURNS (Dict[str, Any]): JSON data with scores in [0, 1].
    """
    found = intervals(stack([run.counts]), named_metrics(stats.labels, stats.tail)).items()
    ranges = {name: [round(f.low, 4), round(f.high, 4)] for name, f in found if f.low < f.high}
    evaluation, scores = run.evaluation, run.evaluation.scores
    pipes = evaluation.method.pipes
    thresholds = {
        name: cfg[key]
        for name, cfg in pipes.items()
        for key in ("threshold", "thresholds")
        if cfg.get(key) and not (key == "threshold" and cfg.get("budget"))  # a budget replaces it
    }
    budgets = {name: cfg["budget"] for name, cfg in pipes.items() if cfg.get("budget")}
    averages = {
        kind: {"f": getattr(scores, AVERAGES[kind]), "interval": ranges.get(f"{kind} F1")}
        for kind in HEADLINES
        if kind != "tail" or stats.tail
    }
    by_type = {label: scores.of_type(label) for label in stats.labels}
    per_type = {
        label: {
            "rare": label in stats.tail,
            "train": stats.parts["train"].types[label].mentions,
            "test": own.support,
            "p": own.p,
            "r": own.r,
            "f": own.f,
            "interval": ranges.get(f"F1 of {label}"),
        }
        for label, own in by_type.items()
    }
    return {
        "corpus": stats.corpus,
        "checksums": {**evaluation.run.checksums, "test": evaluation.checksum},
        "sentences": {part: counts.sentences for part, counts in stats.parts.items()},
        "method": {"name": run.name, "pipes": pipes, "reader": evaluation.method.reader},
        "thresholds": thresholds,
        "budgets": budgets,
        "is_calibrated": any(settings.get("calibrated") for settings in pipes.values()),
        "training": {"seed": run.seed, "max_steps": evaluation.training.max_steps},
        "versions": evaluation.run.versions,
        "averages": averages,
        "per_type": per_type,
        "unit": run.counts.unit,  # of the intervals
        "unseen": stats.unseen,
    }
