"""Several pipelines as one: their token NERs as members of an ensemble, in place of the first one's."""

import warnings
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, cast

from spacy.language import Language
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.util import set_dot_to_object

from ..errors import Warnings
from ..heads import SOFT_HEADS
from ..layers import listener_in
from ..pipes.sources import add_sources, sources_of
from ..pipes.token import ensemble_ner
from ..pipes.token.ensemble_ner import EnsembleNER
from ..pipes.token.ner import TokenNER
from ..types import ENTITY_SCORES, Block
from .alike import SEEDS, SPLIT, check_not_judged, common_vectors, refused, settle, unlike
from .teacher import only_tagger

NOT_ONE = "is not one longtail_token_ner with a softmax or CRF head that alone reads entities"
USE = (
    "Name pipelines with a longtail_token_ner, head = 'softmax' or 'crf', as configs/token_softmax.cfg "
    "and configs/token_crf.cfg train them: others have no distribution over tags to average."
)
ONE_TENSOR = "Its listener reads what the last of them wrote; let one of them alone stand before it."


class Read(NamedTuple):
    """A pipeline that is to be a member."""

    nlp: Language
    path: Path | str
    name: str  # of its token NER
    tagger: TokenNER


def average(
    nlp: Language, path: Path | str, others: Sequence[Language], paths: Sequence[Path | str]
) -> EnsembleNER:
    """Put the token NERs of several pipelines in the place of that of the first.

    The first stays what it is but for that: its tokenizer and its other components. An encoder that
    only the NER listened to goes; each member has one of its own.

    nlp (Language): The first pipeline; it is changed. path (Path | str): Of it.
    others (Sequence[Language]): The others; they are changed. paths (Sequence[Path | str]): Of them.
    RETURNS (EnsembleNER): The new component. It reads by the mean of their tag probabilities.
    RAISES (ValueError): L514.
    SOURCE: Lakshminarayanan et al. 2017, arXiv:1612.01474.
    """
    first = _member(nlp, path)
    members = [first, *map(_member, others, paths)]
    for own in members[1:]:
        if problem := _unlike(own, first):
            raise refused(own.path, problem, SEEDS)
    vectors = common_vectors(members)
    encoders = [own_encoders(own.nlp, own.name) for own in members]
    if len({sha256(own.tagger.model.to_bytes()).digest() for own in members}) < len(members):
        warnings.warn(Warnings.W067.format(paths=", ".join(str(m.path) for m in members)), stacklevel=2)
    _warn_of_others(members, encoders)
    blocks = {f"m{i}": _block(own) for i, own in enumerate(members, start=1)}
    settings = {
        "members": blocks,
        "scheme": first.tagger.codec.scheme,
        "scores_key": first.tagger.cfg["scores_key"] or ENTITY_SCORES,
        "scorer": nlp.config.interpolate()["components"][first.name]["scorer"],
    }
    settle(nlp, members)
    pipe = cast(EnsembleNER, nlp.replace_pipe(first.name, ensemble_ner.WHO, config=settings))
    pipe.compose(first.tagger.cfg["types"], dict(zip(blocks, (m.tagger for m in members), strict=True)))
    for own in members[1:]:
        add_sources(nlp, sources_of(own.nlp.meta))
    if vectors is not None:
        nlp.vocab.vectors = vectors
    for encoder in encoders[0]:
        if not getattr(nlp.get_pipe(encoder), "listener_map", {}):
            nlp.remove_pipe(encoder)
    return pipe


def _member(nlp: Language, path: Path | str) -> Read:
    """The token NER of a pipeline. RAISES (ValueError): L514."""
    tagger = only_tagger(nlp)
    name = next((name for name, pipe in nlp.pipeline if pipe is tagger), "")
    if isinstance(tagger, EnsembleNER):
        raise refused(path, f"{name!r} is an ensemble itself", SPLIT)
    if not isinstance(tagger, TokenNER):
        raise refused(path, f"{_shown(nlp)} {NOT_ONE}", USE)
    check_not_judged(path, tagger)
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    tensors = [n for n in before if "doc.tensor" in nlp.get_pipe_meta(n).assigns]
    if len(tensors) > 1 and listener_in(tagger.model):
        raise refused(path, f"{', '.join(tensors)} write doc.tensor before {name!r}", ONE_TENSOR)
    return Read(nlp, path, name, tagger)


def _shown(nlp: Language) -> str:
    """The components, and the heads of token NERs that have others."""
    heads = {n: getattr(p, "cfg", {}).get("head", "softmax") for n, p in nlp.pipeline}
    odd = [f"{n} (head = {h!r})" if h not in SOFT_HEADS else n for n, h in heads.items()]
    return ", ".join(odd) or "a pipeline without components"


def _unlike(own: Read, first: Read) -> str:
    """How a pipeline reads or tags otherwise than the first, in words; "" where it does not."""
    codecs = own.tagger.codec, first.tagger.codec
    if set(codecs[0].tags) != set(codecs[1].tags):
        found, known = (f"{codec.scheme} of {', '.join(codec.labels)}" for codec in codecs)
        return f"its tags are {found}, those of {first.path} {known}"
    return unlike(own, first)


def own_encoders(nlp: Language, name: str) -> list[str]:
    """Give a component a copy of each encoder that it listens to, in its model and its config.

    nlp (Language): The pipeline; it is changed. name (str): Of the component.
    RETURNS (List[str]): The components with these encoders.
    """
    block = nlp.get_pipe_config(name)
    block.update(nlp.config.interpolate()["components"][name])
    found = []
    for upstream, pipe in nlp.pipeline:
        if not getattr(pipe, "listener_map", {}).get(name):
            continue
        found.append(upstream)
        own = nlp.config.interpolate()["components"][upstream]["model"]
        attrs = cast(TrainablePipe, pipe).model.attrs
        as_own = attrs.get("replace_listener_cfg", lambda block, _: block)
        listeners = {path: b for path, b in _listeners(block["model"], "model") if _hears(b, upstream)}
        nlp.replace_listeners(upstream, name, list(listeners))
        # spaCy looks at model.tok2vec, wherever the listener is
        for path, listener in listeners.items():
            set_dot_to_object(block, path, as_own(own, listener))
    return found


def _listeners(block: Block, path: str) -> Iterator[tuple[str, Block]]:
    """The blocks of listeners in a model's block, with their places in the component's."""
    if "Listener" in block.get("@architectures", ""):
        yield path, dict(block)
    for key, value in block.items():
        if isinstance(value, dict):
            yield from _listeners(value, f"{path}.{key}")


def _hears(listener: Block, upstream: str) -> bool:
    return listener.get("upstream", "*") in ("*", upstream)


def _block(own: Read) -> Block:
    """The settings of a member."""
    return {"head": own.tagger.cfg["head"], "model": own.nlp.get_pipe_config(own.name)["model"]}


def _warn_of_others(members: Sequence[Read], encoders: Sequence[Collection[str]]) -> None:
    """Say which components of the other pipelines are left out."""
    first, *others = members
    for own, used in zip(others, encoders[1:], strict=True):
        names = [n for n in own.nlp.pipe_names if n != own.name and n not in used]
        if left := [n for n in names if n not in first.nlp.pipe_names]:
            shown = {"path": own.path, "names": ", ".join(left), "first": first.path}
            warnings.warn(Warnings.W066.format(**shown), stacklevel=3)
