"""A model that is not available is refused at once, and code that comes with a model is not run."""

import json
from threading import Thread

import pytest

from spacy_longtail import hub
from spacy_longtail.hub import check_model, check_models, load_transformer, no_model_code
from spacy_longtail.training.train import train_model
from tests.util import config_file, one_pipe, tiny_bert

pytest.importorskip("huggingface_hub")
NAME = "somebody/no-such-model"


@pytest.fixture
def asked(monkeypatch):
    """Nothing is fetched, and there is no network."""
    names = []

    def refuse(name, timeout):
        names.append(name)
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr("huggingface_hub.model_info", refuse)
    return names


def test_a_hub_is_asked_for_what_is_neither_a_folder_nor_in_the_cache(asked, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"L265.*no route"):
        check_model(NAME)
    assert asked == [NAME]
    check_model(str(tmp_path))
    (tmp_path / "file").write_text("x", encoding="utf8")
    with pytest.raises(ValueError, match=r"L265.*It is a file\."):
        check_model(str(tmp_path / "file"))
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{name}/{file}")
    check_model(NAME)
    assert asked == [NAME]


@pytest.mark.usefixtures("asked")
def test_a_known_name_passes_and_an_impossible_one_has_a_coded_error(monkeypatch):
    monkeypatch.setattr("huggingface_hub.model_info", lambda name, timeout: None)
    check_model(NAME)
    monkeypatch.undo()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=r"L265.*The hub gives none"):
        check_model("../no/such/folder with spaces")


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("function", hub.NAMES_ONE)
def test_all_that_a_config_can_name_is_found(function):
    block = {"@architectures": function, "name": NAME}
    with pytest.raises(ValueError, match=f"L265.*{NAME}"):
        check_models({"components": {"ner": {"model": {"inner": block}, "factory": "ner"}}})
    check_models({"components": {"ner": {"model": {**block, "name": None}}}})


@pytest.mark.usefixtures("asked")
def test_nothing_is_trained_with_it(corpus, tmp_path):
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    config = config_file("bert_softmax")
    with pytest.raises(ValueError, match="L265"):
        train_model(config, corpus, tmp_path / "out", overrides={"paths.transformer": NAME})
    assert not (tmp_path / "out").exists()


# Code that comes with a model, by whatever way it is loaded


def bert_with_code(folder, file="config.json", **names):
    """Write a BERT of which a file names code that leaves OWNED in the folder when it runs."""
    tiny_bert(folder)
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text("utf8")), **names}), encoding="utf8")
    text = f"open({str(folder / 'OWNED')!r}, 'w').close()\n\nEvil = dict\n"
    (folder / "evil.py").write_text(text, encoding="utf8")
    return folder


TOKENIZER = {"tokenizer_class": "Evil", "auto_map": {"AutoTokenizer": ["evil.Evil", None]}}
MODEL = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}}


def initialize(name):
    encoder = {"@architectures": "longtail.Transformer.v1", "name": name}
    one_pipe("tok2vec", model=encoder).initialize()


@pytest.mark.parametrize("load", [load_transformer, initialize])
@pytest.mark.parametrize(
    ("file", "names"), [("tokenizer_config.json", TOKENIZER), ("config.json", MODEL)]
)
def test_code_is_refused_without_a_question(load, file, names, tmp_path, monkeypatch):
    """The user would allow it."""
    monkeypatch.setattr("builtins.input", lambda question: "y")
    bert = bert_with_code(tmp_path / "bert", file, **names)
    with pytest.raises(ValueError, match=r"L265.*auto_map"):
        load(str(bert))
    assert not (bert / "OWNED").exists()


def test_a_standard_model_with_an_auto_map_is_loaded_as_the_standard_model(tmp_path):
    bert = bert_with_code(tmp_path / "bert", auto_map={"AutoModel": "evil.Evil"})
    _, encoder = load_transformer(str(bert))
    assert type(encoder).__name__ == "BertModel"
    assert not (bert / "OWNED").exists()


def test_it_is_refused_where_a_library_trusts_it(tmp_path):
    bert = bert_with_code(tmp_path / "bert", auto_map={"AutoModel": "evil.Evil"})
    from transformers import AutoModel

    with no_model_code(), pytest.raises(ValueError, match="auto_map"):
        AutoModel.from_pretrained(str(bert), trust_remote_code=True)
    assert not (bert / "OWNED").exists()


def test_kernels_of_the_hub_are_refused(monkeypatch):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from transformers import modeling_utils

    monkeypatch.setattr(modeling_utils, "get_kernel", lambda name: name, raising=False)
    with no_model_code(), pytest.raises(ValueError, match="kernel"):
        modeling_utils.get_kernel("evil/kernel")
    assert modeling_utils.get_kernel("evil/kernel") == "evil/kernel"


def test_other_threads_load_as_usual_and_so_does_this_one_afterwards(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra 'transformers'")
    from transformers import dynamic_module_utils

    path = tmp_path / "own.py"
    path.write_text("class Own: pass\n", encoding="utf8")
    loaded = []

    def load():
        loaded.append(dynamic_module_utils.get_class_from_dynamic_module("own.Own", str(tmp_path)))

    with no_model_code():
        thread = Thread(target=load)
        thread.start()
        thread.join()
    load()

    assert [kind.__name__ for kind in loaded] == ["Own", "Own"]
