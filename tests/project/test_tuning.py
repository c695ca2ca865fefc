"""Searches: spaces, draws, pruning, workers that die or share, the best config, the report."""

import json
import re
import subprocess
import sys
import threading
import time

import pytest
import spacy
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.studies.trials import storage as storages
from spacy_longtail.studies.trials.compose import read_base
from spacy_longtail.studies.trials.engine import here
from spacy_longtail.studies.trials.filling import fill
from spacy_longtail.studies.trials.keys import digest
from spacy_longtail.studies.trials.ledger import read_lines
from spacy_longtail.studies.trials.process import Outcome
from spacy_longtail.studies.trials.storage import open_storage
from spacy_longtail.studies.tuning import run as tuning_run
from spacy_longtail.studies.tuning import search as tuning_search
from spacy_longtail.studies.tuning.best_config import write_best
from spacy_longtail.studies.tuning.draws import BASELINE, baseline_of, best_of
from spacy_longtail.studies.tuning.dry_run import search_outlook
from spacy_longtail.studies.tuning.holdout import hold_out
from spacy_longtail.studies.tuning.report import write_search
from spacy_longtail.studies.tuning.run import Options, Workers, run_search
from spacy_longtail.studies.tuning.search import Search, read_config
from spacy_longtail.studies.tuning.space import read_space
from spacy_longtail.studies.tuning.watch import Watch
from tests.project.test_cli import CONFIG
from tests.util import evaluation_data, run_spacy, toy_corpus

pytest.importorskip("optuna")
RUN = CliRunner()
LAM = "components.ner.loss.lam"
TINY = {
    "training.max_steps": 6,
    "training.eval_frequency": 2,
    "components.tok2vec.model.width": 16,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 100,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Its test part cannot be read: whoever tries fails."""
    folder = toy_corpus(tmp_path_factory.mktemp("corpus") / "tiny")
    (folder / "test.spacy").rename(folder / "test.kept")
    (folder / "test.spacy").write_bytes(b"nobody reads this")
    return folder


def space_of(*given, loss="MoM", settings=None, **choices):
    config = read_config(None, {**({"loss": loss} if loss else {}), **choices}, settings or TINY)
    return read_space(config, list(given))


def search_of(corpus, output, *given, seed=0, **choices):
    return Search(space_of(*(given or ["lam"]), **choices), corpus, output, seed)


def finished(score, seconds=0.0, steps=(0, 2, 4, 6)):
    """A runner that trains nothing: its score is a function of the values."""

    def run(draw, work, stop):
        best = work / "model" / "model-best"
        best.mkdir(parents=True)
        (best / "number").write_text(str(draw.number))
        found = score(draw.values)
        write_curve(work, [(step, found) for step in steps])
        (work / "dev.json").write_text(json.dumps({"scores": {"ents_macro_f": found}}))
        time.sleep(seconds)
        return Outcome("done", 1.0, "")

    return run


def no_runner(draw, work, stop):
    raise AssertionError("it is run")


def write_curve(work, points):
    path = work / "model" / "curve.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": s, "scores": {"ents_macro_f": 100 * f}}) + "\n" for s, f in points]
    path.write_text("".join(lines))


def near(values):
    """Best at lam 0.3."""
    return 0.9 - abs(values["lam"] - 0.3)


CASES = [
    ({}, "lam", (LAM, 0.0, 1.0, 1.0)),
    ({"loss": "focal"}, "gamma", ("components.ner.loss.gamma", 0.0, 10.0, 0.0)),
    ({"loss": "weighted"}, "beta", ("components.ner.loss.weights.beta", 1.0, 10.0, 1.0)),
    ({"reader": "sCR"}, "cap", ("corpora.train.repeats.cap", 2, 20, None)),
    (
        {"head": "two_task", "loss": "AUC-2T"},
        "begin_weight",
        ("components.ner.loss.begin_weight", 1.0, 1000.0, 100.0),
    ),
    (
        {"head": "two_task", "loss": "COMAUC-2T"},
        "begin_weight",
        ("components.ner.loss.auc.begin_weight", 1.0, 1000.0, 100.0),
    ),
    ({"gate": "gated"}, "threshold", ("components.gate.threshold", 0.05, 0.95, 0.5)),
    ({}, "learning_rate", ("training.optimizer.learn_rate", 0.0001, 0.01, 0.001)),
    (
        {"encoder": "transformer"},
        "learning_rate",
        ("training.optimizer.learn_rate.initial_rate", 0.000005, 0.0005, 0.00005),
    ),
]


@pytest.mark.parametrize(("choices", "name", "expected"), CASES)
def test_a_named_parameter_is_found_in_the_config(choices, name, expected):
    space = space_of(name, settings={}, **choices)
    (found,) = space.parameters
    place, low, high, baseline = expected
    assert found.places(space.config) == [place]
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.baseline == baseline
    assert found.log == (name in ("begin_weight", "learning_rate"))
    section, _, last = place.rpartition(".")
    block = space.configure({name: low})
    for part in section.split("."):
        block = block[part]
    assert block[last] == low


def test_without_names_it_is_what_the_config_has():
    assert [p.name for p in space_of().parameters] == ["lam"]
    assert [p.name for p in space_of(reader="sCR").parameters] == ["lam", "cap"]
    with pytest.raises(ValueError, match=r"L481.*lam, gamma"):
        space_of(loss=None)


def test_any_config_value_can_be_searched():
    texts = ["training.batcher.size=100:2000:log", "training.dropout=0:1", "nlp.batch_size=8,16"]
    whole, part, choice = space_of(*texts, "lam=0.1:0.5:log").parameters[:3]
    assert (whole.whole, whole.log, whole.baseline) == (True, True, 1000)
    assert (part.whole, part.log, part.high) == (False, False, 1.0)
    assert choice.choices == (8, 16)
    (every,) = space_of("training.dropout=null,true,0.5,much").parameters
    assert every.choices == (None, True, 0.5, "much")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["gamma"], "L482.*longtail.Focal.v1.*--loss focal"),
        (["cap"], "L482.*--reader sCR"),
        (["threshold"], "L482"),
        (["lambda"], "L483.*unknown"),
        (["lam="], "L483"),
        (["lam=1:0"], "L483.*must go up"),
        (["lam=0.5:0.5"], "L483.*must go up"),
        (["lam=nan:1"], "L483"),
        (["lam=0:inf"], "L483"),
        (["lam=low:high"], "L483.*not a range"),
        (["lam=0:1:log"], "L483.*above 0"),
        (["training.dropout"], "L483.*no range"),
        (["training.dropout=0.1"], "L483.*two at least"),
        (["training.dropout=0.1,0.1"], "L483.*each once"),
        (["training.dropout=[1],2"], "L483.*choices"),
        (["training.max_steps=100:200"], "L483.*equal steps"),
        (["training.patience=100,200"], "L483.*equal steps"),
        (["policy=plain,sCX"], "L483.*sCX"),
        (["policy", "cap=2.5:4"], "L483.*whole"),
        (["nope.lam=0:1"], "L471.*nope"),
        (["lam", f"{LAM}=0:1"], "L483.*same value"),
        (["lam", "lam"], "L483.*same value"),
    ],
)
def test_what_cannot_be_searched_is_a_coded_error(given, code):
    with pytest.raises(ValueError, match=code):
        space_of(*given)


@pytest.mark.parametrize(
    ("choices", "settings", "code"),
    [
        ({"loss": "mom"}, {}, "L485.*--loss 'mom'.*MoM"),
        ({}, {"training.max_steps": 0}, "L488"),
        ({}, {"training.max_steps": None}, "L488"),
        ({}, {"training.max_steps": "many"}, "L488"),
        ({}, {"training.eval_frequency": 0}, "L438.*eval_frequency must be a whole.*found 0"),
        ({}, {"training.eval_frequency": None}, "L438.*found None"),
        ({}, {"training.max_steps": 299}, "L484.*2 evaluations in 299 steps.*eval_frequency=99"),
        ({}, {"nope.x": 1}, "L471"),
        ({}, {"paths.train": "elsewhere.spacy"}, "L516.*paths.train"),
        ({}, {"paths.dev": "elsewhere.spacy"}, "L516.*paths.dev"),
        ({}, {"training.max_steps": "${nope.x}"}, "L486"),
        ({}, {"training.patience": 100}, "L516.*training.patience.*ignored.*--steps"),
        ({}, {"training.max_epochs": 5}, "L516.*training.max_epochs.*ignored"),
    ],
)
def test_a_config_that_cannot_be_searched_is_a_coded_error(choices, settings, code):
    with pytest.raises(ValueError, match=code):
        read_config(None, choices, settings)


@pytest.mark.parametrize(("given", "kept"), [(5, 0), (-1, -1), (None, 0), ("${system.seed}", 0)])
def test_all_trials_train_equal_steps(tmp_path, given, kept):
    config = read_base(None)
    config["training"] |= {"patience": 100, "max_epochs": given}
    config.to_disk(tmp_path / "own.cfg", interpolate=False)
    training = read_config(tmp_path / "own.cfg", {}, {})["training"]
    assert (training["patience"], training["max_epochs"]) == (0, kept)


def test_a_range_that_cannot_be_built_is_a_coded_error(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", "lam=0:2")
    with pytest.raises(ValueError, match=r"L486.*lam = 2.*L001"):
        run_search(search, Options(1))
    with pytest.raises(ValueError, match=r"L482.*drop_out"):
        search_of(corpus, tmp_path / "out", "training.drop_out=0.1:0.2").check()


def test_the_baseline_has_what_spacy_fills_in(corpus, tmp_path, monkeypatch):
    config = read_config(CONFIG, {}, TINY)
    del config["training"]["dropout"]
    del config["components"]["tok2vec"]["model"]["window_size"]

    def first(*given):
        return read_space(config, list(given)).first()

    assert first("training.dropout=0.3:0.5") == {"training.dropout": 0.1}
    assert first("components.ner.moves=null,x") == {"components.ner.moves": None}
    assert first("components.tok2vec.model.window_size=1:2") == {}  # no default: it stays left out
    built = []
    monkeypatch.setattr(tuning_search, "fill", lambda *given: built.append(given[-1]) or fill(*given))
    search_of(corpus, tmp_path / "out", "lam=0.1:0.5").check()
    assert built == [{}, {"lam": 1.0}, {"lam": 0.1}, {"lam": 0.5}]


def test_a_policy_exchanges_the_reader_and_brings_its_cap():
    space = space_of("cap", "policy", reader="sCR")
    assert [p.name for p in space.parameters] == ["policy", "cap"]
    plain = space.configure({"policy": "plain"})
    assert plain["corpora"]["train"] == plain["corpora"]["plain"]
    capped = space.configure({"policy": "nsCRD", "cap": 3})["corpora"]["train"]
    assert capped["@readers"] == "longtail.ResampledCorpus.v1"
    assert capped["repeats"] == {"@misc": "longtail.nsCRD.v1", "cap": 3}
    with pytest.raises(ValueError, match=r"L482.*policy"):  # its augmenter would be lost
        space_of("policy", reader="augmented")


def test_trial_0_is_the_baseline(corpus, tmp_path):
    search = search_of(
        corpus, tmp_path / "out", "policy", "cap", "lam=0.1:0.5", "training.dropout=0:0.5"
    )
    tried = run_search(search, Options(3), finished(lambda values: 0.5))
    first = {"policy": "plain", "lam": 1.0, "training.dropout": 0.2}  # lam is out of range, and no cap
    assert [t.is_baseline for t in tried] == [True, False, False]
    assert tried[0].values == first
    storage = open_storage(None, search.output / "study.db")
    told = storage.get_all_trials(1)[0]
    assert told.params == {"policy": "plain", "training.dropout": 0.2}  # what could have been drawn
    assert baseline_of(tried) == tried[0] == best_of(tried)  # of equals the baseline
    assert all(0.1 <= t.values["lam"] <= 0.5 for t in tried[1:])
    assert all(("cap" in t.values) == (t.values["policy"] != "plain") for t in tried)
    assert search.space.configure(tried[0].values)["components"]["ner"]["loss"]["lam"] == 1.0


def test_a_seed_fixes_the_draws_also_after_a_restart(corpus, tmp_path):
    def lams(name, *runs, seed=0):
        search = search_of(corpus, tmp_path / name, seed=seed)
        for n_trials in runs:
            tried = run_search(search, Options(n_trials), finished(near))
        return [trial.values["lam"] for trial in tried]

    first = lams("once", 14)
    assert len(set(first)) > 12
    assert lams("again", 14) == first
    assert lams("resumed", 3, 12, 14) == first
    assert lams("other", 14, seed=1)[1:] != first[1:]
    late = [abs(lam - 0.3) for lam in first[11:]]
    assert sum(late) / len(late) < 0.25  # of uniform draws 0.29


def test_another_search_is_another_study(corpus, tmp_path):
    names = {
        search_of(corpus, tmp_path).name,
        search_of(corpus, tmp_path, "lam=0:0.5").name,
        search_of(corpus, tmp_path, seed=1).name,
        search_of(corpus, tmp_path, settings={**TINY, "training.dropout": 0.3}).name,
    }
    assert len(names) == 4
    assert search_of(corpus, tmp_path / "elsewhere").name in names


def test_a_hopeless_training_is_pruned_and_its_process_ends(corpus, tmp_path):
    """A real one, whose scores are read while it goes on."""
    steps = range(0, 3001, 100)
    settings = {**TINY, "training.max_steps": steps[-1], "training.eval_frequency": 100}
    search = Search(space_of("lam", settings=settings), corpus, tmp_path / "out")
    run_search(search, Options(6, workers=3), finished(lambda values: 1.1, steps=steps))
    outcomes = []

    def run(draw, work, stop):
        outcomes.append(tuning_run.run_draw(search, Options(7), draw, work, stop))
        return outcomes[-1]

    *_, last = run_search(search, Options(7), run)
    (outcome,) = outcomes
    assert outcome.status == "stopped" and outcome.error == f"Pruned after step {max(last.curve)}."
    assert last.status == "pruned" and last.score == max(last.curve.values())
    assert 1000 <= max(last.curve) < 3000  # a third of the steps is safe
    assert not list((tmp_path / "out" / "work").iterdir())
    assert read_lines(search.records)[-1]["status"] == "pruned"


def test_the_baseline_is_never_pruned_nor_who_is_done(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    search.output.mkdir()
    run_search(search, Options(6), finished(lambda values: 0.9))
    workers = Workers(search, Options(7), no_runner)
    draw = workers.draw(workers.take())
    write_curve(tmp_path, [(0, 0.1)])
    watch = Watch(draw, tmp_path, 6, lambda: None)
    assert watch() is None  # too early
    write_curve(tmp_path, [(0, 0.1), (2, 0.1)])
    assert Watch(draw._replace(is_baseline=True), tmp_path, 6, lambda: None)() is None
    assert Watch(draw, tmp_path, 2, lambda: None)() is None
    assert Watch(draw, tmp_path, 6, lambda: "Interrupted.")() == "Interrupted."
    assert watch() == "Pruned after step 2."
    assert watch.is_pruned


def test_a_trial_that_fails_is_recorded_and_the_rest_go_on(corpus, tmp_path):
    def run(draw, work, stop):
        if draw.number == 1:
            return Outcome("failed", 2.0, "ValueError: a\nlast line")
        return finished(near)(draw, work, stop)

    search = search_of(corpus, tmp_path / "out")
    tried = run_search(search, Options(4), run)
    assert [t.status for t in tried] == ["done", "failed", "done", "done"]
    records = read_lines(search.records)
    assert [record["number"] for record in records] == [0, 1, 2, 3]
    assert records[1]["error"].endswith("last line")
    assert "place" not in records[0]
    assert run_search(search, Options(4), run) == tried  # nothing is run again, nor recorded
    assert len(read_lines(search.records)) == 4


def test_models_of_the_baseline_and_the_best_are_kept(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    tried = run_search(search, Options(6), finished(near))
    kept = {search.model(0), search.model(best_of(tried).number)}
    assert set((tmp_path / "out" / "models").iterdir()) == kept
    best = search.model(best_of(tried).number) / "model-best" / "number"
    assert best.read_text() == str(best_of(tried).number)


def test_a_damaged_study_is_searched_again_and_each_trial_is_recorded_once(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    run_search(search, Options(3), finished(near))
    study = search.output / "study.db"
    study.write_bytes(study.read_bytes()[:10_000])
    assert "damaged" in " ".join(search_outlook(search, Options(3, minutes=1), print).facts)
    with pytest.warns(UserWarning, match=r"LW109.*tune\.jsonl with it.*run again"):
        run_search(search, Options(2), finished(near))
    assert [line["key"] for line in read_lines(search.records)] == [search.key(0), search.key(1)]
    (aside,) = search.output.glob("tune.jsonl.*")
    assert len(read_lines(aside)) == 3 and len(list(search.output.glob("study.db.*"))) == 1


def test_records_whose_study_is_gone_are_set_aside(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    run_search(search, Options(3), finished(near))
    (search.output / "study.db").unlink()
    assert "gone" in " ".join(search_outlook(search, Options(3, minutes=1), print).facts)
    with pytest.warns(UserWarning, match=r"LW110.*tune\.jsonl.*run again"):
        run_search(search, Options(2), finished(near))
    assert [line["key"] for line in read_lines(search.records)] == [search.key(0), search.key(1)]
    (aside,) = search.output.glob("tune.jsonl.*")
    assert len(read_lines(aside)) == 3


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_the_trial_of_a_killed_worker_is_tried_again(corpus, tmp_path, storage, monkeypatch):
    monkeypatch.setattr(storages, "BEAT", 1)
    monkeypatch.setattr(storages, "GRACE", 3)
    search = search_of(corpus, tmp_path / "out")
    storage = storage and f"sqlite:///{tmp_path}/study.db"
    run_search(search, Options(2, storage=storage), finished(near))
    workers = Workers(search, Options(4, storage=storage), no_runner)
    trial = workers.take()
    with workers._alive(trial):
        lost = workers.draw(trial)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    work = search.output / "work" / f"{search.name}-{lost.number}@{here()}@{dead.pid}"
    work.mkdir()
    tried = run_search(search, Options(4, storage=storage), finished(near))
    assert [t.status for t in tried] == ["done"] * 4
    assert lost.values in [t.values for t in tried]
    assert lost.number not in [t.number for t in tried]
    assert not work.exists()


def test_the_baseline_of_a_killed_worker_stays_the_baseline(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")

    def broken(draw, work, stop):
        raise OSError(28, "No space left")

    with pytest.raises(OSError, match="No space"):
        run_search(search, Options(2), broken)
    tried = run_search(search, Options(2), finished(near))
    assert [t.is_baseline for t in tried] == [True, False]
    assert tried[0].values == {"lam": 1.0}


def test_two_machines_share_the_trials(corpus, tmp_path, storage, monkeypatch):
    searches = [search_of(corpus, tmp_path / name) for name in "ab"]
    found, both = {}, threading.Barrier(2)

    def opened(*arguments):  # neither begins before the other could
        study = open_storage(*arguments)
        both.wait(60)
        return study

    monkeypatch.setattr(tuning_run, "open_storage", opened)

    def machine(i):
        options = Options(9, workers=2, storage=storage)
        found[i] = run_search(searches[i], options, finished(near, seconds=0.3))

    threads = [threading.Thread(target=machine, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found[0]) == 9
    assert found[0] == found[1]
    assert sum(trial.is_baseline for trial in found[0]) == 1
    assert len({trial.place for trial in found[0]}) == 2
    for search in searches:
        records = read_lines(search.records)
        assert sorted(r["number"] for r in records) == [trial.number for trial in found[0]]


def test_of_two_baselines_or_two_retries_the_first_counts(corpus, tmp_path):
    """Two machines may put up the same at the same moment."""
    search = search_of(corpus, tmp_path / "out")
    one, two = (Workers(search, Options(5), no_runner) for _ in "ab")
    for each in (one, two):
        each.put_up(BASELINE)
    first, second = one.draw(one.take()), two.draw(two.take())
    assert (first.is_baseline, second.is_baseline) == (True, False)
    for each in (one, two):
        each.give_back(second.trial)
    third, fourth = one.draw(one.take()), two.draw(two.take())
    assert third.values == second.values != fourth.values
    assert fourth.trial.user_attrs["attempt"] == 0


def test_fewer_trials_are_enough_for_a_search_that_was_stopped(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")

    def breaks(draw, work, stop):
        if draw.number == 2:
            raise OSError(28, "No space left")
        return finished(near)(draw, work, stop)

    with pytest.raises(OSError, match="No space"):
        run_search(search, Options(20), breaks)
    assert len(run_search(search, Options(4), finished(near))) == 4


def test_a_folder_of_something_else_is_refused(corpus, tmp_path):
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ValueError, match="L476"):
        search_of(corpus, tmp_path)
    with pytest.raises(ValueError, match="L434"):
        search_of(corpus, tmp_path / "mine.txt")


@pytest.fixture
def found(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", "policy=sC,sCR", "cap", "lam", "learning_rate")

    def score(values):
        return near(values) + 0.01 * (values["policy"] != "plain")

    return search, run_search(search, Options(5), finished(score))


def test_the_best_config_is_complete_and_commented(found, corpus):
    search, tried = found
    best = best_of(tried)
    path = write_best(search, tried, best, baseline_of(tried), "python -m spacy_longtail tune tiny")
    text = path.read_text(encoding="utf8")
    config = load_config(path, interpolate=True)
    assert config["components"]["ner"]["loss"]["lam"] == best.values["lam"]
    assert config["corpora"]["train"]["repeats"]["@misc"] == f"longtail.{best.values['policy']}.v1"
    assert config["corpora"]["train"]["repeats"]["cap"] == best.values["cap"]
    assert config["longtail"]["labels"] == ["PER", "GEO", "ART", "NAT"]
    assert config["paths"]["train"] == str(corpus / "train.spacy")
    assert fill(load_config(path), corpus, {}) == load_config(path)  # nothing to fill in
    assert "${corpora.plain}" in text  # variables stay
    assert f"# tuned: lam, 0 to 1; the baseline has 1.0\nlam = {best.values['lam']}\n" in text
    assert "# tuned: policy, sC, sCR; the baseline has plain\n[corpora.train]\n" in text
    assert re.search(r"# tuned: cap, 2 to 20; the baseline has none\ncap = \d+\n", text)
    assert text.startswith("# The best of 5 trials (0 pruned) of 6 steps")
    assert "# Made by: python -m spacy_longtail tune tiny" in text


def test_the_report_shows_every_trial_and_loads_nothing(found):
    search, tried = found
    tried[2] = tried[2]._replace(status="pruned")
    tried[3] = tried[3]._replace(status="failed", score=None, curve={}, error="x\n<b>no</b>")
    page = write_search(search, tried, best_of(tried), None, "made so")
    html, text = (page.with_suffix(suffix).read_text(encoding="utf8") for suffix in (".html", ".md"))
    assert not re.search(r"""(src|href)=["'](?!#|data:)|url\((?!["']?(#|data:))|@import""", html)
    assert html.count("<svg") == 4
    assert ">plain</text>" in html
    assert ">0.001</text>" in html
    assert "mathdefault" not in html
    assert "pruned (best so far)" in html
    assert "&lt;b&gt;no" in html
    assert len(re.findall(r"^\| \d", text, re.MULTILINE)) == 5
    assert f"| {best_of(tried).number} (best)" in text
    assert "| 0 (baseline)" in text
    assert "Test was not looked at." in html
    assert "Test was not looked at." in text


def evaluation(n_right):
    """Of 8 documents with a PER each, n_right of them found."""
    gold = [[0, 3, "PER"]]
    found = [[[0, 3, "PER", None]] if i < n_right else [] for i in range(8)]
    scores = dict.fromkeys(("ents_macro_f", "ents_tail_f", "ents_f"), n_right / 8)
    text = {"text": "Ann left.", "sentences": [[0, 9]], "gold": gold}
    return evaluation_data([{**text, "predicted": p} for p in found], scores=scores)


def test_test_is_read_once_and_a_second_look_is_warned_of(found):
    search, tried = found
    best, first = best_of(tried), baseline_of(tried)
    for trial in (best, first):
        (search.model(trial.number)).rename(search.output / f"gone-{trial.number}")
    with pytest.warns(UserWarning, match=r"LW093.*another machine"):
        assert hold_out(search, best, first, -1) is None
    for trial, n_right in ((first, 1), (best, 8)):  # as an earlier look left them
        path = search.output / "tested" / f"{search.name}-{digest(trial.values)}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(evaluation(n_right)))
    held = hold_out(search, best, first, -1)
    assert (held.baseline["macro F1"], held.best["macro F1"]) == (0.125, 1.0)
    assert held.verdicts["micro F1"].outcome == "better"
    assert any("improves" in text for text in held.findings)
    other = next(trial for trial in tried if trial not in (best, first))
    path = search.output / "tested" / f"{search.name}-{digest(other.values)}.json"
    path.write_text(json.dumps(evaluation(2)))
    with pytest.warns(UserWarning, match="LW094"):
        hold_out(search, best, first, -1)


def test_checkpoints_by_another_score_are_warned_of(corpus, tmp_path):
    config = read_config(CONFIG, {}, {**TINY, "training.score_weights": {"ents_f": 1.0}})
    space = read_space(config, ["training.dropout=0.1:0.3"])
    with pytest.warns(UserWarning, match="LW092.*ents_f"):
        Search(space, corpus, tmp_path / "out").check()
    # spaCy adds the weights of the pipes themselves
    config = read_config(CONFIG, {}, {**TINY, "training.score_weights": {"ents_macro_f": 1.0}})
    space = read_space(config, ["training.dropout=0.1:0.3"])
    with pytest.warns(UserWarning, match="LW092.*ents_f, ents_macro_f"):
        Search(space, corpus, tmp_path / "out").check()


def command(corpus, output, *more):
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    return ["tune", str(corpus), "--loss", "MoM", *settings, "-o", str(output), *more]


def test_what_a_user_gets_wrong_ends_with_a_message(corpus, tmp_path):
    for more, code in [
        (["--search", "gamma"], "L482"),
        (["--head", "soft"], "L485"),
        (["--outputs", "descried", "--trials", "1"], "L485"),
        (["--gazetteer", "names"], "L485"),
        (["--steps", "3"], "L484"),
        (["--config", "none.cfg"], "L402"),
        (["--storage", "nope://x"], "L477"),
    ]:
        done = RUN.invoke(app, command(corpus, tmp_path / "out", *more))
        assert (done.exit_code, code in done.output) == (2, True), done.output


def test_a_search_without_a_single_result_says_why(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning_run, "run_draw", lambda *_: Outcome("failed", 1.0, "trace\nthe reason."))
    done = RUN.invoke(app, command(corpus, tmp_path / "out", "--trials", "2"))
    assert done.exit_code == 2
    assert "L487" in done.output
    assert "the reason." in done.output


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_a_search_from_the_command_line(corpus, tmp_path):
    output = tmp_path / "out"
    done = RUN.invoke(app, command(corpus, output, "--trials", "2", "--json"))
    assert done.exit_code == 0, done.output  # and nobody has read test
    result = json.loads(done.stdout)
    assert [t["status"] for t in result["trials"]] == ["done", "done"]
    assert result["trials"][0]["curve"][-1][0] == 6
    assert result["test"] is None
    kept = output / "models" / f"{read_lines(output / 'tune.jsonl')[0]['key']}" / "model-best"
    spacy.load(kept)
    few = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
    run_spacy("train", output / "best.cfg", *few)
    broken = RUN.invoke(app, command(corpus, output, "--trials", "2", "--test"))
    assert broken.exit_code == 2
    assert "L404" in broken.output  # now it is read
