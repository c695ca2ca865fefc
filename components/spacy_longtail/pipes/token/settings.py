"""Settings of the pipes that label tokens: the default model, what cfg keeps, checks of heads."""

from thinc.api import Model

from ...errors import Errors
from ...heads import HEADS
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...losses.base import Loss, check_loss
from ...settings import unused
from ...types import Block, TwoTaskState

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
DEFAULT_TOKEN_MODEL: Block = {
    "@architectures": "longtail.TokenClassifier.v1",
    "nO": None,
    "tok2vec": HASH_EMBED_CNN,
}

SETTINGS: Block = {
    "head": "softmax",
    "scheme": "BIO",
    "types": [],  # the gold types that are learnt, in the order of their columns
    "warmup": 0,
    "class_values": None,  # what the loss's preset resolved to, by class
    "state": TwoTaskState()._asdict(),
    "descriptions": {},  # by type, of a model that has use for them
}


def check_head(head: str, loss: object, scheme: str, model: Model, who: str) -> Loss:
    """The loss to train the head with; its default for null."""
    kind = HEADS[head]
    if scheme not in kind.schemes:
        others = ", ".join(name for name, h in HEADS.items() if scheme in h.schemes)
        raise unused("scheme", scheme, who, f"the heads {others}")
    if "output_layer" not in model.ref_names:
        raise no_outputs(model, who)
    if is_described(output_of(model)) and head == "two_task":
        problem = "longtail.DescribedTypes.v1 gives one output per tag, head = 'two_task' has others"
        fix = "Use head = 'softmax', 'sigmoid' or 'crf', or longtail.TokenClassifier.v1."
        raise ValueError(Errors.L209.format(who=who, problem=problem, fix=fix))
    fix = f"Use longtail.{kind.default_loss.__name__}.v1 or another loss for it, or another head."
    trained_with: Loss = kind.default_loss() if loss is None else check_loss(loss, head, who, fix)
    return trained_with


def no_outputs(model: Model, who: str) -> ValueError:
    """To be raised of a model that gives no outputs per token."""
    problem = f"{model.name!r} gives no outputs per token"
    fix = "Use longtail.TokenClassifier.v1, with the encoder as its tok2vec."
    return ValueError(Errors.L209.format(who=who, problem=problem, fix=fix))
