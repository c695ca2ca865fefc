"""Descriptions as the label encoder of a pretrained encoder reads them."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from spacy.util import registry
from thinc.api import Model, PyTorchShim
from thinc.types import Floats2d

from ..encoders import META, check_encoder, located
from ..errors import Errors
from ..faults import is_coded
from ..layers.torch_layer import read_safetensors, require_torch, shim_of, write_safetensors
from .base import Describer, mean_states

if TYPE_CHECKING:  # an extra
    from tokenizers import Tokenizer
    from torch import Tensor

    from ..layers.torch_transformer import PieceEncoder

FILE = "label_encoder.safetensors"  # of encoders that version 0.3 wrote, beside their components
DATA = "describer"  # in the folder of a component: the data of its describer
MAX_SUBWORDS = 64  # of a description; the others are ignored
MEAN = "embeddings.mean"  # in the data: of the encoder's word embeddings
WORDS = "encoder.embeddings.word_embeddings.weight"
ALIKE = 0.99  # cosine of two means of the same word embeddings


@dataclass
class LabelEncoder(Describer):
    """The mean of a description's subwords, as an encoder's own label encoder reads them.

    It has the encoder's word embeddings and a few layers that training leaves as they are. The
    component saves the layers, and the word embeddings are those of the pipeline's encoder.

    name (str): The encoder: an installed package such as "en_longtail_trf", or a pipeline's folder.
    RETURNS (Callable[[List[str]], Floats2d]): Texts to one row each, of unit length.
    """

    name: str
    _data: bytes = field(default=b"", init=False, repr=False, compare=False)
    _layers: tuple[Model, ...] = field(default=(), init=False, repr=False, compare=False)
    _module: "PieceEncoder | None" = field(default=None, init=False, repr=False, compare=False)

    def __call__(self, texts: list[str]) -> Floats2d:
        """Return one row per description, as wide as the states of the encoder."""
        module = self.module
        return mean_states(module.encoder, subwords_of_labels(module.tokenizer, texts)).numpy()

    def share(self, layers: Iterable[Model]) -> None:
        """Use the word embeddings of the pipeline's transformer."""
        found = tuple(layer for layer in layers if any(isinstance(s, PyTorchShim) for s in layer.shims))
        self._layers = found or self._layers
        self._module = None

    def to_bytes(self) -> bytes:
        """Return the weights without word embeddings. If the encoder is not at hand, warn."""
        data = self._read()
        if not data:
            self.warn_without_data(self.name)
        return data

    def _read(self) -> bytes:
        """Return the weights without word embeddings; nothing if the encoder is not at hand."""
        if not self._data:
            self._data = data_in(located(self.name))
        return self._data

    def from_bytes(self, data: bytes) -> None:
        """Take over weights; without data, those of the encoder are read when they are needed."""
        self._data = data or self._data
        self._module = None

    def from_disk(self, path: Path) -> None:
        """Load the weights that `to_disk` wrote.

        path (Path): The file. Without it, the weights are those that version 0.3.0 wrote beside the
            components.
        """
        self.from_bytes(path.read_bytes() if path.is_file() else data_in(path.parents[1]))

    @property
    def module(self) -> "PieceEncoder":
        """Return the transformer that reads labels, which is loaded once."""
        if self._module is None:
            self._module = self._checked_module()
        return self._module

    def _checked_module(self) -> "PieceEncoder":
        """Load the transformer that reads labels. Missing or damaged data raises a coded error."""
        require_torch()
        import torch

        if not (data := self._read()):
            check_encoder(self.name)
            raise ValueError(Errors.L265.format(name=self.name, problem="It has no label encoder."))
        with torch.random.fork_rng(devices=[]):  # weights that are replaced at once are drawn
            try:
                return self._load(data)
            except Exception as error:  # of a damaged file: each its own kind
                if is_coded(error):
                    raise
                raise ValueError(
                    Errors.L221.format(who=self.name, problem=" ".join(str(error).split()))
                ) from error

    def _load(self, data: bytes) -> "PieceEncoder":
        """Build the transformer that reads labels, with the encoder's word embeddings."""
        from ..layers.torch_format import check_format, expand
        from ..layers.torch_transformer import PieceEncoder

        short, metadata = read_safetensors(data, self.name)
        check_format(metadata, self.name)
        tensors = expand(short)
        transformer = self._encoder_with(tensors.pop(MEAN).numpy())
        tensors[WORDS] = word_embeddings(transformer)
        config = copy.deepcopy(transformer.encoder.config)
        layers = [name for name in tensors if name.startswith("encoder.encoder.layer.")]
        config.num_hidden_layers = len({name.split(".")[3] for name in layers})
        positions = tensors.get("encoder.embeddings.position_embeddings.weight")
        if positions is not None:
            config.max_position_embeddings = len(positions)
        loaded = PieceEncoder()
        loaded.build(config, transformer.tokenizer, None)
        loaded.load_state_dict(tensors, assign=True)  # shares the word embeddings
        return loaded.eval()

    def _encoder_with(self, mean: np.ndarray) -> "PieceEncoder":
        """Return a transformer whose word embeddings have this mean."""
        error = Errors.L800.format(name=self.name)
        for transformer in self._encoders():
            own = word_embeddings(transformer).mean(0).numpy()
            norms = np.linalg.norm(mean) * np.linalg.norm(own)
            if mean.shape == own.shape and mean @ own >= ALIKE * norms:
                return transformer
            problem = "its label encoder was made for an encoder with other word embeddings"
            error = Errors.L221.format(who=self.name, problem=problem)
        raise ValueError(error)

    def _encoders(self) -> Iterator["PieceEncoder"]:
        """Yield the transformers of the pipeline, then that of the encoder if it is at hand."""
        from ..layers.torch_transformer import PieceEncoder

        for layer in self._layers:
            module = getattr(layer.shims[0], "module", None)
            if isinstance(module, PieceEncoder) and module.encoder is not None:
                yield module
        folder = located(self.name)
        if (folder / META).is_file():
            build = registry.get("architectures", "longtail.Transformer.v1")
            yield shim_of(build().from_disk(folder / "tok2vec" / "model")).module

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the module that was loaded."""
        return {**self.__dict__, "_module": None}


def word_embeddings(transformer: "PieceEncoder") -> "Tensor":
    """Return the word embeddings of a transformer, in full precision on the CPU."""
    return transformer.encoder.get_input_embeddings().weight.detach().cpu().float()


def data_in(folder: Path) -> bytes:
    """Return the label encoder of a pretrained pipeline; nothing if it has none.

    folder (Path): Folder of the pipeline, or of one of its components.
    """
    paths = [folder / DATA, folder / FILE, *sorted(folder.glob(f"*/{DATA}"))]
    return next((path.read_bytes() for path in paths if path.is_file()), b"")


def subwords_of_labels(tokenizer: "Tokenizer", texts: Iterable[str]) -> list[list[int]]:
    """Return descriptions as subwords of a transformer, with special ones."""
    return [encoding.ids[:MAX_SUBWORDS] for encoding in tokenizer.encode_batch(list(texts))]


def label_weights(module: "PieceEncoder", encoder: "PieceEncoder", bits: float = 4) -> bytes:
    """Return the data of a label encoder: its weights, but of word embeddings the mean alone.

    module (PieceEncoder): The transformer that reads labels.
    encoder (PieceEncoder): The encoder as it is loaded, whose word embeddings the labels use.
    bits (float): Number of bits of the matrices, 4 to 8.
    """
    from ..layers.torch_format import FORMAT, short_form

    tensors, _ = read_safetensors(short_form(module, bits), "the label encoder")
    kept = {name: tensor for name, tensor in tensors.items() if "word_embeddings" not in name}
    kept[MEAN] = word_embeddings(encoder).mean(0)
    return write_safetensors(kept, format=FORMAT)
