"""What a bi-encoder starts from: a published transformer, or a pipeline that was pretrained."""

import copy
from pathlib import Path
from typing import Any, NamedTuple

import spacy
import torch
from spacy.language import Language
from thinc.api import to_numpy
from tokenizers import Tokenizer
from torch import nn

from ...describers.label_encoder import FILE, LabelEncoder
from ...encoders import META, check_encoder, located
from ...errors import Errors
from ...heads.outputs import output_of
from ...layers.described import is_described
from ...models.transformer import NAME, encoder_of
from ..encoders import check_transformer
from .model import PREFIXES, BiEncoder

ENCODER, TEACHER = "the encoder", "the teacher"


class Start(NamedTuple):
    """Weights to go on from."""

    model: BiEncoder
    labels: nn.Module  # the transformer that reads label descriptions
    tokenizer: Tokenizer
    label_file: bytes | None = None  # of a pipeline: its weights in few bits are kept


def read_start(name: str, layers: int | None = None, role: str = ENCODER) -> Start:
    """Read a transformer, or a pipeline of one that `pretrain` wrote.

    name (str): A transformer on the hub or its folder, or an installed pipeline or its folder.
    layers (Optional[int]): To keep, spread over all, with the last; null keeps all.
    role (str): What it is to be.
    RAISES (ValueError): L221, L265, L408, L495; L720 for a teacher that is no pipeline.
    """
    # a published transformer has no predictions to teach
    folder = check_encoder(name) if role == TEACHER else located(name)
    found = _of_pipeline(name, folder, role) if (folder / META).is_file() else _published(name)
    _keep_layers(found.model.encoder, name, layers)
    return found


def _published(name: str) -> Start:
    from transformers import AutoModel, AutoTokenizer

    check_transformer(name)
    tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, add_prefix_space=True)
    encoder, backend = AutoModel.from_pretrained(name), tokenizer.backend_tokenizer
    if not _layers(encoder) or not hasattr(getattr(encoder, "embeddings", None), "word_embeddings"):
        problem = f"{type(encoder).__name__} is not built as BERT or RoBERTa are."
        raise ValueError(Errors.L265.format(name=name, problem=problem))
    encoder.pooler = None
    backend.no_padding()
    backend.no_truncation()
    return Start(BiEncoder(encoder), copy.deepcopy(encoder), backend)


def load_pipeline(name: str, folder: Path) -> Language:
    """The pipeline in a folder. name (str): That it was given by. RAISES (ValueError): L408."""
    try:
        return spacy.load(folder)
    except Exception as error:  # what is damaged can fail anywhere, each in its own way
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L408.format(path=name, problem=problem)) from error


def _of_pipeline(name: str, folder: Path, role: str) -> Start:
    nlp = load_pipeline(name, folder)
    layer = described_layer(nlp)
    encoder = next((model for model in _models(nlp) if model.name == NAME), None)
    if (
        layer is None
        or encoder is None
        or (layer.get_dim("nO") and layer.get_param("P").shape[0] != PREFIXES)
    ):
        problem = f"it has the components {', '.join(nlp.pipe_names) or 'none'}, none of them pretrained"
        fix = "Name a transformer, or a pipeline that `pretrain` wrote of one, as the folder model/"
        raise ValueError(Errors.L495.format(path=name, role=role, problem=problem, fix=fix))
    words = encoder_of(encoder)
    model = BiEncoder(words.encoder, layer.get_dim("nM"))
    values = {"P": layer.get_param("P"), "Q": layer.get_param("Q")}
    values |= {"o.weight": layer.get_param("W")[:1], "o.bias": layer.get_param("b")[:1]}
    arrays = {key: torch.from_numpy(to_numpy(value).copy()) for key, value in values.items()}
    model.load_state_dict(arrays, strict=False)
    labels = LabelEncoder(str(folder))._loaded.encoder
    return Start(model, labels, words.tokenizer, (folder / FILE).read_bytes())


def described_layer(nlp: Language) -> Any:
    """The described output layer of a pipeline, where it has one."""
    layers = (output_of(model) for model in _models(nlp) if "output_layer" in model.ref_names)
    return next((layer for layer in layers if is_described(layer)), None)


def _models(nlp: Language) -> list[Any]:
    return [pipe.model for _, pipe in nlp.pipeline if hasattr(pipe, "model")]


def _layers(encoder: Any) -> nn.ModuleList | None:
    found = getattr(getattr(encoder, "encoder", None), "layer", None)
    return found if isinstance(found, nn.ModuleList) else None


def _keep_layers(encoder: Any, name: str, layers: int | None) -> None:
    """Leave out layers. RAISES (ValueError): L495 where there are not as many."""
    if layers is None:
        return
    own = encoder.encoder.layer
    if layers > len(own):
        role, fix = f"cut to {layers} layers", f"Give --layers {len(own)} or fewer"
        problem = f"it has {len(own)}"
        raise ValueError(Errors.L495.format(path=name, role=role, problem=problem, fix=fix))
    kept = [own[round((i + 1) * len(own) / layers) - 1] for i in range(layers)]
    encoder.encoder.layer = nn.ModuleList(kept)
    encoder.config.num_hidden_layers = layers
