"""What this package makes of paths and names on Windows, told on any system."""

import json
import os
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.corpus.splitting import read_shares
from spacy_longtail.output.writing import is_file_name
from spacy_longtail.studies.trials import engine, process
from spacy_longtail.studies.trials.ledger import append_line, read_lines
from spacy_longtail.studies.trials.secrets import masked
from spacy_longtail.training.provenance import short, shortened

PATHS = [
    r"C:\data\study.db",
    r"C:\Users\me@host\my study.db",
    r"D:\odd {name} 100%\study.db",
    r"\\server\share\study.db",
    "C:/data/study.db",
]


@pytest.mark.parametrize(
    "name",
    ["crf", "crf.two", "Fram å 漢", "com10", "console", "nul_", "a-b_c", ".hidden", "COM"],
)
def test_names_that_every_system_can_hold(name):
    assert is_file_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "CON", "con", "nul.json", "Aux.tar.gz", "COM1", "lpt9.txt", "con .x", "PRN", "a.", "a ", "."]
    + [f"a{c}b" for c in '<>:"/\\|?*\n\t\0\x1f'],
)
def test_names_that_some_system_cannot_hold(name):
    assert not is_file_name(name)


@given(st.text(max_size=12))
def test_python_agrees_on_names(name):
    """What is accepted is one name, relative, and none that Windows reserves."""
    if is_file_name(name):
        path = PureWindowsPath(name)
        assert path.parts == (name,) and not path.anchor
        assert not path.is_reserved()


@pytest.mark.parametrize("name", ["con", "AUX", "lpt1"])
def test_parts_are_not_named_like_devices(name):
    with pytest.raises(ValueError, match=rf"L440.*Windows has no file of the name '{name}'"):
        read_shares(f"train=0.8,{name}=0.2")


@pytest.mark.parametrize("path", PATHS)
def test_a_path_with_a_drive_is_a_storage(path):
    """As an SQLite URL that SQLAlchemy reads back, after Optuna has formatted it."""
    pytest.importorskip("optuna")
    from sqlalchemy import make_url

    from spacy_longtail.studies.trials.storage import _url

    url = make_url(_url(PureWindowsPath(path)).format(SCHEMA_VERSION=1))
    assert url.drivername == "sqlite" and url.host is None
    assert PureWindowsPath(url.database) == PureWindowsPath(path)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_with_a_drive_holds_no_password(path):
    for text in (path, f"sqlite:///{path}", f"cannot open {path}"):
        assert masked(text, text) == text


@pytest.mark.parametrize("path", PATHS)
def test_private_folders_are_left_out(path):
    assert short(path) == "/".join(path.replace("\\", "/").split("/")[-2:])
    assert not PureWindowsPath(shortened({"model": path})["model"]).drive


def test_lines_are_written_as_bytes(tmp_path, monkeypatch):
    """Windows opens a file as text, and writes \\r\\n, unless it is told not to."""
    given = []
    original = os.open

    def opened(path, flags, mode=0o777):
        given.append(flags)
        return original(path, flags & ~0x8000_0000, mode)

    monkeypatch.setattr("spacy_longtail.studies.trials.ledger.BINARY", 0x8000_0000)
    monkeypatch.setattr(os, "open", opened)
    append_line(tmp_path / "trials.jsonl", {"key": "a"})
    assert [flags & 0x8000_0000 for flags in given] == [0x8000_0000]


def test_lines_of_windows_are_read(tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_bytes(b'{"key": "a"}\r\n{"key": "b"}\r\n')
    assert [line["key"] for line in read_lines(path)] == ["a", "b"]
    append_line(path, {"key": "c"})
    assert json.loads(path.read_bytes().split(b"\n")[-2]) == {"key": "c"}


def test_no_process_is_ended_by_asking_for_it(monkeypatch):
    """os.kill(pid, 0) sends Ctrl-C on Windows."""
    monkeypatch.setattr(engine.os, "name", "nt")
    monkeypatch.setattr(engine.os, "kill", lambda *given: pytest.fail("a process was signalled"))
    assert engine.is_running(1)


def test_a_process_without_a_group_is_killed(monkeypatch):
    class Running:
        stdin, pid, returncode, killed, waited = None, 1, None, 0, 0

        def kill(self):
            self.killed += 1

        def wait(self):
            self.waited += 1

    monkeypatch.setattr(process.os, "name", "nt")
    monkeypatch.setattr(process.os, "killpg", lambda *given: pytest.fail("no groups on Windows"))
    running = Running()
    process._kill(running)
    assert (running.killed, running.waited) == (1, 1)


def test_the_lock_is_left_out_where_there_is_none(tmp_path, monkeypatch):
    from spacy_longtail.studies.trials import ledger

    monkeypatch.setattr(ledger, "fcntl", None)
    assert ledger.Ledger(Path(tmp_path) / "out").records() == {}
