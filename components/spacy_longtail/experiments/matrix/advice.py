"""Advice on a corpus: statistics choose candidates, trials within a budget compare them."""

import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from wasabi import msg

from ...about import __version__
from ...errors import Errors
from ...parts import coded_io, replacing
from ..statistics import corpus_statistics
from ..trials.filling import commented, fill
from ..trials.plan import Plan, Trial, read_plan
from ..trials.run import DEV_SCORE, Matrix, Options
from .recommendation import Recommendation
from .summary import Summary, summarize_trials

FEW, MANY_SENTENCES = 500, 5000  # training sentences
FINALISTS = 3  # methods that get more seeds, besides the baseline
MOST_SEEDS = 6  # then a difference can be tested over seeds
FIRST_PART = 0.5  # of the budget, for one seed of every candidate
WIDTH = 100  # of a comment


class Candidate(NamedTuple):
    grid: dict[str, str]
    why: str


class Advice(NamedTuple):
    summary: Summary
    recommendation: Recommendation
    candidates: list[Candidate]
    config: Path


def choose_candidates(statistics: Mapping[str, Any]) -> list[Candidate]:
    """What is worth a try on a corpus, the most promising first after stock spaCy.

    statistics (Mapping[str, Any]): As `corpus_statistics` returns them.
    RETURNS (List[Candidate]): Choices by axis, and the reason.
    """
    train = statistics["parts"]["train"]
    n_sentences, tail = train["sentences"], statistics["tail"]
    rare = [t for t in tail if train["types"][t]["mentions"]]
    found = [
        Candidate({"head": "ner"}, "stock spaCy, the baseline"),
        Candidate({"head": "crf"}, "a CRF learns legal sequences with few examples"),
        Candidate({"head": "softmax"}, "the plain token classifier"),
    ]
    if rare:
        why = f"{len(rare)} rare types: sCR shows their sentences more often"
        found += [Candidate({"head": head, "reader": "sCR"}, why) for head in ("crf", "softmax")]
        found.append(
            Candidate({"head": "softmax", "loss": "focal"}, "focal looks at what is still wrong")
        )
    if n_sentences < FEW:
        why = f"{n_sentences} training sentences: the AUC margin was made for so few"
        found.append(Candidate({"head": "two_task", "loss": "AUC-2T"}, why))
    elif rare:
        why = "a secondary of its own for the rare types, at twice the cost"
        found.append(Candidate({"gate": "double"}, why))
    if n_sentences < MANY_SENTENCES and rare:
        found.append(
            Candidate({"head": "softmax", "reader": "augmented"}, "augmentation of a small corpus")
        )
    return found


class Budget:
    """Wall-clock time that trials may take.

    minutes (float): All of it. workers (int): Trials at a time.
    """

    def __init__(self, minutes: float, workers: int) -> None:
        self.workers = workers
        self.start, self.seconds = time.monotonic(), 60 * minutes

    def left(self) -> float:
        """Seconds."""
        return self.seconds - (time.monotonic() - self.start)

    def allows(self, n_trials: int, seconds: float) -> bool:
        """Whether so many more trials of so many seconds each fit."""
        rounds = -(-n_trials // self.workers)
        return rounds * seconds <= self.left()


def advise(
    corpus: Path,
    output: Path,
    config: Path,
    *,
    minutes: float,
    steps: int,
    options: Options,
    settings: Mapping[str, Any],
    say: Callable[[str], None] = msg.info,
) -> Advice:
    """Compare candidates on a corpus within a budget, and write the config of the one to use.

    Every candidate gets a seed while half of the budget lasts; then the best on dev and stock spaCy get
    more, while there is time for another seed of all of them.

    corpus (Path): A folder that `convert` wrote. output (Path): Folder of the trials; resumed.
    config (Path): The file to write. minutes (float): Budget. Stock spaCy and one candidate are run
        whatever they take.
    steps (int): Of each training. options (Options): How trials are run.
    settings (Mapping[str, Any]): Config values by dotted name, for all. say (Callable): Gets progress.
    RETURNS (Advice): What was found.
    RAISES (ValueError): L494 if stock spaCy could not be trained; those of `Matrix` and of reports.
    """
    candidates = choose_candidates(corpus_statistics(corpus))
    matrix = Matrix(_plan(corpus, candidates, steps, settings), output)
    budget = Budget(minutes, options.workers)
    say(f"{len(candidates)} candidates, {steps} steps each, {minutes:g} minutes in all")
    records = _first_seeds(matrix, options, budget, say)
    _more_seeds(matrix, options, budget, records, say)
    matrix.trials = {key: trial for key, trial in matrix.trials.items() if key in records}
    summary = summarize_trials(matrix, records)
    choice = summary.corpora[0].recommendation if summary.corpora else None
    if choice is None:  # another machine has trained it, and the record is there
        problem = "It has no record in this folder."
        raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=problem))
    trial = next(t for t in matrix.trials.values() if t.method.name == choice.method)
    write_config(trial, config, _evidence(summary, choice, candidates))
    return Advice(summary, choice, candidates, config)


def _plan(corpus: Path, candidates: list[Candidate], steps: int, settings: Mapping[str, Any]) -> Plan:
    given = {
        "corpora": [str(corpus)],
        "steps": steps,
        "settings": dict(settings),
        "grids": [candidate.grid for candidate in candidates],
        "seeds": MOST_SEEDS,
    }
    return read_plan("quick", given)


def _first_seeds(
    matrix: Matrix, options: Options, budget: Budget, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """The records of one seed of as many methods as half of the budget allows, two at least."""
    records: dict[str, dict[str, Any]] = {}
    keys = [key for key, trial in matrix.trials.items() if trial.seed == 0]
    for start in range(0, len(keys), options.workers):
        some = keys[start : start + options.workers]
        if start > 1 and budget.left() < (1 - FIRST_PART) * budget.seconds:
            say(f"Half of the time is used: {len(keys) - start} candidates are left out")
            break
        records |= {key: record for key, record in matrix.run(options, some).items() if key in some}
        _check_baseline(matrix, records)
    return records


def _check_baseline(matrix: Matrix, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Stop before other methods are trained in vain. RAISES (ValueError): L494."""
    for key, record in records.items():
        if matrix.trials[key].method.name == matrix.plan.baseline and record["status"] != "done":
            problem = record["error"] or record["status"]
            raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=problem))


def _more_seeds(
    matrix: Matrix,
    options: Options,
    budget: Budget,
    records: dict[str, dict[str, Any]],
    say: Callable[[str], None],
) -> None:
    """Add the records of further seeds of stock spaCy and of the best on dev, while there is time."""
    done = {matrix.trials[key].method.name: r for key, r in records.items() if r["status"] == "done"}
    best = sorted(done, key=lambda name: -done[name]["dev"][DEV_SCORE])
    names = {matrix.plan.baseline, *best[:FINALISTS]} & set(done)
    seconds = max((done[name]["seconds"] for name in names), default=0.0)
    for seed in range(1, MOST_SEEDS):
        some = [k for k, t in matrix.trials.items() if t.seed == seed and t.method.name in names]
        if not some or not budget.allows(len(some), seconds):
            return
        say(f"Seed {seed} of {', '.join(sorted(names))}")
        records |= {key: record for key, record in matrix.run(options, some).items() if key in some}


def _evidence(summary: Summary, choice: Recommendation, candidates: list[Candidate]) -> list[str]:
    """What a config says of where it comes from."""
    found = summary.corpora[0]
    lines = [
        f"Written by spacy-longtail {__version__} for the corpus {found.corpus}: {choice.method}.",
        choice.text,
        *choice.evidence,
        f"{len(found.rows)} of {len(candidates)} candidates were tried, {summary.steps} steps each."
        " Macro F1 in points of 100, mean over seeds; chosen on dev:",
    ]
    for row in found.rows:
        dev, test = (f"{100 * (row.scores[c][0] or 0):.1f}" for c in ("macro, dev", "macro, test"))
        lines.append(f"- {row.method} ({row.n_seeds}): {dev} on dev, {test} on test")
    return lines


def write_config(trial: Trial, path: Path, comments: list[str]) -> None:
    """Write the complete config of a trial, with comments before it.

    trial (Trial): The trial. path (Path): The file. comments (List[str]): Paragraphs.
    RAISES (ValueError): L432, L486.
    """
    lines = [line for comment in comments for line in textwrap.wrap(comment, WIDTH)]
    text = commented(fill(trial.config(), trial.corpus, {}), lines, {})
    with coded_io(path), replacing(path.parent, ()) as new:
        (new / path.name).write_text(text, encoding="utf8")
