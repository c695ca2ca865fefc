"""Trained pipelines that are to become one: what must be alike in them, and what the one takes over."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.vectors import Vectors

from ..errors import Errors
from ..types import Block

SEEDS = "Name pipelines that differ in their seed alone, as one config trains them."
SPLIT = "Name the runs that it was made of."
JUDGED = (
    "Name it as it was before `thresholds`: what was chosen on its own scores is not right for a mean."
)


class Read(Protocol):
    """A pipeline, and where it was read from."""

    @property
    def nlp(self) -> Language: ...
    @property
    def path(self) -> Path | str: ...


def refused(path: Path | str, problem: str, fix: str) -> ValueError:
    """L514, to be raised of a pipeline."""
    return ValueError(Errors.L514.format(path=path, problem=problem, fix=fix))


def check_not_judged(path: Path | str, pipe: Any) -> None:
    """Refuse a component with thresholds or a calibration. RAISES (ValueError): L514."""
    cfg = getattr(pipe, "cfg", {})
    judged = [name for name in ("thresholds", "calibration") if cfg.get(name)]
    if judged:
        raise refused(path, f"{pipe.name!r} has {' and '.join(judged)} of its own", JUDGED)


def unlike(own: Read, first: Read) -> str:
    """How a pipeline reads text otherwise than the first, in words; "" where it does not."""
    if own.nlp.lang != first.nlp.lang:
        return f"its language is {own.nlp.lang!r}, that of {first.path} {first.nlp.lang!r}"
    if _tokenizer(own.nlp) != _tokenizer(first.nlp):
        return f"its tokenizer is not that of {first.path}"
    if _lookups(own.nlp) != _lookups(first.nlp):
        return f"its tables of words (vocab.lookups) are not those of {first.path}"
    return ""


def _tokenizer(nlp: Language) -> tuple[Block, bytes]:
    """The settings and the rules of a tokenizer."""
    rules = cast(Tokenizer, nlp.tokenizer).to_bytes(exclude=["vocab"])
    return nlp.config.interpolate()["nlp"]["tokenizer"], rules


def _lookups(nlp: Language) -> dict[str, Block]:
    lookups = nlp.vocab.lookups
    return {name: dict(lookups.get_table(name)) for name in lookups.tables}


def common_vectors(pipelines: Sequence[Read]) -> Vectors | None:
    """The one table of word vectors; null for none. What was trained without one does not read it.

    RAISES (ValueError): L514.
    """
    found = [own for own in pipelines if len(own.nlp.vocab.vectors)]
    for own in found[1:]:
        if own.nlp.vocab.vectors != found[0].nlp.vocab.vectors:
            raise refused(own.path, f"its word vectors are not those of {found[0].path}", SEEDS)
    return found[0].nlp.vocab.vectors if found else None


def settle(nlp: Language, pipelines: Sequence[Read]) -> None:
    """Make the config of a pipeline one without references: what they name may be taken away.

    Its seed of the training is that of all pipelines, and null where they have several.
    """
    whole = nlp.config.interpolate()
    seeds = {own.nlp.config.interpolate()["training"]["seed"] for own in pipelines}
    whole["training"]["seed"] = seeds.pop() if len(seeds) == 1 else None
    for name in nlp.component_names:
        nlp.get_pipe_config(name).update(whole["components"][name])
    nlp.config = whole
    nlp.meta["performance"] = {}  # of the first pipeline
