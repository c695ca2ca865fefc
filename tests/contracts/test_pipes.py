"""The pipe contract over every published factory."""

import configparser
from importlib.metadata import entry_points

import pytest

from tests.contracts.check_pipe import OF_THE_FACTORY, assert_same_when_spawned, checks_of, run
from tests.contracts.pipe_cases import ABSENT, CASES, PIPES
from tests.util import ROOT

CHECKED = [
    pytest.param(
        case,
        check,
        id=f"{name}: {check.__name__.removeprefix('check_')}",
        marks=pytest.mark.skipif(case.factory in ABSENT, reason="needs an extra"),
    )
    for name, case in CASES.items()
    for check in checks_of(case)
    if check not in OF_THE_FACTORY or case is next(iter(PIPES[case.factory].values()))
]


def test_every_published_factory_is_checked():
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    lines = parser["options.entry_points"]["spacy_factories"].strip().splitlines()
    declared = {line.split("=")[0].strip() for line in lines}
    installed = {
        e.name for e in entry_points(group="spacy_factories") if e.value.startswith("spacy_longtail.")
    }
    assert declared == installed == set(PIPES)
    for factory, cases in PIPES.items():
        assert cases and {case.factory for case in cases.values()} == {factory}


@pytest.mark.filterwarnings("ignore:.*LW0.*")
@pytest.mark.parametrize(("case", "check"), CHECKED)
def test_the_contract(case, check, tmp_path, monkeypatch):
    run(check, case, tmp_path, monkeypatch)


@pytest.mark.slow
def test_spawned_processes_find_the_same():
    assert_same_when_spawned({n: case for n, case in CASES.items() if case.factory not in ABSENT})


@pytest.mark.slow
def test_a_fork_server_finds_the_same():
    """The default of Python 3.14 on Linux."""
    name = "longtail_token_ner: softmax"
    assert_same_when_spawned({name: CASES[name]}, "forkserver")
