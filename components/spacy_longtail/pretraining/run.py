"""Pretraining: an encoder is trained on donors. The same call goes on where it stopped."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.util import fix_random_seed
from tqdm import tqdm

from ..corpus.descriptions import TYPES, read_declared, read_types
from ..corpus.seen import write_seen
from ..corpus.tokenizers import blank
from ..describers.label_encoder import FILE as LABEL_ENCODER
from ..layers.torch_layer import require_torch
from ..models.transformer import Pieces
from ..output.writing import check_folder, check_outside, replacing, unless_holds
from ..pipes.sources import add_sources
from ..settings import extra, unused
from ..training.checksums import checksum, digest, file_content
from ..training.provenance import shortened, versions
from ..types import Block
from .donors import is_open, read_donors
from .encoders import CNN, is_cnn
from .records import PROGRESS, PretrainOptions, Progress, Scores, not_resumable, reading_state

if TYPE_CHECKING:
    from .learners import BiEncoderLearner

STATE = "checkpoint"
RECORD = "pretrain.json"
MODEL = "model"  # the folder of the pipeline
TOK2VEC = "tok2vec.bin"
SECONDS = 300.0  # between two states on disk
SHOWN = 10  # steps between two losses on the bar
FEW = 8  # donors whose F1 is shown one by one
CNN_STEPS, TRANSFORMER_STEPS = 12_000, 6_000


class Pretrained(NamedTuple):
    """A pretraining that has come to its end."""

    nlp: Language
    scores: Scores
    record: Block  # as pretrain.json has it
    places: dict[str, Path]  # model (the pipeline), tok2vec (spaCy's init_tok2vec) of a CNN


def pretrain(
    folders: list[Path],
    output: Path,
    options: PretrainOptions,
    exclude: list[Path],
    say: Callable[[str], None],
) -> Pretrained:
    """Pretrain an encoder and a described head on donors, and write them. The same call resumes.

    folders (List[Path]): Donors: folders that `convert` wrote, or of text files with open types.
    output (Path): The folder for checkpoints and results. options (PretrainOptions): How.
    exclude (List[Path]): Corpora whose dev and test no donor may hold.
    say (Callable): Gets progress.
    RETURNS (Pretrained): The pipeline, what was done, and where the results are.
    """
    steps, key = _checked(folders, output, options, exclude)
    learner = _learner(folders, options, exclude, steps)
    for donor in learner.donors:
        left_out = f", {donor.n_excluded:,} left out" if exclude else ""
        counts = f"{len(donor.train):,} sentences{left_out}, {len(donor.descriptions):,} types"
        say(f"{donor.name}: {counts}")
    progress = learner.load(output / STATE)
    progress.key = key
    if progress.step:
        say(f"Continues at step {progress.step:,}")
    _train(learner, output / STATE, progress, steps, options.evaluations)
    donors = [
        {
            "name": donor.name,
            "sentences": len(donor.train),
            "words": sum(map(len, donor.train)),
            "left_out": donor.n_excluded,
            "types": donor.descriptions,
            "open": donor.is_open,
        }
        for donor in learner.donors
    ]
    record = {
        "key": key,
        "options": shortened(options._asdict()),
        "steps": steps,
        "seconds": round(progress.seconds, 1),
        "versions": versions(),
        "excluded": [path.resolve().name for path in exclude],
        "donors": donors,
        "scores": progress.model_dump()["scores"],
    }
    nlp = learner.finish(str(output / MODEL))
    return Pretrained(nlp, progress.scores, record, _write(learner, nlp, record, output))


def _checked(
    folders: list[Path], output: Path, options: PretrainOptions, exclude: list[Path]
) -> tuple[int, str]:
    """Refuse what cannot work. RETURNS: Steps; what makes it the same pretraining."""
    check_folder(output, [*folders, *exclude], unless_holds(RECORD, STATE))
    check_outside(output, [*folders, *exclude], "folder")
    require_torch()
    with extra("transformers", "transformers"):
        import transformers  # noqa: F401
    is_of_cnn = is_cnn(options.encoder)
    if is_of_cnn:
        for name in ("layers", "bits"):
            if (value := getattr(options, name)) is not None:
                raise unused(f"--{name}", value, "`pretrain`", "a transformer")
    steps = options.steps or (CNN_STEPS if is_of_cnn else TRANSFORMER_STEPS)
    weights = {path: file_content(path) or path for path in (options.encoder, options.teacher) if path}
    data = [
        {**read_types(folder)._asdict(), "checksum": checksum(folder)}
        if (folder / TYPES).is_file() and not is_open(folder)
        else {"files": file_content(str(folder))}
        for folder in (*folders, *exclude)
    ]
    own: dict[str, Any] = options._replace(steps=steps, gpu_id=-1, workers=0, evaluations=1)._asdict()
    own |= {"encoder": weights[options.encoder], "teacher": weights.get(options.teacher or "")}
    key = digest({"options": own, "data": data})  # not where it lies
    for path in (output / STATE / PROGRESS, output / RECORD):
        if path.is_file():
            with reading_state(path):
                known = srsly.read_json(path)["key"]
            if known != key:
                problem = "it holds a pretraining with other options or donors"
                raise not_resumable(output, problem, "Name a new folder")
    if (output / RECORD).is_file() and not (output / STATE).is_dir():
        raise not_resumable(output, "it is finished", "Use it, or delete the folder to train again")
    return steps, key


def _learner(
    folders: list[Path], options: PretrainOptions, exclude: list[Path], steps: int
) -> "BiEncoderLearner":
    """Read encoder and donors."""
    from .batches import TableCutter
    from .cnn import new_cnn, read_cnn
    from .learners import CNNLearner, TransformerLearner
    from .matcher import no_start
    from .transformer import ENCODER, TEACHER, read_start

    fix_random_seed(options.seed)
    lang = read_declared(folders[0])[1].lang
    make: Any
    cutter: Any
    if not is_cnn(options.encoder):
        start = read_start(options.encoder, options.layers)
        donors = read_donors(folders, exclude, options.parts, blank(lang, "words").vocab)
        return TransformerLearner(start, donors, options, steps)
    teacher = None if options.teacher is None else read_start(options.teacher, role=TEACHER)
    if options.encoder != CNN:
        cnn = read_cnn(options.encoder, lang)
        make = lambda vocabulary, texts: cnn  # noqa: E731
        cutter = TableCutter(cnn.table) if teacher is None else Pieces(teacher.tokenizer)
    elif teacher is None:
        problem = "a new CNN learns from a transformer, and no teacher is named"
        fix = "Add --teacher en_longtail_trf, or go on from a CNN with --encoder en_longtail_cnn"
        raise no_start(options.encoder, ENCODER, problem, fix)
    else:
        make, cutter = partial(new_cnn, teacher), Pieces(teacher.tokenizer)
    donors = read_donors(folders, exclude, options.parts, blank(lang, "words").vocab)
    return CNNLearner(make, cutter, teacher, donors, options, steps)


def _train(
    learner: "BiEncoderLearner", folder: Path, progress: Progress, steps: int, evaluations: int
) -> None:
    """Train to the end. folder (Path): Of the state. progress (Progress): Is brought up to date."""
    start, saved = time.monotonic() - progress.seconds, time.monotonic()
    every = max(steps // max(evaluations, 1), 1)
    with tqdm(total=steps, initial=progress.step, unit="step", file=sys.stderr) as bar:
        while progress.step < steps:
            loss = learner.step(progress.step)
            progress.step += 1
            progress.seconds = time.monotonic() - start
            is_last = progress.step == steps
            if progress.step % SHOWN == 0 or is_last:
                bar.set_postfix_str(f"loss {float(loss):.3f}", refresh=False)
            bar.update()
            if progress.step % every == 0 or is_last:
                scores = learner.scores()
                progress.scores.append((progress.step, scores))
                if scores:
                    shown = [f"{s.name} {100 * s.micro:.1f}" for s in scores[:FEW]]
                    more = f"mean of {len(scores)} {100 * mean(s.micro for s in scores):.1f}"
                    words = ", ".join([more, *shown])
                    bar.write(f"step {progress.step:,}: micro F1 {words}", file=sys.stderr)
            if is_last or time.monotonic() - saved > SECONDS:
                learner.save(folder, progress)
                saved = time.monotonic()


def _write(learner: "BiEncoderLearner", nlp: Language, record: Block, output: Path) -> dict[str, Path]:
    """Write the results, all or nothing, in place of the state."""
    add_sources(nlp, [{"name": donor.name} for donor in learner.donors])
    places = {"model": output / MODEL}
    with replacing(output, [output / STATE]) as new:
        nlp.to_disk(new / MODEL)
        write_seen(new / MODEL, (doc for donor in learner.donors for doc in donor.train))
        if learner.label_encoder is None:
            tok2vec = nlp.get_pipe("tok2vec")
            (new / TOK2VEC).write_bytes(tok2vec.model.to_bytes())  # type: ignore[attr-defined]
            places["tok2vec"] = output / TOK2VEC
        else:
            (new / MODEL / LABEL_ENCODER).write_bytes(learner.label_encoder)
        text = json.dumps(record, indent=1)
        (new / RECORD).write_text(text, encoding="utf8", errors="replace")
    return places
