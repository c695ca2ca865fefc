"""Choice of a pipeline's thresholds and calibration on development data."""

import shutil
from pathlib import Path
from typing import Any, cast

import srsly
from spacy.language import Language
from spacy.training import Corpus

from ..corpus.examples import predict_examples
from ..corpus.parts import check_docs
from ..errors import Errors
from ..output.targets import check_folder, unless_holds
from ..output.writing import refuse_mount_point, whole_folder
from ..pipes.gate.fitting import fit_gate
from ..pipes.neighbours import is_gate
from ..pipes.scores.calibration import (
    CurvesByType,
    choose_types,
    entity_outcomes,
    fit_curves,
    measure_error,
    warn_kept,
)
from ..pipes.scores.chosen import CHOSEN, Chosen, ChosenType, ChosenTypes, Goal, chosen_json
from ..pipes.scores.thresholding import CALIBRATION, check_keys
from ..training.loading import load_pipeline, pipeline_folder
from .evaluate import DEV, update_performance

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
    part: str = DEV,
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
    part (str): Part of the corpus that the data is. Scores on dev replace those in the pipeline's
        meta data, where a training stores its own. For another part these are removed, because they
        are those of other thresholds.
    RETURNS (Chosen): The choices, by name of the component.
    RAISES (ValueError): If no component has scores, a goal has no component that it applies to, or
        an installed package would be changed.
    """
    folder = pipeline_folder(model)
    if output is None and folder != Path(model):
        raise ValueError(Errors.L842.format(model=model))
    inputs = [data] if output is None else [folder, data]
    check_folder(output or folder, inputs, unless_holds(CHOSEN) if output else lambda _: "")
    refuse_mount_point(output or folder)
    nlp = load_pipeline(model)  # a package may have code of its own
    names = _scored_pipes(nlp, folder)
    for name in names:
        cfg = nlp.get_pipe(name).cfg  # type: ignore[attr-defined]
        check_keys(
            name,
            spans_key=cfg.get("spans_key"),
            scores_key=cfg.get("scores_key"),
            abstain_key=abstain_key,
        )
    gates = [name for name in names if is_gate(nlp.get_pipe(name))]
    if gate_goal is not None and not gates:
        raise ValueError(
            Errors.L420.format(name=f"gate-{gate_goal.kind}", problem=f"{model} has no gate")
        )
    if goal is not None and len(gates) == len(names):
        raise ValueError(
            Errors.L420.format(name=goal.kind, problem=f"{model} has entity scores in no component")
        )
    check_docs(data)  # refuses a file that cannot be read, before the long work
    examples = list(Corpus(data)(nlp))
    chosen: Chosen = {}
    for name in nlp.pipe_names:
        pipe: Any = nlp.get_pipe(name)
        if name in gates:  # `fit_gate` processes the documents as well
            chosen[name] = fit_gate(nlp, pipe, examples, gate_goal, min_mentions, calibrate)
            continue
        if name in names:
            by_type, n_gold = entity_outcomes(pipe, examples, nlp.batch_size)
            curves = fit_curves(by_type) if calibrate else {}
            types = choose_types(name, by_type, n_gold, curves, goal or Goal(), min_mentions)
            chosen[name] = ChosenTypes(
                goal=str(goal or Goal()),
                types=types,
                calibration_error=measure_error(by_type) if calibrate else None,
            )
            _set_thresholds(nlp, pipe, types, curves, abstain_key)
        with nlp.select_pipes(enable=[name]):
            predict_examples(nlp, examples)
    if part == DEV:
        update_performance(nlp, data)
    else:
        nlp.meta["performance"] = {}
    with whole_folder(output or folder) as new:
        nlp.to_disk(new)
        srsly.write_json(new / CHOSEN, chosen_json(chosen))
        if output is None:
            _copy_others(folder, new)
    return chosen


def _set_thresholds(
    nlp: Language, pipe: Any, types: dict[str, ChosenType], curves: CurvesByType, abstain_key: str | None
) -> None:
    """Set the thresholds and the calibration of an NER, in the component and in the config.

    nlp (Language): The pipeline.
    pipe (Any): The NER.
    types (Dict[str, ChosenType]): Threshold of each type.
    curves (Dict[str, CalibrationCurve]): Calibration curves by type.
    abstain_key (Optional[str]): Key in doc.spans for entities below their threshold. By default the
        key of the component.
    """
    thresholds = {t: fit.threshold for t, fit in types.items() if fit.threshold is not None}
    key = pipe.cfg.get("abstain_key") if abstain_key is None else abstain_key
    settings = {"thresholds": thresholds or None, "abstain_key": key if thresholds else None}
    nlp.get_pipe_config(pipe.name).update(settings)
    calibration = {label: list(curve) for label, curve in curves.items()} or None
    pipe.cfg.update({**settings, CALIBRATION: calibration})


def _copy_others(model: Path, folder: Path) -> None:
    """Copy files of a pipeline that the new folder lacks, such as a model card."""
    for path in model.iterdir():
        if not (folder / path.name).exists():
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)


def _scored_pipes(nlp: Language, path: Path) -> list[str]:
    """Return the names of gates and of NERs with entity scores, and warn of NERs without."""
    scored, others = list[str](), list[str]()
    for name, pipe in nlp.pipeline:
        if is_gate(pipe):
            scored.append(name)
        elif hasattr(pipe, "candidates"):
            is_secondary = nlp.get_pipe_meta(name).factory == SECONDARY
            is_scored = cast(Any, pipe).cfg["scores_key"] is not None or is_secondary
            (scored if is_scored else others).append(name)
    if not scored and others:
        raise ValueError(Errors.L251.format(who=", ".join(others)))
    if not scored:
        raise ValueError(Errors.L255.format(path=path, found=", ".join(nlp.pipe_names) or "none"))
    for name in others:
        warn_kept(name, "its settings", "it has no entity scores, which 'scores_key' sets")
    return scored
