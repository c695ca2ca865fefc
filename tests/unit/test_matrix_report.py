"""What is said of a plan's trials: recommendations, learning curves, tables and pages."""

import json
import random
import re
import shutil

import pytest
import spacy

from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.statistics import Statistics
from spacy_longtail.scorers import make_ner_scorer
from spacy_longtail.studies.matrix import summarize_trials, summary_tables, write_matrix_report
from spacy_longtail.studies.matrix.advice import (
    Candidate,
    advise,
    choose_candidates,
    find_pretrained,
)
from spacy_longtail.studies.matrix.curves import (
    Gap,
    Point,
    compare_lines,
    crossing,
    gaps,
    read_curves,
)
from spacy_longtail.studies.matrix.recommendation import recommend
from spacy_longtail.studies.trials import plan
from spacy_longtail.studies.trials.needed import settle_steps
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.process import Outcome
from spacy_longtail.studies.trials.run import Matrix, Options
from tests.unit.test_ledger import record_of
from tests.util import (
    corpus_statistics_of,
    evaluation_data,
    examples,
    part_statistics,
    toy_corpus,
    toy_docs,
    type_statistics,
)

LABELS = ["PER", "GEO"]
TYPES = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")


def evaluation(skill, seed=0, n_documents=60):
    """Documents whose mentions are found with probability `skill`; the gold is the same for all."""
    gold, luck = random.Random(1), random.Random(f"{skill}/{seed}")
    documents = []
    for _ in range(n_documents):
        spans = [[i, i + 1, gold.choice(LABELS)] for i in range(3)]
        found = [[*span, None] for span in spans if luck.random() < skill]
        documents.append({"text": "abc", "sentences": [[0, 3]], "gold": spans, "predicted": found})
    return evaluation_data(documents)


def evaluations(folder, skills, seeds=(0, 1)):
    """By method and seed, as files."""
    found = {}
    for name, skill in skills.items():
        for seed in seeds:
            path = folder / f"{name}-{seed}.json"
            path.write_text(json.dumps(evaluation(skill, seed)), encoding="utf8")
            found.setdefault(name, {})[seed] = path
    return found


def test_a_method_that_is_shown_to_be_better_is_recommended(tmp_path):
    found = recommend(evaluations(tmp_path, {"ner": 0.4, "crf": 0.9, "focal": 0.5}), LABELS, "ner")
    assert (found.method, found.best, found.verdict.outcome) == ("crf", "crf", "better")
    assert found.text.startswith("Use crf: as trained here (2 seeds)")
    assert any("improves macro F1 on dev" in line for line in found.evidence)


def test_what_may_be_chance_is_a_guess(tmp_path):
    skills = {"ner": 0.60, "crf": 0.62}
    found = recommend(evaluations(tmp_path, skills), LABELS, "ner")
    assert found.best == "crf"
    assert found.method == "ner"
    assert "best guess is crf" in found.text and "may be chance" in found.text


def test_a_baseline_that_nothing_beats_stays(tmp_path):
    found = recommend(evaluations(tmp_path, {"ner": 0.9, "crf": 0.3}), LABELS, "ner")
    assert (found.method, found.best, found.verdict) == ("ner", "ner", None)


def test_of_equals_the_baseline_stays(tmp_path):
    found = recommend(evaluations(tmp_path, {"crf": 0.0, "ner": 0.0}), LABELS, "ner")
    assert found.best == "ner"


def test_many_methods_are_corrected_for(tmp_path):
    skills = {"ner": 0.5, "crf": 0.62} | {f"m{i}": 0.5 for i in range(9)}
    few = recommend(evaluations(tmp_path, {k: skills[k] for k in ("ner", "crf")}), LABELS, "ner")
    many = recommend(evaluations(tmp_path, skills), LABELS, "ner")
    assert many.verdict.adjusted > few.verdict.adjusted
    assert many.verdict.p == few.verdict.p


def test_methods_are_compared_on_shared_seeds(tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.5, "crf": 0.5}, seeds=(0, 1))
    lucky = tmp_path / "lucky.json"
    lucky.write_text(json.dumps(evaluation(1.0)), encoding="utf8")
    scored["crf"][7] = lucky  # a seed that the baseline has not
    with_both, without = (
        recommend(s, LABELS, "ner") for s in (scored, {**scored, "crf": _but(scored["crf"], 7)})
    )
    assert with_both == without
    alone = {"ner": scored["ner"], "crf": {7: lucky}}
    assert recommend(alone, LABELS, "ner").best == "ner"


def _but(paths, seed):
    return {s: path for s, path in paths.items() if s != seed}


def test_from_six_seeds_on_seeds_have_to_agree(tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.5, "crf": 0.9}, seeds=range(6))
    found = recommend(scored, LABELS, "ner")
    assert found.text.startswith("Use crf: it is better")
    assert "paired t-test" in found.evidence[-1]
    for seed in range(6):  # one lucky training makes all of the mean
        own = evaluation(1.0 if seed == 5 else 0.5, seed)
        scored["crf"][seed].write_text(json.dumps(own), encoding="utf8")
    lucky = recommend(scored, LABELS, "ner")
    assert lucky.verdict.outcome == "better"  # over documents, which know nothing of seeds
    assert lucky.method == "ner"


RISING = [{"step": 10 * i, "ents_macro_f": 0.1 * i} for i in range(4)]
ENDED = [{"step": 10 * i, "ents_macro_f": 0.3 - 0.1 * i} for i in range(4)]
NOTHING = [{"step": 10, "ents_macro_f": 0.0}]


@pytest.mark.parametrize(
    ("curves", "why"),
    [
        ({"ner": NOTHING, "crf": ENDED}, "ner has found nothing yet. It takes 10 steps more"),
        ({"ner": ENDED, "crf": RISING}, "crf still rose by 100.0 points in 100 steps"),
        ({"ner": RISING, "crf": RISING, "focal": ENDED}, "ner still .*, crf still .*50 in all"),
    ],
)
def test_no_verdict_while_a_curve_is_rising(curves, why, tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.4, "crf": 0.9, "focal": 0.5})
    for name, curve in curves.items():
        for path in scored[name].values():
            path.write_text(json.dumps({**json.loads(path.read_text()), "curve": curve}))
    found = recommend(scored, LABELS, "ner")
    assert (found.method, found.best, found.verdict, found.is_early) == ("ner", "crf", None, True)
    assert re.search(f"^Not trained long enough: {why}.*best guess is crf", found.text)
    assert not found.evidence


def test_a_method_that_is_neither_best_nor_baseline_may_still_rise(tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.4, "crf": 0.9, "focal": 0.5})
    for path in scored["focal"].values():
        path.write_text(json.dumps({**json.loads(path.read_text()), "curve": RISING}))
    assert recommend(scored, LABELS, "ner").method == "crf"


def test_no_recommendation_without_the_baseline(tmp_path):
    with pytest.raises(ValueError, match="L410"):
        recommend(evaluations(tmp_path, {"crf": 0.5}), LABELS, "ner")


def points(*rows):
    return [Point(x, dict(enumerate(scores))) for x, scores in rows]


def test_gaps_are_over_partitions_that_both_have():
    own = [Point(20, {0: 0.5, 1: 0.7, 2: 0.9}), Point(50, {0: 0.5})]
    other = [Point(20, {1: 0.6, 2: 0.6}), Point(100, {0: 0.1})]
    (only,) = gaps(own, other)
    assert (only.x, only.n, only.p) == (20, 2, None)
    assert only.mean == pytest.approx((0.1 + 0.3) / 2)


def test_a_crossing_is_interpolated_along_the_logarithm():
    found = [Gap(10, 0.2, 3, None), Gap(1000, -0.2, 3, None)]
    assert crossing(found) == pytest.approx(100)
    assert crossing([Gap(10, 0.3, 3, None), Gap(1000, -0.1, 3, None)]) == pytest.approx(10**2.5)


@pytest.mark.parametrize("means", [[0.1, 0.2], [-0.1, -0.2], [0.1, -0.1, 0.1], [0.0, 0.1], []])
def test_no_crossing_unless_there_is_one(means):
    assert crossing([Gap(10 * 2**i, mean, 3, None) for i, mean in enumerate(means)]) is None


def test_a_touch_is_no_crossing():
    assert crossing([Gap(10, 0.1, 3, None), Gap(20, 0.0, 3, None), Gap(40, 0.1, 3, None)]) is None


def test_where_a_curve_is_ahead_in_words():
    base = points((20, [0.2] * 3), (500, [0.8] * 3))
    early = compare_lines(
        "AUC-2T", points((20, [0.4] * 3), (500, [0.6] * 3)), "CE", base, "sentences", "macro"
    )
    assert "ahead below about 100 sentences" in early[0]
    assert len(early) == 1
    late = compare_lines(
        "x", points((20, [0.1] * 3), (500, [0.9] * 3)), "CE", base, "sentences", "macro"
    )
    assert "ahead above about 100 sentences" in late[0]
    everywhere = compare_lines(
        "x", points((20, [0.3] * 3), (500, [0.9] * 3)), "CE", base, "sentences", "macro"
    )
    assert "ahead at all sizes" in everywhere[0]
    nowhere = compare_lines(
        "x", points((20, [0.1] * 3), (500, [0.8] * 3)), "CE", base, "sentences", "macro"
    )
    assert "ahead at none" in nowhere[0]
    assert compare_lines("x", points((33, [0.1])), "CE", base, "sentences", "macro") == []


def test_six_partitions_are_tested():
    pytest.importorskip("scipy")
    rng = random.Random(0)
    base = points((20, [0.2 + rng.random() / 100 for _ in range(8)]), (50, [0.5] * 8))
    own = points((20, [s + 0.1 for s in base[0].scores.values()]), (50, [0.49, 0.51] * 4))
    text = compare_lines("x", own, "CE", base, "sentences", "macro")[1]
    assert "shown at 20 (+10.0) sentences" in text
    assert "50" not in text


def drawn(method, seed, f, n=None, share=None, curve=()):
    draw = {"n_sentences": n or 100, "entity_share": share}
    scores = {"ents_macro_f": f, "ents_f": f / 2}
    return record_of(
        "k", method=method, seed=seed, draw=draw, curve=list(curve), dev=scores, test=scores
    )


def test_curves_are_of_sizes_or_of_shares():
    records = [drawn("CE", s, 0.1 * n, n) for s in (0, 1) for n in (3, 2)]
    found = read_curves([*records, drawn("x", 0, 0.5, 2)], "CE", "micro")
    assert found.x_name == "sentences"
    assert [p.x for p in found.lines["CE"]] == [2, 3]
    assert found.lines["CE"][0].mean == pytest.approx(0.1)  # micro is half of macro here
    assert found.lines["CE"][0].spread == pytest.approx(0.0)
    assert found.lines["x"][0].spread is None
    assert sum("fewer than 6 partitions" in text for text in found.findings) == 1
    by_share = read_curves([drawn("CE", 0, 0.3, share=0.05)], "CE")
    assert (by_share.x_name, by_share.lines["CE"][0].x) == ("% entity tokens", 5.0)


def test_sizes_that_were_not_trained_long_enough_are_left_out():
    records = [drawn(name, 0, 0.1, n, curve=ENDED) for name in ("CE", "x") for n in (20, 50)]
    before = read_curves(records, "CE").findings
    assert not any("long enough" in text for text in before)
    records[-1] = drawn("x", 0, 0.9, 50, curve=RISING)
    found = read_curves(records, "CE").findings
    assert "50" not in found[0] and "ahead at none" in found[0]
    assert "x against CE at 50 sentences: not trained long enough. It takes 20 steps more" in found[1]
    baseline = [drawn("CE", 0, 0.1, 20, curve=NOTHING), drawn("x", 0, 0.9, 20, curve=ENDED)]
    assert (
        read_curves(baseline, "CE").findings[0].startswith("x against CE at 20 sentences: not trained")
    )


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny", dev=toy_docs(3), test=toy_docs(4))


class Scored:
    """Runs a trial by writing evaluations in which a method's skill tells how much is found."""

    def __init__(self, skills, seconds=0.01, failing=(), needs=None):
        self.skills, self.seconds, self.failing, self.begun = skills, seconds, failing, []
        self.needs, self.trained = needs or {}, []  # steps of the best checkpoint, by method

    def __call__(self, trial, work, stop):
        name = trial.method.name
        self.begun.append((name, trial.seed))
        if name in self.failing:
            return Outcome("failed", 0.1, "Kaboom")
        luck = random.Random(f"{name}/{trial.seed}")
        skill = self.skills.get(name, 0.5)
        found = {part: judged(skill, luck, times) for part, times in (("dev", 3), ("test", 4))}
        found["test"]["performance"] = {"ents_macro_f": found["dev"]["scores"]["ents_macro_f"]}
        settings = trial.config()["training"]
        own = {key: settings[key] for key in ("max_steps", "patience")}
        steps = min(own["max_steps"], self.needs.get(name, 2) + (own["patience"] or own["max_steps"]))
        curve = [
            {"step": step, "ents_macro_f": step / 1000 if step < self.needs.get(name, 2) else 0.5}
            for step in range(2, steps + 1, 2)
        ]
        self.trained.append((name, trial.seed, steps))
        lines = ({"step": p["step"], "scores": {"ents_macro_f": 100 * p["ents_macro_f"]}} for p in curve)
        (work / "curve.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        for part, result in found.items():
            result |= {"name": name, "part": part, "curve": curve}
            result["training"] = {"seed": trial.seed, **own}
            (work / f"{part}.json").write_text(json.dumps(result), encoding="utf8")
        return Outcome("done", self.seconds, "")


def judged(skill, luck, times):
    """An evaluation of the toy sentences."""
    nlp = spacy.blank("en")
    found = examples(nlp, times)
    documents = []
    for eg in found:
        kept = [ent for ent in eg.reference.ents if luck.random() < skill]
        eg.predicted.set_ents([eg.predicted.char_span(e.start_char, e.end_char, e.label_) for e in kept])
        gold, predicted = (
            [[e.start_char, e.end_char, e.label_, *more] for e in doc.ents]
            for doc, more in ((eg.reference, []), (eg.predicted, [None]))
        )
        text = eg.reference.text
        documents.append(
            {"text": text, "sentences": [[0, len(text)]], "gold": gold, "predicted": predicted}
        )
    return {
        "model": "m",
        "data": "d",
        "labels": TYPES.labels,
        "tail": TYPES.tail,
        "performance": {},
        "scores": make_ner_scorer(TYPES.labels, TYPES.tail)(found),
        "words_per_second": 1.0,
        "documents": documents,
    }


def run(corpus, output, runner, **given):
    given = {"steps": 4, "settings": {"training.eval_frequency": 2}, "corpora": [str(corpus)], **given}
    matrix = Matrix(read_plan("quick", given), output)
    return matrix, matrix.run(Options(), runner=runner)


def assert_tables(text):
    """Whether the rows of each Markdown table follow each other, each with as many cells."""
    tables = [block.splitlines() for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)]
    assert tables and all(re.fullmatch(r"[|: -]+", table[1]) for table in tables)
    assert all(len({row.count("|") for row in table}) == 1 for table in tables)


def test_a_matrix_report_orders_by_dev_and_links_pages(corpus, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    runner = Scored({"ner": 0.2, "crf": 0.95}, failing=("softmax",))
    grids = [{"head": ["ner", "crf", "softmax"]}, {"head": "crf", "reader": "sCR"}]
    matrix, records = run(corpus, tmp_path / "out", runner, seeds=[0, 1], grids=grids)
    summary = summarize_trials(matrix, records)
    (found,) = summary.corpora
    assert found.rows[0].method == "crf" and found.rows[-1].method == "ner"
    assert all(row.n_seeds == 2 for row in found.rows)
    assert found.recommendation.method == "crf"
    assert found.report.choice.ours.name == "crf" and found.report.choice.by_dev
    assert {record.method for record in summary.failed} == {"softmax"}
    shown = [r.dev["ents_macro_f"] for r in records.values() if r.method == "crf"]
    assert found.rows[0].scores["macro, dev"][0] == pytest.approx(sum(shown) / 2)
    page = write_matrix_report(summary, tmp_path / "out" / "report")
    assert_tables(page.with_suffix(".md").read_text(encoding="utf8"))
    html, text = page.read_text(encoding="utf8"), page.with_suffix(".md").read_text(encoding="utf8")
    for content in (html, text):
        assert "Use crf" in content and "Kaboom" in content
    assert 'href="tiny.html"' in html and (page.parent / "tiny.html").is_file()
    table = summary_tables(summary)
    assert table.index("crf") < table.index("ner ")
    assert re.search(r"run \d{4}-\d\d-\d\d", html) and re.search(r"Run \d{4}-\d\d-\d\d", text)
    assert html.index("Use crf") < html.index("<svg") < html.index("<table")


def test_the_heatmap_is_of_means_over_seeds_on_test(corpus, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    runner = Scored({"ner": 0.3, "crf": 0.9})
    matrix, records = run(corpus, tmp_path / "out", runner, seeds=[0, 1])
    summary = summarize_trials(matrix, records)
    heat = summary.corpora[0].heat
    assert sorted(heat.labels) == sorted(TYPES.labels)
    assert heat.support == sorted(heat.support, reverse=True)
    assert [label for label, rare in zip(heat.labels, heat.rare, strict=True) if rare] == ["NAT"]
    assert [row.name for row in heat.rows] == [row.method for row in summary.corpora[0].rows]
    assert {row.name: row.role for row in heat.rows if row.role} == {"ner": "baseline", "crf": "ours"}
    for row in heat.rows:
        own = [r.test for r in records.values() if r.method == row.name]
        assert len(own) == 2
        for label, value, support in zip(heat.labels, row.values, heat.support, strict=True):
            assert value == pytest.approx(sum(t["ents_per_type"][label]["f"] for t in own) / 2)
            assert support == own[0]["ents_per_type"][label]["support"]
        assert row.mean == pytest.approx(sum(row.values) / len(row.values))
    page = write_matrix_report(summary, tmp_path / "out" / "report")
    html, text = page.read_text(encoding="utf8"), page.with_suffix(".md").read_text(encoding="utf8")
    crf = next(row for row in heat.rows if row.name == "crf")
    cells = [f"{100 * value:.1f}" for value in (*crf.values, crf.mean)]
    assert f"| crf | {' | '.join(cells)} |" in text
    shown = re.findall(r"<td[^>]*>([^<]*)", html[html.index('<th scope="row">crf<') :])[: len(cells)]
    assert shown == cells
    assert 'class="baseline-row"' in html and 'rare-head">◆ NAT<' in html


def test_without_the_baseline_the_heatmap_has_no_roles(corpus, tmp_path):
    pytest.importorskip("optuna")
    matrix, records = run(corpus, tmp_path / "out", Scored({}, failing=("ner",)), seeds=[0])
    heat = summarize_trials(matrix, records).corpora[0].heat
    assert heat.rows and not any(row.role for row in heat.rows)


def test_a_report_on_draws_has_curves(corpus, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    matrix, records = run(corpus, tmp_path / "out", Scored({"crf": 0.9}), sizes=[2, 4], partitions=2)
    summary = summarize_trials(matrix, records)
    (found,) = summary.corpora
    assert found.report is None and found.recommendation is None
    assert [curves.average for curves in found.curves] == ["macro", "micro"]
    assert all(len(p.scores) == 2 for p in found.curves[0].lines["crf"])
    page = write_matrix_report(summary, tmp_path / "out" / "report")
    assert_tables(page.with_suffix(".md").read_text(encoding="utf8"))
    html = page.read_text(encoding="utf8")
    assert html.count("<svg") == 2 and "crf against ner" in html
    assert "sentences" in summary_tables(summary)


def test_a_failed_trial_is_named_with_its_draw(corpus, tmp_path):
    """One method and seed has a trial at each size."""
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    runner = Scored({}, failing=("crf",))
    matrix, records = run(corpus, tmp_path / "out", runner, sizes=[2, 4], partitions=1)
    summary = summarize_trials(matrix, records)
    titles = ["tiny, crf, 2 sentences, seed 0", "tiny, crf, 4 sentences, seed 0"]
    assert sorted(record.title for record in summary.failed) == titles
    assert set(titles) < {trial.title for trial in matrix.trials.values()}
    page = write_matrix_report(summary, tmp_path / "out" / "report")
    for shown in (page, page.with_suffix(".md")):
        assert all(f"{title}: failed" in shown.read_text(encoding="utf8") for title in titles)


def test_nothing_is_recommended_where_the_baseline_failed(corpus, tmp_path):
    pytest.importorskip("optuna")
    matrix, records = run(corpus, tmp_path / "out", Scored({}, failing=("ner",)), seeds=[0])
    (found,) = summarize_trials(matrix, records).corpora
    assert found.recommendation is None and found.report is None
    assert found.rows


def statistics(n_sentences=2000, mentions=20):
    types = {"PER": type_statistics(mentions=500), "NAT": type_statistics(mentions=mentions)}
    train = part_statistics(types, sentences=n_sentences)
    found = corpus_statistics_of({"train": train}, ["PER", "NAT"], tail=["NAT"])
    return Statistics.model_validate(found, strict=False)


def test_candidates_follow_the_corpus():
    grids = [c.grid for c in choose_candidates(statistics())]
    assert grids[0] == {"head": "ner"}
    assert {"head": "crf", "reader": "sCR"} in grids and {"gate": "double"} in grids
    assert {"head": "two_task", "loss": "AUC-2T"} not in grids
    small = [c.grid for c in choose_candidates(statistics(200))]
    assert {"head": "two_task", "loss": "AUC-2T"} in small and {"gate": "double"} not in small
    common = [c.grid for c in choose_candidates(statistics(mentions=0))]
    assert not any("reader" in grid or "gate" in grid for grid in common)


def test_candidates_with_knowledge_come_first_where_there_is_any(tmp_path, monkeypatch):
    pytest.importorskip("spacy_lookups_data")
    pretrained = {"head": "crf", "encoder": "pretrained", "outputs": "described"}
    first = [Candidate(pretrained, "it has seen entities")]
    grids = [c.grid for c in choose_candidates(statistics(), "en", first)]
    clusters = {"head": "crf", "encoder": "clusters"}
    assert grids[:-5] == [{"head": "ner"}, pretrained, clusters, {"head": "crf"}, {"head": "softmax"}]
    with_both = [c.grid for c in choose_candidates(statistics(), "en", first, "bert")]
    assert with_both[:2] == [{"head": "ner"}, pretrained]
    never_won = {"reader", "loss", "gate"}
    first = next(i for i, grid in enumerate(with_both) if never_won & grid.keys())
    assert all(never_won & grid.keys() for grid in with_both[first:])
    without = [c.grid for c in choose_candidates(statistics(), "fi")]  # a language without clusters
    assert not any("encoder" in grid for grid in without)


def test_a_transformer_is_tried_where_one_is_named():
    grids = [c.grid for c in choose_candidates(statistics(), "xx", [], "bert")]
    assert grids[1:3] == [{"head": head, "encoder": "transformer"} for head in ("softmax", "crf")]


def test_the_encoder_of_the_project_is_taken_for_its_language(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an empty folder
    name = "spacy_longtail.studies.matrix.advice.installed_transformers"
    monkeypatch.setattr(name, lambda lang: [])
    said = []
    assert list(map(str, find_pretrained(corpus, said.append))) == ["en_longtail_cnn"]
    assert len(said) == 1 and "docs/zero_shot.md" in said[0]
    types = json.loads((corpus / "types.json").read_text(encoding="utf8"))
    german = tmp_path / "german"
    shutil.copytree(corpus, german)
    (german / "types.json").write_text(json.dumps({**types, "lang": "de"}), encoding="utf8")
    said.clear()
    assert find_pretrained(german, said.append) == [] and "none for 'de'" in said[0]


def test_an_encoder_that_is_none_is_refused(corpus, tmp_path):
    options = {"minutes": 1, "steps": 2, "options": Options(), "settings": {}}
    with pytest.raises(ValueError, match="L720"):
        advise(corpus, tmp_path / "out", tmp_path / "x.cfg", pretrained=[tmp_path], **options)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def short_quick(monkeypatch):
    """The preset with patience and steps of toy size."""
    real = plan._read

    def read(path):
        return {**real(path), "patience": 4, "most_steps": 40}

    monkeypatch.setattr(plan, "_read", read)


def test_steps_are_those_of_the_method_that_needs_the_most(corpus, tmp_path, short_quick):
    pytest.importorskip("optuna")
    runner = Scored({"crf": 0.9}, needs={"crf": 14, "ner": 6}, failing=("softmax",))
    given = {"settings": {"training.eval_frequency": 2}, "corpora": [str(corpus)], "seeds": [3, 5]}
    said = []
    found = read_plan("quick", given)
    assert found.is_needed and found.patience == 4
    with pytest.MonkeyPatch.context() as patch:
        own = Matrix.run
        patch.setattr(Matrix, "run", lambda self, options: own(self, options, None, runner))
        settled = settle_steps(found, tmp_path / "out", Options(), said.append)
    assert {seed for _, seed, _ in runner.trained} == {3}
    assert settled.steps == 18 and settled.patience == 0 and not settled.is_needed
    assert "18 steps for every method" in said[-1]
    for trial in settled.trials():
        training = trial.config()["training"]
        assert (training["max_steps"], training["patience"]) == (18, 0)
    assert len(list(settled.trials())) == 6
    assert settle_steps(settled, tmp_path / "none", Options()) is settled


def test_steps_that_reach_the_cap_are_said(corpus, tmp_path, short_quick):
    pytest.importorskip("optuna")
    runner = Scored({}, needs={"ner": 60})
    given = {"settings": {"training.eval_frequency": 2}, "corpora": [str(corpus)]}
    said = []
    with pytest.MonkeyPatch.context() as patch:
        own = Matrix.run
        patch.setattr(Matrix, "run", lambda self, options: own(self, options, None, runner))
        settled = settle_steps(read_plan("quick", given), tmp_path / "out", Options(), said.append)
    assert settled.steps == 40 and "the most that the plan allows" in said[-1]
