"""The report's page: what it says, what it must not say, and what it must not do."""

import json
import re
import sys
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

import pytest
import srsly

from spacy_longtail.evaluation.report import (
    summarize,
    summary_table,
    write_card,
    write_report,
)
from spacy_longtail.evaluation.report.marks import mark_documents
from spacy_longtail.evaluation.report.page import SIGNATURE, render
from spacy_longtail.evaluation.report.systems import (
    choose,
    group,
    over_seeds,
    read_runs,
    read_statistics,
)
from spacy_longtail.studies.comparison.curves import Curves
from spacy_longtail.studies.comparison.summary import CorpusSummary, Summary
from tests.reports import KEYS, LABELS, TAIL, WEAK, evaluation, report_of, scores_of, statistics, write
from tests.trials import RISING
from tests.util import documents_of, new_file

pytest.importorskip("scipy")


class Page(NamedTuple):
    """A report's page, its twin in Markdown, and its summary."""

    html: str
    twin: str
    summary: dict


def page(folder, *evaluations, stats=None):
    report = report_of(*write(folder, stats or statistics(), *evaluations))
    path = folder / "out" / "report.html"
    write_report(report, path)
    texts = (own.read_text(encoding="utf-8") for own in (path, path.with_suffix(".md")))
    return Page(*texts, summarize(report))


class Elements(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def plain(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """A page on a weak baseline and a better model."""
    evaluations = evaluation("baseline", WEAK), evaluation("focal", {"LOC": 29})
    return page(tmp_path_factory.mktemp("golden"), *evaluations)


def test_the_page_loads_nothing_and_its_parts_are_named(golden):
    html, elements = golden.html, Elements(golden.html).found
    for tag, attrs in elements:
        assert tag not in ("iframe", "object", "embed", "base", "image", "img", "b")
        for key in ("src", "href", "action", "srcset", "data", "poster"):
            assert attrs.get(key, "#").startswith(("#", "data:")), (tag, attrs)
        assert not any(key.startswith("on") for key in attrs)
    assert not re.search("https?://|@import", html)
    assert set(re.findall(r"url\((.)", html)) <= {"#"}
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    links = [attrs["href"][1:] for _, attrs in elements if attrs.get("href", "").startswith("#")]
    assert len(ids) == len(set(ids)) and set(links) <= set(ids)
    tags = [tag for tag, _ in elements]
    assert tags.count("caption") == tags.count("table") and tags.count("script") == 1
    assert all("scope" in attrs for tag, attrs in elements if tag == "th")
    (plot,) = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert 'role="img"' in plot and "currentColor" in plot
    assert not re.search(r"#[0-9a-f]{6}\b", plot)  # in the colours of the page
    assert "private" not in html and "focal/model-best" in html


def test_the_verdict_and_one_figure_come_first(golden):
    html, twin, summary = golden
    main = unescape(html[html.index("<main") :]).replace("\u00a0", " ")
    assert summary["sentence"] == (
        "focal finds 10 of the 10 rare entities, baseline 2. Of the rare entities that focal "
        "predicts, 100.0 % are correct; of the rare entities that baseline predicts, 100.0 %."
    )
    order = [summary["verdict"], summary["sentence"], "<svg", 'id="sure"', 'id="entities"', "<table"]
    assert [main.index(text) for text in order] == sorted(main.index(text) for text in order)
    assert not any(tag == "details" and "open" in attrs for tag, attrs in Elements(html).found)
    order = [f"**{summary['verdict']}**", "## How sure", "## Types", "## The worst sentences"]
    assert [twin.index(text) for text in order] == sorted(twin.index(text) for text in order)
    assert 'class="up"' in html
    for text in ("One seed of focal, on one split", "moves its recall by 10.0 points"):
        assert text in plain(html)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and r"\<script\>" in twin


def test_rare_types_that_do_not_improve_say_what_became_of_their_mentions(golden, tmp_path):
    data = evaluation("focal", {"ART": 6})
    wrong = {3: [8, 33, "LOC"], 6: [8, 33, "PER"], 9: [16, 33, "ART"], 10: [43, 46, "ART"]}
    for i, span in wrong.items():
        kept = [row for row in data["documents"][i]["predicted"] if row[2] != "ART"]
        data["documents"][i]["predicted"] = [*kept, [*span, None]]
    ours = {**data, "scores": scores_of(data)}
    said = "6 missed (<script>alert(1)</script>); 1 taken for LOC (<script>alert(1)</script>); "
    said = f"ART: {said}1 taken for PER (<script>alert(1)</script>). It has 20 training mentions"
    html, twin, _ = page(tmp_path, evaluation("baseline"), ours)
    assert f"{said}." in unescape(html) and "that did not improve" in html
    assert "Rare types that did not improve, and their most frequent errors:" in twin
    assert twin.index("- ART: 6 missed") < twin.index("## How sure")
    alone = page(tmp_path, ours).html
    assert said in unescape(alone) and "that did not improve" not in alone
    assert "that did not improve" not in golden.html  # all rare types are better there


def test_names_with_markup_stay_text(tmp_path):
    def renamed(data):
        return json.loads(json.dumps(data).replace('"ART"', '"<i>$A$</i>"'))

    evil = 'a|b_c`<img src=x onerror="alert(1)">'
    stats = {**renamed(statistics()), "corpus": evil}
    evaluations = [renamed(evaluation(name)) for name in ("baseline", evil)]
    html, twin, summary = page(tmp_path, *evaluations, stats=stats)
    assert "<i>" not in html and "<img" not in html
    assert "&lt;i&gt;$A$&lt;/i&gt; (10)" in html  # the tick label, with its support
    assert summary["rows"][-1]["type"] == "<i>$A$</i>"
    assert r"a\|b\_c\`\<img" in twin
    rows = [line.count(" | ") for line in twin.splitlines() if line.startswith(("| PER", "| LOC"))]
    assert len(rows) == 2 and len(set(rows)) == 1


@pytest.mark.parametrize(
    ("baseline", "ours", "better", "worse"),
    [
        (WEAK, {}, "macro tail micro", ""),
        ({}, WEAK, "", "macro tail micro"),
        ({"ART": 3}, {"PER": 10}, "tail", "micro"),  # rare types better, frequent ones worse
        (WEAK, WEAK, "", ""),
    ],
)
def test_the_verdict_claims_what_the_test_shows(tmp_path, baseline, ours, better, worse):
    evaluations = evaluation("baseline", baseline), evaluation("focal", ours)
    summary = page(tmp_path, *evaluations).summary
    outcomes = {kind: row["outcome"] for kind, row in summary["averages"].items()}
    assert {k for k in KEYS if k != "weighted" and outcomes[k] == "better"} == {*better.split()}
    assert {k for k in KEYS if k != "weighted" and outcomes[k] == "worse"} == {*worse.split()}
    claims = re.findall("better|worse|not shown to differ", summary["verdict"])
    expected = ["better"] * bool(better) + ["worse"] * bool(worse) or ["not shown to differ"]
    assert claims == expected
    text = " ".join(summary["findings"])
    assert "30 documents and 1 seed" in text and "spread over seeds" in text
    assert ("improves" in text) == bool(better) and "F1 of PER" not in text  # of types, the rare ones


@pytest.mark.parametrize(
    ("named", "ours", "n_comparisons"),
    [
        (None, "m3", {"m0": 3, "m1": 3, "m2": 3, "m3": 1}),  # best on dev: no look at test chose it
        ("m0", "m0", {"m0": 4, "m1": 4, "m2": 4, "m3": 4}),
    ],
)
def test_a_model_chosen_on_dev_is_one_comparison_and_one_that_was_named_is_not(
    named, ours, n_comparisons, tmp_path
):
    others = [evaluation(f"m{i}", {"ART": 30 - i}, dev=0.1 * i) for i in range(4)]
    files = write(tmp_path, statistics(), evaluation("baseline", WEAK), *others)
    report = report_of(*files, ours=named)
    assert report.ours == ours
    assert {name: own.n_comparisons for name, own in report.verdicts.items()} == n_comparisons
    assert report.averages["macro"].verdict == report.verdicts[ours]  # headline and table agree


def test_the_summary_and_the_table_hold_the_inputs_numbers(tmp_path):
    old, new = evaluation("baseline", WEAK), evaluation("focal", {"ART": 27, "PER": 29}, spurious=3)
    report = report_of(*write(tmp_path, statistics(), old, new))
    summary = summarize(report)
    supports = [("PER", 60, False), ("LOC", 30, False), ("ART", 10, True)]
    assert [(r["type"], r["support"], r["rare"]) for r in summary["rows"]] == supports
    for row in summary["rows"]:
        for side, data in (("baseline", old), ("ours", new)):
            assert row[side] == data["scores"]["ents_per_type"][row["type"]]["f"]
    assert [row["p"] for row in summary["rows"]] == [row.verdict.adjusted for row in report.rows]
    for kind, key in KEYS.items():
        found = summary["averages"][kind]
        assert (found["baseline"], found["ours"]) == (old["scores"][key], new["scores"][key])
        assert found["interval"][0] <= found["ours"] <= found["interval"][1]
    lines = summary_table(report).strip().splitlines()
    assert [line.split()[0] for line in lines[2:9]] == [*LABELS, "macro", "micro", "weighted", "tail"]
    assert lines[4].split()[:5] == ["ART", "*", "10", "33.3", "94.7"] and "+61.4" in lines[4]
    assert lines[10:12] == [summary["verdict"], summary["sentence"]]
    alone = summary_table(report_of(*write(tmp_path, statistics(), new)))
    assert "Difference" not in alone.splitlines()[1]


def test_runs_of_one_name_are_one_model_over_seeds(tmp_path):
    runs = [evaluation("focal", {"ART": n}, seed=seed) for seed, n in enumerate((3, 9, 15))]
    runs += [evaluation("baseline", {"ART": 3}, seed=seed) for seed in range(3)]
    html, _, summary = page(tmp_path, *runs)
    assert summary["seeds"] == {"focal": [0, 1, 2], "baseline": [0, 1, 2]}
    (art,) = [row for row in summary["rows"] if row["type"] == "ART"]
    assert art["ours"] == pytest.approx(sum(2 * n / (n + 10) for n in (1, 3, 5)) / 3)
    assert "3 seeds of focal" in plain(html)
    assert summary["sentence"].startswith("focal finds 3 of the 10 rare entities, baseline 1.")


def test_a_type_that_is_always_or_never_found_has_an_interval(tmp_path):
    html, _, summary = page(tmp_path, evaluation("focal", {"ART": 0, "LOC": 20}))
    rows = {row["type"]: row for row in summary["rows"]}
    assert rows["ART"]["ours"] == 0.0 and rows["ART"]["interval"][1] > 0.2  # in ten documents
    assert rows["PER"]["ours"] == 1.0 and 0.8 < rows["PER"]["interval"][0] < 0.95
    assert "0.0 to 0.0" not in plain(html)


def test_no_claim_of_short_trainings(tmp_path):
    evaluations = evaluation("baseline", WEAK), evaluation("focal", curve=RISING)
    html, _, summary = page(tmp_path, *evaluations)
    assert summary["verdict"].startswith("Not trained long enough: focal still rose")
    assert summary["findings"] == []
    assert {row["outcome"] for row in summary["rows"]} == {"not trained long enough"}
    assert 'class="up"' not in html


def test_a_type_in_too_few_documents_is_not_tested_in_short_trainings_either(tmp_path):
    few = {"n_documents": 12}  # ART is in four of them
    evaluations = evaluation("baseline", WEAK, **few), evaluation("focal", curve=RISING, **few)
    rows = page(tmp_path, *evaluations).summary["rows"]
    outcomes = {row["type"]: row["outcome"] for row in rows}
    assert outcomes["ART"] == "too few documents to tell"
    assert outcomes["PER"] == outcomes["LOC"] == "not trained long enough"


def test_type_without_test_mention(tmp_path):
    evaluations = [evaluation("baseline"), evaluation("focal")]
    for data in evaluations:
        for document in data["documents"]:
            for side in ("gold", "predicted"):
                document[side] = [span for span in document[side] if span[2] != "ART"]
        data["scores"] = scores_of(data)
    html, _, summary = page(tmp_path, *evaluations)
    row = summary["rows"][-1]
    assert (row["type"], row["support"], row["baseline"], row["ours"]) == ("ART", 0, 0.0, 0.0)
    assert row["outcome"] is None  # F1 is 0 for both, whatever they do
    assert html.count("no test mention, F1 counts as 0") == 1 and "moves its recall" not in html
    assert summary["sentence"].startswith("focal finds 90 of the 90 entities, baseline 90.")


def test_the_twin_shows_errors_commands_and_secondaries(tmp_path):
    run = {"command": "python -m x --a 'b|c`d'", "seconds": 1.0}
    counts = {"sentences": 2000, "flagged": 57, "words": 1200, "calls": 58, "entities": 9}
    used = {**counts, "refused": 0, "failures": 3, "seconds": 1.5}
    for n, missed in ((30, 0), (27, 1)):  # every third of thirty documents has an ART
        data = {**evaluation("focal", {"ART": n}, run=run), "secondaries": {"rescue": used}}
        html, twin, _ = page(tmp_path, data)
        assert r"`python -m x --a 'b\|c'd'`" in twin and twin.count("ART missed") == missed
        for text in (html, twin):
            assert "focal, rescue: 2.9 % of the sentences" in text and "it failed on 3" in text


def test_a_report_overwrites_no_file_of_others(tmp_path):
    report = report_of(*write(tmp_path, statistics(), evaluation("focal")))
    for name in ("index.md", "mine.html"):
        (tmp_path / name).write_text("mine")
    for name, code in (
        ("report.md", "L436"),
        ("index.html", "L437.*index.md"),
        ("mine.html", "L437.*mine.html"),
    ):
        with pytest.raises(ValueError, match=code):
            write_report(report, tmp_path / name)
    assert (tmp_path / "mine.html").read_text() == (tmp_path / "index.md").read_text() == "mine"
    assert not (tmp_path / "index.html").exists()
    for _ in range(2):  # its own it does
        write_report(report, tmp_path / "report.html")


def test_ours_is_chosen_on_dev_never_on_test(tmp_path):
    runs = [
        evaluation("test_winner", dev=0.5),
        evaluation("baseline", WEAK, dev=0.9),  # never chosen against itself
        evaluation("dev_winner", WEAK, dev=0.6),
    ]
    stats, paths = write(tmp_path, statistics(), *runs)
    first, other, last = systems = group(read_runs(paths, read_statistics(stats)))
    assert choose(systems) == (other, last, True)
    assert choose(systems, None, "test_winner") == (other, first, False)
    assert choose(systems[1:]) == (other, last, False)  # the only one beside the baseline
    assert choose([first]) == (None, first, False)


def test_a_choice_that_cannot_be_made_is_refused(tmp_path):
    runs = [
        evaluation("test_winner", dev=0.5),
        evaluation("baseline"),
        evaluation("dev_winner", dev=0.6),
    ]
    stats, paths = write(tmp_path, statistics(), *runs)
    first, _, last = systems = group(read_runs(paths, read_statistics(stats)))
    light = [{**run, "performance": {}} for run in runs]
    stats, paths = write(tmp_path, statistics(), *light)
    without = group(read_runs(paths, read_statistics(stats)))
    with pytest.raises(ValueError, match=r"L487.*none of test_winner, dev_winner has performance"):
        choose(without)
    for some, names in (
        (systems, ("nobody", None)),
        (systems, ("baseline", "nobody")),
        (systems, ("baseline", "baseline")),
        ([first], ("nobody", None)),
        ([first, last], (None, None)),
    ):
        with pytest.raises(ValueError, match="L410"):
            choose(some, *names)


@pytest.fixture
def evaluated(tmp_path):
    """A pipeline and its copy under another name, and the report of its evaluation."""
    performance = {"ents_macro_f": 0.4, "ents_f": 0.5}
    sources = ["raw text", {"name": "A_B", "url": "https://a.b", "author": "C", "license": "CC BY 4.0"}]
    about = {"lang": "en", "performance": performance, "sources": sources}
    for folder, name in (("model-best", "x"), ("copy", "packaged")):
        new_file(tmp_path / folder / "meta.json", json.dumps({**about, "name": name}))
    pipe = {"factory": "longtail_ner", "thresholds": {"ART": 0.25}, "calibrated": True}
    gate = {"factory": "longtail_posterior_gate", "threshold": 0.125, "budget": 0.2}  # has no threshold
    method = {"reader": {}, "pipes": {"ner": pipe, "gate": gate}}
    ours = evaluation("focal", WEAK, method=method)
    ours |= {"model": str(tmp_path / "model-best"), "performance": performance}
    runs = (evaluation("baseline"), ours, evaluation("focal", seed=8))
    report = report_of(*write(tmp_path, statistics(), *runs))
    return report, tmp_path / "model-best", tmp_path / "copy"


def test_the_card_of_the_pipeline_that_was_evaluated(evaluated):
    report, model, _ = evaluated
    text = write_card(report, model).read_text(encoding="utf-8")
    for part in (
        "ART: 10 test mentions, so its score is rough",
        "Thresholds of ner: ART 0.250",
        "Budget of gate: it flags at most 20.0 % of the sentences",
        "one of 2 seeds",
        r"Also learnt from: raw text, [A\_B](https://a.b) (CC BY 4.0).",
    ):
        assert part in text
    assert "not calibrated" not in text and "private" not in text and "0.125" not in text
    meta = srsly.read_json(model / "meta.json")
    card = meta.pop("spacy_longtail")
    assert meta["performance"] == {"ents_macro_f": 0.4, "ents_f": 0.5}
    art = card["per_type"]["ART"]
    assert art["test"] == 10 and art["interval"][0] <= art["f"] <= art["interval"][1]
    assert art["f"] == pytest.approx(
        evaluation("focal", WEAK)["scores"]["ents_per_type"]["ART"]["f"]
    )  # JSON keeps ten digits
    assert card["thresholds"] == {"ner": {"ART": 0.25}} and card["budgets"] == {"gate": 0.2}


def test_the_card_is_that_of_the_last_training_of_a_folder(tmp_path):
    """The folder was trained again, and evaluated before and after."""
    scores = {"ents_macro_f": 0.4, "ents_f": 0.5}
    new_file(tmp_path / "best/meta.json", json.dumps({"lang": "en", "name": "x", "performance": scores}))
    before = {**evaluation("baseline"), "model": str(tmp_path / "best")}
    before["performance"] = {"ents_macro_f": 0.1, "ents_f": 0.1}
    after = {**evaluation("focal", WEAK), "model": str(tmp_path / "best"), "performance": scores}
    report = report_of(*write(tmp_path, statistics(), before, after))

    text = write_card(report, tmp_path / "best").read_text("utf8")

    assert "focal" in text


def test_the_card_of_a_copy_leaves_the_pipeline_alone(evaluated):
    report, model, copied = evaluated
    assert write_card(report, model, copied) == copied / "README.md"
    assert "en_packaged" in (copied / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in model.iterdir()] == ["meta.json"]


@pytest.mark.parametrize(
    ("name", "meta", "code"),
    [
        (
            "model-best",
            {"lang": "en", "name": "x", "performance": {"ents_macro_f": 0.5, "ents_f": 0.5}},
            "L414",
        ),
        ("other", {}, "L414"),
        ("none", None, "L402"),
    ],
    ids=["trained again since", "another pipeline", "no pipeline"],
)
def test_a_pipeline_that_was_not_evaluated_gets_no_card(name, meta, code, evaluated, tmp_path):
    if meta is not None:
        new_file(tmp_path / name / "meta.json", json.dumps(meta))
    with pytest.raises(ValueError, match=code):
        write_card(evaluated[0], tmp_path / name)


WITHOUT_PRECISION = evaluation("focal")
del WITHOUT_PRECISION["scores"]["ents_per_type"]["ART"]["p"]
SCORED_TWICE = {**evaluation("focal"), "documents": [{**evaluation("focal")["documents"][0]}]}
SCORED_TWICE["documents"][0]["predicted"] = [[0, 3, "PER", 1.5]]
GROUPED = evaluation("focal")
GROUPED["documents"] = [{**row, "group": f"book {i % 5}"} for i, row in enumerate(GROUPED["documents"])]
BAD_EVALUATIONS = [
    (WITHOUT_PRECISION, "L405.*'ART', 'p': Field required"),
    ({**evaluation("focal"), "words_per_second": "fast"}, "L405.*words_per_second.*valid number"),
    ({**evaluation("focal"), "performance": {"ents_macro_f": float("nan")}}, "L405.*found nan"),
    ({**evaluation("focal"), "documents": []}, "L405.*no annotated document"),
    (evaluation("focal", n_documents=29), "L411.*documents"),
    (GROUPED, "L411.*groups differ"),
    ({**evaluation("focal"), "part": "dev"}, "L411.*part 'dev'"),
    (evaluation("baseline"), "L405.*'baseline' with seed 7"),
    (SCORED_TWICE, "L405.*1.5"),
    ([], "L405"),
]


def test_an_evaluation_of_fewer_types_is_averaged_over_those_of_the_corpus(tmp_path):
    """`merge` has added a type, and another is rare, since it was made."""
    older = {**evaluation("older", WEAK, seed=1), "labels": ["PER", "LOC"], "tail": ["LOC"]}
    older["scores"] |= dict.fromkeys(("ents_macro_f", "ents_weighted_f", "ents_tail_f"), 0.0)
    stats, paths = write(tmp_path, statistics(), evaluation("newer", WEAK, seed=2), older)
    newer, older = read_runs(paths, read_statistics(stats))
    assert older.evaluation.labels == LABELS and older.evaluation.tail == TAIL
    for name in ("ents_macro_f", "ents_weighted_f", "ents_tail_f", "ents_f"):
        ours, theirs = (getattr(run.evaluation.scores, name) for run in (older, newer))
        assert ours == pytest.approx(theirs) and ours > 0


@pytest.mark.parametrize(("bad", "message"), BAD_EVALUATIONS)
def test_bad_evaluation_leaves_no_file(tmp_path, bad, message):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), bad)
    with pytest.raises(ValueError, match=message):
        write_report(report_of(stats, paths), tmp_path / "out" / "report.html")
    assert not (tmp_path / "out").exists()


def test_statistics_that_lack_a_part_are_refused(tmp_path):
    parts = {part: own for part, own in statistics()["parts"].items() if part != "dev"}
    path, _ = write(tmp_path, {**statistics(), "parts": parts})
    with pytest.raises(ValueError, match=r"L405.*stats"):
        read_statistics(path)


def test_the_same_inputs_give_the_same_page_and_need_the_extra(tmp_path, monkeypatch):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline", WEAK), evaluation("focal"))
    report, target = report_of(stats, paths), tmp_path / "report.html"
    write_report(report, target)
    first = target.read_bytes()
    target.write_text(f"old. {SIGNATURE}")
    write_report(report, target)
    assert target.read_bytes() == first
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ValueError, match=r"L406.*scipy.*\[report\]"):
        report_of(stats, paths)


def document(gold, predicted, text="0123456789 abcdefghi.", sentences=((0, 10), (11, 21))):
    return {"text": text, "sentences": sentences, "gold": gold, "predicted": predicted}


def marked(*rows, tail=(), baseline=()):
    return mark_documents(documents_of(rows), list(tail), documents_of(baseline))


@pytest.mark.parametrize(
    ("gold", "predicted", "tag"),
    [
        ([[1, 3, "A"]], [[1, 3, "A", 0.5]], "A ✓ 50"),
        ([[1, 3, "A"]], [], "A missed"),
        ([], [[1, 3, "A", None]], "A spurious"),
        ([[1, 3, "A"]], [[1, 3, "B", 0.87]], "A → B wrong type 87"),
        ([[1, 3, "A"]], [[2, 5, "A", None]], "A wrong boundary: “234”"),
        ([[1, 3, "A"]], [[2, 5, "B", None]], "A → B wrong type and boundary: “234”"),
    ],
)
def test_marks_say_what_is_wrong_and_keep_the_text(gold, predicted, tag):
    (sentence,) = marked(document(gold, predicted), tail="AB")
    (mark,) = [m for m in sentence.marks if m.kinds]
    assert (mark.text, mark.tag) == ("12", tag)
    assert "".join(m.text for m in sentence.marks) == "0123456789"


A, B = [1, 3, "A"], [1, 3, "B"]


@pytest.mark.parametrize(
    ("own", "other", "against"),
    [(A, A, "both"), (A, None, "gained"), (None, A, "lost"), (None, None, "neither"), (B, B, "neither")],
)
def test_marks_say_who_found_them(own, other, against):
    ours, baseline = (document([A], [[*span, None]] if span else []) for span in (own, other))
    found = marked(ours, tail="A", baseline=[baseline])
    assert [m.against for s in found for m in s.marks if m.kinds] == [against]
    # a sentence that ours alone gets right is shown, without a rare type too
    assert bool(marked(ours, baseline=[baseline])) == (against != "both")


def test_the_worst_sentences_come_first_and_an_entity_across_ends_is_of_the_first():
    fine = document([[1, 3, "A"]], [[1, 3, "A", None]])
    error = document([[1, 3, "A"]], [])
    sure = document([], [[1, 3, "A", 0.9]])
    rare = document([[1, 3, "R"]], [[1, 3, "R", None]])
    wrong = document([[1, 3, "R"]], [])
    found = marked(fine, error, sure, rare, wrong, tail="R")
    kinds = [[mark.kinds[0] for mark in own.marks if mark.kinds] for own in found]
    assert kinds == [["missed"], ["correct"], ["spurious"], ["missed"]]
    assert [own.rare for own in found] == [True, True, False, False]
    found = marked(document([[8, 13, "A"], [15, 17, "A"]], []), tail="A")
    assert ["".join(mark.text for mark in own.marks) for own in found] == ["0123456789 ab", "cdefghi."]
    assert [own.errors[0].text for own in found] == ["89 ab", "ef"]


def test_curves_show_every_method_and_no_two_alike():
    lines = {f"m{i}": [over_seeds([0.1, 0.2]), over_seeds([0.2, 0.2])] for i in range(12)}
    corpus = CorpusSummary("toy", [], curves=[Curves("sentences", "macro", [1.0, 2.0], lines, [])])
    summary = Summary("10 steps", "m3", [corpus], 24, [], 0)
    values = {"columns": summary.columns, "rising": lambda found: "", "counted": None}
    (plot,) = re.findall("<svg.*?</svg>", render("matrix.html", summary=summary, **values), re.DOTALL)
    assert {*lines, "1", "2"} < set(re.findall(r"<text[^>]*>(.*?)</text>", plot))
    looks = re.findall(r'<polyline points="([^"]*)" style="fill: none; ([^"]*)"', plot)
    assert len({look for _, look in looks}) == 12
    assert ["--baseline" in look for _, look in looks] == [i == 3 for i in range(12)]
    # from 15 to 20 points of 100, on an axis of 220 pixels
    first, last = (float(point.split(",")[1]) for point in looks[0][0].split())
    assert first - last == pytest.approx(0.05 * 220, abs=0.11)
    assert "var(--ours)" not in plot and "var(--rare)" not in plot
