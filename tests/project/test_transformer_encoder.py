"""scripts/transformer_encoder.py: a tiny encoder is pretrained, written and used."""

import random
from pathlib import Path

import numpy as np
import pytest
import spacy

from tests.util import run_script, tiny_bert

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
pytest.importorskip("transformers", reason="needs the extra 'transformers'")

from spacy_longtail.models.transformer import Pieces, encoder_of  # noqa: E402
from spacy_longtail.studies.pretraining.bi_encoder.data import IGNORED, Options, batch_of  # noqa: E402
from spacy_longtail.studies.pretraining.bi_encoder.model import BiEncoder  # noqa: E402
from spacy_longtail.studies.pretraining.bi_encoder.packing import (  # noqa: E402
    Texts,
    pack_open,
    read_open_types,
)
from spacy_longtail.studies.pretraining.bi_encoder.writing import fit_map  # noqa: E402

SCRIPT = Path(__file__).parents[2] / "scripts" / "transformer_encoder.py"
TEXT = """domain: harbour notes

The [Fram|ship; vehicle] left [Oslo|town; place] at [night|time of day; time].
[Jon|sailor; person] saw the [Fram|ship; vehicle] in [Rome|city; place].
Nobody sent help there.
"""


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT, encoding="utf8")
    return folder


@pytest.fixture
def bert(tmp_path):
    return tiny_bert(tmp_path / "bert", width=64, depth=2)


def packed(notes, bert):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(bert).backend_tokenizer
    texts = Texts(tokenizer)
    docs = list(read_open_types(notes, spacy.blank("en").vocab))
    return docs, pack_open("notes", docs, Pieces(tokenizer), texts, 1.0), texts


def test_open_types_are_read(notes, bert):
    docs, donor, _ = packed(notes, bert)
    assert [len(found.doc) for found in docs] == [7, 7, 5]
    assert [(s.text, s.label_) for s in docs[0].fine] == [
        ("Fram", "ship"),
        ("Oslo", "town"),
        ("night", "time of day"),
    ]
    assert [s.label_ for s in docs[1].coarse] == ["person", "vehicle", "place"]
    for level in range(2):
        assert [len(tags) for tags in donor.tags[level]] == [7, 7, 5] and not donor.tags[level][2].any()
    (notes / "b.txt").write_text(
        "domain: x\n\nThe [Fram|ship; vehicle; thing] left Oslo.\n", encoding="utf8"
    )
    with pytest.raises(ValueError, match=r"L401.*b\.txt:3"):
        list(read_open_types(notes, spacy.blank("en").vocab))
    with pytest.raises(ValueError, match="L402"):
        list(read_open_types(notes / "none", spacy.blank("en").vocab))


def test_what_is_near_to_a_type_of_the_sentence_is_left_out(notes, bert):
    _, donor, texts = packed(notes, bert)
    names = list(texts.place)
    near = np.eye(len(names), dtype=bool)
    a, b = names.index("town"), names.index("city")
    near[a, b] = near[b, a] = True
    for seed in range(40):
        batch = batch_of(donor, texts.pieces, 500, random.Random(seed), near, Options())
        own = [names[i] for i in batch.texts.tolist()]
        assert batch.off.shape == (19, len(own)) and batch.gold.max() <= 2 * len(own)
        picked = batch.gold[batch.gold > 0]
        assert not batch.off[batch.gold > 0, (picked - 1) // 2].any()
        if "town" in own:  # the fine types
            assert len(own) == 5 and batch.off.sum() == 14  # 7 words of Oslo's sentence, 7 of Rome's
        else:
            assert set(own) == {"vehicle", "place", "time", "person"} and not batch.off.any()


def test_types_that_are_left_out_are_not_o_where_a_near_one_competes(notes, bert):
    _, donor, texts = packed(notes, bert)
    donor.is_open, donor.tags = False, donor.tags[:1]
    near = np.ones((len(texts.place),) * 2, dtype=bool)
    masked = [
        [
            int((batch.gold == IGNORED).sum())
            for seed in range(20)
            if (batch := batch_of(donor, texts.pieces, 500, random.Random(seed), rows, Options(1.0)))
        ]
        for rows in (near, ~near)
    ]
    assert max(masked[0]) > 0 and masked[1] == [0] * 20


def test_logits_are_those_of_the_described_layer(notes, bert):
    from transformers import AutoModel

    from spacy_longtail.layers.described import described_linear, lay_out, set_descriptions

    torch.manual_seed(0)
    model = BiEncoder(AutoModel.from_pretrained(bert), width=8)
    layer = described_linear(8, True)
    layer.set_dim("nO", 7)
    lay_out(layer, np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 0, 1, 0, 1]))
    rng = np.random.default_rng(0)
    D = rng.normal(size=(3, 64)).astype("float32")
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    X = rng.normal(size=(5, 64)).astype("float32")
    set_descriptions(layer, D)
    layer.initialize(X=X)
    layer.set_param("P", model.P.detach().numpy())
    layer.set_param("Q", model.Q.detach().numpy())
    W, b = layer.get_param("W"), layer.get_param("b")
    W[0], b[0] = model.o.weight.detach().numpy()[0], 0.5
    layer.set_param("W", W)
    layer.set_param("b", b)
    with torch.no_grad():
        model.o.bias.fill_(0.5)
        found = model.logits(torch.from_numpy(X), torch.from_numpy(D)).numpy()
    assert found == pytest.approx(layer.predict(X), abs=1e-4)


def test_the_map_makes_up_for_a_distortion():
    rng = np.random.default_rng(0)
    full = rng.normal(size=(400, 16))
    short = full @ (np.eye(16) + 0.2 * rng.normal(size=(16, 16)))
    assert abs(short @ fit_map(short, full) - full).max() < 0.1 < abs(short - full).max()


def test_a_pretrained_pipeline_finds_what_it_was_shown(notes, bert, tmp_path):
    out = tmp_path / "en_tiny"
    options = [
        "--open",
        notes,
        "--model",
        bert,
        "--pieces",
        "400",
        "--rate",
        "0.01",
        "--head-rate",
        "0.01",
    ]
    done = run_script(SCRIPT, *options, "--steps", "60", "--bits", "8", "8", "8", "-o", out)
    assert done.exit_code == 0, done.output
    nlp = spacy.load(out)
    assert "person" in nlp.get_pipe("ner").labels
    from spacy_longtail.describers import LabelEncoder

    ner = nlp.get_pipe("ner")
    ner.describe = LabelEncoder(str(out))
    ner.set_labels({"BOAT": "ship", "TOWN": "town"})
    # a random BERT reads all labels alike: which type it is cannot be learnt, what is a mention can
    shown, nothing = nlp.pipe(["The Fram left Oslo at night .", "Nobody sent help there ."])
    assert [ent.text for ent in shown.ents] == ["Fram", "Oslo", "night"] and not nothing.ents
    small = tmp_path / "en_small"
    more = ["--start", out, "--layers", "1", "--steps", "2", "--name", "en_small"]
    done = run_script(SCRIPT, *options, *more, "-o", small)
    assert done.exit_code == 0, done.output
    again = run_script(SCRIPT, *options, *more, "-o", small)
    assert again.exit_code != 0
    assert encoder_of(spacy.load(small).get_pipe("tok2vec").model).encoder.config.num_hidden_layers == 1
    for wrong in (["--steps", "1", "--seconds", "1"], [], ["--open", tmp_path / "none", "--steps", "1"]):
        assert run_script(SCRIPT, "--model", bert, *wrong, "-o", tmp_path / "no").exit_code != 0
