"""Thresholds and calibration of a trained pipeline, chosen on development data and written into it."""

import shutil
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import cast

from spacy.language import Language
from spacy.training import Corpus, Example
from thinc.types import Floats1d, Ints1d

from ..corpus.formats.docbin import check_docs
from ..errors import Errors, Warnings
from ..numerics import sigmoid
from ..output.writing import check_folder, coded_io, whole_folder
from ..pipes.gate.posterior_gate import PosteriorGate
from ..pipes.gate.sentence_gate import SentenceGate
from ..pipes.pipeline_checks import is_gate
from ..pipes.scores.thresholding import CALIBRATION, check_keys
from ..pipes.scores.thresholds import fit_curve, points
from ..training.loading import load_pipeline
from .calibration import (
    Scored,
    ScoredNER,
    entity_outcomes,
    gate_outcomes,
    measure_reliability,
)
from .chosen import CHOSEN, Chosen, ChosenGate, ChosenTypes, GatePoint, write_chosen
from .entity_thresholds import choose_types, set_types, warn_of
from .evaluate import update_performance
from .goal import GATE_GOAL, GATE_LEAST, Goal
from .posterior_gate import fit_posterior_gate

SECONDARY = "longtail_gated_ner"  # its entities have scores in any case


def fit_thresholds(
    model: Path,
    data: Path,
    *,
    goal: Goal,
    gate_goal: Goal | None = None,
    calibrate: bool = True,
    abstain_key: str | None = None,
    min_mentions: int = 10,
    components: Collection[str] | None = None,
    output: Path | None = None,
) -> Chosen:
    """Choose thresholds and calibration on development data, and write them into the pipeline.

    model (Path): A trained pipeline. data (Path): Development data, a .spacy file or a folder of them.
    goal (Goal): Of the thresholds of entity types.
    gate_goal (Optional[Goal]): Of the gate's; null is the budget of a posterior gate that has one, else
        GATE_GOAL; a trained gate with fewer than GATE_LEAST sentences to choose on then stays as it is.
    calibrate (bool): Whether scores are made probabilities first.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold; null keeps the
        component's own, and drops them where it has none.
    min_mentions (int): Gold mentions, or sentences, that a threshold is chosen on at least.
    components (Optional[Collection[str]]): The components to choose for; null is all that have scores.
    output (Optional[Path]): Folder for the pipeline; null writes it where it is.
    RETURNS (Chosen): By component.
    """
    check_output(model, data, output)
    nlp = load_pipeline(model)
    names = to_choose_for(nlp, model, nlp.pipe_names if components is None else components)
    for name in names:
        check_abstain_key(nlp, abstain_key, name)
    check_docs(data)  # refuses a file that cannot be read, before the long work
    examples = list(Corpus(data)(nlp))
    report: Chosen = {}
    for name in nlp.pipe_names:
        if name in names and isinstance(nlp.get_pipe(name), PosteriorGate):
            report[name] = fit_posterior_gate(nlp, name, examples, gate_goal, min_mentions)
        elif name in names and is_gate(nlp, name):
            goal_and_least = (gate_goal, min_mentions) if gate_goal else (GATE_GOAL, GATE_LEAST)
            report[name] = _fit_gate(nlp, name, examples, calibrate, *goal_and_least)
        elif name in names:
            report[name] = _fit_entities(nlp, name, examples, goal, calibrate, abstain_key, min_mentions)
        with nlp.select_pipes(enable=[name]):
            docs = nlp.pipe(eg.predicted for eg in examples)
            for eg, doc in zip(examples, docs, strict=True):
                eg.predicted = doc
    update_performance(nlp, data)
    write_pipeline(nlp, model, output, report)
    return report


def write_pipeline(nlp: Language, model: Path, output: Path | None, report: Chosen) -> None:
    """Write a pipeline with what was chosen for it: all of it, or nothing.

    nlp (Language): The pipeline. model (Path): Where it is from.
    output (Optional[Path]): Where to write it; null is where it is. report (Chosen): What was chosen.
    """
    with coded_io(output or model), whole_folder(output or model) as folder:
        nlp.to_disk(folder)
        write_chosen(report, folder)
        for path in model.iterdir() if output is None else ():  # such as a model card
            if not (folder / path.name).exists():
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)


def check_output(model: Path, data: Path, output: Path | None) -> None:
    """Refuse an output that would replace something else."""
    if output is None:
        check_folder(model, [data])
    else:
        check_folder(output, [model, data], _foreign)


def _foreign(folder: Path) -> str:
    return "" if (folder / CHOSEN).is_file() else f"it holds no {CHOSEN} of an earlier `thresholds`"


def to_choose_for(nlp: Language, path: Path, components: Collection[str]) -> list[str]:
    """The gate and each NER that has scores; a warning names the others."""
    found: list[str] = []
    without: list[str] = []
    for name, pipe in nlp.pipeline:
        if name not in components:
            continue
        if is_gate(nlp, name):
            found.append(name)
        elif hasattr(pipe, "candidates"):
            is_scored = cast(ScoredNER, pipe).cfg["scores_key"] is not None
            is_scored |= nlp.get_pipe_meta(name).factory == SECONDARY
            (found if is_scored else without).append(name)
    if not found and without:
        raise ValueError(Errors.L251.format(who=", ".join(without)))
    if not found:
        raise ValueError(Errors.L255.format(path=path, found=", ".join(nlp.pipe_names) or "none"))
    for name in without:
        warnings.warn(Warnings.W085.format(name=name), stacklevel=3)
    return found


def check_abstain_key(nlp: Language, abstain_key: str | None, name: str) -> None:
    cfg = nlp.get_pipe(name).cfg  # type: ignore[attr-defined]
    own = {setting: cfg.get(setting) for setting in ("spans_key", "scores_key")}
    check_keys(name, **own, abstain_key=abstain_key)


def _fit_gate(
    nlp: Language, name: str, examples: list[Example], calibrate: bool, goal: Goal, least: int
) -> ChosenGate:
    """Calibrate the gate and choose its threshold; with nothing to choose it stays as it is."""
    gate = cast(SentenceGate, nlp.get_pipe(name))
    logits, right, fold = gate_outcomes(gate, examples, nlp.batch_size)
    n_weak = int(right.sum())
    before, measured = _gate_point(gate, logits, right), {}
    stays = {"name": name, "threshold": gate.cfg["threshold"]}
    if n_weak < least:
        warnings.warn(Warnings.W082.format(n=n_weak, least=least, **stays), stacklevel=2)
    else:
        curve = fit_curve(logits, right) if calibrate else None
        slope, shift = curve or (1.0, 0.0)
        chosen = goal.choose(points(sigmoid(logits * slope + shift), right, n_weak))
        if chosen is None:
            warnings.warn(Warnings.W087.format(goal=goal, **stays), stacklevel=2)
        else:
            if calibrate:
                measured = {"reliability": measure_reliability([Scored(logits, right, fold)])}
            gate.cfg[CALIBRATION] = curve and list(curve)
            gate.cfg["threshold"] = nlp.get_pipe_config(name)["threshold"] = chosen.threshold
    return ChosenGate(
        goal=str(goal),
        sentences=len(right),
        weak=n_weak,
        before=before,
        threshold=gate.cfg["threshold"],
        curve=gate.cfg[CALIBRATION],
        after=_gate_point(gate, logits, right),
        **measured,
    )


def _gate_point(gate: SentenceGate, logits: Floats1d, right: Ints1d) -> GatePoint:
    """What the gate does as it is set."""
    slope, shift = gate.cfg[CALIBRATION] or (1.0, 0.0)
    return GatePoint.of(sigmoid(logits * slope + shift) >= gate.cfg["threshold"], right > 0)


def _fit_entities(
    nlp: Language,
    name: str,
    examples: list[Example],
    goal: Goal,
    calibrate: bool,
    abstain_key: str | None,
    least: int,
) -> ChosenTypes:
    """Calibrate a NER's scores and choose a threshold for each of its types."""
    pipe = cast(ScoredNER, nlp.get_pipe(name))
    by_type, n_gold = entity_outcomes(pipe, examples, nlp.batch_size)
    choice = choose_types(by_type, n_gold, goal, calibrate, least)
    warn_of(choice, name, goal, least)
    set_types(nlp, name, choice, abstain_key)
    chosen = ChosenTypes(goal=str(goal), types=choice.types)
    return chosen.measured(measure_reliability(list(by_type.values()))) if calibrate else chosen
