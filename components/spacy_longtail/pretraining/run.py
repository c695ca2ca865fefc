"""Pretraining run: trains an encoder on donors, and resumes if it was interrupted."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import srsly
from spacy.language import Language
from spacy.util import fix_random_seed
from tqdm import tqdm

from ..corpus.descriptions import read_declared
from ..corpus.tokenizers import blank
from ..describers.label_encoder import data_in
from ..encoders import META, located
from ..errors import Errors
from ..extras import extra
from ..layers.torch_layer import require_torch
from ..output.targets import check_folder, check_outside, unless_holds
from ..output.writing import replacing
from ..pipes.sources import add_sources
from ..settings import unused
from ..training.loading import sources_of_encoder
from ..training.pretrained import read_seen, write_seen
from ..training.provenance import file_content, installed_versions, json_checksum, with_short_paths
from ..types import Block
from .donors import PretrainOptions, common_language, read_donors, unusable

if TYPE_CHECKING:
    from .learners import Learner

CNN = "cnn"  # name of a new CNN
STATE = "state.pt"
RECORD = "pretrain.json"
MODEL = "model"  # folder of the pipeline
SAVE_INTERVAL = 300.0  # seconds
LOSS_INTERVAL = 10  # steps between updates of the loss in the progress bar
CNN_STEPS, TRANSFORMER_STEPS = 12_000, 6_000
# options that may change when a run is resumed
CHANGEABLE = {"gpu_id": -1, "workers": 0, "evaluations": 1}

DEFAULTS = PretrainOptions()


@dataclass
class Progress:
    """Progress of a run, which a checkpoint stores."""

    step: int = 0  # number of finished steps
    seconds: float = 0.0
    scores: list[list[Any]] = field(default_factory=list)  # pairs of step and scores of each donor


def pretrain(
    folders: list[Path],
    output: Path,
    options: PretrainOptions = DEFAULTS,
    *,
    exclude: Sequence[Path] = (),
    say: Callable[[str], None] = print,
) -> tuple[Language, Block]:
    """Pretrain an encoder and a head that reads label descriptions, and write both as a pipeline.

    If the run was interrupted, the same call resumes it.

    folders (List[Path]): Donors, as for `read_donors`.
    output (Path): Folder to write.
    options (PretrainOptions): The options.
    exclude (Sequence[Path]): Corpora whose dev and test sentences are excluded from the donors.
    say (Callable[[str], None]): Called with messages on the progress.
    RETURNS (Tuple[Language, Dict[str, Any]]): The pipeline of output/model, and the record.
    RAISES (ValueError): If an option, a donor, the encoder or the output folder cannot be used.
    """
    encoders = [name for name in (options.encoder, options.teacher) if name not in (None, CNN)]
    inputs = [*folders, *exclude, *map(located, encoders)]
    check_folder(output, inputs, unless_holds(RECORD, STATE))
    check_outside(output, inputs, "folder")
    require_torch()
    with extra("transformers", "transformers"):
        import transformers  # noqa: F401
    is_cnn = _is_cnn(options)
    _check_kind(options, is_cnn)
    if options.teacher_cache is not None:
        _check_cache(options.teacher_cache, [output, *inputs])
    from .learners import PretrainRates, device_of, rates_of

    rates_of(options, PretrainRates())  # checked before encoders and donors are loaded
    device_of(options.gpu_id)
    options = options._replace(steps=options.steps or (CNN_STEPS if is_cnn else TRANSFORMER_STEPS))
    key = _key(folders, exclude, options)
    checkpoint = _checkpoint(output, key)
    start = None if options.encoder == CNN else options.encoder
    seen_before = () if start is None else read_seen(Path(start)).tolist()
    fix_random_seed(options.seed)
    learner = _learner(folders, options, exclude, is_cnn, say, checkpoint.get("subwords", ()))
    donors = learner.data.donors
    for donor in donors:
        excluded = f", {donor.n_excluded:,} excluded" if exclude else ""
        n_sentences, n_types = len(donor.train), len(donor.descriptions)
        say(f"{donor.name}: {n_sentences:,} sentences{excluded}, {n_types:,} types")
    progress = Progress(**checkpoint.get("progress", {}))
    if checkpoint:
        say(f"Resuming at step {progress.step:,}")
        learner.load(checkpoint)
    _train(learner, progress, output / STATE, key)
    record = {
        "key": key,
        "options": with_short_paths(options._asdict()),
        "steps": options.steps,
        "seconds": round(progress.seconds, 1),
        "versions": installed_versions(),
        "excluded": [path.resolve().name for path in exclude],
        "donors": [
            {
                "name": donor.name,
                "sentences": len(donor.train),
                "words": sum(map(len, donor.train)),
                "excluded": donor.n_excluded,
                "types": donor.descriptions,
                "open": donor.is_open,
            }
            for donor in donors
        ],
        "scores": progress.scores,
    }
    nlp = blank(common_language(donor.lang for donor in donors), donors[0].tokens)
    add_sources(nlp, [source for name in encoders for source in sources_of_encoder(name)])
    add_sources(nlp, [{"name": donor.name} for donor in donors])
    with replacing(output, [output / STATE]) as new:  # the state is replaced by the results
        learner.student.write(nlp, str(output / MODEL), new / MODEL)
        write_seen(new / MODEL, (doc for donor in donors for doc in donor.train), seen_before)
        srsly.write_json(new / RECORD, record, indent=1)
    return nlp, record


def _check_cache(cache: Path, folders: list[Path]) -> None:
    """Refuse a cache in the output or an input, because a resumed run must find them unchanged."""
    place = cache.resolve()
    if inside := [folder for folder in folders if folder.resolve() in (place, *place.parents)]:
        raise ValueError(
            Errors.L001.format(
                name="--teacher-cache",
                rule=f"a folder outside {inside[0]}",
                value=str(cache),
                fix="Name another folder.",
            )
        )


def _is_cnn(options: PretrainOptions) -> bool:
    """Return whether to train a CNN: a new one, or a pipeline without a label encoder."""
    folder = located(options.encoder)
    return options.encoder == CNN or ((folder / META).is_file() and not data_in(folder))


def _check_kind(options: PretrainOptions, is_cnn: bool) -> None:
    """Refuse options that are for another kind of encoder."""
    if options.teacher is None and options.teacher_cache is not None:
        raise unused("--teacher-cache", str(options.teacher_cache), "`pretrain`", "runs with --teacher")
    if options.new_subwords and (options.encoder == CNN or not is_cnn):
        raise unused("--new-subwords", options.new_subwords, "`pretrain`", "a CNN to start from")
    if options.layers is not None and is_cnn:
        raise unused("--layers", options.layers, "`pretrain`", "a transformer")


def _key(folders: list[Path], exclude: Sequence[Path], options: PretrainOptions) -> str:
    """Return a checksum of the options and the data, independent of where the files are."""
    given = {
        **options._asdict(),
        **CHANGEABLE,
        "teacher_cache": options.teacher_cache is not None,
        "encoder": options.encoder and (file_content(options.encoder) or options.encoder),
        "teacher": options.teacher and (file_content(options.teacher) or options.teacher),
    }
    data, excluded = ([file_content(str(folder)) for folder in own] for own in (folders, exclude))
    return json_checksum({"options": given, "data": data, "excluded": excluded})


def _checkpoint(output: Path, key: str) -> Block:
    """Return the checkpoint to resume from, empty for a new run.

    RAISES (ValueError): If the folder has a finished run, or one with another key.
    """
    import torch

    record, path = output / RECORD, output / STATE
    if record.is_file():
        path, read = record, srsly.read_json
    elif path.is_file():
        read = partial(torch.load, map_location="cpu", weights_only=True)
    else:
        return {}
    try:
        checkpoint: Block = read(path)
        is_other = checkpoint["key"] != key
    except Exception as error:  # JSON, zip and torch raise errors of many classes
        raise _not_resumable(
            path, f"it is damaged ({type(error).__name__}: {error})", "Delete it"
        ) from error
    if path != record and "subwords" not in checkpoint:
        raise _not_resumable(
            path, "an earlier version wrote it, and it lacks the list of subwords", "Delete it"
        )
    if is_other:
        raise _not_resumable(
            output, "it holds a pretraining with other options or donors", "Name a new folder"
        )
    if path == record:
        raise _not_resumable(output, "it is finished", "Use it, or delete the folder to train again")
    return checkpoint


def _not_resumable(path: Path, problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L496.format(path=path, problem=problem, fix=fix))


def _learner(
    folders: list[Path],
    options: PretrainOptions,
    exclude: Sequence[Path],
    is_cnn: bool,
    say: Callable[[str], None],
    subwords: Sequence[str],
) -> "Learner":
    """Load the encoder, the teacher and the donors."""
    from .cnn import CNNStart, read_cnn
    from .cnn_learner import cnn_learner
    from .learners import transformer_learner
    from .transformer import TEACHER, TransformerStart, read_start

    start: CNNStart | TransformerStart | None = None
    if options.encoder != CNN:
        start = read_cnn(options.encoder) if is_cnn else read_start(options.encoder, options.layers)
    teacher = None if options.teacher is None else read_start(options.teacher, role=TEACHER)
    start = start or teacher
    if start is None:
        raise unusable(
            CNN,
            problem="a new CNN learns from a transformer, but no teacher is named",
            fix="Add --teacher en_longtail_trf, or start from a CNN with --encoder en_longtail_cnn",
            role="the encoder",
        )
    lang = common_language(read_declared(folder)[1].lang for folder in folders)
    donors = read_donors(folders, exclude, options.parts, blank(lang, "words").vocab)
    if isinstance(start, TransformerStart) and not is_cnn:
        return transformer_learner(start, teacher, donors, options, say)
    return cnn_learner(start, teacher, donors, options, say, subwords)


def _train(learner: "Learner", progress: Progress, path: Path, key: str) -> None:
    """Train to the last step.

    learner (Learner): The learner.
    progress (Progress): Progress so far; changed in place.
    path (Path): File of the checkpoints.
    key (str): Key of the run.
    """
    start, saved = time.monotonic() - progress.seconds, time.monotonic()
    steps = learner.options.steps or 0
    interval = -(-steps // learner.options.evaluations)
    batches = learner.batches(progress.step)
    with tqdm(total=steps, initial=progress.step, unit="step", file=sys.stderr) as bar:
        while progress.step < steps:
            loss = learner.step(progress.step, next(batches))
            progress.step += 1
            progress.seconds = time.monotonic() - start
            is_last = progress.step == steps
            if progress.step % LOSS_INTERVAL == 0 or is_last:
                bar.set_postfix_str(f"loss {float(loss):.3f}", refresh=False)
            bar.update()
            if progress.step % interval == 0 or is_last:
                scores = learner.scores()
                progress.scores.append([progress.step, scores])
                if scores:
                    f1 = mean(score["micro"] for score in scores)
                    bar.write(f"step {progress.step:,}: micro F1 {100 * f1:.1f}", file=sys.stderr)
            if is_last or time.monotonic() - saved > SAVE_INTERVAL:
                learner.save(path, {"key": key, "progress": asdict(progress)})
                saved = time.monotonic()
