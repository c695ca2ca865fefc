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
from tqdm import tqdm

from ..corpus.descriptions import TYPES, read_declared, read_types
from ..corpus.tokenizers import blank
from ..errors import Errors
from ..layers.torch_layer import require_torch
from ..output.writing import check_folder, check_outside
from ..settings import extra, unused
from ..training.checksums import checksum, digest, file_content
from ..training.provenance import shortened, versions
from .donors import Donor, read_donors, said
from .encoders import is_cnn
from .learner import Learner, Options
from .open_types import is_open
from .records import DonorRecord, DonorScore, PretrainRecord, Progress, Scores
from .state import PROGRESS

STATE = "checkpoint"
RECORD = "pretrain.json"
MODEL = "model"  # the folder of the pipeline
SECONDS = 300.0  # between two states on disk
SHOWN = 10  # steps between two losses on the bar
FEW = 8  # donors whose F1 is said one by one
CNN_STEPS, TRANSFORMER_STEPS = 12_000, 6_000
OF_TRANSFORMERS = ("layers", "bits")
KEPT = ("teacher", "share", *OF_TRANSFORMERS)  # options that a record has among its settings


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
    RAISES (ValueError): L001, L213, L265, L401 to L404, L406, L408, L430, L432, L436, L437, L495 to
        L498, L515, L720.
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
        words=options.words,
        power=options.power,
        parts=list(options.parts),
        seed=options.seed,
        settings=shortened({**options.settings, **_given(options, KEPT)}),
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
    nlp = learner.finish(str(output / MODEL))
    return Pretrained(nlp, learner.donors, progress.scores, record, learner.label_encoder)


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

    key: str
    steps: int
    is_finished: bool


def settled(folders: list[Path], output: Path, options: Options, exclude: list[Path]) -> Settled:
    """Check settings and folders. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    check_folder(output, [*folders, *exclude], _foreign)
    check_outside(output, [*folders, *exclude], "folder")
    require_torch()
    with extra("transformers", "transformers"):
        import transformers  # noqa: F401
    steps = options.steps or TRANSFORMER_STEPS
    if is_cnn(options.encoder):
        for name, value in _given(options, OF_TRANSFORMERS).items():
            raise unused(f"--{name}", value, "`pretrain`", "a transformer")
        steps = options.steps or CNN_STEPS
    content = {**options.settings, **_given(options, KEPT)}
    for name, path in (("encoder", options.encoder), ("teacher", options.teacher)):
        content[name] = path and (file_content(path) or path)
    key = _key(content, folders, exclude, steps, options)
    _check_same(output, key)
    is_finished = (output / RECORD).is_file() and not (output / STATE).is_dir()
    return Settled(key, steps, is_finished)


def prepared(folders: list[Path], found: Settled, options: Options, exclude: list[Path]) -> Learner:
    """Read encoder and donors. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    from .bi_encoder.cnn_learner import CNNLearner
    from .bi_encoder.cnn_pipeline import read_cnn
    from .bi_encoder.start import read_start
    from .bi_encoder.transformer import TransformerLearner

    fix_random_seed(options.seed)
    lang = read_declared(folders[0])[1].lang
    arguments = (options, found.steps, options.words)
    if is_cnn(options.encoder):
        cnn = read_cnn(options.encoder, options.teacher, lang)
        return CNNLearner(cnn, _donors(folders, exclude, options, lang), *arguments)
    start = read_start(options.encoder, options.layers)
    return TransformerLearner(start, _donors(folders, exclude, options, lang), *arguments)


def _donors(folders: list[Path], exclude: list[Path], options: Options, lang: str) -> list[Donor]:
    return read_donors(folders, exclude, options.parts, blank(lang, "words").vocab)


def _given(options: Options, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of some options that were given."""
    own = {name: getattr(options, name) for name in names}
    return {name: value for name, value in own.items() if value is not None}


def _foreign(folder: Path) -> str:
    own = (folder / RECORD).is_file() or (folder / STATE).is_dir()
    return "" if own else "it holds no earlier `pretrain`"


def _key(content: object, folders: list[Path], exclude: list[Path], steps: int, options: Options) -> str:
    """What makes it the same pretraining: settings and data, not where they lie."""
    data = [
        {**read_types(folder)._asdict(), "checksum": checksum(folder)}
        if (folder / TYPES).is_file() and not is_open(folder)
        else {"files": file_content(str(folder))}
        for folder in (*folders, *exclude)
    ]
    own = (steps, options.words, options.power, options.parts, options.seed)
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
