"""What pipes share: factories, saving, two learning rates, entities that are judged and written."""

import sys
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer
from thinc.types import FloatsXd
from typing_extensions import Self

from ..errors import Errors, Warnings
from ..layers.listeners import encoders_of, listener_in, remember
from ..layers.serving import use_faster_blas
from ..scorers import NER_SCORE_WEIGHTS
from ..settings import finite
from ..types import Block
from .saved import read_cfg
from .scores.spans import ScoredSpan, write_entities
from .scores.thresholding import judge

ENTITIES = ["doc.ents", "token.ent_iob", "token.ent_type"]
KINDS: dict[str, Block] = {
    "ner": {
        "assigns": ENTITIES,
        "default_score_weights": NER_SCORE_WEIGHTS,
        "scorer": {"@scorers": "longtail.ner_scorer.v1"},
    },
    "gate": {
        "assigns": ["doc.spans"],
        "requires": ["doc.sents"],
        "default_score_weights": {"weak_sents_f": 0.0, "weak_sents_p": 0.0, "weak_sents_r": 0.0},
        "scorer": {"@scorers": "longtail.gate_scorer.v1"},
    },
    "secondary": {
        "assigns": ["doc.spans", *ENTITIES],
        "requires": ["doc.spans"],
        "default_score_weights": {"weak_ents_f": 0.0, "weak_ents_p": 0.0, "weak_ents_r": 0.0},
        "scorer": {"@scorers": "longtail.ner_scorer.v1", "prefix": "weak_ents"},
    },
}


def factory(name: str, kind: Literal["ner", "gate", "secondary"], **blocks: Block) -> Callable:
    """Return spaCy's `Language.factory` for a component of a kind."""
    meta = dict(KINDS[kind])
    settings = {**blocks, "scorer": meta.pop("scorer")}

    def register(build: Callable) -> Callable:
        @wraps(build)
        def build_in(nlp: Language, name: str, **arguments: object) -> Pipe:
            remember(nlp)
            pipe: Pipe = build(nlp, name, **arguments)
            return pipe

        return Language.factory(name, default_config=settings, **meta)(build_in)

    return register


class Lock:
    """One thread at a time, which may enter again. A copy, as in another process, is a new lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Lock"], tuple[()]]:
        return type(self), ()


class DeclaredTypes:
    """A pipe whose types are declared, so that none is added to it."""

    name: str
    source: ClassVar[str]  # where its types come from

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]: ...

    def add_label(self, label: str) -> int:
        """Refuse a new type. RETURNS (int): 0 for one of the pipe's."""
        if label not in self.labels:
            raise ValueError(Errors.L206.format(who=self.name, label=label, source=self.source))
        return 0


class Gate(DeclaredTypes):
    """A pipe that flags sentences in doc.spans[cfg["spans_key"]]."""

    source = "rare_labels"

    @staticmethod
    def _current(rare_labels: Any, weak_labels: Any, name: str) -> Any:
        """The types, under the name of the setting before version 0.3, too, with a warning."""
        if weak_labels is None:
            return rare_labels
        warnings.warn(Warnings.W114.format(name=name), FutureWarning, stacklevel=4)
        return weak_labels


class Secondary:
    """A pipe that reads the sentences that a gate has flagged, and merges what it finds."""

    cfg: Block  # with spans_key, merge and scores_key


def _calls(pipe: Any, method: str, cfg: Callable) -> dict[str, Callable]:
    """Return the functions that save or load a pipe, by the names of the files.

    pipe (LongtailPipe | UntrainedPipe): Its `saved` names the attributes to save beside `cfg`.
    method (str): "to_disk", "from_disk", "to_bytes" or "from_bytes".
    cfg (Callable): Saves or loads `cfg`.
    """
    return {"cfg": cfg, **{name: getattr(getattr(pipe, name), method) for name in pipe.saved}}


class LongtailPipe(TrainablePipe):
    """A pipe with a model, an encoder in it, and settings that are saved as `cfg`."""

    saved: ClassVar[tuple[str, ...]] = ()  # attributes that are saved beside cfg
    learnt: ClassVar[Mapping[str, Any]] = {}  # values of cfg beside the settings, with their types
    required: ClassVar[tuple[str, ...]] = ()  # values that a saved cfg has

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str,
        scorer: Callable | None,
        head_rate: float,
        **cfg: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.head_rate = check_head_rate(head_rate)
        self.cfg = cfg

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    def saved_cfg(self) -> Block:
        """Return the settings and learnt values that are saved as `cfg`."""
        return self.cfg

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and learnt values, which were checked.

        saved (Dict[str, Any]): As `saved_cfg` returned it.
        exclude (Iterable[str]): Parts that are not loaded, such as "model".
        """
        self.cfg.update(saved)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the pipe."""
        own = _calls(self, "to_bytes", lambda: srsly.json_dumps(self.saved_cfg()))
        saved = srsly.msgpack_loads(super().to_bytes(exclude=[*exclude, "cfg"]))
        data: bytes = srsly.msgpack_dumps({**saved, **util.to_dict(own, exclude)})
        return data

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the pipe, after a check of its `cfg`."""
        own = _calls(self, "from_bytes", lambda text: self.load_cfg(read_cfg(text, self), exclude))
        util.from_bytes(bytes_data, own, exclude)
        super().from_bytes(bytes_data, exclude=[*exclude, "cfg"])
        use_faster_blas(self.model, *encoders_of(self))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the pipe in a folder."""
        super().to_disk(path, exclude=[*exclude, "cfg"])
        own = _calls(self, "to_disk", lambda file: srsly.write_json(file, self.saved_cfg()))
        util.to_disk(path, own, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the pipe, after a check of its `cfg`."""
        own = _calls(self, "from_disk", lambda file: self.load_cfg(read_cfg(file, self), exclude))
        util.from_disk(path, own, exclude)
        super().from_disk(path, exclude=[*exclude, "cfg"])
        use_faster_blas(self.model, *encoders_of(self))
        return self

    def finish_update(self, sgd: Optimizer | None) -> None:
        """Step the optimizer, `head_rate` times as far outside the encoder."""
        super().finish_update(with_head_rate(sgd, self.model.get_ref("tok2vec"), self.head_rate))


class StoppedError(ValueError):
    """Ends a run: not for error handlers, which would go on."""


class UntrainedPipe(Pipe):
    """A pipe with nothing to train, which reads in batches as spaCy's trained ones do."""

    cfg: Block
    predict: Callable
    set_annotations: Callable
    saved: ClassVar[tuple[str, ...]] = ()  # attributes that are saved beside cfg
    learnt: ClassVar[Mapping[str, Any]] = {}  # values of cfg beside the settings, with their types
    required: ClassVar[tuple[str, ...]] = ()  # values that a saved cfg has

    def __init__(self, vocab: Vocab, name: str, scorer: Callable | None, **cfg: Any) -> None:
        self.vocab = vocab
        self.name = name
        self.scorer = scorer
        self.cfg = cfg
        self.restart()

    def restart(self) -> None:
        """Build anew what `cfg` decides, as when the pipe is loaded."""

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        parts = _calls(self, "to_disk", lambda file: srsly.write_json(file, self.cfg))
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        parts = _calls(self, "from_disk", lambda file: self.cfg.update(read_cfg(file, self)))
        util.from_disk(path, parts, exclude)
        self.restart()
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        parts = _calls(self, "to_bytes", lambda: srsly.json_dumps(self.cfg))
        data: bytes = util.to_bytes(parts, exclude)
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        parts = _calls(self, "from_bytes", lambda text: self.cfg.update(read_cfg(text, self)))
        util.from_bytes(data, parts, exclude)
        self.restart()
        return self

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents.

        stream (Iterable[Doc]): The documents. batch_size (int): How many to read together.
        YIELDS (Doc): In order, without those that an error handler was given.
        """
        handler = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
            except StoppedError:
                raise
            except Exception as error:
                handler(self.name, self, docs, error)
            else:
                yield from docs


class EntityScorer:
    """What finds entities with their scores, and calibrates and judges them before it writes."""

    name: str
    cfg: Block
    predict: Callable[[list[Doc]], list[list[ScoredSpan]]]  # the entities of each, with their scores

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        """What `predict` finds: entities before calibration and thresholds."""
        return self.predict(docs)

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[ScoredSpan]]) -> None:
        """Write the entities beside those that are there, and their scores if scores_key is set."""
        for doc, spans in zip(docs, scores, strict=True):
            write_entities(doc, judge(doc, spans, self.cfg, self.name), self.cfg["scores_key"])


def check_head_rate(head_rate: float) -> float:
    rule = "a finite number above 0"
    fix = "1 is the optimizer's own rate; frozen_components has what is not to be trained."
    return finite("head_rate", head_rate, rule, fix, sys.float_info.min)


def with_head_rate(optimizer: Optimizer | None, encoder: Model, head_rate: float) -> Optimizer | None:
    """An optimizer that steps all parameters outside a pipe's encoder `head_rate` times as far.

    optimizer (Optional[Optimizer]): thinc's. Anything else, as in spaCy's rehearsal, is given back.
    encoder (Model): The part of the model that gives token vectors. Where a listener is in it, the
        encoder is another component's, and what is beside the listener is scaled, too.
    """
    if head_rate == 1 or not isinstance(optimizer, Optimizer):
        return optimizer
    nodes = [] if listener_in(encoder) else list(encoder.walk())
    encoder_ids = {node.id for node in nodes} | {shim.id for node in nodes for shim in node.shims}
    step: Callable = optimizer

    def scaled(
        key: tuple[int, str], weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1.0
    ) -> tuple[FloatsXd, FloatsXd]:
        rate = lr_scale if key[0] in encoder_ids else lr_scale * head_rate
        return step(key, weights, gradient) if rate == 1 else step(key, weights, gradient, lr_scale=rate)

    return cast(Optimizer, scaled)
