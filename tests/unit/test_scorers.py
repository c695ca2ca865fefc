import random
import warnings

import pytest
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_longtail.scorers import make_ner_scorer
from tests.util import blank, parse

NLP = blank()


def example(gold, predicted):
    """Spans as (start, end, label) over ten tokens."""
    pair = []
    for spans in (predicted, gold):
        doc = Doc(NLP.vocab, words=list("abcdefghij"))
        doc.set_ents([Span(doc, a, b, label=label) for a, b, label in spans])
        pair.append(doc)
    return Example(*pair)


HAND = [
    example([(0, 2, "A"), (3, 4, "B")], [(0, 2, "A"), (5, 6, "C")]),  # A right, B missed, C spurious
    example([(0, 1, "A")], [(0, 2, "A")]),  # wrong boundary
    example([], []),
]


def test_by_hand():
    scores = make_ner_scorer(labels=["A", "B"], tail=["B"])(HAND)
    assert scores["ents_p"] == pytest.approx(1 / 3) and scores["ents_r"] == pytest.approx(1 / 3)
    assert scores["ents_per_type"]["A"] == {"p": 0.5, "r": 0.5, "f": 0.5, "support": 2}
    assert scores["ents_per_type"]["B"] == {"p": 0.0, "r": 0.0, "f": 0.0, "support": 1}
    assert scores["ents_per_type"]["C"]["support"] == 0
    assert scores["ents_macro_f"] == pytest.approx(0.25)  # C was never declared
    assert scores["ents_weighted_f"] == pytest.approx((0.5 * 2 + 0) / 3)
    assert scores["ents_tail_f"] == 0.0


def test_a_declared_type_without_gold_counts_zero_and_is_named():
    with pytest.warns(UserWarning, match="LW002.*Z"):
        scores = make_ner_scorer(labels=["A", "Z"])(HAND)
    assert scores["ents_macro_f"] == pytest.approx(0.25)


def test_labels_of_the_pipe_are_the_default():
    assert make_ner_scorer()(HAND, labels=("A",))["ents_macro_f"] == pytest.approx(0.5)


def test_another_prefix_looks_at_its_types_alone():
    scores = make_ner_scorer(labels=["B", "C"], prefix="weak_ents")(HAND)
    assert scores["weak_ents_p"] == 0.0 and scores["weak_ents_r"] == 0.0
    assert set(scores["weak_ents_per_type"]) == {"B", "C"}
    assert make_ner_scorer(labels=["A"], prefix="weak_ents")(HAND)["weak_ents_f"] == pytest.approx(0.5)


def test_agrees_with_spacy_on_random_documents():
    rng = random.Random(0)

    def spans():
        found, i = [], 0
        while i < 10:
            n = rng.randint(1, 3)
            if rng.random() < 0.5 and i + n <= 10:
                found.append((i, i + n, rng.choice("ABC")))
            i += n
        return found

    data = [example(spans(), spans()) for _ in range(200)]
    data.append(
        Example(parse(NLP, "[Ann|A] left"), Doc(NLP.vocab, words=["Ann", "left"]))
    )  # no annotation
    theirs = get_ner_prf(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = make_ner_scorer(labels=["A", "B", "C"])(data)
    for key in ("ents_p", "ents_r", "ents_f"):
        assert ours[key] == pytest.approx(theirs[key])
    for label, values in theirs["ents_per_type"].items():
        own = ours["ents_per_type"][label]
        assert {k: own[k] for k in "prf"} == pytest.approx(values)
    f = [v["f"] for v in theirs["ents_per_type"].values()]
    assert ours["ents_macro_f"] == pytest.approx(sum(f) / 3)


def test_agrees_with_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme").IOB2
    rng = random.Random(1)
    gold, predicted, data = [], [], []
    for _ in range(60):
        pair = []
        for _ in range(2):
            tags, spans, i = [], [], 0
            while i < 10:
                n = min(rng.randint(1, 3), 10 - i)
                if rng.random() < 0.5:
                    label = rng.choice("AB")
                    tags += [f"B-{label}"] + [f"I-{label}"] * (n - 1)
                    spans.append((i, i + n, label))
                else:
                    tags += ["O"] * n
                i += n
            pair.append((tags, spans))
        gold.append(pair[0][0])
        predicted.append(pair[1][0])
        data.append(example(pair[0][1], pair[1][1]))
    ours = make_ner_scorer(labels=["A", "B"])(data)
    kwargs = {"mode": "strict", "scheme": scheme}
    assert ours["ents_f"] == pytest.approx(metrics.f1_score(gold, predicted, **kwargs))
    assert ours["ents_macro_f"] == pytest.approx(
        metrics.f1_score(gold, predicted, average="macro", **kwargs)
    )


def test_missing_gold_tokens_judge_nothing():
    reference = Doc(NLP.vocab, words=list("abc"))
    reference.set_ents([Span(reference, 0, 1, label="A")], missing=[reference[1:2]])
    predicted = Doc(NLP.vocab, words=list("abc"))
    predicted.set_ents([Span(predicted, 0, 1, label="A"), Span(predicted, 1, 2, label="A")])
    assert make_ner_scorer(labels=["A"])([Example(predicted, reference)])["ents_p"] == 1.0
    reference.set_ents([Span(reference, 0, 1, label="A")])
    assert make_ner_scorer(labels=["A"])([Example(predicted, reference)])["ents_p"] == 0.5


def test_nothing_at_all_scores_zero_never_none():
    scores = make_ner_scorer(labels=["A"], tail=["A"])([])
    assert all(isinstance(v, float) for k, v in scores.items() if k != "ents_per_type")
    assert make_ner_scorer()([], labels=())["ents_macro_f"] == 0.0


def test_documents_without_annotation_are_reported():
    bare = Example(Doc(NLP.vocab, words=["a"]), Doc(NLP.vocab, words=["a"]))
    with pytest.warns(UserWarning, match="LW003.*1 of 1"):
        make_ner_scorer(labels=["A"])([bare])


def test_the_tail_must_be_declared():
    with pytest.raises(ValueError, match="L301"):
        make_ner_scorer(labels=["A"], tail=["B"])


def test_without_labels_boundaries_alone_count():
    data = [example([(0, 2, "A"), (3, 4, "B")], [(0, 2, "ENTITY"), (5, 6, "ENTITY")])]
    scores = make_ner_scorer(labeled=False)(data, labels=("ENTITY",))
    assert scores["ents_p"] == scores["ents_r"] == scores["ents_macro_f"] == pytest.approx(0.5)
    assert set(scores["ents_per_type"]) == {"ENTITY"}
    assert make_ner_scorer(labels=["A", "B"])(data)["ents_f"] == 0.0
    with pytest.raises(ValueError, match="L302"):
        make_ner_scorer(labels=["A"], labeled=False)
