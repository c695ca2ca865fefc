"""`pretrain` of a CNN: what it learns and writes, resuming, and what its results are good for."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy import util
from spacy.cli.init_config import fill_config
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from spacy.util import load_model_from_config

from spacy_longtail.heads.outputs import output_of
from spacy_longtail.pretraining.donors import read_donors
from spacy_longtail.training.filling import load_with_corpus_values
from spacy_longtail.training.loading import load_weights
from spacy_longtail.training.pretrained import SEEN_FILE as SEEN
from spacy_longtail.training.pretrained import read_seen, sketch, write_seen
from tests.project.pretraining import RATES, check_scores, killed, resumed
from tests.project.pretraining import run_pretrain as run
from tests.util import (
    SENTENCES,
    blank,
    config_file,
    corpus_of,
    examples,
    one_pipe,
    params,
    reloaded,
    run_app,
    same_weights,
    tiny_bert,
    tiny_cnn,
)

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
pytest.importorskip("transformers", reason="needs the extra 'transformers'")

from spacy_longtail.describers.static import subwords_of_texts  # noqa: E402
from spacy_longtail.pipes.token.pretrained_head import read_pretrained  # noqa: E402
from spacy_longtail.pretraining import cnn_learner  # noqa: E402
from spacy_longtail.pretraining.batches import IGNORED  # noqa: E402
from spacy_longtail.pretraining.cnn import (  # noqa: E402
    CNN,
    CNNBiEncoder,
    Vocabulary,
    add_subwords,
    build_cnn,
    choose_subwords,
    padded,
    read_cnn,
    reduce_columns,
)
from spacy_longtail.pretraining.learners import Learner  # noqa: E402

CONFIG = config_file("pretrained_cnn")
SOURCES = [{"name": "toy"}, {"name": "ships"}]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A CNN to go on from, of random weights."""
    return tiny_cnn(tmp_path_factory.mktemp("encoder") / "cnn")


@pytest.fixture(scope="module")
def trained(donors, encoder, tmp_path_factory):
    return run(donors, tmp_path_factory.mktemp("pretrained") / "cnn", encoder, steps=60, evaluations=2)


def same(one, other):
    both = ([p for name in nlp.pipe_names for p in params(nlp.get_pipe(name))] for nlp in (one, other))
    return same_weights(*both)


def same_encoder(one, other):
    return same_weights(params(one.get_pipe("tok2vec")), params(other.get_pipe("tok2vec")))


# A CNN in torch and in thinc


def test_torch_and_thinc_read_words_alike(encoder):
    """With random weights, of random sentences, to the last digits of single precision."""
    nlp, rng = spacy.load(encoder), np.random.default_rng(0)
    model, table = read_cnn(str(encoder))
    words = ["Maria", "sailed", "ROME", "x-ray", "3.14", "naïve", "\u4e2d\u6587", "storm", "it's", "\n"]
    docs = [Doc(nlp.vocab, rng.choice(words, size=n).tolist()) for n in (7, 1, 12, 3)]
    orths = np.concatenate([doc.to_array("ORTH").astype("int64") for doc in docs])
    vocabulary = Vocabulary(orths, nlp.vocab)
    known = vocabulary.features(table, [len(own) for own in model.encoder.tables])
    places = np.searchsorted(vocabulary.keys, orths)
    texts = ["storm at sea", "person"]
    labels = padded(subwords_of_texts(table, texts), len(table.subwords), 64)
    ner = nlp.get_pipe("ner")
    ner.set_labels(dict(zip("ab", texts, strict=True)))
    with torch.no_grad():
        read = model.encoder.embed(*(own[places] for own in known))
        states = model.encoder.eval().encode(read, torch.tensor([len(doc) for doc in docs]))
        logits = model.logits(states, model.describe(labels)).numpy()
    expected = nlp.get_pipe("tok2vec").predict(docs)
    assert states.numpy() == pytest.approx(np.concatenate(expected), abs=1e-5)
    nlp.get_pipe("tok2vec").set_annotations(docs, expected)
    theirs = ner.tokens.head.logits(ner.model.predict(docs)).dataXd
    assert logits == pytest.approx(np.asarray(theirs), abs=1e-4)  # of sums of 256 products


def test_what_is_read_is_written_as_it_was(encoder):
    model, table = read_cnn(str(encoder))
    before, after = spacy.load(encoder), blank()
    build_cnn(model, table, str(encoder), after)
    assert same(before, after)
    own, their = (table_of(nlp) for nlp in (before, after))
    assert np.array_equal(own.vectors.codes, their.vectors.codes) and own.subwords == their.subwords


def table_of(nlp):
    nodes = nlp.get_pipe("tok2vec").model.walk()
    return next(node for node in nodes if node.name == "subword_vectors").attrs["subwords"]


def test_columns_that_nothing_uses_are_left_out():
    torch.manual_seed(0)
    table = torch.linalg.qr(torch.randn(30, 6))[0]
    model = CNNBiEncoder(CNN(table, (10,) * 4, width=8, depth=1), width=8)
    with torch.no_grad():
        model.encoder.project.weight[:, 4:] = 0
        model.Q[:, :, 4:] = 0
    words = torch.randint(30, (5, 3))
    before = model.encoder.project(model.encoder.mean(words)).detach()
    reduce_columns(model, np.zeros(30), 4)
    assert model.encoder.vectors.shape == (30, 4) and model.Q.shape == (2, 8, 4)
    after = model.encoder.project(model.encoder.mean(words)).detach()
    assert after.numpy() == pytest.approx(before.numpy(), abs=1e-5)


@pytest.fixture(scope="module")
def teacher(donors, tmp_path_factory):
    """A tiny transformer that has learnt the donors."""
    folder = tmp_path_factory.mktemp("teacher")
    bert, quick = tiny_bert(folder / "bert", width=64, spells=True), dict.fromkeys(RATES, 0.01)
    given = {"steps": 60, "batch_size": 100, "evaluations": 1, "settings": quick}
    return run(donors, folder / "out", bert, **given).model


def test_a_new_cnn_learns_from_a_teacher(donors, teacher, tmp_path):
    new = {"teacher": str(teacher), "batch_size": 60, "steps": 80}
    trained = run(donors, tmp_path / "out", "cnn", **new)
    assert trained.record["options"]["teacher"] and trained.record["steps"] == 80
    trained.model.rename(tmp_path / "moved")  # it has its vectors wherever it lies
    nlp = spacy.load(tmp_path / "moved")
    table = table_of(nlp)
    assert table.is_plain and {"the", "f"} <= set(table.subwords)
    assert "[CLS]" not in table.subwords and table.n_columns == 96
    nlp.get_pipe("ner").set_labels({"BOAT": "ship", "TOWN": "port"})
    spans = [(e.text, e.label_) for e in nlp("The Fram left Hamina .").ents]
    assert spans == [("Fram", "BOAT"), ("Hamina", "TOWN")]
    assert read_pretrained(tmp_path / "moved", "ner").pipe.describe(["the ship"]).any()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"encoder": "cnn"}, "L495"),
        ({"encoder": "STOCK"}, "L495"),
        ({"teacher": "en_longtail_cnn"}, "L495"),
        ({"encoder": "cnn", "new_subwords": 5}, "L213.*--new-subwords"),
        ({"teacher": "en_longtail_none"}, "L720"),
        ({"layers": 2}, "L213.*--layers"),
        ({"teacher_cache": "cache"}, "L213.*--teacher-cache"),
        ({"settings": {"training.optimizer": "Adam.v1"}}, "L001.*training.optimizer"),
    ],
    ids=str,
)
def test_encoders_that_are_no_start_of_a_cnn(options, code, donors, encoder, tmp_path):
    given = {"encoder": encoder, **options}
    if given["encoder"] == "STOCK":
        nlp = one_pipe("ner")
        nlp.initialize()
        nlp.to_disk(tmp_path / "other")
        given["encoder"] = tmp_path / "other"
    with pytest.raises(ValueError, match=code):
        run(donors, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [({"settings": {"training.encoder_rat": 0.1}}, "L001.*encoder_rat"), ({"gpu_id": 99}, "L515")],
    ids=str,
)
def test_options_are_checked_before_anything_is_loaded(options, code, donors, tmp_path):
    with pytest.raises(ValueError, match=code):
        run(donors, tmp_path / "out", tmp_path / "no_encoder", **options)


@pytest.mark.parametrize("place", ["output", "donor", "teacher"])
def test_a_teacher_cache_in_another_folder_of_the_run_is_refused(place, donors, encoder, tmp_path):
    folder = {"output": tmp_path / "out", "donor": donors[1], "teacher": encoder}[place]
    with pytest.raises(
        ValueError, match=rf"L001.*--teacher-cache.*outside .*{folder.name}, found .*cache"
    ):
        run(donors, tmp_path / "out", "cnn", teacher=str(encoder), teacher_cache=folder / "cache")


def test_an_output_in_the_encoder_is_refused(donors, encoder):
    with pytest.raises(ValueError, match="L4"):
        run(donors, encoder / "out", encoder)


# Subwords of other languages


def test_subwords_of_the_donors_are_added_as_means_of_their_parts(encoder):
    model, table = read_cnn(str(encoder))
    vocab = blank().vocab
    words = Vocabulary(np.array([vocab["Hamina"].orth] * 9, dtype="uint64"), vocab)
    before = model.encoder.vectors.detach().numpy().copy()

    model, longer = add_subwords(model, table, choose_subwords(table, words, 200))

    assert longer.subwords[: len(table.subwords)] == table.subwords
    assert longer.subwords[-1] == "hamina" and len({*longer.subwords}) == len(longer.subwords)
    parts = [table.subwords.index(text) for text in ("h", "##a", "##m", "##i", "##n", "##a")]
    vectors = model.encoder.vectors.detach().numpy()
    assert np.array_equal(vectors[: len(before)], before)
    assert vectors[-1] == pytest.approx(before[parts].mean(axis=0), abs=0.02)


def test_no_more_subwords_are_added_than_asked_for(donors, encoder, tmp_path):
    known = read_cnn(str(encoder))[1].subwords

    trained = run(donors, tmp_path / "out", encoder, steps=2, new_subwords=6)

    found = read_cnn(str(trained.model))[1].subwords
    assert found[: len(known)] == known and len(found) == len(known) + 6


def test_ties_between_new_subwords_are_broken_alike(encoder):
    table, vocab = read_cnn(str(encoder))[1], blank().vocab
    orths = [vocab[word].orth for word in ("gull", "wren", "tern", "skua", "smew", "ruff", "knot")]
    words = Vocabulary(np.array(orths, dtype="uint64"), vocab)

    first, *others = [choose_subwords(table, words, 12) for _ in range(5)]

    assert others == [first] * 4


# Killed and resumed


@pytest.mark.parametrize(("killed_at", "saves"), [(9, (4, 8)), (3, ())])
def test_a_run_that_was_killed_comes_to_the_same_weights(
    killed_at, saves, donors, encoder, tmp_path, monkeypatch
):
    place = (monkeypatch, tmp_path, donors, encoder)
    straight, again = resumed(*place, killed_at, saves, seed=3)
    assert same(straight.nlp, again.nlp) and [step for step, _ in again.scores] == [4, 8, 12]
    assert not same(straight.nlp, run(donors, tmp_path / "other", encoder, seed=4).nlp)


def test_a_state_that_is_damaged_or_of_other_options(donors, encoder, tmp_path, monkeypatch):
    killed(monkeypatch, 3, (2,), donors, tmp_path, encoder)
    for change in ({"seed": 1}, {"steps": 13}, {"settings": {"training.dropout": 0.4}}):
        with pytest.raises(ValueError, match=r"L496.*other options"):
            run(donors, tmp_path, encoder, **change)
    half(tmp_path / "state.pt")
    with pytest.raises(ValueError, match=r"L496.*damaged"):
        run(donors, tmp_path, encoder)


def test_a_donor_may_be_renamed_before_a_run_is_resumed(donors, encoder, tmp_path, monkeypatch):
    straight = run(donors, tmp_path / "straight", encoder)
    killed(monkeypatch, 9, (4,), donors, tmp_path / "out", encoder)
    renamed = [Path(shutil.copytree(donor, tmp_path / f"{donor.name}2")) for donor in donors]

    again = run(renamed, tmp_path / "out", encoder)

    assert same(again.nlp, straight.nlp)


def test_a_resumed_run_has_the_subwords_of_its_vectors(donors, encoder, tmp_path, monkeypatch):
    """Even if `tokenizers` chooses others by then, such as those of another order."""
    straight = run(donors, tmp_path / "straight", encoder, new_subwords=6)
    killed(monkeypatch, 3, (2,), donors, tmp_path / "out", encoder, new_subwords=6)
    monkeypatch.setattr(cnn_learner, "choose_subwords", lambda *given: choose_subwords(*given)[::-1])

    again = run(donors, tmp_path / "out", encoder, new_subwords=6)

    assert table_of(again.nlp).subwords == table_of(straight.nlp).subwords
    assert same(again.nlp, straight.nlp)


def test_a_state_without_subwords_is_refused(donors, encoder, tmp_path, monkeypatch):
    killed(monkeypatch, 3, (2,), donors, tmp_path, encoder)
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    del state["subwords"]
    torch.save(state, tmp_path / "state.pt")

    with pytest.raises(ValueError, match=r"L496.*an earlier version wrote it"):
        run(donors, tmp_path, encoder)


def half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_what_is_finished_or_of_others_is_left_alone(trained, donors, encoder, tmp_path):
    output, given = trained.model.parent, {"steps": 60, "evaluations": 2}
    before = sorted(path.stat().st_mtime_ns for path in output.rglob("*"))
    for folders, exclude in ((donors[:1], []), (donors, donors[1:]), (donors[:1], donors[1:])):
        with pytest.raises(ValueError, match=r"L496.*other options or donors"):
            run(folders, output, encoder, exclude=exclude, **given)
    moved = [Path(shutil.copytree(d, tmp_path / d.name)) for d in donors]
    with pytest.raises(ValueError, match=r"L496.*finished"):  # where they lie is no setting
        run(moved, output, encoder, **given)
    assert before == sorted(path.stat().st_mtime_ns for path in output.rglob("*"))
    (tmp_path / "own.txt").write_text("mine", encoding="utf8")
    for folder, code in ((tmp_path, "L437"), (donors[0], "L436"), (donors[0] / "new", "L436")):
        with pytest.raises(ValueError, match=code):
            run(donors, folder, encoder)
    assert not (donors[0] / "new").exists()


def test_there_are_as_many_evaluations_as_asked_for(donors, encoder, tmp_path):
    run(donors, tmp_path / "out", encoder, steps=7, evaluations=3)

    steps = [step for step, _ in srsly.read_json(tmp_path / "out" / "pretrain.json")["scores"]]
    assert steps == [3, 6, 7]


def test_a_batch_without_annotation_has_no_loss(donors, encoder, tmp_path, monkeypatch):
    losses, loss = [], Learner.loss

    def with_bare_batch(self, batch):
        bare = batch._replace(gold=torch.full_like(batch.gold, IGNORED))
        losses.append(loss(self, bare).item())
        return loss(self, batch)

    monkeypatch.setattr(Learner, "loss", with_bare_batch)

    run(donors, tmp_path / "out", encoder, steps=2, evaluations=1)

    assert losses == [0.0, 0.0]


# What it writes


def test_what_is_written(trained, donors):
    """A pipeline that finds the donors' types as they were scored, and the record."""
    output = trained.model.parent
    assert {p.name for p in output.iterdir()} == {"model", "pretrain.json"}
    record = json.loads((output / "pretrain.json").read_text(encoding="utf8"))
    assert [(d["name"], d["sentences"]) for d in record["donors"]] == [("toy", 8), ("ships", 4)]
    assert record["donors"][1]["types"] == {"PORT": "port", "SHIP": "ship"}
    assert record["steps"] == 60 and record["excluded"] == []
    assert str(output.parent) not in json.dumps(record)
    read = list(read_donors(donors, [], ["train"], blank().vocab))
    seen = sketch(doc for donor in read for doc in donor.train)
    assert len(seen) and (trained.model / SEEN).read_bytes() == seen.tobytes()
    nlp = spacy.load(trained.model)
    assert same(nlp, trained.nlp) and not {"Nobody", "hours"} & set(nlp.vocab.strings)
    assert [step for step, _ in trained.scores] == [30, 60]
    scores = trained.scores[-1][1]
    assert [s["sentences"] for s in scores] == [3, 2] and all(s["micro"] > 0.8 for s in scores)
    check_scores(nlp, read, scores)
    W, b = (output_of(nlp.get_pipe("ner").model).get_param(name) for name in "Wb")
    assert W[0].any() and not W[1:].any() and not b[1:].any()  # no residual


SENTENCE = "The Fram left Oslo at noon ."


@pytest.fixture
def earlier(encoder, tmp_path):
    """A CNN that was pretrained on another corpus, with a licence that asks for attribution."""
    folder = Path(shutil.copytree(encoder, tmp_path / "earlier"))
    write_seen(folder, [Doc(blank().vocab, words=f"{SENTENCE} {i}".split()) for i in range(40)])
    meta = srsly.read_json(folder / "meta.json")
    srsly.write_json(
        folder / "meta.json", {**meta, "sources": [{"name": "news", "license": "CC BY 4.0"}]}
    )
    return folder


def test_sentences_of_the_encoder_to_start_from_stay_known(earlier, donors, tmp_path):
    trained = run(donors, tmp_path / "out", earlier, steps=1)

    new = sketch(
        doc for donor in read_donors(donors, [], ["train"], blank().vocab) for doc in donor.train
    )
    assert read_seen(trained.model).tolist() == sorted({*read_seen(earlier).tolist(), *new.tolist()})


def test_a_damaged_list_of_known_sentences_is_refused_before_training(earlier, donors, tmp_path):
    (earlier / SEEN).write_bytes(b"12345")

    with pytest.raises(ValueError, match=r"L274.*seen\.bin is damaged"):
        run(donors, tmp_path / "out", earlier)
    assert not (tmp_path / "out").exists()


def test_sources_of_the_encoder_to_start_from_are_kept(earlier, donors, tmp_path):
    trained = run(donors, tmp_path / "out", earlier, steps=1)

    news = {"name": "news", "license": "CC BY 4.0"}
    assert spacy.load(trained.model).meta["sources"] == [news, *SOURCES]


def test_sources_of_a_teacher_are_kept(teacher, donors, tmp_path):
    trained = run(donors[1:], tmp_path / "out", "cnn", steps=1, teacher=str(teacher))

    assert trained.nlp.meta["sources"] == SOURCES


# What it is good for


def recipe(tmp_path, **overrides):
    """The pipeline of pretrained_cnn.cfg, initialized on the toy corpus as `spacy train` does."""
    paths = {"paths.train": str(tmp_path / "toy.spacy"), "paths.dev": str(tmp_path / "toy.spacy")}
    DocBin(docs=[eg.reference for eg in examples(blank())]).to_disk(tmp_path / "toy.spacy")
    labels = {"longtail.labels": ["PER", "GEO", "ART", "NAT"], "longtail.tail": ["NAT"]}
    given = {**paths, **labels, **overrides}
    return init_nlp(util.load_config(CONFIG, overrides=given, interpolate=True), use_gpu=-1)


@pytest.fixture
def started(trained, tmp_path):
    """The pipeline of pretrained_cnn.cfg that starts from the pretrained one."""
    return recipe(tmp_path, **{"paths.pretrained": str(trained.model)})


def test_a_recipe_starts_from_the_pretrained_encoder(started, trained):
    assert same_encoder(started, trained.nlp)


def test_a_recipe_starts_from_the_pretrained_head(started, trained):
    own, head = (output_of(nlp.get_pipe("ner").model) for nlp in (started, trained.nlp))
    assert all(np.array_equal(own.get_param(name), head.get_param(name)) for name in "PQ")
    assert np.array_equal(own.get_param("W")[0], head.get_param("W")[0])
    assert own.get_param("b")[0] == head.get_param("b")[0] and not own.get_param("W")[1:].any()


def test_a_recipe_has_the_describer_of_the_pretrained_head(started, trained):
    kept = started.config["components"]["ner"]["describe"]
    assert kept == {"@misc": "longtail.SubwordDescriptions.v1", "source": str(trained.model)}


def test_a_pipeline_names_the_corpora_of_its_pretraining(started, tmp_path):
    assert reloaded(started, tmp_path / "saved").meta["sources"] == SOURCES


def test_a_pretrained_head_finds_more_before_the_training_than_a_new_one(started, trained, tmp_path):
    without = {"initialize.components.ner.pretrained": None}
    new = recipe(tmp_path, **{"paths.pretrained": str(trained.model), **without})
    before = started.evaluate(examples(started))["ents_f"]
    assert before > 0.5 > new.evaluate(examples(new))["ents_f"]


def test_a_recipe_learns(started):
    gold = examples(started)
    optimizer = started.resume_training()
    history = [started.update(gold, sgd=optimizer, losses={})["ner"] for _ in range(5)]
    assert history[-1] < history[0]


def test_a_recipe_of_another_scheme_starts_from_the_rows_of_the_same_tags(trained, tmp_path):
    given = {"paths.pretrained": str(trained.model), "components.ner.scheme": "BILUO"}
    biluo = recipe(tmp_path, **given)
    P, own = (output_of(nlp.get_pipe("ner").model).get_param("P") for nlp in (biluo, trained.nlp))
    assert all(np.array_equal(P[k], own[i]) for k, i in enumerate((0, 1, 1, 0)))  # B I L U


def test_init_tok2vec_is_read_before_a_training(trained, tmp_path):
    """As `spacy pretrain` writes it, for a head of another kind."""
    config = trained.nlp.config.interpolate()
    tok2vec = config["components"]["ner"]["model"]["tok2vec"]
    model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": tok2vec}
    config["components"]["ner"] = {"factory": "longtail_token_ner", "model": model}
    weights = tmp_path / "model-last.bin"
    weights.write_bytes(trained.nlp.get_pipe("tok2vec").model.to_bytes())
    config["initialize"].update({"components": {}, "init_tok2vec": str(weights)})
    config["pretraining"] = {}
    config.to_disk(tmp_path / "bare.cfg")
    fill_config(tmp_path / "full.cfg", tmp_path / "bare.cfg", pretraining=True, silent=True)
    filled = util.load_config(tmp_path / "full.cfg")
    filled["pretraining"].update({"component": "tok2vec", "layer": ""})
    nlp = load_model_from_config(filled)
    load_weights(nlp, filled)
    nlp.initialize(lambda: examples(nlp))
    assert same_encoder(nlp, trained.nlp)
    half(weights)
    with pytest.raises(ValueError):
        load_weights(load_model_from_config(filled), filled)


OWN_ENCODER = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    **{"pretrained_vectors": None, "width": 96, "depth": 1, "embed_size": 100},
    **{"window_size": 1, "maxout_pieces": 2, "subword_features": False},
}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"components.ner.model.width": 128}, "L274"),
        ({"components.ner.model.tok2vec": OWN_ENCODER}, "L274.*encoder of its own"),
        ({"components.ner.describe": {"@misc": "longtail.HashedDescriptions.v1", "width": 30}}, "L274"),
        ({"initialize.components.ner.pretrained": "none"}, "L720"),
        ({"initialize.components.ner.pretrained": "HEADLESS"}, "L274"),
    ],
    ids=str,
)
def test_a_head_that_does_not_fit_is_refused(change, code, trained, tmp_path):
    nlp = spacy.load(trained.model)
    nlp.remove_pipe("ner")
    nlp.to_disk(tmp_path / "headless")
    given = {k: str(tmp_path / "headless") if v == "HEADLESS" else v for k, v in change.items()}
    with pytest.raises(ValueError, match=code):
        recipe(tmp_path, **{"paths.pretrained": str(nlp.path), **given})


def test_a_described_type_has_a_name_that_a_config_can_hold(tmp_path):
    folder = corpus_of(tmp_path / "odd", train=["[Ann|a:b] saw [Oslo|GEO]"], dev=["[Bo|a:b] left"])
    load_with_corpus_values(CONFIG, folder)  # not described, it is called by its name
    for descriptions, problem in (
        ({"a:b": "something"}, "the type 'a:b'.*':'"),
        ({"GEO": "of ${nlp.lang}"}, r"'\$' in the text of GEO"),
    ):
        types = json.loads((folder / "types.json").read_text(encoding="utf8"))
        types["descriptions"] = descriptions
        (folder / "types.json").write_text(json.dumps(types), encoding="utf8")
        with pytest.raises(ValueError, match=f"L271.*odd.*{problem}"):
            load_with_corpus_values(CONFIG, folder)
        load_with_corpus_values(CONFIG.with_name("baseline.cfg"), folder)


# The command


def test_the_command(donors, tmp_path):
    test = ["THE rain  fell for hours .", "Rome fell ."]
    target = corpus_of(tmp_path / "target", train=SENTENCES, test=test)
    arguments = ["--steps", 4, "--batch-size", 20, "--evaluations", 1, "--exclude", target, "--json"]
    rates = [f"--set={name}={value}" for name, value in RATES.items()]
    arguments += [*rates, "--set", "training.dropout=0.25"]
    shown = run_app("pretrain", *donors, "-o", tmp_path / "out", *arguments)
    record = json.loads((tmp_path / "out" / "pretrain.json").read_text(encoding="utf8"))
    printed = json.loads(shown.stdout[shown.stdout.index("{") :])
    assert printed["model"] == str(tmp_path / "out" / "model") and printed["key"] == record["key"]
    assert [d["excluded"] for d in record["donors"]] == [1, 0] and record["excluded"] == ["target"]
    assert record["options"]["settings"]["training.dropout"] == 0.25


def test_the_removed_option_bits_is_ignored_with_a_message(donors, encoder, tmp_path):
    given = ["--encoder", encoder, "--steps", 1, "--batch-size", 20, "--bits", 8, 8, 8]

    shown = run_app("pretrain", donors[0], "-o", tmp_path / "out", *given)

    assert "--bits has no effect any more" in shown.stderr
