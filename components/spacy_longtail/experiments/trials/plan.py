"""A plan of trials, read from YAML: methods, corpora, draws and seeds, all with equal steps."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from thinc.api import Config

from ...errors import Errors
from .compose import HERE, Settings, apply, compose, known_choices, read_base

PRESETS = HERE / "presets"
EQUAL = ("accumulate_gradient", "batcher", "eval_frequency", "max_steps")  # of [training]
KNOWN: dict[str, tuple[type, ...]] = {  # of a plan: what it must be
    "corpora": (list,),
    "steps": (int,),
    "seeds": (int, list),
    "grids": (list,),
    "methods": (dict,),
    "choices": (dict,),
    "settings": (dict,),
    "config": (str,),
    "baseline": (str,),
    "sizes": (list,),
    "shares": (list,),
    "n_sentences": (int,),
    "partitions": (int,),
}
STEPS, SEEDS, PARTITIONS = 1000, 3, 5


class Draw(NamedTuple):
    """A part of the training sentences; the trial's seed is the number of its partition."""

    n_sentences: int
    entity_share: float | None = None  # null is a uniform draw


class Method(NamedTuple):
    name: str
    choices: dict[str, str]  # by axis; none of a method that is a config of its own
    config: Config  # not interpolated


class Trial(NamedTuple):
    corpus: Path
    method: Method
    seed: int
    draw: Draw | None

    @property
    def title(self) -> str:
        """Corpus, method, draw and seed, for people."""
        drawn = "" if self.draw is None else f", {self.draw.n_sentences} sentences"
        share = self.draw and self.draw.entity_share
        drawn += "" if share is None else f" with {100 * share:g} % entity tokens"
        return f"{self.corpus.name}, {self.method.name}{drawn}, seed {self.seed}"

    def config(self) -> Config:
        """The complete config of the training."""
        config = compose(self.method.config, {}, {"system.seed": self.seed})
        if self.draw is not None:
            _set_draw(config, self.draw, self.seed, self.method.name)
        return config


class Plan(NamedTuple):
    corpora: list[Path]
    methods: list[Method]
    seeds: list[int]
    draws: list[Draw]  # none is all of the training data
    steps: int
    baseline: str

    def trials(self) -> Iterator[Trial]:
        """All trials, those of one seed after the other, so that a table fills evenly."""
        draws: list[Draw | None] = [*self.draws] or [None]
        for seed, corpus, draw in itertools.product(self.seeds, self.corpora, draws):
            for method in self.methods:
                yield Trial(corpus, method, seed, draw)


def presets() -> list[str]:
    """The names of the plans that come with the package."""
    return sorted(path.stem for path in PRESETS.glob("*.yml"))


def read_plan(source: str, given: Mapping[str, Any] | None = None) -> Plan:
    """Read a plan and check it.

    source (str): A YAML file, or the name of a preset.
    given (Optional[Mapping[str, Any]]): Values that replace the file's; settings are added to its own.
    RETURNS (Plan): The plan.
    RAISES (ValueError): L402, L470, L471, L472, L473, L474.
    """
    path = PRESETS / f"{source}.yml" if source in presets() else Path(source)
    found = {**_read(path), **{k: v for k, v in (given or {}).items() if v is not None}}
    if given and given.get("settings"):
        found["settings"] = {**_read(path).get("settings", {}), **given["settings"]}
    _check_fields(found, path)
    steps = found.get("steps", STEPS)
    settings = {**found.get("settings", {}), "training.max_steps": steps}
    base = read_base(_beside(path, found.get("config")))
    methods = _methods(found, base, settings, path)
    if not methods:
        raise _unusable(path, "it has neither grids nor methods.")
    _check_equal(methods)
    names = [method.name for method in methods]
    baseline = found.get("baseline", names[0])
    if baseline not in names:
        raise ValueError(Errors.L410.format(role="baseline", name=baseline, found=", ".join(names)))
    corpora = [Path(corpus) for corpus in found.get("corpora", [])]
    draws = _draws(found, path)
    if draws:
        seeds = list(range(found.get("partitions", PARTITIONS)))
    else:
        seeds = _seeds(found.get("seeds", SEEDS), path)
    return Plan(corpora, methods, seeds, draws, steps, baseline)


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        known = ", ".join(presets())
        raise ValueError(Errors.L402.format(path=path, fix=f"Name a YAML file or a preset: {known}."))
    try:
        found = srsly.read_yaml(path)
    except Exception as error:  # srsly's parser has many
        raise _unusable(path, f"it is no YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(found, dict):
        raise _unusable(path, "it holds no mapping.")
    return found


def _unusable(path: Path, problem: str) -> ValueError:
    return ValueError(Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md has the form."))


def _check_fields(found: Mapping[str, Any], path: Path) -> None:
    unknown = [name for name in found if name not in KNOWN]
    if unknown:
        raise _unusable(path, f"{', '.join(unknown)} is none of {', '.join(KNOWN)}.")
    for name, value in found.items():
        if not isinstance(value, KNOWN[name]) or isinstance(value, bool):
            wanted = " or ".join(kind.__name__ for kind in KNOWN[name])
            raise _unusable(path, f"{name} must be {wanted}, found {value!r}.")
        if isinstance(value, (int, float)) and value <= 0:
            raise _unusable(path, f"{name} must be above 0, found {value!r}.")
    if ("sizes" in found or "shares" in found) and "seeds" in found:
        raise _unusable(path, "each partition has its own seed: leave seeds out.")
    if "sizes" in found and "shares" in found:
        raise _unusable(path, "it has sizes and shares: one study has one of them.")
    for name, owners in {"partitions": ("sizes", "shares"), "n_sentences": ("shares",)}.items():
        if name in found and not any(owner in found for owner in owners):
            raise _unusable(path, f"{name} would be ignored without {' or '.join(owners)}.")


def _beside(path: Path, name: str | None) -> Path | None:
    """A path of a plan: from the current folder, or else from the plan's."""
    if name is None or Path(name).is_file():
        return None if name is None else Path(name)
    return path.parent / name


def _seeds(found: int | list[int], path: Path) -> list[int]:
    seeds = list(range(found)) if isinstance(found, int) else found
    if not seeds or not all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        raise _unusable(path, f"seeds must be whole numbers from 0, found {found!r}.")
    return list(dict.fromkeys(seeds))


def _draws(found: Mapping[str, Any], path: Path) -> list[Draw]:
    for name in ("sizes", "shares"):
        values = found.get(name, [])
        kinds = (int,) if name == "sizes" else (int, float)
        if not all(isinstance(v, kinds) and v > 0 for v in values) or len(set(values)) < len(values):
            raise _unusable(path, f"{name} must be different numbers above 0, found {values!r}.")
    if any(share > 1 for share in found.get("shares", [])):
        raise _unusable(path, f"shares are parts of 1, such as 0.05, found {found['shares']!r}.")
    sized = [Draw(size) for size in sorted(found.get("sizes", []))]
    return sized + [Draw(found.get("n_sentences", 100), s) for s in sorted(found.get("shares", []))]


def _methods(found: Mapping[str, Any], base: Config, settings: Settings, path: Path) -> list[Method]:
    catalog = _catalog(found.get("choices", {}), path)
    picked = list(_picked(found.get("grids", []), catalog, path))
    methods = []
    for choices in picked:
        name = _name(choices, catalog)
        blocks = {axis: catalog[axis][choice] for axis, choice in choices.items()}
        methods.append(Method(name, choices, compose(base, blocks, settings)))
    for name, own in found.get("methods", {}).items():
        if not isinstance(own, dict):
            raise _unusable(path, f"the method {name} must be settings by dotted name, found {own!r}.")
        own_base = read_base(_beside(path, own["config"])) if "config" in own else base
        own_settings = {**settings, **{k: v for k, v in own.items() if k != "config"}}
        methods.append(Method(str(name), {}, compose(own_base, {}, own_settings)))
    names = [method.name for method in methods]
    for name in names:
        if names.count(name) > 1 or not name or any(c in name for c in "/\\\n"):
            raise _unusable(path, f"{name!r} names two methods, or cannot be a file's name.")
    return methods


def _name(choices: Mapping[str, str], catalog: Mapping[str, Mapping[str, Settings]]) -> str:
    """The head, and whatever else is not the first of its axis."""
    usual = {axis: next(iter(names)) for axis, names in catalog.items() if axis != "head"}
    return "-".join(choice for axis, choice in choices.items() if choice != usual.get(axis))


def _catalog(own: Mapping[str, Any], path: Path) -> dict[str, dict[str, Settings]]:
    known = known_choices()
    for axis, choices in own.items():
        if axis not in known:
            raise ValueError(
                Errors.L472.format(path=path, what="axis", name=axis, known=", ".join(known))
            )
        if not isinstance(choices, dict) or not all(isinstance(s, dict) for s in choices.values()):
            raise _unusable(path, f"choices of {axis} must be settings by name, found {choices!r}.")
    return {axis: {**choices, **own.get(axis, {})} for axis, choices in known.items()}


def _picked(
    grids: list[Any], catalog: Mapping[str, Mapping[str, Settings]], path: Path
) -> Iterator[dict[str, str]]:
    """The choice of every axis, of each method of the grids, once each."""
    first = {axis: next(iter(choices)) for axis, choices in catalog.items()}
    seen = set()
    for grid in grids:
        if not isinstance(grid, dict):
            raise _unusable(path, f"a grid must be choices by axis, found {grid!r}.")
        for axis, names in grid.items():
            if axis not in catalog:
                known = ", ".join(catalog)
                raise ValueError(Errors.L472.format(path=path, what="axis", name=axis, known=known))
            for name in names if isinstance(names, list) else [names]:
                if name not in catalog[axis]:
                    known = ", ".join(catalog[axis])
                    raise ValueError(Errors.L472.format(path=path, what=axis, name=name, known=known))
        lists = [value if isinstance(value, list) else [value] for value in grid.values()]
        for combination in itertools.product(*lists):
            choices = {**first, **dict(zip(grid, combination, strict=True))}
            if (key := tuple(choices.values())) not in seen:
                seen.add(key)
                yield choices


def _check_equal(methods: list[Method]) -> None:
    """Refuse methods that would not train alike. Encoders may have batches of their own.

    RAISES (ValueError): L473.
    """
    first: dict[str, Method] = {}
    for method in methods:
        training = method.config["training"]
        for name in ("patience", "max_epochs"):
            if training.get(name, 0) > 0:
                message = Errors.L473.format(
                    name=name, method=method.name, found=training[name], other="0"
                )
                raise ValueError(message)
        other = first.setdefault(method.choices.get("encoder", ""), method).config["training"]
        for name in EQUAL:
            if training.get(name) != other.get(name):
                message = Errors.L473.format(
                    name=name, method=method.name, found=training.get(name), other=other.get(name)
                )
                raise ValueError(message)
        steps, frequency = training["max_steps"], training["eval_frequency"]
        if frequency > steps:
            raise ValueError(Errors.L474.format(frequency=frequency, steps=steps))


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Let every reader of the training data read the draw. RAISES (ValueError): L475."""
    plain = config["corpora"].get("plain")
    train = config["corpora"]["train"]
    if plain is None or (train.get("@readers") == plain.get("@readers") and train != plain):
        raise ValueError(Errors.L475.format(method=name))
    reader = "LowResourceCorpus" if draw.entity_share is None else "ImbalancedCorpus"
    share = {} if draw.entity_share is None else {"entity_share": draw.entity_share}
    drawn = {
        "@readers": f"longtail.{reader}.v1",
        "corpus": plain,
        "n_sentences": draw.n_sentences,
        "partition": partition,
        "seed": 0,
        **share,
    }
    apply(config, {"corpora.plain": drawn})
    if train == plain:
        apply(config, {"corpora.train": drawn})
