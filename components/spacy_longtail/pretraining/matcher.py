"""Head that compares words with label descriptions, in torch and in a pipeline."""

from collections.abc import Iterable
from typing import Any

import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, to_numpy
from torch import Tensor, nn

from ..layers.described import SCALE, is_described
from ..types import Block

N_PREFIXES = 2  # B and I
NAMES = (
    *("person", "organization", "location", "event", "creative work", "product", "date", "time"),
    *("quantity", "money", "disease", "chemical", "species", "law", "award", "language"),
    *("nationality", "occupation"),
)
# descriptions of the types that a pipeline predicts before it is given others
GENERAL = {
    **{name: name for name in NAMES},
    "money": "amount of money",
    "chemical": "chemical substance",
}

# a layer of thinc, the name of its parameter, and the tensor of its first rows in torch
Pairs = Iterable[tuple[Any, str, Tensor]]


class Matcher(nn.Module):
    """Bi-encoder: an encoder of words, and a head that compares words with label vectors.

    The logit of tag k (B or I) of a type is 8 <P_k h, Q_k d> / sqrt(width), and that of O is
    <o, h> + b. Here h is the encoder's state of the word, and d the vector of the type's
    description, of unit length.

    encoder (nn.Module): Encoder of words.
    n_words (int): Number of columns of h.
    n_labels (int): Number of columns of d.
    width (int): Number of columns in which words and labels are compared.
    """

    def __init__(self, encoder: nn.Module, n_words: int, n_labels: int, width: int) -> None:
        super().__init__()
        self.encoder, self.width = encoder, width
        self.P = nn.Parameter(torch.empty(N_PREFIXES, width, n_words))
        self.Q = nn.Parameter(torch.empty(N_PREFIXES, width, n_labels))
        for part in (self.P, self.Q):
            for k in range(N_PREFIXES):
                nn.init.xavier_uniform_(part[k])
        self.o = nn.Linear(n_words, 1)
        nn.init.zeros_(self.o.bias)

    def logits(self, states: Tensor, vectors: Tensor) -> Tensor:
        """Return the logits of O and of B and I of each type, shape (n_words, 1 + 2 * n_types).

        states (Tensor): States of words, shape (n_words, n_columns of h).
        vectors (Tensor): Vectors of labels, shape (n_types, n_columns of d).
        """
        words = torch.einsum("nh,kmh->nkm", states, self.P)
        types = torch.einsum("th,kmh->tkm", vectors, self.Q) * (SCALE / self.width**0.5)
        matched = torch.einsum("nkm,tkm->ntk", words, types).reshape(len(states), -1)
        return torch.cat([self.o(states), matched], dim=1)

    def pairs(self, nlp: Language) -> Pairs:
        """Pair the head's parameters in a pipeline with their tensors in torch.

        For W and b, torch has only the row of O.
        """
        values = {"P": self.P, "Q": self.Q, "W": self.o.weight, "b": self.o.bias}
        return [(head_of(nlp), name, value) for name, value in values.items()]


def head_of(nlp: Language) -> Any:
    """Return the output layer of a pipeline that `pretrain` wrote; None for other pipelines."""
    ner: Any = nlp.get_pipe("ner") if {"tok2vec", "ner"} <= set(nlp.pipe_names) else None
    model = getattr(ner, "model", None)
    layer = model.maybe_get_ref("output_layer") if isinstance(model, Model) else None
    is_own = layer is not None and is_described(layer) and len(layer.get_param("P")) == N_PREFIXES
    return layer if is_own else None


def read_weights(pairs: Pairs) -> None:
    """Copy weights of a pipeline to torch."""
    for layer, name, values in pairs:
        values.data.copy_(torch.from_numpy(to_numpy(layer.get_param(name))[: len(values)]))


def write_weights(pairs: Pairs) -> None:
    """Copy weights of torch into a pipeline. Further rows of the pipeline's layers are kept."""
    for layer, name, values in pairs:
        rows = layer.get_param(name).copy()
        rows[: len(values)] = values.detach().cpu().float().numpy()
        layer.set_param(name, rows)


def add_described_ner(nlp: Language, head: Matcher, block: Block, data: bytes = b"") -> None:
    """Add an NER for general types after `tok2vec`, and initialize the pipeline.

    nlp (Language): The pipeline, with the component `tok2vec`.
    head (Matcher): Defines the widths.
    block (Block): Config of the describer.
    data (bytes): Data of the describer, without what it shares with `tok2vec`.
    """
    model = {
        "@architectures": "longtail.DescribedTypes.v1",
        "width": head.width,
        "residual": True,
        "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": head.P.shape[2]},
    }
    config = {"model": model, "scores_key": "entity_scores", "describe": block}
    ner: Any = nlp.add_pipe("longtail_token_ner", name="ner", config=config)
    ner.describe.from_bytes(data)
    nlp.config["initialize"]["components"]["ner"] = {
        "labels": list(GENERAL),
        "descriptions": dict(GENERAL),
    }
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])
