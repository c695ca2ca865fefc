"""Plans that are run: nothing finished is lost, and nothing is done twice, whatever dies meanwhile."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.output.writing import coded_io
from spacy_longtail.studies.trials import child, engine, ledger, run
from spacy_longtail.studies.trials import process as processes
from spacy_longtail.studies.trials import records as kept_records
from spacy_longtail.studies.trials import storage as storages
from spacy_longtail.studies.trials.engine import PLACE, PROCESS, Ended, Engine, is_running
from spacy_longtail.studies.trials.keys import code_version, corpus_version
from spacy_longtail.studies.trials.ledger import read_lines
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.process import IO_FAULT, Outcome, run_process
from spacy_longtail.studies.trials.run import Matrix, Options
from spacy_longtail.studies.trials.storage import ATTEMPT, KEY, open_storage
from tests.util import parse, toy_corpus

optuna = pytest.importorskip("optuna", reason="needs the extra 'tune'")
sqlalchemy = pytest.importorskip("sqlalchemy")

FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
forks = pytest.mark.skipif(FORK is None, reason="needs fork")
PLAN = "steps: 4\nseeds: 2\nsettings: {training.eval_frequency: 2}\ngrids: [{head: [softmax, crf]}]\n"
MANY = PLAN.replace("seeds: 2", "seeds: 12")


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "tiny")


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.yml"
    path.write_text(PLAN, encoding="utf8")
    return path


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(storages, "BEAT", 1)
    monkeypatch.setattr(storages, "GRACE", 4)
    monkeypatch.setattr(engine, "WAIT", 0.05)


def matrix(plan, corpus, output, **given):
    return Matrix(read_plan(str(plan), {"corpora": [str(corpus)], **given}), output)


class Fake:
    """Runs a trial by sleeping; the trials that it began are lines of a file."""

    def __init__(self, begun, seconds=0.01, failing=()):
        self.begun, self.seconds, self.failing = begun, seconds, failing

    def __call__(self, trial, work, stop):
        with self.begun.open("a", encoding="utf8") as file:
            file.write(f"{trial.title}\n")
        if trial.title in self.failing:
            return Outcome("failed", 0.1, "Traceback\nKaboom")
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            if (why := stop()) is not None:
                return Outcome("stopped", 0.1, why)
            time.sleep(0.005)
        for part in ("dev", "test"):
            text = json.dumps({"scores": {"ents_macro_f": 0.5}})
            (work / f"{part}.json").write_text(text, encoding="utf8")
        return Outcome("done", self.seconds, "")

    def titles(self):
        return self.begun.read_text(encoding="utf8").splitlines() if self.begun.exists() else []


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path / "begun.txt")


def lines(output):
    """Of two processes the faster one may leave the other nothing to write."""
    path = output / "trials.jsonl"
    return [json.loads(line) for line in path.read_text("utf8").splitlines()] if path.exists() else []


def assert_each_once(output, found):
    """One record a trial, in the file and in the folders, and nothing left over."""
    assert sorted(r["key"] for r in lines(output)) == sorted(found.trials)
    assert sorted(p.name for p in (output / "trials").iterdir()) == sorted(found.trials)
    found.run(Options(), runner=None)
    assert [p.name for p in (output / "work").iterdir()] == [".lock"]


def test_finished_trials_are_skipped(plan, corpus, tmp_path, fake, capsys):
    found = matrix(plan, corpus, tmp_path / "out")
    records = found.run(Options(workers=2), runner=fake)
    assert sorted(fake.titles()) == sorted(t.title for t in found.trials.values())
    assert_each_once(tmp_path / "out", found)
    shown = capsys.readouterr()
    assert "macro F1 50.0 on dev" in shown.err and not shown.out  # where JSON may be printed
    again = matrix(plan, corpus, tmp_path / "out").run(Options(), runner=fake)
    assert again == records and len(fake.titles()) == 4
    assert {r.status for r in records.values()} == {"done"}
    assert records[next(iter(found.trials))].dev == {"ents_macro_f": 0.5}


def test_one_more_seed_runs_that_seed_alone(plan, corpus, tmp_path, fake, monkeypatch):
    matrix(plan, corpus, tmp_path / "out", seeds=[0]).run(Options(), runner=fake)
    bars = []
    monkeypatch.setattr(engine, "tqdm", lambda **given: bars.append(given) or nullcontext(MagicMock()))
    matrix(plan, corpus, tmp_path / "out", seeds=[0, 1]).run(Options(), runner=fake)
    assert [(bar["initial"], bar["total"]) for bar in bars] == [(2, 4)]
    assert fake.titles() == [f"tiny, {m}, seed {s}" for s in (0, 1) for m in ("softmax", "crf")]


def test_a_crash_is_recorded_and_the_rest_go_on(plan, corpus, tmp_path, fake):
    fake.failing = ("tiny, softmax, seed 0",)
    found = matrix(plan, corpus, tmp_path / "out")
    records = found.run(Options(), runner=fake)
    status = {found.trials[key].title: record.status for key, record in records.items()}
    assert status.pop("tiny, softmax, seed 0") == "failed"
    assert set(status.values()) == {"done"} and len(status) == 3
    assert "Kaboom" in next(r.error for r in records.values() if r.error)
    found.run(Options(), runner=fake)
    assert len(fake.titles()) == 4  # a failure is not run again
    fake.failing = ()
    records = found.run(Options(retry_failed=True), runner=fake)
    assert len(fake.titles()) == 5 and {r.status for r in records.values()} == {"done"}
    assert [r["status"] for r in lines(tmp_path / "out")].count("failed") == 1  # the file tells both


def test_a_failure_without_a_message(plan, corpus, tmp_path):
    found = matrix(plan, corpus, tmp_path / "out")
    records = found.run(Options(), runner=lambda *_: Outcome("failed", 0.1, ""))
    assert len(records) == 4


def test_a_score_of_nothing_is_no_failure(plan, corpus, tmp_path):
    def runner(trial, work, stop):
        for part in ("dev", "test"):
            (work / f"{part}.json").write_text('{"scores": {"ents_macro_f": NaN}}', encoding="utf8")
        return Outcome("done", 0.1, "")

    found = matrix(plan, corpus, tmp_path / "out")
    for _ in range(2):
        assert len(found.run(Options(), runner=runner)) == 4
    assert_each_once(tmp_path / "out", found)


def test_a_changed_corpus_is_another_one(plan, corpus, tmp_path, fake):
    before = set(matrix(plan, corpus, tmp_path / "out").run(Options(), runner=fake))
    shutil.copy(corpus / "dev.spacy", corpus / "test.spacy")
    after = set(matrix(plan, corpus, tmp_path / "out").run(Options(), runner=fake))
    assert not before & after
    assert len(lines(tmp_path / "out")) == 8


@pytest.mark.parametrize("name", ["train.spacy", "dev.spacy", "test.spacy", "types.json"])
def test_a_corpus_that_changes_before_its_training(name, corpus, tmp_path):
    version = json.loads(json.dumps(corpus_version(corpus)))
    task = {"corpus": str(corpus), "version": version, "code": code_version()}
    child._check_unchanged(corpus, task)
    if name == "types.json":
        types = {**srsly.read_json(corpus / name), "tail": ["ART"]}
        srsly.write_json(corpus / name, types)
    else:
        DocBin(docs=[parse(spacy.blank("en"), "Other words .")]).to_disk(corpus / name)
    with pytest.raises(ValueError, match=rf"L478.*{name}"):
        child.run_child(tmp_path, task)


def test_code_that_changes_before_its_training(corpus, tmp_path):
    task = {"corpus": str(corpus), "version": corpus_version(corpus), "code": "another"}
    with pytest.raises(ValueError, match=r"L478.*spacy_longtail"):
        child.run_child(tmp_path, task)


FULL = OSError(errno.ENOSPC, "No space left on device", "meta.json")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FULL, IO_FAULT),
        (shutil.Error([("a", "b", str(FULL))]), IO_FAULT),
        (ValueError("[L432] meta.json"), 1),  # of something that is missing
        (ValueError("[L478] another corpus"), 1),
    ],
)
def test_a_full_disk_is_no_failure_of_the_method(error, code, tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise error

    (tmp_path / "task.json").write_text("{}")
    monkeypatch.setattr(child, "run_child", refuse)
    assert child.exit_code(tmp_path) == code
    assert capsys.readouterr().out == f"{error}\n"


def test_the_bug_of_a_trial_leaves_its_traceback(tmp_path, monkeypatch, capsys):
    def fail(*_):
        return np.zeros(2) + np.zeros(3)

    (tmp_path / "task.json").write_text("{}")
    monkeypatch.setattr(child, "run_child", fail)
    with pytest.raises(ValueError, match="broadcast"):
        child.exit_code(tmp_path)
    assert not capsys.readouterr().out


def test_a_full_disk_behind_a_coded_error(tmp_path, monkeypatch):
    def refuse(*_):
        with coded_io(tmp_path):
            raise FULL

    (tmp_path / "task.json").write_text("{}")
    monkeypatch.setattr(child, "run_child", refuse)
    assert child.exit_code(tmp_path) == IO_FAULT
    monkeypatch.setattr(child, "run_child", lambda *_: None)
    assert child.exit_code(tmp_path) == 0


def test_what_a_hub_refuses_is_no_full_disk(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("No such model")

    (tmp_path / "task.json").write_text("{}")
    monkeypatch.setattr(child, "run_child", refuse)
    with pytest.raises(OSError, match="No such model"):
        child.exit_code(tmp_path)


def test_a_full_disk_stops_all_and_counts_no_trial(plan, corpus, tmp_path, fake):
    """It is no result of a method: the next run goes on with what is missing."""
    found, calls = matrix(plan, corpus, tmp_path / "out"), []

    def full(*args):
        calls.append(args)
        if len(calls) == 2:
            raise ValueError("[L432] model cannot be written: No space left on device.")
        return fake(*args)

    with pytest.raises(ValueError, match=r"L432.*No space"):
        found.run(Options(workers=1), runner=full)
    assert len(lines(tmp_path / "out")) == 1 and len(calls) == 2
    assert len(found.run(Options(), runner=fake)) == 4


def test_plans_that_cannot_be_run(plan, corpus, tmp_path):
    with pytest.raises(ValueError, match="L479"):
        Matrix(read_plan(str(plan)), tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("x", encoding="utf8")
    with pytest.raises(ValueError, match="L476"):
        matrix(plan, corpus, tmp_path / "other")
    assert not (tmp_path / "out").exists()
    plan.write_text(PLAN + "methods: {same: {}}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"L490.*softmax.*same"):
        matrix(plan, corpus, tmp_path / "out")
    (corpus / "test.spacy").unlink()
    with pytest.raises(ValueError, match=r"L402.*test"):
        matrix(plan, corpus, tmp_path / "out")


@pytest.mark.parametrize(
    "setting",
    [
        "components.ner.loss: {'@losses': longtail.AUCMargin.v1}",
        "components.ner.haed: crf",
        "corpora.train: {'@readers': longtail.ResampledCorpus.v1, corpus: '${corpora.plain}'}",
        "training.optimizer.lern_rate: 0.1",
    ],
)
def test_mistakes_show_before_any_training(setting, plan, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "run_trial", lambda *_: pytest.fail("trained"))
    plan.write_text(PLAN + f"methods:\n  wrong:\n    {setting}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"L480.*'wrong'"):
        matrix(plan, corpus, tmp_path / "out").run(Options())


# --- processes


def no_stop():
    return None


def python(code, log, seconds=None, stop=no_stop):
    return run_process([sys.executable, "-S", "-c", code], log, seconds, stop)


def is_alive(pid):
    """Not a zombie, which nobody may have waited for here."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.01)


def test_a_process_ends_well_or_not(tmp_path):
    assert python("print('fine')", tmp_path / "log")[::2] == ("done", "")
    found = python("print('one'); raise SystemExit('two')", tmp_path / "log")
    assert found.status == "failed" and found.error.splitlines() == ["one", "two"]
    assert "exit code 3" in python("raise SystemExit(3)", tmp_path / "log").error
    with pytest.raises(ValueError, match=r"L432.*could not write"):
        python("raise SystemExit(74)", tmp_path / "log")
    with pytest.raises(ValueError, match=r"^\[L432\] x$"):
        python("print('more'); print('half a [L432] x'); raise SystemExit(74)", tmp_path / "log")
    assert "exit code -9" in python("import os; os.kill(os.getpid(), 9)", tmp_path / "log").error


CHILD = (
    "import subprocess, sys; p = subprocess.Popen(['sh', '-c', 'sleep 60; touch \"$0\"', {waited!r}]);"
    " print(p.pid, flush=True); "
)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize(
    ("ending", "status"), [("p.wait()", "timeout"), ("", "done"), ("sys.exit(1)", "failed")]
)
def test_no_process_outlives_its_trial(ending, status, tmp_path, monkeypatch):
    log, waited = tmp_path / "log", tmp_path / "waited"
    if status == "timeout":  # half a second has passed as soon as its own process runs
        passed = SimpleNamespace(
            perf_counter=lambda: float(log.exists() and log.stat().st_size > 0), sleep=time.sleep
        )
        monkeypatch.setattr(processes, "time", passed)
    found = python(CHILD.format(waited=str(waited)) + ending, log, 0.5 if status == "timeout" else 60)
    assert found.status == status
    assert not waited.exists()  # nobody waited for its own process
    pid = int(log.read_text().split()[0])
    until(lambda: not is_alive(pid))
    assert not waited.exists()
    if status == "timeout":
        assert "0.00833333 minutes" in found.error


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs waitid")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_group_is_killed_while_its_number_is_its_own(tmp_path, monkeypatch):
    killpg, is_there = os.killpg, []

    def kill(group, signal):
        is_there.append(Path(f"/proc/{group}").exists())
        killpg(group, signal)

    monkeypatch.setattr(os, "killpg", kill)
    assert python("raise SystemExit(3)", tmp_path / "log").status == "failed"
    assert is_there == [True]


def test_a_process_is_stopped(tmp_path):
    found = python("import time; time.sleep(60)", tmp_path / "log", stop=lambda: "Enough.")
    assert found[::2] == ("stopped", "Enough.")


def test_a_time_limit_ends_the_trial_alone(plan, corpus, tmp_path, fake):
    def runner(trial, work, stop):
        slow = trial.title == "tiny, crf, seed 0"
        return (
            python("import time; time.sleep(9)", work / "log", 0.3) if slow else fake(trial, work, stop)
        )

    records = matrix(plan, corpus, tmp_path / "out").run(Options(), runner=runner)
    assert sorted(r.status for r in records.values()) == ["done"] * 3 + ["timeout"]


# --- crashes


def start(plan, corpus, output, fake, storage=None, workers=2):
    """Run a plan in a process of its own, which is not waited for."""

    def main():
        found = matrix(plan, corpus, output)
        found.run(Options(workers=workers, storage=storage), runner=fake)

    process = FORK.Process(target=main)
    process.start()
    return process


def ends_well(process):
    process.join(60)
    assert process.exitcode == 0


@forks
def test_killed_in_mid_trial(plan, corpus, tmp_path, fake):
    plan.write_text(MANY, encoding="utf8")
    output, slow = tmp_path / "out", Fake(fake.begun, 0.1)
    process = start(plan, corpus, output, slow)
    until(lambda: len(fake.titles()) >= 7)
    process.kill()
    process.join()
    found = matrix(plan, corpus, output)
    kept = ledger.Ledger(output).records()
    assert 3 <= len(kept) < 9
    running = {t for t in fake.titles() if t not in {found.trials[key].title for key in kept}}
    assert 1 <= len(running) <= 2 and any((output / "work").iterdir())
    records = found.run(Options(workers=2), runner=fake)
    assert len(records) == 24
    assert_each_once(output, found)
    again = {title for title, n in Counter(fake.titles()).items() if n > 1}
    assert again == running
    assert {key: records[key] for key in kept} == kept  # untouched


@forks
@pytest.mark.parametrize("same", [True, False], ids=["one folder", "two folders"])
def test_two_processes_share_a_plan(storage, same, plan, corpus, tmp_path, fake):
    plan.write_text(MANY, encoding="utf8")
    outputs = [tmp_path / "a", tmp_path / ("a" if same else "b")]
    slow = Fake(fake.begun, 0.1)  # else the first makes all of them while the second opens the study
    ends = [start(plan, corpus, output, slow, storage) for output in outputs]
    for process in ends:
        ends_well(process)
    found = matrix(plan, corpus, tmp_path / "a")
    assert Counter(fake.titles()) == Counter(t.title for t in found.trials.values())
    if same:
        assert_each_once(tmp_path / "a", found)
    else:
        keys = [r["key"] for output in outputs for r in lines(output)]
        assert sorted(keys) == sorted(found.trials)
        with pytest.warns(UserWarning, match="LW091"):
            found.run(Options(storage=storage), runner=fake)
        assert len(fake.titles()) == 24
        shutil.copytree(tmp_path / "b" / "trials", tmp_path / "a" / "trials", dirs_exist_ok=True)
        assert len(found.run(Options(storage=storage), runner=fake)) == 24  # no warning
        assert_each_once(tmp_path / "a", found)


@forks
@pytest.mark.parametrize("same", [True, False], ids=["one folder", "two folders"])
def test_one_of_two_processes_is_killed(storage, same, plan, corpus, tmp_path, fake):
    plan.write_text(MANY, encoding="utf8")
    slow = Fake(fake.begun, 0.1)
    first = start(plan, corpus, tmp_path / "a", slow, storage)
    second = start(plan, corpus, tmp_path / ("a" if same else "b"), slow, storage)
    until(lambda: len(fake.titles()) >= 8)
    first.kill()
    first.join()
    ends_well(second)  # it takes over what the other was running
    found = matrix(plan, corpus, tmp_path / "a")
    again = [title for title, n in Counter(fake.titles()).items() if n > 1]
    assert len(again) <= 2 and len(fake.titles()) == 24 + len(again)  # what was running
    if same:
        assert_each_once(tmp_path / "a", found)
        return
    keys = Counter(r["key"] for name in "ab" for r in lines(tmp_path / name))
    assert keys.keys() == found.trials.keys()  # none lost
    # one that was killed between its record and saying so in the study is in both, under one key
    assert {found.trials[key].title for key, n in keys.items() if n > 1} <= set(again)


LIVE = (optuna.trial.TrialState.WAITING, optuna.trial.TrialState.RUNNING)


class Bare(Engine):
    """An engine without trainings."""

    def __init__(self, folder, storage=None):
        super().__init__(open_storage(storage, folder / "s.db"), "x", folder / "bare", "a", 1)

    def objective(self, trial, work):
        return self.ended

    def show(self, trial):
        pass

    def do(self, trial, ended):
        self.ended = ended
        super().do(trial)


def never(trial):
    return False


@forks
def test_processes_that_plan_at_the_same_time(corpus, tmp_path, plan):
    """A trial that fails is run once, although both have put it up."""
    fake = Fake(tmp_path / "begun.txt", 0.02, [f"tiny, {m}, seed 0" for m in ("softmax", "crf")])
    study, other = Bare(tmp_path), Bare(tmp_path)
    for each in (study, other):
        each.put_up("k")
    study.do(study.take(), Ended("failed", None))
    assert other.take() is None and not other.trials(*LIVE)
    assert list(other.missing(["k"], never)) == [("k", 1)]  # wanted again, as with --retry-failed
    ends = [start(plan, corpus, tmp_path / "out", fake) for _ in range(3)]
    for process in ends:
        ends_well(process)
    assert sorted(set(fake.titles())) == sorted(fake.titles())
    assert_each_once(tmp_path / "out", matrix(plan, corpus, tmp_path / "out"))


def take(folder, storage, n, barrier, found):
    study = Bare(folder, storage)
    for key, attempt in study.missing(map(str, range(n)), never):
        study.put_up(key, attempt)
    barrier.wait(60)
    while (trial := study.take()) is not None:
        found.put(trial.user_attrs[KEY])
        study.do(trial, Ended("done", 0.5))


@forks
def test_nobody_takes_what_another_has(storage, tmp_path):
    found, barrier = FORK.Queue(), FORK.Barrier(4)
    ends = [FORK.Process(target=take, args=(tmp_path, storage, 20, barrier, found)) for _ in range(4)]
    for process in ends:
        process.start()
    taken = [found.get(timeout=60) for _ in range(20)]
    for process in ends:
        ends_well(process)
    assert found.empty() and sorted(taken, key=int) == [str(i) for i in range(20)]


def running(study):
    return [trial.user_attrs.get(KEY) for trial in study.trials(optuna.trial.TrialState.RUNNING)]


def waiting(study):
    found = study.trials(optuna.trial.TrialState.WAITING)
    return [(trial.user_attrs[KEY], trial.user_attrs[ATTEMPT]) for trial in found]


def test_nobody_waits_for_a_dead_process_of_the_same_machine(tmp_path):
    study = Bare(tmp_path)
    for key in "abc":
        study.put_up(key)
    own, dead, elsewhere = study.take(), study.take(), study.take()
    gone = subprocess.Popen(["true"])
    gone.wait()
    with study._alive(own), study._alive(dead), study._alive(elsewhere):
        machine, pid = own.user_attrs[PROCESS]
        assert pid == os.getpid()
        dead.set_user_attr(PROCESS, [machine, gone.pid])
        elsewhere.set_user_attr(PROCESS, ["another", gone.pid])
        study.reap()
        assert running(study) == ["a", "c"] and waiting(study) == [("b", 1)]


def test_a_folder_of_another_container_stays(tmp_path, monkeypatch):
    """Of the same host name, whose processes this one cannot see."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    own = tmp_path / f"matrix-x-0@{engine.here()}@{gone.pid}"
    own.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_machine", lambda: "another boot, another namespace")
        engine.here.cache_clear()
        engine.remove_leftovers(tmp_path)
        assert own.is_dir()
    engine.here.cache_clear()
    engine.remove_leftovers(tmp_path)
    assert not own.is_dir()


def test_an_owner_is_dead_or_silent(tmp_path, monkeypatch):
    monkeypatch.setattr(storages, "GRACE", 60)
    study = Bare(tmp_path)
    for key in "ab":
        study.put_up(key)
    beating, silent = study.take(), study.take()
    with study._alive(silent):
        pass
    with study._alive(beating):
        study.reap()
        assert running(study) == ["a", "b"]
        with study.storage.engine.begin() as link:  # an hour goes by
            link.exec_driver_sql(
                "UPDATE trial_heartbeats SET heartbeat = datetime(heartbeat, '-1 hour')"
            )
        until(lambda: young_signs(study) == 1)
        study.reap()
        assert running(study) == ["a"] and waiting(study) == [("b", 1)]
    dead = subprocess.Popen(["true"])
    dead.wait()
    assert is_running(os.getpid()) and not is_running(dead.pid)


def young_signs(study):
    """How many trials gave a sign of life in the last half hour."""
    young = "SELECT count(*) FROM trial_heartbeats WHERE heartbeat > datetime('now', '-30 minutes')"
    with study.storage.engine.begin() as link:
        return link.exec_driver_sql(young).scalar()


def test_who_dies_before_a_sign_of_life_is_missed_too(tmp_path, monkeypatch):
    """Also a process that died between asking the study and closing the trial made for nothing."""
    monkeypatch.setattr(storages, "GRACE", 60)
    patient = Bare(tmp_path)
    monkeypatch.setattr(storages, "GRACE", 1)
    study = Bare(tmp_path)
    study.put_up("k")
    assert PLACE not in study.take().user_attrs
    study.study.ask()
    patient.reap()
    assert running(study) == ["k", None]
    until(lambda: study.reap() or not running(study))
    assert waiting(study) == [("k", 1)]
    study.do(study.take(), Ended("done", 0.5))
    assert study.take() is None and not study.trials(*LIVE)


def test_who_comes_back_too_late_changes_nothing(tmp_path):
    """A suspended process whose trial was given to another one."""
    study, other = Bare(tmp_path), Bare(tmp_path)
    study.put_up("k")
    trial = study.take()
    other.give_back(trial)
    other.do(other.take(), Ended("done", 0.5))
    study.close(trial, Ended("done", 0.1))
    study.give_back(trial)
    assert study.take() is None  # that attempt has been
    assert [t.value for t in study.trials()] == [None, 0.5, None]


def test_signs_of_life_outlast_a_storage_that_is_gone_for_a_while(tmp_path, monkeypatch):
    study = Bare(tmp_path)
    study.put_up("k")
    trial = study.take()
    usual, calls = study.storage.record_heartbeat, []

    def fails_once(trial_id):
        calls.append(trial_id)
        if len(calls) == 2:
            raise OSError("gone")
        usual(trial_id)

    monkeypatch.setattr(study.storage, "record_heartbeat", fails_once)
    with study._alive(trial):
        until(lambda: len(calls) > 7)
        study.reap()
        assert running(study) == ["k"]


def test_a_storage_that_is_gone_is_a_coded_error(plan, corpus, tmp_path, fake, monkeypatch):
    monkeypatch.setattr(storages, "GRACE", 2)
    found = matrix(plan, corpus, tmp_path / "out")
    with pytest.raises(ValueError, match="L477"):
        found.run(Options(storage="nodatabase://x"), runner=fake)

    def gone(self, *_, **__):
        raise optuna.exceptions.StorageInternalError("server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "tell", gone)
        with pytest.raises(ValueError, match=r"L491.*server closed"):
            found.run(Options(), runner=fake)
    assert len(found.run(Options(), runner=fake)) == 4
    assert len(fake.titles()) == 4  # the one that finished before is not run again
    assert_each_once(tmp_path / "out", found)


def test_what_a_database_refuses_is_said_without_its_statements():
    full = sqlite3.OperationalError("database or disk is full")
    failed = sqlalchemy.exc.OperationalError("INSERT INTO trials VALUES (1)", {}, full)
    refused = pytest.raises(
        ValueError, match=r"L491.* OperationalError: database or disk is full\. What"
    )
    with refused as found, storages.coded_storage():
        raise optuna.exceptions.StorageInternalError("invalid data") from failed
    assert "INSERT" not in str(found.value) and "invalid" not in str(found.value)


# --- files that were spoilt


def test_a_corrupted_line_of_the_records(plan, corpus, tmp_path, fake):
    found = matrix(plan, corpus, tmp_path / "out")
    found.run(Options(), runner=fake)
    path = tmp_path / "out" / "trials.jsonl"
    text = path.read_text("utf8").splitlines(keepends=True)
    path.write_text(text[0] + text[1][:50] + "\n" + text[2] + text[3][:70], encoding="utf8")
    with pytest.warns(UserWarning, match=r"LW090.*2, 4"):
        assert len(found.run(Options(), runner=fake)) == 4
    assert len(fake.titles()) == 4
    with pytest.warns(UserWarning, match="LW090"):
        assert sorted(r["key"] for r in read_lines(path)) == sorted(found.trials)


def test_a_spoilt_record_is_run_again(plan, corpus, tmp_path, fake):
    found = matrix(plan, corpus, tmp_path / "out")
    found.run(Options(), runner=fake)
    key = next(iter(found.trials))
    (tmp_path / "out" / "trials" / key / "record.json").write_bytes(b"")
    with pytest.warns(UserWarning, match="LW097"):
        records = found.run(Options(), runner=fake)
    assert len(records) == 4 and Counter(fake.titles())["tiny, softmax, seed 0"] == 2


SPOILT = {
    "half": lambda data: data[: len(data) // 2],
    "its last page": lambda data: data[:-4096],
    "zeros in the middle": lambda data: data[:4096] + bytes(8192) + data[12288:],
    "zeros": lambda data: bytes(len(data)),
    "no database": lambda data: b"thesis\n",
    "empty": lambda data: b"",
    "gone": None,
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_study_loses_nothing(name, plan, corpus, tmp_path, fake):
    output = tmp_path / "out"
    matrix(plan, corpus, output, seeds=[0]).run(Options(), runner=fake)
    path, spoil = output / "study.db", SPOILT[name]
    data = path.read_bytes()
    if spoil is None:
        path.unlink()
    else:
        path.write_bytes(spoil(data))
    found = matrix(plan, corpus, output)
    if name in ("empty", "gone"):
        records = found.run(Options(), runner=fake)
        assert not list(output.glob("study.db.*"))
    else:
        with pytest.warns(UserWarning, match="LW096"):
            records = found.run(Options(), runner=fake)
        (aside,) = output.glob("study.db.*")
        assert aside.read_bytes() == spoil(data)
    assert len(records) == len(fake.titles()) == 4
    assert_each_once(output, found)


def test_a_study_of_others_is_not_set_aside(plan, corpus, tmp_path, fake):
    path = tmp_path / "shared.db"
    path.write_bytes(b'{"op_code": 0}\n')  # an Optuna journal
    with pytest.raises(ValueError, match=r"L477.*shared\.db.*not a database"):
        matrix(plan, corpus, tmp_path / "out").run(Options(storage=str(path)), runner=fake)
    assert path.read_bytes() == b'{"op_code": 0}\n'


@pytest.mark.parametrize("name", ["a b", "100%", "what?", "a%3Fb", "{a}", "#1"])
def test_a_study_is_where_its_path_says(name, tmp_path):
    (tmp_path / name).mkdir()
    Bare(tmp_path / name).put_up("k")
    assert Bare(tmp_path / name).take().user_attrs[KEY] == "k"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["bare", "s.db"]


@forks
def test_a_full_disk_leaves_the_study_as_it_was(tmp_path):
    study = Bare(tmp_path)
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, usual[1]))  # half a page has room
    try:
        with pytest.raises(ValueError, match="L491"):
            study.put_up("k")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert study.trials() == []

    def dies():
        link = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
        link.execute("PRAGMA cache_size = 1")  # what does not fit goes to the file at once
        link.execute("BEGIN IMMEDIATE")
        link.execute("UPDATE studies SET study_name = 'spoilt'")
        for i in range(200):
            link.execute(
                "INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (1, ?, ?)",
                (f"{i}", "x" * 4000),
            )
        os._exit(0)

    process = FORK.Process(target=dies)
    process.start()
    ends_well(process)
    assert (tmp_path / "s.db-journal").exists()
    study.put_up("k")
    assert Bare(tmp_path).take().user_attrs[KEY] == "k"
    assert study.study.user_attrs == {} and not (tmp_path / "s.db-journal").exists()


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


WRITING = ("_create_new_trial", "set_trial_user_attr", "set_trial_state_values", "record_heartbeat")


@pytest.mark.parametrize("place", ["folder", "line", "everything"])
def test_a_full_disk(place, plan, corpus, tmp_path, fake, monkeypatch):
    """The third trial cannot be recorded."""
    output, usual = tmp_path / "out", ledger.Ledger.finish
    finished = []

    def finish(self, work, record):
        with monkeypatch.context() as patch:
            if len(finished) == 2:
                if place != "line":
                    patch.setattr(kept_records.json, "dump", full_disk)
                if place != "folder":
                    patch.setattr(ledger.os, "write", half_written(os.write))
                if place == "everything":
                    for method in WRITING:
                        lost.setattr(optuna.storages.RDBStorage, method, full_disk)
            usual(self, work, record)
            finished.append(record)

    found = matrix(plan, corpus, output)
    monkeypatch.setattr(storages, "GRACE", 2)  # this process, which runs nothing, is still there
    with monkeypatch.context() as lost:
        lost.setattr(ledger.Ledger, "finish", finish)
        with pytest.raises(ValueError, match=r"L432.*space"):
            found.run(Options(), runner=fake)
    assert len(fake.titles()) == 3
    kept = [r["key"] for r in lines(output)]  # each line can be read
    assert len(kept) == 2
    records = found.run(Options(), runner=fake)
    assert len(records) == 4 and set(kept) <= set(records)
    assert len(fake.titles()) == (4 if place == "line" else 5)  # it was finished but for its line
    assert_each_once(output, found)


def half_written(write):
    calls = []

    def fails(file, data):
        calls.append(data)
        if len(calls) > 1:
            full_disk()
        return write(file, data[: len(data) // 2])

    return fails


def test_ctrl_c_gives_running_trials_back(plan, corpus, tmp_path, fake, monkeypatch):
    found = matrix(plan, corpus, tmp_path / "out")
    slow = Fake(fake.begun, 30)
    main = threading.main_thread().ident

    def interrupt():
        until(lambda: len(fake.titles()) == 2)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    # a shell that runs the tests in the background has them ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            found.run(Options(workers=2), runner=slow)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert not ledger.Ledger(tmp_path / "out").records()
    assert len(found.run(Options(), runner=fake)) == 4
    assert_each_once(tmp_path / "out", found)


# --- from one end to the other


def command(*arguments):
    return CliRunner().invoke(app, ["matrix", *map(str, arguments)])


def test_a_dry_run_runs_nothing(plan, corpus, tmp_path):
    found = command(plan, corpus, "-o", tmp_path / "out", "--dry-run")
    assert found.exit_code == 0 and "4 trials, 4 steps each" in found.output
    for key, trial in matrix(plan, corpus, tmp_path / "out").trials.items():
        assert f"{key}  {trial.title}" in found.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_a_plan_from_the_command_line(plan, corpus, tmp_path):
    output = tmp_path / "out"
    plan.write_text(
        "steps: 4\nseeds: 1\nsettings: {training.eval_frequency: 2}\ngrids: [{head: softmax}]\n"
        # it can be built, and fails in training
        "methods: {broken: {paths.vectors: nowhere}}\n",
        encoding="utf8",
    )
    call = (plan, corpus, "-o", output, "--workers", "2", "--json")
    first = command(*call)
    assert first.exit_code == 1, first.output
    records = {r["method"]: r for r in json.loads(first.stdout.splitlines()[-1])}
    done, failed = records["softmax"], records["broken"]
    assert done["status"] == "done" and done["test"]["ents_per_type"].keys() == {
        "PER",
        "GEO",
        "ART",
        "NAT",
    }
    assert failed["status"] == "failed" and "[L402] nowhere" in failed["error"].splitlines()[-1]
    folder = output / "trials" / done["key"]
    names = {"config.cfg", "curve.jsonl", "dev.json", "log.txt", "record.json", "run.json", "test.json"}
    assert names <= {path.name for path in folder.iterdir()} and not (folder / "model").exists()
    steps = [point["step"] for point in srsly.read_jsonl(folder / "curve.jsonl")]
    assert steps == [0, 2, 4]
    before = (output / "trials.jsonl").read_bytes()
    second = command(*call)
    assert second.exit_code == 1 and (output / "trials.jsonl").read_bytes() == before
    assert {r["method"]: r for r in json.loads(second.stdout.splitlines()[-1])} == records


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_training_ends_with_its_matrix(plan, corpus, tmp_path):
    plan.write_text(PLAN.replace("steps: 4", "steps: 1000000"), encoding="utf8")
    arguments = [sys.executable, "-m", "spacy_longtail", "matrix", plan, corpus, "-o", tmp_path / "out"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        # sys.argv of the child ends in its folder
        until(
            lambda: any("Pipeline" in p.read_text() for p in (tmp_path / "out").glob("work/*/log.txt")),
            600,  # the start of two processes, on a busy machine too
        )
        (folder,) = (tmp_path / "out" / "work").glob("*@*")
        children = [p for p in Path("/proc").glob("[0-9]*") if str(folder).encode() in cmdline(p)]
        assert len(children) == 1
    finally:
        process.kill()
        process.communicate()
    until(lambda: not is_alive(children[0].name))


def cmdline(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""
