"""What `distil` and `mine` would read and train, and how long it would take."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.folder import load_docs, part_path, write_corpus
from ..corpus.formats.context import Events, Settings
from ..corpus.formats.docbin import count_tokens
from ..corpus.tokenizers import blank
from ..output.amounts import number
from ..output.estimates import Estimate, Outlook, Stage
from ..training.probe import Probe, probe_training
from ..training.train import BEST, load_filled
from . import distil as distilling
from . import mining, simulation
from .passes import load_state, state_path
from .pool import read_pool
from .proposals import Format
from .reading import count_texts, time_texts
from .scan import RANDOM, Scan, scan_pool
from .selection import ranking_sizes
from .silver import Selection
from .teacher import Pass, annotate

MORE = " for the texts that were counted: there are more"

Say = Callable[[str], None]


def distil_outlook(request: distilling.Request, output: Path, say: Say) -> Outlook:
    """The passes and trainings of a distillation that are not finished. Nothing is written.

    Arguments as `distil` has them.
    RETURNS (Outlook): What there is to do. RAISES (ValueError): Those of `distil` that come before the
        pool is read; L564 if the student's training would fail.
    """
    types, about = distilling.checked(request, output)
    folders = [output if i == 1 else output / f"round-{i}" for i in range(1, request.rounds + 1)]
    unread = [folder for folder in folders if not (folder / distilling.SILVER).is_file()]
    students = [folder / distilling.STUDENT for folder in folders]
    students += [output / distilling.WITHOUT] if request.compare else []
    trainings = [path for path in students if not (path / BEST / "config.cfg").is_file()]
    facts = [f"{request.rounds} rounds at most" if request.rounds > 1 else "1 round"]
    stages, note = [], ""
    if unread:
        teacher = distilling.teacher_of(request, request.teacher, types)
        done = Pass(Selection(request.policy, teacher.labels))
        if output in unread and state_path(output).is_file():
            about = distilling.settled(request, request.teacher, about)
            load_state(done, state_path(output), about)
        n_texts, note = _counted(request.pool, teacher.nlp, request.settings, facts, say)
        seen = Pass(Selection(request.policy, teacher.labels))

        def take(docs: list[Doc]) -> None:
            annotate(teacher, [docs], (), seen, request.soft)

        say("Measuring the teacher")
        texts = read_pool(request.pool, teacher.nlp, request.settings, Events())
        each = time_texts(texts, teacher.nlp, take, request.n_process)
        later = each and Estimate(each.seconds, f"{each.basis} by the teacher", True)
        for i, folder in enumerate(folders, 1):
            n = n_texts - done.n_texts * (folder == output) if folder in unread else 0
            stages.append(Stage(f"reading, round {i}", max(n, 0), "texts", each if i == 1 else later))
    training = None
    if trainings:
        say("Measuring the student")
        config = load_filled(request.config, request.gold, request.overrides)
        words = count_tokens(part_path(request.gold, "test"))
        training = probe_training(config, request.gpu_id).training(words)
        if training and config.interpolate()["training"].get("max_epochs", 0) > 0:
            training = training._replace(basis=f"{training.basis}, epochs of gold alone")
        if training and request.rounds > 1:
            training = training._replace(at_most=True)
    stages.append(Stage("students", len(trainings), "trainings", training))
    return Outlook(facts, stages, note=note)


def mine_outlook(
    pipeline: Path | str,
    pool: Path,
    output: Path,
    request: mining.Request,
    settings: Settings,
    format: Format,
    page: Path | None,
    say: Say,
) -> Outlook:
    """The pass over a pool. Nothing is written. Arguments as `mine` has them.

    RETURNS (Outlook): What there is to do. RAISES (ValueError): Those of `mine` that come before the
        pool is read.
    """
    own = mining.ready(pipeline, pool, output, request, settings, format, page)
    if own.state.is_file():
        load_state(own.scan, own.state, own.about)
    facts = [f"{number(request.labels, 'sentence')} to propose, {own.n_random} of them by lot"]
    n_texts, note = _counted(pool, own.nlp, settings, facts, say)
    scan = Scan.of(own.types, {**ranking_sizes(own.quotas), RANDOM: own.n_random})

    def take(docs: list[Doc]) -> None:
        scan_pool(scan, [docs], own.nlp, own.signs)

    say("Measuring the pipeline")
    each = time_texts(read_pool(pool, own.nlp, settings, Events()), own.nlp, take, request.n_process)
    if own.scan.n_texts:
        facts.append(f"{own.scan.n_texts:,} of them are read.")
    lines = [f"{label}: {number(n, 'sentence')}" for label, n in own.quotas.items()]
    stage = Stage("reading", max(n_texts - own.scan.n_texts, 0), "texts", each)
    return Outlook(facts, [stage], lines=lines, note=note)


def simulation_outlook(game: simulation.Game, output: Path, say: Say) -> Outlook:
    """The trainings of a simulation that are not finished. Only temporary files are written.

    game (Game): What is played. output (Path): The folder. say (Callable): Gets progress.
    RETURNS (Outlook): What there is to do. RAISES (ValueError): Those of `simulate`; L564 if a training
        would fail.
    """
    own = simulation.prepared(game, output)
    left = {seed: [s for s in game.strategies if (s, seed) not in own.played] for seed in game.seeds}
    n_trainings = sum(1 + len(names) * game.rounds for names in left.values() if names)
    n_choices = game.rounds * sum(name != RANDOM for names in left.values() for name in names)
    n_runs = len(game.strategies) * len(game.seeds)
    runs, rounds = number(n_runs, "run"), number(game.rounds, "round")
    facts = [f"{runs} of {rounds}, from {number(game.start, 'sentence')}"]
    if own.played:
        facts.append(f"{len(own.played)} of them are finished.")
    training = choice = None
    if n_trainings:
        say("Measuring a training")
        probe = _probed(game, own)
        training = probe.training(count_tokens(part_path(game.corpus, "test")))
        most = len(own.sentences) - game.start
        pool = most if game.pool is None else min(game.pool, most)
        sentences = mean(pool - i * game.labels for i in range(game.rounds))
        words = sentences * mean(map(len, own.sentences))
        choice = Estimate(words * probe.word, f"{sentences:,.0f} sentences, by what scoring took")
    stages = [
        Stage("trainings", n_trainings, "trainings", training),
        Stage("choosing sentences", n_choices, "choices", choice),
    ]
    return Outlook(facts, stages)


def _counted(
    pool: Path, nlp: Language, settings: Settings, facts: list[str], say: Say
) -> tuple[int, str]:
    """The texts of a pool, of which the facts are told; and what to note where there are more."""
    say(f"Counting {pool}")
    n_texts, is_all = count_texts(pool, nlp, settings)
    facts.append(f"{pool}: {'' if is_all else 'more than '}{number(n_texts, 'text')}")
    return n_texts, "" if is_all else MORE


def _probed(game: simulation.Game, own: simulation.Prepared) -> Probe:
    """A training of the last round."""
    nlp = blank(own.types.lang, own.types.tokens)
    dev = load_docs(part_path(game.corpus, "dev"), nlp)
    train = own.sentences[: game.start + game.rounds * game.labels]
    with tempfile.TemporaryDirectory(prefix="longtail-mine-") as folder:
        write_corpus(Path(folder), {"train": train, "dev": dev}, own.types)
        return probe_training(load_filled(game.config, Path(folder), game.overrides), game.gpu_id)
