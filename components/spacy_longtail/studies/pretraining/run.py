"""Pretraining: an encoder is trained on donors. The same call goes on where it stopped."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.util import fix_random_seed
from thinc.api import Config
from tqdm import tqdm

from ...corpus.descriptions import TYPES, read_declared, read_types
from ...corpus.tokenizers import blank
from ...errors import Errors
from ...layers.torch_layer import require_torch
from ...output.writing import check_folder, check_outside
from ...settings import extra, unused
from ...training.device import use_gpu
from ...training.provenance import checksum, shortened, versions
from ..trials.keys import config_content, digest, file_content
from . import cnn
from .donors import DONOR, Donor, read_donors, said
from .encoders import CNN, build_pipeline, read_encoder
from .learner import Learner, Options
from .open_types import is_open
from .records import DonorRecord, DonorScore, PretrainRecord, Progress, Scores
from .state import PROGRESS

STATE = "checkpoint"
RECORD = "pretrain.json"
SECONDS = 300.0  # between two states on disk
SHOWN = 10  # steps between two losses on the bar
FEW = 8  # donors whose F1 is said one by one
TRANSFORMER_STEPS, TRANSFORMER_WORDS = 6_000, 8_192
OF_TRANSFORMERS = ("layers", "teacher", "share", "bits", "workers")


class Pretrained(NamedTuple):
    """A pretraining that has come to its end."""

    nlp: Language  # with the weights to keep
    donors: list[Donor]
    scores: Scores
    record: PretrainRecord
    label_encoder: bytes | None  # the file that a transformer's pipeline reads descriptions with


def pretrain(
    folders: list[Path], output: Path, options: Options, exclude: list[Path], say: Callable[[str], None]
) -> Pretrained:
    """Pretrain an encoder and a described head on donors. The same call resumes.

    folders (List[Path]): Donors: folders that `convert` wrote, or of text files with open types.
    output (Path): For checkpoints. options (Options): How.
    exclude (List[Path]): Corpora whose dev and test no donor may hold.
    say (Callable): Gets progress.
    RETURNS (Pretrained): The result; nothing is written but checkpoints.
    RAISES (ValueError): L213, L265, L401 to L404, L406, L408, L430, L432, L434, L436 to L438, L471, L495
        to L498, L515.
    """
    found = settled(folders, output, options, exclude)
    if found.is_finished:
        raise ValueError(Errors.L498.format(path=output))
    learner = prepared(folders, found, options, exclude)
    for donor in learner.donors:
        say(said(donor, bool(exclude)))
    progress = learner.load(output / STATE) or Progress()
    progress.key = found.key
    if progress.step:
        say(f"Continues at step {progress.step:,}")
    _train(learner, output / STATE, progress, found.steps, options.evaluations)
    record = PretrainRecord(
        key=found.key,
        encoder=shortened(options.encoder),
        steps=found.steps,
        words=found.words,
        power=options.power,
        parts=list(options.parts),
        clusters=shortened(options.clusters),
        seed=options.seed,
        settings=shortened({**options.settings, **_of_transformers(options)}),
        seconds=round(progress.seconds, 1),
        versions=versions(),
        excluded=[path.resolve().name for path in exclude],
        donors=[
            DonorRecord(
                name=donor.name,
                sentences=len(donor.train),
                words=sum(map(len, donor.train)),
                left_out=donor.n_excluded,
                types=donor.descriptions,
                open=donor.is_open,
            )
            for donor in learner.donors
        ],
        scores=progress.scores,
    )
    nlp, labels = learner.finish(), getattr(learner, "label_encoder", None)
    return Pretrained(nlp, learner.donors, progress.scores, record, labels)


def _train(learner: Learner, folder: Path, progress: Progress, steps: int, evaluations: int) -> None:
    """Train to the end. folder (Path): Of the state. progress (Progress): Is brought up to date."""
    start, saved = time.monotonic() - progress.seconds, time.monotonic()
    every = interval(steps, evaluations)
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
                found = learner.scores()
                progress.scores.append((progress.step, found))
                if found:
                    bar.write(f"step {progress.step:,}: {_in_words(found)}", file=sys.stderr)
            if is_last or time.monotonic() - saved > SECONDS:
                learner.save(folder, progress)
                saved = time.monotonic()


def interval(steps: int, evaluations: int) -> int:
    """Steps between two evaluations."""
    return max(steps // max(evaluations, 1), 1)


def _in_words(scores: list[DonorScore]) -> str:
    if len(scores) <= FEW:
        return f"micro F1 {', '.join(f'{s.name} {100 * s.micro:.1f}' for s in scores)}"
    micro, macro = (100 * mean(own) for own in ([s.micro for s in scores], [s.macro for s in scores]))
    return f"mean over {len(scores)} donors: micro F1 {micro:.1f}, macro F1 {macro:.1f}"


class Settled(NamedTuple):
    """A pretraining whose settings and folders have been checked."""

    config: Config | None  # of a CNN
    key: str
    steps: int
    words: int
    is_finished: bool


def settled(folders: list[Path], output: Path, options: Options, exclude: list[Path]) -> Settled:
    """Check settings and folders. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    check_folder(output, [*folders, *exclude], _foreign)
    check_outside(output, [*folders, *exclude], "folder")
    config, content = None, {}
    if options.encoder == CNN:
        for name, value in _of_transformers(options).items():
            raise unused(f"--{name}", value, "`pretrain --encoder cnn`", "a transformer")
        for folder in folders:
            if is_open(folder):
                problem, fix = "the CNN reads no open types", "Leave it out, or name a transformer"
                raise ValueError(Errors.L495.format(path=folder, role=DONOR, problem=problem, fix=fix))
        use_gpu(options.gpu_id)
        steps, words = options.steps or cnn.STEPS, options.words or cnn.WORDS
        types = read_types(folders[0])
        config = read_encoder(types, options.clusters, steps, options.settings)
        content = config_content(config)
    else:
        require_torch()
        with extra("transformers", "transformers"):
            import transformers  # noqa: F401
        if options.clusters is not None:
            raise unused("--clusters", options.clusters, "`pretrain`", f"--encoder {CNN}")
        steps, words = options.steps or TRANSFORMER_STEPS, options.words or TRANSFORMER_WORDS
        content = {**options.settings, **_of_transformers(options._replace(workers=0))}
        for name, path in (("encoder", options.encoder), ("teacher", options.teacher)):
            content[name] = path and (file_content(path) or path)
    key = _key(content, folders, exclude, steps, words, options)
    _check_same(output, key)
    is_finished = (output / RECORD).is_file() and not (output / STATE).is_dir()
    return Settled(config, key, steps, words, is_finished)


def prepared(folders: list[Path], found: Settled, options: Options, exclude: list[Path]) -> Learner:
    """Read encoder and donors. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    fix_random_seed(options.seed)
    if found.config is not None:
        built = cnn.Built(*build_pipeline(found.config))
        donors = read_donors(folders, exclude, options.parts, built.nlp.vocab)
        return cnn.CNN(built, donors, options, found.words)
    from .bi_encoder.learner import BiEncoderLearner, read_start

    start = read_start(options.encoder, options.layers)
    vocab = blank(read_declared(folders[0])[1].lang, "words").vocab
    donors = read_donors(folders, exclude, options.parts, vocab)
    return BiEncoderLearner(start, donors, options, found.steps, found.words)


def _of_transformers(options: Options) -> dict[str, Any]:
    """The options of transformers that were given."""
    own = {name: getattr(options, name) for name in OF_TRANSFORMERS}
    return {name: value for name, value in own.items() if value != Options._field_defaults[name]}


def _foreign(folder: Path) -> str:
    own = (folder / RECORD).is_file() or (folder / STATE).is_dir()
    return "" if own else "it holds no earlier `pretrain`"


def _key(
    content: object, folders: list[Path], exclude: list[Path], steps: int, words: int, options: Options
) -> str:
    """What makes it the same pretraining: settings and data, not where they lie."""
    data = [
        {**read_types(folder)._asdict(), "checksum": checksum(folder)}
        if (folder / TYPES).is_file() and not is_open(folder)
        else {"files": file_content(str(folder))}
        for folder in (*folders, *exclude)
    ]
    own = (steps, words, options.power, options.parts, options.seed)
    return digest({"config": content, "data": data, "options": own})


def _check_same(output: Path, key: str) -> None:
    """Refuse a folder of a pretraining with other settings. RAISES (ValueError): L497."""
    for path in (output / STATE / PROGRESS, output / RECORD):
        if path.is_file():
            try:
                found = srsly.read_json(path)
            except ValueError as error:
                raise ValueError(Errors.L496.format(path=path, problem=error)) from error
            if not isinstance(found, dict) or found.get("key") != key:
                raise ValueError(Errors.L497.format(path=output))
