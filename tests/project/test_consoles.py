"""Every command's output on every console: code pages and ASCII lack characters that we print."""

import io
import json
import os
import subprocess
import sys

import pytest

from spacy_longtail.cli import app
from spacy_longtail.output.console import any_console
from tests.util import corpus_of, one_pipe, run_app, small_ner, toy_corpus, trained_once

JAPANESE = "人名"


def japanese_corpus(folder):
    texts = [f"[Ann{i}|{JAPANESE}] saw the [Fram|ART] ." for i in range(3)]
    return corpus_of(folder, [JAPANESE, "ART"], train=texts, dev=texts)


def printed(encoding, *arguments):
    """What a command prints on a console of some encoding, and its exit code."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    command = [sys.executable, "-m", "spacy_longtail", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    return done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_label_in_another_script_ends_no_command(encoding, tmp_path):
    code, out, err = printed(encoding, "stats", japanese_corpus(tmp_path / "c"))
    assert code == 0, err
    assert r"\u4eba\u540d" in out and "Findings" in out and "UnicodeEncodeError" not in err
    code, out, err = printed(encoding, "stats", tmp_path / "c", "--json")
    assert code == 0 and json.loads(out)["labels"] == [JAPANESE, "ART"]


@pytest.fixture
def console(monkeypatch):
    """Return a function that replaces stdout by a console of an encoding, and returns its bytes."""

    def replace(encoding, errors="strict"):
        raw = io.BytesIO()
        stdout = io.TextIOWrapper(raw, encoding=encoding, errors=errors, write_through=True)
        monkeypatch.setattr(sys, "stdout", stdout)
        return raw

    return replace


@pytest.mark.parametrize(
    ("encoding", "errors", "shown"),
    [
        *((encoding, "strict", rb"[+] -1.5 \u4eba") for encoding in ("cp1252", "ascii", "latin-1")),
        ("cp1252", "replace", b"? ?1.5 ?"),  # of the user's choice
    ],
)
def test_signs_have_plain_forms_and_other_scripts_escapes(encoding, errors, shown, console):
    raw = console(encoding, errors)
    with any_console():
        sys.stdout.write("✔ −1.5 人")
    assert raw.getvalue() == shown
    assert sys.stdout.errors == errors


@pytest.mark.parametrize("name", [None, "convert", "split", "stats", "evaluate", "mine", "tune"])
def test_help_on_a_console_with_ascii_alone(name, console):
    raw = console("ascii")
    with pytest.raises(SystemExit) as ended:
        app([*([name] if name else []), "--help"])
    assert ended.value.code == 0 and b"Usage" in raw.getvalue()


@pytest.mark.slow
def test_a_negative_difference_ends_no_report(tmp_path):
    """It has the sign U+2212, which cp1252 lacks."""
    corpus, metrics = toy_corpus(tmp_path / "corpus"), tmp_path / "metrics"
    assert printed("cp1252", "stats", corpus, "-o", metrics / "stats.json")[0] == 0
    for name, steps in (("baseline", 40), ("worse", 1)):
        nlp, _ = trained_once(one_pipe, steps, factory="longtail_ner", **small_ner())
        nlp.to_disk(tmp_path / name)
        run_app("evaluate", tmp_path / name, corpus, "-o", metrics / f"{name}.json")
    page = tmp_path / "r.html"
    code, out, err = printed("cp1252", "evaluate", metrics, "--report", page, "--ours", "worse")
    assert code == 0, err
    assert "Report:" in out and "macro" in out
