"""A plan of trials, read from YAML: methods, corpora, draws and seeds, all with equal steps."""

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from thinc.api import Config

from ...errors import Errors
from .compose import HERE, OPTIONAL, Settings, apply, compose, known_choices, read_base

PRESETS = HERE / "presets"
BATCHES = ("accumulate_gradient", "batcher")  # of [training], equal for equal encoders
OWNERS = {  # settings that the plan makes from these
    "training.max_steps": "steps",
    "system.seed": "seeds",
    "paths.train": "corpora",
    "paths.dev": "corpora",
}
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
PLAIN = "${corpora.plain}"


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
    found = _overridden(_read(path), {k: v for k, v in (given or {}).items() if v is not None})
    _check_fields(found, path)
    steps = found.get("steps", STEPS)
    settings = {**found.get("settings", {}), "training.max_steps": steps}
    base = read_base(_beside(path, found.get("config")))
    methods = _methods(found, base, settings, path)
    if not methods:
        raise _unusable(path, "it has neither grids nor methods.")
    _check_equal(methods, steps)
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


def _overridden(found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A plan with values of the command line: a study of sizes or shares leaves out what it replaces."""
    replaced = ("sizes", "shares", "n_sentences", "seeds") if {"sizes", "shares"} & set(given) else ()
    kept = {name: value for name, value in found.items() if name not in replaced}
    own = found.get("settings", {})
    if isinstance(own, dict):  # else the check of the fields refuses it
        own = {**own, **given.get("settings", {})}
    return {**kept, **given, "settings": own}


def _unusable(path: Path, problem: str) -> ValueError:
    return ValueError(Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md has the form."))


def _check_fields(found: Mapping[str, Any], path: Path) -> None:
    unknown = [name for name in found if name not in KNOWN]
    if unknown:
        raise _unusable(path, f"{', '.join(map(str, unknown))} is none of {', '.join(KNOWN)}.")
    for name, value in found.items():
        if not isinstance(value, KNOWN[name]) or isinstance(value, bool):
            wanted = " or ".join(kind.__name__ for kind in KNOWN[name])
            raise _unusable(path, f"{name} must be {wanted}, found {value!r}.")
        if isinstance(value, (int, float)) and value <= 0:
            raise _unusable(path, f"{name} must be above 0, found {value!r}.")
    _check_settings(found.get("settings", {}), "settings", path)
    for name in set(found.get("settings", {})) & set(OWNERS):
        raise _unusable(
            path, f"{name} would be ignored under settings: it is what {OWNERS[name]} is for."
        )
    corpora = found.get("corpora", [])
    if not all(isinstance(corpus, str) for corpus in corpora):
        raise _unusable(path, f"corpora must be folders, found {corpora!r}.")
    names = [Path(corpus).name for corpus in corpora]
    if len(set(names)) < len(names):
        raise _unusable(path, f"two corpora have the same name, found {', '.join(names)}.")
    if ("sizes" in found or "shares" in found) and "seeds" in found:
        raise _unusable(path, "each partition has its own seed: leave seeds out.")
    if "sizes" in found and "shares" in found:
        raise _unusable(path, "it has sizes and shares: one study has one of them.")
    for name, owners in {"partitions": ("sizes", "shares"), "n_sentences": ("shares",)}.items():
        if name in found and not any(owner in found for owner in owners):
            raise _unusable(path, f"{name} would be ignored without {' or '.join(owners)}.")


def _check_settings(settings: Mapping[Any, Any], where: str, path: Path) -> None:
    for name, value in settings.items():
        if name == OPTIONAL and isinstance(value, dict):
            _check_settings(value, f"{OPTIONAL} of {where}", path)
        elif not (isinstance(name, str) and all(name.split(".")) and "." in name):
            raise _unusable(path, f"{where} must be values by dotted name, found {name!r}.")


def _beside(path: Path, name: str | None) -> Path | None:
    """A path of a plan: from the current folder, or else from the plan's."""
    if name is None or Path(name).is_file():
        return None if name is None else Path(name)
    return path.parent / name


def _seeds(found: int | list[int], path: Path) -> list[int]:
    seeds = list(range(found)) if isinstance(found, int) else found
    if not seeds or not all(_is_whole(seed) and 0 <= seed < 2**32 for seed in seeds):
        raise _unusable(path, f"seeds must be whole numbers from 0 to 2**32 - 1, found {found!r}.")
    return list(dict.fromkeys(seeds))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _draws(found: Mapping[str, Any], path: Path) -> list[Draw]:
    for name in ("sizes", "shares"):
        values = found.get(name, [])
        known = [v for v in values if _is_whole(v) or (isinstance(v, float) and name == "shares")]
        if name in found and (
            not known or known != values or len({v for v in known if v > 0}) < len(values)
        ):
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
        if not isinstance(own, dict) or not isinstance(own.get("config", ""), str):
            raise _unusable(path, f"the method {name} must be settings by dotted name, found {own!r}.")
        own_base = read_base(_beside(path, own["config"])) if "config" in own else base
        own_settings = {k: v for k, v in own.items() if k != "config"}
        _check_settings(own_settings, f"the method {name}", path)
        methods.append(Method(str(name), {}, compose(own_base, {}, {**settings, **own_settings})))
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
        for name, settings in choices.items():
            if not isinstance(name, str):
                raise _unusable(path, f"choices of {axis} must have names, found {name!r}.")
            _check_settings(settings, f"the {axis} {name}", path)
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
            if names == []:
                raise _unusable(path, f"a grid has no choice of {axis}.")
            for name in names if isinstance(names, list) else [names]:
                if not isinstance(name, str) or name not in catalog[axis]:
                    known = ", ".join(catalog[axis])
                    raise ValueError(Errors.L472.format(path=path, what=axis, name=name, known=known))
        lists = [value if isinstance(value, list) else [value] for value in grid.values()]
        for combination in itertools.product(*lists):
            choices = {**first, **dict(zip(grid, combination, strict=True))}
            if (key := tuple(choices.values())) not in seen:
                seen.add(key)
                yield choices


def _check_equal(methods: list[Method], steps: int) -> None:
    """Refuse methods that would not train alike. Encoders may have batches of their own.

    RAISES (ValueError): L473, L474.
    """
    first: dict[str, Method] = {}
    for method in methods:
        training = method.config["training"]
        for name in ("patience", "max_epochs"):
            if _is_whole(training.get(name)) and training[name] > 0:
                message = Errors.L473.format(
                    name=name, method=method.name, found=training[name], other="0"
                )
                raise ValueError(message)
        same = first.setdefault(_encoder(method.config), method).config["training"]
        usual = methods[0].config["training"].get("eval_frequency")
        equal = {"max_steps": steps, "eval_frequency": usual}
        for name, wanted in {**equal, **{name: same.get(name) for name in BATCHES}}.items():
            if training.get(name) != wanted:
                message = Errors.L473.format(
                    name=name, method=method.name, found=training.get(name), other=wanted
                )
                raise ValueError(message)
        frequency = training.get("eval_frequency")
        if not _is_whole(frequency) or not 0 < frequency <= steps:
            raise ValueError(Errors.L474.format(frequency=frequency, steps=steps))


def _encoder(config: Config) -> str:
    """What kind of encoder a config has: sizes are no other kind."""
    components = config.get("components", {})
    block = components.get("tok2vec") or components.get("transformer") or components
    model = block.get("model", {})
    return " ".join(
        str(part) for part in (block.get("factory"), model.get("@architectures"), model.get("name"))
    )


def _set_draw(config: Config, draw: Draw, partition: int, name: str) -> None:
    """Let every reader of the training data read the draw. RAISES (ValueError): L475."""
    plain = config["corpora"].get("plain")
    train = config["corpora"]["train"]
    reads = json.dumps(train, default=str)
    is_through = train == plain or (PLAIN in reads and "${paths.train}" not in reads)
    if plain is None or not is_through:
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
