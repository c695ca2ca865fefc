"""Whatever a user types: one message on stderr and an exit code, or the traceback of a bug."""

import errno
import json
import os
import re
import signal
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import spacy
import typer
import wasabi
from confection import Config
from pydantic import BaseModel
from spacy.tokens import Doc, Span
from thinc.api import registry as functions
from typer.main import get_command

from spacy_longtail.cli import app, boundary
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.corpus.labels import check_label
from spacy_longtail.corpus.parts import part_path
from tests.util import config_file, new_file
from tests.util import invoke as run

COMMANDS = sorted(get_command(app).commands)
CODED = re.compile(r"\[(L\d+)\]")


def said(result, code=2):
    """The code of the one message on stderr, and the message."""
    assert result.exit_code == code, result.output
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    return CODED.findall(lines[0])[0], lines[0]


@pytest.fixture
def stats(monkeypatch):
    """Let `stats` do something else."""

    def run_as(function, *arguments):
        monkeypatch.setattr("spacy_longtail.cli.stats.ConvertedCorpus", function)
        return run(*arguments, "stats", "corpus")

    return run_as


@pytest.fixture
def failing(stats):
    """Let `stats` end with an error."""

    def fail(error, *arguments):
        def raised(*_):
            raise error

        return stats(raised, *arguments)

    return fail


def needed(name):
    """What a command cannot do without, each of it a path that is not there."""
    params = get_command(app).commands[name].params
    positional = ["nowhere"] * sum(not param.opts[0].startswith("-") for param in params)
    options = [param.opts[0] for param in params if param.required and param.opts[0].startswith("-")]
    return positional + [text for option in options for text in (option, "nowhere/at/all")]


def takes_code(name):
    return any("--code" in param.opts for param in get_command(app).commands[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_path_of_the_wrong_kind(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("my own")
    before = sorted(tmp_path.rglob("*"))
    said(run(name))
    assert said(run(name, *needed(name), "--no-such-option"))[0] == "L852"
    for path in ("nowhere", "folder", "file", "a" * 300, "a\0b", ""):
        said(run(name, *(path if given == "nowhere" else given for given in needed(name))))
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "file").read_text() == "my own"
    assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["trian"], "train"),
        (["matrix", "quick", "--training.max_steps", "5"], "--training.max_steps"),
        (["train", "a", "b", "c", "--max_steps", "5"], "--max_steps"),
        (["evaluate", "model"], "CORPUS"),
        (["evaluate", "metrics", "corpus", "--report", "x.html"], "CORPUS"),
        (["split", "c", "o", "--min-mentions", "-1"], "--min-mentions"),
    ],
)
def test_what_may_have_been_meant(arguments, hint):
    code, text = said(run(*arguments))
    assert code == "L852" and hint in text


def test_versions_and_tracebacks_where_they_are_wanted(failing, monkeypatch):
    shown = run("--version")
    assert shown.exit_code == 0 and f"spaCy {spacy.__version__}" in shown.output
    text = run().output
    assert all(name in text for name in COMMANDS)
    error = ValueError("[L402] x")
    assert "Traceback" in failing(error, "--debug").stderr
    monkeypatch.setenv("SPACY_LONGTAIL_DEBUG", "1")
    assert "Traceback" in failing(error).stderr


class Strict(BaseModel):
    number: int


def caught(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError


EXPECTED = {
    "coded": (ValueError("[L402] x does not exist. Name another."), "L402"),
    "spacy": (ValueError("[E088] Text of length 2000000 exceeds maximum of 1000000."), "L858"),
    "a code of spacy": (ValueError("[E1010] Unable to set entity information."), "L857"),
    "model": (OSError("[E050] Can't find model 'x'."), "L857"),
    "json": (caught(json.loads, "{"), "L856"),
    "pydantic": (caught(Strict.model_validate, {"number": "x"}), "L855"),
    "config": (caught(Config().from_str, "[a\n"), "L855"),
    "unicode": (caught(b"\xff".decode, "utf8"), "L856"),
    "permission": (PermissionError(errno.EACCES, "Permission denied", "/x"), "L432"),
    "full": (OSError(errno.ENOSPC, "No space left on device"), "L854"),
    "memory": (MemoryError(), "L853"),
    "usage": (typer.BadParameter("--x is odd"), "L852"),
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_a_user_can_cause_is_one_message(kind, failing):
    error, code = EXPECTED[kind]
    assert said(failing(error))[0] == code


BUGS = {
    "value": ValueError("no good"),
    "shapes": caught(np.matmul, np.zeros((2, 3)), np.zeros((2, 3))),
    "unpacking": caught(lambda: dict([(1, 2, 3)])),
    "type": TypeError("'NoneType' object is not subscriptable"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "import": ImportError("cannot import name 'x'", name="spacy_longtail.cli"),
    "key in a pipe": ValueError("[E109] Component 'ner' could not be run."),
    "not json": caught(json.dumps, {1, 2}),
}


@pytest.mark.parametrize("kind", BUGS)
def test_a_bug_is_not_blamed_on_the_user(kind, failing):
    result = failing(BUGS[kind])
    assert result.exit_code == 70 and "[L546]" in result.stderr.splitlines()[-1]
    assert "Traceback" in result.stderr and type(BUGS[kind]).__name__ in result.stderr
    assert spacy.__version__ in result.stderr


def test_a_config_is_not_blamed_for_what_a_function_does_with_it():
    def build(width: int):
        return "x" + width  # type: ignore[operator]

    functions.layers("longtail_test.v1")(build)
    block = {"@layers": "longtail_test.v1", "width": 1}
    error = caught(functions.resolve, {"x": block})
    assert isinstance(error, TypeError) and boundary.refusal(error) is None
    for wrong in ({**block, "depth": 2}, {**block, "@layers": "longtail_none.v1"}, {"@lairs": "x.v1"}):
        assert boundary.refusal(caught(functions.resolve, {"x": wrong})).startswith("[L855]")


def test_interruptions(failing, stats):
    def slow(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    before = signal.getsignal(signal.SIGTERM)
    for result in (failing(KeyboardInterrupt()), stats(slow)):
        assert result.exit_code == 130 and "Interrupted" in result.stderr
        assert "Traceback" not in result.output
    assert signal.getsignal(signal.SIGTERM) is before
    gone = failing(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert gone.exit_code == 141 and not gone.stderr


def test_what_a_command_of_spacy_ends_with_is_not_said_twice(stats):
    result = stats(lambda *_: wasabi.msg.fail("no such file", exits=1))
    assert result.exit_code == 2 and result.stderr == "" and "no such file" in result.output


@pytest.mark.parametrize("code", [None, 0, 3, "bye"])
def test_code_that_ends_a_command_before_it_is_done_is_named(code, failing):
    name, text = said(failing(SystemExit(code)))
    assert name == "L851" and __name__ in text


@pytest.mark.parametrize(
    "line",
    [
        "import sys; sys.exit()",
        "raise SystemExit(0)",
        "raise SystemExit('bye')",
        "raise GeneratorExit",
        "class Own(BaseException): ...\nraise Own('bye')",
        "1 / 0",
        "def",
    ],
)
@pytest.mark.parametrize("command", [c for c in COMMANDS if takes_code(c)])
def test_code_that_cannot_be_imported_is_refused_by_every_command(command, line, tmp_path):
    path = new_file(tmp_path / "own.py", line)
    name, text = said(run(command, *needed(command), "--code", path))
    assert name == "L850" and "own.py" in text


def test_an_interrupt_while_code_is_imported_is_one(tmp_path):
    path = new_file(tmp_path / "own.py", "raise KeyboardInterrupt")
    assert run("train", "a", "b", "c", "--code", path).exit_code == 130


def test_warnings_are_messages(stats):
    def warn(*_):
        warnings.warn("[LW030] something.", stacklevel=1)
        raise ValueError("[L402] x")

    lines = stats(warn).stderr.splitlines()
    assert len(lines) == 2 and "[LW030]" in lines[0] and "UserWarning" not in lines[0]


@pytest.mark.parametrize("part", ["../other/test", "..", "", "/etc/x", "a\\b", "a\0"])
def test_a_part_stays_in_its_corpus(part, tmp_path):
    with pytest.raises(ValueError, match="L548"):
        part_path(tmp_path, part)


DEEP = 100_000
HOSTILE = {
    "deep.jsonl": b'{"text": ' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    "open.json": b"[" * DEEP,
    "wide.jsonl": '{"text": "Ann", "label": [[0, 3, "PER"]]}\n'.encode("utf-16-le"),
    "wide.iob": "Ann\tB-PER\n".encode("utf-16-le"),
    "wide.csv": "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NN,B-per\n".encode("utf-16-le"),
    "line.jsonl": b'{"text": "Ann", "label": [[0, 3, "P\\nR"]]}\n',
    "blank.jsonl": b'{"text": "Ann", "label": [[0, 3, "  "]]}\n',
    "null.iob": b"Ann\tB-P\0R\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sources(name, tmp_path):
    (tmp_path / name).write_bytes(HOSTILE[name])
    said(run("convert", tmp_path / name, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("label", ["", " ", "a\nb", "a\0", "a\u2028b", " a", "\ud800", "O", "*", "US$"])
def test_names_that_no_type_has(label, tmp_path):
    with pytest.raises(ValueError, match="L550"):
        check_label(label)


def test_names_that_types_have(tmp_path):
    for label in ("PER", "Person name", "ORG-x", "میوه\u200cها", "人", "o", "-", "B-PER"):
        assert check_label(label) == label
    doc = Doc(spacy.blank("en").vocab, words=["Ann"])
    doc.ents = [Span(doc, 0, 1, label="P\nR")]
    with pytest.raises(ValueError, match="L550"):
        write_corpus(tmp_path / "c", {"train": [doc]}, CorpusTypes(["P\nR"], []))
    assert not (tmp_path / "c" / "train.spacy").exists()


def test_a_wrong_setting_is_named_without_the_rest_of_its_block(corpus, tmp_path):
    config = config_file("baseline")
    given = ["--training.max_steps", "many"]
    code, text = said(run("train", config, corpus, tmp_path / "out", *given))
    assert code == "L438" and "max_steps: Input should be a valid integer, found 'many'" in text
    assert "batcher" not in text


def test_a_damaged_config_is_named_on_one_line(corpus, tmp_path):
    (tmp_path / "broken.cfg").write_text("[paths]\n[nlp\n", encoding="utf8")
    search = ["--config", tmp_path / "broken.cfg", "--search", "training.dropout=0:0.5"]
    commands = [["train", tmp_path / "broken.cfg", corpus, tmp_path / "out"]]
    commands += [["tune", corpus, *search]] if find_spec("optuna") else []
    for command in commands:
        assert "broken.cfg" in said(run(*command))[1]


def test_a_damaged_pipeline_is_named_on_one_line(corpus, tmp_path):
    spacy.blank("en").to_disk(tmp_path / "model")
    (tmp_path / "model" / "config.cfg").write_text("xx{", encoding="utf8")
    code, text = said(run("evaluate", tmp_path / "model", corpus))
    assert code == "L408" and "model" in text


def test_messages_name_the_files_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    message = boundary.refusal(ValueError("[E999] odd"), ["stats", "corpus", "--x", "5"])
    assert message.startswith("[L857] spaCy cannot work with corpus: [E999] odd.")
