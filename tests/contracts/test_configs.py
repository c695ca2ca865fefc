"""Every shipped config is complete, builds, and resamples nothing but the training corpus."""

from pathlib import Path

import pytest
import spacy
from spacy import util
from spacy.cli.init_config import fill_config
from spacy.schemas import ConfigSchemaInit, ConfigSchemaTraining
from spacy.util import registry

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.cfg"))


def test_the_configs_of_the_docs_are_there():
    names = {path.stem for path in CONFIGS}
    assert {"config", "baseline", "resampled", "resampled_mom", "focal", "gated"} <= names


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_a_config_is_complete(path, tmp_path):
    given = util.load_config(path)
    _, filled = fill_config(tmp_path / "filled.cfg", path, silent=True)
    assert dict(filled) == dict(given)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_only_the_training_corpus_is_resampled(path):
    corpora = util.load_config(path)["corpora"]
    for name, block in corpora.items():
        if name != "train":
            assert block["@readers"] == "spacy.Corpus.v1" and block["augmenter"] is None
    training = util.load_config(path)["training"]
    assert (training["train_corpus"], training["dev_corpus"]) == ("corpora.train", "corpora.dev")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_a_config_builds_and_its_registered_functions_resolve(path):
    config = util.load_config(path).interpolate()
    nlp = util.load_model_from_config(config, auto_fill=False, validate=True)
    assert "ner" in nlp.pipe_names
    registry.resolve(config["training"], schema=ConfigSchemaTraining)
    registry.resolve(config["initialize"], schema=ConfigSchemaInit)
    assert config["training"]["score_weights"]["ents_macro_f"] == 1.0


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_all_models_train_alike_but_for_what_they_are_about(path):
    """Equal steps, batches and optimizer: else a comparison would measure those."""
    base, own = (util.load_config(p) for p in (ROOT / "configs" / "baseline.cfg", path))
    for key in (
        "max_steps",
        "max_epochs",
        "patience",
        "dropout",
        "eval_frequency",
        "batcher",
        "optimizer",
    ):
        assert own["training"][key] == base["training"][key]
    assert own["components"]["tok2vec"] == base["components"]["tok2vec"]
    assert own["components"]["ner"]["model"] == base["components"]["ner"]["model"]
    assert spacy.blank("en").lang == own["nlp"]["lang"]
