"""The CNN as a spaCy pipeline that needs neither torch nor a file, written and read."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model, to_numpy
from torch import Tensor

from ...corpus.tokenizers import blank
from ...describers import SubwordDescriptions
from ...encoders import located
from ...errors import Errors
from ...layers.quantised import eight_bit
from ...layers.subwords import NAME, SubwordTable
from ...models.transformer import Pieces
from ...types import Block
from ..encoders import CNN as NEW
from .cnn import ATTRIBUTES, CNN, PIECES, CNNBiEncoder
from .cnn_words import ReadCNN, Vocabulary, new_cnn
from .model import PREFIXES
from .packing import Cutter, Subwords
from .start import ENCODER, TEACHER, Start, described_layer, load_pipeline, read_start
from .writing import GENERAL


class CNNStart(NamedTuple):
    """What the training of a CNN starts from."""

    cnn: Callable[[Vocabulary, list[str]], ReadCNN]  # from the donors' words and label texts
    pieces: Cutter  # of the teacher, which reads them, or of the CNN
    teacher: Start | None


def read_cnn(encoder: str, teacher: str | None, lang: str) -> CNNStart:
    """Read a CNN and its teacher.

    encoder (str): "cnn" for a new one, or a pipeline of a CNN that `pretrain` wrote.
    teacher (Optional[str]): A pipeline of a transformer. lang (str): Of the donors.
    RAISES (ValueError): L408, L495.
    """
    their = None if teacher is None else read_start(teacher, role=TEACHER)
    if encoder == NEW:
        if their is None:
            problem = "a new CNN learns from a transformer, and no teacher is named"
            fix = "Add --teacher en_longtail_trf, or go on from a CNN with --encoder en_longtail_cnn"
            raise ValueError(Errors.L495.format(path=encoder, role=ENCODER, problem=problem, fix=fix))
        return CNNStart(partial(new_cnn, their), Pieces(their.tokenizer), their)
    found = _read(encoder, lang)
    pieces: Cutter = Subwords(found.table) if their is None else Pieces(their.tokenizer)
    return CNNStart(lambda vocabulary, texts: found, pieces, their)


def _read(encoder: str, lang: str) -> ReadCNN:
    nlp = load_pipeline(encoder, located(encoder))
    layer, problem = described_layer(nlp), ""
    own = nlp.config["components"].get("tok2vec", {}).get("model", {})
    embed, encode = own.get("embed", {}), own.get("encode", {})
    shape = (embed.get("width"), embed.get("rows"), encode.get("depth"), embed.get("subwords"))
    if layer is None or own != _tok2vec(*shape) or layer.get_param("P").shape[0] != PREFIXES:
        problem = f"it has the components {', '.join(nlp.pipe_names) or 'none'}, and no pretrained CNN"
    elif nlp.lang != lang:
        problem = f"its language is {nlp.lang}, and the donors have the language {lang}"
    if problem:
        fix = "Name a pipeline of a CNN that `pretrain` wrote, as the folder model/, or en_longtail_cnn"
        raise ValueError(Errors.L495.format(path=encoder, role=ENCODER, problem=problem, fix=fix))
    table: SubwordTable = _nodes(nlp, NAME)[0].attrs["subwords"]
    cnn = CNN(torch.from_numpy(table.vectors.expand()), embed["rows"], embed["width"], encode["depth"])
    model = CNNBiEncoder(cnn, layer.get_dim("nM"))
    for node, param, values in _pairs(nlp, model):
        values.data.copy_(torch.from_numpy(to_numpy(node.get_param(param))[: len(values)]))
    return ReadCNN(model, table)


def build_cnn(model: CNNBiEncoder, table: SubwordTable, name: str, lang: str, tokens: str) -> Language:
    """A pipeline of `tok2vec` and `ner`.

    model (CNNBiEncoder): What was pretrained. table (SubwordTable): Its subwords.
    name (str): That the pipeline will be found by. lang (str): Of the donors, whose tokens are tokens.
    """
    encoder = model.encoder
    table = SubwordTable(eight_bit(_array(encoder.vectors)), table.subwords, table.is_plain)
    nlp = blank(lang, tokens)
    architecture = _tok2vec(encoder.width, list(map(len, encoder.tables)), encoder.depth, name)
    nlp.add_pipe("tok2vec", config={"model": architecture})
    _nodes(nlp, NAME)[0].attrs["subwords"] = table
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder.width}
    head = {"@architectures": "longtail.DescribedTypes.v1", "width": model.width, "residual": True}
    config = {
        "model": {**head, "tok2vec": listener},
        "scores_key": "entity_scores",
        "describe": {"@misc": "longtail.SubwordDescriptions.v1", "source": name},
    }
    ner: Any = nlp.add_pipe("longtail_token_ner", name="ner", config=config)
    ner.describe = SubwordDescriptions(name)
    known = ner.describe.__dict__
    known["_table"] = table  # as the cached property does: nothing has that name yet
    settings = {"labels": list(GENERAL), "descriptions": dict(GENERAL)}
    nlp.config["initialize"]["components"]["ner"] = settings
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])
    for node, param, values in _pairs(nlp, model):
        rows = node.get_param(param).copy()
        rows[: len(values)] = _array(values)
        node.set_param(param, rows)
    known["_table"] = table  # which initialization lets go of
    return nlp


def _tok2vec(width: int, rows: list[int], depth: int, subwords: str) -> Block:
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "longtail.RichEmbed.v1",
            "width": width,
            "attrs": list(ATTRIBUTES),
            "rows": rows,
            "include_static_vectors": False,
            "clusters": None,
            "cluster_bits": [32, 10, 6],
            "cluster_rows": [1500, 1000, 128],
            "subwords": subwords,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": width,
            "window_size": 1,
            "maxout_pieces": PIECES,
            "depth": depth,
        },
    }


def _pairs(nlp: Language, model: CNNBiEncoder) -> Iterator[tuple[Model, str, Tensor]]:
    """Each parameter of a pipeline with the rows that it has in torch: of W and b those of O."""
    encoder, layer = model.encoder, described_layer(nlp)
    for node, table in zip(_nodes(nlp, "hashembed"), encoder.tables, strict=True):
        yield node, "E", table
    yield _nodes(nlp, NAME)[0], "W", encoder.project.weight
    blocks: Any = list(chain([encoder.mix], encoder.blocks))
    for node, own in zip(_nodes(nlp, "maxout"), blocks, strict=True):
        yield from ((node, "W", own.W), (node, "b", own.b))
    for node, own in zip(_nodes(nlp, "layernorm"), blocks, strict=True):
        yield from ((node, "G", own.G), (node, "b", own.shift))
    yield from ((layer, "P", model.P), (layer, "Q", model.Q))
    yield from ((layer, "W", model.o.weight), (layer, "b", model.o.bias))


def _nodes(nlp: Language, name: str) -> list[Model]:
    model: Model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    return [node for node in model.walk() if node.name == name]


def _array(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.detach().cpu().float().numpy()
    return found
