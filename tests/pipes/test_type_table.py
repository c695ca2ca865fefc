"""The table of a token pipe's types: types added, described, mentioned, and saved."""

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


def test_adding_a_known_type_returns_the_same_table():
    assert SHIPS.adding("SHIP", is_described=True) is SHIPS


def test_types_are_described_by_given_texts_known_texts_or_their_names():
    table = TypeTable(("SHIP", "STORM", "BIRD_SPECIES"), {"SHIP": "ship", "TOWN": "town"})
    described = table.describing({"STORM": "named  storm"}, "ner")
    expected = {"SHIP": "ship", "STORM": "named storm", "BIRD_SPECIES": "bird species"}
    assert described.descriptions == expected


def test_a_given_description_replaces_the_known_one():
    assert SHIPS.describing({"SHIP": "vessel"}, "ner").descriptions["SHIP"] == "vessel"


@pytest.mark.parametrize("text", ["", " ", 3, "ship"])
def test_a_description_that_is_no_text_blank_or_double_is_refused(text):
    with pytest.raises(ValueError, match="L271"):
        SHIPS.describing({"STORM": text}, "ner")


def test_a_mentioned_type_is_no_longer_unseen():
    table = TypeTable(("SHIP", "STORM"), unseen=("SHIP", "STORM"))
    assert table.seeing({"STORM", "TOWN"}).unseen == ("SHIP",)


def test_a_table_is_restored_from_what_is_saved_of_it():
    assert TypeTable.from_cfg({**SHIPS.to_cfg(), "scheme": "BIO"}) == SHIPS


def test_a_pipe_that_was_saved_without_unseen_types_has_none():
    cfg = {"types": ["SHIP"], "descriptions": {"SHIP": "ship"}}
    assert TypeTable.from_cfg(cfg) == TypeTable(("SHIP",), {"SHIP": "ship"})


def test_an_untrained_model_of_the_size_before_is_resized():
    model = token_model()
    set_outputs(model, 3, "ner")
    resize_outputs(model, head("SHIP"), head("SHIP", "STORM"))
    assert output_of(model).get_dim("nO") == 5


def test_an_untrained_model_without_a_size_stays_open():
    model = token_model()
    resize_outputs(model, head("SHIP"), head("SHIP", "STORM"))
    assert output_of(model).maybe_get_dim("nO") is None


def test_outputs_of_both_heads_keep_their_weights():
    model = token_model()
    set_outputs(model, 5, "ner")
    model.initialize(X=[blank().make_doc("The Fram sailed .")])
    output_of(model).get_param("b")[:] = [0.0, 1.0, 2.0, 3.0, 4.0]

    resize_outputs(model, head("SHIP", "STORM"), head("STORM", "BIRD"))

    assert output_of(model).get_param("b").tolist() == [0.0, 3.0, 4.0, 0.0, 0.0]
