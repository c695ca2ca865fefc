"""What this package makes of paths and names on Windows, told on any system."""

from pathlib import PureWindowsPath

import pytest

from spacy_longtail.corpus.splits import read_shares
from spacy_longtail.output.writing import is_file_name
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


@pytest.mark.parametrize("name", ["con", "AUX", "lpt1"])
def test_parts_are_not_named_like_devices(name):
    with pytest.raises(ValueError, match=rf"L440.*{name}="):
        read_shares(f"train=0.8,{name}=0.2")


@pytest.mark.parametrize("path", PATHS)
def test_private_folders_are_left_out(path):
    assert short_path(path) == "/".join(path.replace("\\", "/").split("/")[-2:])
    assert not PureWindowsPath(with_short_paths({"model": path})["model"]).drive
