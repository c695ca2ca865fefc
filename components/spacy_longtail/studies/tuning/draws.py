"""The trials of a search: what was drawn for each, how it ended, and which is the best."""

from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from ...types import Overrides
from ..trials.engine import ENDED, PLACE
from ..trials.storage import KEY

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial
    from optuna.trial import FrozenTrial

VALUES = "values"  # attribute of a trial
BASELINE = "0"  # its key: trials are numbered
BROKEN = ("failed", "timeout")  # by its own fault: it counts, and is not tried again


class Draw(NamedTuple):
    """A trial that is run."""

    trial: "Trial"
    number: int
    values: Overrides  # by name of the parameter
    is_baseline: bool


class Tried(NamedTuple):
    """A finished trial."""

    number: int
    values: Overrides  # by name of the parameter
    is_baseline: bool
    status: str  # done, pruned, failed or timeout
    score: float | None  # macro F1 on dev: of the best checkpoint, or the best until it was pruned
    curve: dict[int, float]  # the same by step
    seconds: float
    error: str
    place: str  # where it was trained

    def record(self) -> dict[str, JsonValue]:
        """As JSON data."""
        return {**self._asdict(), "curve": list(self.curve.items())}


def is_ended(trial: "FrozenTrial") -> bool:
    """Whether a frozen trial counts: it came to its end, well or not, and was not abandoned."""
    if trial.state.name == "FAIL":
        return trial.user_attrs.get(ENDED, {}).get("status") in BROKEN
    return bool(trial.state.is_finished())


def read_tried(trial: "FrozenTrial") -> Tried:
    """What a frozen trial that has ended shows."""
    kept = trial.user_attrs
    ended = kept[ENDED]
    curve = dict(sorted(trial.intermediate_values.items()))
    score = trial.value if ended["status"] == "done" else max(curve.values(), default=None)
    return Tried(
        trial.number,
        kept[VALUES],
        kept[KEY] == BASELINE,
        ended["status"],
        score,
        curve,
        ended["seconds"],
        ended["error"],
        kept[PLACE],
    )


def best_of(tried: list[Tried]) -> Tried | None:
    """The trial with the best macro F1 on dev, of equals the baseline, then the first."""
    done = [trial for trial in tried if trial.status == "done" and trial.score is not None]
    return max(done, key=lambda t: (t.score, t.is_baseline, -t.number), default=None)


def baseline_of(tried: list[Tried]) -> Tried | None:
    """The baseline, if it has come to its end."""
    return next((trial for trial in tried if trial.is_baseline and trial.status == "done"), None)
