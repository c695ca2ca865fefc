"""Base classes of components: factories, saving, learning rates of encoder and head."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import srsly
from spacy import util
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer, get_array_module
from thinc.types import FloatsXd
from typing_extensions import Self

from ..errors import Errors
from ..layers.listeners import encoders_of, listener_in, remember
from ..layers.serving import use_faster_blas
from ..scorers import NER_SCORE_WEIGHTS
from ..settings import finite
from ..types import Block
from .saved import read_cfg

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

HASH_EMBED_CNN: Block = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 96,
    "depth": 4,
    "embed_size": 2000,
    "window_size": 1,
    "maxout_pieces": 3,
    "subword_features": True,
}


def factory(name: str, kind: Literal["ner", "gate", "secondary"], **blocks: Block) -> Callable:
    """Return a decorator that registers the factory of a component.

    The factory remembers each pipeline that it builds a component for, without keeping it alive. So
    a component whose listener reads a shared encoder can find its pipeline when it predicts, and
    check that this encoder was the last to write the vectors (L813).

    name (str): Name of the factory.
    kind (str): What the component assigns, requires and is scored by: a row of KINDS.
    blocks (Block): Defaults of settings that are config blocks.
    """
    meta = dict(KINDS[kind])
    settings = {**blocks, "scorer": meta.pop("scorer")}

    def register(build: Callable) -> Callable:
        @wraps(build)
        def build_in(nlp: Language, name: str, **arguments: object) -> Pipe:
            remember(nlp)
            return build(nlp, name, **arguments)

        return Language.factory(name, default_config=settings, **meta)(build_in)

    return register


class SavedPipe:
    """A component whose settings and learnt values are saved as `cfg` and checked when loaded."""

    name: str
    cfg: Block
    is_gate: ClassVar[bool] = False  # whether it flags sentences in doc.spans[cfg["spans_key"]]
    is_secondary: ClassVar[bool] = False  # whether it reads flagged sentences alone
    saved: ClassVar[tuple[str, ...]] = ()  # attributes that are saved beside cfg
    learnt: ClassVar[Mapping[str, Any]] = {}  # saved values beside the settings, with their types
    required: ClassVar[tuple[str, ...]] = ()  # values that a saved cfg must have

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the types that the component sets or finds; none by default."""
        return ()

    @property
    def label_data(self) -> list[str]:
        return list(self.labels)

    def saved_cfg(self) -> Block:
        """Return the settings and learnt values that are saved as `cfg`."""
        return self.cfg

    def read_cfg(self, source: Path | str) -> Block:
        """Return saved settings and learnt values, checked. Arguments as for `saved.read_cfg`."""
        return read_cfg(source, self)

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and learnt values, which have been checked.

        saved (Dict[str, Any]): As `saved_cfg` returned it.
        exclude (Iterable[str]): Names of parts that are not loaded, such as "model".
        """
        self.cfg.update(saved)

    def settle(self, source: Path | str, exclude: Iterable[str]) -> None:
        """Check the loaded parts, and rebuild what depends on them.

        source (Path | str): As for `saved.read_cfg`.
        exclude (Iterable[str]): As for `load_cfg`.
        """
        if isinstance(model := getattr(self, "model", None), Model):
            use_faster_blas(model, *encoders_of(self))

    def parts(self, method: str, exclude: Iterable[str]) -> dict[str, Callable]:
        """Return the functions that save or load all parts but `cfg`, by the names of the files.

        method (str): "to_disk", "from_disk", "to_bytes" or "from_bytes".
        exclude (Iterable[str]): Names of parts that are not saved or loaded.
        """
        parts = {name: getattr(getattr(self, name), method) for name in self.saved}
        if "vocab" in parts:
            parts["vocab"] = partial(parts["vocab"], exclude=exclude)
        if "model" in parts and method.startswith("from_"):
            parts["model"] = partial(_load_model, parts["model"])
        return parts

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component."""
        parts = self.parts("to_bytes", exclude)
        parts["cfg"] = lambda: srsly.json_dumps(self.saved_cfg())
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component after a check of its `cfg`."""
        cfg = {"cfg": lambda text: self.load_cfg(self.read_cfg(text), exclude)}
        util.from_bytes(bytes_data, {**cfg, **self.parts("from_bytes", exclude)}, exclude)
        self.settle("", exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component in a folder."""
        parts = self.parts("to_disk", exclude)
        parts["cfg"] = lambda file: srsly.write_json(file, self.saved_cfg())
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the component after a check of its `cfg`."""
        cfg = {"cfg": lambda file: self.load_cfg(self.read_cfg(file), exclude)}
        util.from_disk(path, {**cfg, **self.parts("from_disk", exclude)}, exclude)
        self.settle(Path(path) / "cfg", exclude)
        return self


def _load_model(load: Callable, data: object) -> None:
    """Load the weights of a model, with spaCy's message if they are those of another one."""
    try:
        load(data)
    except AttributeError:
        raise ValueError(SpacyErrors.E149) from None


class StoppedError(ValueError):
    """Error that ends `nlp.pipe`, whatever the error handler says.

    `nlp(text)` gives it to the error handler, as all others.
    """


class UntrainedPipe(SavedPipe, Pipe):
    """Component without weights, which processes batches as spaCy's trainable ones do."""

    predict: Callable
    set_annotations: Callable

    def __init__(self, vocab: Vocab, name: str, scorer: Callable | None, **cfg: Any) -> None:
        self.vocab = vocab
        self.name = name
        self.scorer = scorer
        self.cfg = cfg
        self.restart()

    def restart(self) -> None:
        """Rebuild the state that depends on `cfg`. It is called when the component is loaded."""

    def settle(self, source: Path | str, exclude: Iterable[str]) -> None:
        self.restart()

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]), doc)

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate documents.

        stream (Iterable[Doc]): Documents.
        batch_size (int): Number of documents in a batch.
        YIELDS (Doc): The documents in order, without those of batches that the error handler got.
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


def check_head_rate(head_rate: float) -> float:
    """Return a learning rate of the head as a multiple of the encoder's, if it is valid."""
    return finite(
        "head_rate",
        head_rate,
        "a finite number above 0",
        "1 is the optimizer's own rate. To train nothing, name the component in frozen_components.",
        low=sys.float_info.min,
    )


def check_finite(who: str, n_rows: int, loss: float, *gradient: FloatsXd) -> None:
    """Check that the loss of a batch and each array of its gradient are finite numbers.

    who (str): Name of the component.
    n_rows (int): Number of rows in the batch, for the message.
    RAISES (ValueError): If one is not (L007).
    """
    are_finite = (bool(get_array_module(part).isfinite(part).all()) for part in gradient)
    if not (isfinite(loss) and all(are_finite)):
        raise ValueError(Errors.L007.format(who=who, loss=loss, n_rows=n_rows))


def with_head_rate(optimizer: Optimizer | None, encoder: Model, head_rate: float) -> Optimizer | None:
    """Return an optimizer with `head_rate` times the learning rate outside a component's encoder.

    optimizer (Optional[Optimizer]): An optimizer of thinc. Anything else, such as the one of
        spaCy's rehearsal, is returned as it is.
    encoder (Model): The part of the model that computes token vectors. If it contains a listener,
        the encoder is another component's, and all layers here are scaled.
    head_rate (float): Multiple of the learning rate.
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
