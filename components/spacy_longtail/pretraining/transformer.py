"""A transformer as a bi-encoder: what it starts from, and the pipeline that it becomes."""

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
from ..layers.torch_layer import shim_of
from ..layers.torch_transformer import PieceEncoder, from_bytes, short_form
from ..layers.windows import TRANSFORMER
from ..models.transformer import encoder_of
from ..training.loading import load_pipeline
from .batches import DonorBatch
from .matcher import Matcher, add_described_ner, head_of, read_weights, write_weights
from .records import unusable

ENCODER, TEACHER = "the encoder", "the teacher"
CPU = torch.device("cpu")
LABEL_POSITIONS, POSITIONS = 64, 256
BITS = (7.0, 6.0, 4.0)  # of weights on disk: layers, word embeddings, label encoder

Bits = tuple[float, float, float]


class BiEncoder(Matcher):
    """A transformer that reads words and labels.

    h is a word's first subword as the encoder reads it in its sentence, d the mean of a label's
    subwords as the same encoder reads the label, of unit length.
    """

    def __init__(self, encoder: Any, width: int = 256) -> None:
        hidden = int(encoder.config.hidden_size)
        super().__init__(encoder, hidden, hidden, width)

    def states(self, batch: DonorBatch) -> Tensor:
        """Words as the encoder reads them, (n_words, hidden); in half precision on a GPU."""
        device = batch.ids.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            hidden = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
            return hidden[batch.rows, batch.columns].float()

    def describe(self, texts: list[list[int]]) -> Tensor:
        """Labels as the encoder reads them, (n_texts, hidden). texts (List[List[int]]): Ids."""
        return mean_states(self.encoder, texts)


class Start(NamedTuple):
    """A transformer to go on from."""

    model: BiEncoder
    labels: nn.Module  # the transformer that reads label descriptions
    tokenizer: Tokenizer
    label_data: bytes | None = None  # of a pipeline: its weights in few bits are kept


def read_start(name: str, layers: int | None = None, role: str = ENCODER) -> Start:
    """Read a transformer, or a pipeline of one that `pretrain` wrote.

    layers (Optional[int]): To keep, spread over all, with the last; null keeps all.
    """
    # a published transformer has no predictions to teach
    folder = check_encoder(name) if role == TEACHER else located(name)
    start = _of_pipeline(name, folder, role) if (folder / META).is_file() else _published(name)
    if layers is not None:
        keep_layers(start.model.encoder, name, layers)
    return start


def _published(name: str) -> Start:
    before = torch.get_rng_state()
    tokenizer, loaded = load_transformer(name)
    if not torch.equal(before, torch.get_rng_state()):
        # missing weights, as a pooler's, are drawn twice: so a seed gives the head its weights
        tokenizer, loaded = load_transformer(name)
    encoder: Any = loaded
    layers = getattr(getattr(encoder, "encoder", None), "layer", None)
    embeddings = getattr(encoder, "embeddings", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(embeddings, "word_embeddings"):
        problem = f"{type(encoder).__name__} is not built as BERT or RoBERTa are."
        raise ValueError(Errors.L265.format(name=name, problem=problem))
    encoder.pooler = None
    backend = tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return Start(BiEncoder(encoder), copy.deepcopy(encoder), backend)


def _of_pipeline(name: str, folder: Path, role: str) -> Start:
    nlp = load_pipeline(name)
    head = head_of(nlp)
    tok2vec: Any = None if head is None else nlp.get_pipe("tok2vec")
    if tok2vec is None or tok2vec.model.name != TRANSFORMER:
        problem = f"its components {', '.join(nlp.pipe_names) or '(none)'} are no pretrained transformer"
        fix = "Name a transformer, or a pipeline that `pretrain` wrote of one, as the folder model/"
        raise unusable(name, problem, fix, role)
    words = encoder_of(tok2vec.model)
    model = BiEncoder(words.encoder, head.get_dim("nM"))
    read_weights(model.pairs(nlp))
    labels = LabelEncoder(str(folder))
    return Start(model, labels.module.encoder, words.tokenizer, labels.to_bytes())


def keep_layers(encoder: Any, name: str, layers: int) -> None:
    """Leave out layers of a transformer. name (str): Of it. layers (int): To keep."""
    known = encoder.encoder.layer
    if layers > len(known):
        fix = f"Give --layers {len(known)} or fewer"
        raise unusable(name, f"it has {len(known)}", fix, f"cut to {layers} layers")
    kept = [known[round((i + 1) * len(known) / layers) - 1] for i in range(layers)]
    encoder.encoder.layer = nn.ModuleList(kept)
    encoder.config.num_hidden_layers = layers


def short_labels(start: Start, bits: Bits) -> tuple[bytes, PieceEncoder]:
    """Return the label encoder in few bits: its data, and the transformer that is loaded from it.

    Training with the vectors of the short weights makes up for what they lose.
    """
    module = _subword_encoder(start.labels, start.tokenizer, LABEL_POSITIONS)
    _, embeddings, labels = bits
    short = from_bytes(PieceEncoder(), short_form(module, labels, embeddings), CPU)
    if start.label_data is None:
        return label_weights(module, short, labels), short
    module.encoder.set_input_embeddings(short.encoder.get_input_embeddings())
    return start.label_data, module


def build_transformer(
    model: BiEncoder, labels: bytes, name: str, tokenizer: Tokenizer, nlp: Language, bits: Bits
) -> bytes:
    """Add `tok2vec` and `ner` to an empty pipeline.

    labels (bytes): The data of the label encoder.
    RETURNS (bytes): The weights of `tok2vec` in few bits.
    """
    data = short_form(_subword_encoder(model.encoder, tokenizer, POSITIONS), *bits[:2])
    block = {"@architectures": "longtail.Transformer.v1"}
    tok2vec: Any = nlp.add_pipe("tok2vec", config={"model": block})
    shim = shim_of(tok2vec.model)
    shim._model = from_bytes(shim._model, data, CPU)
    add_described_ner(nlp, model, {"@misc": "longtail.LabelEncoder.v1", "name": name}, labels)
    # archives pack bfloat16 well
    write_weights((layer, param, values.bfloat16()) for layer, param, values in model.pairs(nlp))
    return data


def write_transformer(nlp: Language, folder: Path, weights: bytes) -> None:
    """Write a pipeline with the weights of its transformer in few bits.

    The pipeline itself stays an ordinary one: what it learns afterwards is saved in full precision.

    folder (Path): To write. weights (bytes): What `build_transformer` returned.
    """
    tok2vec: Any = nlp.get_pipe("tok2vec")
    shim = shim_of(tok2vec.model)
    ordinary = shim._serialize_model
    shim._serialize_model = lambda module: weights
    try:
        nlp.to_disk(folder)
    finally:
        shim._serialize_model = ordinary


def _subword_encoder(encoder: Any, tokenizer: Tokenizer, most: int) -> PieceEncoder:
    """A transformer with its tokenizer, without the embeddings of positions that are never read."""
    embeddings: Any = getattr(encoder, "embeddings", None)
    positions = getattr(embeddings, "position_embeddings", None)
    if positions is not None and positions.num_embeddings > most and positions.padding_idx is None:
        positions.weight = nn.Parameter(positions.weight[:most].detach().clone())
        positions.num_embeddings = encoder.config.max_position_embeddings = most
        for name in ("position_ids", "token_type_ids"):
            if hasattr(embeddings, name):
                embeddings.register_buffer(name, getattr(embeddings, name)[:, :most], persistent=False)
    module = PieceEncoder()
    module.build(encoder.config, tokenizer, encoder)
    return module
