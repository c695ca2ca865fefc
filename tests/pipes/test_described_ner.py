"""Label descriptions in the pipes: equal logits everywhere, types added, types never annotated."""

import shutil

import numpy as np
import pytest
import spacy
from spacy.training import Example

from spacy_longtail.describers import HashedDescriptions
from spacy_longtail.encoders import located
from spacy_longtail.heads.outputs import output_of
from spacy_longtail.pipes.token import describing
from spacy_longtail.types import ANNOTATED_TYPES
from tests.util import DESCRIBED_MODEL as MODEL
from tests.util import TOKEN_MODEL, examples, one_pipe, parse, run_python, train, train_further, words

each_head = pytest.mark.parametrize(
    ("head", "scheme"), [("softmax", "BIO"), ("crf", "BILUO"), ("sigmoid", "BIO")]
)
HASHED = {"@misc": "longtail.HashedDescriptions.v1", "width": 40}
SHIPS = "[Ann|PER] saw [Vega|SHIP]"
GATED = {"labels": ["ART", "NAT"], "merge": "fill", "spans_key": None}


def build(factory="longtail_token_ner", model=MODEL, **settings):
    return one_pipe(factory, model=model, **settings)


def logits(pipe, docs):
    """One row per token, whatever the head."""
    return np.asarray(pipe.tokens.head.logits(pipe.model.predict(docs)).dataXd)


def toy_docs(nlp):
    return [eg.predicted for eg in examples(nlp)]


def places(docs):
    return [[(e.start, e.end, e.label) for e in doc] for doc in docs]


@each_head
def test_a_described_pipe_learns_and_its_logits_are_those_of_the_formula(head, scheme):
    nlp = build(head=head, scheme=scheme)
    history = train(nlp, 25)
    assert history[-1]["ner"] < 0.6 * history[0]["ner"]
    pipe, docs = nlp.get_pipe("ner"), toy_docs(nlp)
    W, b, P, Q, D = (output_of(pipe.model).get_param(name) for name in ("W", "b", "P", "Q", "D"))
    H = np.concatenate(pipe.model.get_ref("tok2vec").predict(docs))
    expected = H @ W.T + b
    for j, tag in enumerate(pipe.tokens.codec.tags[1:], start=1):
        k, t = scheme.replace("O", "").index(tag[0]), pipe.labels.index(tag[2:])
        expected[:, j] += 8 / 4 * (H @ P[k].T) @ (Q[k] @ D[t])  # 4 is the root of the width
    assert logits(pipe, docs) == pytest.approx(expected, abs=1e-3)
    assert W[1:].any()  # the residual, which began at zero


@pytest.mark.parametrize("other", [{"width": 41}, {"seed": 5}])
def test_a_type_is_not_added_by_another_describer_than_that_of_the_training(other, tmp_path):
    """Its vector would be of another width, or of another space."""
    nlp = build(describe=HASHED)
    train(nlp, 5)
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("ner").add_label("SHIP", "ship or boat") == 1
    changed = {"components": {"ner": {"describe": {**HASHED, **other}}}}
    pipe = spacy.load(tmp_path, config=changed).get_pipe("ner")
    docs = toy_docs(nlp)
    before, labels, kept = logits(pipe, docs), pipe.labels, dict(pipe.cfg)
    with pytest.raises(ValueError, match=r"L272.*'SHIP'"):
        pipe.add_label("SHIP", "ship or boat")
    assert pipe.labels == labels and pipe.cfg == kept and np.array_equal(logits(pipe, docs), before)


# Types that are added


@each_head
def test_a_type_that_is_added_leaves_the_others_as_they_are(head, scheme):
    nlp = build(head=head, scheme=scheme)
    train(nlp, 15, ner={"descriptions": {"ART": "ship"}})
    pipe, docs = nlp.get_pipe("ner"), toy_docs(nlp)
    before = logits(pipe, docs)
    shown = places(pipe.candidates(docs))
    assert pipe.add_label("BOAT", "rowing boat") == 1
    added = output_of(pipe.model).get_param("b")[before.shape[1] :]
    assert len(added) and not added.any()  # a new type starts from its description alone
    assert [pipe.add_label("BOAT", text) for text in (None, "rowing  boat")] == [0, 0]
    with pytest.raises(ValueError, match=r"L271.*'BOAT'"):
        pipe.add_label("BOAT", "other")
    after = logits(pipe, docs)
    assert np.array_equal(after[:, : before.shape[1]], before)
    assert pipe.types.descriptions["ART"] == "ship"
    assert pipe.types.descriptions["BOAT"] == "rowing boat"
    new = after[:, before.shape[1] :]
    assert new.shape[1] == len(pipe.tokens.codec.prefixes) and new.std() > 0
    for before, after in zip(shown, places(pipe.candidates(docs)), strict=True):
        assert before == after or "BOAT" in {label for *_, label in after}


@pytest.mark.parametrize("factory", ["longtail_token_ner", "longtail_gated_ner"])
@pytest.mark.parametrize(("model", "text"), [(MODEL, "person"), (TOKEN_MODEL, None)])
def test_a_type_is_added_before_training_and_learnt(factory, model, text):
    settings = GATED if factory == "longtail_gated_ner" else {"include": ["ART", "NAT"]}
    nlp = build(factory, model, **settings)
    pipe = nlp.get_pipe("ner")
    pipe.add_label("PER", text)
    nlp.initialize(lambda: examples(nlp))
    assert set(pipe.labels) == {"ART", "NAT", "PER"}
    assert pipe.types.descriptions.get("PER") == text
    train_further(nlp, learn_rate=0.02)
    assert "PER" in {e.label_ for doc in nlp.pipe(toy_docs(nlp)) for e in doc.ents}


@pytest.mark.parametrize(
    ("factory", "settings"),
    [
        ("longtail_token_ner", {"include": ["SHIP"]}),
        ("longtail_gated_ner", {**GATED, "labels": ["SHIP"]}),
    ],
)
def test_entities_of_other_types_are_still_o_after_set_labels(factory, settings):
    nlp = build(factory, **settings)
    eg = Example(words(nlp, SHIPS), parse(nlp, SHIPS))
    nlp.initialize(lambda: [eg])
    pipe = nlp.get_pipe("ner")
    pipe.set_labels({"SHIP": "vessel", "BIRD": "bird"})
    assert pipe.gold([eg]).mask.tolist() == [1, 1, 1]
    assert pipe.cfg["include"] == ["SHIP", "BIRD"]


def test_thresholds_and_calibration_of_earlier_types_leave_with_set_labels():
    nlp = build()
    nlp.initialize(lambda: examples(nlp))
    pipe = nlp.get_pipe("ner")
    pipe.cfg.update({"thresholds": {"PER": 0.9}, "calibration": {"*": [3.0, 1.0]}})

    pipe.set_labels({"SHIP": "vessel"})

    assert pipe.cfg["thresholds"] is pipe.cfg["calibration"] is None


# What types are in words


def test_descriptions_are_those_given_or_the_words_of_the_name_hashed():
    nlp = build()
    train(nlp, 1, ner={"descriptions": {"ART": "  the \n Fram ", "GEO": "Oslo"}})
    pipe = nlp.get_pipe("ner")
    texts = pipe.types.descriptions
    assert texts["ART"] == "the Fram" and texts["GEO"] == "Oslo" and texts["PER"] == "person"
    assert list(texts) == list(pipe.labels)
    nlp = build()
    train(nlp, 1)
    assert nlp.config["components"]["ner"]["describe"] == {"@misc": "longtail.HashedDescriptions.v1"}
    pipe = nlp.get_pipe("ner")
    expected = HashedDescriptions()(list(pipe.types.descriptions.values()))
    assert output_of(pipe.model).get_param("D") == pytest.approx(expected, abs=1e-6)


def test_what_a_describer_gives_is_checked():
    nlp = build()
    nlp.get_pipe("ner").describe = lambda texts: np.zeros((len(texts), 3))
    with pytest.raises(ValueError, match=r"L272.*a vector of zeros"):
        nlp.initialize(lambda: examples(nlp))


def test_words_that_an_english_encoder_does_not_know_are_to_be_described_in_english():
    nlp = build(describe={"@misc": "longtail.SubwordDescriptions.v1", "source": "en_longtail_cnn"})
    train(nlp, 1)
    with pytest.raises(ValueError, match=r"L272.*'人名'.*English for an English encoder.*types\.json"):
        nlp.get_pipe("ner").set_labels({"PER": "人名", "GEO": "地名"})


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_a_saved_pipe_predicts_without_its_describer(tmp_path):
    """In a process that has none of the extras, which a describer may need."""
    vectors = shutil.copytree(located("en_longtail_cnn"), tmp_path / "vectors")
    nlp = build(describe={"@misc": "longtail.SubwordDescriptions.v1", "source": str(vectors)})
    train(nlp, 30)
    nlp.to_disk(tmp_path / "model")
    shutil.rmtree(vectors)
    text = "Maria sailed to Oslo on the Fram ."
    shown = str([(e.start, e.end, e.label_) for e in nlp(text).ents])
    assert shown != "[]"
    code = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('torch', 'transformers', 'tokenizers'))\n"
        f"import spacy; nlp = spacy.load({str(tmp_path / 'model')!r})\n"
        f"print([(e.start, e.end, e.label_) for e in nlp({text!r}).ents])\n"
    )
    assert run_python(code).strip() == shown
    assert spacy.load(tmp_path / "model").get_pipe("ner").add_label("SHIP", "ship or boat") == 1


# Types that nobody annotated


@pytest.mark.parametrize("head", ["softmax", "crf"])
@pytest.mark.parametrize("factory", ["longtail_token_ner", "longtail_gated_ner"])
def test_documents_say_which_types_they_were_annotated_with(head, factory):
    settings = {**GATED, "labels": ["ART", "NAT", "PER"]} if factory == "longtail_gated_ner" else {}
    nlp = build(factory, head=head, **settings)
    train(nlp, 2)
    pipe, batch = nlp.get_pipe("ner"), examples(nlp)
    for eg in batch[::2]:
        eg.reference.user_data[ANNOTATED_TYPES] = kept = ["PER", "ART", "GEO"]
        eg.reference.set_ents([e for e in eg.reference.ents if e.label_ in kept])
    docs = [eg.predicted for eg in batch]
    _, d_scores = pipe.get_loss(batch, pipe.model.predict(docs))
    d = np.asarray(pipe.tokens.head.logits(d_scores).dataXd)
    nat, per = (
        [i for i, t in enumerate(pipe.tokens.codec.tags) if t.endswith(own)] for own in ("NAT", "PER")
    )
    for i, rows in enumerate(np.split(d, np.cumsum([len(doc) for doc in docs])[:-1])):
        assert rows[:, nat].any() == (i % 2 == 1) and rows[:, per].any()


@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_an_entity_of_a_type_that_the_list_lacks_is_learnt(head):
    nlp = build(head=head)
    train(nlp, 1)
    pipe, (eg, *_) = nlp.get_pipe("ner"), examples(nlp)  # PER, GEO and ART
    scores = pipe.model.predict([eg.predicted])
    eg.reference.user_data[ANNOTATED_TYPES] = ["PER", "GEO", "ART"]
    expected, _ = pipe.get_loss([eg], scores)
    eg.reference.user_data[ANNOTATED_TYPES] = ["PER"]
    assert pipe.get_loss([eg], scores)[0] == expected < 1e4


# What is refused

BAD = [
    ({"head": "two_task"}, {}, "L209"),
    ({"describe": HASHED, "model": TOKEN_MODEL}, {}, "L213"),
    ({"model": TOKEN_MODEL}, {"descriptions": {"ART": "a ship"}}, "L213"),
    ({"model": TOKEN_MODEL}, {"pretrained": "nowhere"}, "L213"),
    ({}, {"descriptions": {"SHIP": "a ship"}}, "L801.*SHIP"),
    *(({}, {"descriptions": {"ART": text}}, "L271.*ART") for text in ("", " ")),
    ({}, {"descriptions": {"ART": "a thing", "NAT": "A  thing"}}, "L271"),
]


@pytest.mark.parametrize(("settings", "initialize", "code"), BAD)
def test_settings_of_no_use_are_refused(settings, initialize, code):
    with pytest.raises(ValueError, match=code):
        train(build(**settings), 0, ner=initialize)


def test_a_description_is_refused_by_a_pipe_without_descriptions():
    plain = build(model=TOKEN_MODEL).get_pipe("ner")
    with pytest.raises(ValueError, match="L213"):
        plain.add_label("SHIP", "ship")


def test_a_sigmoid_cannot_leave_types_out():
    nlp = build(head="sigmoid")
    train(nlp, 1)
    batch = examples(nlp)
    batch[0].reference.user_data[ANNOTATED_TYPES] = ["PER"]
    with pytest.raises(ValueError, match="L002"):
        nlp.update(batch)


# Two descriptions with one vector: hashed words know neither case nor punctuation


BOAT = {"ART": "rowing boat"}
ALIKE = {  # a change of a pipeline, and the types that it cannot tell apart
    "set_labels": (
        lambda nlp: nlp.get_pipe("ner").set_labels({"A": "person", "C": "ship", "B": "person."}),
        "A and B",
    ),
    "add_label": (lambda nlp: nlp.get_pipe("ner").add_label("BOAT", "Rowing boat!"), "ART and BOAT"),
    "initialize": (
        lambda nlp: train(nlp, 1, ner={"descriptions": {"NAT": "(rowing  boat)", **BOAT}}),
        "ART and NAT|NAT and ART",
    ),
}


@pytest.mark.parametrize(("change", "names"), ALIKE.values(), ids=ALIKE)
def test_types_with_one_vector_are_refused(change, names):
    nlp = build()
    train(nlp, 1, ner={"descriptions": BOAT})
    pipe, labels = nlp.get_pipe("ner"), nlp.get_pipe("ner").labels
    with pytest.raises(ValueError, match=rf"L802.*types ({names}) apart"):
        change(nlp)
    assert pipe.labels == labels


def test_equal_vectors_are_found_among_many_types(monkeypatch):
    monkeypatch.setattr(describing, "COMPARED", 3)
    texts = {f"T{i}": f"kind number {i}" for i in range(10)}
    assert describing.describe_apart(texts, None, "ner").shape == (10, 300)
    with pytest.raises(ValueError, match=r"L802.*T2 and T8 apart"):
        describing.describe_apart({**texts, "T8": "kind, number 2"}, None, "ner")


def test_initialising_a_gated_secondary_again_forgets_its_weights():
    nlp = build("longtail_gated_ner", **GATED)
    nlp.initialize(lambda: examples(nlp))
    before = output_of(nlp.get_pipe("ner").model).get_param("P").copy()
    nlp.initialize(lambda: examples(nlp))
    assert not np.array_equal(before, output_of(nlp.get_pipe("ner").model).get_param("P"))
