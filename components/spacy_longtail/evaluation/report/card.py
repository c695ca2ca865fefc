"""The model card: what a pipeline was trained on, what it scores, and where not to trust it."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import srsly

from ...corpus.statistics import Statistics
from ...errors import Errors
from ...output.writing import check_file, coded_io, replacing
from ...pipes.sources import sources_of
from ...records import Record
from ...training.provenance import Block
from ..records import Scores
from ..significance import Interval, named_metrics, stack
from .comparison import HEADLINES, ranges_of
from .inputs import Run
from .rendering import render
from .report import read_systems
from .systems import AVERAGES, System, mean, spread

META_KEY = "spacy_longtail"  # in meta.json
FEW = 30  # test mentions: with fewer a type's score says little
CARD = "README.md"  # where `spacy package` looks for it
MARK = "made with spacy-longtail"  # in each card


def write_card(
    statistics: Path, evaluations: list[Path], model: Path, output: Path | None = None
) -> Path:
    """Write a pipeline's card into it, as README.md and into meta.json: `spacy package` includes both.

    statistics (Path): Of the corpus, as the command `stats` writes them.
    evaluations (List[Path]): Of runs on it; one of them is of this pipeline.
    model (Path): The pipeline's folder. output (Optional[Path]): A copy of it, to write into instead.
    RETURNS (Path): The README.
    """
    path = model / "meta.json"
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Name a trained pipeline."))
    stats, systems = read_systems(statistics, evaluations)
    system, run = _run_of(systems, model, srsly.read_json(path).get("performance", {}))
    target = output or model
    check_file(target / CARD, mark=MARK)
    found = card_data(stats, run)
    meta = srsly.read_json(target / "meta.json")
    old = meta.get(META_KEY)
    if not meta.get("description") or (old and meta["description"] == _description(old)):
        meta["description"] = _description(found.as_json())
    meta[META_KEY] = found.as_json()
    shown = {"corpus": stats.corpus, "n_seeds": len(system.runs), "over_seeds": _over_seeds(system)}
    shown["sources"] = [{"name": own} if isinstance(own, str) else own for own in sources_of(meta)]
    text = render("card.md", card=found, meta=meta, few=FEW, **shown)
    with coded_io(target), replacing(target) as folder:  # both or none
        srsly.write_json(folder / "meta.json", meta)
        (folder / CARD).write_text(text, encoding="utf8", errors="replace")
    return target / CARD


def _run_of(systems: list[System], model: Path, now: Mapping[str, float]) -> tuple[System, Run]:
    """The run that a pipeline, as it is now, was evaluated in, and its method."""
    for system in systems:
        for run in system.runs:
            if Path(run.evaluation.model).resolve() != model.resolve():
                continue
            left = run.evaluation.performance  # by training
            if any(not math.isclose(now.get(k, math.nan), v, abs_tol=1e-9) for k, v in left.items()):
                raise ValueError(Errors.L416.format(model=model, path=run.path))
            return system, run
    known = ", ".join(run.evaluation.model for system in systems for run in system.runs)
    raise ValueError(Errors.L414.format(model=model, known=known))


Ends = tuple[float, float]  # of an interval


class CardMethod(Record):
    name: str
    pipes: dict[str, Block]
    reader: Block


class CardTraining(Record):
    seed: int | None
    max_steps: int | None


class CardAverage(Record):
    f: float | None
    interval: Ends | None


class CardType(Record):
    rare: bool
    train: int  # mentions
    test: int
    p: float
    r: float
    f: float
    interval: Ends | None  # of f


class Card(Record):
    """What meta.json keeps of a pipeline. Scores are in [0, 1]."""

    corpus: str
    checksums: dict[str, str | None]  # by part
    sentences: dict[str, int]
    method: CardMethod
    thresholds: Block  # by component: one, or one per type
    is_calibrated: bool
    training: CardTraining
    versions: dict[str, str]
    averages: dict[str, CardAverage]
    per_type: dict[str, CardType]
    unit: str  # that intervals resample
    unseen: dict[str, float | None]


def card_data(stats: Statistics, run: Run) -> Card:
    """What is known of a pipeline.

    stats (Statistics): Of the corpus. run (Run): The pipeline's.
    """
    ranges = ranges_of(stack([run.counts]), named_metrics(stats.labels, stats.tail))
    own = run.evaluation
    pipes = own.method.pipes
    return Card(
        corpus=stats.corpus,
        checksums={**own.run.checksums, "test": own.checksum},
        sentences={part: counts.sentences for part, counts in stats.parts.items()},
        method=CardMethod(name=run.name, pipes=pipes, reader=own.method.reader),
        thresholds={
            name: settings[key]
            for name, settings in pipes.items()
            for key in ("threshold", "thresholds")
            if settings.get(key)
        },
        is_calibrated=any(settings.get("calibrated") for settings in pipes.values()),
        training=CardTraining(seed=run.seed, max_steps=own.training.max_steps),
        versions=own.run.versions,
        averages={
            kind: CardAverage(
                f=getattr(own.scores, AVERAGES[kind]), interval=_ends(ranges.get(f"{kind} F1"))
            )
            for kind in HEADLINES
            if kind != "tail" or stats.tail
        },
        per_type={label: _card_type(label, stats, own.scores, ranges) for label in stats.labels},
        unit=run.counts.unit,
        unseen=stats.unseen,
    )


def _card_type(label: str, stats: Statistics, scores: Scores, ranges: dict[str, Interval]) -> CardType:
    own = scores.of_type(label)
    return CardType(
        rare=label in stats.tail,
        train=stats.parts["train"].types[label].mentions,
        test=own.support,
        p=own.p,
        r=own.r,
        f=own.f,
        interval=_ends(ranges.get(f"F1 of {label}")),
    )


def _ends(interval: Interval | None) -> Ends | None:
    return None if interval is None else (round(interval.low, 4), round(interval.high, 4))


def _over_seeds(system: System) -> dict[str, tuple[float | None, float | None]]:
    """Macro and micro F1 of all seeds, where there are several: mean and standard deviation."""
    if len(system.runs) < 2:
        return {}
    return {
        kind: (mean(own), spread(own)) for kind in ("macro", "micro") if (own := system.scores(kind))
    }


def _description(found: dict[str, Any]) -> str:
    rare = [label for label, row in found["per_type"].items() if row["rare"]]
    return f"Named entities of {found['corpus']}" + (f"; rare types: {', '.join(rare)}" if rare else "")
