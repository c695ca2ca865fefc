"""Gate, primary and secondary together: how they share encoders, types and documents."""

import copy
import warnings

import numpy as np
import pytest
import spacy
from spacy.tokens import Span

from spacy_longtail.pipes.scores.spans import ScoredSpan, write_scores
from spacy_longtail.pipes.token.tagging import Predictions
from tests.util import (
    LISTENER,
    SENTENCES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    blank,
    entities,
    entity_offsets,
    examples,
    one_pipe,
    params,
    parse,
    reloaded,
    same_weights,
    small_ner,
    tiny_bert,
    train,
    trained_once,
    two_sentences,
    words,
)


def gate(tok2vec=SMALL, **settings):
    model = {"@architectures": "longtail.SentenceGate.v1", "tok2vec": tok2vec, "hidden_width": 16}
    return {"model": model, "rare_labels": WEAK, **settings}


def weak(tok2vec=SMALL, **settings):
    model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": tok2vec}
    return {"model": model, "labels": WEAK, "merge": "fill", **settings}


def shared(**settings):
    nlp = one_pipe("tok2vec", "tok2vec", model=SMALL)
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate(LISTENER))
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=weak(LISTENER, **settings))
    return nlp


@pytest.mark.parametrize("head", ["softmax", "two_task"])
def test_a_secondary_on_a_shared_encoder_learns_and_predicts_in_flagged_sentences_alone(head):
    nlp = shared(head=head)
    train(nlp, 60)
    for text in SENTENCES:
        gold = parse(nlp, text)
        doc = nlp(words(nlp, text))
        assert entities(doc) == [(e.text, e.label_) for e in gold.ents if e.label_ in WEAK]
    with nlp.select_pipes(disable="weak_ner"):
        both = nlp(two_sentences(nlp, bounded=True).predicted)
    assert [(s.start, s.end) for s in both.spans["weak_sentences"]] == [(6, len(both))]
    secondary = nlp.get_pipe("weak_ner")
    assert [(s.start, s.label) for s in secondary.candidates([both])[0]] == [(10, "NAT")]
    both.spans["weak_sentences"] = [both[0:6]]
    assert secondary.candidates([both]) == [[]]


def test_a_secondary_reads_as_it_was_trained_once_it_has_an_encoder_of_its_own(tmp_path):
    nlp, _ = trained_once(shared, 60)
    nlp.get_pipe("gate").cfg["threshold"] = 0.0

    def read(nlp):
        doc = two_sentences(nlp, bounded=True).predicted
        for name in ("tok2vec", "gate"):
            doc = nlp.get_pipe(name)(doc)
        (ents,) = nlp.get_pipe("weak_ner").candidates([doc])
        return [(ent.place, pytest.approx(ent.score, abs=1e-6)) for ent in ents]

    before = read(nlp)
    assert before
    nlp.replace_listeners("tok2vec", "weak_ner", ["model.tok2vec"])
    loaded = reloaded(nlp, tmp_path)
    for again in (nlp, loaded, copy.deepcopy(loaded)):
        assert read(again) == before
    loaded.initialize(lambda: examples(loaded))  # anew it has an encoder that reads sentences
    assert not loaded.get_pipe("weak_ner").cfg["reads_documents"]


LISTENING = {
    "longtail_token_ner": {"model": {**TOKEN_MODEL, "tok2vec": LISTENER}},
    "longtail_ner": {"model": {**small_ner()["model"], "tok2vec": LISTENER}},
    "longtail_sentence_gate": gate(LISTENER),
    "longtail_gated_ner": weak(LISTENER, spans_key=None),
}


def with_two_encoders(factory, model=SMALL):
    """A stock NER over one encoder, and a component of ours over another of equal width."""
    nlp = one_pipe("tok2vec", "tok2vec", model=model)
    parser = {**small_ner()["model"], "tok2vec": {**LISTENER, "upstream": "tok2vec"}}
    nlp.add_pipe("ner", config={"model": parser})
    nlp.add_pipe("tok2vec", name="second", config={"model": model})
    settings = LISTENING[factory]
    inner = {**settings["model"], "tok2vec": {**LISTENER, "upstream": "second"}}
    nlp.add_pipe(factory, name="own", config={**settings, "model": inner})
    nlp.initialize(lambda: examples(nlp))
    return nlp


@pytest.mark.parametrize("factory", LISTENING)
def test_a_listener_whose_encoder_is_disabled_does_not_read_another(factory):
    nlp = with_two_encoders(factory)
    list(nlp.pipe(["Maria saw Storm Ida ."]))
    with (
        nlp.select_pipes(disable=["second"]),
        pytest.raises(
            ValueError, match=r"L813.*'own' listens to 'second', which is disabled.*'tok2vec'"
        ),
    ):
        nlp("Maria saw Storm Ida .")


@pytest.mark.parametrize("factory", LISTENING)
def test_a_listener_that_is_loaded_without_its_encoder_does_not_read_another(factory, tmp_path):
    with_two_encoders(factory).to_disk(tmp_path)
    nlp = spacy.load(tmp_path, exclude=["second"])
    with pytest.raises(ValueError, match=r"L813.*'second', which is not in the pipeline"):
        list(nlp.pipe(["Maria saw Storm Ida ."]))


def test_a_listener_before_its_encoder_does_not_read_another():
    nlp = with_two_encoders("longtail_token_ner")
    nlp.add_pipe("tok2vec", name="third", before="own", config={"model": SMALL}).initialize(
        lambda: examples(nlp), nlp=nlp
    )
    with pytest.raises(ValueError, match=r"L813.*'second', which does not stand between 'third' and"):
        nlp("Maria saw Storm Ida .")


def test_a_listener_with_its_encoder_may_be_run_apart_from_it():
    """As `thresholds` does: each component in turn, on documents that those before it have read."""
    nlp = with_two_encoders("longtail_token_ner")
    doc = nlp.make_doc("Maria saw Storm Ida .")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in nlp.pipe_names:
            with nlp.select_pipes(enable=[name]):
                doc = nlp(doc)
    assert entity_offsets(doc) == entity_offsets(nlp("Maria saw Storm Ida ."))


def test_a_component_that_two_pipelines_share_is_judged_by_the_one_that_runs():
    nlp, other = with_two_encoders("longtail_token_ner"), blank()
    for name in ("second", "own"):
        other.add_pipe(name, source=nlp)
    with nlp.select_pipes(disable=["second"]):
        other("Maria saw Storm Ida .")
        with pytest.raises(ValueError, match="L813"):
            nlp("Maria saw Storm Ida .")


def test_a_listener_of_a_transformer_does_not_read_another(tmp_path):
    bert = tiny_bert(tmp_path / "bert")
    model = {"@architectures": "longtail.Transformer.v1", "name": str(bert)}
    nlp = with_two_encoders("longtail_token_ner", model)
    with nlp.select_pipes(disable=["second"]), pytest.raises(ValueError, match="L813"):
        nlp("Maria saw Storm Ida .")


@pytest.mark.parametrize("factory", LISTENING)
def test_a_listener_without_its_encoder_says_that_it_reads_zeros(factory):
    nlp = one_pipe("tok2vec", "tok2vec", model=SMALL)
    nlp.add_pipe(factory, name="own", config=LISTENING[factory])
    nlp.initialize(lambda: examples(nlp))
    text = "Maria saw Storm Ida ."
    alone, moved = blank(), blank()
    alone.add_pipe("own", source=nlp)
    with pytest.warns(UserWarning, match=r"LW106.*'own'"):
        alone(text)
    with pytest.warns(UserWarning, match="LW106"), nlp.select_pipes(disable="tok2vec"):
        list(nlp.pipe([text]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(nlp.pipe(["", text, " "]))
        nlp.evaluate(examples(nlp))
        nlp.replace_listeners("tok2vec", "own", ["model.tok2vec"])
        moved.add_pipe("own", source=nlp)
        moved(text)


def test_a_shared_encoder_gets_the_gradient_of_weak_sentences_alone():
    nlp = shared()
    train(nlp, 2)
    pipe = nlp.get_pipe("weak_ner")
    eg = two_sentences(nlp, bounded=True)
    nlp.get_pipe("tok2vec").predict([eg.predicted])
    _, d_logits = pipe.get_loss([eg], pipe.model.predict([eg.predicted]))
    assert not d_logits.dataXd[:6].any() and d_logits.dataXd[6:].any(axis=1).all()


def without_rare_types(nlp):
    return [eg for eg in examples(nlp) if not {e.label_ for e in eg.reference.ents} & set(WEAK)]


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_batch_without_rare_types_leaves_the_secondary_as_it_is(is_shared):
    nlp = shared() if is_shared else pipeline()
    train(nlp, 3)
    before = params(nlp.get_pipe("weak_ner"))
    losses = nlp.update(without_rare_types(nlp), sgd=nlp.resume_training())
    assert losses["weak_ner"] == 0.0
    assert same_weights(params(nlp.get_pipe("weak_ner")), before)


def test_without_a_gate_the_secondary_learns_and_reads_everything(tmp_path):
    nlp = one_pipe("longtail_gated_ner", "weak_ner", **weak(spans_key=None))
    train(nlp, 60)
    for again in (nlp, reloaded(nlp, tmp_path)):
        for text in SENTENCES:
            gold = [(e.text, e.label_) for e in parse(again, text).ents if e.label_ in WEAK]
            assert entities(again(words(again, text))) == gold
    assert nlp.update(without_rare_types(nlp))["weak_ner"] > 0  # these teach it without a gate


@pytest.mark.parametrize(("spans_key", "n_outside"), [("weak_sentences", 28), (None, 54)])
def test_class_weights_are_counted_where_the_secondary_learns(spans_key, n_outside):
    nlp = one_pipe("longtail_sentence_gate", "gate", **gate())
    weights = {"@misc": "longtail.inverse_frequency.v1"}
    loss = {"@losses": "longtail.CrossEntropy.v1", "weights": weights}
    settings = weak(loss=loss, spans_key=spans_key)
    pipe = nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=settings)
    pipe.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: examples(nlp))
    saved = pipe.tokens.class_values
    # two U-ART, and the tokens outside: behind a gate those of the four sentences with a rare type
    assert saved["U-ART"] / saved["O"] == pytest.approx(n_outside / 2)
    assert set(saved) == {"O", *(f"{p}-{t}" for t in WEAK for p in "BILU")}
    assert pipe.tokens.head.class_values[pipe.tokens.codec.tags.index("B-NAT")] == pytest.approx(
        saved["B-NAT"]
    )
    assert np.isfinite(pipe.update(examples(nlp))["weak_ner"])


def pipeline(order=("ner", "gate", "weak_ner"), **settings):
    nlp = blank()
    made = {
        "ner": ("longtail_ner", small_ner(scores_key="entity_scores", include=["PER", "GEO"])),
        "gate": ("longtail_sentence_gate", gate()),
        "weak_ner": ("longtail_gated_ner", weak(merge="span", **settings)),
        "ruler": ("span_ruler", {"spans_key": "weak_sentences", "overwrite": True}),
    }
    for name in order:
        nlp.add_pipe(made[name][0], name=name, config=made[name][1])
    return nlp


@pytest.mark.parametrize(
    ("order", "found"),
    [
        (("ner", "weak_ner", "gate"), "L210"),
        (("gate", "weak_ner", "ner"), "L207"),
        (("ner", "gate", "ruler", "weak_ner"), "L250.*'ruler' comes after 'gate'"),
    ],
)
def test_components_in_the_wrong_order_are_refused(order, found):
    nlp = pipeline(order)
    with pytest.raises(ValueError, match=found):
        nlp.initialize(lambda: examples(nlp))


def test_gates_that_lack_types_of_the_secondary_are_named():
    nlp = one_pipe("longtail_ner", **small_ner())
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate(rare_labels=["NAT"]))
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=weak())
    with pytest.warns(UserWarning, match=r"LW080.*(gate.*ART|ner.*NAT, ART)") as seen:
        nlp.initialize(lambda: examples(nlp))
    assert len(seen) == 2


@pytest.mark.filterwarnings("error:.*LW080")
def test_a_gate_of_all_types_is_not_named_and_is_needed():
    nlp = pipeline()
    train(nlp, 1)
    with nlp.select_pipes(disable=["gate"]), pytest.raises(ValueError, match="L254"):
        nlp(words(nlp, SENTENCES[0]))


def test_thresholds_of_the_secondary_hold_before_merging():
    nlp = pipeline(thresholds={"ART": 0.8}, abstain_key="unsure")
    nlp.initialize(lambda: examples(nlp))
    pipe = nlp.get_pipe("weak_ner")
    doc = words(nlp, SENTENCES[3])
    doc.set_ents([Span(doc, 0, 2, label="PER")])
    write_scores(doc, "entity_scores", [ScoredSpan(0, 2, "PER", 0.6, (0.6, 0.6))])
    low, other = ScoredSpan(1, 2, "ART", 0.7, (0.7,), True), ScoredSpan(3, 4, "NAT", 0.2, (0.2,), True)
    pipe.set_annotations([doc], Predictions([[low, other]]))
    assert [e.label_ for e in doc.ents] == ["PER", "NAT"]
    group = doc.spans["unsure"]
    assert [(s.start, s.label_) for s in group] == [(1, "ART")] and group.attrs["scores"] == [0.7]
    pipe.cfg["thresholds"] = {"NAT": 0.2, "ART": 0.7}  # at the threshold is not below
    pipe.set_annotations([doc], Predictions([[low, other]]))
    assert len(doc.spans["unsure"]) == 0


PRIMARIES = {
    "longtail_ner": small_ner(include=["PER", "GEO"]),
    "longtail_token_ner": {"model": weak()["model"], "include": ["PER", "GEO"]},
    "ner": small_ner(),
}


def ruled(primary, merge):
    """The full pipeline behind an entity ruler that knows the Fram as another type."""
    scores = {} if primary == "ner" else {"scores_key": "entity_scores"}
    nlp = one_pipe(primary, **PRIMARIES[primary], **scores)
    nlp.add_pipe("longtail_sentence_gate", name="gate", config=gate(threshold=0.0))
    nlp.add_pipe("longtail_gated_ner", name="weak_ner", config=weak(merge=merge))
    return nlp


def behind(primary, merge="span"):
    return trained_once(ruled, 60, primary=primary, merge=merge)[0]


@pytest.mark.filterwarnings("ignore:.*LW080")
@pytest.mark.parametrize(
    ("primary", "merge", "label"),
    [("longtail_ner", "span", "SHIP"), ("longtail_token_ner", "token", "GEO"), ("ner", "fill", "SHIP")],
)
def test_entities_of_a_ruler_before_the_primary_stay_to_the_end(primary, merge, label):
    nlp = behind(primary, merge)
    assert ("Fram", "ART") in entities(nlp(words(nlp, SENTENCES[0])))
    nlp.add_pipe("entity_ruler", first=True).add_patterns([{"label": label, "pattern": "Fram"}])
    doc = nlp(words(nlp, SENTENCES[0]))
    assert entities(doc) == [("Maria", "PER"), ("Oslo", "GEO"), ("Fram", label)]
    assert "Fram" not in [s.text for s in doc.spans["entity_scores"]]


@pytest.mark.filterwarnings("ignore:.*LW080")
def test_pipes_that_share_a_group_for_what_falls_below_keep_each_their_own():
    nlp = behind("longtail_ner")
    for name, label in (("ner", "GEO"), ("weak_ner", "ART")):
        nlp.get_pipe(name).cfg.update(
            thresholds={label: 0.9}, abstain_key="unsure", calibration={label: [1.0, -15.0]}
        )
    doc = words(nlp, SENTENCES[0])
    for _ in range(2):  # seen again, a document holds nothing twice
        doc = nlp(doc)
        group = doc.spans["unsure"]
        assert [(s.text, s.label_) for s in group] == [("Oslo", "GEO"), ("Fram", "ART")]
        assert group.attrs["pipes"] == ["ner", "weak_ner"]
        assert len(group.attrs["scores"]) == len(group.attrs["token_scores"]) == 2
        assert entities(doc) == [("Maria", "PER")]
    nlp.get_pipe("weak_ner").cfg["thresholds"] = {"ART": 0.0}
    doc = nlp(doc)
    assert [s.text for s in doc.spans["unsure"]] == ["Oslo"] and ("Fram", "ART") in entities(doc)
