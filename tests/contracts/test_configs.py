"""The config of every recipe is complete, builds, and resamples training data only."""

from importlib.util import find_spec

import pytest
import srsly
from scripts.configs import render
from spacy import util
from spacy.cli.init_config import fill_config
from spacy.schemas import ConfigSchemaInit, ConfigSchemaTraining
from spacy.tokens import DocBin
from spacy.training.pretrain import pretrain
from spacy.util import registry

from spacy_longtail.studies.configs.recipes import FILES, format_recipe, make_config, read_recipes
from tests.util import (
    ROOT,
    SENTENCES,
    blank,
    config_file,
    examples,
    params,
    run_app,
    tiny_bert,
    toy_vectors,
)

CONFIGS = [config_file(name) for name in sorted(read_recipes())]
FAMILIES = {"bert": "bert_ner", "bilstm": "bilstm_softmax", "shallow": "shallow_softmax"}
HEADS = ("softmax", "crf", "two_task")


def family(path):
    """The config that another must be trained like: it has the same encoder."""
    return FAMILIES.get(path.stem.split("_")[0], "baseline")


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A pipeline for the config that starts from one, and an encoder for those that need one."""
    folder = tmp_path_factory.mktemp("base")
    if find_spec("spacy_transformers"):
        tiny_bert(folder / "bert")
    DocBin(docs=[eg.reference for eg in examples(blank())]).to_disk(folder / "train.spacy")
    paths = {"paths.train": str(folder / "train.spacy")}
    config = util.load_config(config_file("token_softmax"), overrides=paths)
    nlp = util.load_model_from_config(config)
    nlp.initialize(lambda: examples(nlp))
    nlp.to_disk(folder / "model")
    return folder


def read(path, base):
    overrides = {"paths.train": str(base / "train.spacy")}
    if path.stem.startswith("bert_"):
        pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
        overrides["paths.transformer"] = str(base / "bert")
    if "_gated" in path.stem or "gated_" in path.stem:  # their types are split
        overrides.update({"longtail.frequent": ["PER", "GEO"], "longtail.tail": ["ART", "NAT"]})
    if path.stem == "gated_llm":
        pytest.importorskip("spacy_llm", reason="needs the extra 'llm'")
        del overrides["longtail.frequent"]  # its primary learns all types
    if path.stem.startswith("bilstm_"):
        pytest.importorskip("torch", reason="needs the extra 'torch'")
    if path.stem == "extended":
        overrides["paths.base"] = str(base / "model")
    return util.load_config(path, overrides=overrides)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_its_recipe_makes(name):
    assert (ROOT / "configs" / f"{name}.cfg").read_text(encoding="utf8") == render(name)


@pytest.mark.parametrize("name", sorted(read_recipes()))
def test_a_config_is_written_without_a_corpus(name, tmp_path):
    run_app("init-config", name, "-o", tmp_path / "config.cfg")

    paths = util.load_config(tmp_path / "config.cfg", interpolate=False)["paths"]
    assert paths.get("train") is None and paths.get("dev") is None


@pytest.mark.parametrize("name", ["config", "gated", "gated_token"])
def test_deprecated_settings_are_not_written(name):
    recipe = read_recipes()[name]
    config = make_config(recipe)
    gate = next(pipe for pipe in config["components"].values() if "weak_labels" in pipe)
    assert gate["weak_labels"] is None
    assert "weak_labels" not in format_recipe(recipe, config, "")


def test_a_deprecated_setting_with_a_value_is_written():
    recipe = read_recipes()["gated"]
    config = make_config(recipe)
    config["components"]["gate"]["weak_labels"] = ["NAT"]
    assert 'weak_labels = ["NAT"]' in format_recipe(recipe, config, "")


def test_few_configs_are_files():
    assert sorted(path.stem for path in (ROOT / "configs").rglob("*")) == sorted(FILES)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_a_config_is_complete(path, base, tmp_path):
    given = read(path, base)
    given.to_disk(tmp_path / path.name)
    _, filled = fill_config(tmp_path / "filled.cfg", tmp_path / path.name, silent=True)
    for pipe in given["components"].values():
        if "rare_labels" in pipe:
            pipe.setdefault("weak_labels", None)  # its deprecated name is not written
    assert dict(filled) == dict(given)
    config = given.interpolate()
    assert "ner" in util.load_model_from_config(config, auto_fill=False, validate=True).pipe_names
    registry.resolve(config["training"], schema=ConfigSchemaTraining)
    registry.resolve(config["initialize"], schema=ConfigSchemaInit)
    assert config["training"]["score_weights"]["ents_macro_f"] == 1.0


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_only_the_training_corpus_is_resampled(path):
    config = util.load_config(path)
    for name, block in config["corpora"].items():
        if name == "pretrain":  # of `spacy pretrain`: text without labels
            assert block["@readers"] == "spacy.JsonlCorpus.v1"
        elif name == "names":
            assert block["@readers"] == "longtail.NamesCorpus.v1"
        elif name != "train":
            assert block["@readers"] == "spacy.Corpus.v1" and block["augmenter"] is None
    training = config["training"]
    assert (training["train_corpus"], training["dev_corpus"]) == ("corpora.train", "corpora.dev")


def test_raw_text_prepares_the_encoder(tmp_path):
    srsly.write_jsonl(tmp_path / "raw.jsonl", [{"text": text} for text in SENTENCES])
    config = util.load_config(config_file("pretrain_raw"), overrides={"nlp.lang": "en"})
    config["paths"]["raw_text"] = str(tmp_path / "raw.jsonl")
    config["pretraining"]["max_epochs"] = 2
    pretrain(config.interpolate(), tmp_path, use_gpu=-1, silent=True)
    fresh, prepared = (
        util.load_model_from_config(config.interpolate(), auto_fill=False).get_pipe("tok2vec")
        for _ in range(2)
    )
    for pipe in (fresh, prepared):
        util.fix_random_seed(0)
        pipe.model.initialize()
    prepared.model.from_bytes((tmp_path / "model-last.bin").read_bytes())
    assert any((a != b).any() for a, b in zip(params(fresh), params(prepared), strict=True))


ALIKE = ("max_steps", "max_epochs", "patience", "dropout", "eval_frequency", "batcher")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_all_models_train_alike_but_for_what_they_are_about(path):
    """Steps, batches and the family's encoder are equal: else a comparison would measure those."""
    if path.stem.endswith("transformer"):  # these are about their encoder
        pytest.skip("has an encoder and steps of its own")
    base, own = (util.load_config(p) for p in (config_file(family(path)), path))
    assert [own["training"][key] for key in ALIKE] == [base["training"][key] for key in ALIKE]
    for name in ("tok2vec", "transformer"):
        shared = [c["components"].get(name) for c in (own, base)]
        if shared[0] is not None and "source" not in shared[0]:
            assert shared[0] == shared[1]
    if own["components"]["ner"].get("factory") in ("ner", "longtail_ner"):
        assert own["components"]["ner"]["model"] == base["components"]["ner"]["model"]


ENCODERS = [path for path in CONFIGS if path.stem.split("_")[0] in FAMILIES]


@pytest.mark.slow
@pytest.mark.parametrize("path", ENCODERS, ids=lambda p: p.stem)
def test_a_config_of_an_encoder_trains(path, base):
    """A few steps from the config as it is: the loss falls, and predictions are made."""
    nlp = util.load_model_from_config(read(path, base).interpolate())
    toy_vectors(nlp)
    util.fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples(nlp))
    optimizer.learn_rate = 0.003
    history = [nlp.update(examples(nlp), sgd=optimizer, losses={})["ner"] for _ in range(12)]
    assert history[-1] < history[0]
    assert all(len(doc) for doc in nlp.pipe(eg.reference.text for eg in examples(nlp)))
