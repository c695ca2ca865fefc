"""Training of a config on a converted corpus."""

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Literal, cast

from spacy.language import Language
from spacy.schemas import ConfigSchemaInit, ConfigSchemaTraining
from spacy.scorer import Scorer
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model_from_config, logger, registry, resolve_dot_names
from thinc.api import Config
from wasabi import msg

from ..corpus.parts import check_docs, checksums, part_path
from ..errors import Errors
from ..faults import message_of
from ..hub import check_models
from ..layers.serving import use_numpy_blas
from ..output.console import WithoutText
from ..output.targets import check_folder, check_outside, with_name
from ..output.writing import set_aside, whole_folder
from ..pipes.sources import add_sources
from ..types import Overrides
from .filling import load_with_corpus_values
from .loading import check_beginning, load_weights, sources_of_beginning, with_any_encoder
from .optimizers import check_averages
from .pretrained import warn_letters, warn_seen
from .provenance import (
    BEST,
    CURVE_FILE,
    MODELS,
    RUN_FILE,
    RunRecord,
    installed_versions,
    log_curve,
    read_run,
    shell_command,
)
from .startup import use_gpu

SAVED = "Saved pipeline to output directory"  # by spaCy, with a temporary folder
COMMAND = "python -m spacy_longtail train "  # start of the command in run.json
Matmul = Literal["spacy", "numpy"]
N_SCORED = 100  # maximum number of examples, because a reader may be endless


def refuse_parts(overrides: Overrides) -> None:
    """Refuse settings that would replace the training data of a command (L859)."""
    if given := [name for name in ("paths.train", "paths.dev") if name in overrides]:
        raise ValueError(Errors.L859.format(name=given[0]))


def train_model(
    config: Path,
    corpus: Path,
    output: Path,
    *,
    gpu_id: int = -1,
    matmul: Matmul = "spacy",
    overrides: Overrides | None = None,
    moved_to: Path | None = None,
) -> Path:
    """Train a config on a corpus, and write the provenance and the curve beside the models.

    The files are written to a temporary folder, which replaces the output folder at the end. If the
    training fails or is stopped, an earlier model is unchanged, and OUTPUT.stopped has the last
    checkpoints.

    config (Path): Config file.
    corpus (Path): Folder of a converted corpus.
    output (Path): Folder for model-best and model-last. An earlier training in it is replaced.
    gpu_id (int): ID of the GPU, or -1 for the CPU.
    matmul (str): Library for matrix multiplication during the training: "spacy" or "numpy". It has
        no effect if the config has its own callback in [nlp] after_pipeline_creation.
    overrides (Optional[Overrides]): Config values by dotted name.
    moved_to (Optional[Path]): Folder to which the caller will move config and output. The recorded
        command names it, so that it can be typed again.
    RETURNS (Path): Folder of the best checkpoint.
    RAISES (ValueError): If the config cannot be trained, or the output folder has other content.
    """
    given = load_with_corpus_values(config, corpus, overrides)
    interpolated = given.interpolate()
    paths = interpolated.get("paths", {})
    parts = {n: Path(str(paths.get(n, part_path(corpus, n)))) for n in ("train", "dev")}
    named = (Path(p) for p in paths.values() if isinstance(p, str) and p)
    inputs = [config, corpus, *parts.values(), *(path for path in named if path.exists())]
    own = paths.get("names")
    lists = {"names": Path(own)} if isinstance(own, str) and Path(own).is_file() else {}
    check_folder(output, inputs, foreign_to_run)
    check_outside(output, [path for path in inputs if (path / "config.cfg").is_file()], "folder")
    for path in parts.values():
        check_docs(path)
    warn_seen(interpolated, corpus)
    warn_letters(interpolated, corpus)
    use_gpu(gpu_id)
    check_trainable(given, config)
    check_models(interpolated)
    with ExitStack() as afterwards, whole_folder(output) as new:
        afterwards.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.INFO)  # the gate reports its class weights
        start = time.perf_counter()
        try:
            nlp = init_nlp(with_any_encoder(given), use_gpu=gpu_id)
            add_sources(nlp, sources_of_beginning(interpolated))
            if matmul == "numpy" and not interpolated["nlp"].get("after_pipeline_creation"):
                use_numpy_blas(nlp)
            check_averages(nlp)
            log_curve(nlp, new / CURVE_FILE)
            # by default spaCy writes to the streams that existed when it was imported
            stdout = cast(IO, WithoutText(sys.stdout, SAVED))
            train(nlp, new, use_gpu=gpu_id, stdout=stdout, stderr=sys.stderr)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or (new / BEST).is_dir():
                msg.warn(f"Stopped. What was trained so far is in {set_aside(new, output)}.")
            raise
        seconds = time.perf_counter() - start
        if not (new / BEST / "config.cfg").is_file():
            raise ValueError(
                Errors.L402.format(path=output / BEST, fix="Training wrote no model; see the log.")
            )
        places = [path if moved_to is None else moved_to / path.name for path in (config, output)]
        options = {
            **({} if gpu_id < 0 else {"gpu-id": gpu_id}),
            **({} if matmul == "spacy" else {"matmul": matmul}),
            **(overrides or {}),
        }
        RunRecord(
            command=shell_command("train", [places[0], corpus, places[1]], options),
            corpus=with_name(corpus).name,
            checksums=checksums({**parts, **lists}),
            versions=installed_versions(),
            seconds=round(seconds, 1),
        ).write(new)
    return output / BEST


def foreign_to_run(folder: Path) -> str:
    """Return in words which content of a folder `train` did not write, or "" if there is none.

    folder (Path): A folder that is not empty.
    """
    try:
        run = read_run(folder / BEST)
    except ValueError:
        run = RunRecord()
    if not run.command.startswith(COMMAND):
        return f"it holds no {RUN_FILE} of an earlier `train`"
    others = sorted({path.name for path in folder.iterdir()} - {*MODELS, RUN_FILE, CURVE_FILE})
    return f"it also holds {', '.join(others)}" if others else ""


def check_trainable(config: Config, path: Path) -> Language:
    """Check a config before training: build its pipeline, readers and training settings.

    config (Config): The config with overrides, not interpolated.
    path (Path): Path of the config, for messages.
    RETURNS (Language): The pipeline, not initialized.
    RAISES (ValueError): If the config cannot be trained (L438).
    """
    check_beginning(config.interpolate())
    try:
        nlp = load_model_from_config(with_any_encoder(config), auto_fill=True)
        check_known(config, nlp.config)
        interpolated = nlp.config.interpolate()
        training = registry.resolve(interpolated["training"], schema=ConfigSchemaTraining)
        if all((training[name] or 0) <= 0 for name in ("max_steps", "max_epochs", "patience")):
            raise ValueError("neither max_steps, max_epochs nor patience ends the training.")
        registry.resolve(interpolated["initialize"], schema=ConfigSchemaInit)
        _, dev = resolve_dot_names(interpolated, [training["train_corpus"], training["dev_corpus"]])
        lost, known = uncomputed_scores(nlp, dev, training["score_weights"])
        if lost:
            raise ValueError(
                "no component computes what [training.score_weights] weighs: "
                f"{', '.join(lost)}, computed are {', '.join(known) or 'none'}."
            )
        load_weights(nlp, interpolated)
    except Exception as error:  # a config can name any function, which can raise any error
        raise ValueError(Errors.L438.format(path=path, problem=message_of(error))) from error
    return nlp


def check_known(config: Config, with_defaults: Config) -> None:
    """Refuse unknown settings of sections in which spaCy ignores them.

    config (Config): The config as it was written.
    with_defaults (Config): The config with spaCy's defaults.
    """
    for section in ("nlp", "training", "initialize"):
        if unknown := sorted(set(config.get(section, {})) - set(with_defaults[section])):
            raise ValueError(
                f"[{section}] has no setting {', '.join(unknown)}; "
                f"it has {', '.join(sorted(with_defaults[section]))}"
            )


def uncomputed_scores(
    nlp: Language, reader: Callable[[Language], Iterable[Example]], weights: Mapping[str, float | None]
) -> tuple[list[str], list[str]]:
    """Return the scores that would choose the best checkpoint but that no component computes.

    nlp (Language): The pipeline, which need not be trained.
    reader (Callable): Reader of the development data.
    weights (Mapping[str, Optional[float]]): The weights in [training.score_weights].
    RETURNS (Tuple[List[str], List[str]]): Missing scores, and computed ones.
    """
    # the gold annotation serves as predictions, so that no trained model is needed
    examples = (Example(eg.reference.copy(), eg.reference) for eg in reader(nlp))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scorers with so few examples
        scores = Scorer(nlp).score(list(islice(examples, N_SCORED)))
    lost = sorted(name for name, weight in weights.items() if weight and scores.get(name) is None)
    return lost, sorted(name for name, value in scores.items() if isinstance(value, (int, float)))
