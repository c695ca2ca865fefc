"""Searches: spaces, draws, pruning, the best config."""

import json
import os
import platform
import shutil
import subprocess
from unittest.mock import Mock

import pytest
import spacy
from spacy.util import load_config

from spacy_longtail.studies.configs.compose import read_base
from spacy_longtail.studies.configs.recipes import with_corpus_and_defaults
from spacy_longtail.studies.trials.process import ProcessEnd
from spacy_longtail.studies.trials.store import TrialStore
from spacy_longtail.studies.trials.study import TrialOptions
from spacy_longtail.studies.tuning import search as module
from spacy_longtail.studies.tuning.search import best_of, create_search
from spacy_longtail.training.provenance import json_checksum
from tests.trials import record_of
from tests.util import config_file, invoke, new_file, run_spacy, toy_corpus

optuna = pytest.importorskip("optuna")
MOM = config_file("resampled_mom")
CONFIG = config_file("baseline")
LAM, DROPOUT = "components.ner.loss.lam", "training.dropout"
SEARCH = f"{LAM}=0.05:1"
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


def search_of(corpus, output, *given, seed=0, config=MOM, settings=TINY):
    return create_search(config, settings, list(given or [SEARCH]), corpus, output, seed)


def test_a_range_of_whole_numbers_is_searched_for_a_setting_that_takes_no_other(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", "training.accumulate_gradient=1:4")

    search.check()  # builds a pipeline with either end

    (parameter,) = search.parameters
    assert (parameter.low, parameter.high) == (1, 4) and isinstance(parameter.high, int)


def finished(score, steps=(0, 2, 4, 6)):
    """A runner that trains nothing: its score is a function of the values."""

    def run(trial, work, stop):
        (work / "model" / "model-best").mkdir(parents=True)
        found = score(values_of(trial))
        for n in range(1, len(steps) + 1):
            write_curve(work, [(step, found) for step in steps[:n]])
            if (why := stop()) is not None:
                return ProcessEnd("stopped", 1.0, why)
        (work / "dev.json").write_text(json.dumps({"scores": {"ents_macro_f": found}}))
        return ProcessEnd("done", 1.0, "")

    return run


def values_of(trial):
    """Lam and dropout of a trial's config."""
    config = trial.make_config()
    return {LAM: config["components"]["ner"]["loss"]["lam"], DROPOUT: config["training"]["dropout"]}


def number_of(trial):
    return int(trial.method.name.removeprefix("trial "))


def write_curve(work, points):
    lines = [json.dumps({"step": s, "scores": {"ents_macro_f": 100 * f}}) + "\n" for s, f in points]
    new_file(work / "model" / "curve.jsonl", "".join(lines))


def near(values):
    """Best at lam 0.6."""
    return 0.9 - abs(values[LAM] - 0.6)


def test_any_config_value_can_be_searched(corpus, tmp_path):
    texts = ["training.batcher.size=100:2000:log", "training.dropout=0:1", "nlp.batch_size=8,16"]

    whole, part, choice, lam = search_of(corpus, tmp_path, *texts, f"{LAM}=0.1:0.5:log").parameters

    assert (whole.whole, whole.log, whole.baseline) == (True, True, 1000)
    assert (part.whole, part.log, part.high) == (False, False, 1.0)
    assert choice.choices == (8, 16) and (lam.low, lam.high, lam.log) == (0.1, 0.5, True)


def test_choices_are_parsed_as_values_of_a_config(corpus, tmp_path):
    (parameter,) = search_of(corpus, tmp_path, "training.dropout=null,true,0.5,much").parameters

    assert parameter.choices == (None, True, 0.5, "much")


@pytest.mark.parametrize(("epochs", "kept"), [(5, 0), (-1, -1)])  # -1 streams
def test_all_trials_of_a_search_train_equal_steps(epochs, kept, corpus, tmp_path):
    config = read_base(None)
    config["training"] |= {"patience": 100, "max_epochs": epochs}
    config.to_disk(tmp_path / "own.cfg", interpolate=False)
    given = {"config": tmp_path / "own.cfg", "settings": {}}

    training = search_of(corpus, tmp_path / "out", f"{DROPOUT}=0:1", **given).config["training"]

    assert (training["patience"], training["max_epochs"]) == (0, kept)


@pytest.mark.parametrize(
    "text",
    [
        "lam=0:1",
        f"{LAM}=",
        f"{LAM}=1:0",
        f"{LAM}=0.5:0.5",
        f"{LAM}=nan:1",
        f"{LAM}=0:inf",
        f"{LAM}=low:high",
        f"{LAM}=0:1:log",
        DROPOUT,
        f"{DROPOUT}=0.1",
        f"{DROPOUT}=0.1,0.1",
        f"{DROPOUT}=[1],2",
        "training.max_steps=100:200",
        "training.patience=100,200",
        "nope.lam=0:1",
        "training.drop_out=0.1:0.2",
    ],
)
def test_an_invalid_search_range_is_refused(text, corpus, tmp_path):
    with pytest.raises(ValueError, match="L483") as found:
        search_of(corpus, tmp_path, text)
    assert text in str(found.value)
    with pytest.raises(ValueError, match="L483"):
        search_of(corpus, tmp_path, SEARCH, f"{LAM}=0:0.5")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"training.max_steps": 299, "training.eval_frequency": 100}, "L483.*299"),
        ({"training.max_steps": "many"}, "L483"),
        ({"training.eval_frequency": 0}, "L483"),
        ({"nope.x": 1}, "L471"),
        ({"paths.train": "elsewhere.spacy"}, "L483.*paths.train"),
        ({"longtail.tail": ["NAT"]}, "L483.*longtail.tail.*the corpus"),
        ({"nlp.tokenizer.@tokenizers": "spacy.Tokenizer.v1"}, "L483.*nlp.tokenizer"),
        ({"training.max_steps": "${nope.x}"}, "L480"),
        ({"training.patience": 100}, "L483.*training.patience"),
        ({"training.max_epochs": 5}, "L483.*training.max_epochs"),
    ],
)
def test_invalid_settings_of_a_search_are_refused(settings, code, corpus, tmp_path):
    with pytest.raises(ValueError, match=code):
        search_of(corpus, tmp_path, settings=settings)


@pytest.mark.parametrize("text", ["paths.train=a,b", "nlp.lang=en,de"])
def test_a_value_of_the_corpus_cannot_be_searched(text, corpus, tmp_path):
    with pytest.raises(ValueError, match=rf"L483.*{text.partition('=')[0]}.*the corpus sets it"):
        search_of(corpus, tmp_path, text)


def test_the_first_trial_is_the_baseline(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out", f"{LAM}=0.6:0.9", f"{DROPOUT}=0:0.5")
    tried = search.run(3, runner=finished(lambda values: 0.5))
    assert [t.is_baseline for t in tried] == [True, False, False]
    own = search.config["components"]["ner"]["loss"]["lam"]
    assert tried[0].values[LAM] == own < 0.6  # out of the range
    assert tried[0] == best_of(tried)  # of equals the baseline
    assert all(0.6 <= t.values[LAM] <= 0.9 for t in tried[1:])
    assert search.run(2, runner=finished(near)) == tried  # enough are there


@pytest.mark.parametrize("given", ["0.05:0.9", "0.05:0.9:log", "0.05:1"])
def test_a_whole_baseline_leaves_a_range_with_other_ends_as_it_is(given, corpus, tmp_path):
    search = search_of(corpus, tmp_path, f"{LAM}={given}", settings={**TINY, LAM: 1})
    first, *tried = search.run(4, runner=finished(near))
    assert first.values == {LAM: 1}
    assert all(0.05 <= t.values[LAM] <= 1 and t.values[LAM] % 1 for t in tried)


def test_a_whole_range_of_a_whole_setting_gives_whole_numbers(corpus, tmp_path):
    name = "components.tok2vec.model.width"
    search = search_of(corpus, tmp_path, f"{name}=8:32:log")
    assert all(isinstance(t.values[name], int) for t in search.run(3, runner=finished(lambda _: 0.5)))


@pytest.mark.parametrize(("ends", "is_whole"), [("0:1", True), ("0.0:1.0", False), ("0:1.0", False)])
def test_ends_with_a_decimal_point_are_not_whole_numbers(ends, is_whole, corpus, tmp_path):
    search = search_of(corpus, tmp_path, f"{DROPOUT}={ends}", settings={**TINY, DROPOUT: 0})

    (parameter,) = search.parameters

    assert parameter.whole == is_whole


def test_the_text_of_a_range_says_whether_its_numbers_are_whole(corpus, tmp_path):
    (parameter,) = search_of(corpus, tmp_path, "training.batcher.size=100:2000:log").parameters

    assert parameter.text == "100 to 2000 (whole, log)"


def test_a_narrow_range_has_values_between_its_ends(corpus, tmp_path):
    search = search_of(corpus, tmp_path, "training.optimizer.beta2=0.9999:0.99999")

    tried = search.run(8, runner=finished(lambda values: 0.5))

    assert len({str(trial.values) for trial in tried[1:]}) == 7


def test_the_digits_of_a_wide_range_are_those_of_earlier_versions(corpus, tmp_path):
    (parameter,) = search_of(corpus, tmp_path, f"{LAM}=0.9:0.95").parameters

    value = parameter.suggest(optuna.trial.FixedTrial({LAM: 0.923456789}))

    assert value == 0.9235


def test_a_seed_fixes_the_draws(corpus, tmp_path):
    def lams(name, seed=0):
        tried = search_of(corpus, tmp_path / name, seed=seed).run(11, runner=finished(near))
        return [trial.values[LAM] for trial in tried if trial.status == "done"]

    first = lams("once")
    assert lams("again") == first != lams("other", seed=1)


def test_the_models_of_the_baseline_and_of_the_best_trial_are_kept(corpus, tmp_path):
    tried = search_of(corpus, tmp_path).run(6, runner=finished(near))

    kept = {path.parent.name for path in (tmp_path / "trials").glob("*/model")}
    assert kept == {tried[0].key, best_of(tried).key} and len(kept) == 2


def test_the_sampler_ignores_a_baseline_outside_of_its_range(corpus, tmp_path, monkeypatch):
    studies, create = [], optuna.create_study
    monkeypatch.setattr(
        optuna, "create_study", lambda **given: studies.append(create(**given)) or studies[0]
    )

    search_of(corpus, tmp_path, f"{LAM}=0.6:0.9", f"{DROPOUT}=0:0.5").run(1, runner=finished(near))

    assert studies[0].trials[0].params.keys() == {DROPOUT}


def test_a_hopeless_training_is_pruned_and_keeps_no_model(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    search.run(6, runner=finished(lambda values: 0.9))

    *_, last = search.run(7, runner=finished(lambda values: 0.1))

    assert (last.status, last.score) == ("pruned", 0.1)
    assert last.curve[-1][0] == 2  # the first third of the steps is safe
    assert not (search.store.place(last.key) / "model").exists()


@pytest.mark.parametrize(
    ("texts", "given"),
    [
        ([f"{LAM}=0:0.5"], {}),
        ([], {"seed": 1}),
        ([], {"settings": {**TINY, "training.dropout": 0.3}}),
    ],
)
def test_a_search_with_other_values_has_another_key(texts, given, corpus, tmp_path):
    assert search_of(corpus, tmp_path, *texts, **given).key != search_of(corpus, tmp_path).key


def test_the_key_of_a_search_does_not_depend_on_its_folder(corpus, tmp_path):
    assert search_of(corpus, tmp_path / "a").key == search_of(corpus, tmp_path / "b").key


def failing_at(broken, error):
    """A runner as `finished(near)`, except that one trial raises an error."""

    def run(trial, work, stop):
        if number_of(trial) == broken:
            raise error
        return finished(near)(trial, work, stop)

    return run


@pytest.mark.slow
def test_the_process_of_a_pruned_training_ends(corpus, tmp_path):
    """A real one, whose scores are read while it goes on."""
    steps = range(0, 3001, 100)
    settings = {**TINY, "training.max_steps": steps[-1], "training.eval_frequency": 100}
    search = search_of(corpus, tmp_path / "out", settings=settings)
    search.run(6, runner=finished(lambda values: 1.1, steps=steps))
    *_, last = search.run(7)
    assert last.status == "pruned" and last.score == max(f for _, f in last.curve)
    assert 1000 <= last.curve[-1][0] < 3000
    assert not list((tmp_path / "out" / "work").iterdir())


def test_a_failed_trial_is_recorded_and_the_search_continues(corpus, tmp_path):
    def run(trial, work, stop):
        if number_of(trial) == 1:
            return ProcessEnd("failed", 2.0, "ValueError: a\nlast line")
        return finished(near)(trial, work, stop)

    search = search_of(corpus, tmp_path / "out")
    tried = search.run(4, runner=run)
    assert [t.status for t in tried] == ["done", "failed", "done", "done"]
    assert tried[1].error.endswith("last line")
    assert search.run(4, runner=run) == tried  # nothing is run again


@pytest.mark.parametrize("broken", [0, 2])
def test_a_search_resumes_after_an_error(corpus, tmp_path, broken):
    search = search_of(corpus, tmp_path / "out")

    with pytest.raises(ValueError, match="L432"):
        search.run(20, runner=failing_at(broken, OSError(28, "No space left")))
    assert [t.is_baseline for t in search.run(4, runner=finished(near))] == [True, False, False, False]


@pytest.mark.parametrize("stopped_at", [5, 12])
def test_a_resumed_search_proposes_the_same_values_as_an_uninterrupted_one(stopped_at, corpus, tmp_path):
    whole = search_of(corpus, tmp_path / "whole").run(13, runner=finished(near))
    with pytest.raises(KeyboardInterrupt):
        search_of(corpus, tmp_path / "parts").run(13, runner=failing_at(stopped_at, KeyboardInterrupt()))
    parts = search_of(corpus, tmp_path / "parts").run(13, runner=finished(near))

    assert [trial.values[LAM] for trial in parts] == [trial.values[LAM] for trial in whole]
    assert len({trial.values[LAM] for trial in whole}) == 13


def test_a_failed_trial_of_a_search_is_repeated_on_request(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    search.run(2, runner=lambda *_: ProcessEnd("failed", 2.0, "Kaboom"))

    tried = search.run(2, TrialOptions(retry_failed=True), runner=finished(near))

    assert [trial.status for trial in tried] == ["done", "done"]


@pytest.mark.parametrize("broken", [0, 1])
def test_no_model_of_the_former_best_trial_is_left_after_a_repeated_trial(broken, corpus, tmp_path):
    def failing(trial, work, stop):
        if number_of(trial) == broken:
            return ProcessEnd("failed", 2.0, "Kaboom")
        return finished(near)(trial, work, stop)

    search = search_of(corpus, tmp_path)
    former = best_of(search.run(3, runner=failing))

    tried = search.run(3, TrialOptions(retry_failed=True), runner=finished(lambda values: 0.95))

    kept = {path.parent.name for path in tmp_path.glob("trials/*/model")}
    assert former.key not in kept and kept == {tried[0].key, best_of(tried).key}


@pytest.mark.skipif(os.name != "posix", reason="Windows cannot tell whether a process runs")
def test_the_working_folder_of_a_killed_search_is_deleted_at_the_next_start(corpus, tmp_path):
    search = search_of(corpus, tmp_path / "out")
    (tried,) = search.run(1, runner=finished(near))
    place, gone = search.store.place(tried.key), subprocess.Popen(["true"])
    gone.wait()
    machine = json_checksum(platform.node())[:6]
    left = place.rename(tmp_path / "out" / "work" / f"{tried.key}-{machine}-{gone.pid}")

    search.run(1, runner=finished(near))

    assert not left.exists()


def test_a_trial_with_the_values_of_an_earlier_one_is_not_trained_again(corpus, tmp_path):
    runner = Mock(wraps=finished(near))

    tried = search_of(corpus, tmp_path, f"{LAM}=0.4,0.6").run(8, runner=runner)

    assert [own.number for own in tried] == list(range(8)) and runner.call_count == 3


@pytest.mark.parametrize("n", [4, 8, 12])
def test_a_search_whose_values_are_all_tried_ends_when_it_is_run_again(n, corpus, tmp_path):
    runner = Mock(wraps=finished(near))
    search_of(corpus, tmp_path, f"{LAM}=0.4,0.6").run(8, runner=runner)

    tried = search_of(corpus, tmp_path, f"{LAM}=0.4,0.6").run(n, runner=runner)

    assert len(tried) >= n and len({own.key for own in tried}) == runner.call_count == 3


def test_trials_of_another_command_in_the_folder_are_left_alone(corpus, tmp_path):
    theirs = new_file(tmp_path / "work" / "w" / "log.txt", "theirs").parent
    TrialStore(tmp_path).finish(theirs, record_of("k", method="crf"))

    tried = search_of(corpus, tmp_path).run(2, runner=finished(near))

    assert [own.number for own in tried] == [0, 1]
    assert TrialStore(tmp_path).records()["k"].method == "crf"


def test_the_best_config_is_complete_and_commented(corpus, tmp_path):
    rate = "training.optimizer.learn_rate=0.0001:0.01:log"
    search = search_of(corpus, tmp_path / "out", SEARCH, rate, "corpora.train.repeats.cap=2:20")
    tried = search.run(5, runner=finished(lambda values: 1 - abs(values[LAM] - 0.8)))
    best = best_of(tried)
    path = search.write_best(tried, best)
    text, config = path.read_text(encoding="utf8"), load_config(path, interpolate=True)
    assert config["components"]["ner"]["loss"]["lam"] == best.values[LAM]
    assert config["corpora"]["train"]["repeats"]["cap"] == best.values["corpora.train.repeats.cap"]
    assert config["longtail"]["labels"] == ["PER", "GEO", "ART", "NAT"]
    assert config["paths"]["train"] == str(corpus / "train.spacy")
    assert with_corpus_and_defaults(load_config(path), corpus, "it") == load_config(
        path
    )  # nothing to fill in
    assert "${corpora.plain}" in text  # variables stay
    own = {p.name: p.baseline for p in search.parameters}[LAM]
    assert f"# tuned: 0.05 to 1; the baseline has {own}\nlam = {best.values[LAM]}\n" in text


def test_an_unbuildable_config_is_refused_and_other_score_weights_give_a_warning(corpus, tmp_path):
    with pytest.raises(ValueError, match="L480"):
        search_of(corpus, tmp_path / "out", f"{LAM}=0:2").run(1)
    settings = {**TINY, "training.score_weights": {"ents_f": 1.0}}
    with pytest.warns(UserWarning, match="LW092.*ents_f"):
        search_of(
            corpus, tmp_path / "out", f"{DROPOUT}=0.1:0.3", config=CONFIG, settings=settings
        ).check()


def command(corpus, output, *more):
    settings = [f"--set={name}={value}" for name, value in TINY.items() if name != "training.max_steps"]
    call = ["tune", corpus, "--config", MOM, "--search", SEARCH, *settings, "-o", output]
    return invoke(*call, "--steps", TINY["training.max_steps"], *more)


def test_wrong_options_of_tune_end_with_a_message(corpus, tmp_path, monkeypatch):
    earlier = tmp_path / "earlier"
    (earlier / "models").mkdir(parents=True)
    (earlier / "study.db").write_text("the database of version 0.3")
    monkeypatch.setattr(module, "run_trial", lambda *_, **__: ProcessEnd("failed", 1.0, "trace\nKaboom"))
    for output, more, code in [
        (tmp_path / "out", ["--steps", "3"], "L483"),
        (tmp_path / "out", ["--set", "training.max_steps=9"], "L483"),
        (tmp_path / "out", ["--config", "none.cfg"], "L402"),
        (tmp_path / "out", ["--trials", "2"], "Kaboom"),
        (earlier, [], "L437"),
    ]:
        done = command(corpus, output, *more)
        assert (done.exit_code, code in done.output) == (2, True), done.output


def test_a_search_cannot_replace_the_config_that_it_reads(corpus, tmp_path):
    own = shutil.copy(MOM, new_file(tmp_path / "out" / "trials" / "keep", "").parents[1] / "best.cfg")

    with pytest.raises(ValueError, match=r"L436.*best\.cfg"):
        search_of(corpus, tmp_path / "out", config=own)


def test_a_dry_run_lists_the_search_space(corpus, tmp_path):
    (own,) = json.loads(command(corpus, tmp_path / "out", "--dry-run", "--json").stdout)["parameters"]
    assert (own["name"], own["range"]) == (LAM, "0.05 to 1") and not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_a_search_from_the_command_line(corpus, tmp_path):
    output = tmp_path / "out"
    done = command(corpus, output, "--trials", "2", "--json")
    assert done.exit_code == 0, done.output  # and nobody has read test
    result = json.loads(done.stdout)
    assert [t["status"] for t in result["trials"]] == ["done", "done"]
    assert result["trials"][0]["curve"][-1][0] == 6
    for number in (0, result["best"]):
        key = result["trials"][number]["key"]
        spacy.load(output / "trials" / key / "model" / "model-best")
    few = ["--training.max_steps", "2", "--training.eval_frequency", "1"]
    run_spacy("train", output / "best.cfg", *few)
