"""Learning rates by layer and positions, for each family of encoders that a user can name."""

import pytest
import spacy
from spacy.tokens import Doc

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")

from spacy_longtail.layers.torch_depths import depths_of, positions_of  # noqa: E402
from spacy_longtail.models import Transformer  # noqa: E402
from tests.util import tiny_bert  # noqa: E402

SIZES = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
DISTIL = {"vocab_size": 60, "dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 32}
RELATIVE = {"relative_attention": True, "position_biased_input": False, "conv_kernel_size": 3}
RELATIVE |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"]}
# by family: the settings, and the depths of some parameters
FAMILIES = {
    "Bert": (SIZES, {"embeddings.word": 3, "layer.0.": 2, "layer.1.": 1, "layer.2.": 0}),
    "Roberta": (SIZES, {"embeddings.LayerNorm": 3, "layer.0.": 2, "layer.2.": 0}),
    "XLMRoberta": (SIZES, {"embeddings.LayerNorm": 3, "layer.0.": 2, "layer.2.": 0}),
    "Electra": (
        {**SIZES, "embedding_size": 8},
        {"embeddings.word": 3, "embeddings_project": 3, "layer.0.": 2, "layer.2.": 0},
    ),
    "Albert": (
        {**SIZES, "embedding_size": 8},
        {"embeddings.word": 1, "embedding_hidden_mapping_in": 1, "albert_layer_groups.0.": 0},
    ),
    "DistilBert": (
        {**DISTIL, "max_position_embeddings": 40},
        {"embeddings.word": 3, "layer.0.": 2, "layer.2.": 0},
    ),
    "DebertaV2": (
        {**SIZES, **RELATIVE},
        {"embeddings": 3, "rel_embeddings": 3, "encoder.LayerNorm": 3, "layer.0.": 2, "layer.2.": 0},
    ),
    "ModernBert": (
        {**SIZES, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2},
        {"embeddings": 3, "layers.0.": 2, "layers.2.": 0, "final_norm": 0},
    ),
    "XLMRobertaXL": (SIZES, {"embeddings.word": 3, "layer.0.": 2, "encoder.LayerNorm": 0}),
}
POSITIONS = {"Roberta": 38, "XLMRoberta": 38, "XLMRobertaXL": 38, "DebertaV2": None, "ModernBert": None}


def random_encoder(family: str):
    settings, _ = FAMILIES[family]
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**settings)
    return getattr(transformers, f"{family}Model")(config)


@pytest.mark.parametrize("family", FAMILIES)
def test_depths_follow_the_order_of_computation(family):
    depths = depths_of(random_encoder(family))
    for part, depth in FAMILIES[family][1].items():
        found = {name: own for name, own in depths.items() if part in name}
        assert set(found.values()) == {depth}, (part, found)


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_are_what_the_encoder_can_read(family):
    encoder = random_encoder(family).eval()
    limit = positions_of(encoder)
    assert limit == POSITIONS.get(family, 40)
    ids = torch.full((1, limit or 100), 5)
    assert encoder(input_ids=ids, attention_mask=torch.ones_like(ids))[0].shape[1] == len(ids[0])
    if limit is not None:
        longer = torch.full((1, limit + 1), 5)
        with pytest.raises((IndexError, RuntimeError)):
            encoder(input_ids=longer, attention_mask=torch.ones_like(longer))


def test_depths_are_measured_without_a_trace():
    encoder = random_encoder("Bert").train()
    before = torch.get_rng_state()
    depths_of(encoder)
    assert encoder.training and torch.equal(before, torch.get_rng_state())
    assert not any(module._forward_pre_hooks for module in encoder.modules())


def test_a_window_that_the_encoder_cannot_read_is_refused_when_it_is_built(tmp_path):
    model = Transformer(str(tiny_bert(tmp_path, n_positions=32)), max_pieces=31)
    with pytest.raises(ValueError, match=r"L820.*max_pieces = 31.*30 subwords"):
        model.initialize()


@pytest.mark.parametrize("max_pieces", [None, 254])  # 254 was saved by version 0.3.0
def test_a_long_sentence_is_read_by_an_encoder_of_few_positions(max_pieces, tmp_path):
    model = Transformer(str(tiny_bert(tmp_path, n_positions=32)))
    model.initialize()
    model.attrs["max_pieces"] = max_pieces
    docs = [Doc(spacy.blank("en").vocab, words=["oslo"] * 100)]
    assert model.predict(docs)[0].shape == (100, 16)
    again = Transformer().from_bytes(model.to_bytes())
    assert again.predict(docs)[0] == pytest.approx(model.predict(docs)[0], abs=1e-6)
