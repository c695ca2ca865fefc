"""Transformer as a bi-encoder: the weights to start from, and the pipeline that is written."""

import copy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from spacy.language import Language
from tokenizers import Tokenizer
from torch import Tensor, nn

from ..describers.base import mean_states
from ..describers.label_encoder import LabelEncoder, label_weights
from ..encoders import META, check_encoder, located
from ..errors import Errors
from ..hub import load_transformer
from ..layers.torch_format import from_bytes, short_form
from ..layers.torch_layer import shim_of
from ..layers.torch_transformer import PieceEncoder
from ..layers.windows import TRANSFORMER
from ..models.transformer import encoder_of
from ..training.loading import load_pipeline
from .batches import DonorBatch
from .donors import MIXED, unusable
from .matcher import Matcher, add_described_ner, head_of, read_weights, write_weights

ENCODER, TEACHER = "the encoder", "the teacher"
CPU = torch.device("cpu")
LABEL_POSITIONS, POSITIONS = 64, 256
LAYER_BITS, WORD_BITS, LABEL_BITS = 7, 6, 4  # bits per saved weight


class BiEncoder(Matcher):
    """Transformer that encodes both words and labels.

    The state of a word is that of its first subword in the sentence. The vector of a label is the
    mean of its subwords' states, of unit length.

    encoder (nn.Module): Transformer without a head.
    width (int): Number of columns in which words and labels are compared.
    """

    encoder: Any  # a PreTrainedModel

    def __init__(self, encoder: Any, width: int = 256) -> None:
        hidden = int(encoder.config.hidden_size)
        super().__init__(encoder, hidden, hidden, width)

    def states(self, batch: DonorBatch) -> Tensor:
        """Return the states of words, shape (n_words, hidden). A GPU computes in half precision."""
        device = batch.ids.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            hidden = self.encoder(input_ids=batch.ids, attention_mask=batch.mask)[0]
            return hidden[batch.sentences, batch.first].float()

    def describe(self, subwords: list[list[int]]) -> Tensor:
        """Return the vectors of labels, shape (n_labels, hidden).

        subwords (List[List[int]]): Subwords of each label, with special ones.
        """
        return mean_states(self.encoder, subwords)


class TransformerStart(NamedTuple):
    """Transformer that pretraining starts from or learns from."""

    model: BiEncoder
    labels: nn.Module  # transformer that encodes label descriptions
    tokenizer: Tokenizer
    label_data: bytes | None = None  # quantized label encoder of a pipeline, which is kept
    lang: str = MIXED  # language of a pipeline


def read_start(name: str, layers: int | None = None, role: str = ENCODER) -> TransformerStart:
    """Load a published transformer, or a pipeline of one that `pretrain` wrote.

    name (str): Name of a model on the Hugging Face hub, of an installed pipeline, or a folder.
    layers (Optional[int]): Number of layers to keep, evenly spaced; null keeps all.
    role (str): `ENCODER` or `TEACHER`. A teacher has to be a pipeline.
    RAISES (ValueError): If there is no such transformer, or it cannot have this role.
    """
    # a published transformer has no head, hence no predictions to learn from
    folder = check_encoder(name) if role == TEACHER else located(name)
    start = _of_pipeline(name, folder, role) if (folder / META).is_file() else _published(name)
    if layers is not None:
        keep_layers(start.model.encoder, name, layers)
    return start


def _published(name: str) -> TransformerStart:
    tokenizer, loaded = load_transformer(name)
    encoder: Any = loaded
    layers = getattr(getattr(encoder, "encoder", None), "layer", None)
    embeddings = getattr(encoder, "embeddings", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(embeddings, "word_embeddings"):
        raise ValueError(
            Errors.L265.format(
                name=name,
                problem=f"The architecture of {type(encoder).__name__} is not that of BERT or RoBERTa.",
            )
        )
    if not tokenizer.is_fast:
        raise ValueError(
            Errors.L265.format(
                name=name,
                problem=f"{type(tokenizer).__name__} gives no offsets of subwords. Save the model with "
                "its fast tokenizer (a file tokenizer.json) first.",
            )
        )
    encoder.pooler = None
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return TransformerStart(BiEncoder(encoder), copy.deepcopy(encoder), backend)


def _of_pipeline(name: str, folder: Path, role: str) -> TransformerStart:
    nlp = load_pipeline(name)
    head = head_of(nlp)
    tok2vec: Any = None if head is None else nlp.get_pipe("tok2vec")
    if tok2vec is None or tok2vec.model.name != TRANSFORMER:
        raise unusable(
            name,
            problem="it is not a pretrained transformer. "
            f"Its components: {', '.join(nlp.pipe_names) or 'none'}",
            fix="Name a transformer, or the folder model/ that `pretrain` wrote for one",
            role=role,
        )
    words = encoder_of(tok2vec.model)
    model = BiEncoder(words.encoder, head.get_dim("nM"))
    read_weights(model.pairs(nlp))
    labels = LabelEncoder(str(folder))
    return TransformerStart(
        model, labels.module.encoder, words.tokenizer, labels.to_bytes(), nlp.lang or MIXED
    )


def keep_layers(encoder: Any, name: str, layers: int) -> None:
    """Remove layers of a transformer, so that evenly spaced ones and the last one remain.

    encoder (nn.Module): The transformer; changed in place.
    name (str): Its name, for the error.
    layers (int): Number of layers to keep.
    RAISES (ValueError): If it has fewer layers.
    """
    known = encoder.encoder.layer
    if layers > len(known):
        raise unusable(
            name,
            problem=f"it has {len(known)}",
            fix=f"Use --layers {len(known)} or fewer",
            role=f"cut to {layers} layers",
        )
    kept = [known[round((i + 1) * len(known) / layers) - 1] for i in range(layers)]
    encoder.encoder.layer = nn.ModuleList(kept)
    encoder.config.num_hidden_layers = layers


def short_labels(start: TransformerStart) -> tuple[bytes, PieceEncoder]:
    """Return the data of the quantized label encoder, and the transformer that is loaded from it.

    Words are trained against the vectors of the quantized label encoder, so that training
    compensates for what quantization loses.
    """
    module = _subword_encoder(start.labels, start.tokenizer, LABEL_POSITIONS)
    short = from_bytes(PieceEncoder(), short_form(module, LABEL_BITS, WORD_BITS), CPU)
    if start.label_data is None:
        return label_weights(module, short, LABEL_BITS), short
    module.encoder.set_input_embeddings(short.encoder.get_input_embeddings())
    return start.label_data, module


def build_transformer(
    model: BiEncoder, labels: bytes, name: str, tokenizer: Tokenizer, nlp: Language
) -> bytes:
    """Add `tok2vec` and `ner` to an empty pipeline.

    model (BiEncoder): The trained weights, on the CPU.
    labels (bytes): Data of the label encoder.
    name (str): Folder of the pipeline, which its config names as the source of the label encoder.
    tokenizer (Tokenizer): Tokenizer of the transformer.
    nlp (Language): The pipeline; changed in place.
    RETURNS (bytes): Quantized weights of `tok2vec`, for `write_transformer`.
    """
    data = short_form(_subword_encoder(model.encoder, tokenizer, POSITIONS), LAYER_BITS, WORD_BITS)
    tok2vec: Any = nlp.add_pipe(
        "tok2vec", config={"model": {"@architectures": "longtail.Transformer.v1"}}
    )
    shim = shim_of(tok2vec.model)
    shim._model = from_bytes(shim._model, data, CPU)
    add_described_ner(nlp, model, {"@misc": "longtail.LabelEncoder.v1", "name": name}, labels)
    # archives compress float32 values well that were rounded to bfloat16
    write_weights((layer, param, values.bfloat16()) for layer, param, values in model.pairs(nlp))
    return data


def write_transformer(nlp: Language, folder: Path, weights: bytes) -> None:
    """Write a pipeline with quantized weights of its transformer.

    Only this copy is quantized. A pipeline that is trained further saves its full precision.

    nlp (Language): The pipeline.
    folder (Path): Folder to write.
    weights (bytes): The weights that `build_transformer` returned.
    """
    tok2vec: Any = nlp.get_pipe("tok2vec")
    shim = shim_of(tok2vec.model)
    ordinary = shim._serialize_model
    shim._serialize_model = lambda module: weights
    try:
        nlp.to_disk(folder)
    finally:
        shim._serialize_model = ordinary


def _subword_encoder(encoder: Any, tokenizer: Tokenizer, n_positions: int) -> PieceEncoder:
    """Return a transformer with its tokenizer, without embeddings of positions beyond a limit.

    RoBERTa counts positions from its padding index, so its embeddings are kept.
    """
    embeddings: Any = getattr(encoder, "embeddings", None)
    positions: Any = getattr(embeddings, "position_embeddings", None)
    n_known = 0 if positions is None or positions.padding_idx is not None else positions.num_embeddings
    if n_known > n_positions:
        positions.weight = nn.Parameter(positions.weight[:n_positions].detach().clone())
        positions.num_embeddings = encoder.config.max_position_embeddings = n_positions
        for name in ("position_ids", "token_type_ids"):
            if hasattr(embeddings, name):
                embeddings.register_buffer(
                    name, getattr(embeddings, name)[:, :n_positions], persistent=False
                )
    module = PieceEncoder()
    module.build(encoder.config, tokenizer, encoder)
    return module
