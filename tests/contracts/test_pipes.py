"""The pipe contract over every published factory."""

import configparser
import inspect
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

import tests.pipes.gated  # noqa: F401  # registers a secondary
from spacy_longtail.training.averaging import average
from tests.contracts.check_pipe import (
    CHECKS,
    N_STEPS,
    OF_THE_FACTORY,
    OF_TRAINING,
    Case,
    assert_same_when_spawned,
    build,
)
from tests.util import (
    GATE_MODEL,
    HEADS,
    MOM,
    MRC_MODEL,
    QUERIES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    shared_gliner,
    small_ner,
    train,
)

ROOT = Path(__file__).parents[2]
SCORED = {"scores_key": "entity_scores"}
GATE = {"rare_labels": WEAK, "model": GATE_MODEL}
PRIMARY = {**small_ner(), **SCORED, "include": ["PER", "GEO"]}
BEHIND = (("ner", "longtail_ner", PRIMARY), ("gate", "longtail_sentence_gate", GATE))
READ = (("ner", "longtail_token_ner", {"model": TOKEN_MODEL, **SCORED}),)

SECONDARY = {"factory": "test_secondary", "covers": ["Fram", "Ida"], **SCORED}

MEMBERS = {head: {"head": head, "model": TOKEN_MODEL} for head in ("softmax", "crf")}


def ensemble(model=TOKEN_MODEL):
    """A softmax and a CRF, trained on the toy corpus, as one."""
    nlp, other = (
        build(Case("longtail_token_ner", small={"head": head, "model": model, **SCORED}))
        for head in MEMBERS
    )
    for seed, own in enumerate((nlp, other)):
        train(own, N_STEPS, seed, drop=0.0)
    average([nlp, other], ["softmax", "crf"])
    return nlp


DESCRIBED = {"@architectures": "longtail.DescribedTypes.v1", "width": 16, "tok2vec": SMALL}
HASHED = {"@misc": "longtail.HashedDescriptions.v1", "width": 40}
BILSTM = {"@architectures": "longtail.BiLSTM.v1", "embed": SMALL, "hidden_width": 16, "depth": 1}
BILSTM["dropout"] = 0.0
TAGGERS = {head: HEADS[head] for head in ("softmax", "sigmoid", "crf-biluo", "two_task-alternating")}
TAGGERS["described"] = {"model": DESCRIBED, "head": "crf", "describe": HASHED}
if find_spec("torch"):
    import torch

    torch.set_num_threads(1)  # or forked processes hang
    TAGGERS["bilstm"] = {"model": {**TOKEN_MODEL, "tok2vec": BILSTM}}

PIPES = {
    "longtail_ner": {
        "": Case("longtail_ner", small=small_ner(**SCORED)),
        "mom": Case("longtail_ner", small=small_ner(loss=MOM, **SCORED)),
    },
    "longtail_token_ner": {
        about: Case("longtail_token_ner", small={"model": TOKEN_MODEL, **settings, **SCORED})
        for about, settings in TAGGERS.items()
    },
    "longtail_ensemble_ner": {
        "": Case("longtail_ensemble_ner", {"members": MEMBERS}, learns=False, made=ensemble)
    },
    "longtail_sentence_gate": {
        "": Case("longtail_sentence_gate", small=GATE, toys={"rare_labels": WEAK})
    },
    "longtail_posterior_gate": {
        about: Case("longtail_posterior_gate", {"rare_labels": WEAK}, settings, READ, learns=False)
        for about, settings in (("", {}), ("threshold", {"threshold": 0.02}))
    },
    "longtail_gated_ner": {
        "": Case(
            "longtail_gated_ner", small={"model": TOKEN_MODEL}, before=BEHIND, toys={"labels": WEAK}
        )
    },
    "longtail_gated_pipe": {
        "": Case("longtail_gated_pipe", {}, {"pipe": SECONDARY}, BEHIND, learns=False)
    },
    "longtail_mrc_ner": {"": Case("longtail_mrc_ner", {"queries": QUERIES, "model": MRC_MODEL}, SCORED)},
    "longtail_gliner": {
        "": Case(
            "longtail_gliner",
            {"model_name": shared_gliner},
            {"labels": list(QUERIES), **SCORED},
            learns=False,
        )
    },
    "longtail_gazetteer": {"": Case("longtail_gazetteer", {}, SCORED, READ, learns=False)},
}
NEEDS = {"longtail_gliner": "gliner"}  # an extra that the other factories do without
CASES = {
    f"{factory}: {about}" if about else factory: case
    for factory, cases in PIPES.items()
    for about, case in cases.items()
}
ABSENT = {factory for factory, package in NEEDS.items() if not find_spec(package)}
CHECKED = [
    pytest.param(
        case,
        check,
        id=f"{name}: {check.__name__.removeprefix('check_')}",
        marks=pytest.mark.skipif(case.factory in ABSENT, reason="needs an extra"),
    )
    for name, case in CASES.items()
    for check in CHECKS
    if (case.learns or check not in OF_TRAINING)
    and (check not in OF_THE_FACTORY or case is next(iter(PIPES[case.factory].values())))
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
    given = {"tmp_path": tmp_path, "monkeypatch": monkeypatch}
    check(case, **{name: given[name] for name in inspect.signature(check).parameters if name in given})


@pytest.mark.slow
def test_spawned_processes_find_the_same():
    assert_same_when_spawned({n: case for n, case in CASES.items() if case.factory not in ABSENT})


@pytest.mark.slow
def test_a_fork_server_finds_the_same():
    """The default of Python 3.14 on Linux."""
    name = "longtail_token_ner: softmax"
    assert_same_when_spawned({name: CASES[name]}, "forkserver")
