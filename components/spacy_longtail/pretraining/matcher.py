"""The head: words and label descriptions are compared, in torch and in the pipeline that is written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import spacy
import torch
from spacy.language import Language
from spacy.training import Example
from torch import Tensor, nn

from ..encoders import located
from ..errors import Errors
from ..heads.outputs import output_of
from ..layers.described import is_described

SCALE = 8.0  # of label vectors, which have unit length, as in layers.described
PREFIXES = 2  # B and I
_NAMES = (
    "person|organization|location|event|creative work|product|date|time|quantity|money|disease|"
    "chemical|species|law|award|language|nationality|occupation"
)
GENERAL = {  # types that a pipeline looks for before it is told others, and their descriptions
    **{name: name for name in _NAMES.split("|")},
    "money": "amount of money",
    "chemical": "chemical substance",
}


class Matcher(nn.Module):
    """z[token, type, k] = 8 <P_k h, Q_k d> / sqrt(width), and <o, h> + b for O.

    h is a word as the encoder reads it, d the vector of a label, of unit length.

    encoder (nn.Module): What reads words. n_words, n_labels (int): Columns of h and of d.
    width (int): Columns in which words and labels are compared.
    """

    def __init__(self, encoder: nn.Module, n_words: int, n_labels: int, width: int) -> None:
        super().__init__()
        self.encoder, self.width = encoder, width
        self.P = nn.Parameter(torch.empty(PREFIXES, width, n_words))
        self.Q = nn.Parameter(torch.empty(PREFIXES, width, n_labels))
        for part in (self.P, self.Q):
            for k in range(PREFIXES):
                nn.init.xavier_uniform_(part[k])
        self.o = nn.Linear(n_words, 1)
        nn.init.zeros_(self.o.bias)

    def logits(self, states: Tensor, vectors: Tensor) -> Tensor:
        """One row of logits per word: O, then B and I of each type.

        states (Tensor): (n_words, n_columns of h). vectors (Tensor): (n_types, n_columns of d).
        RETURNS (Tensor): (n_words, 1 + 2 n_types).
        """
        words = torch.einsum("nh,kmh->nkm", states, self.P)
        types = torch.einsum("th,kmh->tkm", vectors, self.Q) * (SCALE / self.width**0.5)
        matched = torch.einsum("nkm,tkm->ntk", words, types).reshape(len(states), -1)
        return torch.cat([self.o(states), matched], dim=1)

    def pairs(self, layer: Any) -> list[tuple[Any, str, Tensor]]:
        """Each parameter of the head with the first rows of its place in a described output layer."""
        values = {"P": self.P, "Q": self.Q, "W": self.o.weight, "b": self.o.bias}
        return [(layer, name, value) for name, value in values.items()]


def read_pipeline(name: str) -> Language:
    """An installed pipeline or one in a folder. name (str): Its name or path."""
    try:
        return spacy.load(located(name))
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L408.format(path=name, problem=problem)) from error


def no_start(name: str, role: str, problem: str, fix: str) -> ValueError:
    """L495, to be raised of what cannot be started from."""
    return ValueError(Errors.L495.format(path=name, role=role, problem=problem, fix=fix))


def models_of(nlp: Language) -> list[Any]:
    """The models of a pipeline's components."""
    return [pipe.model for _, pipe in nlp.pipeline if hasattr(pipe, "model")]


def described_layer(nlp: Language) -> Any:
    """The described output layer of a pipeline, where it has one."""
    layers = (output_of(model) for model in models_of(nlp) if "output_layer" in model.ref_names)
    return next((layer for layer in layers if is_described(layer)), None)


def add_described_ner(
    nlp: Language, head: Matcher, block: dict[str, str], describe: Callable[[list[str]], np.ndarray]
) -> None:
    """Add a `ner` for general types behind `tok2vec`, and initialise the pipeline.

    head (Matcher): Whose widths it takes. block (Dict[str, str]): The config of what reads
        descriptions. describe (Callable): That object, before its file is there.
    """
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": head.P.shape[2]}
    model = {"@architectures": "longtail.DescribedTypes.v1", "width": head.width, "residual": True}
    config = {"model": {**model, "tok2vec": listener}, "scores_key": "entity_scores", "describe": block}
    ner: Any = nlp.add_pipe("longtail_token_ner", name="ner", config=config)
    ner.describe = describe
    settings = {"labels": list(GENERAL), "descriptions": dict(GENERAL)}
    nlp.config["initialize"]["components"]["ner"] = settings
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])


def set_rows(node: Any, name: str, values: np.ndarray) -> None:
    """Set the first rows of a parameter of thinc; the others stay."""
    rows = node.get_param(name).copy()
    rows[: len(values)] = values
    node.set_param(name, rows)
