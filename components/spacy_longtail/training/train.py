"""Training of a config on a converted corpus, whose paths and types are filled in."""

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from configparser import Error as ConfigParserError
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
from spacy.util import load_config, load_model_from_config, logger, registry, resolve_dot_names
from thinc.api import Config
from wasabi import msg

from ..corpus.folder import CorpusTypes, read_types
from ..corpus.formats.docbin import check_docs
from ..corpus.names import NAMES
from ..corpus.parts import checksums, part_path
from ..corpus.tokenizers import tokenizer_config
from ..corpus.type_words import problem_in_config, type_words
from ..errors import SHIPPED_CONFIGS, Errors
from ..extras import require_of
from ..faults import is_coded, message_of
from ..hub import check_models
from ..layers.serving import use_numpy_blas
from ..output.console import WithoutText
from ..output.writing import check_folder, check_outside, set_aside, whole_folder, with_name
from ..pipes.sources import add_sources
from ..types import Block, Overrides
from .letters import warn_letters
from .loading import check_beginning, load_weights, sources_of_beginning, with_any_encoder
from .optimizers import check_averages
from .provenance import (
    CURVE_FILE,
    RUN_FILE,
    RunRecord,
    installed_versions,
    log_curve,
    read_run,
    shell_command,
)
from .seen import warn_seen
from .startup import use_gpu

BEST = "model-best"
MODELS = (BEST, "model-last")
SAVED = "Saved pipeline to output directory"  # by spaCy, with a temporary folder
COMMAND = "python -m spacy_longtail train "  # start of the command in run.json
Matmul = Literal["spacy", "numpy"]
N_SCORED = 100  # maximum number of examples, because a reader may be endless


def corpus_overrides(types: CorpusTypes, train: Path, dev: Path, names: Path) -> Overrides:
    """Return the config values that depend on a corpus.

    types (CorpusTypes): Types, language and tokens of the corpus.
    train (Path): Training part.
    dev (Path): Part by which the best checkpoint is chosen.
    names (Path): Lists of names, which may not exist.
    RETURNS (Overrides): Config values by dotted name.
    """
    frequent = [label for label in types.labels if label not in types.tail]
    return {
        "nlp.lang": types.lang,
        **{f"nlp.{name}": value for name, value in tokenizer_config(types.lang, types.tokens).items()},
        "paths.train": str(train),
        "paths.dev": str(dev),
        **({"paths.names": str(names)} if names.exists() else {}),
        "longtail.labels": types.labels,
        "longtail.tail": types.tail,
        "longtail.descriptions": types.descriptions,
        "longtail.queries": type_words(types.labels, types.descriptions),
        "longtail.frequent": frequent or types.labels,  # a primary needs types even if all are rare
    }


def corpus_values(config: Config, corpus: Path) -> Block:
    """Return the values that depend on a corpus and for which a config has a place.

    config (Config): The config, not interpolated.
    corpus (Path): Folder of a converted corpus.
    RETURNS (Block): Config values by dotted name.
    """
    train_part, dev_part = (part_path(corpus, part) for part in ("train", "dev"))
    return known_sections(
        corpus_overrides(read_types(corpus), train_part, dev_part, corpus / NAMES), config
    )


def filled_in(config: Path, corpus: Path, overrides: Overrides | None = None) -> Block:
    """Return the overrides that fit a config to a corpus, with the given ones.

    config (Path): Config file.
    corpus (Path): Folder of a converted corpus.
    overrides (Optional[Overrides]): Config values by dotted name, which override those of the
        corpus.
    RETURNS (Block): Config values by dotted name.
    RAISES (ValueError): If a label description cannot stand in a config (L271).
    """
    values = {**corpus_values(load_config(config, interpolate=False), corpus), **(overrides or {})}
    for name in ("longtail.descriptions", "longtail.queries"):
        if problem := problem_in_config(values.get(name) or {}):
            raise ValueError(Errors.L271.format(who=corpus, problem=problem))
    return values


def load_filled(config: Path, corpus: Path, overrides: Overrides | None = None) -> Config:
    """Load a config as it is trained on a corpus.

    config (Path): Config file.
    corpus (Path): Folder of a converted corpus.
    overrides (Optional[Overrides]): Config values by dotted name.
    RETURNS (Config): The config, not interpolated.
    RAISES (ValueError): If there is no such file (L402), or the config is invalid (L438).
    """
    if not config.is_file():
        raise ValueError(Errors.L402.format(path=config, fix=SHIPPED_CONFIGS))
    try:  # spaCy refuses overrides of missing sections
        filled = load_config(config, overrides=filled_in(config, corpus, overrides), interpolate=False)
        for name in ("seed", "gpu_allocator"):  # spaCy reads them before it checks [training]
            if name not in filled.get("training", {}):
                raise ValueError(
                    f"[training] has no {name!r}; "
                    "`python -m spacy init fill-config` writes all defaults."
                )
        require_of(filled)
        return filled
    except (ValueError, ConfigParserError) as error:
        if is_coded(error):
            raise
        raise ValueError(Errors.L438.format(path=config, problem=message_of(error))) from error


def known_sections(overrides: Overrides, config: Config) -> Block:
    """Return those overrides of a corpus for which a config has a place.

    overrides (Overrides): Result of `corpus_overrides`.
    config (Config): The config, not interpolated.
    RETURNS (Block): Overrides of the sections and, in [longtail], of the names that the config has.
        Its own label descriptions and queries replace those of the corpus.
    """

    def is_known(name: str) -> bool:
        part, key = name.split(".", 1)
        return part in config and (part not in ("longtail", "paths") or key in config[part])

    known = {name: value for name, value in overrides.items() if is_known(name)}
    section = config.get("longtail", {})
    if section.get("descriptions"):
        known["longtail.descriptions"] = {
            **overrides["longtail.descriptions"],
            **section["descriptions"],
        }
    if section.get("queries"):
        labels = overrides["longtail.labels"]
        queries = {**overrides["longtail.queries"], **section["queries"]}
        known["longtail.queries"] = type_words(labels, queries)
    return known


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
    given = load_filled(config, corpus, overrides)
    filled = given.interpolate()
    paths = filled.get("paths", {})
    parts = {n: Path(str(paths.get(n, part_path(corpus, n)))) for n in ("train", "dev")}
    named = (Path(p) for p in paths.values() if isinstance(p, str) and p)
    inputs = [config, corpus, *parts.values(), *(path for path in named if path.exists())]
    check_folder(output, inputs, foreign_to_run)
    check_outside(output, [path for path in inputs if (path / "config.cfg").is_file()], "folder")
    for path in parts.values():
        check_docs(path)
    warn_seen(filled, corpus)
    warn_letters(filled, corpus)
    use_gpu(gpu_id)
    check_trainable(given, config)
    check_models(filled)
    with ExitStack() as afterwards, whole_folder(output) as new:
        afterwards.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.INFO)  # the gate reports its class weights
        start = time.perf_counter()
        try:
            nlp = init_nlp(with_any_encoder(given), use_gpu=gpu_id)
            add_sources(nlp, sources_of_beginning(filled))
            if matmul == "numpy" and not filled["nlp"].get("after_pipeline_creation"):
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
            checksums=checksums(parts),
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
        filled = nlp.config.interpolate()
        training = registry.resolve(filled["training"], schema=ConfigSchemaTraining)
        if all((training[name] or 0) <= 0 for name in ("max_steps", "max_epochs", "patience")):
            raise ValueError("neither max_steps, max_epochs nor patience ends the training.")
        registry.resolve(filled["initialize"], schema=ConfigSchemaInit)
        _, dev = resolve_dot_names(filled, [training["train_corpus"], training["dev_corpus"]])
        lost, known = uncomputed_scores(nlp, dev, training["score_weights"])
        if lost:
            raise ValueError(
                "no component computes what [training.score_weights] weighs: "
                f"{', '.join(lost)}, computed are {', '.join(known) or 'none'}."
            )
        load_weights(nlp, filled)
    except Exception as error:  # a config can name any function, which can raise any error
        raise ValueError(Errors.L438.format(path=path, problem=message_of(error))) from error
    return nlp


def check_known(config: Config, filled: Config) -> None:
    """Refuse unknown settings of sections in which spaCy ignores them.

    config (Config): The config as it was written.
    filled (Config): The config as spaCy filled it.
    """
    for section in ("nlp", "training", "initialize"):
        if unknown := sorted(set(config.get(section, {})) - set(filled[section])):
            raise ValueError(
                f"[{section}] has no setting {', '.join(unknown)}; "
                f"it has {', '.join(sorted(filled[section]))}"
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
