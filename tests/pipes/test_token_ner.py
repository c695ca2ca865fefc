"""`longtail_token_ner` for every head: training, odd data, saving, shared encoders, scores."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads import HEADS as HEAD_CLASSES
from spacy_longtail.heads.base import Decoded
from spacy_longtail.losses.base import BinaryLoss, GoldLoss
from spacy_longtail.pipes.token.gold import tagged_entities
from spacy_longtail.types import TwoTaskState
from tests.util import (
    HEADS,
    ROOT,
    SENTENCES,
    SMALL,
    blank,
    entity_offsets,
    examples,
    from_bytes,
    params,
    parse,
    same_weights,
    small_ner,
    train,
    train_further,
    trained_once,
    words,
)
from tests.util import TOKEN_MODEL as MODEL

CE = {"@losses": "longtail.CrossEntropy.v1"}
few_heads = pytest.mark.parametrize("settings", [{"head": "crf"}, {"head": "two_task"}])
every_head = pytest.mark.parametrize("settings", HEADS.values(), ids=HEADS)


def build(shared=False, model=MODEL, **settings):
    nlp = blank()
    if shared:
        nlp.add_pipe("tok2vec", config={"model": SMALL})
        listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": SMALL["width"]}
        model = {**model, "tok2vec": {**listener, "upstream": "tok2vec"}}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model, **settings})
    return nlp


def trained(settings, steps=60):
    return trained_once(build, steps, scores_key="entity_scores", **settings)


def read(nlp):
    docs = list(nlp.pipe([words(nlp, s) for s in SENTENCES]))
    return [entity_offsets(d) for d in docs], [d.spans["entity_scores"].attrs["scores"] for d in docs]


@every_head
def test_a_type_added_before_initialisation_stays(settings):
    nlp = build(**settings)
    pipe = nlp.get_pipe("ner")
    pipe.add_label("SHIP")
    nlp.initialize(lambda: examples(nlp)[:2])
    assert pipe.label_data[0] == "SHIP" and set(pipe.label_data) == {"SHIP", "PER", "GEO", "ART", "NAT"}


@every_head
def test_initialising_again_keeps_the_types_and_forgets_the_state(settings):
    nlp = build(**settings)
    pipe = nlp.get_pipe("ner")
    nlp.initialize(lambda: examples(nlp)[:2])
    nlp.update(examples(nlp), sgd=nlp.resume_training())
    reference = parse(nlp, "The [Vega|BOAT] left .")
    nlp.initialize(lambda: [Example(words(nlp, "The [Vega|BOAT] left ."), reference)])
    assert pipe.label_data[-1] == "BOAT" and len(pipe.label_data) == 5
    assert pipe.state == TwoTaskState(a=(0, 0), b=(0, 0), alpha=(0, 0), n_updates=0)


@few_heads
def test_types_that_init_labels_wrote_are_added_and_learnt(settings):
    nlp = build(**settings)
    pipe = nlp.get_pipe("ner")
    nlp.initialize(lambda: examples(nlp))
    pipe.initialize(lambda: examples(nlp), nlp=nlp, labels=["ZZZ"])
    assert pipe.label_data[-1] == "ZZZ"
    nlp.update(examples(nlp), sgd=nlp.resume_training())
    assert nlp("The Vega left .").text


@few_heads
def test_loading_into_a_pipe_with_other_types(settings):
    nlp, _ = trained(settings, 25)
    other = build(scores_key="entity_scores", **settings)
    other.initialize(
        lambda: [Example(words(other, "[Vega|SHIP] left"), parse(other, "[Vega|SHIP] left"))]
    )
    other("Vega left")
    other.get_pipe("ner").from_bytes(nlp.get_pipe("ner").to_bytes(exclude=["vocab"]), exclude=["vocab"])
    assert read(other)[0] == read(nlp)[0]


@few_heads
def test_a_shared_encoder_learns_and_listeners_are_replaced(settings):
    nlp = build(shared=True, scores_key="entity_scores", **settings)
    train(nlp, 60)
    ents, _ = read(nlp)
    assert [len(e) for e in ents] == [len(parse(nlp, s).ents) for s in SENTENCES]
    nlp.replace_listeners("tok2vec", "ner", ["model.tok2vec"])
    assert read(nlp)[0] == ents
    again = from_bytes(nlp)
    again.disable_pipe("tok2vec")
    assert read(again)[0] == ents


@few_heads
def test_a_shared_encoder_gets_its_gradient_without_anything_to_learn(settings):
    """The last listener runs the encoder's backward pass, for the others too."""
    nlp = build(shared=True, **settings)
    listener = nlp.get_pipe_config("ner")["model"]["tok2vec"]
    nlp.add_pipe("tagger", before="ner", config={"model": {"tok2vec": listener}})
    data = examples(nlp)
    for eg in data:
        for token in eg.reference:
            token.tag_ = "N" if token.is_title else "X"
    optimizer = nlp.initialize(lambda: data)
    for _ in range(3):  # outputs start at zero
        nlp.update(data, sgd=optimizer)
    encoder = nlp.get_pipe("tok2vec")
    encoder.finish_update(optimizer)  # its gradient is zero now
    for eg in data:
        eg.reference.set_ents([], default="missing")
    assert nlp.update(data, sgd=False, losses={})["ner"] == 0.0
    nodes = encoder.model.walk()
    assert any(layer.get_grad(name).any() for layer in nodes for name in layer.grad_names)


def gradient_of(nlp, data):
    """The loss of a batch, and the gradient on the model's output."""
    pipe = nlp.get_pipe("ner")
    scores, _ = pipe.model.begin_update([eg.predicted for eg in data])
    loss, d_scores = pipe.get_loss(data, scores)
    return loss, (d_scores.logits if pipe.cfg["head"] == "crf" else d_scores).dataXd


@every_head
def test_misaligned_tokens_count_as_not_annotated(settings):
    nlp, _ = trained(settings, 5)
    pipe = nlp.get_pipe("ner")
    reference = parse(nlp, "[Maria|PER] saw [New York|GEO] .")
    other = Doc(nlp.vocab, words=["Mar", "ia", "saw", "New", "York."], spaces=[0, 1, 1, 1, 0])
    gold = pipe.gold([Example(other, reference)])
    assert gold.mask.tolist() == [1, 1, 1, 0, 0]
    assert [pipe.tokens.codec.tags[c][0] for c in gold.tags[:3]] in (list("BIO"), list("BLO"))
    assert np.isfinite(gradient_of(nlp, [Example(other, reference)])[0])


@every_head
def test_no_entity_crosses_a_sentence_start_in_training_or_prediction(settings):
    nlp, _ = trained(settings)
    pipe = nlp.get_pipe("ner")
    doc = words(nlp, SENTENCES[1])  # "Storm Ida" at 2
    doc[3].is_sent_start = True
    assert all(not (e.start < 3 < e.end) for e in pipe(doc).ents)
    reference = parse(nlp, SENTENCES[1])
    predicted = words(nlp, SENTENCES[1])
    predicted[3].is_sent_start = True
    assert pipe.gold([Example(predicted, reference)]).mask.tolist() == [1, 1, 0, 0] + [1] * 6
    loss, _ = gradient_of(nlp, [Example(predicted, reference)])
    assert loss < 1000  # no illegal gold path


def test_softmax_scores_are_tag_probabilities():
    nlp, _ = trained({}, 25)
    pipe = nlp.get_pipe("ner")
    for text in SENTENCES:
        doc = words(nlp, text)
        logits = pipe.model.predict([doc]).dataXd
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        doc = pipe(doc)
        for ent, own in zip(doc.ents, doc.spans["entity_scores"].attrs["token_scores"]):
            tags = [f"B-{ent.label_}"] + [f"I-{ent.label_}"] * (len(ent) - 1)
            expected = [p[i, pipe.tokens.codec.tags.index(t)] for i, t in enumerate(tags, ent.start)]
            assert own == pytest.approx(expected, abs=1e-5)


def test_a_crf_keeps_its_transitions_when_a_type_is_added():
    nlp, _ = trained({"head": "crf"}, 25)
    pipe = nlp.get_pipe("ner")
    layer = pipe.model.get_ref("transitions")
    before = [layer.get_param(name).copy() for name in ("start", "trans", "end")]
    pipe.add_label("SHIP")
    layer, n = pipe.model.get_ref("transitions"), len(before[0])
    start, trans, end = (layer.get_param(name) for name in ("start", "trans", "end"))
    assert np.array_equal(start[:n], before[0]) and not start[n:].any()
    assert np.array_equal(trans[:n, :n], before[1]) and not trans[n:].any() and not trans[:, n:].any()
    assert np.array_equal(end[:n], before[2]) and not end[n:].any()
    assert not pipe.model.get_ref("output_layer").get_param("b")[n:].any()


def test_types_that_are_not_included_are_o_and_unknown_ones_not_annotated():
    nlp = build(include=["NAT", "ART"])
    train(nlp, 60)
    assert nlp.get_pipe("ner").labels == ("ART", "NAT")
    assert {e.label_ for s in SENTENCES for e in nlp(words(nlp, s)).ents} == {"ART", "NAT"}
    data = examples(nlp)[:1]  # Maria, Oslo, Fram
    gold = nlp.get_pipe("ner").gold(data)
    assert gold.mask.tolist() == [1] * 8
    assert gold.tags.tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert len(data[0].reference.ents) == 3
    nlp, _ = trained({}, 5)
    eg = Example(words(nlp, "[Vega|SHIP] met [Maria|PER]"), parse(nlp, "[Vega|SHIP] met [Maria|PER]"))
    with pytest.warns(UserWarning, match=r"LW006.*SHIP"):
        assert nlp.get_pipe("ner").gold([eg]).mask.tolist() == [0, 1, 1]


@pytest.mark.parametrize("loss", [None, {"@losses": "longtail.CompositionalAUC.v1"}])
def test_a_type_added_to_the_only_one_leaves_its_scores(loss):
    """The only type of two tasks needs no output of its own: the second brings both of theirs."""
    nlp = build(head="two_task", include=["PER"], loss=loss, scores_key="entity_scores")
    train(nlp, 60)
    text = words(nlp, SENTENCES[0])
    before = nlp(text.copy()).spans["entity_scores"].attrs["scores"]
    nlp.get_pipe("ner").add_label("SHIP")
    after = nlp(text.copy()).spans["entity_scores"].attrs["scores"]
    assert len(before) == 1 and after == pytest.approx(before, rel=0.01)


def test_the_first_updates_of_a_warmup_are_plain_cross_entropy():
    plain, warm = build(), build(loss={"@losses": "longtail.Dice.v1"}, warmup=5)
    train(plain, 5)
    train(warm, 5)
    assert same_weights(params(plain.get_pipe("ner")), params(warm.get_pipe("ner")))
    assert train(warm, 6)[-1]["ner"] != train(plain, 6)[-1]["ner"]


def test_a_warmup_makes_one_head(monkeypatch):
    nlp = build(loss={"@losses": "longtail.Dice.v1"}, warmup=5)
    train(nlp, 1)
    tokens, made = nlp.get_pipe("ner").tokens, []
    kind = tokens.kind
    monkeypatch.setattr(tokens, "kind", lambda *args: made.append(kind(*args)) or made[-1])
    tokens.use(tokens.types)
    for _ in range(3):
        nlp.update(examples(nlp))
    assert len(made) == 2 and made[0] is tokens.head  # and the one of the warm-up


def counted(nlp, **settings):
    pipe = nlp.get_pipe("ner")
    pipe.initialize(lambda: examples(nlp), nlp=nlp, counts_corpus=lambda nlp: examples(nlp), **settings)
    return pipe


def test_class_weights_are_resolved_bound_and_saved():
    nlp = build(loss={**CE, "weights": {"@misc": "longtail.inverse_frequency.v1"}})
    pipe = counted(nlp)
    values = pipe.tokens.class_values
    assert values["B-NAT"] > values["B-PER"] > values["O"] > 0
    again = from_bytes(nlp).get_pipe("ner")
    assert again.tokens.head.class_values == pytest.approx(pipe.tokens.head.class_values)
    heavy, _ = gradient_of(nlp, examples(nlp)[1:2])  # a NAT and a PER
    pipe.tokens.class_values = dict.fromkeys(values, 1.0)
    pipe.tokens.use(pipe.types)
    plain, _ = gradient_of(nlp, examples(nlp)[1:2])
    assert heavy > 1.2 * plain


def test_two_task_state_moves_and_counts_updates_whatever_is_accumulated():
    nlp = build(head="two_task", loss={"@losses": "longtail.AUCMargin.v1", "form": "running"})
    data = examples(nlp)
    optimizer = nlp.initialize(lambda: data)
    for _ in range(3):
        for half in (data[:4], data[4:]):
            nlp.update(half, sgd=False)
        nlp.get_pipe("ner").finish_update(optimizer)
    state = nlp.get_pipe("ner").state
    assert state.n_updates == 3
    assert all(v != 0 for v in (*state.a, *state.b, *state.alpha))


def test_a_two_task_state_moves_by_every_sub_batch():
    """spaCy's `accumulate_gradient` updates several times before the optimizer steps."""
    nlp = build(head="two_task", loss={"@losses": "longtail.AUCMargin.v1", "form": "running"})
    data = examples(nlp)
    optimizer = nlp.initialize(lambda: data)
    whole, last = from_bytes(nlp), from_bytes(nlp)
    for own, batches in ((whole, (data[:4], data[4:])), (last, (data[4:],))):
        for batch in batches:
            own.update(batch, sgd=False)
        own.get_pipe("ner").finish_update(optimizer)
    assert whole.get_pipe("ner").state.alpha != last.get_pipe("ner").state.alpha


LOSSES = sorted(name for name in registry.losses.get_all() if name.startswith("longtail."))
every_loss = pytest.mark.parametrize("name", LOSSES)


def loss_block(name):
    """The loss with its defaults; distillation without soft targets, which the toy corpus lacks."""
    return {"@losses": name, **({"share": 0.0} if name == "longtail.Distillation.v1" else {})}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("head", HEAD_CLASSES)
@every_loss
def test_a_head_trains_the_losses_of_its_kinds_and_refuses_others(name, head):
    block = loss_block(name)
    loss = registry.resolve({"loss": block})["loss"]
    if not isinstance(loss.formula, HEAD_CLASSES[head].kinds):
        with pytest.raises(ValueError, match=rf"L002.*head = '{head}'.*{name.split('.')[1]}"):
            build(head=head, loss=block)
        return
    nlp = build(head=head, loss=block)
    pipe = counted(nlp)
    before = params(pipe)

    losses = train_further(nlp, steps=3)

    assert np.isfinite(losses["ner"]) and losses["ner"] > 0
    assert not np.array_equal(before[0], params(pipe)[0])


@every_loss
def test_longtail_ner_trains_losses_of_p_gold_and_refuses_others(name):
    block = loss_block(name)
    loss = registry.resolve({"loss": block})["loss"]
    if isinstance(loss.formula, GoldLoss):
        assert blank().add_pipe("longtail_ner", config=small_ner(loss=block)).loss == loss
    else:
        with pytest.raises(ValueError, match=rf"L002.*{name.split('.')[1]}"):
            blank().add_pipe("longtail_ner", config=small_ner(loss=block))


def test_the_docs_say_which_loss_trains_what():
    """The table of docs/losses.md is true of the losses with their defaults."""
    page = (ROOT / "docs" / "losses.md").read_text(encoding="utf8")
    table = page[page.index("| Loss | `softmax`") :].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    heads = [cell.strip("`") for cell in rows[0][1:]]
    said = {row[0].strip("`"): dict(zip(heads, row[1:])) for row in rows[2:]}

    assert {"longtail.Focal.v1", "longtail.AUCMargin.v1"} <= set(said) <= set(LOSSES)
    for name, cells in said.items():
        formula = registry.resolve({"loss": loss_block(name)})["loss"].formula
        for head, cell in cells.items():
            kinds = {"longtail_ner": (GoldLoss,), "MRC": (BinaryLoss,)}.get(head) or HEAD_CLASSES[
                head
            ].kinds
            trains = cell.startswith(("yes", "as its base"))
            assert isinstance(formula, kinds) == trains, (name, head)


@pytest.mark.parametrize(
    ("settings", "override"),
    [
        ({}, {"head": "crf"}),
        ({"head": "crf"}, {"head": "softmax"}),
        ({}, {"head": "two_task"}),
        ({"head": "two_task"}, {"loss": {"@losses": "longtail.CompositionalAUC.v1"}}),
    ],
)
def test_what_is_fixed_in_a_trained_pipe_cannot_be_overridden(settings, override, tmp_path):
    nlp, _ = trained(settings, 5)
    nlp.to_disk(tmp_path)
    with pytest.raises(ValueError, match=r"L218|L814.*head and loss of the config"):
        spacy.load(tmp_path, config={"components": {"ner": override}})


def test_the_score_of_a_certain_entity_is_not_above_one():
    """0.03 + 1.0 - 0.03 is more than 1 in floating point numbers, with 1.0 before it."""
    decoded = Decoded(np.array([0, 0, 1]), np.array([1.0, 0.03, 1.0]))
    docs = [Doc(Vocab(), words=["a", "b", "c"])]
    ((ent,),) = tagged_entities(docs, decoded, TagCodec(("X",), "BIO"), np.zeros(3), True)
    assert ent.score <= 1
