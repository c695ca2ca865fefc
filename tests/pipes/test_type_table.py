"""The table of a token pipe's types: types added, described, and saved."""

import pytest

from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.heads.outputs import output_of, resize_outputs, set_outputs
from spacy_longtail.heads.tags import SoftmaxHead
from spacy_longtail.losses import CrossEntropy
from spacy_longtail.pipes.token.type_table import TypeTable
from tests.util import TOKEN_MODEL, blank

SHIPS = TypeTable(("SHIP", "STORM"), {"SHIP": "ship"}, ("STORM",))


def head(*labels):
    return SoftmaxHead(TagCodec(labels, "BIO"), CrossEntropy())


def token_model():
    nlp = blank()
    return nlp.add_pipe("longtail_token_ner", config={"model": TOKEN_MODEL}).model


@pytest.mark.parametrize(("is_described", "unseen"), [(True, ("STORM", "BIRD")), (False, ("STORM",))])
def test_a_type_is_added_behind_the_others_and_is_unseen_if_it_is_described(is_described, unseen):
    expected = TypeTable(("SHIP", "STORM", "BIRD"), {"SHIP": "ship"}, unseen)
    assert SHIPS.adding("BIRD", is_described=is_described) == expected


def test_types_are_described_by_given_texts_known_texts_or_their_names():
    table = TypeTable(
        ("SHIP", "STORM", "BIRD_SPECIES"), {"SHIP": "ship", "STORM": "gale", "TOWN": "town"}
    )
    described = table.describing({"STORM": "named  storm"}, "ner")
    expected = {"SHIP": "ship", "STORM": "named storm", "BIRD_SPECIES": "bird species"}
    assert described.descriptions == expected


def test_a_description_that_is_no_text_is_refused():
    with pytest.raises(ValueError, match="L271"):
        SHIPS.describing({"STORM": 3}, "ner")


def test_a_pipe_that_was_saved_without_unseen_types_has_none():
    cfg = {"types": ["SHIP"], "descriptions": {"SHIP": "ship"}}
    assert TypeTable.from_cfg(cfg) == TypeTable(("SHIP",), {"SHIP": "ship"})


@pytest.mark.parametrize(("before", "after"), [(3, 5), (None, None)])
def test_an_untrained_model_is_resized_if_it_has_a_size(before, after):
    model = token_model()
    if before:
        set_outputs(model, before, "ner")
    resize_outputs(model, head("SHIP"), head("SHIP", "STORM"))
    assert output_of(model).maybe_get_dim("nO") == after


def test_outputs_of_both_heads_keep_their_weights():
    model = token_model()
    set_outputs(model, 5, "ner")
    model.initialize(X=[blank().make_doc("The Fram sailed .")])
    output_of(model).get_param("b")[:] = [0.0, 1.0, 2.0, 3.0, 4.0]

    resize_outputs(model, head("SHIP", "STORM"), head("STORM", "BIRD"))

    assert output_of(model).get_param("b").tolist() == [0.0, 3.0, 4.0, 0.0, 0.0]
