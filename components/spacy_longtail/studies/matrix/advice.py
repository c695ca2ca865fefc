"""Advice on a corpus: statistics choose candidates, trials within a budget compare them."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from wasabi import msg

from ...about import __version__
from ...corpus.folder import PARTS, part_path, read_types
from ...corpus.formats.docbin import count_tokens
from ...corpus.seen import MOST, seen_share
from ...corpus.statistics import Statistics, corpus_statistics
from ...encoders import (
    TRANSFORMERS,
    check_encoder,
    installed_transformers,
    located,
    shipped_encoder,
)
from ...errors import Errors
from ...layers.clusters import has_lookups, lacks_lookups
from ...output.amounts import number
from ...output.writing import check_file, write_file
from ...pretraining.encoders import check_transformer
from ...training.probe import probe_training
from ...training.train import load_filled
from ...types import Overrides
from ..trials.child import SCORED
from ..trials.compose import OPTIONAL, compose, known_choices, read_base
from ..trials.filling import commented, fill
from ..trials.plan import Plan, Trial, read_plan
from ..trials.plan_file import NEEDED
from ..trials.recipes import read_recipes
from ..trials.run import Matrix, Options
from .cutting import fold_plan
from .recommendation import Recommendation
from .rounds import FIRST_PART, Budget, Rounds
from .several import Combine, Worth, worth_of_several
from .summary import Summary, summarize_trials

FEW, MANY_SENTENCES = 500, 5000  # training sentences
FOLDS = 5
WIDTH = 100  # of a comment
CONFIG = "config.cfg"  # of a pipeline
DESCRIBED = "longtail.DescribedTypes.v1"  # in it
TORCH = '"longtail.Transformer.v1"'  # in it
SCHEDULE = ("training.max_steps", "training.eval_frequency")  # of a recipe
MARK = "Written by spacy-longtail"  # in the first line of a config


class Candidate(NamedTuple):
    grid: dict[str, str]
    why: str


class Advice(NamedTuple):
    summary: Summary
    recommendation: Recommendation
    candidates: list[Candidate]
    config: Path
    steps: int  # after which a training of the method was best, in the middle of those that there are
    worth: Worth | None  # of several trainings of it


def find_pretrained(corpus: Path, say: Callable[[str], None] = msg.info) -> list[Path]:
    """The encoders to try where none is named: the package's CNN, and installed transformers.

    corpus (Path): A folder that `convert` wrote; the encoders are of its language, and have not seen it.
    say (Callable): Gets what is left out, and why.
    """
    lang = read_types(corpus).lang
    shipped, transformers = shipped_encoder(lang), installed_transformers(lang)
    if shipped is None:
        say(f"No pretrained encoder is tried: the package has none for {lang!r}. `pretrain` makes one")
        return []
    if not transformers:
        say("No transformer is tried: no encoder of docs/zero_shot.md is installed")
    elif not (find_spec("torch") and find_spec("transformers")):
        say("No transformer is tried: the extra 'transformers' is not installed")
        transformers = []
    found = []
    for name in (shipped, *transformers):
        if (share := _seen(Path(name), corpus)) > MOST:
            say(f"{name} is left out: it was pretrained on {100 * share:.0f} % of these sentences")
        else:
            found.append(Path(name))
    return found


def needs_torch(pretrained: Path) -> bool:
    """Whether an encoder is a transformer."""
    return _is_transformer(located(pretrained))


def _is_transformer(folder: Path) -> bool:
    """Whether the tok2vec of a pipeline is a transformer."""
    config = folder / CONFIG
    return config.is_file() and TORCH in config.read_text(encoding="utf8")


def say_left_out(lang: str, say: Callable[[str], None]) -> None:
    """Say which knowledge of words no candidate can have for a language, and why."""
    if problem := lacks_lookups(lang):
        say(f"Word clusters are left out: {problem}")


def _seen(pretrained: Path, corpus: Path) -> float:
    return seen_share(pretrained, [part_path(corpus, part) for part in PARTS])


def choose_candidates(
    statistics: Statistics,
    lang: str = "",
    pretrained: Sequence[Candidate] = (),
    transformer: str | None = None,
) -> list[Candidate]:
    """What is worth a try on a corpus, after stock spaCy what won most often in our records first.

    Losses, resampling, augmentation and secondaries won on no corpus that `recommend` was checked on.
    They come last, for the time that is left.

    statistics (Statistics): Of the corpus.
    lang (str): Language code; an empty one has no word clusters.
    pretrained (Sequence[Candidate]): The recipes of pretrained encoders.
    transformer (Optional[str]): A transformer's name on the hub, or its folder.
    RETURNS (List[Candidate]): Choices by axis, and the reason.
    """
    train = statistics.parts["train"]
    n_sentences, tail = train.sentences, statistics.tail
    rare = [t for t in tail if train.types[t].mentions]
    return [
        Candidate({"head": "ner"}, "stock spaCy, the baseline"),
        *pretrained,
        *_with_knowledge(lang, transformer),
        Candidate({"head": "crf"}, "a CRF learns legal sequences with few examples"),
        Candidate({"head": "softmax"}, "the plain token classifier"),
        *_at_last(n_sentences, len(rare)),
    ]


def _with_knowledge(lang: str, transformer: str | None) -> list[Candidate]:
    """What brings in more than the corpus holds, beside encoders that were pretrained on entities."""
    found = []
    if transformer:
        why = f"{transformer} has read far more text"
        heads = ("softmax", "crf")
        found += [Candidate({"head": head, "encoder": "transformer"}, why) for head in heads]
    if has_lookups(lang):
        why = "word clusters know words that the corpus does not have"
        found.append(Candidate({"head": "crf", "encoder": "clusters"}, why))
    return found


def _at_last(n_sentences: int, n_rare: int) -> list[Candidate]:
    """What the papers propose for such a corpus, and our records show no gain of."""
    found = []
    if n_sentences < FEW:
        why = f"{number(n_sentences, 'training sentence')}: the AUC margin was made for so few"
        found.append(Candidate({"head": "two_task", "loss": "AUC-2T"}, why))
    if not n_rare:
        return found
    why = f"{number(n_rare, 'rare type')}: sCR shows their sentences more often"
    found += [Candidate({"head": head, "reader": "sCR"}, why) for head in ("crf", "softmax")]
    found.append(Candidate({"head": "softmax", "loss": "focal"}, "focal looks at what is still wrong"))
    if n_sentences < MANY_SENTENCES:
        grid = {"head": "softmax", "reader": "augmented"}
        found.append(Candidate(grid, "augmentation of a small corpus"))
    if n_sentences >= FEW:
        why = "a secondary of its own for the rare types, at twice the cost"
        found.append(Candidate({"gate": "double"}, why))
    return found


def advise(
    corpus: Path,
    output: Path,
    config: Path,
    *,
    minutes: float,
    folds: int = FOLDS,
    steps: int | None,
    options: Options,
    settings: Overrides,
    pretrained: Sequence[Path] = (),
    transformer: str | None = None,
    combine: Combine | None = None,
    say: Callable[[str], None] = msg.info,
) -> Advice:
    """Compare candidates on folds of a corpus within a budget, and write the config of the one to use.

    Every candidate gets a fold while half of the budget lasts. After each fold the better half of them
    and stock spaCy go on, while there is time.

    corpus (Path): A folder that `convert` wrote. output (Path): Folder of the trials; resumed.
    config (Path): The file to write. minutes (float): Budget. Stock spaCy and one candidate are run
        whatever they take.
    folds (int): Of train and dev together, at least 3.
    steps (Optional[int]): Of each training; null trains each until it is no better on dev.
    options (Options): How trials are run.
    settings (Overrides): Config values by dotted name, for all.
    pretrained (Sequence[Path]): Encoders to try: installed packages, or pipelines that `pretrain` wrote.
    transformer (Optional[str]): A transformer to be tried: its name on the hub, or its folder.
    combine (Optional[Callable]): What measures an ensemble of the best, if there is time left for it.
    say (Callable): Gets progress.
    RETURNS (Advice): What was found.
    RAISES (ValueError): L265 and L406 of a transformer; L274, L406, L563 and L571 of a pretrained
        encoder; L494 if stock spaCy could not be trained; L561; those of `write_folds`, of
        `Matrix`, of reports.
    """
    candidates, plan = planned(corpus, config, steps, settings, pretrained, transformer)
    cut, groups = fold_plan(plan, output, folds)
    matrix = Matrix(cut, output, inputs=[corpus])
    budget = Budget(minutes, options.workers)
    say(in_short(candidates, cut, folds, minutes))
    _leave_out_slow(matrix, budget, options.gpu_id, say)
    records = Rounds(matrix, options, budget, read_types(corpus).labels, say).run()
    matrix.trials = {key: trial for key, trial in matrix.trials.items() if key in records}
    summary = summarize_trials(matrix, records, groups)
    (choice,) = (c.recommendation for c in summary.corpora if c.recommendation is not None)
    trial = next(t for t in matrix.trials.values() if t.method.name == choice.method)
    own = [r for r in records.values() if r.is_done and r.method == choice.method]
    best = [r.best_step for r in own if r.best_step]
    evidence, own_trial = _evidence(summary, choice, candidates), trial._replace(corpus=corpus)
    write_config(own_trial, config, evidence)  # whatever becomes of the ensemble
    worth = combine and worth_of_several(trial, cut, output, options, budget, combine)
    if worth:
        write_config(own_trial, config, [*evidence, worth.text(choice.method)])
    return Advice(summary, choice, candidates, config, int(median(best)) if best else plan.steps, worth)


def _leave_out_slow(matrix: Matrix, budget: Budget, gpu_id: int, say: Callable[[str], None]) -> None:
    """Take transformers out of the plan of which two trainings do not fit into the time of first folds.

    RAISES (ValueError): L564.
    """
    first = {k: t for k, t in matrix.trials.items() if t.corpus == matrix.plan.corpora[0]}
    own = {k: t for k, t in first.items() if t.method.choices["encoder"] in TRANSFORMERS}
    for key in matrix.missing(own):
        name = own[key].method.name
        say(f"Measuring what a training of {name} takes")
        seconds = least_seconds(own[key], gpu_id)
        if 2 * seconds > FIRST_PART * budget.seconds:
            taken, minutes = (
                number(round(seconds / 60, 1), "minute"),
                number(budget.seconds / 60, "minute"),
            )
            say(f"{name} is left out: a training takes {taken} at least, of {minutes}")
            methods = [method for method in matrix.plan.methods if method.name != name]
            matrix.plan = matrix.plan._replace(methods=methods)
            matrix.trials = {k: t for k, t in matrix.trials.items() if t.method.name != name}


def least_seconds(trial: Trial, gpu_id: int = -1) -> float:
    """What a trial takes at least: a few of its steps are measured.

    trial (Trial): Of a plan. gpu_id (int): -1 is the CPU.
    RETURNS (float): Seconds; 0 where it is not known. RAISES (ValueError): L564.
    """
    with TemporaryDirectory(prefix="longtail-") as folder:
        path = Path(folder) / CONFIG
        trial.config().to_disk(path, interpolate=False)
        probe = probe_training(load_filled(path, trial.corpus), gpu_id)
    return probe.least(sum(count_tokens(part_path(trial.corpus, part)) for part in SCORED))


def planned(
    corpus: Path,
    config: Path,
    steps: int | None,
    settings: Overrides,
    pretrained: Sequence[Path],
    transformer: str | None,
) -> tuple[list[Candidate], Plan]:
    """What is to be compared, when all that is given has been checked: arguments as `advise` has them.

    RETURNS (Tuple[List[Candidate], Plan]): The candidates, and their plan on the corpus as it is.
    RAISES (ValueError): L265, L274, L402, L406, L470, L563, L571; those of `check_file`, of corpora and
        of plans.
    """
    check_file(config, [corpus], MARK)
    lang = read_types(corpus).lang
    own: dict[str, Overrides] = {}
    first = []
    for path in pretrained:
        name = str(path) if str(path) in TRANSFORMERS else "pretrained"
        recipe, own[name] = _beginning(path, corpus, lang)
        grid = {**read_recipes()[recipe].choices, "encoder": name}
        first.append(Candidate(grid, f"{path} has seen entities of other corpora"))
    if transformer:
        own["transformer"] = _over_transformer(transformer)
    candidates = choose_candidates(corpus_statistics(corpus), lang, first, transformer)
    return candidates, _plan(corpus, candidates, steps, settings, own)


def _beginning(pretrained: Path, corpus: Path, lang: str) -> tuple[str, Overrides]:
    """The recipe that starts from an encoder, and its settings beside the choices of other axes.

    RAISES (ValueError): L265, L274, L402, L406, L470, L563, L571, L720.
    """
    folder = check_encoder(pretrained)
    if (share := _seen(pretrained, corpus)) > MOST:
        shown = {"path": pretrained, "share": f"{100 * share:.0f} %", "corpus": corpus}
        raise ValueError(Errors.L563.format(**shown))
    config = read_base(folder / CONFIG)
    if (own := config.get("nlp", {}).get("lang")) != lang:
        problem = f"it is of the language {own!r}, {corpus} of {lang!r}"
        raise ValueError(Errors.L274.format(who="recommend", path=pretrained, problem=problem))
    names = config.get("nlp", {}).get("pipeline", [])
    if "tok2vec" not in names or DESCRIBED not in config.to_str(interpolate=False):
        raise ValueError(Errors.L571.format(path=pretrained, found=", ".join(names) or "none"))
    start: Overrides = {"paths.pretrained": str(pretrained)}
    choice = known_choices()["encoder"]["pretrained"]
    if not _is_transformer(folder):
        return "pretrained_cnn", {**choice, **start}
    settings = read_recipes()["transformer"].settings
    return "transformer", {**choice, OPTIONAL: {}, **settings, **start}


def _over_transformer(name: str) -> Overrides:
    """The choice of a transformer. RAISES (ValueError): L265, L406."""
    check_transformer(name)
    return {**known_choices()["encoder"]["transformer"], "paths.transformer": name}


def _plan(
    corpus: Path,
    candidates: list[Candidate],
    steps: int | None,
    settings: Overrides,
    encoders: Mapping[str, Overrides],
) -> Plan:
    schedules = {
        name: {key: own[key] for key in SCHEDULE if key in own and key not in settings}
        for name, own in encoders.items()
    }
    equal = {name: {k: v for k, v in own.items() if k not in SCHEDULE} for name, own in encoders.items()}
    given = {
        "choices": {"encoder": equal},
        "corpora": [str(corpus)],
        "steps": steps or NEEDED,
        "settings": dict(settings),
        "grids": [candidate.grid for candidate in candidates],
        "seeds": 1,
    }
    plan = read_plan("quick", given)
    if steps:
        return plan
    methods = [
        m._replace(config=compose(m.config, {}, schedules.get(m.choices["encoder"], {})))
        for m in plan.methods
    ]
    return plan._replace(methods=methods)


def _evidence(summary: Summary, choice: Recommendation, candidates: list[Candidate]) -> list[str]:
    """What a config says of where it comes from."""
    found = summary.corpora[0]
    lines = [
        f"{MARK} {__version__} for the corpus {found.corpus}: {choice.method}.",
        choice.text,
        *choice.evidence,
        f"{len(found.rows)} of {len(candidates)} candidates were tried, {summary.schedule}. Macro F1 in"
        " points of 100 on held-out folds, mean over those that a method had:",
    ]
    for row in found.rows:
        held_out, n_folds = row.scores["macro, held out"][0] or 0.0, row.n_trials
        lines.append(f"- {row.method}: {100 * held_out:.1f} on {number(n_folds, 'fold')}")
    return lines


def in_short(candidates: list[Candidate], cut: Plan, folds: int, minutes: float) -> str:
    """What will be tried, in a line. cut (Plan): On folds."""
    time = number(minutes, "minute")
    return f"{len(candidates)} candidates, {folds} folds, {cut.schedule}, {time} in all"


def write_config(trial: Trial, path: Path, comments: list[str]) -> None:
    """Write the complete config of a trial, with comments before it.

    trial (Trial): The trial. path (Path): The file. comments (List[str]): Paragraphs.
    RAISES (ValueError): L432, L486.
    """
    lines = [line for comment in comments for line in textwrap.wrap(comment, WIDTH)]
    write_file(path, commented(fill(trial.config(), trial.corpus, {}), lines, {}))
