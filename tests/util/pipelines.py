"""Small pipelines, and their training."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import spacy
from spacy.lang.en import English
from spacy.language import Language
from spacy.training import Example
from spacy.util import fix_random_seed

from .documents import SENTENCES, blank, examples, parse

SMALL = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "embed_size": 200}
SMALL |= {"width": 16, "depth": 1, "window_size": 1, "maxout_pieces": 2, "subword_features": True}
TOKEN_MODEL = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": SMALL}
GATE_MODEL = {"@architectures": "longtail.SentenceGate.v1", "tok2vec": SMALL, "hidden_width": 16}
MRC_MODEL = {
    "@architectures": "longtail.MRC.v1",
    "tok2vec": {**SMALL, "depth": 2, "window_size": 10},  # each token sees the query
    "hidden_width": 16,
}
DESCRIBED_MODEL = {"@architectures": "longtail.DescribedTypes.v1", "width": 16, "tok2vec": SMALL}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"}
QUERIES = {"PER": "persons", "GEO": "towns and cities", "ART": "ships", "NAT": "storms"}
WEAK = ["NAT", "ART"]
MOM = {"@losses": "longtail.MoM.v1", "lam": 0.3, "base": {"@losses": "longtail.Focal.v1", "gamma": 2.0}}
HEADS: dict[str, dict] = {
    "softmax": {},
    "softmax-biluo": {"scheme": "BILUO"},
    "sigmoid": {"head": "sigmoid"},
    "crf": {"head": "crf"},
    "crf-biluo": {"head": "crf", "scheme": "BILUO"},
    "crf-mom": {"head": "crf", "loss": {"@losses": "longtail.MoM.v1", "lam": 0.5}},
    "two_task": {"head": "two_task"},
    "two_task-alternating": {"head": "two_task", "loss": {"@losses": "longtail.CompositionalAUC.v1"}},
}
# overrides of a config that trains in a second
TINY = {
    "training.max_steps": 12,
    "training.eval_frequency": 6,
    "training.optimizer.learn_rate": 0.02,
    "components.tok2vec.model.width": 32,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 200,
}


def small_ner(**settings):
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "tok2vec": SMALL}
    sizes = {"hidden_width": 16, "maxout_pieces": 2, "use_upper": True, "extra_state_tokens": False}
    return {"model": {**parser, **sizes}, **settings}


def one_pipe(factory: str = "longtail_token_ner", name: str = "ner", **config) -> Language:
    """A pipeline of one component, untrained. config: Settings of the component."""
    nlp = blank()
    nlp.add_pipe(factory, name=name, config=config)
    return nlp


def train(nlp: Language, steps: int = 12, seed: int = 0, drop: float = 0.1, **initialize):
    """Seeded training; returns the loss of each step."""
    fix_random_seed(seed)
    data = examples(nlp)
    for name, settings in initialize.items():
        nlp.config["initialize"]["components"][name] = settings
    optimizer = nlp.initialize(lambda: examples(nlp))
    optimizer.learn_rate = 0.01
    random.seed(seed)
    np.random.seed(seed)
    history = []
    for _ in range(steps):
        losses: dict[str, float] = {}
        nlp.update(
            [Example(eg.predicted.copy(), eg.reference) for eg in data],
            sgd=optimizer,
            drop=drop,
            losses=losses,
        )
        history.append(losses)
    return history


def train_further(
    nlp: Language, data: list[Example] | None = None, steps: int = 40, learn_rate: float = 0.01
) -> dict[str, float]:
    """Continue the training of a pipeline, by default on the toy corpus; return the last losses."""
    optimizer = nlp.resume_training()
    optimizer.learn_rate = learn_rate
    for _ in range(steps):
        losses = nlp.update(data or examples(nlp), sgd=optimizer, losses={})
    return losses


def from_bytes(nlp: Language) -> Language:
    """Return a copy of a pipeline, made from its config and its bytes."""
    return blank().from_config(nlp.config).from_bytes(nlp.to_bytes())


def reloaded(nlp: Language, folder: Path) -> Language:
    """Save a pipeline to a folder, and load it from there."""
    nlp.to_disk(folder)
    return spacy.load(folder)


_TRAINED: dict[str, tuple] = {}


def trained_once(build: Callable[..., Language], steps: int, drop: float = 0.1, **settings):
    """A pipeline that is trained once for all tests with the same settings, and loaded for each.

    RETURNS (tuple[Language, list]): A pipeline of the test's own, and the loss of each step.
    """
    key = repr((build.__module__, build.__name__, steps, drop, settings))
    if key not in _TRAINED:
        nlp = build(**settings)
        history = train(nlp, steps, drop=drop)
        _TRAINED[key] = nlp.config, nlp.to_bytes(), history
    config, data, history = _TRAINED[key]
    return English.from_config(config).from_bytes(data), history


def params(pipe) -> list[np.ndarray]:
    """The weights of a pipe; none of one without a model."""
    if hasattr(pipe, "gliner"):
        return [weights.numpy().copy() for weights in pipe.gliner.model.state_dict().values()]
    if not hasattr(pipe, "model"):
        return []
    return [
        np.asarray(layer.get_param(name)).copy()
        for layer in pipe.model.walk()
        for name in layer.param_names
        if layer.has_param(name)
    ]


def same_weights(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    """Return whether two lists, as `params` returns them, are equal to the last bit."""
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def toy_vectors(nlp: Language, width: int = 8) -> Language:
    """Give a pipeline a vector for each word of the toy corpus but those with a capital M."""
    rng = np.random.default_rng(0)
    for word in sorted({t.text for s in SENTENCES for t in parse(nlp, s)}):
        if not word.startswith("M"):
            nlp.vocab.set_vector(word, rng.standard_normal(width).astype("f"))
    return nlp
