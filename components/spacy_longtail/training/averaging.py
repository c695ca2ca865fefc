"""Combination of trained pipelines, by averaging their tag probabilities or their weights."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokenizer import Tokenizer
from spacy.util import set_dot_to_object
from spacy.vectors import Vectors
from thinc.api import PyTorchShim, to_numpy
from thinc.types import FloatsXd
from thinc.util import torch2xp

from ..errors import Errors
from ..layers.listeners import nodes_of
from ..pipes.neighbours import name_in
from ..pipes.sources import add_sources, sources_of
from ..pipes.token import ensemble_ner
from ..pipes.token.ensemble_ner import EnsembleNER
from ..pipes.token.ner import TokenNER
from ..pipes.token.tagging import TokenTagger
from ..types import ENTITY_SCORES, Block
from .loading import only_tagger

COSINE = 0.5  # minimum cosine of the weights of two runs; near 1 if they have the same start


def average(pipelines: Sequence[Language], paths: Sequence[Path | str]) -> EnsembleNER:
    """Replace the token NER of the first pipeline by an ensemble of the token NERs of all.

    Its tokenizer and its other components stay, except encoders to which only the NER listened,
    because each member has its own.

    pipelines (Sequence[Language]): At least two pipelines. The first is changed in place.
    paths (Sequence[Path | str]): Their paths, for messages.
    RETURNS (EnsembleNER): The new component, which averages tag probabilities.
    RAISES (ValueError): If the pipelines cannot be combined (L514).
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """
    taggers = list(map(_tagger, pipelines, paths))
    names = [cast(str, name_in(*pair)) for pair in zip(pipelines, taggers, strict=True)]
    nlp, tagger, name = pipelines[0], taggers[0], names[0]
    tags = [f"{t.tokens.codec.scheme} of {', '.join(sorted(t.tokens.codec.labels))}" for t in taggers]
    vectors = _check_alike(pipelines, paths, tags, f"it has other tags than {tags[0]}")
    encoders = list(map(_own_encoders, pipelines, names))
    blocks = {
        f"m{i}": {"head": t.cfg["head"], "model": pipeline.get_pipe_config(n)["model"]}
        for i, (pipeline, n, t) in enumerate(zip(pipelines, names, taggers, strict=True), start=1)
    }
    settings = {
        "members": blocks,
        "scheme": tagger.tokens.codec.scheme,
        "scores_key": tagger.cfg["scores_key"] or ENTITY_SCORES,
        "scorer": nlp.config.interpolate()["components"][name]["scorer"],
    }
    _resolve_config(pipelines)
    pipe = cast(EnsembleNER, nlp.replace_pipe(name, ensemble_ner.WHO, config=settings))
    pipe.compose(tagger.labels, dict(zip(blocks, taggers, strict=True)))
    if vectors is not None:
        nlp.vocab.vectors = vectors
    for encoder in encoders[0]:
        if not getattr(nlp.get_pipe(encoder), "listener_map", {}):
            nlp.remove_pipe(encoder)
    return pipe


def _tagger(nlp: Language, path: Path | str) -> TokenNER:
    tagger = only_tagger(nlp)
    if not isinstance(tagger, TokenNER):
        heads = (getattr(pipe, "cfg", {}).get("head") for _, pipe in nlp.pipeline)
        shown = [f"{n} (head = {h!r})" if h else n for n, h in zip(nlp.pipe_names, heads, strict=True)]
        raise refused(
            path,
            f"its components are {', '.join(shown) or 'none'}",
            "Name pipelines whose only NER is a longtail_token_ner with head = 'softmax' or 'crf'.",
        )
    _check_not_judged(path, tagger)
    return tagger


def _own_encoders(nlp: Language, name: str) -> list[str]:
    """Copy the encoders to which a component listens into it, and return their names."""
    block = nlp.get_pipe_config(name)
    block.update(nlp.config.interpolate()["components"][name])
    encoders = []
    for upstream, pipe in nlp.pipeline:
        if not getattr(pipe, "listener_map", {}).get(name):
            continue
        encoders.append(upstream)
        block_of_upstream = nlp.config.interpolate()["components"][upstream]["model"]
        attrs = cast(TrainablePipe, pipe).model.attrs
        as_own = attrs.get("replace_listener_cfg", lambda block, _: block)
        listeners = dict(_listeners(block["model"], "model", upstream))
        nlp.replace_listeners(upstream, name, list(listeners))
        # spaCy expects the listener in model.tok2vec
        for path, listener in listeners.items():
            set_dot_to_object(block, path, as_own(block_of_upstream, listener))
    return encoders


def _listeners(block: Block, path: str, upstream: str) -> Iterator[tuple[str, Block]]:
    """Yield the config blocks of listeners to a component in a model, with their dotted names."""
    if "Listener" in block.get("@architectures", "") and block.get("upstream", "*") in ("*", upstream):
        yield path, dict(block)
    for key, value in block.items():
        if isinstance(value, dict):
            yield from _listeners(value, f"{path}.{key}", upstream)


def average_weights(pipelines: Sequence[Language], paths: Sequence[Path | str]) -> None:
    """Average the weights of runs of one config, and store the means in the first pipeline.

    The runs must have started from the same weights, such as those of a pretrained encoder. Then
    they end in the same valley of the loss, in which the mean is often better than each of them.
    Other state of the components is that of the first run.

    pipelines (Sequence[Language]): At least two pipelines. The first is changed in place.
    paths (Sequence[Path | str]): Their paths, for messages.
    RAISES (ValueError): If the pipelines are no runs of one config from one start (L514).
    SOURCE: Wortsman et al. 2022, arXiv:2203.05482 (the uniform soup).
    """
    for nlp, path in zip(pipelines, paths, strict=True):
        for name, pipe in nlp.pipeline:
            if isinstance(pipe, EnsembleNER):
                raise refused(path, f"{name!r} is an ensemble", "Name the runs that it was made of.")
            _check_not_judged(path, pipe)
    weights = list(map(_weights, pipelines))
    unlike = f"its architecture, types or settings differ from those of {paths[0]}"
    _check_alike(pipelines, paths, list(map(_comparable_state, pipelines, weights)), unlike)
    for path, arrays in zip(paths, weights, strict=True):
        cosine = _cosine(weights[0], arrays)
        if cosine < COSINE:
            raise refused(
                path,
                f"it and {paths[0]} did not start from the same weights: the cosine similarity of their "
                f"weights is {cosine:.2f}",
                "Omit --weights to average their probabilities instead, or train runs that start from "
                "the same pretrained encoder, as configs/pretrained_cnn.cfg does.",
            )
    means = [sum(array for _, array in several) / len(paths) for several in zip(*weights, strict=True)]
    for (_, array), mean in zip(weights[0], means, strict=True):  # at last, because some may be tied
        array[...] = mean
    _resolve_config(pipelines)


def _weights(nlp: Language) -> list[tuple[str, FloatsXd]]:
    """Return all parameters of a pipeline with their names, sharing its memory."""
    arrays: list[tuple[str, FloatsXd]] = []
    for node in nodes_of(nlp):
        arrays += [(n, node.get_param(n)) for n in node.param_names if node.has_param(n)]
        for shim in (shim for shim in node.shims if isinstance(shim, PyTorchShim)):
            tensors = shim._model.state_dict().items()
            arrays += [(n, torch2xp(t)) for n, t in tensors if t.is_floating_point()]
    return arrays


def _comparable_state(nlp: Language, weights: Sequence[tuple[str, FloatsXd]]) -> list[object]:
    """Return settings, labels and shapes of weights, which are equal for runs of one config."""
    return [
        [(name, getattr(pipe, "cfg", {})) for name, pipe in nlp.pipeline],
        [pipe.tokens.class_values for _, pipe in nlp.pipeline if isinstance(pipe, TokenTagger)],
        [(getattr(p, "labels", ()), getattr(p, "move_names", ())) for _, p in nlp.pipeline],
        [(name, array.shape) for name, array in weights],
        [list(n.attrs["matcher"].names.items()) for n in nodes_of(nlp) if "matcher" in n.attrs],
    ]


def _cosine(first: Sequence[tuple[str, FloatsXd]], other: Sequence[tuple[str, FloatsXd]]) -> float:
    """Return the cosine between the weights of two pipelines."""
    products = np.zeros(3)
    for (_, a), (_, b) in zip(first, other, strict=True):
        a, b = (to_numpy(vector).ravel().astype("float64") for vector in (a, b))
        products += a @ b, a @ a, b @ b
    return float(products[0] / np.sqrt(products[1] * products[2] or 1.0))


def refused(path: Path | str, problem: str, fix: str) -> ValueError:
    """Return the error for a pipeline that cannot be combined with others."""
    return ValueError(Errors.L514.format(path=path, problem=problem, fix=fix))


def _check_not_judged(path: Path | str, pipe: Any) -> None:
    judged = [name for name in ("thresholds", "calibration") if getattr(pipe, "cfg", {}).get(name)]
    if judged:
        raise refused(
            path,
            f"{pipe.name!r} has {' and '.join(judged)} of its own",
            "Name the pipeline from before `thresholds`: its thresholds are wrong for averaged scores.",
        )


def _check_alike(
    pipelines: Sequence[Language], paths: Sequence[Path | str], builds: Sequence[object], problem: str
) -> Vectors | None:
    """Refuse pipelines that differ from the first, and return the word vectors of all, if any."""
    tables = [nlp.vocab.vectors for nlp in pipelines if len(nlp.vocab.vectors)]
    known = _input_settings(pipelines[0])
    for nlp, path, build in zip(pipelines, paths, builds, strict=True):
        reads, vectors = _input_settings(nlp), nlp.vocab.vectors
        others = [what for what in reads if reads[what] != known[what]]
        others += ["word vectors"] if len(vectors) and vectors != tables[0] else []
        if others or build != builds[0]:
            raise refused(
                path,
                f"its {' and '.join(others)} are not those of {paths[0]}" if others else problem,
                "Name pipelines that one config trained with different seeds.",
            )
    return tables[0] if tables else None


def _input_settings(nlp: Language) -> Block:
    """Return language, tokenizer and lookups of a pipeline."""
    rules = cast(Tokenizer, nlp.tokenizer).to_bytes(exclude=["vocab"])
    lookups = nlp.vocab.lookups
    return {
        "language": nlp.lang,
        "tokenizer": (nlp.config.interpolate()["nlp"]["tokenizer"], rules),
        "vocab.lookups": {name: dict(lookups.get_table(name)) for name in lookups.tables},
    }


def _resolve_config(pipelines: Sequence[Language]) -> None:
    """Interpolate the config of the first pipeline, because its blocks may be removed.

    Different seeds become null, and scores of the first pipeline are removed.
    """
    nlp = pipelines[0]
    whole = nlp.config.interpolate()
    seeds = {pipeline.config.interpolate()["training"]["seed"] for pipeline in pipelines}
    whole["training"]["seed"] = seeds.pop() if len(seeds) == 1 else None
    for name in nlp.component_names:
        nlp.get_pipe_config(name).update(whole["components"][name])
    nlp.config = whole
    nlp.meta["performance"] = {}
    for pipeline in pipelines[1:]:
        add_sources(nlp, sources_of(pipeline.meta))
