"""Static vectors of pieces, distilled from an encoder: as they are, or in a small net."""

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import srsly
from spacy.strings import get_string_id
from thinc.api import Linear, Model
from thinc.types import Floats2d, Ints1d

from ..errors import Errors
from ..hub import check_model
from ..layers.learned_vectors import LearnedVectors, arrays_of, plain, upper_half
from ..layers.subwords import subwords_of
from ..output.writing import check_file, check_folder, coded_io, whole_folder, write_file
from ..settings import unused
from ..types import NET_SUFFIX
from .hash_nets import in_few_bytes, learn_net

if TYPE_CHECKING:  # an extra
    from model2vec import StaticModel

CONFIG, KIND = "config.json", "model2vec"  # of a Model2Vec model, and what it says there


class Size(NamedTuple):
    """Of the net, and of what it learns."""

    n_rows: int = 17_500
    width: int = 96
    n_hidden: int = 256
    epochs: int = 100


class Distilled(NamedTuple):
    """What was written."""

    n_pieces: int
    n_columns: int
    learnt: float | None  # by a net: share of the squared length of the vectors


class Pieces(NamedTuple):
    """What a net learns: vectors of pieces by the hashes of their plain forms."""

    hashes: Ints1d  # (n_pieces,) uint64
    vectors: Floats2d  # (n_pieces, n_columns)


def distil_vectors(
    encoder: str,
    output: Path,
    width: int = 256,
    seed: int | None = None,
    size: Size = Size(),  # noqa: B008
) -> Distilled:
    """Write vectors for 'subwords' of longtail.RichEmbed.v1.

    A folder gets a Model2Vec model: one vector for each piece of the encoder's vocabulary. A file,
    *.npz, gets a net that has learnt them: some 1.6 MB, without a tokenizer.

    encoder (str): A transformer's name on the Hugging Face hub, or its folder.
    output (Path): The folder or file to write; an earlier one is replaced.
    width (int): Columns of the vectors, the first principal components.
    seed (Optional[int]): Of a net, 0 if null; a folder's vectors have none. size (Size): Of it.
    RETURNS (Distilled): What was written.
    RAISES (ValueError): L213, L406, L432, L434, L436, L437; L265 for an encoder that cannot be loaded.
    """
    sources = [Path(encoder)] if Path(encoder).exists() else []
    is_net = output.suffix == NET_SUFFIX
    if is_net:
        check_file(output, sources, "pieces.npy")
    else:
        if seed is not None:
            raise unused("seed", seed, "distil-vectors", f"an output *{NET_SUFFIX}")
        check_folder(output, sources, _foreign)
    check_model(encoder)
    found = _distil(encoder, width)
    if is_net:
        return _write_net(read_pieces(found), output, seed or 0, size)
    # safetensors writes an array as it lies in memory, and the principal components lie by columns
    found.embedding = np.ascontiguousarray(found.embedding)
    with coded_io(output), whole_folder(output) as new:
        found.save_pretrained(new)
    n_pieces, n_columns = found.embedding.shape
    return Distilled(int(n_pieces), int(n_columns), None)


def _distil(encoder: str, width: int) -> "StaticModel":
    """RAISES (ValueError): L265, L406."""
    try:
        from model2vec.distill import distill
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="model2vec[distill]", extra="distil")) from error
    try:
        return distill(encoder, pca_dims=width)
    except Exception as error:  # of the hub, of safetensors, of the tokenizer: each its own kind
        problem = " ".join(str(error).split())
        raise ValueError(Errors.L265.format(name=encoder, problem=problem)) from error


def read_pieces(found: "StaticModel") -> Pieces:
    """The pieces of a Model2Vec model with their vectors.

    Pieces that differ in case or accents alone are one, with the mean of their vectors.
    """
    subwords = subwords_of(found)
    written = subwords.written()
    hashes = np.array([get_string_id(plain(text)) for text in written.values()], dtype="uint64")
    distinct, piece_of, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    vectors = np.zeros((len(distinct), subwords.n_columns), dtype="float32")
    np.add.at(vectors, piece_of.reshape(-1), subwords.rows(list(written)).astype("float32"))
    return Pieces(distinct, vectors / counts[:, None].astype("float32"))


def _write_net(pieces: Pieces, output: Path, seed: int, size: Size) -> Distilled:
    net = in_few_bytes(learn_vectors(pieces, size, seed))
    small = LearnedVectors(net, np.sort(upper_half(pieces.hashes)))
    content = BytesIO()
    np.savez_compressed(content, **arrays_of(small))
    write_file(output, content.getvalue())
    n_pieces, n_columns = pieces.vectors.shape
    missing = net.outputs(pieces.hashes) - pieces.vectors
    return Distilled(n_pieces, n_columns, float(1 - (missing**2).sum() / (pieces.vectors**2).sum()))


def learn_vectors(pieces: Pieces, size: Size, seed: int) -> Model[Ints1d, Floats2d]:
    """Train the net on the squared error.

    seed (int): Of weights and of the order.
    """
    n_columns = pieces.vectors.shape[1]
    length = np.sqrt((pieces.vectors**2).mean())
    targets = pieces.vectors / length

    def gradient(batch: Ints1d, outputs: Floats2d) -> Floats2d:
        d_outputs: Floats2d = 2 * (outputs - targets[batch]) / outputs.size
        return d_outputs

    net = learn_net(
        pieces.hashes,
        gradient,
        partial(Linear, n_columns, size.n_hidden),
        n_rows=size.n_rows,
        width=size.width,
        n_hidden=size.n_hidden,
        epochs=size.epochs,
        seed=seed,
    )
    output = net.layers[-1]
    for name in ("W", "b"):
        output.set_param(name, output.get_param(name) * length)
    return net


def _foreign(folder: Path) -> str:
    """A transformer has files of the same names."""
    try:
        found = srsly.read_json(folder / CONFIG)
    except ValueError:  # no file, or no JSON
        found = None
    own = isinstance(found, dict) and found.get("model_type") == KIND
    return "" if own else "it holds no vectors of `distil-vectors`"
