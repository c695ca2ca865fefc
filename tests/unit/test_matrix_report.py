"""What is said of a plan's trials: recommendations, learning curves, tables and pages."""

import re
from pathlib import Path

import pytest
import srsly

from spacy_longtail.corpus.statistics import Statistics
from spacy_longtail.evaluation.significance import mention_counts
from spacy_longtail.studies.advice.advice import choose_candidates
from spacy_longtail.studies.advice.candidates import Candidate, plan_comparison
from spacy_longtail.studies.advice.pretrained_candidates import find_pretrained
from spacy_longtail.studies.comparison.curves import read_curves
from spacy_longtail.studies.comparison.recommendation import recommend
from spacy_longtail.studies.comparison.summary import summarize_trials
from spacy_longtail.studies.comparison.writing import summary_tables, write_matrix_report
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.study import TrialOptions, create_study
from tests.trials import ENDED, LABELS, RISING, Scored, evaluation, record_of
from tests.util import (
    corpus_statistics_of,
    documents_of,
    part_statistics,
    toy_corpus,
    toy_docs,
    type_statistics,
)


def evaluations(folder, skills, seeds=(0, 1)):
    """By method and seed, as files."""
    found = {}
    for name, skill in skills.items():
        for seed in seeds:
            path = folder / f"{name}-{seed}.json"
            srsly.write_json(path, evaluation(skill, seed))
            found.setdefault(name, {})[seed] = path
    return found


@pytest.mark.parametrize(
    ("skills", "method", "best"),
    [
        ({"ner": 0.4, "crf": 0.9, "focal": 0.5}, "crf", "crf"),
        ({"ner": 0.60, "crf": 0.62}, "ner", "crf"),  # may be chance
        ({"ner": 0.9, "crf": 0.3}, "ner", "ner"),
        ({"crf": 0.0, "ner": 0.0}, "ner", "ner"),
    ],
)
def test_another_method_is_recommended_only_if_it_is_shown_to_be_better(skills, method, best, tmp_path):
    found = recommend(evaluations(tmp_path, skills), LABELS, "ner")
    assert (found.method, found.best) == (method, best)
    assert (found.verdict is None) == (best == "ner")
    assert (method == "crf") == (found.verdict is not None and found.verdict.outcome == "better")
    alone = recommend(evaluations(tmp_path, {n: skills[n] for n in ("ner", "crf")}), LABELS, "ner")
    if len(skills) > 2:  # many methods are corrected for
        assert found.verdict.adjusted >= alone.verdict.adjusted and found.verdict.p == alone.verdict.p


def test_one_lucky_training_is_not_enough(tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.5, "crf": 0.5}, seeds=range(6))
    srsly.write_json(scored["crf"][5], evaluation(1.0, 5))
    found = recommend(scored, LABELS, "ner")
    assert found.best == "crf" and found.verdict.value > 0.05
    assert found.method == "ner"


def test_all_seeds_of_both_count(tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.5, "crf": 0.9}, seeds=(0, 1))
    del scored["ner"][0]
    found = recommend(scored, LABELS, "ner")
    assert found.method == "crf" and found.verdict.n_seeds == (1, 2)


NOTHING = [{"step": 10, "ents_macro_f": 0.0}]


@pytest.mark.parametrize(
    "curves",
    [
        {"ner": NOTHING, "crf": ENDED},
        {"ner": ENDED, "crf": RISING},
        {"ner": RISING, "crf": RISING, "focal": ENDED},
    ],
)
def test_no_verdict_while_a_curve_is_rising(curves, tmp_path):
    scored = evaluations(tmp_path, {"ner": 0.4, "crf": 0.9, "focal": 0.5})
    for name, curve in curves.items():
        for path in scored[name].values():
            srsly.write_json(path, {**srsly.read_json(path), "curve": curve})
    found = recommend(scored, LABELS, "ner")
    assert (found.method, found.best, found.verdict, found.is_early) == ("ner", "crf", None, True)
    assert not found.evidence


def drawn(method, seed, f, n=100, share=None, curve=()):
    draw = {"n_sentences": n, "entity_share": share}
    scores = {"ents_macro_f": f, "ents_f": f / 2}
    given = {"draw": draw, "curve": list(curve), "dev": scores, "test": scores}
    return record_of("k", method=method, seed=seed, **given)


SKILLS = {"CE": 0.3, "x": 0.9}


def mentions(record):
    """What a trial found in the test part: the skill is the method's, whatever the partition."""
    documents = evaluation(SKILLS[record.method], record.seed)["documents"]
    return mention_counts(documents_of(documents), LABELS)


def test_sizes_are_compared_on_the_partitions_that_both_methods_have():
    records = [drawn(name, seed, 0.5, 20) for name in ("CE", "x") for seed in range(3)]
    records += [drawn("CE", 0, 0.5, 100), drawn("x", 0, 0.5, 50), drawn("x", 8, 0.5, 20)]
    first, tested = read_curves(records, "CE", mentions).findings[:2]
    assert "at 20; significant at 20." in first and "50" not in first and "100" not in first
    assert "over 60 documents and 3 seeds" in tested


def test_a_curve_over_groups_says_so():
    records = [drawn(name, 0, 0.5, 20) for name in ("CE", "x")]

    tested = read_curves(records, "CE", lambda record: mentions(record)._replace(unit="group")).findings[
        1
    ]

    assert "over 60 groups and 1 seed" in tested


def test_a_curve_over_too_few_documents_is_not_said_to_be_tested():
    records = [drawn(name, 0, 0.5, n) for name in ("CE", "x") for n in (20, 50)]

    def few(record):
        found = mentions(record)
        return found._replace(counts=found.counts[:4])

    (finding,) = read_curves(records, "CE", few).findings

    assert "too few documents to tell (4 of 4 documents count" in finding
    assert "significant" not in finding


def test_all_sizes_of_a_chart_are_corrected_together():
    records = [drawn(name, 0, 0.5, n) for name in ("CE", "x") for n in (20, 50, 100)]
    finding = read_curves(records, "CE", mentions).findings[0]
    assert finding.endswith("significant at 20, 50, 100 (corrected for 3 comparisons).")


def test_curves_are_of_sizes_or_of_shares():
    records = [drawn("CE", s, 0.1 * n, n) for s in (0, 1) for n in (3, 2)]
    found = read_curves([*records, drawn("x", 0, 0.5, 2)], "CE", mentions, "micro")
    assert found.x_name == "sentences" and found.sizes == [2, 3]
    assert found.lines["x"] == [(0.25, None), (None, None)]
    # micro is half of macro here
    assert found.lines["CE"] == [(pytest.approx(n / 20), pytest.approx(0.0)) for n in (2, 3)]
    by_share = read_curves([drawn("CE", 0, 0.3, share=0.05)], "CE", mentions)
    assert (by_share.x_name, by_share.sizes) == ("% entity tokens", [5.0])


def test_sizes_that_were_not_trained_long_enough_are_left_out():
    records = [drawn(name, 0, 0.1, n, curve=ENDED) for name in ("CE", "x") for n in (20, 50)]
    assert "not trained" not in " ".join(read_curves(records, "CE", mentions).findings)
    for late in (drawn("x", 0, 0.9, 50, curve=RISING), drawn("CE", 0, 0.1, 50, curve=NOTHING)):
        found = read_curves(
            [r for r in records if (r.method, r.draw.n_sentences) != (late.method, 50)] + [late],
            "CE",
            mentions,
        )
        assert "50" not in found.findings[0] and "x against CE at 50" in found.findings[1]


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny", dev=toy_docs(3), test=toy_docs(4))


def run(corpus, output, runner, **given):
    given = {"steps": 4, "settings": {"training.eval_frequency": 2}, "corpora": [str(corpus)], **given}
    matrix = create_study(read_plan("quick", given), output)
    return matrix, matrix.run(TrialOptions(), runner=runner)


def written(summary, folder):
    """Write a report, and return its page and its twin, in whose tables all rows are as wide."""
    page = write_matrix_report(summary, folder)
    html, text = (path.read_text(encoding="utf8") for path in (page, page.with_suffix(".md")))
    tables = [block.splitlines() for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)]
    assert tables and all(re.fullmatch(r"[|: -]+", table[1]) for table in tables)
    assert all(len({row.count("|") for row in table}) == 1 for table in tables)
    return html, text


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
    assert found.report.ours == "crf" and found.report.by_dev
    assert {record.method for record in summary.failed} == {"softmax"}
    shown = [r.dev["ents_macro_f"] for r in records.values() if r.method == "crf"]
    assert found.rows[0].scores["macro, dev"][0] == pytest.approx(sum(shown) / 2)
    html, text = written(summary, tmp_path / "out" / "report")
    for content in (html, text):
        assert "Use crf" in content and "Kaboom" in content
    assert 'href="tiny.html"' in html and (tmp_path / "out" / "report" / "tiny.html").is_file()
    table = summary_tables(summary)
    assert table.index("crf") < table.index("ner ")


def test_a_summary_writes_no_files(corpus, tmp_path):
    matrix, records = run(corpus, tmp_path / "out", Scored({"crf": 0.9}), seeds=[0])
    summary = summarize_trials(matrix, records)
    assert not (tmp_path / "out" / "report").exists()

    write_matrix_report(summary, tmp_path / "out" / "report")

    assert (tmp_path / "out" / "report" / "tiny" / "stats.json").is_file()


def test_a_report_on_draws_has_curves(corpus, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    matrix, records = run(corpus, tmp_path / "out", Scored({"crf": 0.9}), sizes=[2, 4], partitions=2)
    summary = summarize_trials(matrix, records)
    (found,) = summary.corpora
    assert found.report is None and found.recommendation is None
    assert [curves.average for curves in found.curves] == ["macro", "micro"]
    assert all(deviation is not None for _, deviation in found.curves[0].lines["crf"])  # two partitions
    html, _ = written(summary, tmp_path / "out" / "report")
    assert html.count("<svg") == 2 and "crf against ner" in html
    assert "sentences" in summary_tables(summary)


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
    pretrained = {"head": "crf", "encoder": "pretrained", "outputs": "described"}

    def grids(*given, **more):
        return [c.choices for c in choose_candidates(statistics(*given), **more)]

    usual, small, common = grids(), grids(200), grids(2000, 0)
    assert usual[0] == {"head": "ner"} and not any("encoder" in grid for grid in usual)
    assert {"head": "crf", "reader": "sCR"} in usual
    assert {"head": "two_task", "loss": "AUC-2T"} not in usual
    assert {"head": "two_task", "loss": "AUC-2T"} in small
    assert not any("reader" in grid for grid in common)
    known = grids(pretrained=[Candidate(pretrained, "it has seen entities", {}, {})], transformer="bert")
    with_bert = [{"head": head, "encoder": "transformer"} for head in ("softmax", "crf")]
    assert known[:4] == [{"head": "ner"}, pretrained, *with_bert]
    never_won = {"reader", "loss", "gate"}
    assert all(never_won & grid.keys() for grid in known[6:])


@pytest.mark.parametrize(
    ("choices", "name"),
    [
        ({"head": "ner"}, "ner"),
        ({"loss": "focal", "head": "softmax", "reader": "plain"}, "softmax-focal"),
        ({"head": "crf", "encoder": "own"}, "crf-own"),
    ],
)
def test_a_candidate_has_the_name_of_its_method(choices, name):
    settings = {"training.dropout": 0.3} if "encoder" in choices else {}
    candidate = Candidate(choices, "Why not.", settings, {})

    plan = plan_comparison([candidate], Path("corpus"))

    assert candidate.name == plan.methods[0].name == name


def test_the_encoder_of_the_project_is_tried(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an empty folder
    monkeypatch.setattr(
        "spacy_longtail.studies.advice.pretrained_candidates.installed_transformers", lambda lang: []
    )
    said = []
    assert find_pretrained(corpus, said.append) == ["en_longtail_cnn"]
    assert len(said) == 1 and "docs/zero_shot.md" in said[0]
