"""What is trained already, on disk: loaded, or why it cannot be; and what a config begins with."""

from collections.abc import Collection, Mapping
from pathlib import Path

import spacy
import srsly
from spacy.language import Language
from spacy.training.pretrain import get_tok2vec_ref
from spacy.util import is_package
from thinc.api import Config, ConfigValidationError

from ..corpus import seen
from ..describers import label_encoder
from ..encoders import META, check_encoder, located
from ..errors import Errors
from ..hub import named_transformers
from ..pipes.sources import Source, joined_sources, sources_of
from ..pipes.token.tagging import TokenTagger

MODEL = "model"  # in what `pretrain` writes
BEGINNINGS = {  # of [initialize], with what writes them
    "vectors": "Write it with `spacy init vectors`.",
    "init_tok2vec": "Name spacy pretrain's output.",
}


def load_pipeline(model: Path | str, exclude: Collection[str] = ()) -> Language:
    """A trained pipeline, a folder or an installed package, or why it is not one.

    exclude (Collection[str]): Components that are not built.
    """
    try:
        return spacy.load(str(model), exclude=exclude)  # a name can be that of a package
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        if str(error).startswith("[L"):
            raise
        raise ValueError(Errors.L408.format(path=model, problem=_said(error))) from error


def load_for_types(model: Path | str, descriptions: Mapping[str, str]) -> Language:
    """A trained pipeline, or a pretrained encoder that finds types by their descriptions.

    model (Path | str): A folder, or an installed package. An encoder is known by its label
        encoder, or by its list of the sentences that it has seen.
    descriptions (Mapping[str, str]): By type, for an encoder; a trained pipeline keeps its own types.
    """
    folder = check_encoder(model)
    nlp = load_pipeline(model)
    is_encoder = any((folder / name).is_file() for name in (label_encoder.FILE, seen.FILE))
    if descriptions and is_encoder:
        for _, pipe in nlp.pipeline:
            if isinstance(pipe, TokenTagger) and pipe.is_described:
                pipe.set_labels(descriptions)
    return nlp


def _said(error: Exception) -> str:
    """An error of another library, with its kind and a full stop."""
    if isinstance(error, ConfigValidationError):
        gone = [str(own["loc"][-1]) for own in error.errors or () if "unexpected" in own["msg"]]
        if gone:
            return (
                f"An earlier version saved it, with settings that are gone: {', '.join(gone)}. "
                "Delete their lines in its config.cfg, or train it again."
            )
    return f"{type(error).__name__}: {error}".strip().rstrip(".") + "."


def check_sources(config: Config) -> None:
    """Load the pipelines that components are taken from, to say what is wrong with them.

    config (Config): Not interpolated; one that cannot be is left to whoever builds it.
    """
    try:
        found = config.interpolate()
    except ValueError:
        return
    components, lang = found.get("components", {}), found.get("nlp", {}).get("lang")
    for name, block in components.items():
        if "factory" not in block and "source" in block:  # spaCy's: pipes have settings of that name
            _check(block["source"], str(block.get("component", name)), name, lang)


def _check(source: object, wanted: str, name: str, lang: str | None) -> None:
    is_there = isinstance(source, str) and source and (Path(source).exists() or is_package(source))
    if not is_there:
        raise ValueError(Errors.L720.format(source=f"{source} ('source' of {name})"))
    path = str(source)
    if Path(path).is_dir() and not Path(path, "config.cfg").is_file():
        raise ValueError(Errors.L571.format(path=path, found="none"))
    nlp = load_pipeline(path)
    if wanted not in nlp.component_names:
        raise ValueError(Errors.L571.format(path=path, found=", ".join(nlp.component_names) or "none"))
    if lang is not None and nlp.lang != lang:
        problem = f"it is of the language {nlp.lang!r}, the training of {lang!r}"
        raise ValueError(Errors.L274.format(who=name, path=path, problem=problem))


def check_beginning(config: Config) -> None:
    """Whether the vectors and weights that training begins with are there, and used.

    config (Config): Its [initialize] is interpolated.
    """
    block = config.get("initialize", {})
    for name, fix in BEGINNINGS.items():
        path = block.get(name)
        if path is not None and not (Path(path).exists() or is_package(str(path))):
            raise ValueError(Errors.L402.format(path=path, fix=fix))
    vectors = block.get("vectors")
    if vectors is not None and not is_package(vectors) and not Path(vectors, "config.cfg").is_file():
        problem = "It has no config.cfg, as `spacy init vectors` writes."
        raise ValueError(Errors.L408.format(path=vectors, problem=problem))
    weights = block.get("init_tok2vec")
    if weights is not None and not config.get("pretraining"):
        raise ValueError(Errors.L409.format(path=weights))


def sources_of_beginning(config: Config) -> list[Source]:
    """What the pipelines were learnt from whose components or encoders a training begins with.

    config (Config): Interpolated.
    """
    blocks = [own for own in config.get("components", {}).values() if "factory" not in own]
    taken = [Path(own["source"]) for own in blocks if "source" in own]
    metas = [located(path) / META for path in taken]
    weights = config.get("initialize", {}).get("init_tok2vec")
    named = [Path(name) for name in (*named_transformers(config), weights) if name is not None]
    metas += [path.parent / MODEL / META for path in named if path.exists()]  # as `pretrain` writes them
    known = [sources_of(srsly.read_json(path)) for path in metas if path.is_file()]
    return joined_sources([], [own for found in known for own in found])


def load_weights(nlp: Language, config: Config) -> None:
    """Put the weights that training begins with into a pipeline, as spaCy does once it is initialized.

    nlp (Language): Gets them; need not be initialized. config (Config): Filled and interpolated.
    """
    path, block = config["initialize"]["init_tok2vec"], config["pretraining"]
    if path is None or not block:
        return
    try:
        get_tok2vec_ref(nlp, block).from_bytes(Path(path).read_bytes())
    except Exception as error:  # of the file, of msgpack, of thinc: each its own kind
        shown = {"path": path, "component": block.get("component")}
        raise ValueError(Errors.L418.format(problem=_said(error), **shown)) from error
