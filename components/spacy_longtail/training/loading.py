"""Loading of trained pipelines and of the weights that a training starts from; their NERs."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.training.pretrain import get_tok2vec_ref
from spacy.util import get_sourced_components, is_package, load_config
from thinc.api import Config, ConfigValidationError

from ..describers import label_encoder
from ..encoders import META, check_encoder, in_language, located
from ..errors import Errors
from ..extras import require_of
from ..faults import is_coded, message_of
from ..heads import SOFT_HEADS
from ..pipes.gazetteer import TrainingGazetteer
from ..pipes.secondary.gated_ner import GatedNER
from ..pipes.sources import Source, sources_of
from ..pipes.token.tagging import TokenTagger
from .pretrained import SEEN_FILE

FIXES = {  # of paths in [initialize]
    "vectors": "Write it with `spacy init vectors`.",
    "init_tok2vec": "Name spacy pretrain's output.",
}


def load_pipeline(model: Path | str) -> Language:
    """Load a pipeline.

    model (Path | str): Folder of the pipeline, or name of an installed package.
    RETURNS (Language): The pipeline.
    RAISES (ValueError): L408 if it cannot be loaded, L406 if it needs an extra that is missing.
    """
    try:
        return spacy.load(str(model))
    except Exception as error:  # a damaged pipeline can fail anywhere, with any error
        if is_coded(error):
            raise
        require_of(_config_of(model))
        problem = f"{type(error).__name__}: {message_of(error)}".rstrip(".")
        errors = (error.errors or ()) if isinstance(error, ConfigValidationError) else ()
        if gone := [str(entry["loc"][-1]) for entry in errors if "unexpected" in entry["msg"]]:
            problem = (
                f"An earlier version saved it, with settings that are gone: {', '.join(gone)}. "
                "Delete their lines in its config.cfg, or train it again"
            )
        raise ValueError(Errors.L408.format(path=model, problem=f"{problem}.")) from error


def _config_of(model: Path | str) -> Mapping[str, object]:
    """Return the config of a pipeline, not interpolated, or an empty one if it is unreadable."""
    with suppress(Exception):
        return load_config(located(Path(model)) / "config.cfg")
    return {}


def pipeline_folder(model: Path | str) -> Path:
    """Return the folder of a trained pipeline.

    model (Path | str): A folder, or the name of an installed package, as `spacy package` makes it.
    RAISES (ValueError): If there is no pipeline.
    """
    folder = located(model)
    if not (folder / "config.cfg").is_file():
        raise ValueError(
            Errors.L402.format(
                path=folder / "config.cfg",
                fix="Name the folder of a trained pipeline, or an installed package of one.",
            )
        )
    return folder


def load_for_types(model: Path | str, descriptions: Mapping[str, str]) -> Language:
    """Load a trained pipeline, or a pretrained encoder that finds types by their descriptions.

    model (Path | str): A folder, or an installed package. An encoder has a list of the
        sentences that it has seen, or has not seen a mention of any of its types.
    descriptions (Mapping[str, str]): By type, for an encoder. A trained pipeline keeps its types.
    """
    folder = check_encoder(model)
    nlp = load_pipeline(model)
    is_encoder = any((folder / name).is_file() for name in (label_encoder.FILE, SEEN_FILE))
    for _, pipe in nlp.pipeline if descriptions else ():
        if not isinstance(pipe, TokenTagger) or not pipe.tokens.is_described:
            continue
        if is_encoder or pipe.types.unseen == pipe.labels:
            pipe.set_labels(descriptions)
    return nlp


def check_beginning(config: Config) -> None:
    """Refuse missing or unused sources, vectors and weights.

    config (Config): The config, interpolated.
    RAISES (ValueError): If a path does not exist or would be ignored.
    """
    for block in get_sourced_components(config).values():
        check_encoder(str(block["source"]))
    initialize = config.get("initialize", {})
    for name, fix in FIXES.items():
        path = initialize.get(name)
        if path is not None and not (Path(str(path)).exists() or is_package(str(path))):
            raise ValueError(Errors.L402.format(path=path, fix=fix))
    if initialize.get("init_tok2vec") is not None and not config.get("pretraining"):
        raise ValueError(
            Errors.L438.format(
                path="The config",
                problem="spaCy ignores init_tok2vec where [pretraining] is empty. "
                "`spacy init fill-config --pretraining` fills that in.",
            )
        )


def with_any_encoder(config: Config) -> Config:
    """Return a config whose `source` pipelines spaCy accepts, whatever their language is.

    config (Config): Checked by `check_beginning`, not interpolated.
    RETURNS (Config): The same config, except for sources of another language than [nlp] lang.
    """
    changed, filled = config.copy(), config.interpolate()
    for name, block in get_sourced_components(filled).items():
        changed["components"][name]["source"] = in_language(block["source"], filled["nlp"]["lang"])
    return changed


def sources_of_beginning(config: Config) -> list[Source]:
    """Return the corpora on which the components that a training starts from were trained.

    config (Config): The config, interpolated.
    """
    blocks = get_sourced_components(config).values()
    return [source for block in blocks for source in sources_of_encoder(block["source"])]


def sources_of_encoder(name: str) -> list[Source]:
    """Return the corpora on which an encoder was trained, as far as its meta.json names them.

    name (str): Installed package or folder of a pipeline, or the name of a transformer.
    """
    path = located(name) / META
    return sources_of(srsly.read_json(path)) if path.is_file() else []


def load_weights(nlp: Language, config: Config) -> None:
    """Load the weights that a training starts from, as spaCy does after initialization.

    nlp (Language): The pipeline, which need not be initialized.
    config (Config): The config, filled and interpolated.
    """
    path, block = config["initialize"]["init_tok2vec"], config["pretraining"]
    if path is not None and block:
        try:
            get_tok2vec_ref(nlp, block).from_bytes(Path(path).read_bytes())
        except Exception as error:  # the file, msgpack and thinc raise different errors
            problem = f"{type(error).__name__}: {error}".rstrip(".")
            raise ValueError(f"{path} does not fit {block.get('component')!r}: {problem}") from error


def entity_pipes(nlp: Language) -> list[Any]:
    """Return the components of a pipeline that write entities."""
    return [pipe for name, pipe in nlp.pipeline if "doc.ents" in nlp.get_pipe_meta(name).assigns]


def types_read_by(nlp: Language) -> list[str]:
    """Return the types of all components of a pipeline that write entities."""
    return list(dict.fromkeys(t for pipe in entity_pipes(nlp) for t in getattr(pipe, "labels", ())))


def taggers_of(nlp: Language) -> list[TokenTagger]:
    """Return the token NERs that process every sentence, so without secondaries."""
    return [p for _, p in nlp.pipeline if isinstance(p, TokenTagger) and not isinstance(p, GatedNER)]


def only_tagger(nlp: Language) -> TokenTagger | None:
    """Return the token NER that alone writes entities, or None if the pipeline is not of this kind.

    A gazetteer of training names does not count, because the token NER has learnt these names.
    """
    taggers = [tagger for tagger in taggers_of(nlp) if tagger.cfg["head"] in SOFT_HEADS]
    pipes = [pipe for pipe in entity_pipes(nlp) if not isinstance(pipe, TrainingGazetteer)]
    return taggers[0] if taggers and len(pipes) == 1 else None
