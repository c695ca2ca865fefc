import json
from functools import partial
from importlib import import_module
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.scorers import NER_SCORE_WEIGHTS, make_ner_scorer
from spacy_longtail.scorers.tokens import token_results
from spacy_longtail.sentences import sentence_bounds
from tests.util import SENTENCES, annotated_docs, blank, config_file, parse, spans_example, tags_of

NLP = blank()


example = partial(spans_example, NLP)

HAND = [
    example([(0, 2, "A"), (3, 4, "B")], [(0, 2, "A"), (5, 6, "C")]),  # A right, B missed, C spurious
    example([(0, 1, "A")], [(0, 2, "A")]),  # wrong boundary
    example([], []),
]


def test_warnings_point_at_the_caller_of_the_scorer():
    bare = Example(Doc(NLP.vocab, words=["a"]), Doc(NLP.vocab, words=["a"]))

    with pytest.warns(UserWarning, match="LW00[23]") as caught:
        make_ner_scorer(labels=["A", "Z"])([*HAND, bare])

    assert {str(one.message)[1:6] for one in caught} == {"LW002", "LW003"}
    assert {one.filename for one in caught} == {__file__}


def test_weighted_f1_is_0_where_nothing_is_right():
    scores = make_ner_scorer(labels=["A", "B"])([example([(0, 1, "A")], [(2, 3, "B")])])

    assert scores["ents_weighted_f"] == 0.0


def test_scores_of_three_documents_by_hand():
    scores = make_ner_scorer(labels=["A", "B"], tail=["B"])(HAND)
    assert scores["ents_per_type"] == {
        "A": {"p": 0.5, "r": 0.5, "f": 0.5, "support": 2},
        "B": {"p": 0.0, "r": 0.0, "f": 0.0, "support": 1},
        "C": {"p": 0.0, "r": 0.0, "f": 0.0, "support": 0},
    }
    expected = {"ents_p": 1 / 3, "ents_r": 1 / 3, "ents_weighted_f": 0.5 * 2 / 3, "ents_tail_f": 0.0}
    expected["ents_macro_f"] = 0.25  # C was never declared
    assert {name: scores[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(("labels", "f"), [(["B", "C"], 0.0), (["A"], 0.5)])
def test_another_prefix_scores_declared_types_alone(labels, f):
    scores = make_ner_scorer(labels=labels, prefix="weak_ents")(HAND)
    assert scores["weak_ents_f"] == pytest.approx(f)
    assert set(scores["weak_ents_per_type"]) == set(labels)


@pytest.mark.parametrize(("declared", "of_pipe"), [(None, ()), (None, None), ([], ("A", "B"))])
def test_another_prefix_without_any_type_scores_nothing(declared, of_pipe):
    scores = make_ner_scorer(labels=declared, prefix="weak_ents")(HAND, labels=of_pipe)
    assert scores["weak_ents_f"] == 0.0
    assert scores["weak_ents_per_type"] == {}


def test_weights_of_scores_are_those_of_spacy_with_the_macro_average():
    stock = Language.get_factory_meta("ner").default_score_weights
    assert {"ents_macro_f": 0.0, **stock} == NER_SCORE_WEIGHTS


def test_scores_without_documents_or_types_are_numbers():
    scores = make_ner_scorer(labels=["A"], tail=["A"])([])
    assert all(isinstance(v, float) for k, v in scores.items() if k != "ents_per_type")
    assert make_ner_scorer()([], labels=())["ents_macro_f"] == 0.0


def test_a_type_that_is_declared_twice_counts_once():
    scores = make_ner_scorer(labels=["A", "A", "B"], tail=["A", "A", "B"])(HAND)
    assert scores["ents_macro_f"] == scores["ents_tail_f"] == pytest.approx(0.25)  # 0.5 and 0


def test_types_that_nobody_declared_or_found_are_named():
    # declared, without gold: it counts 0
    with pytest.warns(UserWarning, match=r"LW002.*types Z, .*without a mention yet may stay"):
        assert make_ner_scorer(labels=["A", "Z"])(HAND)["ents_macro_f"] == pytest.approx(0.25)
    with pytest.warns(UserWarning, match=r"LW002.*A, B, .*not declared"):
        assert make_ner_scorer(labels=["X"])(HAND)["ents_macro_f"] == 0.0
    scorer = make_ner_scorer(tail=["B", "Z"])  # by default the types are those of the pipe
    with pytest.warns(UserWarning, match="LW002.*types Z, of the tail"):
        assert scorer(HAND, labels=("A",))["ents_macro_f"] == pytest.approx(0.25)  # B is not of the pipe
    found = make_ner_scorer(prefix="weak_ents")(HAND, labels=("A",))
    assert found["weak_ents_macro_f"] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="L301"):
        make_ner_scorer(labels=["A"], tail=["B"])


def test_tokens_without_annotation_are_reported_and_not_scored():
    predicted = Doc(NLP.vocab, words=list("abc"), ents=["B-A", "B-A", "O"])
    for second, precision in (("", 1.0), ("O", 0.5)):
        reference = Doc(NLP.vocab, words=list("abc"), ents=["B-A", second, "O"])
        scores = make_ner_scorer(labels=["A"])([Example(predicted, reference)])
        assert scores["ents_p"] == precision
    bare = Example(Doc(NLP.vocab, words=["a"]), Doc(NLP.vocab, words=["a"]))
    with pytest.warns(UserWarning, match="LW003.*1 of 1") as shown:
        make_ner_scorer(labels=["A"])([bare])
    assert len(shown) == 1  # not also that no document has A
    with pytest.warns(UserWarning, match="LW003.*1 of 4"):
        make_ner_scorer(labels=["A"])([bare, *HAND])


@pytest.mark.filterwarnings("error")
def test_no_warning_if_all_types_occur():
    make_ner_scorer(labels=["A", "B"])(HAND)
    make_ner_scorer(labels=["B", "C"], prefix="weak_ents")(HAND)  # types of its own


# --- averages over other types, and scores over words


def test_macro_averages_over_other_types_by_hand():
    gold, predicted = [(0, 1, "A"), (2, 3, "B")], [(0, 1, "A"), (4, 5, "C")]
    with pytest.warns(UserWarning, match="LW002.*D, E"):
        scores = make_ner_scorer(labels=["A", "B", "D", "E"])([example(gold, predicted)])
    expected = {"ents_macro_f": 1 / 4, "ents_macro_gold_f": 1 / 2, "ents_macro_union_f": 1 / 3}  # C is 0
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    own = make_ner_scorer(labels=["B", "C"], prefix="weak_ents")([example(gold, predicted)])
    assert not {"weak_ents_o_f", "weak_ents_word_acc"} & set(own)  # no word has a tag of some types
    assert own["weak_ents_macro_gold_f"] == own["weak_ents_macro_union_f"] == 0.0


OTHER_TOKENS = ["New", "-", "York ", "or ", "Bad Ems", " "]
AS_MANY_TOKENS = ["New-York ", "or Bad ", "Em", "s"]


@pytest.mark.parametrize(
    ("tokens", "spans", "n_right"),
    [
        (OTHER_TOKENS, [(0, 3, "GEO"), (4, 5, "GEO")], 4),
        (OTHER_TOKENS, [(4, 5, "GEO")], 3),
        (OTHER_TOKENS, [(0, 1, "GEO"), (2, 3, "PER"), (4, 5, "GEO")], 4),  # the first has the word
        (OTHER_TOKENS, [(0, 1, "PER"), (2, 3, "GEO"), (4, 5, "GEO")], 3),
        (OTHER_TOKENS, [(0, 3, "GEO"), (4, 5, "GEO"), (5, 6, "PER")], 4),  # on no gold token
        (OTHER_TOKENS, [(0, 4, "GEO"), (4, 5, "GEO")], 3),  # reaches the next word
        (AS_MANY_TOKENS, [(0, 1, "GEO"), (2, 4, "GEO")], 2),  # not Bad Ems, only Ems
    ],
)
def test_a_prediction_on_other_tokens_covers_the_gold_tokens_that_it_aligns_with(tokens, spans, n_right):
    words, tags = ["New-York", "or", "Bad", "Ems"], ["B-GEO", "O", "B-GEO", "I-GEO"]
    gold = Doc(NLP.vocab, words=words, spaces=[True, True, True, False], ents=tags)
    spaces = [len(token) > 1 and token.endswith(" ") for token in tokens]
    predicted = Doc(NLP.vocab, words=[token.strip() or " " for token in tokens], spaces=spaces)
    predicted.set_ents([Span(predicted, *span) for span in spans])
    found = token_results([Example(predicted, gold)])
    assert (found.n_right, found.are_right.tolist()) == (n_right, [n_right == 4])


@st.composite
def gold_and_predicted(draw):
    """Draw two documents of the same words with other annotation."""
    words = draw(st.lists(st.sampled_from(["a", "b", " ", "\n"]), max_size=10))
    return draw(annotated_docs(NLP, words)), draw(annotated_docs(NLP, words))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150)
@given(st.lists(gold_and_predicted(), max_size=3))
def test_tags_of_words_equal_a_plain_loop(documents):
    data, sentences = [], []  # of each sentence the tags of its annotated words, gold and predicted
    for gold, predicted in documents:
        data.append(Example(predicted, gold))
        first = [t.i for t in gold if not t.i or (t.is_sent_start and t.ent_iob_ != "I")]
        assert [start for start, _ in sentence_bounds(gold)] == first
        tags = list(zip(tags_of(gold), (tag or "O" for tag in tags_of(predicted)), strict=True))
        sentences += [
            [tags[t.i] for t in gold[start:end] if tags[t.i][0] and not t.is_space]
            for start, end in pairwise([*first, len(gold)])
        ]
    pairs = list(chain.from_iterable(sentences))
    n_right = sum(gold == guess for gold, guess in pairs)
    rights = [bool(own) and all(gold == guess for gold, guess in own) for own in sentences]
    found = token_results(data)
    assert (found.n_words, found.n_right) == (len(pairs), n_right)
    n_o = sum(tag == "O" for pair in pairs for tag in pair)
    assert found.outside.fscore == pytest.approx(2 * pairs.count(("O", "O")) / max(n_o, 1))
    assert found.lengths.tolist() == list(map(len, sentences))
    assert found.are_right.tolist() == rights
    scores = make_ner_scorer(labels=["A", "B"])(data)
    assert scores["ents_word_acc"] == n_right / max(len(pairs), 1)
    assert scores["ents_sentence_acc"] == sum(rights) / max(sum(map(bool, sentences)), 1)


# --- what training recorded, `spacy evaluate` and our own evaluation

NUMBERS = ["p", "r", "f", "macro_f", "macro_gold_f", "macro_union_f", "weighted_f", "tail_f"]
NUMBERS += ["o_f", "word_acc", "sentence_acc"]


@pytest.mark.slow
@pytest.mark.parametrize("config", ["baseline", "token_softmax"])
def test_training_and_evaluation_agree(config, tmp_path):
    words, tags = ["Oslo.Rome", "met", "Jon's"], ["B-GEO", "O", "B-PER"]
    other = Doc(NLP.vocab, words=words, spaces=[True, True, False], ents=tags)
    parts = {"train": [parse(NLP, s) for s in SENTENCES], "dev": [other]}
    parts["dev"] += [parse(NLP, s) for s in [*SENTENCES[:6], "[Ida|PER] and [Jon Rome|GEO] sank ."]]
    for part, docs in parts.items():
        DocBin(docs=docs).to_disk(tmp_path / f"{part}.spacy")
    dev, labels, tail = tmp_path / "dev.spacy", ["PER", "GEO", "ART", "NAT"], ["ART", "NAT"]
    width = {"components.tok2vec.model.width": 16, "components.tok2vec.model.depth": 1}
    overrides = {
        **{f"paths.{part}": str(tmp_path / f"{part}.spacy") for part in parts},
        "longtail.labels": labels,
        "longtail.tail": tail,
        "training.max_steps": 24,
        "training.eval_frequency": 8,
        "training.optimizer.learn_rate": 0.02,
        **{f"training.score_weights.ents_{key}": float(key == "macro_f") for key in NUMBERS},
        **width,
    }
    train(config_file(config), tmp_path / "out", overrides=overrides)
    best = tmp_path / "out" / "model-best"
    recorded = json.loads((best / "meta.json").read_text(encoding="utf8"))["performance"]
    spacys = import_module("spacy.cli.evaluate").evaluate(str(best), dev)
    ours = evaluate_model(best, dev, labels, tail).scores.as_json()
    assert 0 < recorded["ents_f"] < 1  # else anything agrees
    for key in NUMBERS:
        assert recorded[f"ents_{key}"] == pytest.approx(ours[f"ents_{key}"]), key
    for key in "prf":
        assert spacys[f"ents_{key}"] == pytest.approx(ours[f"ents_{key}"])
    for found in (recorded["ents_per_type"], spacys["ents_per_type"]):
        assert set(found) == set(ours["ents_per_type"])
        for label, row in found.items():
            assert row == pytest.approx(ours["ents_per_type"][label]), label
