"""The analysis of an evaluation: by hand, against brute force, and against seqeval and spaCy."""

import json
import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example

from spacy_longtail.corpus.converted import TrainingCounts
from spacy_longtail.evaluation import analysis
from spacy_longtail.evaluation.pairs import Mention, pair_mentions
from spacy_longtail.scorers import make_ner_scorer
from tests.util import blank, spans_example

NLP = blank()
N_TOKENS = 12


def analyse(data, labels, mentions=None, surfaces=(), tail=()):
    training = TrainingCounts(mentions=mentions or {}, surfaces=set(surfaces))
    found = analysis.analyse(data, labels, tail, training)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


example = partial(spans_example, NLP)


LONG, WORD = Mention(0, 4, "A"), Mention(0, 1, "A")


@pytest.mark.parametrize(
    ("gold", "predicted", "best"),
    [
        (LONG, [(0, 2, "B"), (2, 4, "A")], (2, 4, "A")),  # the same type
        (LONG, [(0, 2, "A"), (2, 4, "A")], (0, 2, "A")),  # the first
        (LONG, [(0, 1, "A"), (1, 4, "B")], (1, 4, "B")),  # most shared tokens
        (LONG, [(0, 1, "A"), (2, 9, "B")], (2, 9, "B")),  # tokens outside the mention do not count
        (LONG, [(0, 4, "B"), (4, 6, "A")], (0, 4, "B")),  # the same bounds, of another type
        # two predictions on smaller tokens, within one token of gold
        (WORD, [(0, 1, "B"), (0, 1, "A")], (0, 1, "A")),  # the same type
        (WORD, [(0, 1, "B"), (0, 3, "A")], (0, 1, "B")),  # exact bounds before the same type
    ],
)
def test_a_mention_is_paired_with_the_prediction_that_fits_best(gold, predicted, best):
    pairs = pair_mentions([gold], [Mention(*own) for own in predicted])
    assert pairs[0] == (gold, Mention(*best)) and pairs[1].kind == "spurious"


def test_a_prediction_is_paired_with_the_mention_that_shares_most_tokens():
    first, second, predicted = Mention(0, 2, "A"), Mention(2, 6, "B"), Mention(1, 5, "A")
    assert pair_mentions([first, second], [predicted]) == [(second, predicted), (first, None)]


def test_documents_without_annotation_are_skipped():
    predicted = Doc(NLP.vocab, words=["a", "b"], ents=["B-A", "O"])
    bare = Example(predicted, Doc(NLP.vocab, words=["a", "b"]))
    right = example([(0, 2, "A")], [(0, 2, "A")])
    assert analyse([bare, right, bare], ["A"]) == analyse([right], ["A"])


def test_lengths_by_hand():
    data = [
        example([(0, 1, "A")], [(0, 1, "A")], n=5),  # 1-5, right
        example([(0, 1, "A"), (5, 6, "A")], [(5, 6, "B")], n=10, sentences=[5]),  # twice 1-5, wrong
        example([], [], n=6),  # 6-10, right, nothing to find
        example([(39, 40, "B")], [(39, 40, "B"), (2, 3, "A")], n=40),  # 36+
        example([(0, 1, "A")], [(34, 35, "A")], n=35),
    ]
    rows = analyse(data, ["A", "B"])["lengths"]
    assert [(row["bin"], row["sentences"], row["accuracy"], row["f"]) for row in rows] == [
        ("1-5", 3, pytest.approx(1 / 3), pytest.approx(0.4)),
        ("6-10", 1, 1.0, None),
        *((name, 0, None, None) for name in ("11-15", "16-20", "21-25", "26-30")),
        ("31-35", 1, 0.0, 0.0),
        ("36+", 1, 0.0, pytest.approx(2 / 3)),
    ]


def test_buckets_by_hand():
    eg = example([(0, 1, "A"), (2, 3, "B"), (4, 5, "C")], [(0, 1, "A"), (2, 3, "C"), (6, 7, "X")])
    mentions = {"A": 60, "B": 30, "C": 6, "X": 900}
    found = analyse([eg], ["D", "C", "B", "A"], mentions, tail=["C", "D"])["buckets"]
    assert {name: row["labels"] for name, row in found.items()} == {
        "head": ["A"],
        "mid": ["B"],
        "tail": ["C", "D"],
    }
    assert [row["training_mentions"] for row in found.values()] == [60, 30, 6]
    assert [row["support"] for row in found.values()] == [1, 1, 1]
    assert found["head"]["f"] == found["head"]["macro_f"] == 1.0
    assert found["mid"]["r"] == 0.0 and found["tail"]["p"] == 0.0


def test_predictions_on_other_tokens():
    """Smaller and larger tokens than gold's; a prediction beside a token without annotation."""
    gold = Doc(
        NLP.vocab,
        words=["New-York", "is", "not", "Bad", "Ems", "x"],
        spaces=[True] * 5 + [False],
        ents=["B-GEO", "O", "O", "B-GEO", "I-GEO", ""],
    )
    predicted = Doc(
        NLP.vocab,
        words=["New", "-", "York", "is", "not", "Bad Ems", "x"],
        spaces=[False, False, True, True, True, True, False],
        ents=["B-PER", "O", "B-GEO", "O", "O", "B-GEO", "B-GEO"],
    )
    eg = Example(predicted, gold)
    errors = {k: n for k, n in analyse([eg], ["GEO", "PER"])["errors"].items() if k != "per_type"}
    assert errors == {**dict.fromkeys(analysis.KINDS, 0), "correct": 2, "spurious": 1}
    # two of two gold mentions and of three predicted
    assert make_ner_scorer(["GEO", "PER"])([eg])["ents_f"] == pytest.approx(0.8)
    assert get_ner_prf([eg])["ents_f"] == pytest.approx(0.8)


# --- against brute force, written on plain tuples

spans = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("ABC")), max_size=4)


def laid_out(steps):
    """(gap, length, label) one after another, as far as they fit."""
    found, i = [], 0
    for gap, n, label in steps:
        if i + gap + n <= N_TOKENS:
            found.append((i + gap, i + gap + n, label))
            i += gap + n
    return found


def shared(a, b):
    return len(set(range(*a[:2])) & set(range(*b[:2])))


def brute_pairs(gold, predicted):
    """Again and again the best pair that is left, then what has no partner, paired with None."""
    gold, predicted, pairs = list(gold), list(predicted), []
    while left := [(g, p) for g in gold for p in predicted if shared(g, p)]:
        best = min(
            left, key=lambda c: (c[0][:2] != c[1][:2], -shared(*c), c[0][2] != c[1][2], c[0][0], c[1][0])
        )
        pairs.append(best)
        gold.remove(best[0])
        predicted.remove(best[1])
    return [*pairs, *((g, None) for g in gold), *((None, p) for p in predicted)]


KINDS = {(True, True): "correct", (True, False): "type", (False, True): "boundary"}
KINDS[False, False] = "type_and_boundary"


def kind_of(gold, predicted):
    if gold is None or predicted is None:
        return "spurious" if gold is None else "missed"
    return KINDS[gold[:2] == predicted[:2], gold[2] == predicted[2]]


@settings(max_examples=150)
@given(st.lists(st.tuples(spans, spans, st.integers(1, N_TOKENS - 1)), min_size=1, max_size=3))
def test_equals_brute_force(drawn):
    data = [(laid_out(gold), laid_out(predicted), cut) for gold, predicted, cut in drawn]
    # not through an entity, where a boundary is none
    data = [(g, p, cut if not any(a < cut < b for a, b, _ in g) else None) for g, p, cut in data]
    examples = [example(g, p, N_TOKENS, [cut] if cut else []) for g, p, cut in data]
    surfaces = {("w0", "A"), ("w1 w2", "B"), ("w3", "C"), ("w4", "A")}
    found = analyse(examples, ["A", "B"], {"A": 5, "B": 2}, surfaces)

    labels = ["A", "B", *sorted({m[2] for g, p, _ in data for m in g + p} - {"A", "B"})]
    pairs = [pair for gold, predicted, _ in data for pair in brute_pairs(gold, predicted)]
    confused = Counter(tuple(m[2] if m else "O" for m in pair) for pair in pairs)
    kinds = Counter((kind_of(g, p), (g or p)[2]) for g, p in pairs)
    names = [*labels, "O"]
    assert found["confusion"]["labels"] == names
    assert found["confusion"]["counts"] == [[confused[row, column] for column in names] for row in names]
    for label in labels:
        assert found["errors"]["per_type"][label] == {
            kind: kinds[kind, label] for kind in analysis.KINDS
        }
    for kind in analysis.KINDS:
        assert found["errors"][kind] == sum(kinds[kind, label] for label in labels)
    check_lengths(found["lengths"], data)
    check_seen(found["seen"], data, surfaces)


def tags(mentions):
    found = ["O"] * N_TOKENS
    for a, b, label in mentions:
        found[a:b] = [f"B-{label}"] + [f"I-{label}"] * (b - a - 1)
    return found


def check_lengths(rows, data):
    sentences = [[] for _ in rows]  # by length: gold and predicted tags, gold and predicted mentions
    for gold, predicted, cut in data:
        for a, b in [(0, cut), (cut, N_TOKENS)] if cut else [(0, N_TOKENS)]:
            inside = [{m for m in side if a <= m[0] < b} for side in (gold, predicted)]
            sentences[min((b - a - 1) // 5, 7)].append((tags(gold)[a:b], tags(predicted)[a:b], *inside))
    for row, own in zip(rows, sentences, strict=True):
        assert row["sentences"] == len(own)
        n_right = sum(gold == predicted for gold, predicted, *_ in own)
        assert row["accuracy"] == (n_right / len(own) if own else None)
        n_gold, n_predicted = (sum(len(sentence[i]) for sentence in own) for i in (2, 3))
        n_both = sum(len(gold & predicted) for *_, gold, predicted in own)
        f = 2 * n_both / max(n_gold + n_predicted, 1)
        assert row["f"] == (pytest.approx(f) if n_gold + n_predicted else None)


def check_seen(found, data, surfaces):
    def share(of, against, wanted):
        own = [
            m in row[against]
            for row in data
            for m in row[of]
            if ((" ".join(f"w{i}" for i in range(*m[:2])), m[2]) in surfaces) == wanted
        ]
        return sum(own) / len(own) if own else None, len(own)

    for name, wanted in (("seen", True), ("unseen", False)):
        row = found[name]
        assert (row["recall"], row["support"]) == share(0, 1, wanted)
        assert (row["precision"], row["predicted"]) == share(1, 0, wanted)


# --- against seqeval and spaCy


def test_the_scorer_agrees_with_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    scheme = pytest.importorskip("seqeval.scheme").IOB2
    rng = random.Random(0)

    def draw(labels):
        return laid_out([(rng.randint(0, 2), rng.randint(1, 3), rng.choice(labels)) for _ in range(5)])

    data = [(draw("AAB"), draw("AABC")) for _ in range(60)]  # gold knows A and B, predictions C too
    both = [[tags(side) for side in sides] for sides in zip(*data, strict=True)]
    report = metrics.classification_report(
        *both, mode="strict", scheme=scheme, output_dict=True, zero_division=0
    )
    scores = make_ner_scorer(["A", "B"])([example(g, p, N_TOKENS) for g, p in data])
    assert scores["ents_f"] == pytest.approx(report["micro avg"]["f1-score"])
    assert scores["ents_macro_union_f"] == pytest.approx(report["macro avg"]["f1-score"])
    assert scores["ents_weighted_f"] == pytest.approx(report["weighted avg"]["f1-score"])
    for label in "ABC":
        theirs, own = report[label], scores["ents_per_type"][label]
        for key, name in (("p", "precision"), ("r", "recall"), ("f", "f1-score"), ("support",) * 2):
            assert own[key] == pytest.approx(theirs[name])
    # C, only predicted, is of no weight, but a third of seqeval's macro average
    assert scores["ents_macro_union_f"] == pytest.approx(scores["ents_macro_gold_f"] * 2 / 3)
    assert scores["ents_macro_f"] == scores["ents_macro_gold_f"]
