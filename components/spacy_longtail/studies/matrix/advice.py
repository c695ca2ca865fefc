"""Advice on a corpus: statistics choose candidates, trials within a budget compare them."""

import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from wasabi import msg

from ...about import __version__
from ...corpus.folder import read_types
from ...corpus.statistics import Statistics, corpus_statistics
from ...errors import Errors
from ...layers.clusters import has_lookups
from ...types import Overrides
from ...writing import check_file, write_file
from ..trials.filling import commented, fill
from ..trials.needed import steps_trained
from ..trials.plan import Plan, Trial, read_plan
from ..trials.plan_file import NEEDED
from ..trials.records import TrialRecord
from ..trials.run import Matrix, Options
from .recommendation import Recommendation
from .summary import Summary, summarize_trials

FEW, MANY_SENTENCES = 500, 5000  # training sentences
FINALISTS = 3  # methods that get more seeds, besides the baseline
MOST_SEEDS = 6  # then a difference can be tested over seeds
ENCODERS = Path("assets/encoders")  # of the project
FIRST_PART = 0.5  # of the budget, for one seed of every candidate
WIDTH = 100  # of a comment
MARK = "Written by spacy-longtail"  # in the first line of a config


class Candidate(NamedTuple):
    grid: dict[str, str]
    why: str


class Advice(NamedTuple):
    summary: Summary
    recommendation: Recommendation
    candidates: list[Candidate]
    looks: list[tuple[str, float]]  # each candidate that was tried, and its first macro F1 on dev
    config: Path


def find_pretrained(lang: str) -> Path | None:
    """The encoder that comes with the project, if this is the project and has one of the language."""
    found = ENCODERS / f"{lang}_donors"
    return found if found.is_dir() else None


def choose_candidates(
    statistics: Statistics, lang: str = "", pretrained: Path | None = None
) -> list[Candidate]:
    """What is worth a try on a corpus, the most promising first after stock spaCy.

    statistics (Statistics): Of the corpus.
    lang (str): Language code; an empty one has no word clusters.
    pretrained (Optional[Path]): A pipeline that `pretrain` wrote.
    RETURNS (List[Candidate]): Choices by axis, and the reason.
    """
    train = statistics.parts["train"]
    n_sentences, tail = train.sentences, statistics.tail
    rare = [t for t in tail if train.types[t].mentions]
    found = [
        Candidate({"head": "ner"}, "stock spaCy, the baseline"),
        *_with_knowledge(lang, pretrained),
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


def _with_knowledge(lang: str, pretrained: Path | None) -> list[Candidate]:
    """What brings in more than the corpus holds."""
    found = []
    if pretrained:
        grid = {"head": "crf", "encoder": "pretrained", "outputs": "described"}
        found.append(Candidate(grid, f"{pretrained} has seen entities of other corpora"))
    if has_lookups(lang):
        why = "word clusters know words that the corpus does not have"
        found.append(Candidate({"head": "crf", "encoder": "clusters"}, why))
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
    steps: int | None,
    options: Options,
    settings: Overrides,
    pretrained: Path | None = None,
    say: Callable[[str], None] = msg.info,
) -> Advice:
    """Compare candidates on a corpus within a budget, and write the config of the one to use.

    Every candidate gets a seed while half of the budget lasts; then the best on dev and stock spaCy get
    more, while there is time for another seed of all of them. Without a number of steps the first seeds
    train until they are no better on dev, and the others as long as the one of them that took longest.

    corpus (Path): A folder that `convert` wrote. output (Path): Folder of the trials; resumed.
    config (Path): The file to write. minutes (float): Budget. Stock spaCy and one candidate are run
        whatever they take.
    steps (Optional[int]): Of each training; null finds out how many are needed.
    options (Options): How trials are run.
    settings (Overrides): Config values by dotted name, for all.
    pretrained (Optional[Path]): A pipeline that `pretrain` wrote, to be tried as an encoder.
    say (Callable): Gets progress.
    RETURNS (Advice): What was found.
    RAISES (ValueError): L274; L494 if stock spaCy could not be trained; those of `Matrix`, of reports.
    """
    check_file(config, [corpus], MARK)
    if pretrained and not (pretrained / "meta.json").is_file():
        problem = "no pipeline is there"
        raise ValueError(Errors.L274.format(who="recommend", path=pretrained, problem=problem))
    candidates = choose_candidates(corpus_statistics(corpus), read_types(corpus).lang, pretrained)
    if pretrained:
        settings = {**settings, "paths.pretrained": str(pretrained)}
    plan = _plan(corpus, candidates, steps, settings)
    first = Matrix(plan.first_seed(), output)
    budget = Budget(minutes, options.workers)
    say(f"{len(candidates)} candidates, {plan.schedule}, {minutes:g} minutes in all")
    records = _first_seeds(first, options, budget, say)
    names = _finalists(first, records)
    if plan.is_needed:
        own = [record for record in records.values() if record.method in names]
        plan = plan.at_equal_steps(steps_trained(own) or plan.steps)
        say(f"{plan.steps:,} steps for {', '.join(sorted(names))}")
    matrix = Matrix(plan, output)
    more = _more_seeds(matrix, options, budget, names, _seconds_a_step(records), say)
    if plan.steps == first.plan.steps and not first.plan.patience:
        more |= records
    elif not more:  # no time to compare at equal steps: each as long as it took
        matrix, more = first, records
    matrix.trials = {key: trial for key, trial in matrix.trials.items() if key in more}
    summary = summarize_trials(matrix, more)
    choice = summary.corpora[0].recommendation if summary.corpora else None
    if choice is None:  # another machine has trained it, and the record is there
        problem = "It has no record in this folder."
        raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=problem))
    trial = next(t for t in matrix.trials.values() if t.method.name == choice.method)
    looks = [(r.method, r.dev_score) for r in records.values() if r.dev_score is not None]
    looks.sort(key=lambda look: -look[1])
    write_config(trial, config, _evidence(summary, choice, candidates, looks))
    return Advice(summary, choice, candidates, looks, config)


def _plan(corpus: Path, candidates: list[Candidate], steps: int | None, settings: Overrides) -> Plan:
    given = {
        "corpora": [str(corpus)],
        "steps": steps or NEEDED,
        "settings": dict(settings),
        "grids": [candidate.grid for candidate in candidates],
        "seeds": MOST_SEEDS,
    }
    return read_plan("quick", given)


def _first_seeds(
    matrix: Matrix, options: Options, budget: Budget, say: Callable[[str], None]
) -> dict[str, TrialRecord]:
    """The records of one seed of as many methods as half of the budget allows, two at least."""
    records: dict[str, TrialRecord] = {}
    keys = list(matrix.trials)
    for start in range(0, len(keys), options.workers):
        some = keys[start : start + options.workers]
        if start > 1 and budget.left() < (1 - FIRST_PART) * budget.seconds:
            say(f"Half of the time is used: {len(keys) - start} candidates are left out")
            break
        records |= {key: record for key, record in matrix.run(options, some).items() if key in some}
        _check_baseline(matrix, records)
    return records


def _finalists(matrix: Matrix, records: Mapping[str, TrialRecord]) -> set[str]:
    """Stock spaCy, and the methods with the best first seeds on dev."""
    done = {r.method: r.dev_score for r in records.values() if r.dev_score is not None}
    best = sorted(done, key=lambda name: -done[name])
    return {matrix.plan.baseline, *best[:FINALISTS]} & set(done)


def _seconds_a_step(records: Mapping[str, TrialRecord]) -> float:
    """Of the slowest method."""
    done = [record for record in records.values() if record.is_done]
    return max((r.seconds / (r.steps_trained or r.steps) for r in done), default=0.0)


def _check_baseline(matrix: Matrix, records: Mapping[str, TrialRecord]) -> None:
    """Stop before other methods are trained in vain. RAISES (ValueError): L494."""
    for key, record in records.items():
        if matrix.trials[key].method.name == matrix.plan.baseline and not record.is_done:
            problem = record.error or record.status
            raise ValueError(Errors.L494.format(name=matrix.plan.baseline, problem=problem))


def _more_seeds(
    matrix: Matrix,
    options: Options,
    budget: Budget,
    names: set[str],
    seconds_a_step: float,
    say: Callable[[str], None],
) -> dict[str, TrialRecord]:
    """The records of the finalists, seed by seed, while there is time."""
    records: dict[str, TrialRecord] = {}
    for seed in matrix.plan.seeds:
        some = [k for k, t in matrix.trials.items() if t.seed == seed and t.method.name in names]
        missing = matrix.missing(some)
        if not budget.allows(len(missing), seconds_a_step * matrix.plan.steps):
            break
        if missing:
            say(f"Seed {seed} of {', '.join(sorted(names))}")
        records |= {key: record for key, record in matrix.run(options, some).items() if key in some}
    return records


def _evidence(
    summary: Summary, choice: Recommendation, candidates: list[Candidate], looks: list[tuple[str, float]]
) -> list[str]:
    """What a config says of where it comes from."""
    found = summary.corpora[0]
    lines = [
        f"{MARK} {__version__} for the corpus {found.corpus}: {choice.method}.",
        choice.text,
        *choice.evidence,
        f"{len(looks)} of {len(candidates)} candidates were tried with one seed. Macro F1 on dev, in"
        f" points of 100: {', '.join(f'{name} {100 * score:.1f}' for name, score in looks)}.",
        f"Then {summary.schedule}, mean over seeds; chosen on dev:",
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
    write_file(path, commented(fill(trial.config(), trial.corpus, {}), lines, {}))
