"""Trainings that start from a trained pipeline: one of stock spaCy, and one with a saved config."""

import json

import pytest
import spacy
import srsly
from spacy.cli.init_config import init_config
from spacy.training.initialize import init_nlp
from spacy.util import load_config

from spacy_longtail.corpus.examples import keep_types
from spacy_longtail.evaluation.analysis import entity_changes
from spacy_longtail.evaluation.records import Evaluation
from spacy_longtail.studies.configs.recipes import corpus_config, named_recipe
from tests.util import (
    SMALL,
    config_file,
    evaluation_data,
    examples,
    params,
    refused,
    run_app,
    same_weights,
    toy_corpus,
    toy_docs,
    train_further,
)


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A corpus, and a pipeline that finds most of its frequent entities."""
    folder = tmp_path_factory.mktemp("stock")
    toy_corpus(folder / "tiny", dev=toy_docs(), test=toy_docs())
    config = init_config(lang="en", pipeline=["ner"], optimize="efficiency", gpu=False)
    config["components"]["tok2vec"]["model"] = {**SMALL, "width": 16}
    config["components"]["ner"]["model"]["tok2vec"]["width"] = 16
    trained = spacy.util.load_model_from_config(config, auto_fill=True)
    frequent = [keep_types(eg, ["PER", "GEO"]) for eg in examples(trained)]
    trained.initialize(lambda: frequent)
    train_further(trained, frequent)
    trained.to_disk(folder / "model")
    return folder


def test_a_stock_pipeline_is_extended_and_its_best_checkpoint_selected(stock, tmp_path):
    output = tmp_path / "extended"
    steps = ["--training.max_steps", 30, "--training.eval_frequency", 5]
    given = ["--paths.base", stock / "model", "--longtail.tail", '["ART","NAT"]', *steps]
    run_app("train", config_file("extended"), stock / "tiny", output, *given)
    curve = list(srsly.read_jsonl(output / "curve.jsonl"))
    scores = [line["scores"]["ents_macro_f"] for line in curve]
    assert max(scores) > 0 and len(set(scores)) > 1
    best = spacy.load(output / "model-best")
    assert 100 * best.meta["performance"]["ents_macro_f"] == pytest.approx(max(scores), abs=1e-3)
    assert max(line["score"] for line in curve) > 0  # what selects
    frozen = spacy.load(stock / "model").get_pipe("ner")
    assert same_weights(params(best.get_pipe("ner")), params(frozen))
    compared = (output / "model-best", stock / "tiny", "--before", stock / "model")
    changes = json.loads(run_app("evaluate", *compared, "--json").stdout)["changes"]
    assert changes["PER"]["before"] > 0
    assert all(own["kept"] == own["before"] for own in changes.values())


def test_lost_entities_are_counted():
    def evaluation(*predicted):
        document = {"text": "Maria saw Oslo", "sentences": [[0, 14]], "gold": []}
        document["predicted"] = [[*place, None] for place in predicted]
        return Evaluation.model_validate(evaluation_data([document]), strict=False)

    before = evaluation((0, 5, "PER"), (10, 14, "GEO"))
    after = evaluation((0, 5, "PER"), (10, 14, "GPE"))
    counts = {t: (*own.values(),) for t, own in entity_changes(before, after).items()}
    assert counts == {"GEO": (1, 0, 0, 1), "PER": (1, 1, 1, 0), "GPE": (0, 1, 0, 0)}


def test_a_score_that_nothing_computes_is_refused(stock, tmp_path):
    weak = {"@scorers": "longtail.ner_scorer.v1", "prefix": "weak_ents"}
    config = load_config(config_file("extended"), interpolate=False)
    config["components"]["weak_ner"]["scorer"] = weak
    config.to_disk(tmp_path / "old.cfg", interpolate=False)
    arguments = ["train", tmp_path / "old.cfg", stock / "tiny", tmp_path / "out"]
    ran = refused([*arguments, "--paths.base", stock / "model"], "[L438]", tmp_path / "out")
    assert "ents_macro_f" in ran.output and "ents_f" in ran.output


def test_the_config_of_a_saved_pipeline_starts_from_the_same_weights(corpus, tmp_path):
    first = init_nlp(corpus_config(named_recipe("pretrained"), corpus))
    first.to_disk(tmp_path / "saved")
    saved = load_config(tmp_path / "saved" / "config.cfg", interpolate=False)
    assert saved["components"]["tok2vec"].get("factory") == "tok2vec"  # no source
    again = init_nlp(saved)
    for name in ("tok2vec", "ner"):
        assert same_weights(params(first.get_pipe(name)), params(again.get_pipe(name))), name


def test_an_encoder_of_other_layers_is_no_beginning(corpus):
    config = corpus_config(named_recipe("pretrained"), corpus)
    other = corpus_config(named_recipe("token_crf"), corpus)
    config["components"]["tok2vec"] = other["components"]["tok2vec"]
    with pytest.raises(ValueError, match=r"L274.*en_longtail_cnn"):
        init_nlp(config)
