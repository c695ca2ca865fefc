"""Several runs as one network: the mean of their weights."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import srsly
from spacy.language import Language
from thinc.api import Model, PyTorchShim, to_numpy
from thinc.types import FloatsXd

from ..errors import Warnings
from ..pipes.sources import add_sources, sources_of
from ..pipes.token.ensemble_ner import EnsembleNER
from .alike import SEEDS, SPLIT, check_not_judged, common_vectors, refused, settle, unlike

STATE, UPDATES = "state", "n_updates"  # of a token NER, in its cfg
COSINE = 0.5  # of the weights of two runs: from one beginning it is near 1, from two near 0
BEGIN = (
    "Average their probabilities instead, without --weights; or train runs that begin with one "
    "pretrained encoder, as configs/pretrained_cnn.cfg does."
)


class Run(NamedTuple):
    """A trained pipeline, and where it was read from."""

    nlp: Language
    path: Path | str


def average_weights(
    nlp: Language, path: Path | str, others: Sequence[Language], paths: Sequence[Path | str]
) -> None:
    """Give a pipeline the mean of its own weights and those of other runs of its config.

    The runs must have begun with the same weights, as those do that begin with one pretrained encoder:
    then they end in one valley of the loss, in which the mean is often better than either. It is as
    large and as fast as one of them.

    Components without a network are those of the first run.

    nlp (Language): The first pipeline; it is changed. path (Path | str): Of it.
    others (Sequence[Language]): The others. paths (Sequence[Path | str]): Of them.
    RAISES (ValueError): L514 for runs that are not of one config, or did not begin alike.
    SOURCE: Wortsman et al. 2022, arXiv:2203.05482 (the uniform soup).
    """
    first, *rest = runs = [Run(nlp, path), *map(Run, others, paths)]
    for own in runs:
        for name, pipe in own.nlp.pipeline:
            if isinstance(pipe, EnsembleNER):
                raise refused(own.path, f"{name!r} is an ensemble", SPLIT)
            check_not_judged(own.path, pipe)
    known, *several = [_parts(own.nlp) for own in runs]
    for own, found in zip(rest, several, strict=True):
        if problem := unlike(own, first) or _difference(found, known, path):
            raise refused(own.path, problem, SEEDS)
    common_vectors(runs)
    weights = [list(_weights(own.nlp)) for own in runs]
    if len({_digest(found) for found in weights}) < len(runs):
        warnings.warn(Warnings.W067.format(paths=", ".join(str(r.path) for r in runs)), stacklevel=2)
    for own, found in zip(rest, weights[1:], strict=True):
        cosine = _cosine(weights[0], found)
        if cosine < COSINE:
            problem = f"its weights and those of {path} have a cosine of {cosine:.2f}: they began apart"
            raise refused(own.path, problem, BEGIN)
    means = [np.mean([own.value for own in several], axis=0) for several in zip(*weights, strict=True)]
    for own, mean in zip(weights[0], means, strict=True):  # when all are read: some may be tied
        own.put(mean)
    for name in nlp.pipe_names:
        cfgs = [_cfg(own.nlp.get_pipe(name)) for own in runs]
        if STATE in cfgs[0]:
            cfgs[0][STATE] = _mean_state([cfg[STATE] for cfg in cfgs])
    settle(nlp, runs)
    for own in rest:
        add_sources(nlp, sources_of(own.nlp.meta))


class Part(NamedTuple):
    """What a component is beside its weights."""

    shown: str  # its name and factory
    reads: list[Any]  # what it makes of its network's outputs, but for what it has learnt of them
    network: list[Any]


def _parts(nlp: Language) -> dict[str, Part]:
    """The components by name, in order."""
    found = {}
    for name, pipe in nlp.pipeline:
        cfg = {key: value for key, value in _cfg(pipe).items() if key != STATE}
        reads = [cfg, *(getattr(pipe, own, None) for own in ("labels", "move_names"))]
        shown = f"{name} ({nlp.get_pipe_meta(name).factory})"
        found[name] = Part(shown, reads, _network(pipe))
    return found


def _difference(found: Mapping[str, Part], known: Mapping[str, Part], path: Path | str) -> str:
    """Which component is built otherwise than in the pipeline at `path`, in words; "" for none."""
    shown = [", ".join(part.shown for part in own.values()) or "none" for own in (found, known)]
    if shown[0] != shown[1]:
        return f"its components are {shown[0]}, those of {path} {shown[1]}"
    for name, part in found.items():
        if part.reads != known[name].reads:
            return f"{name!r} has other types or settings than that of {path}"
        if part.network != known[name].network:
            return f"the network of {name!r} is built otherwise than that of {path}"
    return ""


def _cfg(pipe: Any) -> dict[str, Any]:
    return getattr(pipe, "cfg", {})


def _mean_state(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of what a two-task loss has learnt beside weights; as many updates as the longest run took."""
    values = {key: np.mean([own[key] for own in states], axis=0).tolist() for key in states[0]}
    return {**values, UPDATES: max(own[UPDATES] for own in states)}


def _network(pipe: Any) -> list[Any]:
    """The layers of a component, what they are beside their weights, and the weights' shapes."""
    if not isinstance(getattr(pipe, "model", None), Model):
        return []
    saved = srsly.msgpack_loads(pipe.model.to_bytes())
    shapes = [(own.name, own.value.shape) for own in _weights_of(pipe.model)]
    attrs = [{k: v for k, v in own.items() if k != "dropout_rate"} for own in saved["attrs"]]
    return [saved["nodes"], attrs, shapes]


class Weight(NamedTuple):
    """An array of weights, and how to put another in its place."""

    name: str
    value: FloatsXd  # on the CPU
    put: Callable[[FloatsXd], None]


def _weights(nlp: Language) -> Iterator[Weight]:
    for model in (getattr(pipe, "model", None) for _, pipe in nlp.pipeline):
        if isinstance(model, Model):
            yield from _weights_of(model)


def _weights_of(model: Model) -> Iterator[Weight]:
    """The weights of a model's layers and of its torch modules, always in one order."""
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                put = partial(_put_param, node, name)
                yield Weight(name, to_numpy(node.get_param(name)), put)
        for shim in node.shims:
            if isinstance(shim, PyTorchShim):
                for name, tensor in shim._model.state_dict().items():
                    if tensor.is_floating_point():
                        yield Weight(name, tensor.cpu().numpy(), partial(_put_tensor, tensor))


def _digest(weights: Sequence[Weight]) -> bytes:
    return sha256(b"".join(own.value.tobytes() for own in weights)).digest()


def _put_param(node: Model, name: str, value: FloatsXd) -> None:
    node.set_param(name, node.ops.asarray(value))


def _put_tensor(tensor: Any, value: FloatsXd) -> None:
    tensor.copy_(tensor.new_tensor(value))  # that of the module


def _cosine(first: Sequence[Weight], other: Sequence[Weight]) -> float:
    """Of all weights of two networks as one vector."""
    products = np.zeros(3)
    for own, their in zip(first, other, strict=True):
        a, b = own.value.ravel().astype("float64"), their.value.ravel().astype("float64")
        products += a @ b, a @ a, b @ b
    return float(products[0] / np.sqrt(products[1] * products[2] or 1.0))
