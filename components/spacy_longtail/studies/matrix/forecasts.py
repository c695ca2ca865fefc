"""How many mentions of a type a score takes: what the trials on few of them let expect of more."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...evaluation.convergence import rising_of
from ...evaluation.labelling import Density, Lift
from ...evaluation.learning_curve import LEVEL, Fit, Size, fit_power_law
from ..trials.draws import MentionDraw
from ..trials.mentions import count_train
from ..trials.records import TrialRecord
from .forecast_records import Answer, Expected, Forecast, Law, Measured
from .forecast_words import in_words, of_costs, of_no_fit, of_steps

TARGET = 0.6  # F1 that is asked for, unless another is
TIMES = (1, 2, 4)  # the mentions that there are: sizes to look at
BY_CHANCE = "random"


class Question(NamedTuple):
    """What is asked of learning curves by mentions."""

    target: float = TARGET  # F1, in [0, 1]
    lift: Lift | None = None  # of sentences that are not chosen by chance


def forecast(
    records: Sequence[TrialRecord], corpus: Path, label: str, question: Question
) -> list[Forecast]:
    """What to expect of more mentions of a type.

    records (Sequence[TrialRecord]): Of finished trials on draws of the type.
    corpus (Path): The corpus. label (str): The type. question (Question): What is asked.
    RETURNS (List[Forecast]): One for each method. RAISES (ValueError): L402, L404, L406, L430.
    """
    train = count_train(corpus)
    density = Density(train.total(label), len(train.counts))
    by_method: dict[str, dict[int, list[TrialRecord]]] = {}
    for record in records:
        if isinstance(record.draw, MentionDraw) and record.draw.label == label:
            by_size = by_method.setdefault(record.method, {})
            by_size.setdefault(record.draw.n_mentions, []).append(record)
    return [
        _forecast(by_size, corpus.name, method, label, density, question)
        for method, by_size in by_method.items()
    ]


def _forecast(
    by_size: Mapping[int, Sequence[TrialRecord]],
    corpus: str,
    method: str,
    label: str,
    density: Density,
    question: Question,
) -> Forecast:
    measured = [_measured(n, runs, label) for n, runs in sorted(by_size.items())]
    measured = [size for size in measured if size.scores]
    sizes = [Size(size.mentions, size.scores) for size in measured]
    fit = fit_power_law(sizes)
    early = {n: found for n, runs in by_size.items() if (found := rising_of(r.data() for r in runs))}
    expected, answer, line = [], None, []
    text = of_no_fit(sizes)
    if fit is not None:
        lifts = {BY_CHANCE: None, **({question.lift.strategy: question.lift} if question.lift else {})}
        expected = [_expected(fit, k * density.mentions, density, lifts) for k in TIMES]
        answer = _answer(fit, question.target, density, lifts)
        line = _line(fit, sizes[0].n, TIMES[-1] * density.mentions)
        text = in_words(answer, fit, density)
    findings = [text, *of_costs(answer, density, question.lift)]
    if early:
        findings.append(of_steps(early))
    return Forecast(
        corpus=corpus,
        method=method,
        label=label,
        present=density.mentions,
        sentences=density.sentences,
        level=LEVEL,
        measured=measured,
        law=None if fit is None else Law(**fit.law._asdict()),
        asymptote=None if fit is None else (*fit.asymptote,),
        line=line,
        expected=expected,
        answer=answer,
        findings=findings,
    )


def _measured(size: int, runs: Sequence[TrialRecord], label: str) -> Measured:
    """Runs on a draw that holds no mention are no point of the curve, nor runs without an F1."""
    own = [
        (run.n_mentions, f)
        for run in sorted(runs, key=lambda run: run.seed)
        if run.n_mentions and (f := run.of_type("dev", label)) is not None
    ]
    mentions = statistics.mean(n for n, _ in own) if own else 0.0
    return Measured(size=size, mentions=mentions, scores=[f for _, f in own])


def _expected(fit: Fit, mentions: int, density: Density, lifts: Mapping[str, Lift | None]) -> Expected:
    found = fit.at(mentions)
    more = mentions - density.mentions
    costs = {name: density.sentences_for(more, lift) for name, lift in lifts.items()}
    return Expected(mentions=mentions, f1=found.value, low=found.low, high=found.high, sentences=costs)


def _answer(fit: Fit, target: float, density: Density, lifts: Mapping[str, Lift | None]) -> Answer:
    found = fit.needed(target)
    costs = {}
    if found.reach == "needed" and found.value is not None:
        for name, lift in lifts.items():
            ends = [
                None if n is None else density.sentences_for(n - density.mentions, lift)
                for n in (found.low, found.high)
            ]
            value = density.sentences_for(found.value - density.mentions, lift)
            costs[name] = (value, ends[0], ends[1])
    return Answer(
        target=target,
        reach=found.reach,
        mentions=found.value,
        low=found.low,
        high=found.high,
        sentences=costs,
    )


def _line(fit: Fit, start: float, end: float) -> list[tuple[float, float, float, float]]:
    """The fitted curve, point by point along the logarithm."""
    n_points = 40
    step = (end / start) ** (1 / (n_points - 1))
    sizes = [start * step**i for i in range(n_points)]
    return [(n, *fit.at(n)) for n in sizes]
