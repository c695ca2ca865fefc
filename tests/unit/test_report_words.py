"""What a report says in plain words and shows in figures: verdicts, examples, outcomes, heatmaps."""

import os
import re
from html import unescape

import pytest
from spacy_longtail.evaluation.report.examples import AROUND, differences
from spacy_longtail.evaluation.report.plain import Finding, Found, beside_it, finding, in_one_sentence

from spacy_longtail.evaluation.report import read_report
from spacy_longtail.evaluation.report.comparison import Average, Comparison, Pair
from spacy_longtail.evaluation.report.dates import written
from spacy_longtail.evaluation.report.marks import mark_documents
from spacy_longtail.evaluation.report.plots import (
    Heat,
    HeatRow,
    Line,
    heatmap,
    learning_curves,
    size_curves,
)
from spacy_longtail.evaluation.report.systems import choose, group
from spacy_longtail.evaluation.report.wording import p_value, unbroken
from spacy_longtail.evaluation.significance import NO_CLAIM, Verdict
from tests.unit.test_report import evaluation, statistics, write
from tests.util import documents_of

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")


def claimed(outcome, value=0.1):
    return Verdict(0.5, 0.6, value, 0.0, 0.2, 0.95, 0.01, None, 0.01, "bootstrap", 3, None, outcome)


def comparison(baseline="stock", n_seeds=3, early="", micro=NO_CLAIM, tail=NO_CLAIM):
    averages = {
        "micro": Average(Pair(0.861, 0.872), None, claimed(micro)),
        "tail": Average(Pair(0.4, 0.52), None, claimed(tail)),
    }
    return Comparison(baseline, "ours", False, "document", 58, n_seeds, [], averages, early)


def counted(own, other, recall="better", precision=NO_CLAIM, gold=40, is_rare=True, has_tail=True):
    """Of (right, predicted) mentions of both."""
    sides = [Found(*side, gold) for side in (own, other)]
    value = sides[0].right - sides[1].right
    verdicts = {"recall": claimed(recall, value), "precision": claimed(precision)}
    return Finding(is_rare, has_tail, *sides, verdicts)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (counted((21, 42), (10, 20)), "ours finds 2.1 times as many rare entities as stock, with the same precision."),
        (counted((21, 40), (10, 20), precision="better"), "ours finds 2.1 times as many rare entities as stock, with higher precision."),
        (counted((21, 60), (10, 20), precision="worse"), "ours finds 2.1 times as many rare entities as stock, with lower precision."),
        (counted((21, 40), (10, 25)), "ours finds 2.1 times as many rare entities as stock."),
        (counted((12, 24), (10, 20)), "ours finds 20 % more rare entities than stock, with the same precision."),
        (counted((6, 12), (10, 20), "worse"), "ours finds 40 % fewer rare entities than stock, with the same precision."),
        (counted((10, 20), (10, 20), NO_CLAIM), "ours finds as many rare entities as stock, with the same precision."),
        (counted((12, 20), (0, 0)), "ours finds 12 of the 40 rare entities, stock none."),
        (counted((0, 3), (7, 9), "worse"), "ours finds none of the 40 rare entities, stock 7."),
        (counted((0, 0), (0, 2), NO_CLAIM), "Neither ours nor stock finds any of the 40 rare entities."),
        (counted((11, 20), (10, 20), NO_CLAIM), "No clear difference: ours finds 1 rare entity more than stock, which may be chance."),
        (counted((8.5, 20), (10, 20), NO_CLAIM), "No clear difference: ours finds 1.5 rare entities fewer than stock, which may be chance."),
        (counted((11, 12), (10, 30), NO_CLAIM, "better"), "No clear difference in how many are found, but ours has higher precision on rare entities than stock."),
        (counted((21, 42), (10, 20), is_rare=False), "ours finds 2.1 times as many entities as stock, with the same precision."),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence_of_counts(found, sentence):
    assert in_one_sentence(found, comparison()) == sentence


def test_where_the_counts_claim_nothing_tail_f1_may():
    said = "No clear difference in how many are found, but the mean F1 of rare types is {} with ours, 52.0 against 40.0."
    found = counted((11, 20), (10, 20), NO_CLAIM)
    for outcome, word in (("better", "higher"), ("worse", "lower")):
        assert in_one_sentence(found, comparison(tail=outcome)) == said.format(word)
    none = counted((11, 20), (10, 20), NO_CLAIM, is_rare=False)
    assert in_one_sentence(none, comparison(tail="better")).endswith("which may be chance.")


def test_the_verdict_of_one_model_and_of_one_not_trained_long_enough():
    alone = Finding(True, True, Found(1, 2, 1), None, {})
    assert in_one_sentence(alone, comparison(None)) == "ours finds 1 of the 1 rare entity."
    assert (
        beside_it(alone, comparison(None))[0] == "Of 100 rare entities that ours names, 50.0 are right."
    )
    early = "Not trained long enough: ner has found nothing yet."
    found = counted((21, 42), (10, 20))
    assert in_one_sentence(found, comparison(early=early)) == early
    beside = " ".join(beside_it(found, comparison(early=early)))
    assert "explain" not in beside and "no clear difference" not in beside
    assert beside.endswith("All types together: F1 87.2 against 86.1.")


def test_beside_the_verdict_are_counts_and_how_sure_it_is():
    few = " ".join(beside_it(counted((21.3, 42.6), (10, 20)), comparison()))
    assert few.startswith("ours finds 21.3 of the 40 rare entities, stock 10. Of 100 rare entities that")
    assert "ours names, 50.0 are right; of stock's, 50.0." in few
    assert "luck in training may, with 3 trainings of each" in few
    one = " ".join(beside_it(counted((21, 42), (10, 20)), comparison(n_seeds=1)))
    assert "with one training of each" in one
    many = " ".join(beside_it(counted((21, 42), (10, 20)), comparison(n_seeds=6)))
    assert "Chance does not explain this, over 58 test documents and 6 trainings of each." in many
    unsure = " ".join(beside_it(counted((11, 42), (10, 20), NO_CLAIM), comparison(n_seeds=6)))
    assert "do not tell so small a difference from chance" in unsure and "explain" not in unsure
    worse = beside_it(counted((21, 42), (10, 20)), comparison(micro="worse"))
    assert worse[-1] == "All types together: F1 87.2 against 86.1, which is worse."


def test_without_rare_types_the_verdict_is_about_all():
    none = beside_it(counted((21, 42), (10, 20), is_rare=False, has_tail=False), comparison())
    assert none[-1] == "No type of this corpus is rare, so this is about all of them."
    untested = beside_it(counted((21, 42), (10, 20), is_rare=False), comparison())
    assert untested[-1].startswith("The test part has no mention of a rare type")


def chosen(folder, stats, *evaluations):
    path, paths = write(folder, stats, *evaluations)
    report = read_report(path, paths)
    return report.statistics, choose(group([run for s in report.systems for run in s.runs]))


def test_rare_mentions_are_counted_over_shared_seeds(tmp_path):
    runs = [evaluation("baseline", {"ART": 6}, seed=0), evaluation("focal", {"ART": 30}, seed=0)]
    runs += [evaluation("focal", {"ART": 0}, seed=1)]
    found = finding(*chosen(tmp_path, statistics(), *runs))
    assert found.is_rare and found.has_tail
    assert found.ours == Found(10, 10, 10) and found.baseline == Found(2, 2, 10)
    assert found.verdicts["recall"].value == pytest.approx(0.8)
    assert found.verdicts["recall"].outcome == "better"


def test_without_a_tail_all_mentions_are_counted(tmp_path):
    stats, own = statistics(), evaluation("focal", {"PER": 15}, spurious=4)
    stats["tail"] = own["tail"] = []
    own["scores"].pop("ents_tail_f")
    found = finding(*chosen(tmp_path, stats, own))
    assert not found.is_rare and not found.has_tail
    assert found.ours == Found(70, 74, 100)


def pair(*rows):
    """Documents of one text, of (gold, ours, baseline)."""
    text, sentences = "0123456789 abcdefghi. ABCDEFGHI", [[0, 10], [11, 21], [22, 31]]
    sides = [[], []]
    for gold, *both in rows:
        for side, predicted in zip(sides, both, strict=True):
            predicted = [[*span, None] for span in predicted]
            side.append({"text": text, "sentences": sentences, "gold": gold, "predicted": predicted})
    return [documents_of(side) for side in sides]


A, R, WRONG = [1, 3, "A"], [12, 15, "R"], [12, 15, "A"]


def test_examples_are_what_one_found_and_the_other_did_not():
    ours, baseline = pair(([A, R], [R], [A, WRONG]), ([A, R], [A, R], [A, R]))
    found = differences(ours, baseline, ["R"])
    (gained,), (lost,) = found.gained, found.lost
    assert (gained.before, gained.mention, gained.after) == ("a", "bcd", "efghi.")
    assert (gained.label, gained.rare, gained.instead) == ("R", True, "A “bcd”")
    assert (lost.before, lost.mention, lost.after) == ("0", "12", "3456789")
    assert (lost.label, lost.rare, lost.instead) == ("A", False, "")
    assert found[2:] == (1, 1, 1, 0)


@pytest.mark.parametrize(
    ("predicted", "instead"),
    [
        ([[2, 5, "B"]], "B “234”"),
        ([[0, 2, "B"], [2, 3, "A"]], "B “01” + A “2”"),
        ([[0, 1, "B"], [3, 5, "B"]], ""),  # beside it
    ],
)
def test_what_a_model_made_of_a_mention_is_what_overlaps_it(predicted, instead):
    ours, baseline = pair(([A], [A], predicted))
    (example,) = differences(ours, baseline, []).gained
    assert example.instead == instead


def test_examples_are_rare_first_and_of_each_mention_once():
    spans = [[1, 3, "A"], [4, 6, "A"], [12, 15, "R"], [23, 25, "S"], [27, 29, "S"]]
    ours, baseline = pair((spans, spans, []), (spans, spans, []))
    found = differences(ours, baseline, ["R", "S"], n=4)
    shown = [(e.label, e.mention) for e in found.gained]
    assert shown == [("S", "BC"), ("R", "bcd"), ("S", "FG"), ("R", "bcd")]
    assert (found.n_gained, found.rare_gained, found.lost) == (10, 6, [])


def test_long_sentences_are_cut_between_words():
    text = "word " * 60 + "Ann" + " word" * 60
    row = {"text": text, "sentences": [[0, len(text)]], "gold": [[300, 303, "A"]]}
    ours, baseline = (documents_of([{**row, "predicted": p}]) for p in ([[300, 303, "A", None]], []))
    (example,) = differences(ours, baseline, []).gained
    assert example.mention == "Ann"
    for part in (example.before.removeprefix("… "), example.after.removesuffix(" …")):
        assert len(part) <= AROUND and set(part.split()) == {"word"}
    unspaced = {**row, "text": "x" * 300 + "Ann" + "y" * 300, "sentences": []}
    ours, baseline = (
        documents_of([{**unspaced, "predicted": p}]) for p in ([[300, 303, "A", None]], [])
    )
    (example,) = differences(ours, baseline, []).gained
    assert (example.before, example.after) == (f"… {'x' * AROUND}", f"{'y' * AROUND} …")


@pytest.mark.parametrize(
    ("own", "other", "against"),
    [
        ([A], [], ("gained",)),
        ([], [A], ("lost",)),
        ([A], [A], ("both",)),
        ([], [], ("neither",)),
        ([[1, 3, "B"]], [[1, 2, "A"]], ("neither",)),
    ],
)
def test_marks_say_who_found_them(own, other, against):
    ours, baseline = pair(([A], own, other))
    found = mark_documents(ours, ["A"], baseline=baseline)
    (mark,) = [m for s in found.sentences for m in s.marks if m.kinds]
    assert mark.against == against


def test_a_sentence_that_ours_alone_gets_right_is_shown():
    ours, baseline = pair(([A], [A], []))
    assert len(mark_documents(ours, [], baseline=baseline).sentences) == 1
    assert not mark_documents(ours, [], baseline=ours).sentences
    assert not mark_documents(ours, []).sentences
    assert not mark_documents(ours, [], baseline=baseline, errors_only=True).sentences


def test_dates_are_of_the_first_and_the_last_file(tmp_path):
    paths = [tmp_path / name for name in "abc"]
    assert written(paths) == ""
    for path, day in zip(paths, (3, 1, 2), strict=True):
        path.write_text("")
        os.utime(path, (86400 * day, 86400 * day))
    assert written([*paths, tmp_path / "none"]) == "1970-01-02 to 1970-01-04"
    assert written(paths[:1]) == "1970-01-04"


def test_no_line_ends_within_a_number():
    text = "ours (+1.0, 95 % interval, p < 0.001, t = −2.1, by 3.2 points) or so"
    assert unbroken(text) == text.replace(" %", "\u00a0%").replace("p < 0", "p\u00a0<\u00a00").replace(
        "t = −", "t\u00a0=\u00a0−"
    ).replace(" points", "\u00a0points")
    assert unbroken("at best < 3 and it = x") == "at best < 3 and it = x"
    assert p_value(0.0001) == "<\u00a00.001" and p_value(0.0123) == "0.012"


def texts(plot):
    return [unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", plot, re.DOTALL)]


HEAT = Heat(
    ["PER", "<b>$ART$</b>"],
    [60, 10],
    [False, True],
    [
        HeatRow("crf", [0.914, 0.5], 0.707, "ours"),
        HeatRow("ner", [0.9, 0.0], 0.45, "baseline"),
        HeatRow("<i>", [None, 0.25], None),
    ],
)


def test_a_heatmap_has_every_number_and_marks_baseline_and_rare_types():
    plot = heatmap(HEAT, "h")
    shown = texts(plot)
    assert [text for text in shown if re.fullmatch(r"\d+|–", text)] == [
        "91", "50", "71", "90", "0", "45", "–", "25", "–",
    ]  # fmt: skip
    assert {"PER (60)", "<b>$ART$</b> (10) rare", "crf (best on dev)", "ner (baseline)", "<i>"} < set(
        shown
    )
    assert "<b>" not in plot and "<i>" not in plot
    assert plot.count("stroke: var(--ours)") == plot.count("stroke: var(--baseline)") == 2  # the frames
    (rare,) = re.findall(r"<text[^>]*>[^<]*rare</text>", plot)
    assert "var(--rare)" in rare
    shades = [float(s) for s in re.findall(r"fill: var\(--shade\); opacity: ([\d.]+)", plot)]
    assert shades == [pytest.approx(v / 2) for v in (0.914, 0.5, 0.707, 0.9, 0.45, 0.25)]  # 0 has none


def test_curves_show_every_method_and_no_two_alike():
    points = {f"m{i}": [(x, [0.1 * x, 0.2]) for x in (1, 2)] for i in range(12)}
    plot = size_curves(points, "k", "sentences", "macro F1 on test", {"m3": "baseline"})
    assert set(points) < set(texts(plot))
    lines = re.findall(r'<path d="M[^"]*"[^>]*style="fill: none; (stroke[^"]*width: 1.5[^"]*)"', plot)
    assert len(lines) >= 12  # in the plot; the legend draws them again
    of_lines = lines[:12]
    assert len(set(of_lines)) == 12
    assert sum("--baseline" in line for line in of_lines) == 1 and "--baseline" in of_lines[3]
    assert "var(--ours)" not in plot and "var(--rare)" not in plot


def test_a_colour_means_the_same_in_every_plot():
    values = [[0.1], [0.2]]
    neutral = learning_curves([Line(f"donor {i}", [1, 2], values) for i in range(5)])
    assert not re.search(r"var\(--(ours|baseline|rare)\)", neutral)
