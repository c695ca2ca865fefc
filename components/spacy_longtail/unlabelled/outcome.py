"""What a simulation of mining shows: scores and rare sentences by labels spent, for each strategy."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from ..corpus.descriptions import read_types
from ..errors import Errors
from ..evaluation.labelling import Lift
from ..evaluation.report.plots import can_draw, size_curves
from ..evaluation.report.rendering import render
from ..output.writing import write_file
from .simulation import RECORDS, Round, read_rounds, setting_of
from .strategies import MINE

PAGE, TWIN = "simulation.html", "simulation.md"


class Point(NamedTuple):
    """A strategy after some labels, over seeds: means, and standard deviations of two seeds at least."""

    strategy: str
    spent: int
    seeds: int
    rare: float  # share of the labels spent that hold a rare type; of the pool for none
    found: float  # rare mentions
    macro: tuple[float, float | None]
    tail: tuple[float, float | None]
    micro: tuple[float, float | None]


def points_of(rounds: Sequence[Round]) -> list[Point]:
    """rounds (Sequence[Round]): Of one corpus. RETURNS (List[Point]): By strategy, then by labels."""
    groups: dict[tuple[str, int], list[Round]] = {}
    for record in rounds:
        groups.setdefault((record.strategy, record.round), []).append(record)
    found = []
    for (strategy, _), own in groups.items():
        spent = own[0].labelled - own[0].start
        shares = [r.rare_sentences / spent if spent else r.rare_in_pool / r.pool for r in own]
        scores = ([getattr(r, name) for r in own] for name in ("macro", "tail", "micro"))
        macro, tail, micro = ((mean(v), stdev(v) if len(v) > 1 else None) for v in scores)
        mentions = mean(r.rare_mentions for r in own)
        found.append(Point(strategy, spent, len(own), mean(shares), mentions, macro, tail, micro))
    return found


def labels_for(points: Sequence[Point], strategy: str, tail: float) -> float | None:
    """Labels that a strategy takes to a tail F1, interpolated; null if it does not get there."""
    own = sorted((p.spent, p.tail[0]) for p in points if p.strategy == strategy)
    for (x0, y0), (x1, y1) in pairwise(own):
        if y0 < tail <= y1:
            return x0 + (x1 - x0) * (tail - y0) / (y1 - y0)
    return None


def read_lift(folder: Path, corpus: Path, labels: Sequence[str]) -> Lift:
    """How much richer in rare types the sentences were that `mine` chose in a simulation.

    folder (Path): Where `mine --simulate` wrote its records; of several settings the last counts.
    corpus (Path): Must be the one that was played with.
    labels (Sequence[str]): Must be rare types of it.
    RETURNS (Lift): After all labels that were spent, the mean over seeds.
    RAISES (ValueError): L402, L430, L508, L536.
    """
    path = folder / RECORDS
    rounds = read_rounds(path)
    own = [r for r in rounds if (r.corpus, r.strategy) == (corpus.name, MINE) and r.round]
    tail = read_types(corpus).tail
    fix = f"Run `python -m spacy_longtail mine --simulate {corpus} -o {folder}` first."
    problem = ""
    if not rounds:
        problem = f"it has no {RECORDS} of a simulation"
    elif not own:
        played = sorted({f"{r.strategy} on {r.corpus}" for r in rounds if r.round})
        found = ", ".join(played) or "none"
        problem = f"no labels were bought by {MINE} on {corpus.name}, found {found}"
    elif strange := [label for label in labels if label not in tail]:
        problem = f"{MINE} looks for the rare types {', '.join(tail)}, not for {', '.join(strange)}"
        fix = "Leave --mine out, or name one of these types."
    if not problem:
        own = [r for r in own if setting_of(r) == setting_of(own[-1])]
        last = [r for r in own if r.labelled == max(other.labelled for other in own)]
        spent = last[0].labelled - last[0].start
        factors = [r.rare_sentences / spent * r.pool / r.rare_in_pool for r in last if r.rare_in_pool]
        if factors and mean(factors) > 0:
            return Lift(MINE, mean(factors), spent, last[0].pool, len(factors))
        problem = f"{MINE} found no sentence with a rare type"
    raise ValueError(Errors.L536.format(path=folder, problem=problem, fix=fix))


def headline(points: Sequence[Point]) -> str:
    """What the labels of `mine` are worth in random ones."""
    own = [p for p in points if p.strategy == "mine"]
    if not own or not any(p.strategy == "random" for p in points):
        return ""
    last = max(own, key=lambda p: p.spent)
    rivals = [p for p in points if p.strategy == "random"]
    most = max(rivals, key=lambda p: p.tail[0])
    same = labels_for(points, "random", last.tail[0])
    reached = f"{last.spent:,} labels by mine reach a tail F1 of {100 * last.tail[0]:.1f}"
    if same is not None:
        return f"{reached}, as {same:,.0f} random ones do."
    spent = max(p.spent for p in rivals)
    return f"{reached}; the best of up to {spent:,} random ones is {100 * most.tail[0]:.1f}."


def write_outcome(rounds: Sequence[Round], output: Path) -> list[Point]:
    """Write the table and the curves. RETURNS (List[Point]): What they show.

    RAISES (ValueError): L432.
    """
    points = points_of(rounds)
    values = {"points": points, "first": rounds[0], "headline": headline(points)}
    write_file(output / PAGE, render("simulation.html", plot=_plot(rounds), **values))
    write_file(output / TWIN, render("simulation.md", **values))
    return points


def _plot(rounds: Sequence[Round]) -> str:
    """Tail F1 by labelled sentences; nothing without matplotlib: the table says the same."""
    if not can_draw():
        return ""
    tails: dict[str, dict[float, list[float]]] = {}
    for record in rounds:
        x = record.start + record.labels * record.round
        tails.setdefault(record.strategy, {}).setdefault(x, []).append(record.tail)
    points = {name: sorted(own.items()) for name, own in tails.items()}
    roles = {"mine": "ours", "random": "baseline"}
    return size_curves(points, "mined", "labelled sentences", "tail F1 on test", roles)
