"""`pretrain` of a transformer with a SentencePiece tokenizer, and of a CNN that learns from it."""

import shutil

import numpy as np
import pytest
import spacy
import srsly

from spacy_longtail.models.transformer import encoder_of
from tests.project.pretraining import FAST, run_pretrain, tiny_xlm_roberta
from tests.util import run_app

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'transformers'")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_xlm_roberta(tmp_path_factory.mktemp("xlm"))


@pytest.fixture(scope="module")
def pretrained(donors, encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pretrained")
    given = {"steps": 80, "batch_size": 100, "evaluations": 1, "settings": FAST}
    return run_pretrain(donors, folder / "out", encoder, **given)


def test_an_xlm_roberta_learns_the_donors(pretrained):
    nlp = spacy.load(pretrained.model)
    nlp.get_pipe("ner").set_labels({"BOAT": "ship"})

    doc = nlp("The Fram left late .")

    assert max(score["micro"] for score in pretrained.scores[-1][1]) > 0.3
    assert [ent.text for ent in doc.ents] == ["Fram"]


def test_training_starts_from_a_pretrained_xlm_roberta(pretrained, donors, tmp_path):
    config = tmp_path / "transformer.cfg"
    run_app("init-config", "transformer", "-o", config)
    settings = ["--training.max_steps", 2, "--training.eval_frequency", 2]
    # the listener is as wide as the encoder
    settings += ["--components.ner.model.tok2vec.width", 64]

    given = ("--paths.pretrained", pretrained.model, *settings)
    run_app("train", config, donors[0], tmp_path / "out", *given)

    assert (tmp_path / "out" / "model-best" / "config.cfg").is_file()


def test_a_cnn_learns_from_an_xlm_roberta_with_its_subwords(pretrained, donors, tmp_path):
    given = {"teacher": str(pretrained.model), "steps": 2, "batch_size": 100}

    done = run_pretrain(donors, tmp_path / "out", "cnn", **given)

    nodes = done.nlp.get_pipe("tok2vec").model.walk()
    table = next(node for node in nodes if node.name == "subword_vectors").attrs["subwords"]
    assert "t" in table.subwords and "##a" in table.subwords
    assert "<s>" not in table.subwords


def test_a_tokenizer_without_offsets_is_refused(encoder, donors, tmp_path, monkeypatch):
    monkeypatch.setattr(transformers.XLMRobertaTokenizerFast, "is_fast", False)

    with pytest.raises(ValueError, match=r"L265.*XLMRobertaTokenizerFast gives no offsets"):
        run_pretrain(donors, tmp_path / "out", encoder)


# States of a teacher that are stored


def test_states_of_a_teacher_are_computed_once(pretrained, donors, tmp_path):
    cache = tmp_path / "cache"
    given = {"teacher": str(pretrained.model), "steps": 2, "batch_size": 100, "teacher_cache": cache}
    first: list[str] = []
    second: list[str] = []

    one = run_pretrain(donors, tmp_path / "one", "cnn", say=first.append, **given)
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    two = run_pretrain(donors, tmp_path / "two", "cnn", say=second.append, **given)

    assert sum("computing the teacher" in text for text in first) == 2
    assert not any("computing the teacher" in text for text in second)
    assert files == {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    assert one.scores == two.scores


@pytest.fixture
def german(donors, tmp_path):
    """The last donor, as a corpus of German text."""
    folder = shutil.copytree(donors[-1], tmp_path / "german")
    types = srsly.read_json(folder / "types.json")
    srsly.write_json(folder / "types.json", {**types, "lang": "de"})
    return folder


def test_a_teacher_is_asked_about_its_own_language_only(pretrained, donors, german, tmp_path):
    cache = tmp_path / "cache"
    given = {"teacher": str(pretrained.model), "steps": 6, "batch_size": 100, "teacher_cache": cache}
    said: list[str] = []

    done = run_pretrain([donors[0], german], tmp_path / "out", "cnn", say=said.append, **given)

    assert [text for text in said if "computing the teacher" in text] == [
        f"{donors[0].name}: computing the teacher's states, once"
    ]
    assert done.nlp.lang == "xx"


def test_a_teacher_predicts_no_type_of_another_language(
    pretrained, donors, german, tmp_path, monkeypatch
):
    from spacy_longtail.pretraining.learners import Learner
    from spacy_longtail.pretraining.transformer import BiEncoder

    known = []  # the learner, once for each step
    vectors = []  # of the label texts for which the teacher predicted
    loss, logits = Learner.loss, BiEncoder.logits
    monkeypatch.setattr(Learner, "loss", lambda self, b: known.append(self) or loss(self, b))
    monkeypatch.setattr(BiEncoder, "logits", lambda self, h, v: vectors.append(v) or logits(self, h, v))
    given = {"teacher": str(pretrained.model), "steps": 6, "batch_size": 100, "evaluations": 1}

    run_pretrain([donors[0], german], tmp_path / "out", "cnn", **given)

    learner = known[0]
    english, other = ({t for own in donor.label_ids for t in own} for donor in learner.data.packed)
    foreign = learner.teacher.vectors[sorted(other - english)]
    assert len(foreign) and vectors
    assert torch.cdist(torch.cat(vectors), foreign).min() > 1e-3


def test_a_teacher_that_reads_no_donors_language_is_refused(pretrained, german, tmp_path):
    with pytest.raises(ValueError, match=r"L495.*it reads en, and no donor is in this language"):
        run_pretrain([german], tmp_path / "out", "cnn", teacher=str(pretrained.model), steps=1)


def test_another_teacher_has_states_of_its_own(pretrained, donors, encoder, tmp_path):
    cache = tmp_path / "cache"
    other = run_pretrain(donors, tmp_path / "other", encoder, steps=1, seed=1)
    for i, teacher in enumerate((pretrained.model, other.model)):
        given = {"teacher": str(teacher), "steps": 1, "teacher_cache": cache}
        run_pretrain(donors[:1], tmp_path / f"cnn{i}", "cnn", **given)

    assert len(list(cache.iterdir())) == 2


def test_stored_states_are_close_to_those_of_the_teacher(pretrained, donors):
    from spacy_longtail.layers.subword_tokenizer import SubwordTokenizer
    from spacy_longtail.pretraining.batches import batch_without_gold, pack_donor
    from spacy_longtail.pretraining.donors import read_donors
    from spacy_longtail.pretraining.teaching import store_states
    from spacy_longtail.pretraining.transformer import TEACHER, read_start

    start = read_start(str(pretrained.model), role=TEACHER)
    teacher = start.model.eval()
    [donor] = read_donors(donors[:1], [], ["train"], spacy.blank("en").vocab)
    packed = pack_donor(donor, SubwordTokenizer(start.tokenizer), {})
    with torch.no_grad():
        exact = teacher.states(batch_without_gold(packed.train)).numpy()

    store_states(pretrained.model.parent / "cache", teacher, "0123456789abcdef", [packed])

    cosines = (exact * packed.teacher_states.expand()).sum(1) / (
        np.linalg.norm(exact, axis=1) * np.linalg.norm(packed.teacher_states.expand(), axis=1)
    )
    assert cosines.min() > 0.99
    assert len(cosines) == sum(len(sentence.first) for sentence in packed.train)


def test_a_loaded_xlm_roberta_gives_the_states_of_the_saved_one(pretrained):
    loaded = spacy.load(pretrained.model)
    docs = [loaded.make_doc("The Fram left Hamina .")]

    saved, read = (nlp.get_pipe("tok2vec").predict(docs)[0] for nlp in (pretrained.nlp, loaded))

    assert encoder_of(loaded.get_pipe("tok2vec").model).encoder.config.model_type == "xlm-roberta"
    assert np.array_equal(saved, read)


def test_a_step_on_another_language_learns_no_predictions(
    pretrained, donors, german, tmp_path, monkeypatch
):
    from spacy_longtail.pretraining import teaching

    calls = []
    divergence = teaching._divergence
    monkeypatch.setattr(teaching, "_divergence", lambda *both: calls.append(1) or divergence(*both))
    given = {"teacher": str(pretrained.model), "steps": 12, "batch_size": 100}

    run_pretrain([donors[0], german], tmp_path / "out", "cnn", **given)

    assert 0 < len(calls) < 12
