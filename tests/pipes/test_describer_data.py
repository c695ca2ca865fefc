"""The data of a describer is saved with its component: the encoder it came from may go."""

import pickle
import shutil

import numpy as np
import pytest
import spacy
from spacy.language import Language

from spacy_longtail.describers import LabelEncoder, SubwordDescriptions, as_describer
from spacy_longtail.heads.outputs import output_of
from tests.util import (
    DESCRIBED_MODEL,
    blank,
    from_bytes,
    one_pipe,
    reloaded,
    tiny_bert,
    tiny_cnn,
    tiny_encoder,
    toy_encoder,
    train,
)

TYPES = {"STORM": "named storm", "SHIP": "ship"}


@pytest.fixture
def encoder(tmp_path):
    """A transformer that version 0.3 pretrained: its label encoder is a file of the folder."""
    return tiny_encoder(tmp_path / "encoder", tiny_bert(tmp_path / "bert", spells=True))


def vectors(nlp: Language) -> np.ndarray:
    return np.asarray(output_of(nlp.get_pipe("ner").model).get_param("D"))


def described(nlp: Language) -> np.ndarray:
    nlp.get_pipe("ner").set_labels(TYPES)
    return vectors(nlp)


COPIES = {
    "disk": reloaded,
    "bytes": lambda nlp, _: from_bytes(nlp),
    "pickle": lambda nlp, _: pickle.loads(pickle.dumps(nlp)),
}


def survives(nlp: Language, source, copy=reloaded) -> bool:
    """Whether a copy of a pipeline describes types as before, without the encoder it came from."""
    expected = described(nlp)
    copied = copy(nlp, source.parent / "saved")
    shutil.rmtree(source)
    is_same = described(copied) == pytest.approx(expected, abs=1e-6)
    return is_same and copied.get_pipe("ner").add_label("TOWN", "town") == 1


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_label_encoder_is_saved_with_its_pipeline(copy, encoder):
    assert survives(spacy.load(encoder), encoder, copy)


def test_a_label_encoder_is_saved_without_the_word_embeddings_of_its_pipeline(encoder, tmp_path):
    nlp = spacy.load(encoder)
    nlp.to_disk(tmp_path / "saved")
    own = (encoder / "label_encoder.safetensors").read_bytes()
    assert (tmp_path / "saved" / "ner" / "describer").read_bytes() == own


def test_a_pipeline_that_is_trained_from_an_encoder_keeps_its_label_encoder(encoder):
    nlp = blank()
    nlp.add_pipe("tok2vec", source=spacy.load(encoder))
    model = spacy.load(encoder).get_pipe_config("ner")["model"]
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
    train(nlp, 1, ner={"pretrained": str(encoder)})
    assert survives(nlp, encoder)


def test_types_are_not_described_without_the_word_embeddings_of_the_encoder(encoder, tmp_path):
    spacy.load(encoder).to_disk(tmp_path / "saved")
    shutil.rmtree(encoder)
    nlp = spacy.load(tmp_path / "saved", exclude=["tok2vec"])
    with pytest.raises(ValueError, match="L800"):
        nlp.get_pipe("ner").set_labels(TYPES)


def test_a_label_encoder_is_loaded_once(encoder, monkeypatch):
    loads, load = [], LabelEncoder._load
    monkeypatch.setattr(LabelEncoder, "_load", lambda own, data: loads.append(1) or load(own, data))
    nlp = spacy.load(encoder)
    for labels in (TYPES, {"RIVER": "river"}, TYPES):
        nlp.get_pipe("ner").set_labels(labels)
    assert len(loads) == 1


def test_an_error_of_a_label_encoder_that_only_looks_like_one_with_a_code_is_given_one(
    encoder, monkeypatch
):
    def fail(own, data):
        raise RuntimeError("[Layer 1] is damaged")

    nlp = spacy.load(encoder)
    monkeypatch.setattr(LabelEncoder, "_load", fail)
    with pytest.raises(ValueError, match=r"^\[L221\].*\[Layer 1\] is damaged"):
        nlp.get_pipe("ner").set_labels(TYPES)


def test_describing_draws_no_random_number(encoder):
    torch, nlp = pytest.importorskip("torch"), spacy.load(encoder)
    before = torch.get_rng_state()
    nlp.get_pipe("ner").set_labels(TYPES)
    assert torch.equal(before, torch.get_rng_state())


# Vectors of subwords


def test_subword_vectors_of_the_encoder_are_not_saved_twice(tmp_path):
    encoder = tiny_cnn(tmp_path / "encoder")
    assert survives(spacy.load(encoder), encoder)
    assert not (tmp_path / "saved" / "ner" / "describer").exists()


def test_subword_vectors_that_the_encoder_lacks_are_saved(tmp_path):
    source = tiny_cnn(tmp_path / "source")
    describe = {"@misc": "longtail.SubwordDescriptions.v1", "source": str(source)}
    nlp = one_pipe(model=DESCRIBED_MODEL, describe=describe)
    train(nlp, 1)
    assert survives(nlp, source)


def test_data_of_an_earlier_describer_does_not_stay_in_the_folder(tmp_path):
    nlp = one_pipe(model=DESCRIBED_MODEL)
    train(nlp, 1)
    pipe = nlp.get_pipe("ner")
    hashed = pipe.describe
    pipe.describe = SubwordDescriptions(str(toy_encoder(tmp_path / "source")))
    nlp.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "ner" / "describer").exists()
    pipe.describe = hashed
    nlp.to_disk(tmp_path / "saved")
    assert not (tmp_path / "saved" / "ner" / "describer").exists()


@pytest.mark.parametrize("describer", [LabelEncoder, SubwordDescriptions])
def test_a_describer_that_is_saved_without_its_data_is_warned_of(describer, tmp_path):
    with pytest.warns(UserWarning, match=r"LW211.*gone"):
        assert describer(str(tmp_path / "gone")).to_bytes() == b""


def test_a_function_of_ones_own_is_a_describer():
    describer = as_describer(lambda texts: np.eye(len(texts), 5))
    assert describer(["a", "b"]).shape == (2, 5)
    assert describer.to_bytes() == b""
    assert as_describer(None) is None
