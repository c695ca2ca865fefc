"""Methods compared on folds: what is recommended, and `recommend` with its rounds and budget."""

import json
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_longtail.corpus.descriptions import read_types, write_types
from spacy_longtail.corpus.names import write_names
from spacy_longtail.encoders import located
from spacy_longtail.evaluation.report.systems import read_run
from spacy_longtail.evaluation.significance import MACRO, Decision, compare
from spacy_longtail.studies.advice import pretrained_candidates, race
from spacy_longtail.studies.advice.advice import Advice, advise, find_candidates
from spacy_longtail.studies.advice.candidates import plan_comparison
from spacy_longtail.studies.advice.race import select_promising
from spacy_longtail.studies.comparison import folds
from spacy_longtail.studies.comparison.folds import fold_plan, write_folds
from spacy_longtail.studies.comparison.recommendation import (
    MethodRuns,
    Recommendation,
    decide,
    recommend_by_folds,
)
from spacy_longtail.studies.comparison.summary import summarize_trials
from spacy_longtail.studies.comparison.writing import summary_tables, write_matrix_report
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.store import TrialStore
from spacy_longtail.studies.trials.study import TrialOptions, create_study
from tests.trials import ENDED, LABELS, RISING, Scored, evaluation
from tests.util import blank, numbered, run_app, tiny_bert, tiny_encoder, toy_corpus, write_files

pytest.importorskip("scipy")
ROOT = Path(__file__).parents[2]


def texts(path):
    return [doc.text for doc in DocBin().from_disk(path).get_docs(blank().vocab)]


@pytest.fixture
def corpus(tmp_path):
    docs = numbered(36)
    return toy_corpus(tmp_path / "toy", train=docs[:24], dev=docs[24:], test=docs[:8])


def held_out(folder, skills, folds=5, seeds=(0,), least=30):
    """Evaluations of folds by method; one fold's documents are the same for all."""
    found = {}
    for name, skill in skills.items():
        for fold in range(folds if isinstance(skill, float) else len(skill)):
            own = skill if isinstance(skill, float) else skill[fold]
            for seed in seeds:
                path = folder / f"{name}-{fold}-{seed}.json"
                srsly.write_json(path, evaluation(own, f"{fold}/{seed}", least))
                found.setdefault(name, {})[fold, seed] = path
    return found


# What is recommended


def test_the_best_is_recommended_where_the_evidence_suffices(tmp_path):
    scored = held_out(tmp_path, {"ner": 0.4, "crf": 0.7, "focal": 0.45})
    found = recommend_by_folds(scored, LABELS, "ner", 5)
    assert found.method == found.best == "crf"
    assert found.text.startswith("Use crf: +")
    assert "p < 0.001 (one-sided, corrected for 2 candidates)" in found.text
    assert "5 of 5 folds trained" in " ".join(found.evidence)


def test_a_lucky_fold_does_not_displace_a_method_whose_evidence_suffices(tmp_path):
    scored = held_out(tmp_path, {"ner": 0.4, "crf": 0.7, "slow": [0.8]}, least=2)
    found = recommend_by_folds(scored, LABELS, "ner", 5)
    assert found.method == found.best == "crf"


def test_the_baseline_stays_where_the_evidence_does_not_suffice(tmp_path):
    scored = held_out(tmp_path, {"ner": [0.5, 0.4, 0.5, 0.3, 0.5], "crf": [0.5, 0.42, 0.49, 0.31, 0.49]})
    found = recommend_by_folds(scored, LABELS, "ner", 5)
    p = found.verdict.one_sided
    assert p > 0.2 and found.method == "ner"
    assert f"which is not enough: p = {p:.2f} (one-sided)" in found.text


@pytest.mark.parametrize(
    ("patience", "rising", "method"),
    [
        ({"ner": 300, "crf": 300}, "ner", "crf"),  # as the configs train them
        ({"ner": 300, "crf": 300}, "crf", "crf"),
        ({}, "ner", "ner"),  # a number of steps that was set
        ({"crf": 300}, "ner", "ner"),
        ({"ner": 300, "crf": 300}, "", "crf"),
    ],
)
@pytest.mark.parametrize("p", [0.04, 0.19, 0.21])
def test_a_rising_method_is_compared_only_if_its_training_has_a_patience(
    tmp_path, monkeypatch, patience, rising, method, p
):
    monkeypatch.setattr(Decision, "one_sided", p)
    scored = held_out(tmp_path, {"ner": 0.4, "crf": 0.8}, folds=2, least=10)
    for name, paths in scored.items():
        curve = RISING if name == rising else ENDED
        more = {"curve": curve, "training": {"patience": patience.get(name)}}
        for path in paths.values():
            srsly.write_json(path, {**srsly.read_json(path), **more})
    found = recommend_by_folds(scored, LABELS, "ner", 5)
    assert (found.method, found.best) == (method if p < 0.2 else "ner", "crf")
    assert found.is_early == bool(rising)
    assert (found.verdict is None) == (method == "ner")


def test_methods_are_compared_on_the_folds_that_both_finished(tmp_path):
    """Of any method: they are compared on what both have."""
    scored = held_out(tmp_path, {"ner": 0.4, "crf": 0.8, "focal": 0.3}, folds=4)
    for name in ("ner", "crf"):
        lost = {own: dict(cells) for own, cells in scored.items()}
        del lost[name][1, 0]
        found = recommend_by_folds(lost, LABELS, "ner", 4)
        assert found.method == "crf" and "3 of 4 folds trained" in " ".join(found.evidence)
        crf, ner = (
            MethodRuns({c: read_run(p, LABELS) for c, p in lost[n].items() if c[0] != 1}).macro_f1()
            for n in ("crf", "ner")
        )
        assert found.verdict.value == pytest.approx(crf - ner)
    only = {"ner": {(0, 0): scored["ner"][0, 0]}, "crf": {(1, 0): scored["crf"][1, 0]}}
    found = recommend_by_folds(only, LABELS, "ner", 4)
    assert found.method == "ner"


def test_a_baseline_without_a_seed_that_finished_all_its_folds_is_compared_on_the_shared_ones(tmp_path):
    scored = held_out(tmp_path, {"ner": 0.4, "crf": 0.8}, folds=2)
    ner = {(0, 0): scored["ner"][0, 0], (1, 1): scored["ner"][1, 0]}
    crf = {(fold, seed): scored["crf"][fold, 0] for fold in (0, 1) for seed in (0, 1)}

    found = recommend_by_folds({"ner": ner, "crf": crf}, LABELS, "ner", 2)

    assert found.best == "crf"


@pytest.mark.parametrize(("n", "method"), [(5, "ner"), (10, "crf")])
def test_with_few_documents_the_baseline_stays(tmp_path, n, method):
    """Even where they all agree."""
    scored = held_out(tmp_path, {"ner": [0.0], "crf": [1.0]})
    for paths in scored.values():
        data = srsly.read_json(paths[0, 0])
        srsly.write_json(paths[0, 0], {**data, "documents": data["documents"][:n]})
    found = recommend_by_folds(scored, LABELS, "ner", 5)
    assert (found.best, found.method) == ("crf", method)
    assert ("too few documents to tell" in found.text) == (method == "ner")


def test_p_is_corrected_for_the_number_of_candidates(tmp_path, monkeypatch):
    monkeypatch.setattr(Decision, "one_sided", 0.04)
    skills = {"ner": 0.4, "crf": 0.7}
    few = recommend_by_folds(held_out(tmp_path, skills), LABELS, "ner", 5)
    dropped = {f"m{i}": [0.95 if i else 0.2] for i in range(6)}  # after one fold of five, however lucky
    many = recommend_by_folds(held_out(tmp_path, {**skills, **dropped}), LABELS, "ner", 5, dropped)
    assert few.best == many.best == "crf"
    assert "p = 0.040 (one-sided)" in few.text and few.method == "crf"
    assert "p = 0.28 (one-sided, corrected for 7 candidates)" in many.text and many.method == "ner"


def test_a_comparison_without_the_baseline_is_refused(tmp_path):
    with pytest.raises(ValueError, match="L487"):
        recommend_by_folds(held_out(tmp_path, {"crf": 0.5}), LABELS, "ner", 5)
    alone = recommend_by_folds(held_out(tmp_path, {"ner": 0.5}), LABELS, "ner", 5)
    assert alone.method == "ner" and alone.verdict is None


# `recommend`


def planned(corpus, steps=None, settings=None, pretrained=(), transformer=None):
    candidates = find_candidates(corpus, pretrained, transformer)
    return candidates, plan_comparison(candidates, corpus, settings, steps)


def advised(
    corpus,
    tmp_path,
    runner,
    minutes,
    folds=5,
    retry_failed=False,
    best_guess=False,
    **given,
):
    """The advice, the config that it wrote, the candidates, and what was said."""
    said, output = [], tmp_path / "out"
    config, options = output / "recommended.cfg", TrialOptions(retry_failed=retry_failed)
    candidates, plan = planned(corpus, 4, {"training.eval_frequency": 2}, **given)
    limits = {"total_minutes": minutes, "folds": folds, "best_guess": best_guess, "options": options}
    found = advise(candidates, plan, output, config, say=said.append, runner=runner, **limits)
    return found, config, candidates, said


def by_method(runner):
    return {name: sum(n == name for n, _ in runner.begun) for name, _ in runner.begun}


def runs_of_a_fold(folder, skills):
    scored = held_out(folder, skills, folds=1, least=120)
    return {
        n: MethodRuns({c: read_run(p, LABELS) for c, p in cells.items()}) for n, cells in scored.items()
    }


def test_a_method_of_the_worse_half_stays_in_the_race_unless_it_is_shown_to_be_behind(tmp_path):
    runs = runs_of_a_fold(tmp_path, {"crf": 0.8, "softmax": 0.6, "focal": 0.78, "sCR": 0.4})
    assert select_promising(runs) == ["crf", "focal"]
    runs = runs_of_a_fold(tmp_path, {"crf": 0.8, "softmax": 0.79, "focal": 0.78, "sCR": 0.4})
    assert sorted(select_promising(runs)) == ["crf", "focal", "softmax"]


def test_with_more_folds_the_spread_over_trainings_counts_less(tmp_path):
    skills = {"crf": 0.66, "softmax": 0.58}
    scored = held_out(tmp_path, skills, folds=4, least=60)
    runs = {
        n: MethodRuns({c: read_run(p, LABELS) for c, p in cells.items()}) for n, cells in scored.items()
    }
    several = decide(runs["softmax"], runs["crf"])
    counts = runs["softmax"].counts(), runs["crf"].counts()
    alone = compare(*counts, {MACRO: runs["crf"].metric})[MACRO]
    assert several.value == alone.value and several.high - several.low < alone.high - alone.low


def test_the_better_half_stays_in_the_race_even_if_it_is_behind(tmp_path):
    runs = runs_of_a_fold(tmp_path, {"crf": 0.9, "softmax": 0.4, "focal": 0.2})
    assert select_promising(runs) == ["crf", "softmax"]


def raced(corpus, tmp_path):
    """The advice where the CRF is far ahead, as of `advised`, and the runner of the trials."""
    runner = Scored({"ner": 0.05, "crf": 0.95, "softmax": 0.3})
    return advised(corpus, tmp_path, runner, minutes=10), runner


def test_each_round_keeps_the_better_half_and_the_baseline(corpus, tmp_path):
    (found, *_), runner = raced(corpus, tmp_path)
    assert by_method(runner) == {
        "ner": 5,
        "crf": 5,
        "crf-sCR": 3,
        "two_task-AUC-2T": 2,
        "softmax": 1,
        "softmax-sCR": 1,
        "softmax-focal": 1,
    }
    assert found.recommendation.method == "crf"


def test_the_progress_of_advice_names_the_held_out_fold(corpus, tmp_path, capsys):
    raced(corpus, tmp_path)
    lines = [line for line in capsys.readouterr().err.splitlines() if "macro F1" in line]
    assert lines and all("on the held-out fold" in line and "on test" not in line for line in lines)


def test_the_recommended_config_trains_on_the_whole_corpus(corpus, tmp_path):
    (_, path, candidates, _), runner = raced(corpus, tmp_path)
    text = path.read_text(encoding="utf8")
    assert text.startswith("# Written by spacy-longtail") and "Use crf" in text
    assert f"{len(by_method(runner))} of {len(candidates)} candidates finished a trial" in text
    config = spacy.util.load_config(path)
    assert config["components"]["ner"]["head"] == "crf"
    assert config["paths"]["train"] == str(corpus / "train.spacy")  # not a fold's
    assert config["training"]["max_steps"] == 4


def test_advice_that_is_asked_for_again_trains_nothing(corpus, tmp_path):
    (found, *_), runner = raced(corpus, tmp_path)
    assert len(TrialStore(tmp_path / "out").records()) == len(runner.begun)
    again = Scored({})
    resumed, *_ = advised(corpus, tmp_path, again, minutes=10)
    assert not again.begun and resumed.recommendation.text == found.recommendation.text


class Timed(Scored):
    """A runner for whose trials time passes."""

    def __init__(self, skills, monkeypatch, seconds, usual=15.0, failing=()):
        super().__init__(skills, failing=failing)
        self.by_name, self.usual, self.now = seconds, usual, 0.0
        monkeypatch.setattr("spacy_longtail.studies.advice.race.time.monotonic", lambda: self.now)

    def __call__(self, trial, work, stop):
        seconds = self.by_name.get(trial.method.name, self.usual)
        self.now += seconds
        return super().__call__(trial, work, stop)._replace(seconds=seconds)


SLOW = "two_task-AUC-2T"


def test_no_second_fold_is_begun_without_time_for_two_methods(corpus, tmp_path, monkeypatch):
    runner = Timed({"ner": 0.3, "crf": 0.9}, monkeypatch, {}, usual=100.0)

    *_, said = advised(corpus, tmp_path, runner, minutes=3)

    assert len(runner.begun) == 2 and set(by_method(runner).values()) == {1}
    assert "No time for fold 2" in said


def test_a_method_that_does_not_fit_makes_room_for_the_next_best(corpus, tmp_path, monkeypatch):
    runner = Timed({"ner": 0.3, SLOW: 0.95, "crf": 0.9}, monkeypatch, {SLOW: 400.0})

    advised(corpus, tmp_path, runner, minutes=14)

    n_folds = by_method(runner)
    assert n_folds[SLOW] == 1 and n_folds["crf"] == n_folds["ner"] > 1


def test_finished_trials_take_no_time_of_the_budget(corpus, tmp_path, monkeypatch):
    runner = Timed({"ner": 0.3, "crf": 0.9}, monkeypatch, {})
    first, *_ = advised(corpus, tmp_path, runner, minutes=3)
    runner.now = 0.0

    again, *_ = advised(corpus, tmp_path, runner, minutes=0.01)

    names = [{row.method for row in own.summary.corpora[0].rows} for own in (first, again)]
    assert names[0] <= names[1] and len(names[0]) > 2


def test_half_of_the_budget_is_reserved_only_once_a_candidate_is_done(corpus, tmp_path, monkeypatch):
    runner = Timed({"ner": 0.1}, monkeypatch, {}, usual=65.0, failing=("crf",))

    advised(corpus, tmp_path, runner, minutes=4)

    assert [name for name, _ in runner.begun] == ["ner", "crf", "softmax"]


def test_a_method_that_the_budget_kept_from_the_last_fold_can_be_recommended(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(race, "P_BEHIND", -1.0)  # no method loses
    runner = Timed({"ner": 0.1, SLOW: 0.95}, monkeypatch, {SLOW: 100.0}, usual=10.0)

    found, *_, said = advised(corpus, tmp_path, runner, minutes=12)

    n_folds = by_method(runner)
    assert (n_folds["ner"], n_folds[SLOW]) == (5, 4)
    assert found.recommendation.method == SLOW
    assert any(text.startswith(f"No time for fold 5 of {SLOW}") for text in said)


def test_no_trial_of_a_later_fold_starts_after_the_budget(corpus, tmp_path, monkeypatch):
    class Slower(Timed):
        def __call__(self, trial, work, stop):
            starts.append(self.now)
            self.usual = 400.0 if trial.corpus.name == "toy-fold-1" else 10.0
            return super().__call__(trial, work, stop)

    starts = []
    runner = Slower({"ner": 0.3, "crf": 0.9}, monkeypatch, {})

    found, *_, said = advised(corpus, tmp_path, runner, minutes=10)

    assert runner.now > 600 and max(starts) < 600
    assert found.recommendation.method == "crf"
    assert any(text.startswith("No time is left for") for text in said)


def test_a_better_method_is_recommended_even_if_the_baseline_used_up_the_budget(
    corpus, tmp_path, monkeypatch
):
    class Slower(Timed):
        def __call__(self, trial, work, stop):
            self.usual = 900.0 if trial.corpus.name == "toy-fold-2" else 10.0
            return super().__call__(trial, work, stop)

    runner = Slower({"ner": 0.1, "crf": 0.95}, monkeypatch, {})

    found, *_ = advised(corpus, tmp_path, runner, minutes=10)

    n_folds = by_method(runner)
    assert (n_folds["ner"], n_folds["crf"]) == (3, 2)
    assert found.recommendation.method == "crf"


def test_advice_names_the_declared_types_without_a_mention(corpus, tmp_path, monkeypatch):
    types = read_types(corpus)
    write_types(corpus, types._replace(labels=[*types.labels, "SHIP"], tail=[*types.tail, "SHIP"]))
    runner = Timed({"ner": 0.3, "crf": 0.9}, monkeypatch, {}, usual=100.0)
    *_, said = advised(corpus, tmp_path, runner, minutes=3)
    assert any(text.startswith("The training part does not mention SHIP.") for text in said)


@pytest.fixture
def baseline_failed(corpus, tmp_path):
    """The training of stock spaCy has failed."""
    with pytest.raises(ValueError, match=r"L487.*Kaboom.*--retry-failed"):
        advised(corpus, tmp_path, Scored({}, failing=("ner",)), minutes=10)


@pytest.mark.usefixtures("baseline_failed")
def test_no_config_is_written_if_stock_spacy_fails(tmp_path):
    assert not (tmp_path / "out" / "recommended.cfg").exists()


@pytest.mark.usefixtures("baseline_failed")
def test_nothing_is_trained_after_stock_spacy_has_failed(corpus, tmp_path):
    runner = Scored({})

    with pytest.raises(ValueError, match="L487"):
        advised(corpus, tmp_path, runner, minutes=10)

    assert not runner.begun


@pytest.mark.usefixtures("baseline_failed")
def test_a_failed_training_of_stock_spacy_is_repeated_on_request(corpus, tmp_path):
    runner = Scored({"ner": 0.2, "crf": 0.95})

    found, *_ = advised(corpus, tmp_path, runner, minutes=10, retry_failed=True)

    assert found.recommendation.method == "crf"


@pytest.fixture
def trf(tmp_path, monkeypatch):
    """A transformer encoder that is installed."""
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    site, name = tmp_path / "site", "en_longtail_trf"
    folder = tiny_encoder(site / name, tiny_bert(tmp_path / "bert", width=384, spells=True))
    meta = srsly.read_json(folder / "meta.json")
    code = (
        "from pathlib import Path\nfrom spacy.util import load_model_from_path\n"
        "def load(**given):\n    return load_model_from_path(Path(__file__).parent, **given)\n"
    )
    files = {
        f"{name}/meta.json": json.dumps({**meta, "version": "1.0.0"}),
        f"{name}/__init__.py": code,
        f"{name}-1.0.0.dist-info/METADATA": f"Name: {name}\nVersion: 1.0.0\n",
    }
    write_files(site, files)
    monkeypatch.syspath_prepend(site)
    yield name
    sys.modules.pop(name, None)


CNN = "crf-pretrained-described-gazetteer"
TRF = "softmax-en_longtail_trf-described"


def optimizers(plan):
    """The settings of the optimizer by method."""
    return {method.name: method.config["training"]["optimizer"] for method in plan.methods}


@pytest.fixture
def encoders(trf):
    return ["en_longtail_cnn", trf]


def test_installed_encoders_are_found(corpus, encoders):
    assert pretrained_candidates.find_pretrained(corpus)[:2] == encoders


def test_a_transformer_needs_torch(trf):
    assert pretrained_candidates.needs_torch(trf)


def test_advice_tries_the_pretrained_recipes_first(corpus, encoders, tmp_path):
    runner = Scored({"ner": 0.2, TRF: 0.95})
    given = (corpus, tmp_path, runner)
    found, path, *_ = advised(*given, minutes=10, folds=3, pretrained=encoders)
    assert [*by_method(runner)][:3] == ["ner", TRF, CNN]  # of few sentences the transformer is first
    assert found.recommendation.method == TRF
    config = spacy.util.load_config(path).interpolate()  # the recommended config starts from it
    assert config["paths"]["pretrained"] == encoders[1]
    assert config["components"]["tok2vec"] == {"source": encoders[1]}
    assert config["components"]["ner"]["model"]["tok2vec"]["width"] == 384
    assert config["training"]["optimizer"]["weight_mix"] == 0.8


def test_a_small_corpus_mixes_the_weights_of_the_pretrained_cnn(corpus, encoders):
    _, plan = planned(corpus, None, {}, encoders)
    found = optimizers(plan)
    assert found[CNN]["weight_mix"] == 0.7 and "weight_mix" not in found["ner"]


def test_a_large_corpus_tries_the_cnn_first_with_and_without_mixed_weights(
    corpus, encoders, monkeypatch
):
    monkeypatch.setattr(pretrained_candidates, "LARGE_CORPUS", 1)  # as if the corpus were large
    _, plan = planned(corpus, None, {}, encoders)
    mixed = CNN.replace("-described", "_mixed-described")
    assert [method.name for method in plan.methods][:4] == ["ner", CNN, mixed, TRF]
    found = optimizers(plan)
    assert found[CNN]["@optimizers"] == "Adam.v1" and "weight_mix" not in found[CNN]
    assert found[mixed]["weight_mix"] == 0.7


def test_only_the_transformer_has_the_steps_of_its_recipe(corpus, encoders):
    _, plan = planned(corpus, None, {}, encoders)
    steps = {method.name: method.config["training"]["max_steps"] for method in plan.methods}
    assert steps.pop(TRF) == 400 and {*steps.values()} == {plan.steps}
    assert "at most 2,000 steps (400 for encoders whose recipe sets this)" in plan.schedule


def test_a_record_has_the_steps_of_its_own_recipe(corpus, encoders, tmp_path):
    _, plan = planned(corpus, None, {}, encoders)

    records = create_study(plan, tmp_path / "out").run(TrialOptions(), runner=Scored({}))

    steps = {record.method: record.steps for record in records.values()}
    assert steps[TRF] == 400 and steps["ner"] == plan.steps


def test_the_largest_transformer_stays_first_without_the_cnn(corpus, encoders, monkeypatch):
    monkeypatch.setattr(pretrained_candidates, "needs_torch", lambda path: True)

    methods = pretrained_candidates.pretrained_candidates(corpus, encoders, n_sentences=10)

    assert methods[0].settings["paths.pretrained"] == encoders[0]


def test_two_encoders_of_the_user_are_two_candidates(corpus, tmp_path):
    paths = [str(shutil.copytree(located("en_longtail_cnn"), tmp_path / name)) for name in ("a", "b")]

    methods = pretrained_candidates.pretrained_candidates(corpus, paths, n_sentences=10)

    assert [method.choices["encoder"] for method in methods] == ["pretrained", "pretrained_2"]
    assert [method.settings["paths.pretrained"] for method in methods] == paths


def test_advice_tries_lists_of_names_if_the_corpus_has_them(corpus):
    write_names(corpus / "names.jsonl", {"GEO": [["Oslo"]]})
    _, plan = planned(corpus, None, {}, ["en_longtail_cnn"])
    cnn = "crf-pretrained-described-gazetteer"
    lists = cnn.replace("pretrained", "pretrained_lists")
    assert [method.name for method in plan.methods][:3] == ["ner", lists, cnn]
    config = {method.name: method.config for method in plan.methods}[lists]
    assert config["components"]["ner"]["model"]["tok2vec"]["tok2vec"]["width"] == 96
    assert config["corpora"]["train"]["augmenter"]["corpus"] == "${corpora.names}"


def test_all_trials_but_those_of_the_baseline_are_limited(corpus, tmp_path):
    advised(corpus, tmp_path, Scored({}), minutes=8, folds=3)

    records = TrialStore(tmp_path / "out").records().values()
    assert len(records) > 3
    assert {(record.method == "ner", record.time_limit) for record in records} == {
        (True, None),
        (False, 3.2),
    }


@pytest.mark.parametrize("pipeline", ["en ner", "en tok2vec ner", "fi tok2vec ner"])
def test_pipelines_without_a_described_head_are_refused_as_encoders(pipeline, corpus, tmp_path):
    lang, *names = pipeline.split()
    nlp = spacy.blank(lang)
    for name in names:
        nlp.add_pipe(name)
    nlp.to_disk(tmp_path / "model")
    with pytest.raises(ValueError, match="L274"):
        planned(corpus, pretrained=[str(tmp_path / "model")])


def test_advice_tries_a_transformer(corpus, tmp_path, monkeypatch):
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    encoder = str(tiny_bert(tmp_path / "bert"))
    runner = Scored({"ner": 0.2, "softmax-transformer": 0.95})
    found, path, *_ = advised(corpus, tmp_path, runner, minutes=10, folds=3, transformer=encoder)
    assert found.recommendation.method == "softmax-transformer"
    config = spacy.util.load_config(path).interpolate()
    assert config["components"]["tok2vec"]["model"]["name"] == encoder
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match="L265"):
        planned(corpus, transformer="no/where")


def test_no_advice_from_untrained_models_but_the_best_guess_on_request(corpus, tmp_path):
    runner = Scored({"ner": 0.0, "crf": 0.95}, needs={"ner": 99, "crf": 99})
    found, path, *_ = advised(corpus, tmp_path, runner, minutes=10)
    assert found.recommendation.method == "ner" and found.recommendation.is_early
    config = path.read_text("utf8")
    page = write_matrix_report(found.summary, tmp_path / "report")
    for text in (config, page.read_text("utf8"), summary_tables(found.summary)):
        assert "Not trained long enough" in text
    assert "chosen, by the held-out folds of train and dev" in page.read_text("utf8")
    assert re.search(r"Method +Trials", summary_tables(found.summary))
    assert found.written == "ner" and "trains ner (stock spaCy)" in found.note
    assert "--best-guess" in found.note and found.note in config.replace("\n# ", " ")
    found, path, *_ = advised(corpus, tmp_path, Scored({}), minutes=10, best_guess=True)
    assert (found.recommendation.method, found.written, found.note) == ("ner", "crf", "")
    assert "--best-guess wrote this config of crf" in path.read_text("utf8")
    assert spacy.util.load_config(path)["components"]["ner"]["head"] == "crf"


@pytest.mark.parametrize(
    ("best", "written", "is_early", "expected"),
    [
        (
            "crf",
            "ner",
            False,
            "the evidence for another method does not suffice. The best guess is crf.",
        ),
        ("crf", "crf", False, ""),  # --best-guess was given
        ("ner", "ner", False, ""),  # stock spaCy is the best
        ("ner", "ner", True, "the methods were not trained long enough for a verdict."),
    ],
)
def test_the_note_names_the_reason_and_the_best_guess(best, written, is_early, expected):
    choice = Recommendation("ner", best, None, "Stay with ner.", evidence=[], is_early=is_early)

    note = Advice(summary=None, recommendation=choice, written=written).note

    assert expected in note and bool(note) == bool(expected)
    assert ("--best-guess" in note) == (best != written)


FAILING = ("recommend", "--steps", 4, "--set", "training.eval_frequency=2", "--folds", 3)


@pytest.fixture
def failing(monkeypatch):
    """Trainings of softmax fail."""
    runner = Scored({"ner": 0.2, "crf": 0.9}, failing=("softmax",))
    monkeypatch.setattr("spacy_longtail.cli.recommend.advise", partial(advise, runner=runner))


def test_the_command_says_which_trials_failed(corpus, tmp_path, failing):
    said = run_app(*FAILING, corpus, "-o", tmp_path / "out").stderr

    assert re.search(r"softmax, seed 0: failed", said)
    assert "1 trial failed. To repeat them, add --retry-failed" in said


def test_the_json_of_the_command_names_candidates_by_method(corpus, tmp_path, failing):
    found = json.loads(run_app(*FAILING, corpus, "-o", tmp_path / "out", "--json").stdout)

    methods = {row["method"] for row in found["candidates"]}
    assert {row["method"] for row in found["methods"]} <= methods and "softmax" in methods
    (failed,) = found["failed"]
    assert "softmax, seed 0" in failed["title"] and failed["reason"] == "Kaboom"


# Plans on folds


def test_folds_of_characters_keep_copies_together(tmp_path):
    docs = numbered()
    corpus = toy_corpus(tmp_path / "twice", train=docs, dev=[doc.copy() for doc in docs], test=docs[:4])
    write_types(corpus, read_types(corpus)._replace(lang="vi", tokens="characters"))
    found = write_folds(corpus, tmp_path / "out", 4)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.spacy")}
    assert write_folds(corpus, tmp_path / "out", 4) == found
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.spacy")}
    for fold in found:
        held = set(texts(fold / "test.spacy"))
        assert held.isdisjoint(texts(fold / "train.spacy")) and read_types(fold).lang == "vi"


def test_folds_that_exist_are_not_split_again(corpus, tmp_path, monkeypatch):
    found = write_folds(corpus, tmp_path / "out", 3)
    monkeypatch.setattr(folds, "load_docs", None)

    assert write_folds(corpus, tmp_path / "out", 3) == found


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_corpus_is_read(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(folds, "load_docs", None)
    write_files(tmp_path / "other", {"thesis.txt": "x"})
    with pytest.raises(ValueError, match="L437"):
        write_folds(corpus, tmp_path / "other", 3)


def test_a_plan_on_folds_has_each_method_on_each_fold(corpus, tmp_path):
    given = {"steps": 4, "seeds": 1, "corpora": [str(corpus)]}
    given["settings"] = {"training.eval_frequency": 2}
    cut, folds = fold_plan(read_plan("quick", given), tmp_path / "out", 3)
    assert list(folds) == [corpus] and cut.corpora == folds[corpus]
    held = []
    for i, fold in enumerate(folds[corpus]):
        parts = {part: texts(fold / f"{part}.spacy") for part in ("train", "dev", "test")}
        assert parts["dev"] == texts(folds[corpus][(i + 1) % 3] / "test.spacy")
        assert not set(parts["train"]) & {*parts["dev"], *parts["test"]}
        held += parts["test"]
    assert sorted(held) == sorted(texts(corpus / "train.spacy") + texts(corpus / "dev.spacy"))
    matrix = create_study(cut, tmp_path / "out", inputs=[corpus])
    records = matrix.run(TrialOptions(), runner=Scored({"ner": 0.1, "crf": 0.95}))
    summary = summarize_trials(matrix, records, folds)
    (found,) = summary.corpora
    assert found.corpus == "toy" and found.report is None and found.recommendation.method == "crf"
    assert found.rows[0].method == "crf" and found.rows[0].n_trials == 3
    assert list(found.rows[0].scores) == list(summary.columns)
    assert "macro, held out" in summary_tables(summary)
    page = write_matrix_report(summary, tmp_path / "report").read_text(encoding="utf8")
    assert "Macro, held out" in page and "Use crf" in page
