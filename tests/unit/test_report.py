"""The report's page: what it says, what it must not say, and what it must not do."""

import copy
import json
import re
from html.parser import HTMLParser

import pytest

from spacy_longtail.experiments.comparison import Comparison, Pair, choose, verdict
from spacy_longtail.experiments.marks import mark_documents
from spacy_longtail.experiments.report import summary_table, write_report
from spacy_longtail.experiments.report_inputs import read_evaluations, read_statistics

pytest.importorskip("matplotlib")

LABELS, TAIL = ["PER", "LOC", "ART"], ["ART"]
TEXT = "Ann met <script>alert(1)</script> in Rome. Nothing here."
EVIL = [8, 33]  # the bounds of the markup in TEXT


def statistics():
    counts = {"mentions": 20, "tokens": 30, "sentences": 15, "rareness": 4.5}
    part = {"documents": 2, "sentences": 40, "tokens": 500, "types": dict.fromkeys(LABELS, counts)}
    return {
        "corpus": "toy",
        "labels": LABELS,
        "tail": TAIL,
        "parts": {"train": part, "dev": part, "test": part},
        "policies": {"sC": {"sentences": 2.0, "tokens": 2.5}},
        "unseen": {"PER": 0.5, "LOC": 0.25, "ART": None},
    }


def evaluation(name, f=(0.5, 0.6, 0.1), dev=0.4, shift=0.0):
    supports = (40, 20, 3)
    per_type = {
        t: {"p": v, "r": v, "f": v, "support": n} for t, v, n in zip(LABELS, f, supports, strict=True)
    }
    document = {
        "title": "A <b>title</b>",
        "text": TEXT,
        "sentences": [[0, 42], [43, 56]],
        "gold": [[0, 3, "PER"], [*EVIL, "ART"], [37, 41, "LOC"]],
        "predicted": [[0, 3, "PER", 0.875], [*EVIL, "LOC", None]],
    }
    scores = {"ents_f": 0.55 + shift, "ents_macro_f": 0.4 + shift, "ents_weighted_f": 0.5 + shift}
    return {
        "name": name,
        "model": f"/home/someone/private/{name}/model-best",
        "data": "corpus/toy/test.spacy",
        "labels": LABELS,
        "tail": TAIL,
        "training": {"seed": 7, "max_steps": 1234},
        "performance": {"ents_macro_f": dev},
        "scores": {**scores, "ents_tail_f": 0.1 + shift, "ents_per_type": per_type},
        "words_per_second": 4321.0,
        "documents": [document],
    }


def write(folder, stats, *evaluations):
    paths = []
    for i, data in enumerate((stats, *evaluations)):
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(json.dumps(data), encoding="utf-8")
    return paths[0], paths[1:]


def page(folder, *evaluations, stats=None, **kwargs):
    first, rest = write(folder, stats or statistics(), *evaluations)
    summary = write_report(first, rest, folder / "out" / "report.html", **kwargs)
    return (folder / "out" / "report.html").read_text(encoding="utf-8"), summary


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
    assert len(plots) == 3
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in plots)


def test_plots_take_the_colours_of_the_page(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    for plot in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL):
        assert "currentColor" in plot
        assert not re.search(r"#[0-9a-f]{6}\b", plot)


def test_headings_are_in_order_and_tables_described(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal"))
    tags = [tag for tag, _ in Elements(html).found]
    assert [t for t in tags if re.fullmatch("h[1-6]", t)] == ["h1"] + ["h2"] * 6
    assert tags.count("caption") == tags.count("table") == 7
    assert all("scope" in attrs for tag, attrs in Elements(html).found if tag == "th")


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
    assert "&lt;i&gt;$A$&lt;/i&gt; (3)" in html  # the tick label, with its support
    assert summary["rows"][-1]["type"] == "<i>$A$</i>"


@pytest.mark.parametrize(
    ("shifts", "expected"),
    [
        ((0.02, 0.05, 0.01), "ours is better than base on macro, tail and micro F1."),
        ((-0.02, -0.05, -0.01), "ours is not better than base."),
        ((-0.02, 0.0, 0.0), "ours is not better than base."),
        ((0.0, 0.0, 0.0), "ours and base score the same."),
        ((0.0004, -0.0004, 0.0), "ours and base score the same."),
        ((0.02, 0.05, -0.01), "ours is better than base on macro and tail F1, but not on micro F1."),
        ((-0.02, 0.05, -0.01), "ours is not better than base on macro and micro F1, only on tail F1."),
    ],
)
def test_verdict_follows_the_numbers(shifts, expected):
    averages = {kind: Pair(0.5, 0.5 + d) for kind, d in zip(("macro", "tail", "micro"), shifts)}
    assert verdict(Comparison("base", "ours", True, [], averages))[0] == expected


def test_verdict_gives_absolute_differences(tmp_path):
    html, _ = page(tmp_path, evaluation("baseline"), evaluation("focal", shift=-0.03))
    assert "focal is not better than baseline." in html
    assert "macro F1 37.0 against 40.0 (−3.0)" in html
    assert "tail F1 7.0 against 10.0 (−3.0)" in html
    assert "one seed on one split" in html
    assert "moves its recall by 33.3 points" in plain(html)


def test_summary_holds_the_inputs_numbers(tmp_path):
    old, new = evaluation("baseline"), evaluation("focal", f=(0.7, 0.65, 0.35), shift=0.11)
    _, summary = page(tmp_path, old, new)
    assert [(r["type"], r["support"]) for r in summary["rows"]] == [("PER", 40), ("LOC", 20), ("ART", 3)]
    assert [r["baseline"] for r in summary["rows"]] == [0.5, 0.6, 0.1]
    assert [r["ours"] for r in summary["rows"]] == [0.7, 0.65, 0.35]
    assert [r["rare"] for r in summary["rows"]] == [False, False, True]
    keys = {
        "macro": "ents_macro_f",
        "micro": "ents_f",
        "weighted": "ents_weighted_f",
        "tail": "ents_tail_f",
    }
    for kind, key in keys.items():
        expected = {"baseline": old["scores"][key], "ours": new["scores"][key]}
        assert summary["averages"][kind] == expected


def test_summary_table_has_a_row_per_type(tmp_path):
    _, summary = page(tmp_path, evaluation("baseline"), evaluation("focal", f=(0.7, 0.65, 0.35)))
    lines = summary_table(summary).strip().splitlines()
    assert [line.split()[0] for line in lines[2:]] == [*LABELS, "macro", "micro", "weighted", "tail"]
    assert lines[4].split() == ["ART", "*", "3", "10.0", "35.0", "+25.0"]


def test_ours_is_chosen_on_dev_never_on_test(tmp_path):
    better_on_test = evaluation("test_winner", dev=0.5, shift=0.3)
    better_on_dev = evaluation("dev_winner", dev=0.6, shift=-0.3)
    best = evaluation("baseline", dev=0.9)  # never chosen against itself
    html, summary = page(tmp_path, better_on_test, best, better_on_dev)
    assert summary["ours"] == "dev_winner"
    assert "best macro F1 on the development part among the 2 models" in plain(html)
    html, summary = page(tmp_path, better_on_test, best, better_on_dev, ours="test_winner")
    assert summary["ours"] == "test_winner"
    assert "no score chose it" in html
    assert "best macro F1" not in html


def test_choosing_needs_a_dev_score_and_a_second_model():
    found = {name: {"performance": {}} for name in ("baseline", "focal")}
    assert choose(found, "baseline", "focal") == "focal"
    with pytest.raises(ValueError, match="L413"):
        choose(found, "baseline", None)
    for baseline, ours in (("nobody", None), ("baseline", "nobody"), ("baseline", "baseline")):
        with pytest.raises(ValueError, match="L410"):
            choose(found, baseline, ours)
    with pytest.raises(ValueError, match="L410"):
        choose({"baseline": found["baseline"]}, "baseline", None)


@pytest.mark.parametrize("drop", [True, False])
def test_type_without_test_mention(tmp_path, drop):
    evaluations = [evaluation("baseline"), evaluation("focal")]
    for data in evaluations:
        if drop:
            del data["scores"]["ents_per_type"]["ART"]
        else:
            data["scores"]["ents_per_type"]["ART"] = {"p": 0.0, "r": 0.0, "f": 0.0, "support": 0}
    html, summary = page(tmp_path, *evaluations)
    row = summary["rows"][-1]
    assert row == {"type": "ART", "support": 0, "rare": True, "baseline": 0.0, "ours": 0.0}
    assert html.count("no test mention, F1 counts as 0") == 1
    assert "moves its recall" not in html


def test_corpus_of_one_type_and_no_rare_one(tmp_path):
    stats, evaluations = statistics(), [evaluation("baseline"), evaluation("focal")]
    for data in (stats, *evaluations):
        data["labels"], data["tail"] = ["PER"], []
    for data in evaluations:
        data["scores"]["ents_tail_f"] = 0.0
        data["documents"] = []
    html, summary = page(tmp_path, *evaluations, stats=stats)
    assert len(summary["rows"]) == 1
    assert summary["averages"]["tail"] == {"baseline": None, "ours": None}
    assert "tail F1 0.0" not in html


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
    ({**evaluation("focal"), "documents": []}, "L411.*documents"),
    (evaluation("baseline"), "L412"),
    ([], "L405"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_EVALUATIONS)
def test_bad_evaluation_leaves_no_file(tmp_path, bad, message):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), bad)
    with pytest.raises(ValueError, match=message):
        write_report(stats, paths, tmp_path / "out" / "report.html")
    assert not (tmp_path / "out").exists()


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
        read_evaluations([path], read_statistics(stats))


def test_failed_write_keeps_the_old_page(tmp_path, monkeypatch):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), evaluation("focal"))
    target = tmp_path / "report.html"
    target.write_text("old")
    before = sorted(tmp_path.iterdir())

    def fail(self, other):
        raise OSError("disk full")

    monkeypatch.setattr(type(target), "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(stats, paths, target)
    assert target.read_text() == "old"
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
    marked = mark_documents([document(gold, predicted)], tail=["A", "B"])
    (sentence,) = marked.sentences
    assert [m.kinds for m in sentence.marks if m.kinds] == [kinds]
    assert "".join(s.text for m in sentence.marks for s in m.segments) == "0123456789"
    assert marked.kinds == dict.fromkeys(kinds, 1)


def test_entity_across_a_sentence_end_joins_the_sentences():
    marked = mark_documents([document([[1, 3, "A"]], [[8, 13, "A", None]])], tail=["A"])
    (sentence,) = marked.sentences
    assert "".join(s.text for m in sentence.marks for s in m.segments) == "0123456789 abcdefghi."


def test_rare_sentences_come_first_and_the_rest_is_counted():
    fine = document([[1, 3, "A"]], [[1, 3, "A", None]])
    error = document([[1, 3, "A"]], [])
    rare = document([[1, 3, "R"]], [[1, 3, "R", None]])
    marked = mark_documents([fine, error, error, rare], tail=["R"], limit=2)
    assert [s.rare for s in marked.sentences] == [True, False]
    assert marked.n_left_out == 1
    assert marked.kinds == {"correct": 2, "missed": 2}


def test_missing_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    stats, paths = write(tmp_path, statistics(), evaluation("baseline"), evaluation("focal"))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"L406.*matplotlib.*\[report\]"):
        write_report(stats, paths, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
