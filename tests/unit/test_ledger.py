"""Records of trials: a line is written whole or not at all, and what is finished stays."""

import errno
import json
import multiprocessing
import os

import pytest

from spacy_longtail.studies.trials import ledger, records
from spacy_longtail.studies.trials.ledger import (
    FOLDER,
    Ledger,
    append_line,
    check_output,
    read_lines,
)
from spacy_longtail.studies.trials.records import TrialRecord


@pytest.fixture
def path(tmp_path):
    return tmp_path / "trials.jsonl"


def keys(path):
    return [record["key"] for record in read_lines(path)]


def test_lines_are_appended(path):
    assert read_lines(path) == []
    first, second = {"key": "a", "text": "é\nü\udcff"}, {"key": "b", "score": 0.1 + 0.2}
    append_line(path, first)
    append_line(path, second)
    assert read_lines(path) == [first, second]
    assert path.read_bytes().count(b"\n") == 2


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    append_line(path, {"key": "a"})
    before, usual, calls = path.read_bytes(), os.write, []

    def half(file, data):
        calls.append(data)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(file, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(ledger.os, "write", half)
        with pytest.raises(ValueError, match=r"L432.*jsonl.*No space"):
            append_line(path, {"key": "b"})
    assert len(calls) == 2 and path.read_bytes() == before
    append_line(path, {"key": "c"})
    assert keys(path) == ["a", "c"]


def test_a_line_is_written_on_where_the_system_stops(path, monkeypatch):
    usual = os.write
    with monkeypatch.context() as patch:
        patch.setattr(ledger.os, "write", lambda file, data: usual(file, data[:3]))
        append_line(path, {"key": "a"})
    assert path.read_bytes() == b'{"key": "a"}\n'


def test_what_others_have_appended_meanwhile_is_kept(path, monkeypatch):
    usual, calls = os.write, []

    def interrupted(file, data):
        calls.append(data)
        if len(calls) == 2:
            with path.open("ab") as other:
                other.write(b'\n{"key": "other"}\n')
            raise OSError(errno.ENOSPC, "No space left on device")
        return usual(file, data[:5])

    with monkeypatch.context() as patch:
        patch.setattr(ledger.os, "write", interrupted)
        with pytest.raises(ValueError, match="L432"):
            append_line(path, {"key": "a"})
    with pytest.warns(UserWarning, match=r"LW090.*: 1. "):
        assert keys(path) == ["other"]


def test_a_cut_line_does_not_swallow_the_next(path):
    append_line(path, {"key": "a"})
    with path.open("ab") as file:
        file.write(b'{"key": "b", "sco')
    append_line(path, {"key": "c"})
    with pytest.warns(UserWarning, match=r"LW090.*jsonl.*: 2\. "):
        assert keys(path) == ["a", "c"]


@pytest.mark.parametrize(
    "line", [b"[1]", b"3", b"{}", b'{"key": 3}', b"\xff\xfe", b'{"key": "b"', b"\0\0"]
)
def test_lines_that_are_no_records_are_left_out(line, path):
    append_line(path, {"key": "a"})
    with path.open("ab") as file:
        file.write(line + b"\n\n \n")
    append_line(path, {"key": "c"})
    with pytest.warns(UserWarning, match=r"LW090.*: 2\. "):
        assert keys(path) == ["a", "c"]


def append_many(path, name):
    for i in range(25):
        append_line(path, {"key": f"{name}-{i}", "text": "x" * 5000})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_append_at_the_same_time(path):
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=append_many, args=(path, name)) for name in "abcd"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert sorted(keys(path)) == sorted(f"{name}-{i}" for name in "abcd" for i in range(25))


def record_of(key, status="done", **more):
    plain = {"corpus": "tiny", "method": "crf", "choices": {}, "seed": 0, "draw": None, "steps": 4}
    ended = {"training": {"patience": 0}, "curve": [], "code": "c", "seconds": 0.1, "error": ""}
    return TrialRecord.model_validate({"key": key, "status": status, **plain, **ended, **more})


def finish(found, key, status="done", name="w", **more):
    work = found.output / "work" / name
    work.mkdir()
    (work / "log.txt").write_text(name, encoding="utf8")
    return found.finish(work, record_of(key, status, **more))


def test_a_finished_trial_has_a_folder_and_a_line(tmp_path, path):
    found = Ledger(tmp_path)
    assert found.record("k") is None
    draw, curve = {"n_sentences": 9, "entity_share": None}, [{"step": 2, "ents_macro_f": 0.1}]
    kept = {"draw": draw, "curve": curve, "dev": {"ents_f": 0.5}, "test": {"ents_f": None}, "score": 1}
    assert finish(found, "k", **kept)
    record = record_of("k", **kept)
    assert found.records() == {"k": record} and read_lines(path) == [record.data()]
    assert {name: record.data()[name] for name in kept} == kept
    assert found.record("k") == record
    assert (found.folder("k") / "log.txt").read_text(encoding="utf8") == "w"


def test_who_finishes_second_changes_nothing(tmp_path, path):
    found = Ledger(tmp_path)
    assert finish(found, "k", name="first")
    for status in ("done", "failed"):
        assert not finish(found, "k", status, name=f"second {status}")
    assert (found.folder("k") / "log.txt").read_text(encoding="utf8") == "first"
    assert keys(path) == ["k"] and found.records()["k"].status == "done"


def test_a_failure_can_be_tried_again(tmp_path, path):
    found = Ledger(tmp_path)
    for status in ("failed", "timeout", "done"):
        assert finish(found, "k", status, name=status)
        assert found.records()["k"].status == status
    assert [record["status"] for record in read_lines(path)] == ["failed", "timeout", "done"]
    assert (found.folder("k") / "before" / "log.txt").read_text(encoding="utf8") == "timeout"


def test_lines_that_are_lost_come_back(tmp_path, path):
    found = Ledger(tmp_path)
    for key in "abc":
        finish(found, key, dev={"ents_f": float("nan")})
    lines = path.read_text(encoding="utf8").splitlines(keepends=True)
    path.write_text(lines[0] + lines[2][:10], encoding="utf8")
    with pytest.warns(UserWarning, match="LW090"):
        Ledger(tmp_path)
    for _ in range(2):  # once
        with pytest.warns(UserWarning, match="LW090"):
            assert keys(path) == ["a", "b", "c"]
        with pytest.warns(UserWarning, match="LW090"):
            Ledger(tmp_path)
    path.unlink()
    Ledger(tmp_path)
    assert keys(path) == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "k"}', '{"key": "other"}', "\0\0"])
def test_a_folder_that_somebody_has_changed(text, tmp_path, path):
    found = Ledger(tmp_path)
    finish(found, "k")
    (found.folder("k") / "record.json").write_text(text, encoding="utf8")
    with pytest.warns(UserWarning, match="LW097"):
        assert Ledger(tmp_path).records() == {}
    assert finish(found, "k", name="again")
    assert found.records()["k"].status == "done"


def test_a_record_that_cannot_be_written_is_no_trial(tmp_path, path, monkeypatch):
    found = Ledger(tmp_path)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(records.os, "fsync", full)
        with pytest.raises(ValueError, match=r"L432.*No space"):
            finish(found, "k")
    assert found.records() == {} and not path.exists()
    assert finish(found, "k", name="again")


def test_folders_for_trials(tmp_path):
    check_output(tmp_path / "new", [], FOLDER)
    (tmp_path / "empty").mkdir()
    check_output(tmp_path / "empty", [], FOLDER)
    Ledger(tmp_path / "old")
    check_output(tmp_path / "old", [], FOLDER)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("x", encoding="utf8")
    with pytest.raises(ValueError, match=r"L476.*thesis"):
        check_output(tmp_path / "thesis", [], FOLDER)
    with pytest.raises(ValueError, match="L434"):
        check_output(tmp_path / "thesis" / "chapter.txt", [], FOLDER)
    with pytest.raises(ValueError, match="L432"):
        Ledger(tmp_path / "thesis" / "chapter.txt")
    assert json.dumps(sorted(p.name for p in tmp_path.iterdir())) == '["empty", "old", "thesis"]'
