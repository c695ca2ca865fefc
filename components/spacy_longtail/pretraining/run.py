"""Pretraining: an encoder is trained on donors. The same call goes on where it stopped."""

import sys
import time
from collections.abc import Callable
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
from ..extras import extra
from ..layers.torch_layer import require_torch
from ..output.writing import check_folder, check_outside, replacing, unless_holds
from ..pipes.sources import add_sources
from ..settings import unused
from ..training.provenance import digest, file_content, shortened, versions
from ..training.seen import write_seen
from ..types import Block
from .donors import common_language, read_donors
from .records import PretrainOptions, not_resumable, unusable

if TYPE_CHECKING:
    from .learners import BiEncoderLearner

CNN = "cnn"  # a new one
STATE = "state.pt"
RECORD = "pretrain.json"
MODEL = "model"  # the folder of the pipeline
SECONDS = 300.0  # between two states on disk
SHOWN = 10  # steps between two losses on the bar
CNN_STEPS, TRANSFORMER_STEPS = 12_000, 6_000


def pretrain(
    folders: list[Path],
    output: Path,
    options: PretrainOptions,
    exclude: list[Path],
    say: Callable[[str], None],
) -> tuple[Language, Block]:
    """Pretrain an encoder and a described head on donors, and write them. The same call resumes.

    folders (List[Path]): Donors: folders that `convert` wrote, or of text files with open types.
    RETURNS (Tuple[Language, Block]): The pipeline, as output/model has it, and the record.
    """
    check_folder(output, [*folders, *exclude], unless_holds(RECORD, STATE))
    check_outside(output, [*folders, *exclude], "folder")
    require_torch()
    with extra("transformers", "transformers"):
        import transformers  # noqa: F401
    is_cnn = _is_cnn(options)
    options = options._replace(steps=options.steps or (CNN_STEPS if is_cnn else TRANSFORMER_STEPS))
    state = _state(output, _key([*folders, *exclude], options))
    fix_random_seed(options.seed)
    learner = _learner(folders, options, exclude, is_cnn)
    donors = []
    for donor in learner.donors:
        n, n_words = len(donor.train), sum(map(len, donor.train))
        counts = {"sentences": n, "words": n_words, "left_out": donor.n_excluded}
        donors.append({"name": donor.name, **counts, "types": donor.descriptions, "open": donor.is_open})
        left_out = f", {donor.n_excluded:,} left out" if exclude else ""
        say(f"{donor.name}: {n:,} sentences{left_out}, {len(donor.descriptions):,} types")
    if state["step"]:
        say(f"Continues at step {state['step']:,}")
        learner.load(state)
    _train(learner, output / STATE, state, options)
    record = {
        "key": state["key"],
        "options": shortened(options._asdict()),
        "steps": options.steps,
        "seconds": round(state["seconds"], 1),
        "versions": versions(),
        "excluded": [path.resolve().name for path in exclude],
        "donors": donors,
        "scores": state["scores"],
    }
    nlp = blank(common_language(d.lang for d in learner.donors), learner.donors[0].tokens)
    learner.finish(str(output / MODEL), nlp)
    add_sources(nlp, [{"name": donor.name} for donor in learner.donors])
    with replacing(output, [output / STATE]) as new:  # all or nothing, in place of the state
        learner.write(nlp, new / MODEL)
        write_seen(new / MODEL, (doc for donor in learner.donors for doc in donor.train))
        srsly.write_json(new / RECORD, record, indent=1)
    return nlp, record


def _is_cnn(options: PretrainOptions) -> bool:
    """Return whether to train a new CNN, or a pipeline without a label encoder."""
    folder = located(options.encoder)
    is_pipeline = (folder / META).is_file() and not data_in(folder)
    if options.encoder != CNN and not is_pipeline:
        return False
    for name in ("layers", "bits"):
        if (value := getattr(options, name)) is not None:
            raise unused(f"--{name}", value, "`pretrain`", "a transformer")
    if options.encoder == CNN and options.teacher is None:
        problem = "a new CNN learns from a transformer, and no teacher is named"
        fix = "Add --teacher en_longtail_trf, or go on from a CNN with --encoder en_longtail_cnn"
        raise unusable(CNN, problem, fix, "the encoder")
    return True


def _key(folders: list[Path], options: PretrainOptions) -> str:
    """What makes it the same pretraining: options and data, wherever they lie."""
    names = {"encoder": options.encoder, "teacher": options.teacher}
    read = {name: path and (file_content(path) or path) for name, path in names.items()}
    same = {"gpu_id": -1, "workers": 0, "evaluations": 1}
    data = [file_content(str(folder)) for folder in folders]
    return digest({"options": {**options._asdict(), **same, **read}, "data": data})


def _state(output: Path, key: str) -> Block:
    """The state to go on from, or a new one. A finished or another pretraining's is refused."""
    import torch

    record, path = output / RECORD, output / STATE
    if record.is_file():
        path, read = record, srsly.read_json
    elif path.is_file():
        read = partial(torch.load, map_location="cpu", weights_only=True)
    else:
        return {"key": key, "step": 0, "seconds": 0.0, "scores": []}
    try:
        state: Block = read(path)
        is_other = state["key"] != key
    except Exception as error:  # of JSON, zip and torch: each its own kind
        problem = f"it is damaged ({type(error).__name__}: {error})"
        raise not_resumable(path, problem, "Delete it") from error
    if is_other:
        problem = "it holds a pretraining with other options or donors"
        raise not_resumable(output, problem, "Name a new folder")
    if path == record:
        raise not_resumable(output, "it is finished", "Use it, or delete the folder to train again")
    return state


def _learner(
    folders: list[Path], options: PretrainOptions, exclude: list[Path], is_cnn: bool
) -> "BiEncoderLearner":
    from .cnn import read_cnn
    from .learners import CNNLearner, TransformerLearner
    from .transformer import TEACHER, read_start

    start: Any = None
    if not is_cnn:
        start = read_start(options.encoder, options.layers)
    elif options.encoder != CNN:
        start = read_cnn(options.encoder)
    teacher = None if options.teacher is None else read_start(options.teacher, role=TEACHER)
    lang = common_language(read_declared(folder)[1].lang for folder in folders)
    donors = read_donors(folders, exclude, options.parts, blank(lang, "words").vocab)
    return (CNNLearner if is_cnn else TransformerLearner)(start, teacher, donors, options)


def _train(learner: "BiEncoderLearner", path: Path, state: Block, options: PretrainOptions) -> None:
    """Train to the end. path (Path): Of the state. state (Block): Is brought up to date."""
    start, saved = time.monotonic() - state["seconds"], time.monotonic()
    steps = options.steps or 0
    every = max(steps // options.evaluations, 1)
    with tqdm(total=steps, initial=state["step"], unit="step", file=sys.stderr) as bar:
        for step in range(state["step"], steps):
            loss, is_last = learner.step(step), step + 1 == steps
            state |= {"step": step + 1, "seconds": time.monotonic() - start}
            if state["step"] % SHOWN == 0 or is_last:
                bar.set_postfix_str(f"loss {float(loss):.3f}", refresh=False)
            bar.update()
            if state["step"] % every == 0 or is_last:
                scores = learner.scores()
                state["scores"].append([step + 1, scores])
                if scores:
                    f1 = mean(score["micro"] for score in scores)
                    bar.write(f"step {step + 1:,}: micro F1 {100 * f1:.1f}", file=sys.stderr)
            if is_last or time.monotonic() - saved > SECONDS:
                learner.save(path, state)
                saved = time.monotonic()
