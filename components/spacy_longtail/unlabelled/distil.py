"""Distillation: a student learns from gold sentences, and from many that a teacher has read."""

import hashlib
import itertools
import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.descriptions import CorpusTypes, read_types
from ..corpus.folder import PARTS, stream_docs, write_corpus
from ..corpus.formats.context import Events, Settings
from ..corpus.formats.docbin import count_tokens
from ..corpus.parts import part_path
from ..corpus.tokenizers import blank
from ..corpus.type_words import in_words
from ..encoders import META, located
from ..errors import Errors, Warnings
from ..evaluation.evaluate import evaluate_model
from ..output.amounts import number
from ..output.writing import check_folder, check_outside, write_file
from ..records import problem_of
from ..training.checksums import CHUNK, checksum
from ..training.loading import load_for_types, load_pipeline
from ..training.train import BEST, check_trainable, load_filled, refuse_parts, train_model
from ..types import ANNOTATED_TYPES, Overrides
from .averaging import average
from .comparison import Candidate, Distilled, Round, Silver, measure
from .mining import CORPUS_PARTS, add_sentences, corpus_keys
from .passes import processed, resumed, stamps, state_path
from .pool import pool_files, read_pool
from .silver import Chosen, Policy, Selection
from .teacher import Pass, Teacher, annotate, make_scoring, scoreless_secondaries, soft_tagger

SETTINGS = "settings.json"  # what a folder was begun with
SILVER = "silver.json"  # beside a corpus: what was chosen for it
DISTILLATION = "longtail.Distillation.v1"
STUDENT, WITHOUT, CORPUS = "student", "without_silver", "corpus"
FEWEST, MOST = 2, 20  # copies of a gold document
PLAIN = Settings()
POLICY = Policy()


@dataclass(frozen=True)
class Request:
    """What is distilled.

    teacher (Path | str): A trained pipeline; or an encoder, which finds the types by their descriptions.
    pool (Path): As `read_pool` takes it.
    config (Path): The student's. gold (Path): A converted corpus.
    policy (Policy): Which sentences are silver. settings (Settings): Of the pool.
    gold_copies (Optional[int]): How often each gold document stands in the training part; null takes
        as many copies as `copies_for` says.
    soft (bool): Whether silver documents keep the teacher's tag distributions.
    rounds (int): Above 1 the student is the next teacher. compare (bool): Whether a student without
        silver is trained. also (Sequence[Path | str]): Pipelines that the teacher is averaged with; the
        student alone is the teacher of the next round.
    """

    teacher: Path | str
    pool: Path
    config: Path
    gold: Path
    policy: Policy = POLICY
    settings: Settings = PLAIN
    gold_copies: int | None = None
    soft: bool = False
    rounds: int = 1
    compare: bool = True
    split: bool = False
    batch_size: int = 64
    n_process: int = 1
    gpu_id: int = -1
    also: tuple[Path | str, ...] = ()
    overrides: Overrides = field(default_factory=dict)

    def about(self) -> dict[str, JsonValue]:
        """What a folder must be of to be taken up: all that changes a training."""
        found: dict[str, Any] = {
            "teacher": str(self.teacher),
            "also": [str(path) for path in self.also],
            "pool": str(self.pool),
            "config": str(self.config),
            "gold": str(self.gold),
            "types": read_types(self.gold)._asdict(),
            **{part: checksum(part_path(self.gold, part)) for part in PARTS},
            "config_content": checksum(self.config),
            "teacher_content": [_content(path) for path in (self.teacher, *self.also)],
            "pool_content": _pool_content(self.pool, self.settings),
            "format": self.settings.format,
            "encoding": self.settings.encoding,
            "threshold": self.policy.threshold,
            "cap": self.policy.cap,
            "floor": self.policy.floor,
            "empty": self.policy.empty,
            "seed": self.policy.seed,
            "gold_copies": self.gold_copies,
            "soft": self.soft,
            "split": self.split,
            "set": dict(self.overrides),
        }
        return json.loads(json.dumps(found))  # as it is read again


def distil(
    request: Request, output: Path, say: Callable[[str], None] = lambda _: None
) -> tuple[Distilled, Events]:
    """Annotate the pool, train the student with and without it, and compare. What is finished is kept.

    Everything is checked before the pool is read, and nothing is written before silver is chosen, but
    for the state of an interrupted pass over the pool, beside the folder.

    request (Request): What is distilled. output (Path): The folder. say (Callable): Gets what is done.
    RETURNS (Tuple[Distilled, Events]): The result; what of the pool was left out.
    RAISES (ValueError): L001, L402, L403, L404, L408, L420 to L438, L507, L509 to L514, L516, L576, and
        what training raises.
    """
    types, about = checked(request, output)
    teacher, events = request.teacher, Events()
    rounds: list[Round] = []
    for i in range(1, request.rounds + 1):
        folder = output if i == 1 else output / f"round-{i}"
        left_out = events if i == 1 else Events()  # each round leaves out the same
        silver = _silver(request, teacher, types, output, folder, about, left_out, say)
        if silver is None:
            say(f"Round {i} has no silver sentence: there are no more rounds.")
            break
        student = folder / STUDENT
        _train(request, folder / CORPUS, student, f"student of round {i}", say)
        dev = part_path(request.gold, "dev")
        scores = evaluate_model(student / BEST, dev, types.labels, types.tail).scores
        rounds.append(
            Round(
                round=i,
                teacher=" + ".join(map(str, _readers(request, teacher))),
                student=str(student / BEST),
                silver=silver,
                dev_macro=float(scores.ents_macro_f),
            )
        )
        if i > 1 and rounds[-1].dev_macro < rounds[-2].dev_macro:
            break
        teacher = student / BEST
    best = max(rounds, key=lambda r: r.dev_macro)
    models = {"student": Path(best.student)}
    if request.compare:
        without = output / WITHOUT
        _train(_untaught(request), request.gold, without, "student without silver", say)
        models["student without silver"] = without / BEST
    first = _load(request, request.teacher)
    folders = tuple(located(path) for path in (request.teacher, *request.also))
    candidates = [Candidate("teacher", first, folders)]
    candidates += [Candidate(name, load_pipeline(path), (path,)) for name, path in models.items()]
    systems = measure(candidates, request.gold, types)
    found = Distilled(
        corpus=request.gold.name, settings=about, rounds=rounds, best=best.round, systems=systems
    )
    return found, events


def foreign_to_distil(folder: Path) -> str:
    """What a folder holds that `distil` did not write, in words; "" if there is nothing."""
    return "" if (folder / SETTINGS).is_file() else f"it holds no {SETTINGS} of an earlier `distil`"


def checked(request: Request, output: Path) -> tuple[CorpusTypes, dict[str, JsonValue]]:
    """Refuse what cannot work, before any work. RETURNS: The types; what the folder is of."""
    types = read_types(request.gold)
    for part in PARTS:
        path = part_path(request.gold, part)
        if not path.exists():
            raise ValueError(Errors.L402.format(path=path, fix="`split` makes the parts."))
    if not request.pool.exists():
        fix = "Name a file of text, or a folder of them."
        raise ValueError(Errors.L402.format(path=request.pool, fix=fix))
    refuse_parts(request.overrides)
    config = load_filled(request.config, request.gold, request.overrides)
    student = check_trainable(config, request.config)
    if request.rounds > 1:
        make_scoring(student, request.config)
        if request.soft:
            soft_tagger(student)
    reads_soft = any(
        getattr(getattr(pipe, "loss", None), "reads_soft", False) for _, pipe in student.pipeline
    )
    if request.soft and not reads_soft:
        problem = f"no component of {request.config} has a loss that reads them"
        fix = f"Set loss to {DISTILLATION} with a share above 0, or leave --soft out."
        raise ValueError(Errors.L513.format(problem=problem, fix=fix))
    if reads_soft and not request.soft:
        problem = f"{request.config} has a loss that reads them, but silver keeps none without --soft"
        raise ValueError(Errors.L513.format(problem=problem, fix="Add --soft, or set share = 0."))
    inputs = [request.pool, request.config, request.gold]
    teachers = [Path(path) for path in (request.teacher, *request.also)]
    inputs += [path for path in teachers if path.exists()]
    if len({path.resolve() for path in teachers}) < len(teachers):
        fix = "Name each pipeline once."
        names = {"path": request.teacher, "problem": "a pipeline is named twice", "fix": fix}
        raise ValueError(Errors.L514.format(**names))
    check_folder(output, inputs, foreign_to_distil)
    check_outside(output, [request.pool, request.gold], "folder")
    state_path(output)
    about = request.about()
    path = output / SETTINGS
    if path.is_file():
        before = _read_json(path)
        if before != about:
            names = [k for k in about if not isinstance(before, dict) or before.get(k) != about[k]]
            problem = f"{', '.join(names)} of {SETTINGS} are others"
            raise ValueError(Errors.L512.format(path=output, problem=problem))
    teacher = teacher_of(request, request.teacher, types)
    if scoreless := scoreless_secondaries(teacher.nlp):
        warnings.warn(Warnings.W115.format(who=", ".join(scoreless)), stacklevel=2)
    return types, about


def _read_json(path: Path) -> Any:
    """RAISES (ValueError): L512."""
    try:
        return json.loads(path.read_text("utf8"))
    except ValueError as error:
        problem = f"{path.name} is not JSON ({error})"
        raise ValueError(Errors.L512.format(path=path.parent, problem=problem)) from error


def _content(pipeline: Path | str) -> str:
    """What a pipeline's training has made of it."""
    meta = located(pipeline) / META
    return checksum(meta) if meta.is_file() else ""


def _pool_content(pool: Path, settings: Settings) -> str:
    """What the files of a pool are known by: their names within a folder, and what is in them."""
    digest = hashlib.blake2b(digest_size=16)
    for path, _ in pool_files(pool, settings):
        name = str(path.relative_to(pool)) if pool.is_dir() else ""
        digest.update(f"{name}\0{path.stat().st_size}\0".encode("utf8", "surrogateescape"))
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


def _readers(request: Request, teacher: Path | str) -> tuple[Path | str, ...]:
    """The pipelines that read the pool in a round."""
    return (teacher, *request.also) if teacher == request.teacher else (teacher,)


def _load(request: Request, path: Path | str) -> Language:
    """A pipeline; the first teacher reads with the others.

    RAISES (ValueError): L271, L408, L514, L720.
    """
    types = read_types(request.gold)
    texts = in_words(types.labels, types.descriptions)
    nlp, *others = (load_for_types(own, texts) for own in _readers(request, path))
    if others:
        average(nlp, path, others, request.also)
    return nlp


def teacher_of(request: Request, path: Path | str, types: CorpusTypes) -> Teacher:
    """A pipeline that reads the pool; the first teacher reads with the others.

    RAISES (ValueError): L408, L509, L511, L513, L514.
    """
    found = Teacher.of(_load(request, path), path, types.labels, request.gold)
    if request.soft:
        soft_tagger(found.nlp)
    if request.split:
        add_sentences(found.nlp)
    return found


def _silver(
    request: Request,
    path: Path | str,
    types: CorpusTypes,
    output: Path,
    folder: Path,
    about: dict[str, JsonValue],
    events: Events,
    say: Callable[[str], None],
) -> Silver | None:
    """The corpus of a round: gold and silver. It is read where it is finished. Null where a later round
    finds nothing.

    RAISES (ValueError): L403, L404, L432, L507, L510, L512, L576.
    """
    record = folder / SILVER
    if record.is_file():
        say(f"{record} is there: the pool is not read again.")
        try:
            return Silver.model_validate_json(record.read_bytes())
        except ValidationError as error:
            problem = problem_of(error, record.name)
            raise ValueError(Errors.L512.format(path=folder, problem=problem)) from error
    teacher = teacher_of(request, path, types)
    state = state_path(folder)
    read = " and ".join(map(str, _readers(request, path)))
    resumed_at = ", from where it was interrupted" if state.is_file() else ""
    say(f"{read}: reading {request.pool}{resumed_at}.")
    seen = _annotated(request, teacher, state, settled(request, path, about), events)
    chosen = seen.selection.choose()
    if not any(own.kept for own in chosen):
        if folder != output:
            return None
        raise _nothing_silver(request, seen, teacher)
    _warn_of_unscored(request, seen, teacher)
    nlp = blank(types.lang, types.tokens)
    gold = part_path(request.gold, "train")
    silver = _documents(chosen, teacher, nlp, request.soft)
    found = _counted(chosen, seen, teacher, request)
    train = itertools.chain(*(stream_docs(gold, nlp) for _ in range(found.gold_copies)), silver)
    if folder == output:
        write_file(output / SETTINGS, json.dumps(about, indent=2))
    dev = stream_docs(part_path(request.gold, "dev"), nlp)
    write_corpus(folder / CORPUS, {"train": train, "dev": dev}, types)
    write_file(record, json.dumps(found.model_dump(), indent=2))
    state.unlink(missing_ok=True)
    return found


def _nothing_silver(request: Request, seen: Pass, teacher: Teacher) -> ValueError:
    """L576 where no entity has a score, else L510; to be raised."""
    if seen.unscored and not seen.n_scored:
        shown = {"n": number(seen.unscored.total(), "entity", "entities"), "path": request.pool}
        return ValueError(Errors.L576.format(who=", ".join(teacher.unscored), **shown))
    names = {"n": seen.n_sentences, "known": seen.n_known, "threshold": request.policy.threshold}
    return ValueError(Errors.L510.format(path=request.pool, corpus=request.gold, **names))


def _warn_of_unscored(request: Request, seen: Pass, teacher: Teacher) -> None:
    """Tell of entities that cannot be silver, sure as they may be."""
    n = seen.unscored.total()
    if n:
        types = ", ".join(f"{label} {k:,}" for label, k in seen.unscored.most_common())
        who, total = ", ".join(teacher.unscored), f"{n + seen.n_scored:,}"
        names = {"n": f"{n:,}", "total": total, "path": request.pool, "types": types, "who": who}
        warnings.warn(Warnings.W113.format(**names), stacklevel=2)


def _annotated(
    request: Request, teacher: Teacher, state: Path, about: dict[str, Any], events: Events
) -> Pass:
    """What the teacher reads in the pool. RAISES (ValueError): L403, L404, L432, L507."""
    known = corpus_keys(request.gold, teacher.nlp)
    seen = Pass(Selection(request.policy, teacher.labels))
    with resumed(seen, state, about) as save:
        texts = read_pool(request.pool, teacher.nlp, request.settings, events)
        given = request.batch_size, request.n_process, seen.n_texts
        return annotate(
            teacher, processed(teacher.nlp, iter(texts), *given), known, seen, request.soft, save
        )


def settled(request: Request, teacher: Path | str, about: dict[str, JsonValue]) -> dict[str, Any]:
    """What the state of a pass must be of to be taken up."""
    files = [path for path, _ in pool_files(request.pool, request.settings)]
    files += [part_path(request.gold, part) for part in CORPUS_PARTS]
    files += [Path(path) / "meta.json" for path in _readers(request, teacher)]
    return {**about, "reads": str(teacher), "files": stamps(files)}


def copies_for(gold: int, silver: int) -> int:
    """So many copies that gold has at least half as many words as silver, within FEWEST and MOST.

    gold (int): Words of the gold documents. silver (int): Of silver. RETURNS (int): The copies.
    """
    return min(max(math.ceil(silver / max(2 * gold, 1)), FEWEST), MOST)


def _documents(chosen: list[Chosen], teacher: Teacher, nlp: Language, soft: bool) -> Iterator[Doc]:
    """The silver sentences. Types that the teacher cannot read are neither right nor wrong in them."""
    tags = teacher.soft_tags if soft else []
    lacking = teacher.lacking
    for own in chosen:
        doc = own.sentence.doc(nlp.vocab, own.kept, tags)
        if lacking:
            doc.user_data[ANNOTATED_TYPES] = [t for t in teacher.labels if t not in lacking]
        yield doc


def _counted(chosen: list[Chosen], seen: Pass, teacher: Teacher, request: Request) -> Silver:
    mentions = Counter(own.sentence.mentions[i].label for own in chosen for i in own.kept)
    annotated = 0
    for own in chosen:
        places = (own.sentence.mentions[i] for i in own.kept)
        annotated += int(own.sentence.sure.sum()) + sum(m.end - m.start for m in places)
    tokens = sum(len(own.sentence.words) for own in chosen)
    gold = count_tokens(part_path(request.gold, "train"))
    return Silver(
        texts=seen.n_texts,
        sentences=seen.n_sentences,
        known=seen.n_known,
        unknown=dict(seen.unknown.most_common()),
        unscored=dict(seen.unscored.most_common()),
        lacking=teacher.lacking,
        silver=len(chosen),
        empty=sum(not own.sentence.mentions for own in chosen),
        mentions={label: mentions[label] for label in teacher.labels},
        tokens=tokens,
        missing=tokens - annotated,
        gold_copies=request.gold_copies or copies_for(gold, tokens),
    )


def _untaught(request: Request) -> Request:
    """The same training without a teacher: gold sentences have no soft targets."""
    config = load_filled(request.config, request.gold, request.overrides)
    losses = {name: block.get("loss") or {} for name, block in config["components"].items()}
    taught = [name for name, loss in losses.items() if loss.get("@losses") == DISTILLATION]
    shares = {f"components.{name}.loss.share": 0.0 for name in taught}
    return replace(request, overrides={**request.overrides, **shares})


def _train(request: Request, corpus: Path, output: Path, name: str, say: Callable[[str], None]) -> None:
    """Train, unless it is finished."""
    if (output / BEST / "config.cfg").is_file():
        say(f"{output} is there: the {name} is not trained again.")
        return
    say(f"Training the {name} in {output}.")
    train_model(request.config, corpus, output, gpu_id=request.gpu_id, overrides=dict(request.overrides))
