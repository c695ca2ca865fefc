"""Cases of the pipe contract: every published factory with small models.

A new pipe has a row in PIPES. CASES has the cases of all factories by name, and ABSENT names the
factories whose extra is not installed.
"""

from importlib.util import find_spec

import tests.pipes.gated  # noqa: F401  # registers a secondary
from spacy_longtail.training.averaging import average
from tests.contracts.check_pipe import N_STEPS, Case, build
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

    torch.set_num_threads(1)  # small models are slower with more
    TAGGERS["bilstm"] = {"model": {**TOKEN_MODEL, "tok2vec": BILSTM}}

PIPES = {
    "longtail_ner": {
        "": Case("longtail_ner", small=small_ner(loss=MOM, **SCORED)),
    },
    "longtail_token_ner": {
        about: Case("longtail_token_ner", small={"model": TOKEN_MODEL, **settings, **SCORED})
        for about, settings in TAGGERS.items()
    },
    "longtail_ensemble_ner": {
        "": Case("longtail_ensemble_ner", {"members": MEMBERS}, learns=False, made=ensemble)
    },
    "longtail_sentence_gate": {
        "": Case("longtail_sentence_gate", small=GATE, toys={"rare_labels": WEAK}, adds_labels=False)
    },
    "longtail_posterior_gate": {
        "": Case("longtail_posterior_gate", {"rare_labels": WEAK}, before=READ, learns=False)
    },
    "longtail_gated_ner": {
        "": Case(
            "longtail_gated_ner", small={"model": TOKEN_MODEL}, before=BEHIND, toys={"labels": WEAK}
        )
    },
    "longtail_gated_pipe": {
        "": Case("longtail_gated_pipe", {}, {"pipe": SECONDARY}, BEHIND, learns=False)
    },
    "longtail_mrc_ner": {
        "": Case("longtail_mrc_ner", {"queries": QUERIES, "model": MRC_MODEL}, SCORED, adds_labels=False)
    },
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
