"""Advice on a corpus: its statistics select candidates, which trials within a budget compare."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from wasabi import msg

from ...about import __version__
from ...corpus.converted import ConvertedCorpus
from ...corpus.folder import read_types
from ...corpus.statistics import Statistics
from ...extras import require
from ...hub import load_transformer
from ...output.console import number, percent
from ...output.targets import check_file
from ...output.writing import write_file
from ..comparison.folds import HELD_OUT, fold_plan
from ..comparison.recommendation import Recommendation
from ..comparison.summary import Summary, summarize_trials
from ..configs.commented import WIDTH, format_config
from ..configs.compose import known_choices
from ..configs.recipes import with_corpus_and_defaults
from ..trials.plan import Plan
from ..trials.running import TrialRunner
from ..trials.study import TrialOptions, create_study
from .candidates import Candidate
from .pretrained_candidates import pretrained_candidates
from .race import Race

# Number of training sentences. With fewer, the AUC-2T loss is a candidate, because its paper
# reports the largest gains on small training sets.
SMALL_CORPUS = 500
N_FOLDS = 5
CONFIG_MARK = "Written by spacy-longtail"  # in the first line of a config, which may be replaced


class Advice(NamedTuple):
    """Results of the trials and the recommendation."""

    summary: Summary
    recommendation: Recommendation
    written: str  # name of the method whose config was written

    @property
    def note(self) -> str:
        """Return why stock spaCy's config was written, or an empty text.

        The text is empty unless there is no verdict or another method scored better.
        """
        choice = self.recommendation
        is_undecided = choice.is_early and choice.verdict is None
        if self.written != choice.method or not (is_undecided or choice.best != choice.method):
            return ""
        early = "the methods were not trained long enough for a verdict"
        why = early if is_undecided else "the evidence for another method does not suffice"
        text = f"This config trains {choice.method} (stock spaCy), because {why}."
        if choice.best == choice.method:
            return text
        return (
            f"{text} The best guess is {choice.best}. To write its config instead, run the same "
            "command with --best-guess; for more evidence, run it with more --minutes. Finished "
            "trials are not repeated."
        )


def choose_candidates(
    statistics: Statistics, pretrained: Sequence[Candidate] = (), transformer: str | None = None
) -> list[Candidate]:
    """Choose the methods to try on a corpus.

    Stock spaCy comes first, as the baseline, then the methods that won most often in our records.
    Losses and resampling did not win on any corpus on which `recommend` was checked, so they come
    last and use the remaining time. Augmentation and secondaries never won and are not tried.

    statistics (Statistics): Statistics of the corpus.
    pretrained (Sequence[Candidate]): Methods with pretrained encoders.
    transformer (Optional[str]): Name of a transformer on the Hugging Face hub, or its folder.
    RETURNS (List[Candidate]): The methods in the order in which they are tried.
    """
    train = statistics.parts["train"]
    n_sentences = train.sentences
    n_rare = sum(train.types[t].mentions > 0 for t in statistics.tail)
    texts = f"The transformer {transformer} was pretrained on large amounts of text."
    rare = (
        f"The corpus has {number(n_rare, 'rare type')}, and the resampling policy sCR repeats the "
        "sentences that mention them."
    )
    table = [
        (True, {"head": "ner"}, "Stock spaCy is the baseline of the comparison."),
        (transformer, {"head": "softmax", "encoder": "transformer"}, texts),
        (transformer, {"head": "crf", "encoder": "transformer"}, texts),
        (
            True,
            {"head": "crf"},
            "A CRF learns which sequences of tags are valid, even from few examples.",
        ),
        (True, {"head": "softmax"}, "This is the simplest token classifier: softmax without a CRF."),
        (
            n_sentences < SMALL_CORPUS,
            {"head": "two_task", "loss": "AUC-2T"},
            f"The corpus has only {number(n_sentences, 'training sentence')}, and the AUC-2T loss was "
            "designed for small training sets.",
        ),
        (n_rare, {"head": "crf", "reader": "sCR"}, rare),
        (n_rare, {"head": "softmax", "reader": "sCR"}, rare),
        (
            n_rare,
            {"head": "softmax", "loss": "focal"},
            "The focal loss gives more weight to the tokens that the model still gets wrong.",
        ),
    ]
    encoder = {**known_choices()["encoder"]["transformer"], "paths.transformer": transformer}
    baseline, *others = [
        Candidate(choices, why, encoder if "encoder" in choices else {}, {})
        for holds, choices, why in table
        if holds
    ]
    return [baseline, *pretrained, *others]


def find_candidates(
    corpus: Path, pretrained: Sequence[str] = (), transformer: str | None = None
) -> list[Candidate]:
    """Choose the methods to try on a corpus by its statistics.

    corpus (Path): Folder of a converted corpus.
    pretrained (Sequence[str]): Encoders to try: names of installed packages, or folders that
        `pretrain` wrote.
    transformer (Optional[str]): Transformer to try: a name on the Hugging Face hub, or a folder.
    RETURNS (List[Candidate]): The methods in the order in which they are tried.
    RAISES (ValueError): If an encoder cannot be used, or was pretrained on this corpus.
    """
    statistics = ConvertedCorpus(corpus).statistics
    first = pretrained_candidates(corpus, pretrained, statistics.parts["train"].sentences)
    if transformer:
        load_transformer(transformer)
    return choose_candidates(statistics, first, transformer)


def advise(
    candidates: Sequence[Candidate],
    plan: Plan,
    output: Path,
    config: Path,
    *,
    total_minutes: float,
    folds: int = N_FOLDS,
    best_guess: bool = False,
    options: TrialOptions,
    say: Callable[[str], None] = msg.info,
    runner: TrialRunner | None = None,
) -> Advice:
    """Compare candidates by cross-validation within a budget, and write the recommended config.

    Candidates are trained on the first fold until half of the budget is spent. After each fold the
    better half of them continues with stock spaCy, and so does every other one that is not shown to
    be worse than the best, while there is time.

    candidates (Sequence[Candidate]): The candidates.
    plan (Plan): The plan of `plan_comparison`.
    output (Path): Folder of the trials. A run in this folder is resumed.
    config (Path): File for the recommended config.
    total_minutes (float): Minutes after which no trial starts.
    folds (int): Number of folds of train and dev together, at least 3.
    best_guess (bool): Whether to write the config of the best method even without evidence.
    options (TrialOptions): Options of the trials.
    say (Callable): Receives messages about the progress.
    runner (Optional[Callable]): Function that runs one trial. By default in a separate process.
    RETURNS (Advice): Results of the trials and the recommendation.
    """
    require("scipy", "report")  # now, because the comparison comes hours later
    (corpus,) = plan.corpora
    check_file(config, [corpus], CONFIG_MARK)
    plan_on_folds, folds_by_corpus = fold_plan(plan, output, folds)
    study = create_study(plan_on_folds, output, [corpus], HELD_OUT)
    say(describe_comparison(len(candidates), plan.schedule, folds, total_minutes))
    training, labels = ConvertedCorpus(corpus).training.mentions, read_types(corpus).labels
    if lacking := [label for label in labels if not training.get(label)]:
        say(
            f"The training part does not mention {', '.join(lacking)}. Only an encoder that reads label "
            "descriptions can find such types"
        )
    records, dropped = Race(study, options, total_minutes, labels, say, runner).run()
    study = replace(study, trials={key: study.trials[key] for key in study.trials if key in records})
    summary = summarize_trials(study, records, folds_by_corpus, dropped)
    (choice,) = (c.recommendation for c in summary.corpora if c.recommendation is not None)
    advice = Advice(summary, choice, choice.best if best_guess else choice.method)
    trial = next(t for t in study.trials.values() if t.method.name == advice.written)
    lines = [
        part
        for text in _describe_advice(advice, candidates)
        for part in wrap(text, WIDTH, break_on_hyphens=False)
    ]
    complete = with_corpus_and_defaults(trial.make_config(), corpus, advice.written)
    write_file(config, format_config(complete, lines, {}))
    return advice


def _describe_advice(advice: Advice, candidates: Sequence[Candidate]) -> list[str]:
    """Return the comment of the recommended config: the choice, its evidence and all scores."""
    summary, choice = advice.summary, advice.recommendation
    about = summary.corpora[0]
    guess = f"--best-guess wrote this config of {advice.written}, without sufficient evidence."
    return [
        f"{CONFIG_MARK} {__version__} for the corpus {about.corpus}: {advice.written}.",
        choice.text,
        *filter(None, [advice.note, guess if advice.written != choice.method else ""]),
        *choice.evidence,
        f"{len(about.rows)} of {len(candidates)} candidates finished a trial, {summary.schedule}.",
        "Macro F1 on held-out folds, points of 100:",
        *(
            f"- {row.method}: {percent(row.scores['macro, held out'][0] or 0.0)} on "
            f"{number(row.n_trials, 'fold')}"
            for row in about.rows
        ),
    ]


def describe_comparison(n_candidates: int, schedule: str, folds: int, total_minutes: float) -> str:
    """Summarize a comparison in one line.

    n_candidates (int): Number of candidates.
    schedule (str): Length of each training, in words.
    folds (int): Number of folds.
    total_minutes (float): Minutes after which no trial starts.
    RETURNS (str): A line for people.
    """
    return (
        f"{n_candidates} candidates are compared on {folds} folds, {schedule}, "
        f"and no trial starts after {number(total_minutes, 'minute')}"
    )
