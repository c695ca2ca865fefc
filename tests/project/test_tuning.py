"""Searches: spaces, draws, pruning, the best config, the report."""

import json
import re
from pathlib import Path

import pytest
import spacy
from spacy.util import load_config
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.studies.trials.compose import read_base
from spacy_longtail.studies.trials.filling import fill
from spacy_longtail.studies.trials.process import Outcome
from spacy_longtail.studies.tuning import run as tuning_run
from spacy_longtail.studies.tuning import search as tuning_search
from spacy_longtail.studies.tuning.best_config import write_best
from spacy_longtail.studies.tuning.draws import baseline_of, best_of
from spacy_longtail.studies.tuning.report import write_search
from spacy_longtail.studies.tuning.run import Options, run_search
from spacy_longtail.studies.tuning.search import Search, read_config
from spacy_longtail.studies.tuning.space import read_space
from tests.project.test_cli import CONFIG
from tests.util import run_spacy, toy_corpus

pytest.importorskip("optuna")
RUN = CliRunner()
ROOT = Path(__file__).parents[2]
MOM = ROOT / "configs" / "resampled_mom.cfg"
LAM, DROPOUT = "components.ner.loss.lam", "training.dropout"
SEARCH = f"{LAM}=0:1"
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


def space_of(*given, config=MOM, settings=None):
    return read_space(read_config(config, settings or TINY), list(given))


def search_of(corpus, output, *given, seed=0, **settings):
    return Search(space_of(*(given or [SEARCH]), **settings), corpus, output, seed)


def finished(score, steps=(0, 2, 4, 6)):
    """A runner that trains nothing: its score is a function of the values."""

    def run(trial, work, stop):
        best = work / "model" / "model-best"
        best.mkdir(parents=True)
        (best / "number").write_text(str(trial.number))
        found = score(trial.user_attrs["values"])
        for n in range(1, len(steps) + 1):
            write_curve(work, [(step, found) for step in steps[:n]])
            if (why := stop()) is not None:
                return Outcome("stopped", 1.0, why)
        (work / "dev.json").write_text(json.dumps({"scores": {"ents_macro_f": found}}))
        return Outcome("done", 1.0, "")

    return run


def write_curve(work, points):
    path = work / "model" / "curve.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"step": s, "scores": {"ents_macro_f": 100 * f}}) + "\n" for s, f in points]
    path.write_text("".join(lines))


def near(values):
    """Best at lam 0.3."""
    return 0.9 - abs(values[LAM] - 0.3)


def test_any_config_value_can_be_searched():
    texts = ["training.batcher.size=100:2000:log", "training.dropout=0:1", "nlp.batch_size=8,16"]
    whole, part, choice, lam = space_of(*texts, f"{LAM}=0.1:0.5:log").parameters
    assert (whole.whole, whole.log, whole.baseline) == (True, True, 1000)
    assert (part.whole, part.log, part.high) == (False, False, 1.0)
    assert choice.choices == (8, 16) and (lam.low, lam.high, lam.log) == (0.1, 0.5, True)
    (every,) = space_of("training.dropout=null,true,0.5,much").parameters
    assert every.choices == (None, True, 0.5, "much")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["lam=0:1"], "L483.*no section"),
        ([f"{LAM}="], "L483"),
        ([f"{LAM}=1:0"], "L483.*must go up"),
        ([f"{LAM}=0.5:0.5"], "L483.*must go up"),
        ([f"{LAM}=nan:1"], "L483"),
        ([f"{LAM}=0:inf"], "L483"),
        ([f"{LAM}=low:high"], "L483.*not a range"),
        ([f"{LAM}=0:1:log"], "L483.*above 0"),
        ([DROPOUT], "L483.*no range"),
        ([f"{DROPOUT}=0.1"], "L483.*two at least"),
        ([f"{DROPOUT}=0.1,0.1"], "L483.*each once"),
        ([f"{DROPOUT}=[1],2"], "L483.*choices"),
        (["training.max_steps=100:200"], "L483.*equal steps"),
        (["training.patience=100,200"], "L483.*equal steps"),
        (["nope.lam=0:1"], "L471.*nope"),
        ([SEARCH, f"{LAM}=0:0.5"], "L483.*twice"),
    ],
)
def test_what_cannot_be_searched_is_a_coded_error(given, code):
    with pytest.raises(ValueError, match=code):
        space_of(*given)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"training.max_steps": 0}, "L488"),
        ({"training.max_steps": None}, "L488"),
        ({"training.max_steps": "many"}, "L488"),
        ({"training.eval_frequency": 0}, "L438.*eval_frequency must be a whole.*found 0"),
        ({"training.eval_frequency": None}, "L438.*found None"),
        ({"training.max_steps": 299, "training.eval_frequency": 100}, "L484.*2 evaluations in 299"),
        ({"nope.x": 1}, "L471"),
        ({"paths.train": "elsewhere.spacy"}, "L516.*paths.train"),
        ({"training.max_steps": "${nope.x}"}, "L486"),
        ({"training.patience": 100}, "L516.*training.patience.*ignored.*--steps"),
        ({"training.max_epochs": 5}, "L516.*training.max_epochs.*ignored"),
    ],
)
def test_a_config_that_cannot_be_searched_is_a_coded_error(settings, code):
    with pytest.raises(ValueError, match=code):
        read_config(MOM, settings)


@pytest.mark.parametrize(("given", "kept"), [(5, 0), (-1, -1), (None, 0), ("${system.seed}", 0)])
def test_all_trials_train_equal_steps(tmp_path, given, kept):
    config = read_base(None)
    config["training"] |= {"patience": 100, "max_epochs": given}
    config.to_disk(tmp_path / "own.cfg", interpolate=False)
    training = read_config(tmp_path / "own.cfg", {})["training"]
    assert (training["patience"], training["max_epochs"]) == (0, kept)


def test_a_range_that_cannot_be_built_is_a_coded_error(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", f"{LAM}=0:2")
    with pytest.raises(ValueError, match=r"L486.*lam = 2"):
        run_search(search, Options(1))
    with pytest.raises(ValueError, match=r"L482.*drop_out"):
        search_of(corpus, tmp_path / "out", "training.drop_out=0.1:0.2").check()


def test_the_baseline_has_what_spacy_fills_in(corpus, tmp_path, monkeypatch):
    config = read_config(CONFIG, TINY)
    del config["training"]["dropout"]
    del config["components"]["tok2vec"]["model"]["window_size"]

    def first(*given):
        return read_space(config, list(given)).baseline()

    assert first(f"{DROPOUT}=0.3:0.5") == {DROPOUT: 0.1}
    assert first("components.ner.moves=null,x") == {"components.ner.moves": None}
    assert first("components.tok2vec.model.window_size=1:2") == {}  # no default: it stays left out
    built = []
    monkeypatch.setattr(tuning_search, "fill", lambda *given: built.append(given[-1]) or fill(*given))
    search = search_of(corpus, tmp_path / "out", f"{LAM}=0.1:0.5")
    search.check()
    assert built == [{}, search.space.baseline(), {LAM: 0.1}, {LAM: 0.5}]


def test_the_first_trial_is_the_baseline(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", f"{LAM}=0.6:0.9", f"{DROPOUT}=0:0.5")
    tried = run_search(search, Options(3), finished(lambda values: 0.5))
    assert [t.is_baseline for t in tried] == [True, False, False]
    own = search.space.config["components"]["ner"]["loss"]["lam"]
    assert tried[0].values[LAM] == own < 0.6  # out of the range
    assert baseline_of(tried) == tried[0] == best_of(tried)  # of equals the baseline
    assert all(0.6 <= t.values[LAM] <= 0.9 for t in tried[1:])
    assert run_search(search, Options(2), finished(near)) == tried  # enough are there


def test_a_seed_fixes_the_draws(corpus, tmp_path):
    def lams(name, seed=0):
        search = search_of(corpus, tmp_path / name, seed=seed)
        tried = run_search(search, Options(14), finished(near))
        return [trial.values[LAM] for trial in tried if trial.status == "done"]

    first = lams("once")
    assert lams("again") == first != lams("other", seed=1)


def test_another_search_is_another_study(corpus, tmp_path):
    names = {
        search_of(corpus, tmp_path).name,
        search_of(corpus, tmp_path, f"{LAM}=0:0.5").name,
        search_of(corpus, tmp_path, seed=1).name,
        search_of(corpus, tmp_path, settings={**TINY, "training.dropout": 0.3}).name,
    }
    assert len(names) == 4
    assert search_of(corpus, tmp_path / "elsewhere").name in names


def test_a_hopeless_training_is_pruned(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    run_search(search, Options(6), finished(lambda values: 0.9))
    *_, last = run_search(search, Options(7), finished(lambda values: 0.1))
    assert (last.status, last.score) == ("pruned", 0.1)
    assert max(last.curve) == 2  # the first third of the steps is safe
    assert not search.model(last.number).exists()


def test_the_process_of_a_pruned_training_ends(corpus, tmp_path):
    """A real one, whose scores are read while it goes on."""
    steps = range(0, 3001, 100)
    settings = {**TINY, "training.max_steps": steps[-1], "training.eval_frequency": 100}
    search = search_of(corpus, tmp_path / "out", settings=settings)
    run_search(search, Options(6), finished(lambda values: 1.1, steps=steps))
    outcomes = []

    def run(trial, work, stop):
        outcomes.append(tuning_run.run_trial(search, Options(7), trial, work, stop))
        return outcomes[-1]

    *_, last = run_search(search, Options(7), run)
    (outcome,) = outcomes
    assert outcome.status == "stopped" and outcome.error == f"Pruned after step {max(last.curve)}."
    assert last.status == "pruned" and last.score == max(last.curve.values())
    assert 1000 <= max(last.curve) < 3000
    assert not list((tmp_path / "out").glob("work-*"))


def test_a_trial_that_fails_is_recorded_and_the_rest_go_on(corpus, tmp_path):
    def run(trial, work, stop):
        if trial.number == 1:
            return Outcome("failed", 2.0, "ValueError: a\nlast line")
        return finished(near)(trial, work, stop)

    search = search_of(corpus, tmp_path / "out")
    tried = run_search(search, Options(4), run)
    assert [t.status for t in tried] == ["done", "failed", "done", "done"]
    assert tried[1].error.endswith("last line")
    assert run_search(search, Options(4), run) == tried  # nothing is run again


def test_models_of_the_baseline_and_the_best_are_kept(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    tried = run_search(search, Options(6), finished(near))
    kept = {search.model(0), search.model(best_of(tried).number)}
    assert set((tmp_path / "out" / "models").iterdir()) == kept
    best = search.model(best_of(tried).number) / "model-best" / "number"
    assert best.read_text() == str(best_of(tried).number)


def test_the_baseline_that_was_interrupted_is_tried_again(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")

    def broken(trial, work, stop):
        raise OSError(28, "No space left")

    with pytest.raises(ValueError, match=r"L432.*No space"):
        run_search(search, Options(2), broken)
    tried = run_search(search, Options(2), finished(near))
    assert [t.is_baseline for t in tried] == [True, False]
    assert tried[0].values == search.space.baseline()


def test_fewer_trials_are_enough_for_a_search_that_was_stopped(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")

    def breaks(trial, work, stop):
        if trial.number == 2:
            raise OSError(28, "No space left")
        return finished(near)(trial, work, stop)

    with pytest.raises(ValueError, match=r"L432.*No space"):
        run_search(search, Options(20), breaks)
    assert len(run_search(search, Options(4), finished(near))) == 4


def test_a_folder_of_something_else_is_refused(corpus, tmp_path):
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ValueError, match="L476"):
        search_of(corpus, tmp_path)
    with pytest.raises(ValueError, match="L436"):
        search_of(corpus, tmp_path / "mine.txt")


@pytest.fixture
def found(corpus, tmp_path):
    rate = "training.optimizer.learn_rate=0.0001:0.01:log"
    search = search_of(corpus, tmp_path / "out", SEARCH, rate, "corpora.train.repeats.cap=2:20")
    return search, run_search(search, Options(5), finished(lambda values: 1 - abs(values[LAM] - 0.8)))


def test_the_best_config_is_complete_and_commented(found, corpus):
    search, tried = found
    best = best_of(tried)
    path = write_best(search, tried, best, baseline_of(tried), "python -m spacy_longtail tune tiny")
    text = path.read_text(encoding="utf8")
    config = load_config(path, interpolate=True)
    assert config["components"]["ner"]["loss"]["lam"] == best.values[LAM]
    assert config["corpora"]["train"]["repeats"]["cap"] == best.values["corpora.train.repeats.cap"]
    assert config["longtail"]["labels"] == ["PER", "GEO", "ART", "NAT"]
    assert config["paths"]["train"] == str(corpus / "train.spacy")
    assert fill(load_config(path), corpus, {}) == load_config(path)  # nothing to fill in
    assert "${corpora.plain}" in text  # variables stay
    own = search.space.baseline()[LAM]
    assert f"# tuned: 0 to 1; the baseline has {own}\nlam = {best.values[LAM]}\n" in text
    assert re.search(r"# tuned: 2 to 20; the baseline has .+\ncap = \d+\n", text)
    assert text.startswith("# The best of 5 trials (")
    assert "# Made by: python -m spacy_longtail tune tiny" in text


def test_the_report_shows_every_trial_and_loads_nothing(found):
    search, tried = found
    tried[2] = tried[2]._replace(status="pruned")
    tried[3] = tried[3]._replace(status="failed", score=None, curve={}, error="x\n<b>no</b>")
    page = write_search(search, tried, best_of(tried), "made so")
    html, text = (page.with_suffix(suffix).read_text(encoding="utf8") for suffix in (".html", ".md"))
    assert not re.search(r"""(src|href)=["'](?!#|data:)|url\((?!["']?(#|data:))|@import""", html)
    assert html.count("<svg") == 3
    assert ">0.001</text>" in html
    assert "mathdefault" not in html
    assert "pruned (best so far)" in html
    assert "&lt;b&gt;no" in html
    assert len(re.findall(r"^\| \d", text, re.MULTILINE)) == 5
    assert f"| {best_of(tried).number} (best)" in text
    assert "| 0 (baseline)" in text


def test_checkpoints_by_another_score_are_warned_of(corpus, tmp_path):
    config = read_config(CONFIG, {**TINY, "training.score_weights": {"ents_f": 1.0}})
    space = read_space(config, ["training.dropout=0.1:0.3"])
    with pytest.warns(UserWarning, match="LW092.*ents_f"):
        Search(space, corpus, tmp_path / "out").check()
    # spaCy adds the weights of the pipes themselves
    config = read_config(CONFIG, {**TINY, "training.score_weights": {"ents_macro_f": 1.0}})
    space = read_space(config, ["training.dropout=0.1:0.3"])
    with pytest.warns(UserWarning, match="LW092.*ents_f, ents_macro_f"):
        Search(space, corpus, tmp_path / "out").check()


def command(corpus, output, *more, search=SEARCH):
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    own = ["--config", str(MOM), "--search", search, *settings, "-o", str(output)]
    return ["tune", str(corpus), *own, *more]


def test_what_a_user_gets_wrong_ends_with_a_message(corpus, tmp_path):
    spoilt = tmp_path / "spoilt"
    (spoilt / "models").mkdir(parents=True)
    (spoilt / "study.db").write_text("no database")
    for output, search, more, code in [
        (tmp_path / "out", "training.drop_out=0.1:0.2", [], "L482"),
        (tmp_path / "out", "lam=0:1", [], "L483"),
        (tmp_path / "out", SEARCH, ["--steps", "3"], "L484"),
        (tmp_path / "out", SEARCH, ["--config", "none.cfg"], "L402"),
        (spoilt, SEARCH, [], "L477"),
    ]:
        done = RUN.invoke(app, command(corpus, output, *more, search=search))
        assert (done.exit_code, code in done.output) == (2, True), done.output


def test_a_dry_run_lists_the_parameters(corpus, tmp_path):
    done = RUN.invoke(app, command(corpus, tmp_path / "out", "--dry-run", "--trials", "5", "--json"))
    (parameter,) = json.loads(done.stdout)["parameters"]
    assert (parameter["name"], parameter["range"]) == (LAM, "0 to 1")
    text = RUN.invoke(app, command(corpus, tmp_path / "out", "--dry-run", "--trials", "5")).stdout
    assert "5 trials of 6 steps" in text and not (tmp_path / "out").exists()


def test_a_search_without_a_single_result_says_why(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning_run, "run_trial", lambda *_: Outcome("failed", 1.0, "trace\nthe reason."))
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
    for kept in (output / "models").iterdir():
        spacy.load(kept / "model-best")
    few = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
    run_spacy("train", output / "best.cfg", *few)
