"""`longtail_mrc_ner`: training, odd data, saving, queries, walls, gradients, a tiny transformer."""

import warnings

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model

from spacy_longtail.layers.reading import Reading
from spacy_longtail.pipes.mrc.answers import gold_answers, learn
from tests.util import MRC_MODEL as MODEL
from tests.util import (
    QUERIES,
    SENTENCES,
    blank,
    examples,
    found,
    one_pipe,
    parse,
    tiny_bert,
    train,
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
    return [found(d) for d in docs], [d.spans["entity_scores"].attrs["scores"] for d in docs]


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


def test_answers_are_decoded_as_the_paper_says():
    nlp = build()
    begins = {("PER", "a"), ("PER", "c"), ("GEO", "b"), ("ART", "f")}
    ends = {("PER", "b"), ("PER", "e"), ("GEO", "d"), ("GEO", "a"), ("ART", "e")}
    doc = Doc(nlp.vocab, words=list("abcdef"))
    # PER a-b, c-e, GEO b-d: the likelier of those that overlap; no end after f, no begin for GEO a
    pipe = tell(nlp, begins, ends, {("GEO", "b", "d"): 2.0})
    assert found(pipe(doc.copy())) == [(1, 4, "GEO")]
    pipe = tell(nlp, begins, ends, {("GEO", "b", "d"): 0.5})
    doc_read = pipe(doc.copy())
    assert found(doc_read) == [(0, 2, "PER"), (2, 5, "PER")]
    assert doc_read.spans["entity_scores"].attrs["scores"] == pytest.approx([1 / (1 + np.exp(-1.0))] * 2)
    pipe = tell(nlp, begins, ends, {("GEO", "b", "d"): -0.5, ("PER", "c", "e"): -0.1})
    assert found(pipe(doc.copy())) == [(0, 2, "PER")]
    pipe = tell(nlp, begins, ends)  # all alike: the longer, then the earlier
    assert found(pipe(doc.copy())) == [(1, 4, "GEO")]
    alike = {("PER", "a"), ("GEO", "a")}
    assert found(tell(nlp, alike, alike)(doc.copy())) == [(0, 1, "PER")]  # the query that comes first


def test_no_entity_crosses_a_wall():
    nlp = build()
    doc = Doc(nlp.vocab, words=list("abcdef"))
    begins, ends = {("PER", "b"), ("PER", "e")}, {("PER", "d"), ("PER", "e"), ("PER", "f")}
    assert found(tell(nlp, begins, ends)(doc.copy())) == [(1, 4, "PER"), (4, 5, "PER")]
    two = doc.copy()
    two[3].is_sent_start = True
    assert found(tell(nlp, begins, ends)(two)) == [(4, 5, "PER")]
    inside = doc.copy()
    inside.set_ents([Span(inside, 2, 3, label="RULE")], default="missing")
    assert found(tell(nlp, begins, ends)(inside)) == [(2, 3, "RULE"), (4, 5, "PER")]
    blocked = doc.copy()
    blocked.set_ents([], blocked=[blocked[4:5]], default="missing")
    assert found(tell(nlp, begins, ends)(blocked)) == [(1, 4, "PER")]
    assert blocked[4].ent_iob_ == "B" and not blocked[4].ent_type_  # still blocked


def gradient_of(nlp, data, **cfg):
    """The loss of a batch, its gradients on the logits by row, and those of the parameters."""
    pipe = nlp.get_pipe("ner")
    pipe.cfg.update(cfg)
    gold = gold_answers(data, pipe.labels, "ner")
    loss, rows, grads = 0.0, [], []
    for part in pipe._ask([eg.predicted for eg in data], pipe.cfg["batch_size"]):
        reading, backprop = pipe.model.begin_update(part.asked)
        own, d = learn(pipe.model, pipe.formula, pipe.loss.entity_factor, part, reading, gold)
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
    data = examples(nlp)[:3]
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
        for sign in (1e-3, -1e-3):
            node.set_param(name, before + sign * step)
            losses.append(gradient_of(nlp, data)[0])
        node.set_param(name, before)
        slope = (losses[0] - losses[1]) / 2e-3
        assert slope == pytest.approx((grad * step).sum(), rel=2e-2, abs=2e-2), node.name


def test_the_loss_by_hand():
    """One sentence, every logit 0: log 2 a decision; one gold pair for each of two types."""
    nlp = build()
    nlp.initialize(lambda: examples(nlp))
    eg = examples(nlp)[2]  # [Oslo|GEO] was quiet that night .
    loss, _, _ = gradient_of(nlp, [eg])
    n = 4 * 6
    assert loss == pytest.approx(n * np.log(2), rel=1e-5)  # (1 + 1 + .1) / 2.1
    heavy = build()
    heavy.initialize(lambda: examples(heavy))
    pipe = heavy.get_pipe("ner")
    pipe.model.get_ref("boundaries").set_param("b", np.array([50.0, -50.0], dtype="float32"))
    # begins: all wrong but one, 50 each; ends: one wrong; pairs: each begin up to the gold end
    loss, _, _ = gradient_of(heavy, [eg])
    assert loss == pytest.approx((23 * 50 + 50 + 0.1 * n * np.log(2)) / 2.1, rel=1e-4)


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
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.01
    text = "The [Vega|SHIP] left ."
    for _ in range(40):
        nlp.update([Example(words(nlp, text), parse(nlp, text)), *examples(nlp)], sgd=optimizer)
    assert found(nlp(words(nlp, text))) == [(1, 2, "SHIP")]
    again = blank().from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert again.get_pipe("ner").labels == pipe.labels
    assert read(again)[0] == read(nlp)[0] == before[0]
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
    import torch

    torch.set_num_threads(1)
    asked = {word for query in QUERIES.values() for word in query.split()}
    return tiny_bert(tmp_path_factory.mktemp("bert"), 48, asked, width=32, depth=2)


def transformer(bert, **settings):
    encoder = {
        "@architectures": "spacy-transformers.Tok2VecTransformer.v3",
        "name": str(bert),
        "tokenizer_config": {"use_fast": True},
        "get_spans": {"@span_getters": "spacy-transformers.doc_spans.v1"},
        "pooling": {"@layers": "reduce_mean.v1"},
        "grad_factor": 1.0,
    }
    return build(model={**MODEL, "tok2vec": encoder}, **settings)


def test_a_transformer(bert, tmp_path):
    nlp = transformer(bert)
    history = train(nlp, 50, drop=0.0)
    assert history[-1]["ner"] < 0.2 * history[0]["ner"]
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path)
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
    at = 0
    for asked in part.asked:
        for token in asked.doc:
            own = full.align[at].dataXd.ravel().tolist()
            at += 1
            assert [pieces[i] for i in own] == [token.text if "[" in token.text else token.lower_]
    assert [row.count("[SEP]") for row in full.wordpieces.strings] == [2] * 4


def cut_otherwise(nlp, folder):
    """A pipeline that cuts texts at spaces alone, with the NER of another, saved and loaded."""
    other = blank()
    other.tokenizer = Tokenizer(other.vocab)
    other.add_pipe("ner", source=nlp)
    other.to_disk(folder)
    return other, spacy.load(folder)


def test_queries_keep_their_tokens_in_a_pipeline_that_cuts_texts_in_other_ways(tmp_path):
    nlp = blank()
    queries = {**QUERIES, "GEO": "towns, cities?"}
    nlp.add_pipe("longtail_mrc_ner", name="ner", config={"model": MODEL, "queries": queries})
    nlp.initialize(lambda: examples(nlp))
    expected = nlp.get_pipe("ner").cfg["cut_queries"]
    assert expected["towns, cities?"]["words"] == ["towns", ",", "cities", "?"]
    for other in cut_otherwise(nlp, tmp_path):
        other(words(other, SENTENCES[0]))
        assert other.get_pipe("ner").cfg["cut_queries"] == expected


def test_queries_that_were_saved_without_tokens_are_cut_by_their_own_pipeline(tmp_path):
    """As those of version 0.3.0."""
    nlp = one_pipe("longtail_mrc_ner", model=MODEL, queries={**QUERIES, "GEO": "towns, cities?"})
    nlp.initialize(lambda: examples(nlp))
    expected = nlp.get_pipe("ner").cfg.pop("cut_queries")
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("ner").cfg["cut_queries"] == expected


def pairs_that_differ(nlp: Language, n_words: int) -> list[bool]:
    """Whether a token of a long sentence has other logits for another query, token by token."""
    pipe = nlp.get_pipe("ner")
    sentence = Doc(nlp.vocab, words=["rome", "sent", "help"] * (n_words // 3))
    boundaries = pipe.model.get_ref("boundaries")
    weights = np.random.default_rng(0).normal(size=(2, boundaries.get_dim("nI")))
    boundaries.set_param("W", weights.astype("float32"))
    (part,) = pipe._ask([sentence], 100)
    logits = pipe.model.predict(part.asked).logits
    first, second = (logits[part.type == i][:, 0] for i in (0, 1))
    assert len(first) == len(second) == n_words
    return (np.abs(first - second) > 1e-6).tolist()


OWN = {"@architectures": "longtail.Transformer.v1"}
THEIRS = {"@architectures": "spacy-transformers.Tok2VecTransformer.v3", "grad_factor": 1.0}
THEIRS |= {"tokenizer_config": {"use_fast": True}, "pooling": {"@layers": "reduce_mean.v1"}}
STRIDED = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 32, "stride": 24}
BILSTM = {
    "@architectures": "longtail.BiLSTM.v1",
    "hidden_width": 32,
    "embed": {
        "@architectures": "spacy.MultiHashEmbed.v2",
        **{"width": 32, "attrs": ["NORM"], "rows": [100], "include_static_vectors": False},
    },
}


def with_encoder(encoder: dict, queries: dict[str, str]) -> Language:
    nlp = one_pipe("longtail_mrc_ner", model={**MODEL, "tok2vec": encoder}, queries=queries)
    data = [parse(nlp, "[Maria|PER] sailed to [Oslo|GEO] on the Fram .")]
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=[t.text for t in d]), d) for d in data])
    return nlp


def remember_everything(nlp: Language) -> None:
    """Open the forget gates of an LSTM: with random weights it forgets a query after some words."""
    module = nlp.get_pipe("ner").model.get_ref("tok2vec").get_ref("encode").shims[0]._model
    for name, values in module.named_parameters():
        if "bias" in name:
            quarter = len(values) // 4
            values.data[quarter : 2 * quarter] = 20.0


@pytest.mark.parametrize("encoder", ["own", "spans", "document", "bilstm"])
def test_every_word_of_a_long_sentence_is_read_with_the_query(encoder, bert, tmp_path):
    if encoder == "own":
        settings = {**OWN, "name": str(bert)}
    elif encoder == "bilstm":
        pytest.importorskip("torch")
        settings = BILSTM
    else:
        pytest.importorskip("spacy_transformers")
        whole = {"@span_getters": "spacy-transformers.doc_spans.v1"}
        spans = STRIDED if encoder == "spans" else whole
        settings = {**THEIRS, "name": str(bert), "get_spans": spans}
    nlp = with_encoder(settings, {"PER": "rome", "GEO": "oslo"})
    if encoder == "bilstm":
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
