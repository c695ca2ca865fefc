"""Secondaries of `longtail_gated_pipe`: a component, or a whole pipeline."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partialmethod
from pathlib import Path
from typing import Any, cast

import spacy
import srsly
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import Config

from ...corpus.cutting import bare
from ...errors import Errors
from ...extras import require_of
from ...types import Block

SETS = "doc.ents"
FIX = "Give a block 'pipe' with a factory that needs no training, or a trained pipeline as 'source'."


def unfit(who: str, problem: str, fix: str = FIX) -> ValueError:
    """Return the error for a secondary that cannot be used (L285).

    who (str): Name of the gated component.
    problem (str): The problem.
    fix (str): How to solve it.
    """
    return ValueError(Errors.L285.format(who=who, problem=problem.strip().rstrip("."), fix=fix))


class OwnComponent:
    """A component of a factory, in the vocabulary of the pipeline around it."""

    def __init__(self, nlp: Language, block: Mapping[str, object], who: str) -> None:
        """Create the component.

        nlp (Language): The pipeline around it.
        block (Mapping[str, object]): `factory` and its settings, with resolved functions.
        who (str): Name of the gated component.
        """
        self.who = who
        # a pipeline for the component alone
        self.nlp = type(nlp)(nlp.vocab, create_tokenizer=lambda _: nlp.tokenizer)
        self.component = _build(self.nlp, block, who)

    def check_loaded(self) -> None:
        """Accept the component, which is always there."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the types that it knows in advance; none if they are not known."""
        return tuple(getattr(self.component, "labels", ()))

    def read(self, sentences: list[Doc]) -> list[Doc]:
        """Process sentences. Errors are left to the caller."""
        for sentence in sentences:  # what others found is not the secondary's
            sentence.set_ents([], default="missing")
        if hasattr(self.component, "pipe"):
            return list(self.component.pipe(sentences, batch_size=len(sentences)))
        return [self.component(sentence) for sentence in sentences]

    def memory_zone(self) -> AbstractContextManager[object]:
        """Return the component's own memory zone, if it has one."""
        return getattr(self.component, "memory_zone", nullcontext)()

    def initialize(self, get_examples: Callable[[], Iterable[Example]], settings: Block) -> None:
        """Initialize the component, if it has to be.

        get_examples (Callable): Training examples.
        settings (Block): Settings of its own `initialize`.
        """
        if hasattr(self.component, "initialize"):
            self.component.initialize(get_examples, nlp=self.nlp, **settings)
        elif settings:
            raise unfit(self.who, f"it has no 'initialize', found {', '.join(settings)} for it")

    def _call(self, method: str, *data: object) -> bytes:
        """Save or load the component, where it has that method."""
        call = getattr(self.component, method, None)
        return (call(*data, exclude=["vocab"]) if call else None) or b""

    to_bytes = partialmethod(_call, "to_bytes")
    from_bytes = partialmethod(_call, "from_bytes")
    to_disk = partialmethod(_call, "to_disk")

    def from_disk(self, path: Path) -> None:
        if path.exists():
            self._call("from_disk", path)


class OwnPipeline:
    """A trained pipeline in its own vocabulary.

    It is saved with the pipe: once that is on disk, `source` is no longer needed.
    """

    def __init__(self, nlp: Language, source: str, who: str) -> None:
        """Load the pipeline, unless it will be loaded with the component.

        nlp (Language): The pipeline around it.
        source (str): Folder or package of the pipeline.
        who (str): Name of the gated component.
        """
        self.source, self.who = source, who
        self._nlp: Language | None = None
        # otherwise the saved pipeline is loaded later, whatever the folder has now
        if (Path(source) / "config.cfg").exists() or util.is_package(source):
            self._nlp = spacy.load(source)
            if self._nlp.lang != nlp.lang:
                problem = f"it is of the language {self._nlp.lang!r}, the pipeline around it of"
                raise unfit(who, f"{source} does not fit: {problem} {nlp.lang!r}")
            if not self._setters():
                raise unfit(who, f"no component of {source} says that it assigns doc.ents")

    def check_loaded(self) -> None:
        """Refuse to go on without the pipeline (L285)."""
        if self._nlp is None:
            raise unfit(self.who, f"{self.source} has no pipeline, and no such package is installed")

    @property
    def nlp(self) -> Language:
        self.check_loaded()
        return cast(Language, self._nlp)

    def _setters(self) -> list[object]:
        """Return the components that set entities, or do not declare what they set."""
        pipes = [] if self._nlp is None else self._nlp.pipeline
        assigned = [(self.nlp.get_pipe_meta(name).assigns, pipe) for name, pipe in pipes]
        return [pipe for assigns, pipe in assigned if not assigns or SETS in assigns]

    @property
    def labels(self) -> tuple[str, ...]:
        labels = (label for pipe in self._setters() for label in getattr(pipe, "labels", ()))
        return tuple(dict.fromkeys(labels))

    def read(self, sentences: list[Doc]) -> list[Doc]:
        copies = [bare(sentence, self.nlp.vocab) for sentence in sentences]
        return list(self.nlp.pipe(copies, batch_size=len(copies)))

    def memory_zone(self) -> AbstractContextManager[object]:
        return nullcontext() if self._nlp is None else self._nlp.memory_zone()

    def initialize(self, get_examples: Callable[[], Iterable[Example]], settings: Block) -> None:
        if settings:
            raise unfit(self.who, f"a source is trained, found {', '.join(settings)} to initialize it")
        self.check_loaded()

    def to_bytes(self) -> bytes:
        return util.to_bytes({"config": self.nlp.config.to_bytes, "nlp": self.nlp.to_bytes}, ())

    def from_bytes(self, data: bytes) -> None:
        parts = srsly.msgpack_loads(data)
        config = Config().from_bytes(parts["config"], interpolate=False)
        self._nlp = util.load_model_from_config(config).from_bytes(parts["nlp"])

    def to_disk(self, path: Path) -> None:
        self.nlp.to_disk(path)

    def from_disk(self, path: Path) -> None:
        if path.exists():
            self._nlp = spacy.load(path)


def _build(nlp: Language, block: Mapping[str, object], who: str) -> Any:
    """Create a component as `nlp.create_pipe` does, from a block with resolved functions."""
    given = dict(block)
    factory = given.pop("factory", None)
    require_of(block)
    if not isinstance(factory, str) or not nlp.has_factory(factory):
        raise unfit(who, f"'factory' must be the name of a registered component, found {factory!r}")
    meta = nlp.get_factory_meta(factory)
    if meta.assigns and SETS not in meta.assigns:
        raise unfit(who, f"{factory!r} does not say that it assigns doc.ents")
    names = (nlp.get_factory_name(factory), factory)
    registered = next(name for name in names if name in registry.factories)
    settings = _with_defaults(meta.default_config or {}, given)
    block = {**settings, "nlp": nlp, "name": who, "@factories": registered}
    pipe = registry.resolve({"pipe": block})["pipe"]
    if getattr(pipe, "is_trainable", False):
        raise unfit(who, f"{factory!r} has weights to train, and nothing trains it here")
    return pipe


def _with_defaults(defaults: Mapping[str, object], given: Mapping[str, object]) -> Block:
    """Return a factory's defaults updated by settings. Resolved objects replace whole blocks."""
    merged = {**defaults, **given}
    for name, value in given.items():
        default = defaults.get(name)
        if isinstance(default, Mapping) and isinstance(value, Mapping):
            merged[name] = _with_defaults(default, value)
    return merged
