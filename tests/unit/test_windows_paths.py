"""Paths and names as they are on Windows, checked on every system."""

from pathlib import PureWindowsPath
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.corpus.splits import read_shares
from spacy_longtail.output.targets import is_file_name
from spacy_longtail.studies.trials import process
from spacy_longtail.training.provenance import short_path, with_short_paths

PATHS = [
    r"C:\data\study.db",
    r"C:\Users\me@host\my study.db",
    r"D:\odd {name} 100%\study.db",
    r"\\server\share\study.db",
    "C:/data/study.db",
]


def test_names_that_every_system_can_hold():
    good = ["crf", "crf.two", "Fram å 漢", "com10", "console", "nul_", "a-b_c", ".hidden", "COM"]
    bad = ["", ".", "a.", "a ", "CON", "con", "con .x", "PRN", "nul.json", "Aux.tar.gz", "COM1"]
    bad += ["lpt9.txt", *(f"a{character}b" for character in '<>:"/\\|?*\n\t\0\x1f')]
    assert all(map(is_file_name, good)) and not any(map(is_file_name, bad))


@given(st.text(max_size=12))
def test_accepted_names_are_relative_and_not_reserved_on_windows(name):
    """What is accepted is one name, relative, and none that Windows reserves."""
    if is_file_name(name):
        path = PureWindowsPath(name)
        assert path.parts == (name,) and not path.anchor
        assert not path.is_reserved()


@pytest.mark.parametrize("name", ["con", "AUX", "lpt1"])
def test_parts_are_not_named_like_devices(name):
    with pytest.raises(ValueError, match=rf"L440.*{name}="):
        read_shares(f"train=0.8,{name}=0.2")


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_shortened_without_private_folders(path):
    assert short_path(path) == "/".join(path.replace("\\", "/").split("/")[-2:])
    assert not PureWindowsPath(with_short_paths({"model": path})["model"]).drive


def test_a_process_without_a_group_is_killed(monkeypatch):
    # of this module alone: under another os.name pytest itself cannot say what failed
    monkeypatch.setattr(process, "os", SimpleNamespace(name="nt"))
    running = Mock(stdin=None, pid=1, returncode=None)
    process._kill(running)
    running.kill.assert_called_once_with()
    running.communicate.assert_called_once_with()
