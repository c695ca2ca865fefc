"""Candidates of `recommend`, and the plan that compares them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...types import Overrides
from ..configs.compose import apply
from ..trials.plan import Plan, method_name, read_plan


class Candidate(NamedTuple):
    """Method to try on a corpus, and the reason."""

    choices: dict[str, str]  # by axis of a plan
    why: str
    settings: Overrides  # of its choice for the axis "encoder"; empty for a known choice
    schedule: Overrides  # settings of the length of the training, if its recipe has its own

    @property
    def name(self) -> str:
        """Return the name of the method in the plan."""
        return method_name(self.choices)


def plan_comparison(
    candidates: Sequence[Candidate],
    corpus: Path,
    settings: Overrides | None = None,
    steps: int | None = None,
) -> Plan:
    """Plan the comparison of candidates on a corpus.

    candidates (Sequence[Candidate]): The candidates. The first one is the baseline.
    corpus (Path): Folder of a converted corpus.
    settings (Optional[Overrides]): Config values by dotted name, for all candidates.
    steps (Optional[int]): Number of steps of each training. By default each training stops when its
        score on dev no longer improves.
    RETURNS (Plan): The plan, with a method of the same name for each candidate.
    RAISES (ValueError): If a setting is invalid.
    """
    settings = settings or {}
    encoders = {c.choices["encoder"]: c for c in candidates if c.settings}
    given = {
        "choices": {"encoder": {name: own.settings for name, own in encoders.items()}},
        "corpora": [str(corpus)],
        "steps": steps,
        "settings": settings,
        "grids": [candidate.choices for candidate in candidates],
        "methods": {},
        "seeds": 1,
    }
    plan = read_plan("quick", given)
    for _, choices, config in plan.methods:  # a recipe may have its own length
        if steps is None and (candidate := encoders.get(choices["encoder"])):
            apply(config, {k: v for k, v in candidate.schedule.items() if k not in settings})
    return plan
