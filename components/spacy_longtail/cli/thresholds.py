"""`thresholds`: least scores of entities and of flagged sentences, chosen on development data."""

import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg

from ..corpus.folder import part_path, read_types
from ..errors import Errors, Warnings
from ..evaluation.chosen import ChosenGate, ChosenPosteriorGate, ChosenTypes, Expected, chosen_json
from ..evaluation.goal import Goal
from ..evaluation.offset_choice import OffsetWish
from ..evaluation.offsets import FAMILIES
from ..evaluation.thresholds import fit_thresholds
from ..output.writing import check_folder
from ..pipes.posterior_settings import check_budget
from ..studies.out_of_fold import choose_out_of_fold
from ..studies.trials.run import Options
from ..training.device import use_gpu
from .app import PIPELINE_PANEL, Code, Corpus, GpuId, Json, app, print_json, print_table
from .matrix import say
from .trial_options import Retry, Workers

FOLDS_OUTPUT = Path("training/out_of_fold")
GATE_FIX = "The folds are of the training part, and have the NER alone."


class Offsets(str, Enum):
    """Families of decision offsets, as the command line names them."""

    off = "off"
    prior = "prior"
    types = "types"
    auto = "auto"


@app.command(rich_help_panel=PIPELINE_PANEL)
def thresholds(
    model: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Corpus,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the pipeline with thresholds.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Write the thresholds into the model itself.")
    ] = False,
    part: Annotated[
        str | None, typer.Option(help="Choose on this part; never on test.", show_default="dev")
    ] = None,
    out_of_fold: Annotated[
        int | None,
        typer.Option(min=2, help="Choose on the training part, by a model for each of so many folds."),
    ] = None,
    folds_output: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the folds' trainings; what is there is not trained again.",
            show_default=str(FOLDS_OUTPUT),
        ),
    ] = None,
    offsets: Annotated[
        Offsets, typer.Option(help="Choose decision offsets too, where they gain on held-out folds.")
    ] = Offsets.off,
    offset_tail: Annotated[
        bool, typer.Option("--offset-tail", help="Offsets for the F1 of rare types, not of all.")
    ] = False,
    offset_recall: Annotated[
        list[str] | None, typer.Option(help="TYPE=RECALL to reach by an offset; repeatable.")
    ] = None,
    workers: Workers = 1,
    retry_failed: Retry = False,
    recall: Annotated[
        float | None, typer.Option(min=0, max=1, help="Recall to keep, of every type.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(min=0, max=1, help="Precision to reach, of every type.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option(min=0, max=1000, help="Best F-beta of every type.", show_default="1")
    ] = None,
    gate_recall: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Recall of the gate's sentences.", show_default="0.9, or its budget"
        ),
    ] = None,
    gate_beta: Annotated[
        float | None, typer.Option(min=0, max=1000, help="Best F-beta of the gate.")
    ] = None,
    gate_budget: Annotated[
        float | None, typer.Option(help="Most sentences that the gate flags, a share above 0.")
    ] = None,
    calibrate: Annotated[bool, typer.Option(help="Make scores probabilities first.")] = True,
    abstain_key: Annotated[
        str | None,
        typer.Option(help="Key in doc.spans for what falls below.", show_default="the component's"),
    ] = None,
    min_mentions: Annotated[int, typer.Option(min=1, help="Mentions to choose on, at least.")] = 10,
    code: Code = None,
    gpu_id: GpuId = -1,
    as_json: Json = False,
) -> None:
    """Choose thresholds for types and for the gate on development data; write the pipeline with them."""
    if in_place == (output is not None):
        found = "Both" if in_place else "Neither"
        raise ValueError(Errors.L755.format(found=found, model=model))
    use_gpu(gpu_id)
    _only_one({"--recall": recall, "--precision": precision, "--beta": beta})
    gate_goal = _gate_goal(gate_recall, gate_beta, gate_budget)
    if output is not None:
        check_folder(output, [corpus])
    goal = Goal(recall, precision, 1.0 if beta is None else beta)
    own: dict[str, Any] = {"goal": goal, "calibrate": calibrate, "abstain_key": abstain_key}
    own |= {"min_mentions": min_mentions, "output": output}
    wish = read_wish(offsets, offset_tail, offset_recall or [], corpus)
    if out_of_fold is not None:
        _refuse({"--part": part, "a goal of the gate": gate_goal}, "with --out-of-fold", GATE_FIX)
        options = Options(workers, gpu_id, keep_models=True, retry_failed=retry_failed)
        place = folds_output or FOLDS_OUTPUT
        found = choose_out_of_fold(model, corpus, out_of_fold, place, options, wish, say, **own)
    else:
        without = {
            "decision offsets": wish,
            "--folds-output": folds_output,
            "--workers": None if workers == 1 else workers,
            "--retry-failed": retry_failed or None,
        }
        _refuse(without, "without --out-of-fold", "Add --out-of-fold 5.")
        if part == "test":
            warnings.warn(Warnings.W086, stacklevel=2)
        found = fit_thresholds(model, part_path(corpus, part or "dev"), gate_goal=gate_goal, **own)
    if as_json:
        return print_json(chosen_json(found))
    for name, chosen in found.items():
        where = part or "dev" if out_of_fold is None else f"{out_of_fold} folds of train"
        msg.divider(f"{name}: {chosen.goal}, on {where}")
        if isinstance(chosen, ChosenPosteriorGate):
            _print_posterior_gate(chosen)
            continue
        if isinstance(chosen, ChosenGate):
            _print_gate(chosen)
        else:
            _print_types(chosen)
            _print_expected(chosen)
        if chosen.reliability is not None:
            before, after = chosen.reliability.before.error, chosen.reliability.after.error
            msg.text(f"expected calibration error {before:.3f}, cross-fitted {after:.3f} afterwards")
    msg.good(f"Wrote {output or model}")
    return None


def read_wish(
    offsets: Offsets, for_tail: bool, recalls: Sequence[str], corpus: Path
) -> OffsetWish | None:
    """What offsets are wanted for; null is none.

    RAISES (ValueError): L402, L430, L516, L538, L539, L591.
    """
    found: dict[str, float] = {}
    for text in recalls:
        label, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not label or not 0 < number <= 1:
            raise ValueError(Errors.L539.format(found=text))
        if label in found:
            problem, fix = f"names {label} again", "Give one recall for a type."
            name = "offset-recall"
            raise ValueError(Errors.L516.format(name=name, found=text, problem=problem, fix=fix))
        found[label] = number
    off = offsets is Offsets.off
    if found:
        extra = {"--offsets": None if off else offsets.value, "--offset-tail": for_tail or None}
        _refuse(extra, "with --offset-recall", "A recall decides the offset.")
        return OffsetWish(recalls=found)
    if off:
        _refuse({"--offset-tail": for_tail or None}, "without --offsets", "Add --offsets auto.")
        return None
    families = FAMILIES if offsets is Offsets.auto else (offsets.value,)
    tail = tuple(read_types(corpus).tail) if for_tail else ()
    if for_tail and not tail:
        raise ValueError(Errors.L591.format(path=corpus))
    return OffsetWish(families, tail)


def _refuse(given: Mapping[str, object], where: str, fix: str) -> None:
    """Refuse options that would be ignored. RAISES (ValueError): L538."""
    found = [name for name, value in given.items() if value is not None]
    if found:
        raise ValueError(Errors.L538.format(found=" and ".join(found), where=where, fix=fix))


def _only_one(given: Mapping[str, float | None]) -> None:
    """RAISES (ValueError): L256."""
    found = [name for name, value in given.items() if value is not None]
    if len(found) > 1:
        raise ValueError(Errors.L256.format(found=" and ".join(found)))


def _gate_goal(recall: float | None, beta: float | None, budget: float | None) -> Goal | None:
    """What is given, if anything. RAISES (ValueError): L001, L256, L280."""
    _only_one({"--gate-recall": recall, "--gate-beta": beta, "--gate-budget": budget})
    if budget is not None:
        return Goal(share=check_budget(budget))
    if recall is None and beta is None:
        return None
    return Goal(recall, None, 1.0 if beta is None else beta)


def _print_types(chosen: ChosenTypes) -> None:
    rows = [
        (
            label,
            str(own.mentions),
            "-" if own.threshold is None else f"{own.threshold:.3f}",
            *(f"{100 * v:.1f}" for at in (own.before, own.after) for v in (at.p, at.r, at.f)),
            own.calibrated or "-",
        )
        for label, own in chosen.types.items()
    ]
    head = ("type", "mentions", "threshold", "P", "R", "F", "P after", "R", "F", "calibrated on")
    print_table(head, rows, "lrrrrrrrrl")


def _print_expected(chosen: ChosenTypes) -> None:
    """What to expect on unseen data, by what was chosen without the fold that is judged."""
    for own in chosen.offsets:
        offsets = ", ".join(f"{label} {value:+.2f}" for label, value in own.offsets.items()) or "none"
        msg.text(f"decision offsets, {own.family}: {offsets}")
        rows = [
            (label, *(f"{100 * v:.1f}" for at in (old, own.nested[label]) for v in (at.p, at.r, at.f)))
            for label, old in own.before.items()
        ]
        print_table(("type", "P", "R", "F", "P nested", "R", "F"), rows)
        msg.text(
            f"{own.goal} {_gain(own.expected)}; on the folds it was chosen on {100 * own.gain:+.1f}"
        )
        msg.text("used" if own.used else "not used")
    if len(chosen.offsets) > 1 and chosen.offsets_expected is not None:
        msg.text(f"the better family of these, chosen nested, too: {_gain(chosen.offsets_expected)}")
    if chosen.expected is not None:
        msg.text(f"thresholds: macro F1 {_gain(chosen.expected)}")
    if chosen.withheld:
        kept = ", ".join(label for label, own in chosen.types.items() if own.threshold is not None)
        msg.text(f"not used, but for {kept}" if kept else "not used")


def _gain(found: Expected) -> str:
    p = "" if found.p is None else f", p = {found.p:.3f}"
    before, after = 100 * found.before, 100 * found.after
    return f"{before:.1f} before, {after:.1f} to expect ({after - before:+.1f}, nested{p})"


def _print_gate(chosen: ChosenGate) -> None:
    _print_points(chosen)
    msg.text(f"threshold {chosen.threshold:.4f}, {chosen.weak} of {chosen.sentences} hold one")


def _print_posterior_gate(chosen: ChosenPosteriorGate) -> None:
    _print_points(chosen)
    if chosen.budget is not None:
        said = [f"budget {100 * chosen.budget:g} % of sentences, started from {chosen.start} scores"]
    else:
        own = {**(chosen.thresholds or {}), "other types": chosen.threshold}
        said = [f"{label} {value:.4g}" for label, value in own.items() if value is not None]
    if chosen.min_entity_score is not None:
        said.append(f"entities below {chosen.min_entity_score:.4g}")
    msg.text(f"{', '.join(said)}; {chosen.weak} of {chosen.sentences} hold a rare type")


def _print_points(chosen: ChosenGate | ChosenPosteriorGate) -> None:
    rows = [
        (when, *(f"{100 * v:.1f}" for v in (at.p, at.r, at.open)))
        for when, at in (("before", chosen.before), ("after", chosen.after))
    ]
    print_table(("sentences", "P", "R", "opened %"), rows)
