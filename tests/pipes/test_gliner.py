"""`longtail_gliner` on a tiny random GLiNER, with the package's own predictions as the oracle."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import srsly
from spacy.tokens import Doc

from spacy_longtail.pipes.gliner_ner import sentence_parts
from tests.util import from_bytes, one_pipe, shared_gliner, tiny_bert, tiny_gliner

pytest.importorskip("gliner", reason="needs the extra 'gliner'")

LABELS = ["PER", "GEO", "ART", "NAT"]
WORDS = ["person", "town or country", "ship", "storm"]
TOLD = dict(zip(LABELS, WORDS, strict=True))
TEXTS = [
    "Maria sailed to Oslo on the Fram.",
    "Nobody saw Storm Ida coming, said Jon Berg. Rome sent help when it passed.",
    "",
    "Old Maria sold the Fram in Oslo",
    "   ",
    "Rome",
]


def build(model=None, **given):
    config = {"model_name": model or shared_gliner(), "labels": LABELS, "scores_key": "entity_scores"}
    return one_pipe("longtail_gliner", "own", **{**config, "descriptions": TOLD, **given})


@pytest.fixture(scope="module")
def nlp():
    """Of all tests that change nothing."""
    return build()


KINDS = {
    "spans": {},
    "tokens": {"span_mode": "token_level", "seed": 1},
    "bi_encoder": {"bi_encoder": True, "seed": 4},
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request, tmp_path_factory):
    """The folder of a model of each kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a bi-encoder does with its tokens
        return str(tiny_gliner(tmp_path_factory.mktemp("gliner"), **KINDS[request.param]))


def oracle(nlp, text, threshold=0.5):
    """What the package finds: characters, type and score."""
    pipe = nlp.get_pipe("own")
    of = {told: label for label, told in pipe.cfg["types"].items()}
    rows = pipe.gliner.predict_entities(text, list(of), threshold=threshold)
    return [(e["start"], e["end"], of[e["label"]], e["score"]) for e in rows]


def scored(doc):
    group = doc.spans["entity_scores"]
    assert list(group) == list(doc.ents)
    return [
        (s.start_char, s.end_char, s.label_, score)
        for s, score in zip(group, group.attrs["scores"], strict=True)
    ]


def same(first, second):
    assert [row[:3] for row in first] == [row[:3] for row in second]
    assert [row[3] for row in first] == pytest.approx([row[3] for row in second], abs=1e-5)


# What it finds


def test_it_finds_what_the_package_finds(kind):
    nlp = build(kind)
    docs = list(nlp.pipe(TEXTS))
    assert len({row[2] for doc in docs for row in scored(doc)}) > 1
    again = from_bytes(nlp)
    for text, doc in zip(TEXTS, docs, strict=True):
        expected = oracle(nlp, text)
        for own in (doc, nlp(text), again(text)):
            same(scored(own), expected)


@pytest.mark.filterwarnings("error::UserWarning")  # the package warns where it cuts
def test_a_long_text_is_read_to_its_end(nlp):
    doc = nlp(" ".join(["Maria sailed to Oslo on the Fram and"] * 30))
    assert max(ent.end for ent in doc.ents) > len(doc) - 8


@pytest.mark.parametrize(
    ("lengths", "most", "expected"),
    [
        ([], 5, []),
        ([2, 3, 1], 5, [(0, 2), (2, 5), (5, 6)]),
        ([5, 5], 5, [(0, 5), (5, 10)]),
        ([1, 12, 2], 5, [(0, 1), (1, 6), (6, 11), (11, 13), (13, 15)]),
    ],
)
def test_parts_are_sentence_parts(nlp, lengths, most, expected):
    starts = np.cumsum([0, *lengths])[:-1]
    n = sum(lengths)
    doc = Doc(nlp.vocab, words=["a"] * n, sent_starts=[i in starts for i in range(n)] if n else None)
    assert list(sentence_parts(doc, most)) == expected


# What it cannot load


def spoilt(folder, change):
    shutil.copytree(shared_gliner(), folder)
    change(folder)
    return str(folder)


def change_json(path, **changes):
    srsly.write_json(path, {**srsly.read_json(path), **changes})


def of_config(**changes):
    return lambda folder: change_json(folder / "gliner_config.json", **changes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda f: (f / "gliner_config.json").unlink(), "gliner_config.json"),
        (lambda f: (f / "gliner_config.json").write_text("{"), "L296"),
        (lambda f: (f / "model.safetensors").unlink(), "L296.*[Nn]o model file"),
        (lambda f: (f / "model.safetensors").write_bytes(b"nothing"), "L296"),
        (of_config(hidden_size=24), "L296"),
        (of_config(auto_map={"AutoModel": "evil--evil.Model"}), "L296.*auto_map"),
    ],
)
def test_a_folder_that_is_no_gliner_model_is_refused(change, problem, tmp_path):
    with pytest.raises(ValueError, match=problem) as error:
        build(spoilt(tmp_path / "model", change))("Maria left.")
    assert "L296" in str(error.value)


def test_an_encoder_that_is_looked_up_brings_no_code(tmp_path):
    """Older models name their encoder, and no config of it."""
    encoder = tiny_bert(tmp_path / "bert", 128)
    looked_up = of_config(encoder_config=None, model_name=str(encoder))
    model = spoilt(tmp_path / "model", looked_up)
    same(scored(build(model)(TEXTS[0])), scored(build()(TEXTS[0])))
    change_json(encoder / "config.json", auto_map={"AutoModel": "evil--evil.Model"})
    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(model)("Maria left.")
    of_labels = of_config(labels_encoder=str(encoder), labels_encoder_config=None)
    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(spoilt(tmp_path / "bi_encoder", of_labels))("Maria left.")


def write_evil_code(folder):
    """Write a module into a model's folder that creates OWNED beside the folder when it runs."""
    mark = folder.parent / "OWNED"
    (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\n\nEvil = dict\n", "utf8")
    return mark


def test_a_decoder_that_is_looked_up_runs_no_code(tmp_path):
    from transformers import GPT2Config

    decoder = tmp_path / "decoder"
    decoder.mkdir()
    config = GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=300, n_positions=64).to_dict()
    config["auto_map"] = {"AutoModelForCausalLM": "evil.Evil"}
    srsly.write_json(decoder / "config.json", config)
    for path in Path(shared_gliner()).glob("*token*"):
        shutil.copy(path, decoder)
    mark = write_evil_code(decoder)
    looked_up = {"labels_decoder": str(decoder), "labels_decoder_config": None, "span_mode": "markerV0"}

    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(spoilt(tmp_path / "model", of_config(**looked_up)))("Maria left.")

    assert not mark.exists()


def test_a_tokenizer_with_code_of_its_own_is_refused_without_a_question(tmp_path, monkeypatch):
    def change(folder):
        own = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}}
        change_json(folder / "tokenizer_config.json", **own)
        (folder / "tokenizer.json").unlink()

    model = spoilt(tmp_path / "model", change)
    mark = write_evil_code(tmp_path / "model")
    monkeypatch.setattr("builtins.input", lambda question: "y")  # a user who is in a hurry

    with pytest.raises(ValueError, match=r"L296.*auto_map"):
        build(model)("Maria left.")

    assert not mark.exists()


def test_loaded_settings_bring_their_own_model(tmp_path):
    other = str(tiny_gliner(tmp_path / "other", seed=4))
    nlp = build()
    nlp(TEXTS[0])  # loads the model of the first settings
    nlp.get_pipe("own").from_bytes(build(other).get_pipe("own").to_bytes())
    assert oracle(nlp, TEXTS[1]) == oracle(build(other), TEXTS[1]) != oracle(build(), TEXTS[1])
