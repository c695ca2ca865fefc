"""No password of a database is shown or kept."""

import pytest
import spacy
from hypothesis import assume, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus
from spacy_longtail.studies.trials.secrets import masked
from spacy_longtail.studies.trials.storage import coded_storage, open_storage
from tests.util import SENTENCES, parse

URL = "postgresql://bob:hunter2@host/name"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (URL, "postgresql://bob:***@host/name"),
        ("mysql+pymysql://bob:p@ss:w@host:3306/x?a=1", "mysql+pymysql://bob:***@host:3306/x?a=1"),
        ("sqlite:////shared/study.db", "sqlite:////shared/study.db"),
        ("postgresql://bob@host/name", "postgresql://bob@host/name"),
        ("dsn: host=h password=hunter2 user=bob", "dsn: host=h password=*** user=bob"),
        ("x://h/d?password=hunter2&a=1", "x://h/d?password=***&a=1"),
        (f"two: {URL} {URL}", "two: postgresql://bob:***@host/name postgresql://bob:***@host/name"),
        ("runs/study.db", "runs/study.db"),
    ],
)
def test_passwords_are_masked(text, expected):
    assert masked(text) == expected


def test_a_password_is_masked_wherever_it_stands():
    text = "FATAL: login of bob with 'p@ss wörd' and p%40ss%20w%C3%B6rd failed"
    assert masked(text, "postgresql://bob:p%40ss%20w%C3%B6rd@host/x") == (
        "FATAL: login of bob with '***' and *** failed"
    )


# an URL has neither spaces nor control characters
PASSWORDS = st.characters(codec="utf8", exclude_characters="/@:", exclude_categories=("Z", "Cc"))


@given(st.text(PASSWORDS, min_size=4))
def test_no_password_survives(password):
    expected = "cannot open postgresql://bob:***@host/name: *** refused"
    assume(password not in expected)
    url = f"postgresql://bob:{password}@host/name"
    assert masked(f"cannot open {url}: {password} refused", url) == expected


@pytest.fixture
def failing(monkeypatch):
    """A database driver that tells everything."""
    optuna = pytest.importorskip("optuna", reason="needs the extra 'tune'")

    def fails(url, **_):
        raise RuntimeError(f"no route to {url} with password=hunter2")

    monkeypatch.setattr(optuna.storages, "RDBStorage", fails)
    return optuna


def test_a_study_that_cannot_be_opened_tells_no_password(failing, tmp_path):
    with pytest.raises(ValueError, match=r"L477.*bob:\*\*\*@host") as caught:
        open_storage(URL, tmp_path / "j")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None


def test_a_study_that_fails_later_tells_no_password():
    with pytest.raises(ValueError, match="L491") as caught, coded_storage():
        raise RuntimeError(f"lost {URL}")
    assert "hunter2" not in str(caught.value)


def test_a_missing_driver_is_named(tmp_path, monkeypatch):
    optuna = pytest.importorskip("optuna", reason="needs the extra 'tune'")

    def fails(url, **_):
        raise ImportError("Failed to import DB access module") from ModuleNotFoundError(name="psycopg2")

    monkeypatch.setattr(optuna.storages, "RDBStorage", fails)
    with pytest.raises(
        ValueError, match=r"L477.*psycopg2 is not installed\. Run: pip install psycopg2-binary"
    ):
        open_storage(URL, tmp_path / "j")


@pytest.mark.parametrize("command", [["matrix", "quick"], ["curve"], ["tune"], ["recommend"]])
def test_the_url_may_come_from_a_variable(command):
    found = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert "SPACY_LONGTAIL_STORAGE" in found.output


def test_a_password_in_the_variable_is_not_printed(failing, tmp_path):
    nlp = spacy.blank("en")
    docs = [parse(nlp, text) for text in SENTENCES]
    types = CorpusTypes(["PER", "GEO", "ART", "NAT"], ["NAT"], "en", "words")
    write_corpus(tmp_path / "tiny", {"train": docs, "dev": docs, "test": docs}, types)
    arguments = ["matrix", "quick", tmp_path / "tiny", "-o", tmp_path / "out", "--steps", "100"]
    environment = {"SPACY_LONGTAIL_STORAGE": URL}
    found = CliRunner().invoke(app, [str(a) for a in arguments], env=environment)
    assert found.exit_code == 2 and "L477" in found.output
    kept = "".join(p.read_text(errors="replace") for p in (tmp_path / "out").rglob("*") if p.is_file())
    assert "hunter2" not in found.output + kept
