"""What a forecast says, in words."""

from collections.abc import Mapping, Sequence

from ...evaluation.convergence import Rising
from ...evaluation.labelling import Density, Lift
from ...evaluation.learning_curve import LEAST_RUNS, LEAST_SIZES, LEVEL, Fit, Size, usable
from ...evaluation.report.wording import percent
from ...output.amounts import number
from .forecast_records import Answer

SURE = f"{100 * LEVEL:g} % interval"
BEYOND = "by more mentions of this kind alone"


def of_no_fit(sizes: Sequence[Size]) -> str:
    """Why there is none. sizes (Sequence[Size]): That were measured."""
    return (
        f"No fit: it takes {LEAST_SIZES} sizes with {LEAST_RUNS} runs each, from the first on at which"
        f" something is found; there are {len(usable(sizes))}. Name more --sizes or --partitions."
    )


def of_steps(early: Mapping[int, Rising]) -> str:
    """That trainings were too short. early (Mapping[int, Rising]): By size."""
    named = ", ".join(f"{n}" for n in sorted(early))
    return (
        f"Not trained long enough at {named} mentions, so that the curve may be too low there."
        f" It takes {max(found.more for found in early.values()):,} steps more at least."
    )


def in_words(answer: Answer, fit: Fit, density: Density) -> str:
    """The answer as a sentence.

    answer (Answer): The answer. fit (Fit): What it is taken from. density (Density): Of the type.
    """
    target, end = percent(answer.target), fit.asymptote
    ends, there = f"the fitted curve ends at {percent(end.value)}", f"{density.mentions:,} are there"
    if answer.reach == "out of reach":
        why = f"{ends} ({SURE} {percent(end.low)} to {percent(end.high)})"
        why = "the curve is not shown to rise" if fit.is_flat else why
        return f"F1 {target} is not within reach {BEYOND}: {why}."
    if answer.reach == "open":
        least = f"If it is, it takes {about(answer.low)} mentions at least ({there})"
        return f"F1 {target} is not shown to be within reach {BEYOND}: {ends}. {least}."
    if answer.mentions == fit.smallest:
        return f"F1 {target} is reached with {about(answer.mentions)} mentions or fewer; {there}."
    verb = "is reached with" if answer.reach == "reached" else "takes"
    limits = f"{SURE} {about(answer.low)} to {about(answer.high)}"
    return f"F1 {target} {verb} about {about(answer.mentions)} mentions ({limits}); {there}."


def of_costs(answer: Answer | None, density: Density, lift: Lift | None) -> list[str]:
    """What labels cost.

    answer (Optional[Answer]): Null without a fit. density (Density): Of the type.
    lift (Optional[Lift]): Of a strategy that chooses sentences.
    """
    rate = density.sentences / density.mentions
    found = [f"By random choice a mention costs {rate:,.1f} labelled sentences, as in the train part."]
    if lift is not None:
        found.append(
            f"By {lift.strategy} it costs {rate / lift.factor:,.1f}: its sentences held a rare type"
            f" {lift.factor:.1f} times as often, over the first {lift.spent:,} labels from a pool of"
            f" {lift.pool:,} ({number(lift.n_seeds, 'seed')}). The factor is of all rare"
            " types together, and falls as a pool is used up."
        )
    for name, (value, low, high) in (answer.sentences if answer else {}).items():
        found.append(
            f"Sentences to label by {name}: about {about(value)} ({about(low)} to {about(high)})."
        )
    return found


def about(number: float | None) -> str:
    """A number with two digits, which is more than a fit knows; null has no upper end."""
    return "no upper end" if number is None else f"{float(f'{number:.2g}'):,.0f}"
