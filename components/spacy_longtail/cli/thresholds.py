"""Command `thresholds`: chooses minimum scores of entities and flagged sentences on dev data."""

import warnings
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option
from wasabi import msg

from ..corpus.parts import part_path
from ..errors import Warnings
from ..evaluation.thresholds import fit_thresholds
from ..pipes.gate.posterior_gate import check_budget
from ..pipes.scores.chosen import ChosenGate, ChosenTypes, Goal, chosen_json
from .app import PIPELINE_PANEL, Code, Corpus, Gpu, Json, app, print_json, print_table


@app.command(rich_help_panel=PIPELINE_PANEL)
def thresholds(
    model: Annotated[Path, Argument(help="Folder or package of a trained pipeline.")],
    corpus: Corpus,
    output: Annotated[Path | None, Option("--output", "-o", help="Folder for the new pipeline.")] = None,
    in_place: Annotated[
        bool, Option("--in-place", help="Write the thresholds into the given pipeline itself.")
    ] = False,
    part: Annotated[
        str, Option(help="Part to choose the thresholds on. It should not be test.")
    ] = "dev",
    recall: Annotated[
        float | None, Option(min=0, max=1, help="Recall that every type must keep.")
    ] = None,
    precision: Annotated[
        float | None, Option(min=0, max=1, help="Precision that every type must reach.")
    ] = None,
    beta: Annotated[
        float | None,
        Option(min=0, max=1000, help="Maximize the F-beta of every type.", show_default="1"),
    ] = None,
    gate_recall: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="Recall that the gate must keep.",
            show_default="0.9, or the gate's budget",
        ),
    ] = None,
    gate_budget: Annotated[
        float | None,
        Option(help="Maximum fraction of sentences that the gate may flag, greater than 0."),
    ] = None,
    calibrate: Annotated[
        bool, Option(help="Calibrate the scores first, so that they are probabilities.")
    ] = True,
    abstain_key: Annotated[
        str | None,
        Option(
            help="Key in doc.spans for entities below their threshold.",
            show_default="that of the component",
        ),
    ] = None,
    min_mentions: Annotated[
        int, Option(min=1, help="Minimum number of mentions of a type to choose a threshold.")
    ] = 10,
    code: Code = None,
    gpu_id: Gpu = -1,
    as_json: Json = False,
) -> None:
    """Choose a threshold for each type and for the gate on development data.

    Give --output for a new pipeline with these thresholds, or --in-place to change the given one.
    """
    if in_place == (output is not None):
        raise BadParameter(f"Give either --output, a new folder, or --in-place, which replaces {model}.")
    goal = _goal("--", recall=recall, precision=precision, beta=beta)
    gate_goal = _goal("--gate-", recall=gate_recall, budget=gate_budget)
    if gate_budget is not None:
        check_budget(gate_budget)
    if part == "test":
        warnings.warn(Warnings.W086, stacklevel=2)
    fitted = fit_thresholds(
        model,
        part_path(corpus, part),
        goal=goal,
        gate_goal=gate_goal,
        calibrate=calibrate,
        abstain_key=abstain_key,
        min_mentions=min_mentions,
        output=output,
        part=part,
    )
    if as_json:
        return print_json(chosen_json(fitted))
    for name, chosen in fitted.items():
        msg.divider(f"{name}: {chosen.goal}, on {part}")
        if isinstance(chosen, ChosenGate):
            _print_gate(chosen)
        else:
            _print_types(chosen)
        if error := chosen.calibration_error:
            msg.text(
                f"expected calibration error {error.before:.3f}, then {error.after:.3f} (cross-fitted)"
            )
    return msg.good(f"Wrote {output or model}")


def _goal(prefix: str, **given: float | None) -> Goal | None:
    """Return the goal that one of these options gives, or None if none of them is given."""
    goals = [Goal(kind, value) for kind, value in given.items() if value is not None]
    if len(goals) > 1:
        named = " and ".join(f"{prefix}{goal.kind}" for goal in goals)
        raise BadParameter(f"Thresholds are chosen for one goal: give one of {named}.")
    return goals[0] if goals else None


def _print_types(chosen: ChosenTypes) -> None:
    rows = [
        (
            label,
            str(row.mentions),
            "-" if row.threshold is None else f"{row.threshold:.3f}",
            *(f"{100 * v:.1f}" for at in (row.before, row.after) for v in (at.p, at.r, at.f)),
        )
        for label, row in chosen.types.items()
    ]
    print_table(("type", "mentions", "threshold", "P", "R", "F", "P after", "R after", "F after"), rows)


def _print_gate(chosen: ChosenGate) -> None:
    print_table(
        ("sentences", "P", "R", "flagged %"),
        [
            (when, *(f"{100 * v:.1f}" for v in (at.p, at.r, at.open)))
            for when, at in (("before", chosen.before), ("after", chosen.after))
        ],
    )
    text = f"threshold {chosen.threshold or 0:.4g}"
    if chosen.budget is not None:
        text = f"budget {100 * chosen.budget:g} % of sentences, started from {chosen.start} scores"
    msg.text(f"{text}; {chosen.rare} of {chosen.sentences} hold a rare type")
