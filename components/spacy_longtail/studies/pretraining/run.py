"""Pretraining: batches of donors, each masked to its own types, until the steps are done."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import srsly
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.loop import subdivide_batch
from spacy.util import fix_random_seed
from thinc.api import Config, Optimizer
from tqdm import tqdm

from ...corpus.cutting import bare
from ...corpus.descriptions import read_types
from ...errors import Errors
from ...output.amounts import number
from ...output.writing import check_folder, check_outside
from ...pipes.token_ner import TokenNER
from ...training.averages import keep
from ...training.device import use_gpu
from ...training.provenance import checksum, shortened, versions
from ..trials.keys import config_content, digest
from .batches import batches
from .donors import Donor, joint_types, read_donors
from .encoders import (
    CNN,
    STEPS,
    TRANSFORMER_STEPS,
    TRANSFORMER_WORDS,
    WORDS,
    build_pipeline,
    check_transformer,
    read_encoder,
)
from .records import DonorRecord, PretrainRecord, Progress, Scores
from .scoring import score_donors
from .state import load_state, save_state

STATE = "checkpoint"
RECORD = "pretrain.json"
N_SAMPLE = 10  # documents that the model is initialized with
SECONDS = 300.0  # between two states on disk
PARTS = 3  # of a batch that a transformer reads apart on a CPU, by length: it pays for padding


class Options(NamedTuple):
    """How to pretrain.

    encoder (str): "cnn", or a transformer's name on the hub or folder.
    steps (Optional[int]): Training steps; null is 20,000 of a CNN, 4,000 of a transformer.
    words (Optional[int]): Words of a batch; null is 1,000 of a CNN, 500 of a transformer.
    power (float): Donors are drawn by their number of sentences to this power.
    parts (List[str]): Parts of the donors to train on.
    clusters (Optional[str]): Word clusters of the CNN, as for longtail.RichEmbed.v1.
    evaluations (int): How often donors are scored.
    seed (int): Of weights, batches and dropout. gpu_id (int): -1 is the CPU.
    settings (Mapping[str, Any]): Config values by dotted name.
    """

    encoder: str = CNN
    steps: int | None = None
    words: int | None = None
    power: float = 0.5
    parts: tuple[str, ...] = ("train",)
    clusters: str | None = None
    evaluations: int = 10
    seed: int = 0
    gpu_id: int = -1
    settings: Mapping[str, Any] = {}


class Pretrained(NamedTuple):
    """A pretraining that has come to its end."""

    nlp: Language  # with the weights to keep
    donors: list[Donor]
    scores: Scores
    record: PretrainRecord


def pretrain(
    folders: list[Path], output: Path, options: Options, exclude: list[Path], say: Callable[[str], None]
) -> Pretrained:
    """Pretrain an encoder and a described head on donors. The same call resumes.

    folders (List[Path]): Donors: folders that `convert` wrote. output (Path): For checkpoints.
    options (Options): How. exclude (List[Path]): Corpora whose dev and test no donor may hold.
    say (Callable): Gets progress.
    RETURNS (Pretrained): The result; nothing is written but checkpoints.
    RAISES (ValueError): L265, L402 to L404, L406, L430, L432, L434, L436 to L438, L471, L495 to L498.
    """
    found = settled(folders, output, options, exclude)
    if found.is_finished:
        raise ValueError(Errors.L498.format(path=output))
    nlp, optimizer, donors, training = prepared(folders, found, options, exclude)
    for donor in donors:
        say(in_words(donor, bool(exclude)))
    progress = load_state(output / STATE, nlp, optimizer) or Progress()
    if progress.step:
        say(f"Continues at step {progress.step:,}")
    training.run(output / STATE, progress, found.key)
    record = PretrainRecord(
        key=found.key,
        encoder=shortened(options.encoder),
        steps=found.steps,
        words=found.words,
        power=options.power,
        parts=list(options.parts),
        clusters=shortened(options.clusters),
        seed=options.seed,
        settings=shortened(options.settings),
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
            )
            for donor in donors
        ],
        scores=progress.scores,
    )
    return Pretrained(nlp, donors, progress.scores, record)


class Settled(NamedTuple):
    """A pretraining whose settings and folders have been checked."""

    config: Config
    key: str
    steps: int
    words: int
    is_finished: bool


class Prepared(NamedTuple):
    """A pretraining before its first step."""

    nlp: Language  # initialized
    optimizer: Optimizer
    donors: list[Donor]
    training: "Training"


def settled(folders: list[Path], output: Path, options: Options, exclude: list[Path]) -> Settled:
    """Check settings and folders. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    check_folder(output, [*folders, *exclude], _foreign)
    check_outside(output, [*folders, *exclude], "folder")
    use_gpu(options.gpu_id)
    is_cnn = options.encoder == CNN
    steps = options.steps or (STEPS[CNN] if is_cnn else TRANSFORMER_STEPS)
    words = options.words or (WORDS[CNN] if is_cnn else TRANSFORMER_WORDS)
    types = read_types(folders[0])
    config = read_encoder(options.encoder, types, options.clusters, steps, options.settings)
    key = _key(config, folders, exclude, steps, words, options)
    _check_same(output, key)
    is_finished = (output / RECORD).is_file() and not (output / STATE).is_dir()
    return Settled(config, key, steps, words, is_finished)


def prepared(folders: list[Path], found: Settled, options: Options, exclude: list[Path]) -> Prepared:
    """Read the donors, and initialize. Arguments as `pretrain` has them. RAISES (ValueError): So."""
    fix_random_seed(options.seed)
    if options.encoder != CNN:
        check_transformer(options.encoder)
    nlp, optimizer, dropout = build_pipeline(found.config)
    donors = read_donors(folders, exclude, options.parts, nlp.vocab)
    _initialize(nlp, donors)
    training = Training(nlp, optimizer, donors, options, found.words, dropout, found.steps)
    return Prepared(nlp, optimizer, donors, training)


def in_words(donor: Donor, is_excluding: bool) -> str:
    """A donor in a line. is_excluding (bool): Whether there are corpora to exclude."""
    left_out = f", {donor.n_excluded} left out" if is_excluding else ""
    sentences, types = number(len(donor.train), "sentence"), number(len(donor.descriptions), "type")
    return f"{donor.name}: {sentences}{left_out}, {types}"


def _foreign(folder: Path) -> str:
    own = (folder / RECORD).is_file() or (folder / STATE).is_dir()
    return "" if own else "it holds no earlier `pretrain`"


def _key(
    config: Config, folders: list[Path], exclude: list[Path], steps: int, words: int, options: Options
) -> str:
    """What makes it the same pretraining: settings and data, not where they lie."""
    data = [
        {**read_types(folder)._asdict(), "checksum": checksum(folder)} for folder in (*folders, *exclude)
    ]
    own = (steps, words, options.power, options.parts, options.seed)
    return digest({"config": config_content(config), "data": data, "options": own})


def _check_same(output: Path, key: str) -> None:
    """Refuse a folder of a pretraining with other settings. RAISES (ValueError): L497."""
    for path in (output / STATE / "progress.json", output / RECORD):
        if path.is_file():
            try:
                found = srsly.read_json(path)
            except ValueError as error:
                raise ValueError(Errors.L496.format(path=path, problem=error)) from error
            if not isinstance(found, dict) or found.get("key") != key:
                raise ValueError(Errors.L497.format(path=output))


def _initialize(nlp: Language, donors: list[Donor]) -> None:
    docs = [doc for donor in donors for doc in donor.train[:N_SAMPLE]]
    texts = joint_types(donors)
    ner = cast(TokenNER, nlp.get_pipe("ner"))
    settings = {"labels": list(texts), "descriptions": texts}
    nlp.config["initialize"]["components"]["ner"] = settings
    sample = [_example(doc) for doc in docs]
    ner.cfg["descriptions"] = texts
    nlp.initialize(lambda: sample)


def _example(doc: Doc) -> Example:
    return Example(bare(doc), doc)


class Training:
    """The loop. What a step does depends on its number and the seed alone."""

    def __init__(
        self,
        nlp: Language,
        optimizer: Optimizer,
        donors: list[Donor],
        options: Options,
        words: int,
        dropout: float,
        steps: int,
    ) -> None:
        self.nlp, self.optimizer, self.donors, self.options = nlp, optimizer, donors, options
        self.words, self.dropout, self.steps = words, dropout, steps
        self.every = max(steps // max(options.evaluations, 1), 1)
        self.is_cut = options.encoder != CNN and options.gpu_id < 0

    def run(self, folder: Path, progress: Progress, key: str) -> None:
        """Train to the end. progress (Progress): Is brought up to date."""
        start, saved = time.monotonic() - progress.seconds, time.monotonic()
        progress.key = key
        for _ in range(progress.step):
            self.optimizer.step_schedules()
        stream = self.batches(progress.step)
        bar = tqdm(total=self.steps, initial=progress.step, unit="step", file=sys.stderr)
        with bar:
            while progress.step < self.steps:
                losses = self.step(next(stream), progress.step)
                progress.step += 1
                progress.seconds = time.monotonic() - start
                bar.update()
                bar.set_postfix_str(f"loss per word {losses:.3f}", refresh=False)
                is_last = progress.step == self.steps
                if progress.step % self.every == 0 or is_last:
                    with self.nlp.use_params(self.optimizer.averages or {}):
                        found = score_donors(self.nlp, self.donors)
                    progress.scores.append((progress.step, found))
                    shown = ", ".join(f"{s.name} {100 * s.micro:.1f}" for s in found)
                    bar.write(f"step {progress.step:,}: micro F1 {shown}", file=sys.stderr)
                if is_last or time.monotonic() - saved > SECONDS:
                    save_state(folder, self.nlp, self.optimizer, progress)
                    saved = time.monotonic()
        keep(self.nlp, self.optimizer.averages or {})

    def batches(self, start: int) -> Iterator[list[Doc]]:
        """The batches from a step on. start (int): Its number."""
        lengths = [[len(doc) for doc in donor.train] for donor in self.donors]
        drawn = batches(lengths, self.words, self.options.power, self.options.seed, start)
        for i, chosen in drawn:
            yield [self.donors[i].train[k] for k in chosen]

    def step(self, docs: list[Doc], step: int) -> float:
        """One update. docs (List[Doc]): Its batch. step (int): Its number.

        RETURNS (float): The loss of a word.
        """
        fix_random_seed((self.options.seed * 1_000_003 + step) % 2**31)  # dropout, when resumed too
        losses: dict[str, float] = {}
        batch = [_example(doc) for doc in docs]
        # the loss is a sum over words, so that the gradients of the parts add up to the batch's
        for examples in subdivide_batch(batch, PARTS) if self.is_cut else [batch]:
            # with sgd, nlp.update would step the encoder a batch late
            self.nlp.update(examples, drop=self.dropout, sgd=False, losses=losses)  # type: ignore[arg-type]
        for _, pipe in self.nlp.pipeline:
            if isinstance(pipe, TrainablePipe):
                pipe.finish_update(self.optimizer)
        self.optimizer.step_schedules()
        return losses["ner"] / max(sum(map(len, docs)), 1)
