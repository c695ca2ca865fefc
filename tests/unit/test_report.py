"""The report's page: what it says, what it must not say, and what it must not do."""

import copy
import json
import os
import re
from html.parser import HTMLParser

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy_longtail.evaluation.report.figures import curve_lines
from spacy_longtail.evaluation.report.writing import SIGNATURE

from spacy_longtail.evaluation.analysis import TrainingMentions, analyse
from spacy_longtail.evaluation.report import (
    Summary,
    read_report,
    summarize,
    summary_table,
    write_card,
    write_report,
)
from spacy_longtail.evaluation.report.comparison import Pair, TypeRow
from spacy_longtail.evaluation.report.inputs import read_runs, read_statistics
from spacy_longtail.evaluation.report.marks import mark_documents
from spacy_longtail.evaluation.report.plots import pr_moves
from spacy_longtail.evaluation.report.systems import choose, group
from spacy_longtail.evaluation.report.wording import verdict
from spacy_longtail.evaluation.significance import holm, mention_counts, named_metrics
from tests.util import corpus_statistics_of, documents_of, part_statistics, type_statistics

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

LABELS, TAIL = ["PER", "LOC", "ART"], ["ART"]
MENTIONS = {"PER": 2, "LOC": 1, "ART": 1}  # of a document; ART in every third alone
TEXT = "Ann met <script>alert(1)</script> in Rome. Nothing here."
PLACES = {"PER": [(0, 3), (43, 50)], "LOC": [(37, 41)], "ART": [(8, 33)]}  # ART is the markup
N_DOCUMENTS = 30
KEYS = {"macro": "ents_macro_f", "micro": "ents_f", "weighted": "ents_weighted_f", "tail": "ents_tail_f"}


def statistics():
    counts = type_statistics(mentions=20, tokens=30, sentences=15, rareness=4.5)
    types = dict.fromkeys(LABELS, counts)
    part = part_statistics(types, documents=2, sentences=40, tokens=500)
    return corpus_statistics_of(
        dict.fromkeys(("train", "dev", "test"), part),
        LABELS,
        tail=TAIL,
        policies={"sC": {"sentences": 2.0, "tokens": 2.5, "types": {}}},
        unseen={"PER": 0.5, "LOC": 0.25, "ART": None},
    )


def gold_spans(i):
    labels = [label for label in LABELS if label != "ART" or i % 3 == 0]
    return [[*place, label] for label in labels for place in PLACES[label]]


def evaluation(name, found=None, seed=7, dev=0.4, n_documents=N_DOCUMENTS, **more):
    """A model that finds a type in the first documents, as many as `found` says, all if it says nothing."""
    found = dict.fromkeys(LABELS, N_DOCUMENTS) | (found or {})
    documents = []
    for i in range(n_documents):
        predicted = [[*span, 0.875] for span in gold_spans(i) if i < found[span[2]]]
        predicted += [[11, 14, "LOC", None]] if i < more.get("spurious", 0) else []
        sentences = [[0, 42], [43, 56]]
        title = "A <b>title</b>"
        document = {"title": title, "text": TEXT, "sentences": sentences, "gold": gold_spans(i)}
        documents.append({**document, "predicted": predicted})
    data = {
        "name": name,
        "model": f"/home/someone/private/{name}/model-best",
        "data": "corpus/toy/test.spacy",
        "checksum": "c" * 64,
        "labels": LABELS,
        "tail": TAIL,
        "training": {"seed": seed, "max_steps": 1234},
        "method": more.get("method", {}),
        "run": more.get("run", {}),
        "curve": more.get("curve", []),
        "performance": {"ents_macro_f": dev},
        "analysis": None,
        "words_per_second": 4321.0,
        "documents": documents,
    }
    return {**data, "scores": scores_of(data)}


def scores_of(data):
    counts = mention_counts(documents_of(data["documents"]), data["labels"]).counts.sum(axis=0)
    own = {n: float(m(counts)) for n, m in named_metrics(data["labels"], data["tail"]).items()}
    kinds = {"p": "precision", "r": "recall", "f": "F1"}
    per_type = {
        label: {**{k: own[f"{n} of {label}"] for k, n in kinds.items()}, "support": int(counts[i, 2])}
        for i, label in enumerate(data["labels"])
    }
    averages = {key: own.get(f"{kind} F1", 0.0) for kind, key in KEYS.items()}
    return {**averages, "ents_per_type": per_type}


# six more of ten ART, two more documents' PER
WEAK = {"ART": 6, "PER": 26}


def write(folder, stats, *evaluations):
    paths = []
    for i, data in enumerate((stats, *evaluations)):
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(json.dumps(data), encoding="utf-8")
    return paths[0], paths[1:]


def page(folder, *evaluations, stats=None, **kwargs):
    report = read_report(*write(folder, stats or statistics(), *evaluations), **kwargs)
    write_report(report, folder / "out" / "report.html")
    return (folder / "out" / "report.html").read_text(encoding="utf-8"), summarize(report).as_json()


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


def test_page_loads_nothing(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    for tag, attrs in Elements(html).found:
        assert tag not in ("iframe", "object", "embed", "base", "image")
        for key in ("src", "href", "action", "srcset", "data", "poster"):
            assert attrs.get(key, "#").startswith(("#", "data:")), (tag, attrs)
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    assert set(re.findall(r"url\((.)", html)) <= {"#"}


def test_ids_are_unique_and_plots_have_names(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    elements = Elements(html).found
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"][1:] for _, attrs in elements if attrs.get("href", "").startswith("#")]
    assert set(links) <= set(ids)
    plots = [attrs for tag, attrs in elements if tag == "svg"]
    assert len(plots) == 3  # types, precision and recall, sizes
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in plots)


def test_plots_take_the_colours_of_the_page(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    for plot in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL):
        assert "currentColor" in plot
        assert not re.search(r"#[0-9a-f]{6}\b", plot)


def test_headings_are_in_order_and_tables_described(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    tags = [tag for tag, _ in Elements(html).found]
    heads = ["h1", "h2", "h2", "h3", "h3", *["h2"] * 6]
    assert [t for t in tags if re.fullmatch("h[1-6]", t)] == heads
    assert tags.count("caption") == tags.count("table") == 7
    assert all("scope" in attrs for tag, attrs in Elements(html).found if tag == "th")


def test_the_verdict_and_one_figure_come_first_and_statistics_are_one_click_below(tmp_path):
    html, summary = page(tmp_path, evaluation("baseline", WEAK), evaluation("focal"))
    main = html[html.index("<main") :]
    sentence = "focal finds 5.0 times as many rare entities as baseline, with the same precision."
    assert summary["sentence"] == sentence
    places = [sentence, "<svg", 'id="sure"', 'id="examples"', 'id="entities"', "<table", 'id="models"']
    found = [main.index(place) for place in places]
    assert found == sorted(found)
    first_screen = plain(main[: main.index("<details")])
    for word in ("Holm", "bootstrap", "p <", "permutation", "macro", "tail F1", "seed"):
        assert word not in first_screen
    assert folded(main) == main.count("<table")
    assert not any(tag == "details" and "open" in attrs for tag, attrs in Elements(html).found)
    assert "Shown" not in plain(main) and ">nothing<" not in main


def folded(html):
    """Tables inside of details."""
    before = [html[: found.start()] for found in re.finditer("<table", html)]
    return sum(text.count("<details") > text.count("</details>") for text in before)


def test_examples_show_what_changed_and_stay_text(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline", WEAK), evaluation("focal", {"LOC": 29}))
    examples = html[html.index('id="examples"') : html.index('id="entities"')]
    assert "baseline missed, focal found: 16, 8 of rare types" in examples
    assert "baseline found, focal missed: 1, 0 of rare types" in examples
    assert "<mark>&lt;script&gt;alert(1)&lt;/script&gt;</mark>" in examples
    assert "<mark>Rome</mark>" in examples
    twin = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    order = ["**focal finds 5.0 times", "## What changes", "**Rome** [LOC]", "## How sure", "## Types"]
    assert [twin.index(text) for text in order] == sorted(twin.index(text) for text in order)
    assert r"- Ann met **\<script\>alert(1)\</script\>** [◆ ART] in Rome." in twin


def test_sentences_can_be_filtered_by_who_found_them(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline", WEAK), evaluation("focal", {"LOC": 29}))
    form = html[html.index('<form id="filter" hidden') : html.index("</form>")]
    values = re.findall(r'value="(\w*)"', form[form.index('name="kind"') :])
    assert set(values) > {"gained", "lost", "neither", "both", "error", "missed", "spurious"}
    assert {'name="back"', 'name="on"'} <= set(re.findall(r'name="\w+"', form))
    kinds = [attrs["data-k"].split() for _, attrs in Elements(html).found if "data-k" in attrs]
    assert (
        ["correct", "gained"] in kinds and ["missed", "lost"] in kinds and ["correct", "both"] in kinds
    )
    html, _ = page(tmp_path, evaluation("focal", WEAK))
    assert 'value="gained"' not in html and 'id="examples"' not in html


def test_the_page_is_dated_by_its_evaluations(tmp_path):
    stats, paths = write(tmp_path, statistics(), evaluation("focal"))
    os.utime(paths[0], (86400 * 365, 86400 * 365))
    twin = write_report(read_report(stats, paths), tmp_path / "r.html")
    assert "evaluated 1971-01-01" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Evaluated 1971-01-01." in twin.read_text(encoding="utf-8")


def test_markup_in_the_data_stays_text(tmp_path):
    stats, evil = statistics(), '<img src=x onerror="alert(1)">'
    stats["corpus"] = evil
    evaluations = [evaluation("baseline"), evaluation(evil)]
    html, _ = page(tmp_path, *evaluations, stats=stats)
    elements = Elements(html).found
    assert [tag for tag, _ in elements].count("script") == 1  # the page's own
    assert not [tag for tag, _ in elements if tag in ("img", "b")]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert not [attrs for _, attrs in elements if any(key.startswith("on") for key in attrs)]


def test_type_names_are_escaped_in_plots_too(tmp_path):
    def renamed(data):
        return json.loads(json.dumps(data).replace('"ART"', '"<i>$A$</i>"'))

    evaluations = [renamed(evaluation(name)) for name in ("baseline", "focal")]
    html, summary = page(tmp_path, *evaluations, stats=renamed(statistics()))
    assert "<i>" not in html
    assert "&lt;i&gt;$A$&lt;/i&gt; (10)" in html  # the tick label, with its support
    assert summary["rows"][-1]["type"] == "<i>$A$</i>"


def headline(folder, *evaluations, **kwargs):
    report = read_report(*write(folder, statistics(), *evaluations), **kwargs)
    head, findings = verdict(report.comparison)
    return head, " ".join(findings)


def test_verdict_claims_what_the_test_shows(tmp_path):
    head, numbers = headline(tmp_path, evaluation("baseline", WEAK), evaluation("focal"))
    assert head == (
        "focal as trained here (1 seed) is better than baseline on macro F1, tail F1 and micro F1."
    )
    assert "about the models trained here, not the method" in numbers
    assert "improves F1 of ART" in numbers
    assert "F1 of PER" not in numbers  # of the types, the rare ones
    assert "paired bootstrap over 30 documents" in numbers


def test_verdict_says_worse_first_and_better_never_alone(tmp_path):
    head, _ = headline(tmp_path, evaluation("baseline"), evaluation("focal", WEAK))
    assert head.endswith("is worse than baseline on macro F1, tail F1 and micro F1.")
    # rare types better, frequent ones worse
    mixed = evaluation("mixed", {"PER": 15})
    head, _ = headline(tmp_path, evaluation("baseline", {"ART": 3}), mixed)
    assert head.startswith("mixed as trained here (1 seed) is better than baseline on ")
    assert "and worse than baseline on micro F1" in head


def test_verdict_of_equal_models_claims_nothing(tmp_path):
    head, numbers = headline(tmp_path, evaluation("baseline", WEAK), evaluation("focal", WEAK))
    assert head == "No difference between focal as trained here (1 seed) and baseline is shown."
    assert "improves" not in numbers
    assert "unchanged" not in numbers


def test_claims_on_types_are_corrected_for_their_number(tmp_path):
    old = evaluation("baseline", {"PER": 26, "LOC": 26, "ART": 18})
    found = read_report(*write(tmp_path, statistics(), old, evaluation("focal")))
    rows = {row.label: row.verdict for row in found.comparison.rows}
    raw = [verdict.p for verdict in rows.values()]
    assert [verdict.adjusted for verdict in rows.values()] == pytest.approx(holm(raw))
    assert max(raw) <= 0.05  # enough for one type, not for three
    assert {own.outcome for own in rows.values()} == {"no difference shown"}
    shown = {row.type: row for row in summarize(found).rows}
    assert shown["LOC"].p == rows["LOC"].adjusted > rows["LOC"].p


def test_one_mention_more_is_no_difference(tmp_path):
    one = evaluation("focal", {"ART": 7})
    html, summary = page(tmp_path, evaluation("baseline", {"ART": 6}), one)
    (art,) = [row for row in summary["rows"] if row["type"] == "ART"]
    assert art["ours"] > art["baseline"]
    assert art["outcome"] == "no difference shown"
    assert "No difference between focal as trained here (1 seed) and baseline is shown." in html


def test_page_warns_of_few_mentions_and_seeds(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    assert "One seed of focal, on one split" in plain(html)
    assert "moves its recall by 10.0 points" in plain(html)
    assert "Rare: ART (the tail that was declared)." in plain(html)


def test_summary_holds_the_inputs_numbers(tmp_path):
    old, new = evaluation("baseline", WEAK), evaluation("focal", {"ART": 27, "PER": 29}, spurious=3)
    _, summary = page(tmp_path, old, new)
    supports = [("PER", 60), ("LOC", 30), ("ART", 10)]
    assert [(r["type"], r["support"]) for r in summary["rows"]] == supports
    for row in summary["rows"]:
        for side, data in (("baseline", old), ("ours", new)):
            assert row[side] == data["scores"]["ents_per_type"][row["type"]]["f"]
    assert [r["rare"] for r in summary["rows"]] == [False, False, True]
    for kind, key in KEYS.items():
        found = summary["averages"][kind]
        assert found["baseline"] == old["scores"][key]
        assert found["ours"] == new["scores"][key]
        assert found["interval"][0] <= found["ours"] <= found["interval"][1]


def test_no_draw_changes_a_score_and_that_is_no_certainty(tmp_path):
    html, summary = page(tmp_path, evaluation("focal", {"ART": 0, "LOC": 20}))
    rows = {row["type"]: row for row in summary["rows"]}
    assert rows["ART"]["ours"] == 0.0
    assert rows["ART"]["interval"] is None
    assert rows["PER"]["interval"] is None  # all found
    assert rows["LOC"]["interval"] is not None
    assert "0.0 to 0.0" not in plain(html)


def test_summary_table_has_a_row_per_type(tmp_path):
    _, summary = page(tmp_path, evaluation("baseline", WEAK), evaluation("focal"))
    lines = summary_table(Summary.model_validate(summary, strict=False)).strip().splitlines()
    assert [line.split()[0] for line in lines[2:9]] == [*LABELS, "macro", "micro", "weighted", "tail"]
    cells = lines[4].split()
    assert cells[:6] == ["ART", "*", "10", "33.3", "100.0", "–"]  # all found: no interval
    assert "+66.7" in cells
    assert lines[10] == summary["sentence"]
    assert lines[11].startswith("focal as trained here (1 seed) is better than baseline")
    assert lines[-2].startswith("- Test: paired bootstrap")


def test_the_page_says_how_much_went_to_a_secondary(tmp_path):
    counts = {"sentences": 2000, "flagged": 57, "words": 1200, "calls": 58, "entities": 9}
    used = {**counts, "refused": 0, "failures": 3, "seconds": 1.5}
    own = {**evaluation("focal"), "secondaries": {"rescue": used}}
    report = read_report(*write(tmp_path, statistics(), evaluation("baseline"), own))
    write_report(report, tmp_path / "out" / "report.html")
    for text in (p.read_text(encoding="utf-8") for p in (tmp_path / "out").glob("report.*")):
        if "Macro" in text:
            assert "focal, rescue: 2.9 % of the sentences went to the secondary" in text
            assert "it failed on 3" in text


def test_one_model_is_described_alone(tmp_path):
    html, summary = page(tmp_path, evaluation("focal", WEAK))
    assert summary["baseline"] is None
    assert "focal alone" in html
    assert "against" not in html.split("<main")[0]
    assert "95 % interval" in html
    lines = summary_table(Summary.model_validate(summary, strict=False)).strip().splitlines()
    assert "Difference" not in lines[0]


def test_runs_of_one_name_are_one_model_over_seeds(tmp_path):
    finds = [{"ART": n} for n in (3, 9, 15)]
    runs = [evaluation("focal", f, seed=seed) for seed, f in enumerate(finds)]
    runs += [evaluation("baseline", {"ART": 3}, seed=seed) for seed in range(3)]
    html, summary = page(tmp_path, *runs)
    assert summary["seeds"] == {"focal": [0, 1, 2], "baseline": [0, 1, 2]}
    (art,) = [row for row in summary["rows"] if row["type"] == "ART"]
    expected = [2 * n / (n + 10) for n in (1, 3, 5)]
    assert art["ours"] == pytest.approx(sum(expected) / 3)
    assert "3 seeds of focal" in plain(html)
    with pytest.raises(ValueError, match=r"L412.*'focal' with seed 1"):
        page(tmp_path, *runs, evaluation("focal", seed=1))


def test_many_models_are_corrected_for(tmp_path):
    others = [evaluation(f"m{i}", {"ART": 30 - i}, dev=0.1 * i) for i in range(4)]
    report = read_report(*write(tmp_path, statistics(), evaluation("baseline", WEAK), *others))
    assert {len(report.verdicts), len(report.systems) - 1} == {4}
    assert report.comparison.ours == "m3"  # best on dev, before anyone looked at test: one comparison
    for name, verdicts in report.verdicts.items():
        own = verdicts["macro F1"]
        assert own.adjusted == own.p if name == "m3" else own.adjusted > own.p
    named = read_report(*write(tmp_path, statistics(), evaluation("baseline", WEAK), *others), ours="m0")
    own = named.verdicts["m0"]["macro F1"]
    assert own.adjusted > own.p
    assert named.comparison.averages["macro"].verdict == own  # the headline and the table agree


def test_a_comparison_is_on_the_seeds_of_both(tmp_path):
    ours = [evaluation("focal", {"ART": 30 if s else 3}, seed=s) for s in range(7)]
    html, summary = page(tmp_path, evaluation("baseline", {"ART": 3}, seed=0), *ours)
    (art,) = [row for row in summary["rows"] if row["type"] == "ART"]
    assert art["baseline"] == art["ours"]
    assert summary["seeds"]["focal"] == list(range(7))
    assert "One seed of focal" in plain(html)
    assert "With fewer than 6 seeds" in plain(html)


def test_other_seeds_are_not_paired(tmp_path):
    runs = [evaluation("baseline", {"ART": 3 * (s % 3)}, seed=s) for s in range(6)]
    runs += [evaluation("focal", {"ART": 30 - 3 * (s % 2)}, seed=10 + s) for s in range(6)]
    _, summary = page(tmp_path, *runs)
    assert summary["averages"]["macro"]["test"].startswith("paired bootstrap")
    assert {row["test"] for row in summary["rows"]} == {"paired bootstrap over 30 documents"}
    for run in runs[6:]:
        run["training"]["seed"] -= 10
    _, summary = page(tmp_path, *runs)
    test = "paired bootstrap over 30 documents, and paired permutation test over 6 seeds"
    assert summary["averages"]["macro"]["test"] == test
    assert summary["verdict"].startswith("focal is better than baseline")  # of the method


def test_seeds_are_paired_not_files(tmp_path):
    runs = [evaluation("baseline", {"ART": 3 * s}, seed=s) for s in range(6)]
    runs += [evaluation("focal", {"ART": 3 * s + 6}, seed=s) for s in range(6)]
    (_, one), (_, two) = (page(tmp_path, *runs[:6], *own) for own in (runs[6:], runs[:5:-1]))
    assert one["rows"] == two["rows"]
    assert one["averages"]["tail"]["p"] == pytest.approx(2**-5)  # ahead with each seed


def test_a_type_may_be_called_as_an_average(tmp_path):
    def renamed(data):
        return json.loads(json.dumps(data).replace('"ART"', '"macro"'))

    runs = [renamed(evaluation("baseline", WEAK)), renamed(evaluation("focal"))]
    _, summary = page(tmp_path, *runs, stats=renamed(statistics()))
    (row,) = [row for row in summary["rows"] if row["type"] == "macro"]
    assert row["baseline"] == runs[0]["scores"]["ents_per_type"]["macro"]["f"]
    assert (
        summary["averages"]["macro"]["baseline"] == runs[0]["scores"]["ents_macro_f"] != row["baseline"]
    )


def test_differences_are_coloured_where_they_are_shown(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline", {"ART": 6}), evaluation("focal", {"ART": 9}))
    assert 'class="up"' not in html
    html, _ = page(tmp_path, evaluation("baseline", WEAK), evaluation("focal"))
    assert 'class="up"' in html


def test_a_report_overwrites_no_file_of_others(tmp_path):
    report = read_report(*write(tmp_path, statistics(), evaluation("focal")))
    (tmp_path / "index.md").write_text("mine")
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "mine.html").write_text("mine")
    for name, code in (
        ("report.md", "L415"),
        ("report", "L415"),
        ("index.html", "L437.*index.md"),
        ("mine.html", "L437.*mine.html"),
        ("folder.html", "L436.*it is a folder"),
    ):
        with pytest.raises(ValueError, match=code):
            write_report(report, tmp_path / name)
    assert (tmp_path / "mine.html").read_text() == "mine"
    assert (tmp_path / "index.md").read_text() == "mine"
    assert not (tmp_path / "index.html").exists()
    for _ in range(2):  # its own it does
        write_report(report, tmp_path / "report.html")


def test_ours_is_chosen_on_dev_never_on_test(tmp_path):
    better_on_test = evaluation("test_winner", dev=0.5)
    better_on_dev = evaluation("dev_winner", WEAK, dev=0.6)
    best = evaluation("baseline", WEAK, dev=0.9)  # never chosen against itself
    html, summary = page(tmp_path, better_on_test, best, better_on_dev)
    assert summary["ours"] == "dev_winner"
    assert "best macro F1 on the development part among the 2 models" in plain(html)
    html, summary = page(tmp_path, better_on_test, best, better_on_dev, ours="test_winner")
    assert summary["ours"] == "test_winner"
    assert "no score chose it" in html
    assert "best macro F1" not in html


def test_choosing_needs_a_dev_score_and_a_second_model(tmp_path):
    without = [{**evaluation(name), "performance": {}} for name in ("baseline", "focal", "mom")]
    stats, paths = write(tmp_path, statistics(), *without)
    systems = group(read_runs(paths, read_statistics(stats)))
    assert choose(systems, "baseline", "focal").ours.name == "focal"
    with pytest.raises(ValueError, match="L413"):
        choose(systems)
    for baseline, ours in (("nobody", None), ("baseline", "nobody"), ("baseline", "baseline")):
        with pytest.raises(ValueError, match="L410"):
            choose(systems, baseline, ours)
    assert not choose(systems[:2]).by_dev  # the only one beside the baseline
    assert choose(systems[1:2]).baseline is None
    with pytest.raises(ValueError, match="L410"):
        choose(systems[1:2], baseline="nobody")
    with pytest.raises(ValueError, match=r"L410.*--baseline"):
        choose(systems[1:])


def test_learning_curves_take_the_best_models(tmp_path):
    def curve(*scores):
        return [{"step": 10 * i, "ents_macro_f": score} for i, score in enumerate(scores)]

    runs = [evaluation("baseline", seed=s, curve=curve(0.0, 0.1 * s)) for s in (1, 2)]
    runs += [evaluation(f"m{i}", dev=0.1 * i, curve=curve(0.1, 0.2)) for i in range(8)]
    stats, paths = write(tmp_path, statistics(), *runs, evaluation("short", dev=0.9, curve=curve(0.1)))
    report = read_report(stats, paths)
    lines = curve_lines(report.choice, report.systems)
    assert [line.name for line in lines] == ["baseline", "m7", "m6", "m5"]  # a point is not a line
    assert lines[0].x == [0, 10]
    assert lines[0].values == [[0.0, 0.0], [0.1, 0.2]]


def test_markdown_twin_has_the_tables_and_no_markup(tmp_path):
    name = "a|b_c`<i>"
    report = read_report(*write(tmp_path, statistics(), evaluation("baseline", WEAK), evaluation(name)))
    twin = write_report(report, tmp_path / "r.html")
    text = twin.read_text(encoding="utf-8")
    assert twin == tmp_path / "r.md"
    assert r"a\|b\_c\`\<i\>" in text
    rows = [line for line in text.splitlines() if line.startswith("| ART")]
    assert len(rows) == 1
    columns = {line.count(" | ") for line in text.splitlines() if line.startswith(("| ART", "| PER"))}
    assert len(columns) == 1


def test_card_of_the_pipeline_that_was_evaluated(tmp_path):
    model = tmp_path / "model-best"
    model.mkdir()
    performance = {"ents_macro_f": 0.4, "ents_f": 0.5}
    sources = ["raw text", {"name": "A_B", "url": "https://a.b", "author": "C", "license": "CC BY 4.0"}]
    about = {"lang": "en", "name": "x", "performance": performance, "sources": sources}
    (model / "meta.json").write_text(json.dumps(about))
    method = {"reader": {}, "pipes": {"ner": {"factory": "longtail_ner", "thresholds": {"ART": 0.25}}}}
    method["pipes"]["ner"]["calibrated"] = True
    ours = {**evaluation("focal", WEAK, method=method), "model": str(model), "performance": performance}
    stats, paths = write(
        tmp_path, statistics(), evaluation("baseline"), ours, evaluation("focal", seed=8)
    )
    path = write_card(stats, paths, model)
    text = path.read_text(encoding="utf-8")
    meta = json.loads((model / "meta.json").read_text())
    assert path == model / "README.md"
    assert meta["performance"] == performance
    found = meta["spacy_longtail"]
    assert found["per_type"]["ART"]["test"] == 10
    f1 = ours["scores"]["ents_per_type"]["ART"]["f"]
    assert found["per_type"]["ART"]["f"] == pytest.approx(f1)  # JSON keeps ten digits
    low, high = found["per_type"]["ART"]["interval"]
    assert low <= found["per_type"]["ART"]["f"] <= high
    assert found["thresholds"] == {"ner": {"ART": 0.25}}
    assert "ART: 10 test mentions, so its score is rough" in text
    assert "Thresholds of ner: ART 0.250" in text
    assert "one of 2 seeds" in text
    assert "not calibrated" not in text
    assert r"Also learnt from: raw text, [A\_B](https://a.b) (CC BY 4.0)." in text
    assert "private" not in text
    # trained again since
    (model / "meta.json").write_text(json.dumps({**meta, "performance": {"ents_macro_f": 0.5}}))
    with pytest.raises(ValueError, match="L416"):
        write_card(stats, paths, model)


def test_card_needs_an_evaluation_and_a_pipeline(tmp_path):
    stats, paths = write(tmp_path, statistics(), evaluation("focal"))
    with pytest.raises(ValueError, match="L402"):
        write_card(stats, paths, tmp_path / "none")
    (tmp_path / "meta.json").write_text("{}")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match="L414"):
        write_card(stats, paths, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("drop", [True, False])
def test_type_without_test_mention(tmp_path, drop):
    evaluations = [evaluation("baseline"), evaluation("focal")]
    for data in evaluations:
        for document in data["documents"]:
            for side in ("gold", "predicted"):
                document[side] = [span for span in document[side] if span[2] != "ART"]
        data["scores"] = scores_of(data)
        if drop:
            del data["scores"]["ents_per_type"]["ART"]
    html, summary = page(tmp_path, *evaluations)
    row = summary["rows"][-1]
    assert (row["type"], row["support"], row["baseline"], row["ours"]) == ("ART", 0, 0.0, 0.0)
    assert row["outcome"] == "no difference shown"
    assert html.count("no test mention, F1 counts as 0") == 1
    assert "moves its recall" not in html


def test_corpus_of_one_type_and_no_rare_one(tmp_path):
    stats, evaluations = statistics(), [evaluation("baseline"), evaluation("focal")]
    for data in (stats, *evaluations):
        data["labels"], data["tail"] = ["PER"], []
    html, summary = page(tmp_path, *evaluations, stats=stats)
    assert len(summary["rows"]) == 1
    assert summary["averages"]["tail"]["ours"] is None
    assert "tail F1" not in plain(html).split("Models")[0].replace("tail F1 the rare types", "")


def _lack(data, *keys):
    data = copy.deepcopy(data)
    inner = data
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    return data


BAD_EVALUATIONS = [
    (_lack(evaluation("focal"), "scores"), "L405.*lacks 'scores'"),
    (_lack(evaluation("focal"), "scores", "ents_macro_f"), "L405.*ents_macro_f"),
    (_lack(evaluation("focal"), "scores", "ents_per_type", "ART", "p"), "L405.*'ART' lacks 'p'"),
    (_lack(evaluation("focal"), "documents", 0, "gold"), "L405.*lacks 'gold'"),
    ({**evaluation("focal"), "words_per_second": "fast"}, "L405.*not a number"),
    ({**evaluation("focal"), "labels": ["PER"]}, "L411.*labels"),
    ({**evaluation("focal"), "tail": ["LOC"]}, "L411.*tail"),
    ({**evaluation("focal"), "documents": []}, "L405.*no annotated document"),
    (evaluation("focal", n_documents=29), "L411.*documents"),
    (evaluation("baseline"), "L412"),
    ({**evaluation("focal"), "curve": [{"ents_macro_f": 0.1}]}, "L405.*'step'"),
    ({**evaluation("focal"), "run": []}, "L405.*'run'"),
    ({**evaluation("focal"), "analysis": {"matching": {}}}, "L405.*'analysis' lacks"),
    ({**evaluation("focal"), "training": {"seed": [1]}}, "L405.*'seed'"),
    ({**evaluation("focal"), "performance": {"ents_macro_f": float("nan")}}, "L405.*not a number"),
    ({**evaluation("focal", WEAK), "scores": evaluation("focal")["scores"]}, "L405.*documents give F1"),
    ([], "L405"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_EVALUATIONS)
def test_bad_evaluation_leaves_no_file(tmp_path, bad, message):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), bad)
    with pytest.raises(ValueError, match=message):
        write_report(read_report(stats, paths), tmp_path / "out" / "report.html")
    assert not (tmp_path / "out").exists()


def test_evaluations_of_other_parts_are_left_out(tmp_path):
    """After `evaluate` on dev and on test into one folder."""
    dev = {**evaluation("focal", WEAK), "part": "dev"}
    own = (evaluation("baseline"), dev, {**evaluation("focal"), "part": "test"})
    with pytest.warns(UserWarning, match=r"LW108.*'test'.*: 2\.json\.$"):
        _, both = page(tmp_path, *own)
    assert both["seeds"] == {"baseline": [7], "focal": [7]}
    _, test = page(tmp_path, own[0], own[2])
    assert both == test
    with pytest.raises(ValueError, match=r"L411.*part 'dev'"):
        page(tmp_path, dev)


@pytest.mark.parametrize("keys", [("labels",), ("parts", "dev"), ("parts", "test", "types", "ART")])
def test_bad_statistics_are_refused(tmp_path, keys):
    path, _ = write(tmp_path, _lack(statistics(), *keys))
    with pytest.raises(ValueError, match=r"L405.*stats"):
        read_statistics(path)


@pytest.mark.parametrize("text", [None, "{", ""])
def test_missing_file_and_no_json(tmp_path, text):
    stats, _ = write(tmp_path, statistics())
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"L405.*bad\.json"):
        read_runs([path], read_statistics(stats))


def test_failed_write_keeps_the_old_page(tmp_path, monkeypatch):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), evaluation("focal"))
    target = tmp_path / "report.html"
    old = f"old. {SIGNATURE}"
    target.write_text(old)
    before = sorted(tmp_path.iterdir())
    report = read_report(stats, paths)

    def fail(here, there):
        raise OSError("disk full")

    monkeypatch.setattr("spacy_longtail.output.writing.os.replace", fail)
    with pytest.raises(ValueError, match=r"L432.*disk full"):
        write_report(report, target)
    assert target.read_text() == old
    assert sorted(tmp_path.iterdir()) == before


def test_same_inputs_same_page_without_private_folders(tmp_path):
    first, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    second, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    assert first == second
    assert "focal/model-best" in first
    assert "private" not in first


def document(gold, predicted, text="0123456789 abcdefghi.", sentences=((0, 10), (11, 21))):
    return {
        "text": text,
        "sentences": [list(s) for s in sentences],
        "gold": gold,
        "predicted": predicted,
    }


@pytest.mark.parametrize(
    ("gold", "predicted", "kinds"),
    [
        ([[1, 3, "A"]], [[1, 3, "A", 0.5]], ("correct",)),
        ([[1, 3, "A"]], [], ("missed",)),
        ([], [[1, 3, "A", None]], ("spurious",)),
        ([[1, 3, "A"]], [[1, 3, "B", None]], ("type",)),
        ([[1, 3, "A"]], [[2, 5, "A", None]], ("boundary",)),
        ([[1, 3, "A"]], [[2, 5, "B", None]], ("type", "boundary")),
    ],
)
def test_kinds_of_marks_keep_the_text(gold, predicted, kinds):
    marked = mark_documents(documents_of([document(gold, predicted)]), tail=["A", "B"])
    (sentence,) = marked.sentences
    assert [m.kinds for m in sentence.marks if m.kinds] == [kinds]
    assert "".join(s.text for m in sentence.marks for s in m.segments) == "0123456789"
    assert marked.kinds == dict.fromkeys(kinds, 1)


def test_entity_across_a_sentence_end_joins_the_sentences():
    marked = mark_documents(documents_of([document([[1, 3, "A"]], [[8, 13, "A", None]])]), tail=["A"])
    (sentence,) = marked.sentences
    assert "".join(s.text for m in sentence.marks for s in m.segments) == "0123456789 abcdefghi."


def test_the_worst_sentences_come_first_and_the_rest_is_counted():
    fine = document([[1, 3, "A"]], [[1, 3, "A", None]])
    error = document([[1, 3, "A"]], [])
    rare = document([[1, 3, "R"]], [[1, 3, "R", None]])
    marked = mark_documents(documents_of([fine, error, error, rare]), tail=["R"], limit=2)
    assert [s.rare for s in marked.sentences] == [True, False]
    assert marked.n_left_out == 1
    assert marked.kinds == {"correct": 2, "missed": 2}


def test_missing_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), evaluation("focal"))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"L406.*matplotlib.*\[report\]"):
        write_report(read_report(stats, paths), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_learning_curve_stops_where_its_first_seed_does(tmp_path):
    def curve(n, first):
        return [{"step": 100 * i, "ents_macro_f": first + 0.02 * i} for i in range(n)]

    runs = [
        evaluation("focal", seed=0, curve=curve(3, 0.6)),
        evaluation("focal", seed=1, curve=curve(9, 0.2)),
    ]
    runs += [evaluation("half", seed=s, dev=0.3, curve=curve(3 * s, 0.1)) for s in (0, 1)]
    report = read_report(*write(tmp_path, statistics(), evaluation("baseline"), *runs), ours="focal")
    (line,) = curve_lines(report.choice, report.systems)  # a seed of half has no log
    assert line.x == [0, 100, 200]
    assert [len(values) for values in line.values] == [2, 2, 2]
    write_report(report, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "as far as all of its seeds got" in plain(html)


def test_each_sentence_has_its_own_entities():
    gold = [[0, 3, "A"], [11, 14, "A"], [18, 24, "A"], [31, 34, "A"]]  # the third crosses an end
    text = "Ann met you Bob met us all of it Eve."
    sentences = [(0, 10), (11, 20), (20, 30), (31, 37)]
    marked = mark_documents(documents_of([document(gold, [], text, sentences)]), tail=["A"])
    found = {
        "".join(s.text for m in sentence.marks for s in m.segments) for sentence in marked.sentences
    }
    assert found == {text[0:10], text[11:30], text[31:37]}
    assert marked.kinds == {"missed": 4}


def test_sentences_without_an_error_can_be_left_out():
    rare = document([[1, 3, "R"]], [[1, 3, "R", None]])
    error = document([[1, 3, "A"]], [])
    both = mark_documents(documents_of([rare, rare, error]), tail=["R"], limit=2)
    assert [sentence.is_wrong for sentence in both.sentences] == [False, False]
    errors = mark_documents(
        documents_of([rare, rare, error, error]), tail=["R"], limit=1, errors_only=True
    )
    assert [sentence.is_wrong for sentence in errors.sentences] == [True]
    assert errors.n_left_out == 1
    assert errors.kinds == {"correct": 2, "missed": 2}


def move(label, rare, f, support=5):
    side = Pair(0.2, 0.2 + f)
    return TypeRow(label, support, rare, side, side, side)


def test_of_many_types_the_rare_and_those_that_move_are_named():
    rows = [move(f"type-{i:02d}", i < 4, 0.01 * i) for i in range(60)]
    named = set(re.findall(r">(type-\d\d)<", pr_moves(rows, "baseline", "focal")))
    assert named == {f"type-{i:02d}" for i in (*range(4), *range(44, 60))}
    named = set(re.findall(r">(type-\d\d)<", pr_moves(rows[:20], "baseline", "focal")))
    assert len(named) == 20


def test_marks_and_pairs_are_not_counted_under_one_name(tmp_path):
    html, _ = page(tmp_path, evaluation("focal", {"ART": 6}))
    legend = plain(html[html.index('class="legend"') : html.index('id="filter"')])
    assert "8 missed: gold only" in legend
    assert "counts are of groups of overlapping entities" in legend
    html, _ = page(tmp_path, {**evaluation("focal", {"ART": 6}), "analysis": analysis()})
    legend = plain(html[html.index('class="legend"') : html.index('id="filter"')])
    assert not re.search(r"\d (missed|correct|spurious)", legend)
    assert "missed: gold only" in legend
    assert "counted under kinds of error" in legend
    assert "not paired with any gold mention" in plain(html)


def analysis():
    """As `analyse` gives it, of a document with two spurious mentions on one gold mention."""
    nlp = spacy.blank("en")
    gold, predicted = (Doc(nlp.vocab, words=["a", "b", "c"]) for _ in range(2))
    gold.ents = [Span(gold, 0, 3, "ART")]
    predicted.ents = [Span(predicted, i, i + 1, "ART") for i in range(3)]
    seen = TrainingMentions(dict.fromkeys(LABELS, 5), frozenset())
    return analyse([Example(predicted, gold)], seen, LABELS, TAIL).as_json()


def test_a_card_goes_into_a_copy_where_one_is_named(tmp_path):
    model, copy_ = tmp_path / "model", tmp_path / "copy"
    meta = json.dumps({"lang": "en", "name": "x", "performance": {"ents_macro_f": 0.4}})
    for folder, text in ((model, meta), (copy_, meta.replace('"x"', '"packaged"'))):
        folder.mkdir()
        (folder / "meta.json").write_text(text)
    stats, paths = write(tmp_path, statistics(), {**evaluation("focal"), "model": str(model)})
    assert write_card(stats, paths, model, copy_) == copy_ / "README.md"
    assert "en_packaged" in (copy_ / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in model.iterdir()] == ["meta.json"]
    assert json.loads((model / "meta.json").read_text()) == json.loads(meta)


def test_the_twin_shows_errors_and_whole_commands(tmp_path):
    run = {"command": "python -m x --a 'b|c`d'", "seconds": 1.0}
    report = read_report(*write(tmp_path, statistics(), evaluation("focal", run=run)))
    text = write_report(report, tmp_path / "r.html").read_text(encoding="utf-8")
    assert r"`` python -m x --a 'b\|c`d' ``" in text
    assert "None." in text  # rare types that are right are no errors
    report = read_report(*write(tmp_path, statistics(), evaluation("focal", {"ART": 29})))
    text = write_report(report, tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.count("ART missed") == 0  # of thirty documents the last has no ART
    report = read_report(*write(tmp_path, statistics(), evaluation("focal", {"ART": 27})))
    text = write_report(report, tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.count("ART missed") == 1
