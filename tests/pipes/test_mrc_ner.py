"""`longtail_mrc_ner`: training, odd data, saving, queries, walls, gradients, a tiny transformer."""

import warnings

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model

from spacy_longtail.layers.reading import Reading
from spacy_longtail.numerics import sigmoid
from spacy_longtail.pipes.mrc.answers import get_batch_loss, gold_answers
from tests.util import MRC_MODEL as MODEL
from tests.util import (
    QUERIES,
    SENTENCES,
    blank,
    entity_offsets,
    examples,
    from_bytes,
    one_pipe,
    parse,
    reloaded,
    start_sentences,
    tiny_bert,
    train,
    train_further,
    trained_once,
    words,
)

LOSSES = {
    "bce": {},
    "focal": {"loss": {"@losses": "longtail.Focal.v1", "gamma": 3.0}},
    "mom": {"loss": {"@losses": "longtail.MoM.v1", "lam": 0.5}},
    "dice": {"loss": {"@losses": "longtail.Dice.v1"}},
}
every_loss = pytest.mark.parametrize("settings", LOSSES.values(), ids=LOSSES)


def build(**settings):
    given = {"model": MODEL, "queries": QUERIES, "scores_key": "entity_scores", **settings}
    return one_pipe("longtail_mrc_ner", **given)


def trained(settings=None, steps=50):
    return trained_once(build, steps, drop=0.0, **(settings or {}))


def read(nlp, **settings):
    docs = list(nlp.pipe([words(nlp, s) for s in SENTENCES], **settings))
    return [entity_offsets(d) for d in docs], [d.spans["entity_scores"].attrs["scores"] for d in docs]


def tell(nlp, begins, ends, spans=None):
    """Let the model answer: begins and ends as (type, word), span scores by (type, word, word)."""
    pipe = nlp.get_pipe("ner")
    labels = {q: label for label, q in pipe.cfg["queries"].items()}
    seen = []

    def predict(asked):
        seen.clear()
        for one in asked:
            label = labels[one.doc[: one.n_query - 1].text]
            seen.extend((label, token.text) for token in one.doc[one.n_query :])
        logits = np.array([[1.0 if row in s else -1.0 for s in (begins, ends)] for row in seen])
        return Reading(np.zeros((len(seen), 1)), logits.reshape(-1, 2))

    def score(given):
        z = [(spans or {}).get((*seen[a], seen[b][1]), 1.0) for a, b in given[1].tolist()]
        return np.array(z, dtype="float32").reshape(-1, 1)

    scorer = Model("told", lambda model, X, is_train: (score(X), None))
    pipe.model = Model("told", lambda model, X, is_train: (predict(X), None), layers=[scorer])
    pipe.model.set_ref("span_scorer", scorer)
    return pipe


@pytest.mark.parametrize(
    ("logits", "expected", "kept"),  # of the spans PER a-b, PER c-e and GEO b-d; 1.0 unless given
    [
        ({("GEO", "b", "d"): 2.0}, [(1, 4, "GEO")], [2.0]),
        ({("GEO", "b", "d"): -0.5, ("PER", "c", "e"): -0.1}, [(0, 2, "PER")], [1.0]),
    ],
)
def test_the_likelier_of_overlapping_answers_stays_with_its_score(logits, expected, kept):
    nlp = build()
    begins = {("PER", "a"), ("PER", "c"), ("GEO", "b"), ("ART", "f")}  # no ART ends after f
    ends = {("PER", "b"), ("PER", "e"), ("GEO", "d"), ("GEO", "a"), ("ART", "e")}
    doc = tell(nlp, begins, ends, logits)(Doc(nlp.vocab, words=list("abcdef")))
    assert entity_offsets(doc) == expected
    assert doc.spans["entity_scores"].attrs["scores"] == pytest.approx(sigmoid(np.array(kept)))


def test_of_equal_answers_that_of_the_first_query_stays():
    nlp = build()
    alike = {("PER", "a"), ("GEO", "a")}
    assert entity_offsets(tell(nlp, alike, alike)(Doc(nlp.vocab, words=["a"]))) == [(0, 1, "PER")]


@pytest.mark.parametrize(
    ("tags", "starts", "expected"),
    [
        ([""] * 6, [0], [(1, 4, "PER"), (4, 5, "PER")]),
        ([""] * 6, [0, 3], [(4, 5, "PER")]),
        (["", "", "B-RULE", "", "", ""], [0], [(2, 3, "RULE"), (4, 5, "PER")]),
    ],
)
def test_no_answer_crosses_a_sentence_start_or_a_given_entity(tags, starts, expected):
    nlp = build()
    doc = start_sentences(Doc(nlp.vocab, words=list("abcdef"), ents=tags), *starts)
    begins, ends = {("PER", "b"), ("PER", "e")}, {("PER", "d"), ("PER", "e"), ("PER", "f")}
    assert entity_offsets(tell(nlp, begins, ends)(doc)) == expected


def gradient_of(nlp, data, **cfg):
    """The loss of a batch, its gradients on the logits by row, and those of the parameters."""
    pipe = nlp.get_pipe("ner")
    pipe.cfg.update(cfg)
    gold = gold_answers(data, pipe.labels, "ner")
    loss, rows, grads = 0.0, [], []
    for part in pipe._ask([eg.predicted for eg in data], pipe.cfg["batch_size"]):
        reading, backprop = pipe.model.begin_update(part.asked)
        factor = pipe.loss.entity_factor
        own, d = get_batch_loss(pipe.model, pipe.formula, factor, part, reading, gold)
        backprop(d)
        loss += own
        rows.append(np.concatenate([d.logits, d.vectors], axis=1))
    for node in pipe.model.walk():
        for name in node.grad_names:
            grads.append(node.get_grad(name).copy())
            node.set_grad(name, node.get_grad(name) * 0)
    return loss, np.concatenate(rows), grads


@pytest.mark.parametrize("name", ["bce", "dice"])
def test_a_batch_that_is_cut_for_memory_is_one_batch(name):
    nlp, _ = trained(LOSSES[name], 5)
    data = examples(nlp)[:2]
    loss, rows, grads = gradient_of(nlp, data, batch_size=1000)
    for size in (1, 5):
        other, other_rows, other_grads = gradient_of(nlp, data, batch_size=size)
        assert other == pytest.approx(loss, rel=1e-5)
        assert other_rows == pytest.approx(rows, abs=1e-5)
        for a, b in zip(grads, other_grads):
            assert a == pytest.approx(b, rel=1e-3, abs=1e-4)


@every_loss
def test_the_gradient_of_the_model_is_the_slope_of_the_loss(settings):
    nlp, _ = trained(settings, 12)
    data = examples(nlp)[:3]
    pipe = nlp.get_pipe("ner")
    _, _, grads = gradient_of(nlp, data, batch_size=1000)
    held = [(n, name) for n in pipe.model.walk() for name in n.grad_names]
    for (node, name), grad in zip(held, grads):
        if node.name not in ("linear", "gelu"):
            continue
        before = node.get_param(name).copy()
        step = np.random.default_rng(0).normal(size=before.shape).astype("float32")
        losses = []
        for sign in (2e-4, -2e-4):  # small, since the loss jumps where a boundary changes its side
            node.set_param(name, before + sign * step)
            losses.append(gradient_of(nlp, data)[0])
        node.set_param(name, before)
        slope = (losses[0] - losses[1]) / 4e-4
        assert slope == pytest.approx((grad * step).sum(), rel=2e-2, abs=2e-2), node.name


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        ([0.0, 0.0], 24 * np.log(2)),  # (1 + 1 + .1) / 2.1 of log 2 a decision
        # begins: all wrong but one, 50 each; ends: one wrong; pairs: each begin up to the gold end
        ([50.0, -50.0], (23 * 50 + 50 + 0.1 * 24 * np.log(2)) / 2.1),
    ],
)
def test_the_loss_of_a_sentence_by_hand(bias, expected):
    """Four queries of a sentence of six words with one entity."""
    nlp = build()
    nlp.initialize(lambda: examples(nlp))
    nlp.get_pipe("ner").model.get_ref("boundaries").set_param("b", np.array(bias, dtype="float32"))
    loss, _, _ = gradient_of(nlp, [examples(nlp)[2]])  # [Oslo|GEO] was quiet that night .
    assert loss == pytest.approx(expected, rel=1e-4)


def test_tokens_without_annotation_and_queries_are_free():
    nlp, _ = trained(steps=5)
    bias = nlp.get_pipe("ner").model.get_ref("boundaries").get_param("b")
    bias += 50.0  # everything is predicted
    eg = examples(nlp)[0]
    reference = eg.reference.copy()
    reference.set_ents([Span(reference, 0, 1, label="PER")], outside=[reference[1:3]], default="missing")
    _, rows, _ = gradient_of(nlp, [Example(eg.predicted.copy(), reference)])
    rows = rows.reshape(4, 8, -1)
    assert rows[:, :3].any(axis=-1).all() and not rows[:, 3:].any()
    nothing = Example(eg.predicted.copy(), Doc(nlp.vocab, words=[t.text for t in eg.predicted]))
    assert nlp.update([nothing], sgd=nlp.resume_training()) == {"ner": 0.0}


def test_wrong_guesses_do_not_drown_a_batch_of_few_answers():
    """All is predicted, and one of many questions has an answer: its spans weigh like the rest."""
    nlp = build()
    nlp.initialize(lambda: examples(nlp))
    nlp.get_pipe("ner").model.get_ref("boundaries").set_param("b", np.full(2, 5.0, dtype="float32"))
    data = [examples(nlp)[i] for i in (2, 3, 5)]  # one entity, and none in two sentences
    n_words = sum(len(eg.predicted) for eg in data)
    n_rows, n_questions = n_words * len(QUERIES), len(data) * len(QUERIES)
    right, wrong = np.log1p(np.exp([-5.0, 5.0]))
    boundaries = 2 * ((n_rows - 1) * wrong + right)  # begins and ends
    spans = n_rows * np.log(2) * (1 + (n_questions - 1) / n_questions)
    losses = nlp.update(data, sgd=False, drop=0.0)
    assert losses["ner"] == pytest.approx((boundaries + 0.1 * spans) / 2.1, rel=1e-4)


def test_a_type_without_a_query_counts_as_not_annotated():
    nlp, _ = trained(steps=5)
    eg = Example(words(nlp, "The [Vega|SHIP] left ."), parse(nlp, "The [Vega|SHIP] left ."))
    with pytest.warns(UserWarning, match="LW006.*SHIP"):
        gold = gold_answers([eg], tuple(QUERIES), "ner")
    assert gold.mask.tolist() == [1, 0, 1, 1] and (gold.last == -1).all()


def test_a_batch_that_was_annotated_with_some_types_is_refused():
    nlp = build()
    data = examples(nlp)
    optimizer = nlp.initialize(lambda: data)
    data[0].reference.user_data["annotated_types"] = ["PER"]
    with pytest.raises(ValueError, match=r"L002.*annotated types"):
        nlp.update(data, sgd=optimizer)


def test_queries_are_the_types():
    nlp, _ = trained()
    pipe = nlp.get_pipe("ner")
    assert pipe.label_data == list(QUERIES) and pipe.add_label("PER") == 0
    with pytest.raises(ValueError, match=r"L232.*SHIP"):
        pipe.add_label("SHIP")
    with pytest.raises(ValueError, match="L230"):
        pipe.add_query("SHIP", " ")
    before = read(nlp)
    assert pipe.add_query("SHIP", "boats of the navy") == 1 and pipe.labels[-1] == "SHIP"
    text = "The [Vega|SHIP] left ."
    train_further(nlp, [Example(words(nlp, text), parse(nlp, text)), *examples(nlp)])
    assert entity_offsets(nlp(words(nlp, text))) == [(1, 2, "SHIP")]
    assert from_bytes(nlp).get_pipe("ner").labels == pipe.labels
    assert read(from_bytes(nlp))[0] == read(nlp)[0] == before[0]
    assert pipe.add_query("SHIP", "vessels") == 0 and pipe.cfg["queries"]["SHIP"] == "vessels"


def test_the_data_and_the_queries_are_compared():
    nlp = build(queries={"PER": "persons", "GEO": "towns"})
    with pytest.raises(ValueError, match=r"L232.*ART, NAT"):
        nlp.initialize(lambda: examples(nlp))
    nlp = build()
    with pytest.raises(ValueError, match="L212"):
        nlp.get_pipe("ner").initialize(lambda: examples(nlp), nlp=nlp, labels=["PER"])
    nlp.get_pipe("ner").initialize(lambda: examples(nlp), nlp=nlp, labels=sorted(QUERIES))
    with pytest.raises(ValueError, match="L215"):
        nlp.initialize(lambda: [Example(words(nlp, "It rained ."), parse(nlp, "It rained ."))])


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    asked = {word for query in QUERIES.values() for word in query.split()}
    return tiny_bert(tmp_path_factory.mktemp("bert"), 48, asked, width=32, depth=2)


THEIRS = {"@architectures": "spacy-transformers.Tok2VecTransformer.v3", "grad_factor": 1.0}
THEIRS |= {"tokenizer_config": {"use_fast": True}, "pooling": {"@layers": "reduce_mean.v1"}}
WHOLE = {"@span_getters": "spacy-transformers.doc_spans.v1"}
STRIDED = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 32, "stride": 24}


def transformer(bert):
    encoder = {**THEIRS, "name": str(bert), "get_spans": WHOLE}
    return build(model={**MODEL, "tok2vec": encoder})


def test_a_transformer_is_trained_saved_and_reads_long_sentences(bert, tmp_path):
    nlp = transformer(bert)
    history = train(nlp, 50, drop=0.0)
    assert history[-1]["ner"] < 0.2 * history[0]["ner"]
    again = reloaded(nlp, tmp_path)
    (ents, scores), (other, other_scores) = read(nlp), read(again, batch_size=3)
    assert ents == other and any(ents)
    for a, b in zip(scores, other_scores):
        assert a == pytest.approx(b, abs=1e-4)
    long = nlp(Doc(nlp.vocab, words=["oslo"] * 200))  # beyond what the model can read
    assert len(long) == 200 and any(ent.end > 48 for ent in long.ents)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.update(examples(again), sgd=again.resume_training())


def test_the_separator_is_one_piece_of_a_transformer(bert):
    nlp = transformer(bert)
    nlp.initialize(lambda: examples(nlp))
    pipe = nlp.get_pipe("ner")
    part = next(pipe._ask([words(nlp, SENTENCES[0])], 8))
    reader = next(node for node in pipe.model.walk() if node.name == "transformer")
    full = reader.predict([asked.doc for asked in part.asked])
    pieces = [p for row in full.wordpieces.strings for p in row]
    tokens = [token for asked in part.asked for token in asked.doc]
    for at, token in enumerate(tokens):
        own = full.align[at].dataXd.ravel().tolist()
        assert [pieces[i] for i in own] == [token.text if "[" in token.text else token.lower_]
    assert [row.count("[SEP]") for row in full.wordpieces.strings] == [2] * 4


@pytest.fixture
def with_commas():
    """A pipeline with a query of four tokens, of which spaces separate two."""
    nlp = build(queries={**QUERIES, "GEO": "towns, cities?"})
    nlp.initialize(lambda: examples(nlp))
    return nlp


def test_queries_keep_their_tokens_in_a_pipeline_that_cuts_texts_in_other_ways(with_commas, tmp_path):
    expected = with_commas.get_pipe("ner").cfg["cut_queries"]
    assert expected["towns, cities?"]["words"] == ["towns", ",", "cities", "?"]
    other = blank()
    other.tokenizer = Tokenizer(other.vocab)  # at spaces alone
    other.add_pipe("ner", source=with_commas)
    for nlp in (other, reloaded(other, tmp_path)):
        nlp(words(nlp, SENTENCES[0]))
        assert nlp.get_pipe("ner").cfg["cut_queries"] == expected


def test_initialising_again_cuts_the_queries_with_the_tokenizer_of_today(with_commas):
    with_commas.tokenizer = Tokenizer(with_commas.vocab)  # at spaces alone
    with_commas.initialize(lambda: examples(with_commas))
    cut = with_commas.get_pipe("ner").cfg["cut_queries"]
    assert cut["towns, cities?"]["words"] == ["towns,", "cities?"]


def test_queries_that_were_saved_without_tokens_are_cut_by_their_own_pipeline(with_commas, tmp_path):
    """As those of version 0.3.0."""
    expected = with_commas.get_pipe("ner").cfg.pop("cut_queries")
    assert reloaded(with_commas, tmp_path).get_pipe("ner").cfg["cut_queries"] == expected


def pairs_that_differ(nlp: Language, n_words: int) -> list[bool]:
    """Whether a token of a long sentence has other logits for another query, token by token."""
    pipe = nlp.get_pipe("ner")
    boundaries = pipe.model.get_ref("boundaries")
    weights = np.random.default_rng(0).normal(size=(2, boundaries.get_dim("nI")))
    boundaries.set_param("W", weights.astype("float32"))
    (part,) = pipe._ask([Doc(nlp.vocab, words=["rome", "sent", "help"] * (n_words // 3))], 100)
    first, second = pipe.model.predict(part.asked).logits[:, 0].reshape(2, n_words)
    return (np.abs(first - second) > 1e-6).tolist()


OWN = {"@architectures": "longtail.Transformer.v1"}
BILSTM = {
    "@architectures": "longtail.BiLSTM.v1",
    "hidden_width": 32,
    "embed": {
        "@architectures": "spacy.MultiHashEmbed.v2",
        **{"width": 32, "attrs": ["NORM"], "rows": [100], "include_static_vectors": False},
    },
}


def with_encoder(encoder: dict, queries: dict[str, str]) -> Language:
    nlp = build(model={**MODEL, "tok2vec": encoder}, queries=queries)
    text = "[Maria|PER] sailed to [Oslo|GEO] on the Fram ."
    nlp.initialize(lambda: [Example(words(nlp, text), parse(nlp, text))])
    return nlp


def remember_everything(nlp: Language) -> None:
    """Open the forget gates of an LSTM: with random weights it forgets a query after some words."""
    module = nlp.get_pipe("ner").model.get_ref("tok2vec").get_ref("encode").shims[0].module
    for name, values in module.named_parameters():
        if "bias" in name:
            quarter = len(values) // 4
            values.data[quarter : 2 * quarter] = 20.0


@pytest.mark.parametrize(
    "encoder", [OWN, {**THEIRS, "get_spans": STRIDED}, {**THEIRS, "get_spans": WHOLE}]
)
def test_every_word_of_a_long_sentence_is_read_with_the_query(encoder, bert):
    nlp = with_encoder({**encoder, "name": str(bert)}, {"PER": "rome", "GEO": "oslo"})
    assert all(pairs_that_differ(nlp, 540))


def test_an_lstm_carries_the_query_to_every_word_of_a_long_sentence():
    nlp = with_encoder(BILSTM, {"PER": "rome", "GEO": "oslo"})
    remember_everything(nlp)
    assert all(pairs_that_differ(nlp, 540))


def test_rows_of_parts_are_trained():
    nlp = with_encoder(BILSTM, {"PER": "rome", "GEO": "oslo"})
    pipe = nlp.get_pipe("ner")
    (part,) = pipe._ask([Doc(nlp.vocab, words=["rome"] * 300)], 100)
    reading, backprop = pipe.model.begin_update(part.asked)
    backprop(Reading(np.ones_like(reading.vectors), np.ones_like(reading.logits)))
    assert len(reading.vectors) == len(part.token) == 600


def test_an_encoder_that_does_not_carry_the_query_is_refused():
    near = {**MODEL["tok2vec"], "depth": 2, "window_size": 1}
    with pytest.raises(ValueError, match=r"L822.*longtail.BiLSTM.v1"):
        with_encoder(near, {"PER": "rome", "GEO": "oslo"})


def test_a_query_that_leaves_no_room_for_a_sentence_is_refused(bert):
    with pytest.raises(ValueError, match=r"L823.*rome rome.*41 of the 46 subwords"):
        with_encoder({**OWN, "name": str(bert)}, {"PER": "rome " * 40, "GEO": "oslo"})
