"""Descriptions as the label encoder of a pretrained encoder reads them."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from spacy.util import registry
from thinc.types import Floats2d

from ..encoders import check_encoder
from ..errors import Errors
from ..layers.torch_layer import read_safetensors, require_torch, shim_of, tensor_checksum
from .base import LoadedLater, mean_states

if TYPE_CHECKING:  # an extra
    from tokenizers import Tokenizer

    from ..layers.torch_transformer import PieceEncoder

FILE = "label_encoder.safetensors"
MOST = 64  # pieces of a description that are read
MEAN = "embeddings.mean"  # in the file: of the encoder's word embeddings
ALIKE = 0.99  # cosine of two means of the same word embeddings


@dataclass(frozen=True)
class LabelEncoder(LoadedLater):
    """The mean of a description's pieces, as an encoder's own label encoder reads them.

    It has the encoder's word embeddings and a few layers that training leaves as they are.

    name (str): The encoder: an installed package such as "en_longtail_trf", or a pipeline's folder.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    name: str

    @cached_property
    def _loaded(self) -> "PieceEncoder":
        require_torch()
        from ..layers.torch_transformer import PieceEncoder, check_format, expand

        folder = check_encoder(self.name)
        if not (folder / FILE).is_file():
            raise ValueError(Errors.L265.format(name=self.name, problem=f"It has no file {FILE}."))
        build = registry.get("architectures", "longtail.Transformer.v1")
        transformer = shim_of(build().from_disk(folder / "tok2vec" / "model"))._model
        try:
            short, metadata = read_safetensors((folder / FILE).read_bytes(), self.name)
            check_format(metadata, self.name)
            embeddings = transformer.encoder.get_input_embeddings().weight.detach()
            tensors = expand(short)
            mean, own_mean = tensors.pop(MEAN).numpy(), embeddings.mean(0).numpy()
            norms = np.linalg.norm(mean) * np.linalg.norm(own_mean)
            if mean.shape != own_mean.shape or mean @ own_mean < ALIKE * norms:
                problem = f"{FILE} was made for an encoder with other word embeddings"
                raise ValueError(Errors.L221.format(who=self.name, problem=problem))
            tensors["encoder.embeddings.word_embeddings.weight"] = embeddings
            config = copy.deepcopy(transformer.encoder.config)
            layers = [name for name in tensors if name.startswith("encoder.encoder.layer.")]
            config.num_hidden_layers = len({name.split(".")[3] for name in layers})
            positions = tensors.get("encoder.embeddings.position_embeddings.weight")
            if positions is not None:
                config.max_position_embeddings = len(positions)
            loaded = PieceEncoder()
            loaded.build(config, transformer.tokenizer, None)
            loaded.load_state_dict(tensors)
        except Exception as error:  # of a damaged file: each its own kind
            if str(error).startswith("[L"):
                raise
            problem = " ".join(str(error).split())
            raise ValueError(Errors.L221.format(who=self.name, problem=problem)) from error
        return loaded.eval()

    def __call__(self, texts: list[str]) -> Floats2d:
        """texts (List[str]): Descriptions. RETURNS (Floats2d): (n_texts, width of the encoder)."""
        module = self._loaded
        return mean_states(module.encoder, subwords_of_labels(module.tokenizer, texts)).numpy()

    def of_pipeline(self, folder: Path) -> "LabelEncoder":
        """The label encoder that lies in the folder of a pipeline; itself where there is none."""
        return LabelEncoder(str(folder)) if (folder / FILE).is_file() else self


def subwords_of_labels(tokenizer: "Tokenizer", texts: Iterable[str]) -> list[list[int]]:
    """Descriptions as subwords of a transformer, with special ones."""
    return [encoding.ids[:MOST] for encoding in tokenizer.encode_batch(list(texts))]


def label_weights(module: "PieceEncoder", encoder: "PieceEncoder", bits: float = 4) -> bytes:
    """What the file of a label encoder holds: its weights, but of word embeddings the mean alone.

    module (PieceEncoder): The transformer that reads labels. bits (float): Of its matrices, 4 to 8.
    encoder (PieceEncoder): The encoder as it is loaded, whose word embeddings read the labels.
    """
    import safetensors.torch

    from ..layers.torch_transformer import FORMAT, short_form

    tensors = safetensors.torch.load(short_form(module, bits))
    kept = {name: tensor for name, tensor in tensors.items() if "word_embeddings" not in name}
    kept[MEAN] = encoder.encoder.get_input_embeddings().weight.detach().cpu().float().mean(0)
    return safetensors.torch.save(kept, metadata={"format": FORMAT, "sha256": tensor_checksum(kept)})
