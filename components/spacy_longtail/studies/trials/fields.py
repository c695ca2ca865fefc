"""The fields of a plan's YAML file, and what is wrong with them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import Errors
from .compose import OPTIONAL

OWNERS = {  # settings that the plan makes from these
    "training.max_steps": "steps",
    "training.patience": "patience",
    "system.seed": "seeds",
    "paths.train": "corpora",
    "paths.dev": "corpora",
}
NEEDED = "needed"  # of steps: as many as the method takes that needs the most
KNOWN: dict[str, tuple[type, ...]] = {  # of a plan: what it must be
    "corpora": (list,),
    "steps": (int, str),
    "patience": (int,),
    "most_steps": (int,),
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


def unusable(path: Path, problem: str) -> ValueError:
    """L470, of a plan."""
    return ValueError(Errors.L470.format(path=path, problem=problem, fix="docs/matrix.md has the form."))


def check_fields(found: Mapping[str, Any], path: Path) -> None:
    """Refuse what no plan has, and what would be ignored. RAISES (ValueError): L470."""
    unknown = [name for name in found if name not in KNOWN]
    if unknown:
        raise unusable(path, f"{', '.join(map(str, unknown))} is not one of {', '.join(KNOWN)}.")
    for name, value in found.items():
        if not isinstance(value, KNOWN[name]) or isinstance(value, bool):
            wanted = " or ".join(kind.__name__ for kind in KNOWN[name])
            raise unusable(path, f"{name} must be {wanted}, found {value!r}.")
        if isinstance(value, (int, float)) and value <= 0:
            raise unusable(path, f"{name} must be above 0, found {value!r}.")
    _check_steps(found, path)
    check_settings(found.get("settings", {}), "settings", path)
    for name in set(found.get("settings", {})) & set(OWNERS):
        raise unusable(
            path, f"{name} would be ignored under settings: it is what {OWNERS[name]} is for."
        )
    corpora = found.get("corpora", [])
    if not all(isinstance(corpus, str) for corpus in corpora):
        raise unusable(path, f"corpora must be folders, found {corpora!r}.")
    names = [Path(corpus).name for corpus in corpora]
    if len(set(names)) < len(names):
        raise unusable(path, f"two corpora have the same name, found {', '.join(names)}.")
    if ("sizes" in found or "shares" in found) and "seeds" in found:
        raise unusable(path, "each partition has its own seed: leave seeds out.")
    if "sizes" in found and "shares" in found:
        raise unusable(path, "it has sizes and shares: one study has one of them.")
    for name, owners in {"partitions": ("sizes", "shares"), "n_sentences": ("shares",)}.items():
        if name in found and not any(owner in found for owner in owners):
            raise unusable(path, f"{name} would be ignored without {' or '.join(owners)}.")


def _check_steps(found: Mapping[str, Any], path: Path) -> None:
    steps = found.get("steps")
    if isinstance(steps, str) and steps != NEEDED:
        raise unusable(path, f"steps must be a number or {NEEDED!r}, found {steps!r}.")
    if steps == NEEDED and ("sizes" in found or "shares" in found):
        raise unusable(path, f"draws of different sizes need different steps: no steps = {NEEDED!r}.")
    if "most_steps" in found and steps != NEEDED:
        raise unusable(path, f"most_steps would be ignored without steps: {NEEDED}.")


def check_settings(settings: Mapping[Any, Any], where: str, path: Path) -> None:
    """Refuse settings that are not by dotted name. RAISES (ValueError): L470."""
    for name, value in settings.items():
        if name == OPTIONAL and isinstance(value, dict):
            check_settings(value, f"{OPTIONAL} of {where}", path)
        elif not (isinstance(name, str) and all(name.split(".")) and "." in name):
            raise unusable(path, f"{where} must be values by dotted name, found {name!r}.")


def beside(path: Path, name: str | None) -> Path | None:
    """A path of a plan: from the current folder, or else from the plan's."""
    if name is None or Path(name).is_file():
        return None if name is None else Path(name)
    return path.parent / name


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)
