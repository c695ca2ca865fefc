"""What a pretrained CNN leaves: a spaCy pipeline that needs neither torch nor a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy.language import Language
from spacy.training import Example
from thinc.api import Model
from torch import Tensor

from ....describers import SubwordDescriptions
from ....layers.quantised import eight_bit
from ....layers.subwords import NAME, SubwordTable
from .cnn import ATTRIBUTES, CNNBiEncoder
from .writing import GENERAL


def write_cnn(
    model: CNNBiEncoder,
    subwords: Sequence[str],
    name: str,
    output: Path,
    types: Mapping[str, str] = GENERAL,
) -> Language:
    """Write a pipeline of `tok2vec` and `ner`.

    model (CNNBiEncoder): What was pretrained. subwords (Sequence[str]): Of the rows of its table.
    name (str): Of the package, such as "en_longtail_cnn". output (Path): A folder that is not there.
    types (Mapping[str, str]): Types with their descriptions that the pipeline looks for at first.
    RETURNS (Language): The pipeline as it was written.
    """
    lang, _, short = name.partition("_")
    encoder = model.encoder.cpu()
    table = SubwordTable(eight_bit(_array(encoder.vectors)), list(subwords), True)
    nlp = spacy.blank(lang, meta={"name": short})
    embed = {
        "@architectures": "longtail.RichEmbed.v1",
        "width": encoder.width,
        "attrs": list(ATTRIBUTES),
        "rows": [len(own) for own in encoder.tables],
        "subwords": name,
    }
    encode = {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": encoder.width,
        "window_size": 1,
        "maxout_pieces": 3,
        "depth": encoder.depth,
    }
    architecture = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    tok2vec: Any = nlp.add_pipe("tok2vec", config={"model": architecture})
    for node in tok2vec.model.walk():
        if node.name == NAME:
            node.attrs["subwords"] = table
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder.width}
    head = {"@architectures": "longtail.DescribedTypes.v1", "width": model.width, "residual": True}
    describe = {"@misc": "longtail.SubwordDescriptions.v1", "source": name}
    config = {
        "model": {**head, "tok2vec": listener},
        "scores_key": "entity_scores",
        "describe": describe,
    }
    ner: Any = nlp.add_pipe("longtail_token_ner", name="ner", config=config)
    ner.describe = SubwordDescriptions(name)
    ner.describe.__dict__["_table"] = table  # as the cached property does: there is no such package yet
    nlp.config["initialize"]["components"]["ner"] = {"labels": list(types), "descriptions": dict(types)}
    nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a text"), {"entities": []})])
    hashed = [node for node in tok2vec.model.walk() if node.name == "hashembed"]
    for node, rows in zip(hashed, encoder.tables, strict=True):
        node.set_param("E", _array(rows))
    for node in tok2vec.model.walk():
        if node.name == NAME:
            node.set_param("W", _array(encoder.project.weight))
    _set_maxouts(tok2vec.model, [encoder.mix, *encoder.blocks])
    layer = ner.model.get_ref("output_layer")
    layer.set_param("P", _array(model.P))
    layer.set_param("Q", _array(model.Q))
    for param, value in (("W", model.o.weight), ("b", model.o.bias)):
        rows = np.zeros_like(layer.get_param(param))
        rows[0] = _array(value)[0]
        layer.set_param(param, rows)
    nlp.to_disk(output)
    return nlp


def _set_maxouts(model: Model, learnt: Sequence[Any]) -> None:
    nodes = list(model.walk())
    maxouts = [node for node in nodes if node.name == "maxout"]
    norms = [node for node in nodes if node.name == "layernorm"]
    for maxout, norm, own in zip(maxouts, norms, learnt, strict=True):
        maxout.set_param("W", _array(own.W))
        maxout.set_param("b", _array(own.b))
        norm.set_param("G", _array(own.G))
        norm.set_param("b", _array(own.shift))


def _array(values: Tensor) -> np.ndarray:
    found: np.ndarray = values.detach().cpu().float().numpy()
    return found
