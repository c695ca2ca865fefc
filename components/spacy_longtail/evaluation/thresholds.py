"""Choice of a pipeline's thresholds and calibration on development data."""

import shutil
from pathlib import Path
from typing import Any, cast

import srsly
from spacy.language import Language
from spacy.training import Corpus

from ..corpus.formats.docbin import check_docs
from ..errors import Errors
from ..output.writing import check_folder, unless_holds, whole_folder
from ..pipes.gate.fitting import Gate, fit_gate
from ..pipes.neighbours import is_gate
from ..pipes.scores.calibration import (
    choose_types,
    entity_outcomes,
    fit_curves,
    measure_error,
    warn_kept,
)
from ..pipes.scores.chosen import CHOSEN, Chosen, ChosenTypes, Goal, chosen_json
from ..pipes.scores.thresholding import CALIBRATION, check_keys
from ..training.loading import load_pipeline, pipeline_folder
from .evaluate import update_performance

SECONDARY = "longtail_gated_ner"  # its entities always have scores


def fit_thresholds(
    model: Path | str,
    data: Path,
    *,
    goal: Goal | None = None,
    gate_goal: Goal | None = None,
    calibrate: bool = True,
    abstain_key: str | None = None,
    min_mentions: int = 10,
    output: Path | None = None,
) -> Chosen:
    """Choose thresholds and calibration on development data, and write them into the pipeline.

    model (Path | str): Folder of a trained pipeline, or name of an installed package.
    data (Path): Development data: a .spacy file, or a folder of such files.
    goal (Optional[Goal]): Goal of the types' thresholds. By default the best F1.
    gate_goal (Optional[Goal]): Goal of the gate. By default the budget of a posterior gate that has
        one, otherwise GATE_GOAL. A trained gate with fewer than GATE_MIN_SENTENCES sentences with
        a rare type then stays as it is.
    calibrate (bool): Whether to calibrate the scores first.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold. By default the
        key of the component; without one these entities are dropped.
    min_mentions (int): Minimum number of gold mentions (of a gate: sentences with a rare type) to
        choose a threshold.
    output (Optional[Path]): Folder for the pipeline. By default it replaces the given one.
    RETURNS (Chosen): The choices, by name of the component.
    RAISES (ValueError): If no component has scores, a goal has no component that it applies to, or
        an installed package would be changed.
    """
    folder = pipeline_folder(model)
    if output is None and folder != Path(model):
        raise ValueError(Errors.L842.format(model=model))
    given, model = model, folder
    inputs = [data] if output is None else [model, data]
    check_folder(output or model, inputs, unless_holds(CHOSEN) if output else lambda _: "")
    nlp = load_pipeline(given)  # a package may have code of its own
    names = _scored_pipes(nlp, model)
    for name in names:
        cfg = nlp.get_pipe(name).cfg  # type: ignore[attr-defined]
        keys = {setting: cfg.get(setting) for setting in ("spans_key", "scores_key")}
        check_keys(name, **keys, abstain_key=abstain_key)
    gates = [name for name in names if is_gate(nlp, name)]
    if gate_goal is not None and not gates:
        raise ValueError(
            Errors.L420.format(name=f"gate-{gate_goal.kind}", problem=f"{given} has no gate")
        )
    if goal is not None and len(gates) == len(names):
        raise ValueError(
            Errors.L420.format(name=goal.kind, problem=f"{given} has entity scores in no component")
        )
    goal = goal or Goal()
    check_docs(data)  # refuses a file that cannot be read, before the long work
    examples = list(Corpus(data)(nlp))
    chosen: Chosen = {}
    for name in nlp.pipe_names:
        if name in gates:
            gate = cast(Gate, nlp.get_pipe(name))
            chosen[name] = fit_gate(nlp, gate, examples, gate_goal, min_mentions, calibrate)
            continue  # fit_gate has already processed the documents
        if name in names:
            pipe: Any = nlp.get_pipe(name)
            by_type, n_gold = entity_outcomes(pipe, examples, nlp.batch_size)
            curves = fit_curves(by_type) if calibrate else {}
            types = choose_types(name, by_type, n_gold, curves, goal, min_mentions)
            error = measure_error(by_type) if calibrate else None
            chosen[name] = ChosenTypes(goal=str(goal), types=types, calibration_error=error)
            thresholds = {t: fit.threshold for t, fit in types.items() if fit.threshold is not None}
            key = pipe.cfg.get("abstain_key") if abstain_key is None else abstain_key
            settings = {"thresholds": thresholds or None, "abstain_key": key if thresholds else None}
            nlp.get_pipe_config(name).update(settings)
            calibration = {label: list(curve) for label, curve in curves.items()} or None
            pipe.cfg.update({**settings, CALIBRATION: calibration})
        with nlp.select_pipes(enable=[name]):
            for eg, doc in zip(examples, nlp.pipe(eg.predicted for eg in examples), strict=True):
                eg.predicted = doc
    update_performance(nlp, data)
    with whole_folder(output or model) as folder:
        nlp.to_disk(folder)
        srsly.write_json(folder / CHOSEN, chosen_json(chosen))
        for path in model.iterdir() if output is None else ():  # such as a model card
            if not (folder / path.name).exists():
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)
    return chosen


def _scored_pipes(nlp: Language, path: Path) -> list[str]:
    """Return the names of gates and of NERs with entity scores, and warn of NERs without."""
    scored, others = list[str](), list[str]()
    for name, pipe in nlp.pipeline:
        if is_gate(nlp, name):
            scored.append(name)
        elif hasattr(pipe, "candidates"):
            is_secondary = nlp.get_pipe_meta(name).factory == SECONDARY
            is_scored = getattr(pipe, "cfg", {})["scores_key"] is not None or is_secondary
            (scored if is_scored else others).append(name)
    if not scored and others:
        raise ValueError(Errors.L251.format(who=", ".join(others)))
    if not scored:
        raise ValueError(Errors.L255.format(path=path, found=", ".join(nlp.pipe_names) or "none"))
    for name in others:
        warn_kept(name, "its settings", "it has no entity scores, which 'scores_key' sets")
    return scored
