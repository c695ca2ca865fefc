"""Whatever a user types: one message on stderr and an exit code, or a log of what nobody foresaw."""

import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import spacy
import typer
from confection import Config, registry
from pydantic import BaseModel
from spacy.tokens import Doc, Span
from typer.main import get_command
from typer.testing import CliRunner

from spacy_longtail import cli
from spacy_longtail.cli import app, boundary, fault_log
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.corpus.labels import check_label
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.errors import Errors
from spacy_longtail.studies.trials import plan_file
from spacy_longtail.studies.trials.plan import read_plan
from spacy_longtail.training.debugging.data_checks import check_names
from tests.util import toy_corpus

RUN = CliRunner()
CONFIG = Path(__file__).parents[2] / "configs" / "baseline.cfg"
COMMANDS = sorted(get_command(app).commands)
CODED = re.compile(r"\[(L\d+)\]")
PLAN = "steps: 100\nseeds: 1\ngrids: [{head: softmax}]\n"


def run(*arguments):
    return RUN.invoke(app, [str(a) for a in arguments])


def said(result, code=2):
    """The code of the one message on stderr, and the message."""
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    return CODED.findall(lines[0])[0], lines[0]


@pytest.fixture
def corpus(tmp_path):
    return toy_corpus(tmp_path / "corpus" / "tiny")


@pytest.fixture
def failing(monkeypatch):
    """Let `stats` end with an error."""

    def fail(error):
        def raised(*_):
            raise error

        monkeypatch.setattr("spacy_longtail.cli.stats.corpus_statistics", raised)
        return run("stats", "corpus")

    return fail


def needed(name):
    """What a command cannot do without, each of it a path that is not there."""
    params = get_command(app).commands[name].params
    positional = ["nowhere"] * sum(not param.opts[0].startswith("-") for param in params)
    options = [param.opts[0] for param in params if param.required and param.opts[0].startswith("-")]
    return positional + [text for option in options for text in (option, "nowhere/at/all")]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_there_is_not(name):
    params = get_command(app).commands[name].params
    options = {o for p in params for o in p.opts if o.startswith("--")} or {"--help"}
    usual = max(options, key=len)
    for mistake in (usual.replace("-", "_").replace("__", "--", 1), f"{usual[:-1]}{usual[-1] * 2}"):
        if mistake not in options:
            code, text = said(run(name, *needed(name), mistake, "0"))
            assert code == "L545" and usual in text


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_not_there(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said(run(name))  # without arguments
    said(run(name, *needed(name)))
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["folder", "file", "long", "null", "blank"])
def test_a_path_of_the_wrong_kind(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("my own")
    path = {"folder": "folder", "file": "file", "long": "a" * 300, "null": "a\0b", "blank": ""}[kind]
    before = sorted(tmp_path.rglob("*"))
    said(run(name, *(path if given == "nowhere" else given for given in needed(name))))
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / "file").read_text() == "my own"


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name):
    assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["trian"], "train"),
        (["xyzzy"], "--help"),
        (["matrix", "quick", "--training.max_steps", "5"], "No such option: --training.max_steps"),
        (["train", "a", "b", "c", "--max_steps", "5"], "--training.max_steps 5"),
        (["train", "a", "b", "c", "d"], "no argument 'd'"),
        (["debug", "c", "--verbos"], "--verbos"),
        (["stats"], "Missing argument"),
        (["split", "c", "o", "--min-mentions", "-1"], "--min-mentions"),
    ],
)
def test_what_may_have_been_meant(arguments, hint):
    code, text = said(run(*arguments))
    assert code == "L545" and hint in text


def test_versions():
    shown = run("--version")
    python = f"Python {sys.version.split()[0]}"
    assert (
        shown.exit_code == 0 and python in shown.output and f"spaCy {spacy.__version__}" in shown.output
    )
    assert run().exit_code == 0 and "convert" in run().output


class Strict(BaseModel):
    number: int


def config_error(function, **settings):
    try:
        registry.resolve({"x": {function: "longtail_test", **settings}})
    except Exception as error:
        return error
    raise AssertionError


def caught(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError


EXPECTED = {
    "coded": (ValueError("[L402] x does not exist. Name another."), "L402"),
    "spacy": (ValueError("[E088] Text of length 2000000 exceeds maximum of 1000000."), "L540"),
    "json": (caught(json.loads, "{"), "L540"),
    "pydantic": (caught(Strict.model_validate, {"number": "x"}), "L540"),
    "config": (caught(Config().from_str, "[a\n"), "L540"),
    "unicode": (caught(b"\xff".decode, "utf8"), "L540"),
    "permission": (PermissionError(errno.EACCES, "Permission denied", "/x"), "L432"),
    "folder": (IsADirectoryError(errno.EISDIR, "Is a directory", "/x"), "L432"),
    "full": (OSError(errno.ENOSPC, "No space left on device"), "L541"),
    "network": (ConnectionError("no route"), "L541"),
    "import": (ModuleNotFoundError("No module named 'x'", name="x"), "L542"),
    "recursion": (caught(json.loads, "[" * 100_000), "L543"),
    "memory": (MemoryError(), "L544"),
    "usage": (typer.BadParameter("--x is odd"), "L545"),
    "system exit": (SystemExit(1), "L540"),
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_what_a_user_can_cause_is_one_message(kind, failing):
    error, code = EXPECTED[kind]
    assert said(failing(error))[0] == code


BUGS = {
    "value": ValueError("no good"),
    "shapes": caught(np.matmul, np.zeros((2, 3)), np.zeros((2, 3))),
    "broadcast": caught(np.add, np.zeros(2), np.zeros(3)),
    "unpacking": caught(lambda: dict([(1, 2, 3)])),
    "overflow": caught(int, float("inf")),
    "index": IndexError("list index out of range"),
    "type": TypeError("'NoneType' object is not subscriptable"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "import": ImportError("cannot import name 'x'", name="spacy_longtail.cli"),
    "key in a pipe": ValueError("[E109] Component 'ner' could not be run."),
    "not json": caught(json.dumps, {1, 2}),
}


@pytest.mark.parametrize("kind", BUGS)
def test_a_bug_is_not_blamed_on_the_user(kind, failing, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, text = said(failing(BUGS[kind]), 1)
    (log,) = tmp_path.glob("*.log")
    assert code == "L546" and str(log) in text and type(BUGS[kind]).__name__ in log.read_text()


def test_a_config_is_not_blamed_for_what_a_function_does_with_it():
    def build(width: int):
        return "x" + width  # type: ignore[operator]

    from thinc.api import registry as functions

    functions.layers("longtail_test.v1")(build)
    block = {"@layers": "longtail_test.v1", "width": 1}
    found = caught(functions.resolve, {"x": block})
    assert isinstance(found, TypeError) and boundary.refusal(found) is None
    for wrong in ({**block, "depth": 2}, {**block, "@layers": "longtail_none.v1"}, {"@lairs": "x.v1"}):
        assert boundary.refusal(caught(functions.resolve, {"x": wrong})).startswith("[L540]")


def test_what_nobody_foresaw_is_kept_in_a_log(failing, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("MY_API_KEY", "hunter22hunter22")
    result = failing(KeyError("hunter22hunter22 postgresql://me:secret1@host/db"))
    code, text = said(result, 1)
    (log,) = tmp_path.glob("*.log")
    assert code == "L546" and str(log) in text and "hunter22" not in text and "secret1" not in text
    kept = log.read_text()
    assert "Traceback" in kept and "test_boundary.py" in kept and spacy.__version__ in kept
    assert "python -m spacy_longtail stats corpus" in kept
    assert "hunter22" not in kept and "secret1" not in kept
    assert log.stat().st_mode & 0o077 == 0
    failing(KeyError("x"))
    assert len(list(tmp_path.glob("*.log"))) == 2
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert "--debug" in said(failing(KeyError("x")), 1)[1]


@pytest.mark.parametrize(
    "typed",
    [
        ["--set", "a.api_key=abcdef123"],
        ["--a.api_key", "abcdef123"],
        ["--set", 'a.b={"password": "abcdef123"}'],
        ["--set", "a.b=postgresql://me:abcdef123@host/db"],
        ["--x", "Bearer abcdef123"],
    ],
)
def test_a_command_is_kept_without_secrets(typed):
    found = fault_log.typed(["matrix", *typed])
    assert "abcdef123" not in found and "matrix" in found


def test_tracebacks_where_they_are_wanted(monkeypatch):
    def fail(*_):
        raise ValueError("no good")

    monkeypatch.setattr("spacy_longtail.cli.stats.corpus_statistics", fail)
    found = run("--debug", "stats", "x")
    assert found.exit_code == 1 and "Traceback" in found.stderr and "[L546]" in found.stderr
    monkeypatch.setenv(boundary.DEBUG, "1")
    assert "Traceback" in run("stats", "x").stderr
    monkeypatch.setenv(boundary.DEBUG, "0")
    assert "Traceback" not in run("stats", "x").stderr


def test_a_reader_that_has_gone(failing):
    found = failing(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert found.exit_code == 141 and not found.stderr


def test_an_interruption(failing):
    found = failing(KeyboardInterrupt())
    assert found.exit_code == 130 and "Interrupted" in found.stderr and "Traceback" not in found.output


@pytest.mark.parametrize("name", boundary.RESUMING)
def test_commands_that_resume_say_so(name):
    assert name in COMMANDS
    assert "goes on" in boundary._interruption([name, "x"])
    assert "goes on" not in boundary._interruption(["stats", name])


def test_being_terminated_is_an_interruption(monkeypatch):
    def slow(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("spacy_longtail.cli.stats.corpus_statistics", slow)
    found = run("stats", "x")
    assert found.exit_code == 130 and "Interrupted" in found.stderr
    assert signal.getsignal(signal.SIGTERM) is before


def test_warnings_are_messages(monkeypatch):
    import warnings

    def warn(*_):
        warnings.warn("[LW030] something.", stacklevel=1)
        raise ValueError("[L402] x")

    monkeypatch.setattr("spacy_longtail.cli.stats.corpus_statistics", warn)
    lines = run("stats", "x").stderr.splitlines()
    assert len(lines) == 2 and "[LW030]" in lines[0] and "UserWarning" not in lines[0]


@pytest.mark.parametrize("part", ["../other/test", "..", ".", "", "/etc/x", "a\\b", "a\0"])
def test_a_part_stays_in_its_corpus(part, corpus, tmp_path):
    toy_corpus(tmp_path / "other")
    with pytest.raises(ValueError, match="L548"):
        part_path(corpus, part)
    assert not part or said(run("split", corpus, tmp_path / "out", "--part", part))[0] == "L548"
    assert said(run("audit", corpus, "-o", tmp_path / "x", "--part", part))[0] == "L548"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "setting",
    [
        "optimizer.learn_rate=-1",
        "optimizer.learn_rate=0",
        'optimizer.learn_rate={"@schedules":"warmup_linear.v1","warmup_steps":2,"total_steps":9,"initial_rate":-1}',
        "optimizer.L2=-0.1",
        "optimizer.beta1=1.5",
        "dropout=-0.5",
        "dropout=1.0",
        "eval_frequency=0",
        "accumulate_gradient=0",
        "max_steps=-1",
        "max_steps=0",
        "seed=-1",
        "batcher.size=0",
        "patience=-3",
    ],
)
def test_numbers_of_a_training(setting, corpus, tmp_path):
    code, text = said(run("train", CONFIG, corpus, tmp_path / "out", f"--training.{setting}"))
    assert code == "L438" and setting.partition("=")[0].replace("beta1", "b1") in text
    assert not (tmp_path / "out").exists()


def test_a_section_that_is_there_twice(corpus, tmp_path):
    path, plan = tmp_path / "twice.cfg", tmp_path / "plan.yml"
    path.write_text(f"{CONFIG.read_text(encoding='utf8')}\n[nlp]\n", encoding="utf8")
    plan.write_text(f"{PLAN}config: twice.cfg\n")
    assert said(run("train", path, corpus, tmp_path / "out"))[0] == "L438"
    assert said(run("matrix", plan, corpus, "-o", tmp_path / "out", "--dry-run"))[0] == "L470"
    assert not (tmp_path / "out").exists()


BOMB = "grids:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"- &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 7)
)
PLANS = {
    "aliases written out": BOMB,
    "lists are within each other": "grids: &a [*a]\n",
    "brackets are within each other": "grids: " + "[" * 100_000,
    "seeds must be at most 10,000": PLAN.replace("seeds: 1", "seeds: 1000000000"),
    "partitions must be": PLAN.replace("seeds: 1", "partitions: 1000000000\nsizes: [5]"),
    "steps must be": PLAN.replace("100", "1" + "0" * 30),
    "trials": PLAN.replace("seeds: 1", "seeds: 9999")
    + f"corpora: [{', '.join(f'c{i}' for i in range(99))}]\n",
    "1,000,000 at most": "# " + "x" * plan_file.MOST_BYTES + "\n" + PLAN,
}


@pytest.mark.parametrize("problem", PLANS)
def test_a_plan_has_bounds(problem, tmp_path):
    path = tmp_path / "plan.yml"
    path.write_text(PLANS[problem])
    code, text = said(run("matrix", path, "-o", tmp_path / "out", "--dry-run"))
    assert code == "L470" and problem in text and len(text) < 1000


def test_a_plan_of_a_usual_size_is_read(tmp_path):
    path = tmp_path / "plan.yml"
    path.write_text("choices: &a {}\nmethods: {}\n" + PLAN.replace("seeds: 1", "seeds: 10000"))
    assert len(read_plan(str(path)).seeds) == 10_000
    (tmp_path / "utf16.yml").write_bytes(PLAN.encode("utf-16"))
    with pytest.raises(ValueError, match="L470"):
        read_plan(str(tmp_path / "utf16.yml"))


DEEP = 100_000
HOSTILE = {
    "deep.jsonl": b'{"text": ' + b"[" * DEEP + b"]" * DEEP + b"}\n",
    "deep.json": b"[" * DEEP + b"]" * DEEP,
    "open.json": b"[" * DEEP,
    "wide.jsonl": '{"text": "Ann", "label": [[0, 3, "PER"]]}\n'.encode("utf-16-le"),
    "wide.iob": "Ann\tB-PER\n".encode("utf-16-le"),
    "wide.csv": "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NN,B-per\n".encode("utf-16-le"),
    "line.jsonl": b'{"text": "Ann", "label": [[0, 3, "P\\nR"]]}\n',
    "null.jsonl": b'{"text": "Ann", "label": [[0, 3, "P\\u0000R"]]}\n',
    "blank.jsonl": b'{"text": "Ann", "label": [[0, 3, "  "]]}\n',
    "null.iob": b"Ann\tB-P\0R\n",
    "line.csv": b'Sentence #,Word,POS,Tag\nSentence: 1,Ann,NN,"B-p\nr"\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sources(name, tmp_path):
    (tmp_path / name).write_bytes(HOSTILE[name])
    said(run("convert", tmp_path / name, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["columns.iob", "records.jsonl", "rows.csv"])
def test_a_byte_order_mark_is_no_part_of_a_text(name, tmp_path):
    texts = {
        "columns.iob": "Ann\tB-PER\n",
        "records.jsonl": '{"text": "Ann", "label": [[0, 3, "PER"]]}\n',
        "rows.csv": "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NN,B-PER\n",
    }
    (tmp_path / name).write_bytes(texts[name].encode("utf-8-sig"))
    assert run("convert", tmp_path / name, tmp_path / "out").exit_code == 0
    assert json.loads((tmp_path / "out" / "types.json").read_text())["labels"] == ["PER"]


@pytest.mark.parametrize(
    "label", ["", " ", "a\nb", "a\0", "a\u2028b", " a", "a\t", "\ud800", "O", "*", "US$"]
)
def test_names_that_no_type_has(label):
    with pytest.raises(ValueError, match="L550"):
        check_label(label)


@pytest.mark.parametrize(
    "label", ["PER", "Person name", "ORG-x", "میوه\u200cها", "人", "o", "-", "B-PER"]
)
def test_names_that_types_have(label):
    assert check_label(label) == label


def test_nothing_is_written_with_such_a_type(tmp_path):
    doc = Doc(spacy.blank("en").vocab, words=["Ann"])
    doc.ents = [Span(doc, 0, 1, label="P\nR")]
    with pytest.raises(ValueError, match="L550"):
        write_corpus(tmp_path / "c", {"train": [doc]}, CorpusTypes(["P\nR"], []))
    assert not (tmp_path / "c" / "train.spacy").exists()


def test_many_types_are_checked_in_time():
    """Each with each other would take an hour."""

    class Counted:
        labels = (*(f"L{i}" for i in range(20_000)), "l7")

        class found:
            undeclared = ()

        def listed(self, labels):
            return ", ".join(labels)

    start = time.process_time()
    texts = [check.text for check in check_names(Counted())]
    assert time.process_time() - start < 10
    assert any("L7, l7" in text for text in texts) and any("too many" in text for text in texts)


def test_codes_of_the_boundary_are_in_its_range():
    names = [name for name in vars(Errors) if name.startswith("L54") or name.startswith("L55")]
    assert len(names) == len(set(names)) and all(f"[{name}]" in getattr(Errors, name) for name in names)


def test_a_reader_that_has_gone_while_help_is_printed():
    command = [sys.executable, "-m", "spacy_longtail", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141 and not said


# Completion


def test_a_shell_is_answered(monkeypatch):
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "longtail ma")
    monkeypatch.setenv("_LONGTAIL_COMPLETE", "complete_bash")
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()) as shown:
        cli.main([], prog_name="longtail")
    assert not ended.value.code and shown.getvalue().split() == ["matrix"]
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
        cli.main(["--version"], prog_name="python -m spacy_longtail")
    assert "spacy" in shown.getvalue()
