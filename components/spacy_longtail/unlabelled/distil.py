"""Distillation: trains a student on a gold corpus and on the predictions of a teacher."""

import itertools
import json
import math
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..corpus.folder import (
    PARTS,
    CorpusTypes,
    check_docs,
    part_path,
    read_types,
    stream_docs,
    write_corpus,
)
from ..corpus.formats.context import Events
from ..corpus.type_words import type_words
from ..encoders import located
from ..errors import Errors, Warnings
from ..evaluation.measuring import MeasuredPipeline, measure
from ..output.targets import check_folder, check_outside, unless_holds
from ..output.writing import coded_io, write_file
from ..records import Record
from ..training.filling import load_with_corpus_values
from ..training.loading import load_for_types, load_pipeline
from ..training.provenance import BEST, with_short_paths
from ..training.train import check_trainable, foreign_to_run, refuse_parts, train_model
from ..types import Block, Overrides
from .known import known_in_corpus
from .pool import PoolOptions, add_sentences, processed, read_pool
from .pseudo_labels import PseudoLabelled, PseudoLabelPolicy, Selection
from .teacher import PoolTeacher, TeachingPass, annotate, soft_tagger

RECORD = "distil.json"
PSEUDO_LABELS = "pseudo_labels.json"  # counts of the pseudo-labels, beside the corpus
DISTILLATION = "longtail.Distillation.v1"
# factories that learn a missing type as O
UNMASKED = ("ner", "beam_ner", "longtail_ner", "longtail_mrc_ner")
STUDENT, WITHOUT, CORPUS = "student", "without_pool", "corpus"
MIN_COPIES, MAX_COPIES = 2, 20  # of a gold document


@dataclass(frozen=True)
class DistilRequest:
    """Options of a distillation.

    teacher (Path | str): Trained pipeline, or an encoder that finds types by their descriptions.
    pool (Path): File or folder of files with texts.
    config (Path): Config of the student.
    gold (Path): Folder of a converted corpus with train, dev and test.
    policy (PseudoLabelPolicy): Policy of the selection of pseudo-labelled sentences.
    settings (PoolOptions): Options of the pool's files.
    gold_copies (Optional[int]): Number of copies of each gold document in the training part; null
        for that of `copies_for`.
    soft (bool): Whether sentences keep the probabilities of all tags.
    compare (bool): Whether to train a student on the gold corpus alone as well.
    split (bool): Whether to split texts into sentences by punctuation if the pipeline does not.
    batch_size (int): Number of texts that the teacher processes together.
    n_process (int): Number of processes.
    gpu_id (int): GPU to train on; -1 for the CPU.
    overrides (Dict[str, Any]): Settings of the student's config, by dotted name.
    """

    teacher: Path | str
    pool: Path
    config: Path
    gold: Path
    policy: PseudoLabelPolicy = field(default_factory=PseudoLabelPolicy)
    settings: PoolOptions = field(default_factory=PoolOptions)
    gold_copies: int | None = None
    soft: bool = False
    compare: bool = True
    split: bool = False
    batch_size: int = 64
    n_process: int = 1
    gpu_id: int = -1
    overrides: Overrides = field(default_factory=dict)


class PseudoLabelCounts(Record):
    """Counts of the pseudo-labels."""

    texts: int
    sentences: int
    known: int  # sentences that are in the gold corpus
    lacking: list[str]  # types of the corpus that the teacher cannot predict
    scored: int  # mentions with a score
    unscored: dict[str, int]  # mentions without one, by type; their tokens are missing annotation
    kept: int  # sentences
    mentions: dict[str, int]  # by type
    tokens: int
    missing: int  # tokens without annotation
    gold_copies: int  # copies of each gold document in the training part


class Distilled(Record):
    """Result of a distillation, the content of distil.json."""

    corpus: str
    settings: Block
    pseudo_labels: PseudoLabelCounts
    systems: list[MeasuredPipeline]


def distil(
    request: DistilRequest, output: Path, say: Callable[[str], None] = lambda _: None
) -> tuple[Distilled, Events]:
    """Annotate the pool, train the student with and without it, and compare both with the teacher.

    Everything is checked before the pool is processed, and nothing is written before pseudo-labels
    are selected.

    request (DistilRequest): The options.
    output (Path): Folder to write.
    say (Callable[[str], None]): Called with messages on the progress.
    RETURNS (Tuple[Distilled, Events]): The result, and counts of skipped texts.
    RAISES (ValueError): If an option or file cannot be used, or no sentence is selected.
    """
    types, config = read_types(request.gold), _checked(request, output)
    descriptions, events = type_words(types.labels, types.descriptions), Events()
    nlp = load_for_types(request.teacher, descriptions)
    teacher = PoolTeacher(nlp, request.teacher, types.labels)
    _check_masks(config, teacher.lacking)
    if request.soft:
        soft_tagger(nlp)  # raises an error if there is none
    if request.split:
        add_sentences(nlp)
    say(f"Annotating {request.pool} with {request.teacher}.")
    counts = _pseudo_labels(request, types, teacher, output, events)
    del nlp, teacher  # frees the memory
    # without the pool, there are no soft targets
    alone = {
        f"components.{name}.loss.share": 0.0
        for name, block in config["components"].items()
        if (block.get("loss") or {}).get("@losses") == DISTILLATION
    }
    students = {"student": (output / CORPUS, output / STUDENT, request.overrides)}
    if request.compare:
        without = (request.gold, output / WITHOUT, {**request.overrides, **alone})
        students["student without pool"] = without
    for corpus, folder, overrides in students.values():
        say(f"Training in {folder}.")
        train_model(request.config, corpus, folder, gpu_id=request.gpu_id, overrides=dict(overrides))
    # loaded again, because PoolTeacher makes it write probabilities and scores, which takes time
    teacher_as_used = load_for_types(request.teacher, descriptions)
    pipelines = {"teacher": (teacher_as_used, located(request.teacher))}
    for name, (_, folder, _) in students.items():
        pipelines[name] = load_pipeline(folder / BEST), folder / BEST
    idle = ("batch_size", "n_process", "gpu_id")
    settings = {name: value for name, value in asdict(request).items() if name not in idle}
    settings["policy"]["cap"] = settings["policy"].pop("max_mentions")  # its name in earlier records
    distilled = Distilled(
        corpus=request.gold.name,
        settings=json.loads(json.dumps(with_short_paths(settings))),
        pseudo_labels=counts,
        systems=measure(pipelines, request.gold, types),
    )
    write_file(output / RECORD, json.dumps(distilled.model_dump(), indent=2))
    return distilled, events


def _checked(request: DistilRequest, output: Path) -> Block:
    """Check the options before any work.

    RETURNS (Dict[str, Any]): The student's config, with defaults.
    """
    for path in (*(part_path(request.gold, part) for part in PARTS), request.pool):
        if not path.exists():
            raise ValueError(
                Errors.L402.format(
                    path=path, fix="Name an existing pool, and run `split` if the corpus lacks a part."
                )
            )
    refuse_parts(request.overrides)
    config = load_with_corpus_values(request.config, request.gold, request.overrides)
    student = check_trainable(config, request.config)
    losses = [getattr(pipe, "loss", None) for _, pipe in student.pipeline]
    if request.soft != any(getattr(loss, "reads_soft", False) for loss in losses):
        problem = f"--soft and a loss in {request.config} that uses soft targets need each other"
        fix = f"Set the loss to {DISTILLATION} with a share above 0 and pass --soft, or do neither."
        raise ValueError(Errors.L513.format(problem=problem, fix=fix))
    inputs = [request.pool, request.config, request.gold, Path(request.teacher)]
    check_folder(output, [path for path in inputs if path.exists()], unless_holds(PSEUDO_LABELS))
    for name in (STUDENT, WITHOUT):  # they will be removed
        check_folder(output / name, foreign=foreign_to_run)
    check_outside(output, [request.pool, request.gold], "folder")
    return config


def _check_masks(config: Block, lacking: Collection[str]) -> None:
    """Refuse a student that cannot mask the types that its teacher does not predict (L002).

    config (Block): Config of the student.
    lacking (Collection[str]): These types.
    """
    for name, block in config["components"].items():
        include = block.get("include")
        learnt = [label for label in lacking if include is None or label in include]
        if learnt and block.get("factory") in UNMASKED:
            raise ValueError(
                Errors.L002.format(
                    who=name,
                    loss="these pseudo-labels",
                    reason=f"the teacher does not predict {', '.join(learnt)}, and it cannot mask types",
                    fix="Use longtail_token_ner with head = 'softmax' or 'crf', or another teacher.",
                )
            )


def _pseudo_labels(
    request: DistilRequest, types: CorpusTypes, teacher: PoolTeacher, output: Path, events: Events
) -> PseudoLabelCounts:
    """Write the training corpus of the student: gold documents and pseudo-labelled sentences."""
    known = known_in_corpus(request.gold, teacher.nlp, request.pool)
    texts = read_pool(request.pool, teacher.nlp, request.settings, events)
    docs = processed(teacher.nlp, texts, request.batch_size, request.n_process)
    selection = Selection(request.policy, teacher.labels)
    seen = annotate(teacher, docs, known, selection, request.soft)
    chosen = selection.choose()
    n = seen.unscored.total()
    total = n + seen.scored
    if not any(reading.kept for reading in chosen):
        raise ValueError(
            Errors.L510.format(
                path=request.pool,
                problem=f"of {seen.sentences} sentences, {seen.known} are in {request.gold}, and "
                f"{seen.scored} of {total} entities in the others have scores, all below "
                f"{request.policy.threshold}",
            )
        )
    if n:
        shown = ", ".join(f"{label} {k:,}" for label, k in seen.unscored.most_common())
        warnings.warn(
            Warnings.W113.format(n=f"{n:,}", total=f"{total:,}", path=request.pool, types=shown),
            stacklevel=2,
        )
    vocab, gold = types.blank().vocab, part_path(request.gold, "train")
    counts = _counted(chosen, seen, teacher, request)
    tags, lacking = teacher.soft_tags if request.soft else [], counts.lacking
    known_types = [t for t in teacher.labels if t not in lacking] if lacking else None
    labelled = (reading.sentence.doc(vocab, reading.kept, tags, known_types) for reading in chosen)
    copies = itertools.chain.from_iterable(stream_docs(gold, vocab) for _ in range(counts.gold_copies))
    dev = stream_docs(part_path(request.gold, "dev"), vocab)
    parts = {"train": itertools.chain(copies, labelled), "dev": dev}
    _remove_results(output)
    write_corpus(output / CORPUS, parts, types, request.gold)
    write_file(output / PSEUDO_LABELS, json.dumps(counts.model_dump(), indent=2))
    return counts


def _remove_results(output: Path) -> None:
    """Remove the results of an earlier distillation, which would be mixed with the new ones."""
    with coded_io(output):
        (output / RECORD).unlink(missing_ok=True)
        for name in (STUDENT, WITHOUT):
            if (output / name).is_dir():
                shutil.rmtree(output / name)


def copies_for(gold: int, pool: int) -> int:
    """Return the number of copies with which gold has at least half as many words as the pool.

    gold (int): Number of words in the gold documents.
    pool (int): Number of words in the pseudo-labelled sentences.
    RETURNS (int): Between MIN_COPIES and MAX_COPIES.
    """
    return min(max(math.ceil(pool / max(2 * gold, 1)), MIN_COPIES), MAX_COPIES)


def _counted(
    chosen: list[PseudoLabelled], seen: TeachingPass, teacher: PoolTeacher, request: DistilRequest
) -> PseudoLabelCounts:
    kept = [reading.sentence.mentions[i] for reading in chosen for i in reading.kept]
    mentions = Counter(m.label for m in kept)
    annotated = sum(m.end - m.start for m in kept) + sum(int(o.sentence.sure.sum()) for o in chosen)
    tokens = sum(len(reading.sentence.words) for reading in chosen)
    gold = check_docs(part_path(request.gold, "train"))
    return PseudoLabelCounts(
        **vars(seen),
        lacking=teacher.lacking,
        kept=len(chosen),
        mentions={label: mentions[label] for label in teacher.labels},
        tokens=tokens,
        missing=tokens - annotated,
        gold_copies=request.gold_copies or copies_for(gold, tokens),
    )
