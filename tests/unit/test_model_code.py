"""Code that comes with a model is neither run nor asked for, by whatever way it is loaded."""

import json
from threading import Thread

import pytest

from spacy_longtail.hub import load_transformer, no_model_code
from tests.util import one_pipe, tiny_bert

pytest.importorskip("transformers", reason="needs the extra 'transformers'")


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
    from transformers import AutoModel

    bert = bert_with_code(tmp_path / "bert", auto_map={"AutoModel": "evil.Evil"})
    with no_model_code(), pytest.raises(ValueError, match="auto_map"):
        AutoModel.from_pretrained(str(bert), trust_remote_code=True)
    assert not (bert / "OWNED").exists()


def test_kernels_of_the_hub_are_refused(monkeypatch):
    from transformers import modeling_utils

    monkeypatch.setattr(modeling_utils, "get_kernel", lambda name: name, raising=False)
    with no_model_code(), pytest.raises(ValueError, match="kernel"):
        modeling_utils.get_kernel("evil/kernel")
    assert modeling_utils.get_kernel("evil/kernel") == "evil/kernel"


def test_other_threads_load_as_usual_and_so_does_this_one_afterwards(tmp_path):
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
