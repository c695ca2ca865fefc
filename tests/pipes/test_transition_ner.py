import numpy as np
import pytest
from spacy import util
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail import convert_ner
from spacy_longtail.pipes.transition.actions import action_weights, columns_of
from tests.util import (
    MOM,
    SENTENCES,
    blank,
    config_file,
    entities,
    entity_offsets,
    examples,
    one_pipe,
    params,
    parse,
    reloaded,
    same_weights,
    small_ner,
    train_further,
    trained_once,
    words,
)

CE = {"@losses": "longtail.CrossEntropy.v1"}


def trained(factory="longtail_ner", steps=12, **settings):
    return trained_once(one_pipe, steps, factory=factory, **small_ner(**settings))


@pytest.mark.parametrize("loss", [None, CE])
def test_cross_entropy_trains_the_weights_of_stock_ner_exactly(loss):
    stock, stock_history = trained("ner", 20)
    ours, history = trained(steps=20, loss=loss)
    assert same_weights(params(stock.get_pipe("ner")), params(ours.get_pipe("ner")))
    if loss is None:
        assert history == stock_history


def batch_of(nlp):
    """The component of a pipeline, and states, gold and random scores of a batch."""
    pipe = nlp.get_pipe("ner")
    states, golds, _ = pipe.moves.init_gold_batch(examples(nlp))
    scores = np.random.default_rng(0).normal(size=(len(states), pipe.moves.n_moves)).astype("float32")
    return pipe, states, golds, scores


def losses_and_gradient(pipe, scores, states, golds):
    losses = {}
    d_scores = pipe.get_batch_loss(states, golds, np.ascontiguousarray(scores, dtype="float32"), losses)
    return losses[pipe.name], d_scores


@pytest.mark.parametrize(
    "loss",
    [
        CE,
        {"@losses": "longtail.Focal.v1", "gamma": 1.5},
        {"@losses": "longtail.Dice.v1", "terms": "gold"},
        MOM,
        {**CE, "weights": {"@misc": "longtail.label_weights.v1", "weights": {"PER": 3.0, "ART": 0.5}}},
    ],
)
def test_gradient_is_the_slope_of_the_reported_loss(loss):
    nlp, _ = trained(loss=loss, steps=2)
    pipe, states, golds, scores = batch_of(nlp)
    rng = np.random.default_rng(1)
    _, d_scores = losses_and_gradient(pipe, scores, states, golds)
    for _ in range(10):
        step = rng.normal(size=scores.shape).astype("float32")
        up, _ = losses_and_gradient(pipe, scores + 1e-2 * step, states, golds)
        down, _ = losses_and_gradient(pipe, scores - 1e-2 * step, states, golds)
        assert (up - down) / 2e-2 == pytest.approx(float((d_scores * step).sum()), rel=2e-2, abs=2e-2)


def test_class_weights_and_mom_scale_the_rows_of_their_classes():
    """Against stock spaCy's rows: the weight of the gold type, and lam on entities but not on O."""
    weights = {"@misc": "longtail.label_weights.v1", "weights": {"PER": 3.0, "GEO": 0.5, "O": 2.0}}
    nlp, _ = trained(loss={**MOM, "base": {**CE, "weights": weights}}, steps=2)
    pipe, states, golds, scores = batch_of(nlp)
    ours = pipe.get_batch_loss(states, golds, scores, {})
    pipe.loss, loss = None, pipe.loss
    stock = pipe.get_batch_loss(states, golds, scores, {})
    pipe.loss = loss
    names = list(columns_of(pipe.moves))
    found = set()
    for row, plain in zip(ours, stock, strict=True):
        gold = names[int(plain.argmin())]  # the only action that is pushed up
        label = gold[2:] or "O"
        found.add(label)
        factor = {"PER": 3.0, "GEO": 0.5, "O": 2.0}.get(label, 1.0) * (1.0 if label == "O" else 0.3)
        assert row == pytest.approx(factor * plain, abs=1e-5)
    assert {"PER", "O"} <= found


def test_frequency_weights_come_from_the_counts_corpus_and_survive_saving(tmp_path):
    loss = {**CE, "weights": {"@misc": "longtail.inverse_frequency.v1", "unit": "type"}}
    nlp = one_pipe("longtail_ner", **small_ner(loss=loss))
    pipe = nlp.get_pipe("ner")
    pipe.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: examples(nlp))
    weights = pipe.cfg["class_values"]
    assert weights["NAT"] > weights["PER"] > weights["O"] > 0
    assert reloaded(nlp, tmp_path).get_pipe("ner").cfg["class_values"] == pytest.approx(weights)
    own = action_weights(columns_of(pipe.moves), weights)
    assert own[columns_of(pipe.moves)["B-NAT"]] == pytest.approx(weights["NAT"])
    assert own[columns_of(pipe.moves)["O"]] == pytest.approx(weights["O"])


@pytest.mark.parametrize("loss", [None, CE])
def test_rejected_spans_are_unlearnt(loss):
    nlp, _ = trained(steps=60, loss=loss, incorrect_spans_key="incorrect_spans")
    first, *others = nlp(words(nlp, SENTENCES[0])).ents
    gold = words(nlp, SENTENCES[0])
    gold.set_ents([], default="missing")
    gold.spans["incorrect_spans"] = [Span(gold, first.start, first.end, label=first.label_)]
    train_further(nlp, [Example(words(nlp, SENTENCES[0]), gold)], steps=12, learn_rate=0.001)
    left = entity_offsets(nlp(words(nlp, SENTENCES[0])))
    assert others and (first.start, first.end, first.label_) not in left


def read(nlp):
    """Return the entities of each toy sentence, and the scores of all of them."""
    docs = [nlp(words(nlp, s)) for s in SENTENCES]
    scores = [score for doc in docs for score in doc.spans["entity_scores"].attrs["scores"]]
    return [entities(doc) for doc in docs], scores


def including(types):
    """A trained pipeline whose component includes these types."""
    weights = {"@misc": "longtail.label_weights.v1", "weights": {"PER": 3.0}}
    own = {"loss": {**CE, "weights": weights}, "scores_key": "entity_scores", "include": types}
    return trained(steps=60, **own)[0]


def test_include_trains_and_predicts_the_named_types_alone():
    nlp = including(["PER", "GEO"])
    assert set(nlp.get_pipe("ner").labels) == {"PER", "GEO"}
    assert {label for found in read(nlp)[0] for _, label in found} == {"PER", "GEO"}


@pytest.mark.parametrize("include", [None, ["PER", "GEO"]])
def test_a_sourced_pipe_keeps_what_it_learnt_with_a_new_type_and_reloaded(include, tmp_path):
    source = including(include)
    learnt = source.get_pipe("ner")
    learnt.cfg.update(thresholds={"PER": 0.1}, calibration={"*": [0.9, 0.1]})
    ents, scores = read(source)
    assert any(ents) and any(scores)
    nlp = blank()
    nlp.add_pipe("ner", source=source)
    for label in ("NEW0", "NEW1"):  # of another pipeline, then of itself
        assert nlp.get_pipe("ner").add_label(label) == 1
        assert read(nlp) == (ents, pytest.approx(scores, abs=1e-5))
        nlp = reloaded(nlp, tmp_path / label)
        assert read(nlp) == (ents, pytest.approx(scores, abs=1e-5))
    pipe = nlp.get_pipe("ner")
    assert set(pipe.labels) == {*learnt.labels, "NEW0", "NEW1"}
    assert {**pipe.cfg, "include": None} == {**learnt.cfg, "include": None}
    assert (pipe.cfg["include"] is None) == (include is None)
    assert pipe.loss == learnt.loss


def test_entity_scores_are_the_probabilities_of_the_actions_taken():
    nlp, _ = trained(steps=60, loss=CE, scores_key="entity_scores")
    pipe = nlp.get_pipe("ner")
    for doc in map(nlp, (words(nlp, text) for text in SENTENCES)):
        # replay step by step through spaCy's own states
        fresh = Doc(nlp.vocab, words=[t.text for t in doc])
        step, (state,) = pipe.model.predict([fresh]), pipe.moves.init_batch([fresh])
        p = []
        while not state.is_final():
            z = step.predict([state])
            p.append((np.exp(z - z.max()) / np.exp(z - z.max()).sum()).max())
            pipe.transition_states([state], z)
        given = doc.spans["entity_scores"].attrs["token_scores"]
        for ent, own in zip(doc.ents, given, strict=True):  # scores are their means by the contract
            assert own == pytest.approx(p[ent.start : ent.end], abs=1e-5)


def test_a_trained_stock_ner_is_converted_with_equal_predictions_and_trains_on():
    nlp, _ = trained("ner", 40)
    texts = [" ".join(t.text for t in parse(nlp, s)) for s in SENTENCES]
    before = [entities(nlp(t)) for t in texts]
    assert any(before)
    pipe = convert_ner(nlp, "ner", {"loss": MOM, "scores_key": "entity_scores"})
    assert [entities(nlp(t)) for t in texts] == before
    assert pipe.loss.lam == 0.3
    weights = params(pipe)
    nlp.update(examples(nlp), sgd=nlp.resume_training())
    assert not same_weights(params(pipe), weights)


def test_conversion_resolves_the_variables_of_a_config():
    """As trained from our configs: a listener whose width is a variable."""
    config = util.load_config(config_file("baseline"))
    nlp = util.load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: examples(nlp))
    assert convert_ner(nlp, "ner", {"loss": MOM}).loss.lam == 0.3
    assert nlp("Maria left.").text == "Maria left."
    with pytest.raises(ValueError, match="L001"):
        convert_ner(nlp, "tok2vec")


@pytest.mark.parametrize("config", [{"include": ["PER", "XYZ"]}, {"thresholds": {"XYZ": 0.5}}])
def test_a_conversion_to_types_that_were_not_learnt_changes_nothing(config):
    nlp, _ = trained("ner", 1)
    before = nlp.get_pipe("ner")
    with pytest.raises(ValueError, match=r"L203.*XYZ"):
        convert_ner(nlp, "ner", {**config, "scores_key": "entity_scores"})
    assert nlp.get_pipe("ner") is before and nlp.get_pipe_meta("ner").factory == "ner"


def test_a_loss_that_is_not_finite_stops_training():
    nlp, _ = trained(loss=MOM, steps=1)
    pipe, states, golds, scores = batch_of(nlp)
    with pytest.raises(ValueError, match="L007"):
        pipe.get_batch_loss(states, golds, np.full_like(scores, np.nan), {})


@pytest.mark.parametrize("label", ["SHIP", "PER"])  # a type that the pipe does not know, and one it does
def test_an_entity_that_a_document_came_with_has_no_score(label):
    nlp, _ = trained(steps=60, loss=CE, scores_key="entity_scores")
    doc = words(nlp, SENTENCES[0])
    doc.set_ents([Span(doc, 6, 7, label=label)], default="missing")
    doc = nlp(doc)
    assert entities(doc) == [("Maria", "PER"), ("Oslo", "GEO"), ("Fram", label)]
    assert [s.text for s in doc.spans["entity_scores"]] == ["Maria", "Oslo"]


def test_converted_components_keep_class_weights_without_counts():
    nlp, _ = trained("ner", 1)
    weights = {"@misc": "longtail.label_weights.v1", "weights": {"ART": 9.0}}
    pipe = convert_ner(nlp, "ner", {"loss": {"@losses": "longtail.Focal.v1", "weights": weights}})
    assert pipe.cfg["class_values"]["ART"] == 9.0


def test_converted_components_without_counts_do_not_train_with_weights_that_need_them():
    nlp, _ = trained("ner", 1)
    weights = {"@misc": "longtail.inverse_frequency.v1", "unit": "type"}
    convert_ner(nlp, "ner", {"loss": {"@losses": "longtail.Focal.v1", "weights": weights}})
    with pytest.raises(ValueError, match="L870"):
        nlp.update(examples(nlp), sgd=nlp.resume_training())
