"""Tiny encoders with random weights, as other packages and `pretrain` write them.

Where the extra that an encoder needs is not installed, the test that makes it is skipped.
"""

import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.training import Example

from spacy_longtail.layers.quantized import eight_bit
from spacy_longtail.layers.subwords import NAME, NO_SUBWORDS, SubwordTable

from .documents import blank, toy_words


def tiny_bert(
    folder: Path,
    n_positions: int = 512,
    others: Iterable[str] = (),
    width: int = 16,
    depth: int = 1,
    spells: bool = False,
) -> Path:
    """Write a BERT with random weights, as transformers has them.

    It knows the words of the toy corpus and `others`, and cuts texts after n_positions subwords.

    spells (bool): Whether it spells words that it does not know, so that it tells all words apart.
    """
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    words = toy_words()
    subwords = {f"##{letter}" for letter in ascii_lowercase} if spells else set()
    known = words.union(ascii_lowercase, subwords, others)
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(known)]
    (folder / "vocab.txt").write_text("\n".join(vocab), encoding="utf8")
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=n_positions).save_pretrained(folder)
    sizes = {"vocab_size": len(vocab), "hidden_size": width, "intermediate_size": 2 * width}
    sizes |= {"num_hidden_layers": depth, "num_attention_heads": 2}
    config = BertConfig(max_position_embeddings=n_positions, **sizes)
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    return folder


def tiny_cnn(folder: Path) -> Path:
    """A random CNN as `pretrain` writes its pipeline. It knows the toy corpus's words."""
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    from spacy_longtail.pretraining.cnn import CNN, CNNBiEncoder, build_cnn

    subwords = [*sorted(toy_words() | set(ascii_lowercase)), *(f"##{x}" for x in ascii_lowercase)]
    torch.manual_seed(0)
    cnn = CNN(torch.randn(len(subwords), 16), (100, 50, 50, 50), width=96, depth=1)
    model = CNNBiEncoder(cnn, width=256)
    table = SubwordTable(NO_SUBWORDS.vectors, subwords, True)
    nlp = spacy.blank("en")
    build_cnn(model, table, str(folder), nlp)
    nlp.to_disk(folder)
    return folder


def tiny_encoder(folder: Path, bert: Path) -> Path:
    """A pipeline as the transformer encoders are: its label encoder is a file of the folder."""
    from spacy_longtail.describers.label_encoder import FILE, label_weights
    from spacy_longtail.models.transformer import encoder_of

    nlp = spacy.blank("en")
    model = {"@architectures": "longtail.Transformer.v1", "name": str(bert)}
    nlp.add_pipe("tok2vec", config={"model": model})
    (folder / "tok2vec").mkdir(parents=True)
    tok2vec = nlp.get_pipe("tok2vec").model
    tok2vec.initialize()
    (folder / "tok2vec" / "model").write_bytes(tok2vec.to_bytes())
    (folder / "meta.json").write_text("{}")
    (folder / FILE).write_bytes(label_weights(encoder_of(tok2vec), encoder_of(tok2vec), 8))
    describe = {"@misc": "longtail.LabelEncoder.v1", "name": str(folder)}
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": encoder_of(tok2vec).width}
    described = {"@architectures": "longtail.DescribedTypes.v1", "residual": True, "tok2vec": listener}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": described, "describe": describe})
    nlp.config["initialize"]["components"]["ner"] = {"labels": ["person", "ship"]}
    doc = nlp.make_doc("Jon saw the Fram")
    nlp.initialize(lambda: [Example.from_dict(doc, {"entities": []})])
    nlp.to_disk(folder)
    return folder


def tiny_gliner(
    folder: Path, max_len: int = 40, n_positions: int = 128, seed: int = 2, **settings: Any
) -> Path:
    """A random GLiNER, written as its package has them. It finds something in most sentences.

    It reads max_len words at once, of at most n_positions pieces with the words for the types, and
    knows entities of up to three words. settings (Any): Of gliner's config; and bi_encoder, which
    reads the types by themselves.
    """
    pytest.importorskip("gliner", reason="needs the extra 'gliner'")
    import torch
    from gliner import GLiNERConfig
    from gliner.model import GLiNER

    encoder = str(tiny_bert(folder / "encoder", n_positions))
    if settings.pop("bi_encoder", False):
        settings["labels_encoder"] = encoder
    sizes = {"hidden_size": 16, "max_width": 3, "max_len": max_len, "dropout": 0.0, **settings}
    kind = GLiNER._get_gliner_class(GLiNERConfig(model_name=encoder, **sizes))
    model = kind.load_from_config(kind.config_class(model_name=encoder, **sizes))
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.model.parameters():
            if weights.ndim > 1:  # larger than they are drawn: scores differ
                weights.copy_(torch.randn(weights.shape, generator=rng) * 1.3 / weights.shape[-1] ** 0.5)
    model.save_pretrained(folder, safe_serialization=True)
    shutil.rmtree(encoder)  # what is saved needs nothing else
    return folder


@cache
def shared_gliner() -> str:
    """The folder of a tiny GLiNER that all tests of a process read."""
    folder = tempfile.TemporaryDirectory(prefix="gliner")
    _KEPT.append(folder)
    return str(tiny_gliner(Path(folder.name)))


_KEPT: list[tempfile.TemporaryDirectory] = []  # until the process ends


def toy_table(width: int = 8) -> SubwordTable:
    """Random vectors of the toy corpus's words."""
    known = sorted(toy_words())
    vectors = np.random.default_rng(0).standard_normal((len(known), width)).astype("f")
    return SubwordTable(eight_bit(vectors), known, True)


def toy_encoder(folder: Path) -> Path:
    """An encoder over the subword vectors of `toy_table`."""
    nlp = blank()
    embed = {"@architectures": "longtail.RichEmbed.v1", "width": 8, "subwords": str(folder)}
    encode = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 8, "depth": 1}
    encode |= {"window_size": 1, "maxout_pieces": 2}
    model = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    pipe = nlp.add_pipe("tok2vec", config={"model": model})
    for node in pipe.model.walk():
        if node.name == NAME:
            node.attrs["subwords"] = toy_table()
    nlp.initialize()
    nlp.to_disk(folder)
    return folder
