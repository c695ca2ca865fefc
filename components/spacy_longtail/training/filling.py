"""Filling of configs before a training: values of a corpus, and defaults.

Neither interpolates the variables of a config, which `Config.interpolate` does.
"""

import warnings
from configparser import Error as ConfigParserError
from pathlib import Path

from spacy.util import get_sourced_components, load_config, load_model_from_config
from thinc.api import Config

from ..corpus.folder import CorpusTypes, part_path, read_types
from ..corpus.names import NAMES
from ..corpus.parts import checksum
from ..corpus.tokenizers import tokenizer_config
from ..corpus.type_words import problem_in_config, type_words
from ..errors import SHIPPED_CONFIGS, Errors, Warnings
from ..extras import require_of
from ..faults import is_coded, message_of
from ..types import Block, Overrides


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
    RETURNS (Block): Config values by dotted name. If the config names lists of names that exist,
        they are used, with a warning (LW214) if the corpus has others.
    """
    train_part, dev_part = (part_path(corpus, part) for part in ("train", "dev"))
    values = applicable_overrides(
        corpus_overrides(read_types(corpus), train_part, dev_part, corpus / NAMES), config
    )
    own = config.get("paths", {}).get("names")
    is_given = isinstance(own, str) and own and "paths.names" in values
    if is_given and not _is_copy(Path(own), corpus / NAMES):
        is_used = "$" in own or Path(own).exists()
        if is_used:
            del values["paths.names"]
        used = own if is_used else corpus / NAMES
        warnings.warn(Warnings.W214.format(own=own, corpus=corpus, used=used), stacklevel=2)
    return values


def _is_copy(path: Path, other: Path) -> bool:
    """Return whether a path is that of another file, or of a file with the same content."""
    return path == other or (path.is_file() and checksum(path) == checksum(other))


def training_overrides(config: Path, corpus: Path, overrides: Overrides | None = None) -> Block:
    """Return the overrides that fit a config to a corpus, with the given ones.

    config (Path): Config file.
    corpus (Path): Folder of a converted corpus.
    overrides (Optional[Overrides]): Config values by dotted name, which override those of the
        corpus.
    RETURNS (Block): Config values by dotted name.
    RAISES (ValueError): If a label description cannot stand in a config (L271).
    """
    loaded, overrides = load_config(config, interpolate=False), overrides or {}
    if "paths.names" in overrides:
        loaded["paths"] = {**loaded.get("paths", {}), "names": None}
    values = {**corpus_values(loaded, corpus), **overrides}
    for name in ("longtail.descriptions", "longtail.queries"):
        if problem := problem_in_config(values.get(name) or {}):
            raise ValueError(Errors.L271.format(who=corpus, problem=problem))
    return values


def load_with_corpus_values(config: Path, corpus: Path, overrides: Overrides | None = None) -> Config:
    """Load a config with the values of a corpus, without interpolating it or adding defaults.

    config (Path): Config file.
    corpus (Path): Folder of a converted corpus.
    overrides (Optional[Overrides]): Config values by dotted name.
    RETURNS (Config): The config, not interpolated.
    RAISES (ValueError): If there is no such file (L402), or the config is invalid (L438).
    """
    if not config.is_file():
        raise ValueError(Errors.L402.format(path=config, fix=SHIPPED_CONFIGS))
    try:  # spaCy refuses overrides of missing sections
        loaded = load_config(
            config, overrides=training_overrides(config, corpus, overrides), interpolate=False
        )
        for name in ("seed", "gpu_allocator"):  # spaCy reads them before it checks [training]
            if name not in loaded.get("training", {}):
                raise ValueError(
                    f"[training] has no {name!r}; "
                    "`python -m spacy init fill-config` writes all defaults."
                )
        require_of(loaded)
        return loaded
    except (ValueError, ConfigParserError) as error:
        if is_coded(error):
            raise
        raise ValueError(Errors.L438.format(path=config, problem=message_of(error))) from error


def applicable_overrides(overrides: Overrides, config: Config) -> Block:
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


def with_defaults(config: Config) -> Config:
    """Add the defaults to a config as `spacy init fill-config` does, in the order of the config.

    No pipeline is loaded, but the packages of its components must be installed.

    config (Config): The config, not interpolated. It is not changed.
    RETURNS (Config): The config with all defaults, not interpolated.
    """
    require_of(config)
    sourced = get_sourced_components(config)
    complete = load_model_from_config(config, auto_fill=True, exclude=list(sourced)).config
    complete["components"].update(sourced)
    return Config(complete).merge(config)  # the order is the config's
