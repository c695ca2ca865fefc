"""Static vectors of subwords, distilled from an encoder by Model2Vec."""

from pathlib import Path

import numpy as np
import srsly

from ..errors import Errors
from ..hub import check_model
from ..output.writing import check_folder, coded_io, whole_folder

CONFIG, KIND = "config.json", "model2vec"  # of a Model2Vec model, and what it says there


def distil_vectors(encoder: str, output: Path, width: int = 256) -> tuple[int, int]:
    """Write a Model2Vec model: one vector for each piece of an encoder's vocabulary.

    encoder (str): A transformer's name on the Hugging Face hub, or its folder.
    output (Path): The folder to write; an earlier model there is replaced.
    width (int): Columns of the vectors, the first principal components.
    RETURNS (Tuple[int, int]): Pieces, columns.
    RAISES (ValueError): L406, L432, L434, L436, L437; L265 for an encoder that cannot be loaded.
    """
    check_folder(output, [Path(encoder)] if Path(encoder).exists() else [], _foreign)
    check_model(encoder)
    try:
        from model2vec.distill import distill
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="model2vec[distill]", extra="distil")) from error
    try:
        found = distill(encoder, pca_dims=width)
    except Exception as error:  # of the hub, of safetensors, of the tokenizer: each its own kind
        problem = " ".join(str(error).split())
        raise ValueError(Errors.L265.format(name=encoder, problem=problem)) from error
    # safetensors writes an array as it lies in memory, and the principal components lie by columns
    found.embedding = np.ascontiguousarray(found.embedding)
    with coded_io(output), whole_folder(output) as new:
        found.save_pretrained(new)
    n_pieces, n_columns = found.embedding.shape
    return int(n_pieces), int(n_columns)


def _foreign(folder: Path) -> str:
    """A transformer has files of the same names."""
    try:
        found = srsly.read_json(folder / CONFIG)
    except ValueError:  # no file, or no JSON
        found = None
    own = isinstance(found, dict) and found.get("model_type") == KIND
    return "" if own else "it holds no vectors of `distil-vectors`"
