"""What `distil` and `mine` would read and train, and how long it would take."""

from collections.abc import Callable
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.folder import part_path
from ..corpus.formats.context import Events, Settings
from ..corpus.formats.docbin import count_tokens
from ..output.amounts import number
from ..output.estimates import Estimate, Outlook, Stage
from ..training.probe import probe_training
from ..training.train import BEST, load_filled
from . import distil as distilling
from . import mining
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


def _counted(
    pool: Path, nlp: Language, settings: Settings, facts: list[str], say: Say
) -> tuple[int, str]:
    """The texts of a pool, of which the facts are told; and what to note where there are more."""
    say(f"Counting {pool}")
    n_texts, is_all = count_texts(pool, nlp, settings)
    facts.append(f"{pool}: {'' if is_all else 'more than '}{number(n_texts, 'text')}")
    return n_texts, "" if is_all else MORE
