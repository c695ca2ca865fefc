"""Settings that no pipe is built or initialised with: a row a cause, with its error's code."""

import pytest

from tests.util import (
    GATE_MODEL,
    MRC_MODEL,
    QUERIES,
    SMALL,
    TOKEN_MODEL,
    WEAK,
    blank,
    examples,
    shared_gliner,
    small_ner,
)

NER, TOKENS, MRC = "longtail_ner", "longtail_token_ner", "longtail_mrc_ner"
GATE, POSTERIOR = "longtail_sentence_gate", "longtail_posterior_gate"
WEAK_NER, PIPE, GLINER = "longtail_gated_ner", "longtail_gated_pipe", "longtail_gliner"
SETTINGS = {  # of each factory, over which a row puts its own
    NER: lambda: small_ner(),
    TOKENS: lambda: {"model": TOKEN_MODEL},
    GATE: lambda: {"model": GATE_MODEL, "rare_labels": WEAK},
    POSTERIOR: lambda: {"rare_labels": WEAK},
    WEAK_NER: lambda: {"model": TOKEN_MODEL, "labels": WEAK, "merge": "fill"},
    MRC: lambda: {"model": MRC_MODEL, "queries": QUERIES},
    PIPE: lambda: {},
    GLINER: lambda: {"model_name": shared_gliner(), "labels": [*QUERIES]},
}
CE = {"@losses": "longtail.CrossEntropy.v1"}
FOREIGN = {"loss": {"@losses": "CategoricalCrossentropy.v3"}}
SCORED = {"scores_key": "entity_scores"}


def weighted(preset="inverse_frequency", **settings):
    return {"loss": {**CE, "weights": {"@misc": f"longtail.{preset}.v1", **settings}}}


LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 32, "upstream": "*"}
TAGGER = {"@architectures": "spacy.Tagger.v2", "tok2vec": SMALL}
PARSER = small_ner()["model"]
OWN = {"factory": "entity_ruler"}


CASES = [
    *((factory, FOREIGN, "L002") for factory in (NER, TOKENS, MRC, WEAK_NER)),
    *((factory, weighted(), "L004") for factory in (TOKENS, WEAK_NER)),
    *((factory, {"thresholds": {"XYZ": 0.5}, **SCORED}, "L203.*XYZ") for factory in (NER, TOKENS, MRC)),
    *((factory, {"thresholds": {"ART": 1.5}, **SCORED}, "L001.*ART") for factory in (NER, TOKENS)),
    *((factory, {"thresholds": {"ART": 0.5}}, "L251") for factory in (NER, TOKENS)),
    *((factory, {"abstain_key": "unsure", **SCORED}, "L213") for factory in (NER, TOKENS, WEAK_NER)),
    *(
        (factory, {"thresholds": {"ART": 0.5}, "abstain_key": key, **SCORED}, f"L001.*{key}")
        for factory, key in (
            (TOKENS, "entity_scores"),
            (NER, "entity_scores"),
            (WEAK_NER, "weak_sentences"),
        )
    ),
    *((factory, {"include": ["PER", "XYZ"]}, "L203.*XYZ") for factory in (NER, TOKENS)),
    *((factory, {"head_rate": 0}, "L001") for factory in (TOKENS, GATE, MRC)),
    # longtail_ner
    (NER, {"beam_width": 4}, "beam_width"),
    (NER, weighted(), "L002"),
    (NER, weighted(unit="type"), "L004"),
    (NER, weighted("label_weights", weights={"XYZ": 2.0}), "L203.*XYZ"),
    (NER, {"include": ["PER", "PER"]}, "L001.*include"),
    (NER, {"model": {**PARSER, "extra_state_tokens": True}, **SCORED}, "L209"),
    # longtail_token_ner
    (TOKENS, {"head": "two_task", "scheme": "BILUO"}, "L213"),
    *((TOKENS, {"warmup": 5, **more}, "L213") for more in ({}, {"loss": CE}, {"head": "two_task"})),
    (TOKENS, {"warmup": -1, "loss": {"@losses": "longtail.Focal.v1"}}, "L001"),
    (TOKENS, {"include": []}, "L001"),
    (TOKENS, {"include": ["PER", "O"]}, "L550"),
    *((TOKENS, {"model": model}, "L209") for model in ({**TOKEN_MODEL, "nO": 7}, PARSER, TAGGER)),
    # the gates
    (GATE, {"rare_labels": []}, "L001"),
    (GATE, {"rare_labels": "NAT"}, "L001"),
    (GATE, {"rare_labels": ["ART", "ART"]}, "L001"),
    (GATE, {"rare_labels": ["PER", "O"]}, "L550"),
    (GATE, {"rare_labels": ["XYZ"]}, "L205.*XYZ"),
    (GATE, {"rare_labels": ["NAT", "XYZ"]}, "L203.*XYZ"),
    (GATE, {"rare_labels": "auto", "auto_share": 0.0}, "L205"),
    (GATE, {"rare_labels": "auto", "auto_share": 2.0}, "L001.*auto_share"),
    (GATE, {"threshold": 1.5}, "L001.*1.5"),
    (GATE, {"data": "half"}, "data"),
    (POSTERIOR, {"rare_labels": []}, "L001"),
    (POSTERIOR, {"budget": 0}, "L001.*budget.*0"),
    (POSTERIOR, {"budget": 1.5}, "L001.*1.5"),
    (POSTERIOR, {"threshold": -1}, "L001.*-1"),
    # what reads flagged sentences
    (WEAK_NER, {"loss": {"@losses": "longtail.Distillation.v1"}}, "L002"),  # it has no teacher
    (WEAK_NER, {"labels": []}, "L001"),
    (WEAK_NER, {"labels": ["NAT", "XYZ"]}, "L203.*XYZ"),
    (WEAK_NER, {"labels": "auto", "spans_key": None}, "L001"),
    (WEAK_NER, {"head": "hydra"}, "hydra"),
    (WEAK_NER, {"merge": "span", "scores_key": None}, "L207"),
    (WEAK_NER, {"merge": "token"}, "L207"),
    (WEAK_NER, {"merge": "union"}, "merge"),
    (WEAK_NER, {"spans_key": "other"}, "L210.*other"),
    (PIPE, {}, "L285.*neither"),
    (PIPE, {"pipe": OWN, "source": "x"}, "L285.*both"),
    (PIPE, {"pipe": {"factory": "ner"}}, "L285.*weights to train"),
    (PIPE, {"pipe": {"factory": "sentencizer"}}, "L285.*'sentencizer'"),
    (PIPE, {"pipe": {"factory": "entity_rular"}}, "L285.*'entity_rular'"),
    (PIPE, {"pipe": {**OWN, "phrase": 1}}, "phrase"),
    (PIPE, {"pipe": OWN, "merge": "best"}, "merge"),
    (PIPE, {"pipe": OWN, "merge": "span", "scores_key": None}, "L207"),
    (PIPE, {"pipe": OWN, "batch_size": 0}, "L001.*batch_size"),
    (PIPE, {"pipe": OWN, "max_failures": -1}, "L001.*-1"),
    (PIPE, {"pipe": OWN, "labels": []}, "L001"),
    (PIPE, {"pipe": OWN, "labels": ["A"], "label_map": {"X": "B"}}, "L285.*'B'"),
    (PIPE, {"pipe": OWN, "label_map": {"X": " "}}, "L285.*' '"),
    (GLINER, {"descriptions": {"PER": " \n"}}, "L271.*PER"),
    (GLINER, {"descriptions": {"GEO": "person"}}, "L271.*PER and GEO"),
    (GLINER, {"descriptions": {"SHIP": "ship"}}, "L203.*SHIP"),
    (GLINER, {"threshold": 1.0}, "L001.*threshold"),
    (GLINER, {"thresholds": {"SHIP": 0.7}, **SCORED}, "L203.*SHIP"),
    (GLINER, {"model_name": None}, "model_name"),
    # reading comprehension
    (MRC, {"queries": {}}, "L230"),
    *((MRC, {"queries": {"PER": text}}, "L230") for text in (" ", "where is ${paths.train}")),
    *((MRC, {"queries": {label: "persons"}}, "L230") for label in (" ", "[x", "a=b")),
    *((MRC, {"queries": {label: "persons"}}, "L550.*queries") for label in ("O", "PER ")),
    (MRC, {"model": {**MRC_MODEL, "tok2vec": LISTENER}}, "L209.*listener"),
    *((MRC, {"model": model}, "L209") for model in (PARSER, TOKEN_MODEL)),
    (MRC, {"batch_size": 0}, "L001.*batch_size"),
    (MRC, weighted(), "L002"),
]


@pytest.mark.parametrize(("factory", "settings", "problem"), CASES)
def test_a_setting_that_does_not_fit_is_refused(factory, settings, problem):
    nlp = blank()
    if factory == WEAK_NER:
        nlp.add_pipe(GATE, name="gate", config=SETTINGS[GATE]())

    def use():
        nlp.add_pipe(factory, name="own", config={**SETTINGS[factory](), **settings})
        nlp.initialize(lambda: examples(nlp))

    with pytest.raises(ValueError, match=problem):
        use()
