"""Advice on a corpus: statistics choose candidates, trials within a budget compare them."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from wasabi import msg

from ...about import __version__
from ...corpus.folder import PARTS, part_path, read_types
from ...corpus.seen import MOST, seen_share
from ...corpus.statistics import Statistics, corpus_statistics
from ...encoders import TRANSFORMERS, check_encoder, installed_transformers, located, shipped_encoder
from ...errors import Errors
from ...extras import require
from ...hub import load_transformer
from ...output.amounts import number
from ...output.writing import check_file, write_file
from ...training.letters import FEWEST, share_of_letters
from ...types import Overrides
from ..trials.compose import OPTIONAL, compose, known_choices, read_base
from ..trials.plan import Plan, read_plan
from ..trials.recipes import commented, fill, read_recipes
from ..trials.run import Matrix, TrialOptions
from .recommendation import Recommendation
from .rounds import Rounds, fold_plan
from .summary import Summary, summarize_trials

FEW = 500  # training sentences
MANY = 1000  # training sentences
OPTIMIZER = "training.optimizer"
FOLDS = 5
WIDTH = 100  # of a comment
CONFIG = "config.cfg"  # of a pipeline
DESCRIBED = "longtail.DescribedTypes.v1"  # in it
TORCH = '"longtail.Transformer.v1"'  # in it
SCHEDULE = ("training.max_steps", "training.eval_frequency")  # of a recipe
MARK = "Written by spacy-longtail"  # in the first line of a config


class CandidateGrid(NamedTuple):
    grid: dict[str, str]
    why: str


class Advice(NamedTuple):
    summary: Summary
    recommendation: Recommendation


def find_pretrained(corpus: Path, say: Callable[[str], None] = msg.info) -> list[Path]:
    """Return the encoders to try where none is named: the package's CNN and installed transformers.

    An encoder must know half of the corpus's letters. The English transformers are tried on English
    corpora alone, since they added nothing to stock spaCy in another language.

    corpus (Path): A folder that `convert` wrote.
    say (Callable): Receives what is not tried, and the reason.
    RETURNS (List[Path]): Names of encoders that have not been pretrained on this corpus.
    """
    lang = read_types(corpus).lang
    shipped, transformers = shipped_encoder(lang), installed_transformers(lang)
    if not shipped.startswith(f"{lang}_"):
        say(f"{shipped} is tried, although it was pretrained on another language than {lang!r}")
    elif not (transformers and find_spec("torch") and find_spec("transformers")):
        say("No transformer is tried: it takes the extra 'transformers' and one of docs/zero_shot.md")
        transformers = []
    encoders = []
    for name in (shipped, *transformers):
        if (known := share_of_letters(name, corpus)) < FEWEST:
            say(f"{name} is left out: it knows {100 * known:.0f} % of the letters of these texts")
        elif (share := _seen(Path(name), corpus)) > MOST:
            say(f"{name} is left out: it was pretrained on {100 * share:.0f} % of these sentences")
        else:
            encoders.append(Path(name))
    return encoders


def needs_torch(pretrained: Path) -> bool:
    """Whether the tok2vec of an encoder is a transformer."""
    config = located(pretrained) / CONFIG
    return config.is_file() and TORCH in config.read_text(encoding="utf8")


def _seen(pretrained: Path, corpus: Path) -> float:
    return seen_share(pretrained, [part_path(corpus, part) for part in PARTS])


def choose_candidates(
    statistics: Statistics, pretrained: Sequence[CandidateGrid] = (), transformer: str | None = None
) -> list[CandidateGrid]:
    """What is worth a try on a corpus, after stock spaCy what won most often in our records first.

    Losses and resampling won on no corpus that `recommend` was checked on. They come last, for the
    time that is left. Augmentation and secondaries, which never won either, are not tried.

    statistics (Statistics): Of the corpus.
    pretrained (Sequence[CandidateGrid]): The recipes of pretrained encoders.
    transformer (Optional[str]): A transformer's name on the hub, or its folder.
    RETURNS (List[CandidateGrid]): Choices by axis, and the reason.
    """
    train = statistics.parts["train"]
    n_sentences = train.sentences
    n_rare = sum(train.types[t].mentions > 0 for t in statistics.tail)
    read = f"{transformer} has read far more text"
    rare = f"{number(n_rare, 'rare type')}: sCR shows their sentences more often"
    few = f"{number(n_sentences, 'training sentence')}: the AUC margin was made for so few"
    table = [
        (True, {"head": "ner"}, "stock spaCy, the baseline"),
        *((True, *candidate) for candidate in pretrained),
        (transformer, {"head": "softmax", "encoder": "transformer"}, read),
        (transformer, {"head": "crf", "encoder": "transformer"}, read),
        (True, {"head": "crf"}, "a CRF learns legal sequences with few examples"),
        (True, {"head": "softmax"}, "the plain token classifier"),
        (n_sentences < FEW, {"head": "two_task", "loss": "AUC-2T"}, few),
        (n_rare, {"head": "crf", "reader": "sCR"}, rare),
        (n_rare, {"head": "softmax", "reader": "sCR"}, rare),
        (n_rare, {"head": "softmax", "loss": "focal"}, "focal looks at what is still wrong"),
    ]
    return [CandidateGrid(grid, why) for holds, grid, why in table if holds]


def planned(
    corpus: Path,
    steps: int | None = None,
    settings: Overrides | None = None,
    pretrained: Sequence[Path] = (),
    transformer: str | None = None,
) -> tuple[list[CandidateGrid], Plan]:
    """What is to be compared on a corpus.

    corpus (Path): A folder that `convert` wrote.
    steps (Optional[int]): Of each training; null trains each until it is no better on dev.
    settings (Optional[Overrides]): Config values by dotted name, for all.
    pretrained (Sequence[Path]): Encoders to try: installed packages, or pipelines of `pretrain`.
    transformer (Optional[str]): A transformer to be tried: its name on the hub, or its folder.
    RETURNS (Tuple[List[CandidateGrid], Plan]): The candidates, and their plan on the corpus.
    """
    settings = settings or {}
    statistics = corpus_statistics(corpus)
    n_sentences = statistics.parts["train"].sentences
    encoders, first = dict[str, Overrides](), list[CandidateGrid]()
    # with few sentences the largest transformer won on all corpora that it was measured on
    largest_first = [*pretrained[1:2], *pretrained[:1], *pretrained[2:]]
    for path in largest_first if n_sentences < MANY else pretrained:
        name = str(path) if str(path) in TRANSFORMERS else "pretrained"
        recipe, beginning = _beginning(path, corpus)
        ways = {name: beginning}
        if recipe == "pretrained_cnn":  # of many sentences it may learn more with its weights not mixed
            mixed = {**beginning, OPTIMIZER: read_recipes()[recipe].settings[OPTIMIZER]}
            ways = {name: mixed} if n_sentences < MANY else {**ways, f"{name}_mixed": mixed}
        encoders |= ways
        for way in ways:
            grid = {**read_recipes()[recipe].choices, "encoder": way}
            first.append(CandidateGrid(grid, f"{path} has seen entities of other corpora"))
    if transformer:
        load_transformer(transformer)
        choice = known_choices()["encoder"]["transformer"]
        encoders["transformer"] = {**choice, "paths.transformer": transformer}
    candidates = choose_candidates(statistics, first, transformer)
    equal = {n: {k: v for k, v in block.items() if k not in SCHEDULE} for n, block in encoders.items()}
    given = {
        "choices": {"encoder": equal},
        "corpora": [str(corpus)],
        "steps": steps,
        "settings": dict(settings),
        "grids": [candidate.grid for candidate in candidates],
        "seeds": 1,
    }
    plan = read_plan("quick", given)
    if steps is None:  # the recipe of an encoder has its own schedule
        for i, method in enumerate(plan.methods):
            own = encoders.get(method.choices["encoder"], {})
            schedule = {key: own[key] for key in SCHEDULE if key in own and key not in settings}
            plan.methods[i] = method._replace(config=compose(method.config, {}, schedule))
    return candidates, plan


def advise(
    candidates: list[CandidateGrid],
    plan: Plan,
    output: Path,
    config: Path,
    *,
    minutes: float,
    folds: int = FOLDS,
    options: TrialOptions,
    say: Callable[[str], None] = msg.info,
) -> Advice:
    """Compare candidates on folds of a corpus within a budget, and write the config to use.

    Every candidate gets a fold while half of the budget lasts. After each fold the better half of
    them and stock spaCy go on, while there is time.

    candidates (List[CandidateGrid]): As `planned` returned them. plan (Plan): Of the same.
    output (Path): Folder of the trials; resumed. config (Path): The file to write.
    minutes (float): Budget. folds (int): Of train and dev together, at least 3.
    options (TrialOptions): How trials are run. say (Callable): Gets progress.
    RETURNS (Advice): What the trials show.
    """
    require("scipy", "report")  # of the comparison, hours later
    (corpus,) = plan.corpora
    check_file(config, [corpus], MARK)
    cut, groups = fold_plan(plan, output, folds)
    matrix = Matrix(cut, output, inputs=[corpus])
    say(in_short(candidates, cut, folds, minutes))
    records = Rounds(matrix, options, minutes, read_types(corpus).labels, say).run()
    matrix.trials = {key: trial for key, trial in matrix.trials.items() if key in records}
    summary = summarize_trials(matrix, records, groups)
    (choice,) = (c.recommendation for c in summary.corpora if c.recommendation is not None)
    trial = next(t for t in matrix.trials.values() if t.method.name == choice.method)
    lines = [part for text in _evidence(summary, choice, candidates) for part in wrap(text, WIDTH)]
    write_file(config, commented(fill(trial.config(), corpus, choice.method), lines, {}))
    return Advice(summary, choice)


def _beginning(pretrained: Path, corpus: Path) -> tuple[str, Overrides]:
    """The recipe that starts from an encoder, and its settings beside the choices of other axes."""
    folder = check_encoder(pretrained)
    if (share := _seen(pretrained, corpus)) > MOST:
        shown = {"path": pretrained, "share": f"{100 * share:.0f} %", "corpus": corpus}
        raise ValueError(Errors.L563.format(**shown))
    config = read_base(folder / CONFIG)
    names = config.get("nlp", {}).get("pipeline", [])
    if "tok2vec" not in names or DESCRIBED not in config.to_str(interpolate=False):
        problem = f"it needs tok2vec and a head that reads label descriptions, found {', '.join(names)}"
        raise ValueError(Errors.L274.format(who="recommend", path=pretrained, problem=problem))
    start = {**known_choices()["encoder"]["pretrained"], "paths.pretrained": str(pretrained)}
    if not needs_torch(pretrained):
        return "pretrained_cnn", start
    own = read_recipes()["transformer"].settings
    return "transformer", {**start, OPTIONAL: {}, **own, "paths.pretrained": str(pretrained)}


def _evidence(summary: Summary, choice: Recommendation, candidates: list[CandidateGrid]) -> list[str]:
    """What a config says of where it comes from."""
    about = summary.corpora[0]
    lines = [
        f"{MARK} {__version__} for the corpus {about.corpus}: {choice.method}.",
        choice.text,
        *choice.evidence,
        f"{len(about.rows)} of {len(candidates)} candidates were tried, {summary.schedule}.",
        "Macro F1 on held-out folds, points of 100:",
    ]
    for row in about.rows:
        held_out = 100 * (row.scores["macro, held out"][0] or 0.0)
        lines.append(f"- {row.method}: {held_out:.1f} on {number(row.n_trials, 'fold')}")
    return lines


def in_short(candidates: list[CandidateGrid], cut: Plan, folds: int, minutes: float) -> str:
    """What will be tried, in a line. cut (Plan): On folds."""
    time = number(minutes, "minute")
    return f"{len(candidates)} candidates, {folds} folds, {cut.schedule}, {time} in all"
