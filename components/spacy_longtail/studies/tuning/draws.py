"""The trials of a search: what was drawn for each, how it ended, and which is the best."""

from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from ...types import Overrides

if TYPE_CHECKING:  # Optuna is an extra
    from optuna.trial import FrozenTrial

BASELINE, VALUES, ERROR = "baseline", "values", "error"  # attributes of a trial


class Tried(NamedTuple):
    """A finished trial."""

    number: int
    values: Overrides  # by name of the parameter
    is_baseline: bool
    status: str  # done, pruned or failed
    score: float | None  # macro F1 on dev: of the best checkpoint, or the best until it was pruned
    curve: dict[int, float]  # the same by step
    seconds: float
    error: str

    def record(self) -> dict[str, JsonValue]:
        """As JSON data."""
        return {**self._asdict(), "curve": list(self.curve.items())}


def read_tried(trial: "FrozenTrial") -> Tried | None:
    """What a trial of the study shows; null if it runs, or was interrupted."""
    kept, state = trial.user_attrs, trial.state.name
    if state not in ("COMPLETE", "PRUNED") and ERROR not in kept:
        return None
    curve = dict(sorted(trial.intermediate_values.items()))
    status = {"COMPLETE": "done", "PRUNED": "pruned"}.get(state, "failed")
    return Tried(
        number=trial.number,
        values=kept.get(VALUES, {}),
        is_baseline=BASELINE in kept,
        status=status,
        score=trial.value if status == "done" else max(curve.values(), default=None),
        curve=curve,
        seconds=round(trial.duration.total_seconds(), 1) if trial.duration else 0.0,
        error=kept.get(ERROR, ""),
    )


def best_of(tried: list[Tried]) -> Tried | None:
    """The trial with the best macro F1 on dev, of equals the baseline, then the first."""
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def baseline_of(tried: list[Tried]) -> Tried | None:
    """The baseline, if it has come to its end."""
    return next((trial for trial in tried if trial.is_baseline and trial.status == "done"), None)
