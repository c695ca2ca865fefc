"""How many steps a plan's methods need, so that all can be trained with as many."""

from collections.abc import Callable, Iterable
from pathlib import Path

from wasabi import msg

from .plan import Plan
from .records import TrialRecord
from .run import Matrix, Options


def steps_trained(records: Iterable[TrialRecord]) -> int:
    """The most steps that a training had until it was no better for the plan's patience; 0 of none.

    records (Iterable[TrialRecord]): Of trials; those that failed do not count.
    """
    return max((record.steps_trained for record in records if record.is_done), default=0)


def settle_steps(
    plan: Plan, output: Path, options: Options, say: Callable[[str], None] = msg.info
) -> Plan:
    """Find out how many steps the methods need, with their first seed.

    plan (Plan): With steps = "needed"; another is returned as it is.
    output (Path): Folder of the trials; resumed. options (Options): How they are run.
    say (Callable): Gets progress.
    RETURNS (Plan): The same methods, all with the steps of the one that needs the most.
    RAISES (ValueError): Those of `Matrix` and its `run`.
    """
    if not plan.is_needed:
        return plan
    first = Matrix(plan.first_seed(), output)
    say(f"How many steps are needed? {len(first.trials)} trials, {plan.schedule}")
    records = first.run(options)
    steps = steps_trained(records.values()) or plan.steps
    reached = ", the most that the plan allows" if steps >= plan.steps else ""
    say(f"{steps:,} steps for every method{reached}")
    return plan.at_equal_steps(steps)
