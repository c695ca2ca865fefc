"""Settings of the pipes that label tokens: the default model, what cfg keeps, head and loss checked."""

from thinc.api import Config, Model

from ...errors import Errors
from ...heads import HEADS
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...losses.base import Loss, check_loss
from ...settings import unused
from ...types import Block, TwoTaskState

DEFAULT_TOKEN_MODEL: Block = Config().from_str("""
[model]
@architectures = "longtail.TokenClassifier.v1"
nO = null

[model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 96
depth = 4
embed_size = 2000
window_size = 1
maxout_pieces = 3
subword_features = true
""")["model"]

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
    if head not in HEADS:
        raise ValueError(Errors.L211.format(found=head, who=who, known=", ".join(HEADS)))
    kind = HEADS[head]
    if scheme not in kind.schemes:
        others = ", ".join(name for name, h in HEADS.items() if scheme in h.schemes)
        raise unused("scheme", scheme, who, f"the heads {others}")
    if "output_layer" not in model.ref_names:
        raise ValueError(Errors.L216.format(who=who, found=model.name))
    if is_described(output_of(model)) and head == "two_task":
        raise ValueError(Errors.L273.format(head=head, who=who))
    if loss is None:
        return kind.default_loss()
    found = check_loss(loss, who)
    if head not in found.heads:
        reason = f"it trains {' or '.join(found.heads)}, not head = '{head}'"
        fix = f"Use longtail.{kind.default_loss.__name__}.v1 or another loss for it, or another head."
        raise ValueError(Errors.L002.format(who=who, loss=loss, reason=reason, fix=fix))
    return found
