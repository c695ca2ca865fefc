"""A complete config: every value that spaCy would fill in, for one corpus, with comments."""

import re
from collections.abc import Mapping
from pathlib import Path

from spacy.util import get_sourced_components, load_config_from_str, load_model_from_config
from thinc.api import Config

from ...corpus.folder import part_path, read_types
from ...errors import Errors
from ...training.train import corpus_overrides, known_sections
from ...types import Overrides
from .compose import apply

SECTION = re.compile(r"^\[(.+)\]$")


def fill(config: Config, corpus: Path, values: Overrides) -> Config:
    """A config as `spacy init fill-config` leaves it, with the corpus's paths and types.

    config (Config): Not interpolated. corpus (Path): A folder that `convert` wrote.
    values (Overrides): What was drawn, for the message.
    RETURNS (Config): Not interpolated. RAISES (ValueError): L486.
    """
    own = load_config_from_str(config.to_str(interpolate=False), interpolate=False)
    parts = (part_path(corpus, part) for part in ("train", "dev"))
    apply(own, known_sections(corpus_overrides(read_types(corpus), *parts), own))
    try:
        filled: Config = load_model_from_config(own, auto_fill=True).config
    except (ValueError, ImportError, OSError, KeyError, TypeError) as error:
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        raise ValueError(Errors.L486.format(values=shown, problem=str(error).strip())) from error
    filled["components"].update(get_sourced_components(own))
    return filled


def interpolated(config: Config) -> Config:
    """A config with its variables put in. RAISES (ValueError): L486."""
    try:
        return config.interpolate()
    except ValueError as error:
        problem = str(error).strip()
        raise ValueError(Errors.L486.format(values="this config", problem=problem)) from error


def commented(config: Config, head: list[str], comments: Mapping[str, str]) -> str:
    """A config's text with comments, which `Config.to_str` cannot keep.

    config (Config): Not interpolated. head (List[str]): Lines to begin with.
    comments (Mapping[str, str]): By dotted name of a value, or of a block.
    RETURNS (str): The text.
    """
    lines = [f"# {line}".rstrip() for line in head] + [""]
    section = ""
    for line in config.to_str(interpolate=False).splitlines():
        found = SECTION.match(line)
        if found:
            section = found.group(1)
        name = section if found else f"{section}.{line.partition(' = ')[0]}"
        if name in comments:
            lines.append(f"# {comments[name]}")
        lines.append(line)
    return "\n".join(lines).rstrip() + "\n"
