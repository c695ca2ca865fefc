"""A transformer as a bi-encoder: what it starts from, and the pipeline that it becomes."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.language import Language
from thinc.api import to_numpy
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from ..corpus.tokenizers import blank
from ..describers.label_encoder import FILE, LabelEncoder, label_weights
from ..encoders import META, check_encoder, located
from ..errors import Errors
from ..layers.torch_layer import shim_of
from ..layers.torch_transformer import PieceEncoder, from_bytes, short_form
from ..models.transformer import NAME, encoder_of
from .encoders import check_transformer
from .matcher import (
    PREFIXES,
    Matcher,
    add_described_ner,
    described_layer,
    models_of,
    no_start,
    read_pipeline,
    set_rows,
)

ENCODER, TEACHER = "the encoder", "the teacher"
CPU = torch.device("cpu")
LABEL_POSITIONS, POSITIONS = 64, 256
BITS = (7.0, 6.0, 4.0)  # of weights on disk: layers, word embeddings, label encoder

Bits = tuple[float, float, float]

TEXTS = 512  # label texts that are read together


class BiEncoder(Matcher):
    """A transformer that reads words and labels.

    h is a word's first subword as the encoder reads it in its sentence, d the mean of a label's subwords
    as the same encoder reads the label, of unit length.

    encoder (nn.Module): A transformer of the library transformers.
    width (int): Columns in which words and labels are compared.
    """

    def __init__(self, encoder: nn.Module, width: int = 256) -> None:
        hidden = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]
        super().__init__(encoder, hidden, hidden, width)

    def states(self, ids: Tensor, mask: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Words as the encoder reads them, (n_words, hidden).

        ids, mask (Tensor): (n_sentences, n_subwords). rows, columns (Tensor): (n_words,), where the
        first subword of each word stands.
        """
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden[rows, columns].float()

    def describe(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Labels as the encoder reads them, (n_types, hidden). ids, mask: (n_types, n_subwords)."""
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weight = mask.unsqueeze(-1).float()
        return functional.normalize((hidden * weight).sum(1) / weight.sum(1), dim=1)


@torch.no_grad()
def encode(model: BiEncoder, texts: list[list[int]]) -> Tensor:
    """Vectors of label texts, (n_texts, hidden), without dropout. texts: As subwords."""
    was, device = model.training, model.P.device
    model.eval()
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = []
    for i in range(0, len(texts), TEXTS):
        rows = [torch.tensor(texts[k]) for k in order[i : i + TEXTS]]
        ids, mask = (pad_sequence(own, True) for own in (rows, [torch.ones_like(r) for r in rows]))
        vectors.append(model.describe(ids.to(device), mask.to(device)))
    model.train(was)
    return torch.cat(vectors)[torch.tensor(order).argsort().to(device)]


class Start(NamedTuple):
    """A transformer to go on from."""

    model: BiEncoder
    labels: nn.Module  # the transformer that reads label descriptions
    tokenizer: Tokenizer
    label_file: bytes | None = None  # of a pipeline: its weights in few bits are kept


def read_start(name: str, layers: int | None = None, role: str = ENCODER) -> Start:
    """Read a transformer, or a pipeline of one that `pretrain` wrote.

    name (str): A transformer on the hub or its folder, or an installed pipeline or its folder.
    layers (Optional[int]): To keep, spread over all, with the last; null keeps all.
    role (str): What it is to be.
    """
    # a published transformer has no predictions to teach
    folder = check_encoder(name) if role == TEACHER else located(name)
    start = _of_pipeline(name, folder, role) if (folder / META).is_file() else _published(name)
    if layers is not None:
        keep_layers(start.model.encoder, name, layers)
    return start


def _published(name: str) -> Start:
    from transformers import AutoModel, AutoTokenizer

    check_transformer(name)
    tokenizer = AutoTokenizer.from_pretrained(name, use_fast=True, add_prefix_space=True)
    encoder, backend = AutoModel.from_pretrained(name), tokenizer.backend_tokenizer
    layers = getattr(getattr(encoder, "encoder", None), "layer", None)
    embeddings = getattr(encoder, "embeddings", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(embeddings, "word_embeddings"):
        problem = f"{type(encoder).__name__} is not built as BERT or RoBERTa are."
        raise ValueError(Errors.L265.format(name=name, problem=problem))
    encoder.pooler = None
    backend.no_padding()
    backend.no_truncation()
    return Start(BiEncoder(encoder), copy.deepcopy(encoder), backend)


def _of_pipeline(name: str, folder: Path, role: str) -> Start:
    nlp = read_pipeline(name)
    layer = described_layer(nlp)
    encoder = next((model for model in models_of(nlp) if model.name == NAME), None)
    is_other = layer is not None and layer.get_dim("nO") and layer.get_param("P").shape[0] != PREFIXES
    if layer is None or encoder is None or is_other:
        problem = f"it has the components {', '.join(nlp.pipe_names) or 'none'}, none of them pretrained"
        fix = "Name a transformer, or a pipeline that `pretrain` wrote of one, as the folder model/"
        raise no_start(name, role, problem, fix)
    words = encoder_of(encoder)
    model = BiEncoder(words.encoder, layer.get_dim("nM"))
    for node, param, values in model.pairs(layer):
        values.data.copy_(torch.from_numpy(to_numpy(node.get_param(param))[: len(values)]))
    labels = LabelEncoder(str(folder))._loaded.encoder
    return Start(model, labels, words.tokenizer, (folder / FILE).read_bytes())


def keep_layers(encoder: Any, name: str, layers: int) -> None:
    """Leave out layers of a transformer. name (str): Of it. layers (int): To keep."""
    own = encoder.encoder.layer
    if layers > len(own):
        fix = f"Give --layers {len(own)} or fewer"
        raise no_start(name, f"cut to {layers} layers", f"it has {len(own)}", fix)
    kept = [own[round((i + 1) * len(own) / layers) - 1] for i in range(layers)]
    encoder.encoder.layer = nn.ModuleList(kept)
    encoder.config.num_hidden_layers = layers


def short_labels(start: Start, bits: Bits) -> tuple[bytes, nn.Module]:
    """What reads label descriptions, in few bits: its file, and the transformer that is read of it.

    Training with the vectors of the short weights makes up for what they lose.
    """
    module = _subword_encoder(start.labels, start.tokenizer, LABEL_POSITIONS)
    _, embeddings, labels = bits
    short = from_bytes(PieceEncoder(), short_form(module, labels, embeddings), CPU)
    if start.label_file is None:
        return label_weights(module, short, labels), short.encoder
    module.encoder.set_input_embeddings(short.encoder.get_input_embeddings())
    return start.label_file, module.encoder


def build_transformer(
    model: BiEncoder,
    describe: Callable[[list[str]], np.ndarray],
    name: str,
    tokenizer: Tokenizer,
    lang: str,
    tokens: str,
    bits: Bits,
) -> Language:
    """A pipeline of `tok2vec` and `ner`. Its file of the label encoder is to be written beside.

    model (BiEncoder): What was pretrained.
    describe (Callable): Descriptions to vectors, as the label encoder reads them.
    name (str): That the pipeline will be found by.
    lang (str): Of the donors, whose tokens are tokens.
    bits (Bits): Of weights on disk.
    """
    words = _subword_encoder(model.encoder, tokenizer, POSITIONS)
    data = short_form(words, *bits[:2])
    nlp = blank(lang, tokens)
    architecture = {"@architectures": "longtail.Transformer.v1"}
    tok2vec: Any = nlp.add_pipe("tok2vec", config={"model": architecture})
    shim = shim_of(tok2vec.model)
    shim._model = from_bytes(shim._model, data, CPU)
    shim._serialize_model = lambda module: data
    add_described_ner(nlp, model, {"@misc": "longtail.LabelEncoder.v1", "name": name}, describe)
    for node, param, values in model.pairs(described_layer(nlp)):  # archives pack bfloat16 well
        set_rows(node, param, values.detach().bfloat16().float().numpy())
    return nlp


def _subword_encoder(encoder: nn.Module, tokenizer: Tokenizer, most: int) -> PieceEncoder:
    """A transformer with its tokenizer, without the embeddings of positions that are never read."""
    found, embeddings = PieceEncoder(), getattr(encoder, "embeddings", None)
    config: Any = encoder.config
    positions = getattr(embeddings, "position_embeddings", None)
    if positions is not None and positions.num_embeddings > most and positions.padding_idx is None:
        positions.weight = nn.Parameter(positions.weight[:most].detach().clone())
        positions.num_embeddings = most
        config.max_position_embeddings = most
        for name in ("position_ids", "token_type_ids"):
            if hasattr(embeddings, name):
                cut = getattr(embeddings, name)[:, :most]
                embeddings.register_buffer(name, cut, persistent=False)  # type: ignore[union-attr]
    found.build(config, tokenizer, encoder)
    return found
