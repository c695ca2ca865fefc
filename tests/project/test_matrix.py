"""Plans that are run: nothing finished is lost or done twice, whatever dies meanwhile."""

import errno
import json
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import srsly
from tqdm import tqdm

from spacy_longtail.studies.trials import key, store
from spacy_longtail.studies.trials import process as processes
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.studies.trials.process import ProcessEnd, run_process
from spacy_longtail.studies.trials.store import TrialStore
from spacy_longtail.studies.trials.study import TrialOptions, create_study
from tests.util import invoke, new_file, write_files

FORK = multiprocessing.get_context("fork") if hasattr(os, "fork") else None
forks = pytest.mark.skipif(FORK is None, reason="needs fork")
PLAN = "steps: 4\nseeds: 2\nsettings: {training.eval_frequency: 2}\ngrids: [{head: [softmax, crf]}]\n"
MANY = PLAN.replace("seeds: 2", "seeds: 12")


@pytest.fixture
def plan(tmp_path):
    return new_file(tmp_path / "plan.yml", PLAN)


def matrix(plan, corpus, output, **given):
    return create_study(read_plan(str(plan), {"corpora": [str(corpus)], **given}), output)


class Fake:
    """Runs a trial by sleeping; the trials that it began are lines of a file."""

    def __init__(self, begun, seconds=0.01, failing=()):
        self.begun, self.seconds, self.failing = begun, seconds, failing

    def __call__(self, trial, work, stop):
        with self.begun.open("a", encoding="utf8") as file:
            file.write(f"{trial.title}\n")
        if trial.title in self.failing:
            return ProcessEnd("failed", 0.1, "Traceback\nKaboom")
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            if (why := stop()) is not None:
                return ProcessEnd("stopped", 0.1, why)
            time.sleep(0.005)
        for part in ("dev", "test"):
            text = json.dumps({"scores": {"ents_macro_f": 0.5}})
            (work / f"{part}.json").write_text(text, encoding="utf8")
        return ProcessEnd("done", self.seconds, "")

    def titles(self):
        return self.begun.read_text(encoding="utf8").splitlines() if self.begun.exists() else []


@pytest.fixture
def fake(tmp_path):
    return Fake(tmp_path / "begun.txt")


def assert_each_once(output, found):
    """One folder a trial, and nothing left over."""
    assert sorted(p.name for p in (output / "trials").iterdir()) == sorted(found.trials)
    assert not list((output / "work").iterdir())


def test_finished_trials_are_skipped(plan, corpus, tmp_path, fake, capsys):
    first = matrix(plan, corpus, tmp_path / "out", seeds=[0]).run(TrialOptions(), runner=fake)
    found = matrix(plan, corpus, tmp_path / "out")
    records = found.run(TrialOptions(workers=2), runner=fake)
    assert sorted(fake.titles()) == sorted(t.title for t in found.trials.values())
    assert {key: records[key] for key in first} == first and len(records) == 4
    assert_each_once(tmp_path / "out", found)
    shown = capsys.readouterr()
    assert "macro F1 50.0 on dev" in shown.err and not shown.out  # where JSON may be printed
    assert {r.status for r in records.values()} == {"done"}
    assert records[next(iter(found.trials))].dev == {"ents_macro_f": 0.5}


def test_models_that_were_not_kept_are_counted_in_a_warning(plan, corpus, tmp_path, fake):
    found = matrix(plan, corpus, tmp_path / "out")
    found.run(TrialOptions(), runner=fake)

    with pytest.warns(UserWarning, match=r"LW212\] 4 trials ended in an earlier run"):
        found.run(TrialOptions(keep_models=True), runner=fake)


def test_a_failed_trial_does_not_count_as_one_without_a_kept_model(plan, corpus, tmp_path, recwarn):
    found = matrix(plan, corpus, tmp_path / "out")
    found.run(TrialOptions(), runner=lambda *_: ProcessEnd("failed", 0.1, "Kaboom"))

    found.run(TrialOptions(keep_models=True))

    assert not [str(warning.message) for warning in recwarn if "LW212" in str(warning.message)]


def test_trials_of_other_versions_are_counted_in_a_warning_and_kept(
    plan, corpus, tmp_path, fake, monkeypatch
):
    matrix(plan, corpus, tmp_path / "out").run(TrialOptions(), runner=fake)
    for module in (key, store):
        monkeypatch.setattr(module, "code_version", lambda: "another")

    with pytest.warns(UserWarning, match=r"LW208\] .*trials has 4 trials of other versions"):
        found = matrix(plan, corpus, tmp_path / "out")
    found.run(TrialOptions(), runner=fake)

    assert len(fake.titles()) == len(list((tmp_path / "out" / "trials").iterdir())) == 8


def test_a_crash_is_recorded_and_the_other_trials_run(plan, corpus, tmp_path, fake):
    fake.failing = ("tiny, softmax, seed 0",)
    found = matrix(plan, corpus, tmp_path / "out")
    records = found.run(TrialOptions(), runner=fake)
    status = {found.trials[key].title: record.status for key, record in records.items()}
    assert status.pop("tiny, softmax, seed 0") == "failed"
    assert set(status.values()) == {"done"} and len(status) == 3
    assert "Kaboom" in next(r.error for r in records.values() if r.error)
    found.run(TrialOptions(), runner=fake)
    assert len(fake.titles()) == 4  # a failure is not run again
    fake.failing = ()
    records = found.run(TrialOptions(retry_failed=True), runner=fake)
    assert len(fake.titles()) == 5 and {r.status for r in records.values()} == {"done"}


@pytest.mark.parametrize(("minutes", "n"), [(1.0, 0), (0.5, 0), (2.0, 4), (None, 4)])
def test_a_trial_that_ran_out_of_time_is_repeated_with_a_larger_limit(
    minutes, n, plan, corpus, tmp_path, fake
):
    found = matrix(plan, corpus, tmp_path / "out")
    found.run(TrialOptions(minutes=1.0), runner=lambda *_: ProcessEnd("timeout", 60.0, "Too slow."))

    found.run(TrialOptions(minutes=minutes), runner=fake)

    assert len(fake.titles()) == n


def test_a_full_disk_stops_all_trials_and_none_is_recorded(plan, corpus, tmp_path, fake):
    """It is no result of a method: the next run goes on with what is missing."""
    found, calls = matrix(plan, corpus, tmp_path / "out"), []

    def full(*args):
        calls.append(args)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return fake(*args)

    with pytest.raises(ValueError, match="L432"):
        found.run(TrialOptions(), runner=full)
    assert len(TrialStore(tmp_path / "out").records()) == 1 and len(calls) == 2
    assert len(found.run(TrialOptions(), runner=fake)) == 4
    assert_each_once(tmp_path / "out", found)


def test_invalid_plans_and_output_folders_are_refused(plan, corpus, tmp_path):
    write_files(tmp_path / "other", {"thesis.txt": "x"})
    with pytest.raises(ValueError, match="L437"):
        matrix(plan, corpus, tmp_path / "other")
    plan.write_text(PLAN + "methods: {same: {}}\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"L470.*softmax.*same"):
        matrix(plan, corpus, tmp_path / "out")
    (corpus / "test.spacy").unlink()
    with pytest.raises(ValueError, match=r"L402.*test"):
        matrix(plan, corpus, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- processes


def python(code, log, seconds=None, stop=lambda: None):
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


def test_the_end_of_a_process_is_reported(tmp_path):
    assert python("print('fine')", tmp_path / "log")[::2] == ("done", "")
    found = python("print('one', flush=True); raise SystemExit('two')", tmp_path / "log")
    assert found.status == "failed" and found.error.splitlines() == ["one", "two"]
    assert "exit code 3" in python("raise SystemExit(3)", tmp_path / "log").error
    assert "exit code -9" in python("import os; os.kill(os.getpid(), 9)", tmp_path / "log").error
    stopped = python("import time; time.sleep(60)", tmp_path / "log", stop=lambda: "Enough.")
    assert stopped[::2] == ("stopped", "Enough.")


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


# --- crashes


@forks
def test_a_run_resumes_after_it_was_killed_during_a_trial(plan, corpus, tmp_path, fake):
    plan.write_text(MANY, encoding="utf8")
    output, slow = tmp_path / "out", Fake(fake.begun, 0.1)
    found = matrix(plan, corpus, output)

    def run():
        tqdm.set_lock(threading.RLock())  # the kill could leave the shared one locked
        found.run(TrialOptions(workers=2), runner=slow)

    process = FORK.Process(target=run)
    process.start()
    until(lambda: len(fake.titles()) >= 7)
    process.kill()
    process.join()
    found = matrix(plan, corpus, output)
    kept = TrialStore(output).records()
    assert 3 <= len(kept) < 9
    running = {t for t in fake.titles() if t not in {found.trials[key].title for key in kept}}
    assert 1 <= len(running) <= 2 and any((output / "work").iterdir())
    records = found.run(TrialOptions(workers=2), runner=fake)
    assert len(records) == 24
    assert_each_once(output, found)
    assert {title for title, n in Counter(fake.titles()).items() if n > 1} == running
    assert {key: records[key] for key in kept} == kept  # untouched


def test_interrupted_trials_are_run_again(plan, corpus, tmp_path, fake, monkeypatch):
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
            found.run(TrialOptions(workers=2), runner=slow)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert not TrialStore(tmp_path / "out").records()
    found = matrix(plan, corpus, tmp_path / "out")  # the folder is known as one of trials
    assert len(found.run(TrialOptions(), runner=fake)) == 4
    assert_each_once(tmp_path / "out", found)


# --- from one end to the other


@pytest.mark.slow
@pytest.mark.usefixtures("light_processes")
def test_a_plan_from_the_command_line(plan, corpus, tmp_path):
    output = tmp_path / "out"
    plan.write_text(
        "steps: 4\nseeds: 1\nsettings: {training.eval_frequency: 2}\ngrids: [{head: softmax}]\n"
        # it can be built, and fails in training
        "methods: {broken: {corpora.plain.max_length: 1}}\n",
        encoding="utf8",
    )
    call = ("matrix", plan, corpus, "-o", output, "--workers", "2", "--json")
    first = invoke(*call)
    assert first.exit_code == 1, first.output
    records = {r["method"]: r for r in json.loads(first.stdout.splitlines()[-1])}
    done, failed = records["softmax"], records["broken"]
    types = {"PER", "GEO", "ART", "NAT"}
    assert done["status"] == "done" and done["test"]["ents_per_type"].keys() == types
    assert failed["status"] == "failed" and failed["error"]
    folder = output / "trials" / done["key"]
    names = {"config.cfg", "curve.jsonl", "dev.json", "log.txt", "record.json", "run.json", "test.json"}
    assert names <= {path.name for path in folder.iterdir()} and not (folder / "model").exists()
    assert [point["step"] for point in srsly.read_jsonl(folder / "curve.jsonl")] == [0, 2, 4]
    command = shlex.split(srsly.read_json(folder / "run.json")["command"])
    assert command[4] == str(folder / "config.cfg")  # which can be typed again
    second = invoke(*call)
    assert second.exit_code == 1
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
        (folder, *_) = (tmp_path / "out" / "work").iterdir()
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
