"""Types that the config declares and the training data has no mention of."""

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Span
from spacy.training import Example

from spacy_longtail.heads.outputs import output_of
from tests.util import DESCRIBED_MODEL as DESCRIBED
from tests.util import (
    GATE_MODEL,
    TOKEN_MODEL,
    blank,
    config_file,
    entity_offsets,
    examples,
    numbered,
    one_pipe,
    parse,
    reloaded,
    run_app,
    small_ner,
    train,
    train_further,
)

DECLARED = ["PER", "GEO", "ART", "NAT", "SHIP"]  # no toy sentence mentions a SHIP


def declaring(factory="longtail_token_ner", **settings):
    nlp = blank()
    nlp.config["longtail"] = {"labels": DECLARED}
    nlp.add_pipe(factory, name="ner", config=settings)
    return nlp


def logits(nlp):
    pipe, docs = nlp.get_pipe("ner"), [eg.predicted for eg in examples(nlp)]
    return np.asarray(pipe.tokens.head.logits(pipe.model.predict(docs)).dataXd)


def ships(nlp):
    doc = parse(nlp, "The [Vega|SHIP] sank near [Oslo|GEO] .")
    return Example(nlp.make_doc("The Vega sank near Oslo ."), doc)


@pytest.mark.parametrize("head", ["softmax", "crf", "sigmoid"])
def test_a_declared_type_without_mention_is_as_if_it_were_added_after_training(head):
    nlp = declaring(model=DESCRIBED, head=head)
    with pytest.warns(UserWarning, match=r"LW180.*SHIP.*by their descriptions alone"):
        train(nlp, 10, ner={"descriptions": {"SHIP": "ship or boat"}})

    other = one_pipe(model=DESCRIBED, head=head)
    train(other, 10)
    other.get_pipe("ner").add_label("SHIP", "ship or boat")

    assert nlp.get_pipe("ner").labels[-1] == "SHIP"
    assert nlp.get_pipe("ner").types.descriptions["SHIP"] == "ship or boat"
    # sums over other shapes of matrices round differently, on some CPUs by 2e-4
    assert logits(nlp) == pytest.approx(logits(other), abs=1e-3)


@pytest.mark.parametrize("head", ["softmax", "crf", "sigmoid"])
def test_a_declared_type_is_learnt_as_soon_as_mentions_appear(head):
    nlp = declaring(model=DESCRIBED, head=head)
    with pytest.warns(UserWarning, match="LW180"):
        train(nlp, 5)
    pipe = nlp.get_pipe("ner")
    assert pipe.types.unseen == ("SHIP",)

    train_further(nlp, [ships(nlp)], 60, learn_rate=0.02)

    assert pipe.types.unseen == ()
    assert output_of(pipe.model).get_param("W")[pipe.tokens.codec.tags.index("B-SHIP")].any()
    assert (1, 2, "SHIP") in entity_offsets(nlp("The Vega sank near Oslo ."))


def test_a_saved_pipe_remembers_which_types_it_has_not_seen(tmp_path):
    nlp = declaring(model=DESCRIBED)
    with pytest.warns(UserWarning, match="LW180"):
        train(nlp, 2)
    assert reloaded(nlp, tmp_path).get_pipe("ner").types.unseen == ("SHIP",)


def test_labels_are_set_after_training_with_a_declared_type():
    nlp = declaring(model=DESCRIBED)
    with pytest.warns(UserWarning, match="LW180"):
        train(nlp, 2)
    nlp.get_pipe("ner").set_labels({"SHIP": "ship", "BIRD": "bird"})
    assert nlp.get_pipe("ner").labels == ("SHIP", "BIRD")
    assert logits(nlp).shape[1] == 5
    nlp.update([ships(nlp)])  # BIRD stays as its description says, SHIP is learnt
    assert nlp.get_pipe("ner").types.unseen == ("BIRD",)


@pytest.mark.parametrize("head", ["softmax", "crf", "sigmoid", "two_task"])
def test_a_pipe_without_descriptions_keeps_a_declared_type_and_learns_the_others(head):
    nlp = declaring(model=TOKEN_MODEL, head=head)
    with pytest.warns(UserWarning, match=r"LW180.*SHIP.*cannot find them"):
        train(nlp, 60)
    labels = {ent.label_ for eg in examples(nlp) for ent in nlp(eg.predicted).ents}
    assert "SHIP" in nlp.get_pipe("ner").labels
    assert labels and labels <= {"PER", "GEO", "ART", "NAT"}


@pytest.mark.parametrize(
    "weights", ["longtail.inverse_frequency.v1", "longtail.log_inverse_frequency.v1"]
)
def test_class_weights_are_finite_for_a_type_without_a_mention(weights):
    loss = {"@losses": "longtail.CrossEntropy.v1", "weights": {"@misc": weights}}
    nlp = declaring(model=TOKEN_MODEL, loss=loss)
    pipe = nlp.get_pipe("ner")
    with pytest.warns(UserWarning, match="LW180"):
        pipe.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: examples(nlp))
    assert np.isfinite(list(pipe.tokens.class_values.values())).all()


@pytest.mark.parametrize("include", [None, ["PER", "SHIP"]])
def test_the_transition_ner_keeps_a_declared_type_and_learns_it_from_mentions(include):
    nlp = declaring("longtail_ner", **small_ner(include=include))
    with pytest.warns(UserWarning, match=r"LW180.*SHIP.*cannot find them"):
        train(nlp, 5)
    assert "SHIP" in nlp.get_pipe("ner").labels
    train_further(nlp, [ships(nlp)], 80, learn_rate=0.02)  # enough on every CPU
    assert (1, 2, "SHIP") in entity_offsets(nlp("The Vega sank near Oslo ."))


def test_the_gate_and_the_secondary_accept_a_rare_type_without_a_mention():
    nlp = declaring(model=TOKEN_MODEL, include=["PER", "GEO", "ART"], scores_key="entity_scores")
    gate = {"model": GATE_MODEL, "rare_labels": ["NAT", "SHIP"]}
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate)
    secondary = {"model": DESCRIBED, "labels": ["NAT", "SHIP"]}
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=secondary)
    with pytest.warns(UserWarning, match=r"LW180.*SHIP.*weak_ner"):
        train(nlp, 2)
    assert nlp.get_pipe("weak_ner").labels == ("NAT", "SHIP")
    assert nlp.get_pipe("weak_ner").types.unseen == ("SHIP",)


def test_declared_types_alone_are_nothing_to_learn_from():
    nlp = declaring(model=DESCRIBED)
    bare = [Example(doc, doc.copy()) for doc in [nlp.make_doc("It rained .")]]
    with pytest.raises(ValueError, match="L215"):
        nlp.initialize(lambda: bare)


def test_a_description_of_a_type_that_nothing_declares_is_refused():
    nlp = declaring(model=DESCRIBED)
    nlp.config["initialize"]["components"]["ner"] = {"descriptions": {"SHIPP": "a ship"}}
    with pytest.raises(ValueError, match=r"L801.*SHIPP"):
        nlp.initialize(lambda: examples(nlp))


# The whole way

TYPES = {"labels": ["PER", "GEO", "ART", "NAT", "BIRD"], "tail": ["BIRD"]}


@pytest.fixture
def source(tmp_path):
    """The folder of an export that declares and describes BIRD, which no document mentions."""
    spans = [
        [{"start": e.start_char, "end": e.end_char, "label": e.label_} for e in doc.ents]
        for doc in numbered(40)
    ]
    rows = [{"text": doc.text, "spans": own} for doc, own in zip(numbered(40), spans)]
    (tmp_path / "source").mkdir()
    srsly.write_jsonl(tmp_path / "source" / "all.jsonl", rows)
    srsly.write_json(tmp_path / "source" / "corpus.json", {**TYPES, "descriptions": {"BIRD": "bird"}})
    return tmp_path / "source"


@pytest.mark.slow
@pytest.mark.parametrize("config", ["pretrained_cnn", "token_crf", "focal"])
def test_a_corpus_that_declares_a_type_without_mention_goes_the_whole_way(config, source, tmp_path):
    corpus, run = tmp_path / "corpus", tmp_path / "run"
    run_app("convert", source, tmp_path / "whole")
    run_app("split", tmp_path / "whole", corpus)
    run_app("stats", corpus, "-o", tmp_path / "stats.json")
    steps = ["--training.max_steps=10", "--training.eval_frequency=10"]
    trained = run_app("train", config_file(config), corpus, run, *steps)
    run_app("evaluate", run / "model-best", corpus, "-o", tmp_path / "metrics.json")

    assert srsly.read_json(corpus / "types.json")["labels"] == TYPES["labels"]
    types = srsly.read_json(tmp_path / "stats.json")["parts"]["train"]["types"]
    assert types["BIRD"]["mentions"] == 0
    assert "LW180" in trained.output and "BIRD" in trained.output
    assert "BIRD" in spacy.load(run / "model-best").get_pipe("ner").labels
    scores = srsly.read_json(tmp_path / "metrics.json")["scores"]["ents_per_type"]
    assert scores["BIRD"]["support"] == 0


def test_transitions_cannot_mask_a_type_that_was_not_annotated():
    nlp = one_pipe("longtail_ner")
    doc = nlp.make_doc("Jon saw the Fram .")
    doc.set_ents([Span(doc, 0, 1, label="PER"), Span(doc, 3, 4, label="ART")], default="outside")
    eg = Example(nlp.make_doc(doc.text), doc)
    optimizer = nlp.initialize(lambda: [eg])
    doc.ents = [ent for ent in doc.ents if ent.label_ == "PER"]
    doc.user_data["annotated_types"] = ["PER"]
    with pytest.raises(ValueError, match=r"L002.*annotated types"):
        nlp.update([eg], sgd=optimizer)
