"""Recipes of recipes.yml, from which the package's configs are written."""

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import Any

import srsly
from spacy.cli.init_config import RECOMMENDATIONS
from thinc.api import Config

from ...errors import Errors
from ...faults import message_of
from ...training.filling import corpus_values, with_defaults
from ...types import Overrides
from .commented import WIDTH, format_config
from .compose import HERE, apply, block_of, compose, known_choices, read_base

VARIABLES = ("paths", "longtail")  # sections with values to which other sections refer
FILES = ("baseline", "pretrained_cnn", "transformer", "gated", "config", "extended")  # in configs/


@dataclass(frozen=True)
class Recipe:
    """Recipe of one config."""

    comment: str  # at the top of the config
    choices: dict[str, str] = field(default_factory=dict)  # by axis, of choices.yml or recipes.yml
    settings: Overrides = field(default_factory=dict)  # other settings, by dotted name
    without: tuple[str, ...] = ()  # blocks and values to remove, by dotted name
    options: str = ""  # options that a training needs besides the corpus
    comments: dict[str, str] = field(default_factory=dict)  # own comments, by dotted name


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Return recipes.yml: comments by dotted name, choices by axis, recipes by name."""
    return srsly.read_yaml(HERE / "recipes.yml")


def read_recipes() -> dict[str, Recipe]:
    """Return the recipes, by the name of their config."""
    return {name: Recipe(**block) for name, block in _table()["recipes"].items()}


def named_recipe(name: str) -> Recipe:
    """Return the recipe of a config.

    name (str): Name of the config, or an unambiguous start of it.
    RETURNS (Recipe): The recipe.
    RAISES (ValueError): If no config or several have this name.
    """
    recipes = read_recipes()
    names = [name] if name in recipes else [known for known in recipes if known.startswith(name)]
    if len(names) != 1:
        raise ValueError(Errors.L723.format(name=name, known=", ".join(names or recipes)))
    return recipes[names[0]]


def choose_transformer(recipe: Recipe, lang: str) -> Recipe:
    """Return a recipe over a published transformer with one that spaCy recommends for a language.

    recipe (Recipe): A recipe that needs --paths.transformer.
    lang (str): spaCy language code. A language without a recommendation gets a multilingual one.
    """
    known = (
        RECOMMENDATIONS.get(lang, {}).get("transformer") or RECOMMENDATIONS["__default__"]["transformer"]
    )
    name = known["efficiency"]["name"]
    return replace(
        recipe,
        options=f"--paths.transformer {name}",
        settings={**recipe.settings, "paths.transformer": name},
    )


def format_recipe(recipe: Recipe, config: Config, use: str) -> str:
    """Return the text of a config with the comments of its recipe.

    recipe (Recipe): The recipe.
    config (Config): The config, not interpolated.
    use (str): Lines that say how to train it.
    RETURNS (str): The text.
    """
    return format_config(
        config,
        head=[*wrap(recipe.comment, WIDTH), *use.splitlines()],
        comments={**_table()["comments"], **recipe.comments},
    )


def corpus_config(recipe: Recipe, corpus: Path | None) -> Config:
    """Return a recipe's config with the paths and types of a corpus.

    recipe (Recipe): The recipe.
    corpus (Optional[Path]): Folder of a converted corpus. Without it the paths are null.
    RETURNS (Config): The config, not interpolated.
    """
    config = make_config(recipe)
    empty: Overrides = {f"paths.{part}": None for part in ("train", "dev") if part in config["paths"]}
    apply(config, empty if corpus is None else corpus_values(config, corpus))
    return config


def with_corpus_and_defaults(config: Config, corpus: Path, name: str) -> Config:
    """Add the paths and types of a corpus and all defaults to a config.

    config (Config): The config, not interpolated. It is not changed.
    corpus (Path): Folder of a converted corpus.
    name (str): Name of the config for messages.
    RETURNS (Config): The complete config, not interpolated.
    RAISES (ValueError): If the pipeline cannot be built (L480).
    """
    with_corpus = compose(config, {}, corpus_values(config, corpus))
    try:
        return with_defaults(with_corpus)
    except (ValueError, ImportError, OSError, KeyError, TypeError) as error:
        raise ValueError(Errors.L480.format(name=name, problem=message_of(error))) from error


def make_config(recipe: Recipe) -> Config:
    """Return a recipe's config with all defaults filled in, not interpolated.

    recipe (Recipe): The recipe.
    """
    table, known = _table()["choices"], known_choices()
    choices = {
        axis: {**known[axis], **table.get(axis, {})}[choice] for axis, choice in recipe.choices.items()
    }
    config = compose(read_base(None), choices, recipe.settings)
    for block, key in (block_of(config, name) for name in recipe.without):
        if block:
            del block[key]
    text = config.to_str(interpolate=False)
    for section in VARIABLES:
        for name in set(config[section]):
            if f"${{{section}.{name}}}" not in text:
                del config[section][name]
    return with_defaults(config)
