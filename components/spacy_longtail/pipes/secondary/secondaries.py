"""What `longtail_gated_pipe` puts behind a gate: one component, or a pipeline of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import spacy
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import Config, ConfigValidationError

from ...corpus.cutting import bare
from ...errors import Errors
from ...types import Block
from ..pipeline_checks import SECONDARIES, check_own_gates
from ..token_comparison import TokenComparison
from .secrets import without_secrets

ENTITIES = "doc.ents"
LLM_MODELS = "spacy_llm.models."
Component = Callable[[Doc], Doc]


class Secondary(ABC):
    """Reads sentences as documents of their own, and saves what it has learnt or was given."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The types that it knows of before it reads; none is not known."""

    @property
    @abstractmethod
    def takes_batches(self) -> bool:
        """Whether it reads several sentences at once; else each is given alone, and fails alone."""

    @abstractmethod
    def check(self) -> None:
        """Whether there is something to read with."""

    @abstractmethod
    def read(self, sentences: list[Doc]) -> list[Doc]:
        """The sentences with entities. What it raises is the caller's."""

    @abstractmethod
    def memory_zone(self) -> AbstractContextManager[object]:
        """Forgets at its end the words that were read in it."""

    @abstractmethod
    def initialize(self, get_examples: Callable[[], Iterable[Example]], settings: Block) -> None:
        """settings (Block): For its own `initialize`."""

    @abstractmethod
    def to_bytes(self) -> bytes: ...

    @abstractmethod
    def from_bytes(self, data: bytes) -> None: ...

    @abstractmethod
    def to_disk(self, path: Path) -> None: ...

    @abstractmethod
    def from_disk(self, path: Path) -> None: ...


class OwnComponent(Secondary):
    """A component of a factory, in the vocabulary of the pipeline around it."""

    def __init__(self, nlp: Language, block: Mapping[str, object], who: str) -> None:
        """block (Mapping[str, object]): `factory` and its settings, registered functions resolved."""
        self.who = who
        # a pipeline for the component to stand in, without those around it
        self.nlp = type(nlp)(nlp.vocab, create_tokenizer=lambda _: nlp.tokenizer)
        self.factory, self.component = _build(self.nlp, block, who)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(getattr(self.component, "labels", ()))

    @property
    def takes_batches(self) -> bool:
        return hasattr(self.component, "pipe") and not _sends_prompts(self.component)

    def check(self) -> None:
        """It was built, so it is there."""

    def read(self, sentences: list[Doc]) -> list[Doc]:
        for sentence in sentences:  # what others found is not the secondary's
            sentence.set_ents([], default="missing")
        if hasattr(self.component, "pipe"):
            return list(self.component.pipe(sentences, batch_size=len(sentences)))
        return [self.component(sentence) for sentence in sentences]

    def memory_zone(self) -> AbstractContextManager[object]:
        """The words are those of the pipeline around it; a component may keep more."""
        own: Callable[[], AbstractContextManager[object]]
        own = getattr(self.component, "memory_zone", nullcontext)
        return own()

    def initialize(self, get_examples: Callable[[], Iterable[Example]], settings: Block) -> None:
        if not hasattr(self.component, "initialize"):
            if settings:
                problem = f"it has no 'initialize', found settings for it: {', '.join(settings)}"
                raise ValueError(Errors.L288.format(who=self.who, factory=self.factory, problem=problem))
            return
        with _coded(self.who, self.factory):
            self.component.initialize(get_examples, nlp=self.nlp, **settings)

    def to_bytes(self) -> bytes:
        return self.component.to_bytes(exclude=["vocab"]) if hasattr(self.component, "to_bytes") else b""

    def from_bytes(self, data: bytes) -> None:
        if hasattr(self.component, "from_bytes"):
            self.component.from_bytes(data, exclude=["vocab"])

    def to_disk(self, path: Path) -> None:
        if hasattr(self.component, "to_disk"):
            self.component.to_disk(path, exclude=["vocab"])

    def from_disk(self, path: Path) -> None:
        if hasattr(self.component, "from_disk") and path.exists():
            self.component.from_disk(path, exclude=["vocab"])


class OwnPipeline(Secondary):
    """A trained pipeline, or one component of it and what that listens to, in its own vocabulary.

    It is saved with the pipe: once that is on disk, `source` is no longer needed.
    """

    def __init__(self, source: str, component: str | None, nlp: Language, who: str) -> None:
        """nlp (Language): The pipeline around it."""
        self.source, self.component, self.who = source, component, who
        self.lang = nlp.lang
        self.tokens = TokenComparison(nlp.tokenizer, who)
        self._nlp: Language | None = None
        # else what was saved is to come, whatever stands in that place now
        if (Path(source) / "config.cfg").exists() or util.is_package(source):
            self._take(self._load(source))

    @property
    def nlp(self) -> Language:
        if self._nlp is None:
            raise self._bad("there is no pipeline there, and no such package is installed")
        return self._nlp

    @property
    def labels(self) -> tuple[str, ...]:
        if self._nlp is None:
            return ()
        found = (self._nlp.get_pipe(name) for name in _setters(self._nlp))
        return tuple(dict.fromkeys(label for pipe in found for label in getattr(pipe, "labels", ())))

    @property
    def takes_batches(self) -> bool:
        return not any(_sends_prompts(pipe) for _, pipe in self.nlp.pipeline)

    def check(self) -> None:
        self.nlp  # noqa: B018  # raises

    def read(self, sentences: list[Doc]) -> list[Doc]:
        self.tokens.compare(sentences, self.nlp.tokenizer)
        own = [bare(sentence, self.nlp.vocab) for sentence in sentences]
        return list(self.nlp.pipe(own, batch_size=len(own)))

    def memory_zone(self) -> AbstractContextManager[object]:
        return nullcontext() if self._nlp is None else self._nlp.memory_zone()

    def initialize(self, get_examples: Callable[[], Iterable[Example]], settings: Block) -> None:
        if settings:
            raise self._bad(f"it is trained, found settings to initialize it: {', '.join(settings)}")
        self.check()

    def to_bytes(self) -> bytes:
        data: bytes = util.to_bytes({"config": self.nlp.config.to_bytes, "nlp": self.nlp.to_bytes}, ())
        return data

    def from_bytes(self, data: bytes) -> None:
        found: dict[str, bytes] = {}
        keep = found.__setitem__
        readers: dict[str, Callable[[bytes], object]] = {n: partial(keep, n) for n in ("config", "nlp")}
        util.from_bytes(data, readers, ())
        config = Config().from_bytes(found["config"], interpolate=False)
        self._nlp = util.load_model_from_config(config).from_bytes(found["nlp"])

    def to_disk(self, path: Path) -> None:
        self.nlp.to_disk(path)

    def from_disk(self, path: Path) -> None:
        if path.exists():
            self._nlp = self._load(path)

    def _load(self, source: str | Path) -> Language:
        try:
            return spacy.load(source)
        except Exception as error:  # what is damaged can fail anywhere, each in its own way
            raise self._bad(without_secrets(f"{type(error).__name__}: {error}")) from None

    def _take(self, nlp: Language) -> None:
        if nlp.lang != self.lang:
            raise self._bad(
                f"it is of the language {nlp.lang!r}, the pipeline around it of {self.lang!r}"
            )
        if self.component is not None:
            if self.component not in nlp.pipe_names:
                raise self._bad(
                    f"it has no component {self.component!r}, only {_listed(nlp.pipe_names)}"
                )
            _keep_alone(nlp, self.component)
        if not _setters(nlp):
            what = _listed(nlp.pipe_names) if self.component is None else repr(self.component)
            raise ValueError(Errors.L286.format(who=self.who, what=f"{what} of {self.source}"))
        check_own_gates(nlp, self.who)
        self._nlp = nlp

    def _bad(self, problem: str) -> ValueError:
        problem = problem.strip().rstrip(".")
        return ValueError(Errors.L287.format(who=self.who, source=self.source, problem=problem))


def _build(nlp: Language, block: Mapping[str, object], who: str) -> tuple[str, Component]:
    """A factory and its component, which is not made part of the pipeline.

    `nlp.create_pipe` takes JSON, while here the blocks of registered functions are resolved already.
    """
    given = dict(block)
    factory = given.pop("factory", None)
    if not isinstance(factory, str) or not nlp.has_factory(factory):
        problem = f"'factory' must be the name of a registered component, found {factory!r}"
        raise ValueError(Errors.L288.format(who=who, factory=factory, problem=problem))
    meta = nlp.get_factory_meta(factory)
    if meta.assigns and ENTITIES not in meta.assigns:
        raise ValueError(Errors.L286.format(who=who, what=repr(factory)))
    names = (nlp.get_factory_name(factory), factory)
    registered = next(name for name in names if name in registry.factories)
    settings = _with_defaults(meta.default_config or {}, given)
    if factory in SECONDARIES and settings["spans_key"] is not None:
        shown = {"who": who, "what": repr(factory), "key": settings["spans_key"]}
        raise ValueError(Errors.L575.format(**shown))
    with _coded(who, factory):
        found = registry.resolve(
            {"pipe": {**settings, "nlp": nlp, "name": who, "@factories": registered}}
        )
    component: Component = found["pipe"]
    if getattr(component, "is_trainable", False):
        problem = "it has weights to train, and nothing trains it here"
        raise ValueError(Errors.L285.format(who=who, problem=problem))
    return factory, component


def _with_defaults(defaults: Mapping[str, object], given: Mapping[str, object]) -> Block:
    """Settings over the defaults of a factory; what is resolved or another function replaces a block."""
    merged = {**defaults, **given}
    for name, own in given.items():
        default = defaults.get(name)
        if isinstance(default, Mapping) and isinstance(own, Mapping):
            merged[name] = _with_defaults(default, own)
    return merged


@contextmanager
def _coded(who: str, factory: str) -> Iterator[None]:
    """What a component raises while it is made becomes L288: no traceback, and no secret."""
    try:
        yield
    except Exception as error:
        if str(error).startswith("[L"):
            raise
        if isinstance(error, ConfigValidationError):
            error = ConfigValidationError.from_error(error, show_config=False)
        text = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")
        problem = without_secrets(text)
        raise ValueError(Errors.L288.format(who=who, factory=factory, problem=problem)) from None


def _sends_prompts(pipe: object) -> bool:
    """Whether a component asks a model of spacy-llm's, which takes the prompts of a batch one by one.

    A batch would gain nothing, and if one prompt failed, all would be sent again.
    """
    model = type(getattr(pipe, "_model", None))
    return any(base.__module__.startswith(LLM_MODELS) for base in model.__mro__)


def _setters(nlp: Language) -> list[str]:
    """The components of a pipeline that set entities, or do not say what they set."""
    assigned = {name: nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names}
    return [name for name, found in assigned.items() if not found or ENTITIES in found]


def _keep_alone(nlp: Language, name: str) -> None:
    """Take out all components but one and those that it listens to."""
    kept = {name}
    kept.update(n for n, pipe in nlp.pipeline if name in getattr(pipe, "listening_components", ()))
    for other in nlp.component_names:
        if other not in kept:
            nlp.remove_pipe(other)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"
