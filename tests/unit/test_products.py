"""What multiplies a training's matrices: what was asked for, what a measurement says, what cannot be."""

import pytest
import spacy
from thinc.api import Config

from spacy_longtail import use_numpy_blas
from spacy_longtail.pipes.numpy_blas import CALLBACK
from spacy_longtail.training import products
from spacy_longtail.training.products import (
    CREATED,
    Products,
    chosen_products,
    restore_products,
    with_products,
)


@pytest.fixture
def nlp():
    found = spacy.blank("en")
    found.add_pipe("ner")
    return found


@pytest.fixture(autouse=True)
def ratio(monkeypatch):
    """Let the measurement find a ratio."""

    def find(value):
        monkeypatch.setattr(products, "numpy_speedup", lambda: value)

    monkeypatch.setattr(products, "numpy_speedup", lambda: pytest.fail("measured"))
    return find


def config(callback=None):
    return Config({"nlp": {"lang": "en", CREATED: callback}})


def test_what_is_asked_for_is_taken_unmeasured(nlp):
    for asked in (Products.SPACY, Products.NUMPY):
        assert chosen_products(asked, nlp, config()) is asked
        assert chosen_products(asked, nlp, Config({"nlp": {}})) is asked


@pytest.mark.parametrize(("found", "taken"), [(1.49, "spacy"), (1.5, "numpy"), (4.2, "numpy")])
def test_the_fastest_is_measured(found, taken, nlp, ratio, capsys):
    ratio(found)
    assert chosen_products(Products.FASTEST, nlp, config()) is Products(taken)
    assert (f"{found:.1f} times as fast" in capsys.readouterr().out) == (taken == "numpy")


def test_what_would_change_nothing_is_not_measured_and_refused_where_asked_for(nlp):
    callback = {"@callbacks": "mine.v1"}
    without = use_numpy_blas(spacy.blank("en"))
    for pipeline, block, said in (
        (nlp, callback, "callback of its own"),
        (without, None, "no component"),
    ):
        assert chosen_products(Products.FASTEST, pipeline, config(block)) is Products.SPACY
        with pytest.raises(ValueError, match=said):
            chosen_products(Products.NUMPY, pipeline, config(block))


def test_a_config_that_asks_for_them_itself_keeps_them(nlp):
    own = config({"@callbacks": CALLBACK})
    for asked in Products:
        assert chosen_products(asked, nlp, own) is Products.SPACY
    saved = config({"@callbacks": "mine.v1", "path": "${paths.mine}"})
    restore_products(saved, config({"@callbacks": "mine.v1", "path": "here"}))  # interpolated
    assert saved["nlp"][CREATED]["path"] == "${paths.mine}"


def test_nothing_of_it_stays():
    given = config()
    trained = Config(given).from_str(given.to_str(), overrides=with_products(Products.NUMPY))
    assert trained["nlp"][CREATED] == {"@callbacks": CALLBACK}
    restore_products(trained, Config({"nlp": {}}))
    assert trained["nlp"][CREATED] is None
    assert with_products(Products.SPACY) == {}
