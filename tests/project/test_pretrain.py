"""`pretrain`: what it learns, what it writes, that it goes on where it was killed, and what its results are good for."""

import errno
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy import util
from spacy.cli.init_config import fill_config
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.util import load_model_from_config
from thinc.api import Adam, Shim
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.corpus.folder import CorpusTypes, write_corpus
from spacy_longtail.corpus.seen import FILE as SEEN
from spacy_longtail.corpus.seen import sketch
from spacy_longtail.heads.outputs import output_of
from spacy_longtail.studies.pretraining import Options, cnn, pretrain, writing
from spacy_longtail.studies.pretraining import run as module
from spacy_longtail.studies.pretraining.donors import read_donors
from spacy_longtail.studies.pretraining.records import Progress
from spacy_longtail.studies.pretraining.scoring import predict_types, score_donors
from spacy_longtail.studies.pretraining.state import load_state, save_state
from spacy_longtail.studies.pretraining.writing import write_pretrained
from spacy_longtail.training.loading import load_weights, sources_of_beginning
from spacy_longtail.training.train import check_trainable, load_filled, train_model
from tests.util import SENTENCES, SMALL, blank, examples, params, parse, tiny_bert, toy_corpus

RUN = CliRunner()
CONFIGS = Path(__file__).parents[2] / "configs"
TINY = {
    "components.tok2vec.model.embed.rows": [100, 50, 50, 50],
    "components.tok2vec.model.encode.depth": 1,
    "components.tok2vec.model.encode.maxout_pieces": 2,
    "components.ner.describe.width": 30,
    "training.optimizer.learn_rate.warmup_steps": 2,
    "training.optimizer.learn_rate.initial_rate": 0.02,
}
SHIPS = [
    "The [Fram|SHIP] left [Oslo|PORT] .",
    "A storm hit the [Vasa|SHIP] near [Hamina|PORT] .",
    "Maria saw nobody in [Hamina|PORT] .",
    "It was late .",
]
DEV = {
    "toy": ["[Maria|PER] sailed to [Rome|GEO] .", "[Oslo|GEO] sent help .", "Nobody came that night ."],
    "ships": ["The [Vasa|SHIP] left [Hamina|PORT] .", "A storm hit the [Fram|SHIP] near [Oslo|PORT] ."],
}
STEPS = 12
SOURCES = [{"name": "toy"}, {"name": "ships"}]


def write(folder, texts, **parts):
    nlp = blank()
    docs = {"train": texts, **parts}
    found = {part: [parse(nlp, text) for text in own] for part, own in docs.items()}
    labels = sorted({e.label_ for own in found.values() for doc in own for e in doc.ents})
    write_corpus(folder, found, CorpusTypes(labels, [], "en", descriptions={}))
    return folder


@pytest.fixture(scope="module")
def donors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    return [
        write(folder / "toy", SENTENCES, dev=DEV["toy"]),
        write(folder / "ships", SHIPS, dev=DEV["ships"]),
    ]


def run(donors, output, steps=STEPS, say=lambda text: None, exclude=(), **options):
    settings = {**TINY, **options.pop("settings", {})}
    own = Options(**{"steps": steps, "words": 20, "evaluations": 3, "settings": settings, **options})
    return pretrain(donors, output, own, list(exclude), say)


@pytest.fixture(scope="module")
def trained(donors, tmp_path_factory):
    """A pretraining that is written."""
    output = tmp_path_factory.mktemp("pretrained") / "cnn"
    found = run(donors, output, steps=60, evaluations=2)
    return found, output, write_pretrained(found, output, "python -m spacy_longtail pretrain", False)


def same(one, other):
    pairs = zip(
        (p for name in one.pipe_names for p in params(one.get_pipe(name))),
        (p for name in other.pipe_names for p in params(other.get_pipe(name))),
        strict=True,
    )
    return all(np.array_equal(a, b) for a, b in pairs)


# What it learns


def test_each_donor_teaches_its_own_types_alone(trained, donors):
    nlp = trained[0].nlp
    pipe, found = nlp.get_pipe("ner"), read_donors(donors, [], ["train"], nlp.vocab)
    assert set(pipe.labels) == {"PER", "GEO", "ART", "NAT", "SHIP", "PORT"}
    own = [{"PER", "GEO", "ART", "NAT"}, {"SHIP", "PORT"}]
    for donor, types in zip(found, own, strict=True):
        batch = [cnn.example(doc) for doc in donor.train]
        docs = [eg.predicted for eg in batch]
        rows = nlp.get_pipe("tok2vec").predict(docs)
        nlp.get_pipe("tok2vec").set_annotations(docs, rows)
        _, d_scores = pipe.get_loss(batch, pipe.model.predict(docs))
        d = np.asarray(d_scores.dataXd)
        for j, tag in enumerate(pipe.codec.tags):
            assert d[:, j].any() == (tag == "O" or tag[2:] in types), tag
        bare = [eg.predicted.copy() for eg in batch]
        predict_types(nlp, bare, sorted(types))
        assert {e.label_ for doc in bare for e in doc.ents} <= types


def test_donors_are_learnt_and_scored_on_their_own_types(trained):
    found, _, _ = trained
    assert [step for step, _ in found.scores] == [30, 60]
    for score in found.scores[-1][1]:
        assert score.micro > 0.8
    assert [s.sentences for s in found.scores[-1][1]] == [3, 2]
    assert score_donors(found.nlp, found.donors) == found.scores[-1][1]  # the weights that are kept
    W, b = (output_of(found.nlp.get_pipe("ner").model).get_param(name) for name in "Wb")
    assert W[0].any() and not W[1:].any() and not b[1:].any()  # no residual


def test_the_weights_that_are_kept_are_the_averages(donors, tmp_path):
    nlp = run(donors, tmp_path).nlp
    with np.load(tmp_path / "checkpoint" / "optimizer.npz") as arrays:
        averages = {name: arrays[name] for name in arrays.files if name.startswith("averages|")}
    assert len(averages) > 10
    for name, values in averages.items():
        _, pipe, i, _, param = name.split("|")
        node = list(nlp.get_pipe(pipe).model.walk())[int(i)]
        assert np.array_equal(node.get_param(param), values)


# Killed and resumed


def kill_at(monkeypatch, step, saves, learner=cnn.CNN):
    """A process that dies at a step; a state is written after each of `saves`."""
    whole = learner.step

    def own(self, at):
        if at == step:
            raise KeyboardInterrupt
        monkeypatch.setattr(module, "SECONDS", -1.0 if at + 1 in saves else 1e9)
        return whole(self, at)

    monkeypatch.setattr(learner, "step", own)


@pytest.mark.parametrize(("killed_at", "saves"), [(7, (5,)), (9, (4, 8)), (3, ())])
def test_a_run_that_was_killed_comes_to_the_same_weights(
    killed_at, saves, donors, tmp_path, monkeypatch
):
    straight, said = run(donors, tmp_path / "straight", seed=3), []
    with monkeypatch.context() as patch:
        kill_at(patch, killed_at, saves)
        with pytest.raises(KeyboardInterrupt):
            run(donors, tmp_path / "killed", seed=3)
    again = run(donors, tmp_path / "killed", seed=3, say=said.append)
    goes_on = [text for text in said if text.startswith("Continues")]
    assert goes_on == ([f"Continues at step {saves[-1]}"] if saves else [])
    assert same(straight.nlp, again.nlp)
    assert straight.record.key == again.record.key
    assert straight.scores == again.scores and [s for s, _ in again.scores] == [4, 8, 12]
    other = run(donors, tmp_path / "other", seed=4)
    assert not same(straight.nlp, other.nlp)


def test_an_encoder_that_is_nowhere_is_a_coded_error(donors, tmp_path, monkeypatch):
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    options = Options(encoder=str(tmp_path / "nowhere"), steps=2)
    with pytest.raises(ValueError, match="L265"):
        pretrain(donors, tmp_path / "out", options, [], print)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_a_transformer_with_a_damaged_file_is_a_coded_error(file, donors, tmp_path):
    pytest.importorskip("spacy_transformers", reason="needs the extra 'transformers'")
    encoder = tiny_bert(tmp_path / "bert")
    damaged = encoder / file
    assert damaged.is_file(), sorted(path.name for path in encoder.iterdir())
    damaged.write_bytes(damaged.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"L265.*bert"):
        pretrain(donors, tmp_path / "out", Options(encoder=str(encoder), steps=2), [], print)
    assert not (tmp_path / "out").exists()


def test_what_is_finished_is_not_trained_again(donors, tmp_path):
    found = run(donors, tmp_path / "out", steps=2)
    write_pretrained(found, tmp_path / "out", "pretrain")
    before = sorted(path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*"))
    with pytest.raises(ValueError, match="L498"):
        run(donors, tmp_path / "out", steps=2)
    assert before == sorted(path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*"))


def test_curves_are_left_out_without_matplotlib_alone(trained, tmp_path, monkeypatch):
    found, _, _ = trained
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = write_pretrained(found, tmp_path / "plain", "pretrain")["page"].read_text()
    assert "ships" in page and "<svg" not in page
    monkeypatch.undo()
    pytest.importorskip("matplotlib", reason="needs the extra 'report'")
    monkeypatch.setattr(writing, "learning_curves", lambda _: np.zeros(2) + np.zeros(3))
    with pytest.raises(ValueError, match="broadcast"):
        write_pretrained(found, tmp_path / "broken", "pretrain")


class Parameter(Shim):
    """Stands for torch's: a thing with a number of its own."""

    def to_bytes(self):
        return b""

    def from_bytes(self, data):
        return self


@pytest.mark.parametrize("is_taken", [False, True])
def test_moments_find_their_layer_whatever_its_number(is_taken, tmp_path):
    """Layers and shims are numbered apart: a shim may have the number of a layer."""

    def build(is_taken):
        nlp, optimizer = blank(), Adam(0.1)
        model = {"@architectures": "longtail.TokenClassifier.v1", "tok2vec": SMALL}
        pipe = nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
        nlp.initialize(lambda: examples(nlp))
        layer = next(node for node in pipe.model.walk() if "E" in node.param_names)
        shim = Parameter(None)
        pipe.model.layers[-1].shims.append(shim)
        shim.id = layer.id if is_taken else 10**9
        return nlp, optimizer, (layer.id, "E"), (shim.id, "weight")

    nlp, optimizer, *keys = build(is_taken)
    for n, key in enumerate(keys, start=1):
        optimizer.mom1[key], optimizer.nr_update[key] = np.full(3, float(n), dtype="f"), n
    save_state(tmp_path / "state", nlp, optimizer, Progress(step=1))
    again, fresh, *keys = build(not is_taken)
    assert load_state(tmp_path / "state", again, fresh).step == 1
    assert [(fresh.mom1[key][0], fresh.nr_update[key]) for key in keys] == [(1.0, 1), (2.0, 2)]


def test_a_full_disk_leaves_the_state_before(tmp_path, monkeypatch):
    nlp, optimizer = blank(), Adam(0.1)
    save_state(tmp_path / "state", nlp, optimizer, Progress(step=1))

    def full(*given, **arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(ValueError, match=r"L432.*No space left"):
            save_state(tmp_path / "state", nlp, optimizer, Progress(step=2))
    assert load_state(tmp_path / "state", nlp, optimizer).step == 1
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("damage", ["progress.json", "optimizer.npz", "model/ner/model", "empty"])
def test_a_damaged_state_is_said_to_be_one(damage, donors, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_at(patch, 3, (2,))
        with pytest.raises(KeyboardInterrupt):
            run(donors, tmp_path / "out")
    state = tmp_path / "out" / "checkpoint"
    path = state / ("optimizer.npz" if damage == "empty" else damage)
    kept = path.read_bytes()
    path.write_bytes(b"" if damage == "empty" else kept[: len(kept) // 2])
    with pytest.raises(ValueError, match="L496"):
        run(donors, tmp_path / "out")
    path.write_bytes(kept)
    assert run(donors, tmp_path / "out").scores


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"words": 21}, {"power": 1.0}, {"steps": 13}, {"settings": {"training.dropout": 0.4}}],
    ids=str,
)
def test_other_settings_need_another_folder(change, donors, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_at(patch, 2, (1,))
        with pytest.raises(KeyboardInterrupt):
            run(donors, tmp_path)
    with pytest.raises(ValueError, match="L497"):
        run(donors, tmp_path, **change)


def test_other_donors_need_another_folder(trained, donors, tmp_path):
    _, output, _ = trained
    for folders, exclude in ((donors[:1], []), (donors, donors[1:])):
        with pytest.raises(ValueError, match="L497"):
            run(folders, output, steps=60, evaluations=2, exclude=exclude)
    moved = [Path(shutil.copytree(d, tmp_path / d.name)) for d in donors]
    module._check_same(output, trained[0].record.key)
    assert run_key(moved, 60) == trained[0].record.key  # where they lie is no setting


def run_key(folders, steps):
    options = Options(steps=steps, words=20, evaluations=2, settings=TINY)
    config = module.read_encoder(CorpusTypes([], [], "en"), None, steps, TINY)
    return module._key(module.config_content(config), folders, [], steps, 20, options)


def test_a_foreign_folder_is_left_alone(donors, tmp_path):
    (tmp_path / "own.txt").write_text("mine", encoding="utf8")
    with pytest.raises(ValueError, match="L437"):
        run(donors, tmp_path)
    with pytest.raises(ValueError, match="L436"):
        run(donors, donors[0])
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


# What it writes


def test_what_is_written(trained, donors):
    found, output, places = trained
    assert {p.name for p in output.iterdir()} == {
        "model",
        "tok2vec.bin",
        "pretrain.json",
        "pretrain.html",
        "pretrain.md",
    }
    assert set(places) == {"model", "tok2vec", "page"} and all(p.exists() for p in places.values())
    record = json.loads((output / "pretrain.json").read_text(encoding="utf8"))
    assert record["command"].startswith("python -m spacy_longtail pretrain")
    assert [d["name"] for d in record["donors"]] == ["toy", "ships"]
    assert [d["sentences"] for d in record["donors"]] == [8, 4]
    assert record["donors"][1]["types"] == {"PORT": "port", "SHIP": "ship"}
    assert record["steps"] == 60 and record["excluded"] == []
    read = sketch(doc for donor in found.donors for doc in donor.train)
    assert len(read) and (places["model"] / SEEN).read_bytes() == read.tobytes()
    page = (output / "pretrain.html").read_text(encoding="utf8")
    assert all(text in page for text in ("toy", "ships", "SHIP", record["command"]))
    assert str(output.parent) not in json.dumps(record) + page
    nlp = spacy.load(places["model"])
    assert same(nlp, found.nlp)
    text = "The Fram left Oslo ."
    assert [e.text for e in nlp(text).ents] == [e.text for e in found.nlp(text).ents] != []
    assert len(nlp.vocab.strings) < len(found.nlp.vocab.strings) + 200
    words = {t for s in SENTENCES for t in s.split()}
    assert not {"Nobody", "hours"} & set(nlp.vocab.strings) and words


# What it is good for


def recipe(name, tmp_path, donors, **overrides):
    """A pipeline of one of the configs, initialized on the toy corpus as `spacy train` does."""
    paths = {"paths.train": str(tmp_path / "toy.spacy"), "paths.dev": str(tmp_path / "toy.spacy")}
    DocBin(docs=[eg.reference for eg in examples(blank())]).to_disk(tmp_path / "toy.spacy")
    labels = {"longtail.labels": ["PER", "GEO", "ART", "NAT"], "longtail.tail": ["NAT"]}
    config = util.load_config(
        CONFIGS / f"{name}.cfg", overrides={**paths, **labels, **overrides}, interpolate=True
    )
    return init_nlp(config, use_gpu=-1)


def test_a_recipe_begins_with_encoder_and_head_and_learns(trained, donors, tmp_path):
    found, _, places = trained
    given = {"paths.pretrained": str(places["model"])}
    nlp = recipe("pretrained_cnn", tmp_path, donors, **given)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(
            params(nlp.get_pipe("tok2vec")), params(found.nlp.get_pipe("tok2vec")), strict=True
        )
    )
    fresh, head = (output_of(p.get_pipe("ner").model) for p in (nlp, found.nlp))
    assert all(np.array_equal(fresh.get_param(name), head.get_param(name)) for name in "PQ")
    assert np.array_equal(fresh.get_param("W")[0], head.get_param("W")[0])
    assert fresh.get_param("b")[0] == head.get_param("b")[0] and not fresh.get_param("W")[1:].any()
    kept = nlp.config["components"]["ner"]["describe"]  # that of the pretrained head
    assert kept["@misc"] == "longtail.HashedDescriptions.v1" and kept["width"] == 30
    nlp.to_disk(tmp_path / "begun")  # whose data is in it
    assert spacy.load(tmp_path / "begun").meta["sources"] == SOURCES
    # before any training it finds what the donors taught; a head that begins anew finds less
    gold = examples(nlp)
    begun = nlp.evaluate(examples(nlp))["ents_f"]
    anew = recipe(
        "pretrained_cnn", tmp_path, donors, **given, **{"initialize.components.ner.pretrained": None}
    )
    assert begun > 0.5 > anew.evaluate(examples(anew))["ents_f"]
    optimizer = nlp.resume_training()
    history = [nlp.update(gold, sgd=optimizer, losses={})["ner"] for _ in range(5)]
    assert history[-1] < history[0]
    biluo = recipe("pretrained_cnn", tmp_path, donors, **given, **{"components.ner.scheme": "BILUO"})
    P, own = output_of(biluo.get_pipe("ner").model).get_param("P"), head.get_param("P")
    assert all(np.array_equal(P[k], own[i]) for k, i in enumerate((0, 1, 1, 0)))  # B I L U


def test_a_head_with_last_and_unit_tags_hands_them_on(donors, tmp_path):
    scheme = {"components.ner.scheme": "BILUO"}
    found = run(donors, tmp_path / "out", steps=2, settings=scheme)
    places = write_pretrained(found, tmp_path / "out", "pretrain")
    nlp = recipe(
        "pretrained_cnn", tmp_path, donors, **{"paths.pretrained": str(places["model"])}, **scheme
    )
    known, own = (output_of(n.get_pipe("ner").model).get_param("P") for n in (found.nlp, nlp))
    assert np.array_equal(known, own) and not np.array_equal(own[1], own[2])


def test_a_component_that_is_not_trained_is_left_alone(donors, tmp_path):
    pipeline = {
        "components.sentencizer": {"factory": "sentencizer"},
        "nlp.pipeline": ["sentencizer", "tok2vec", "ner"],
    }
    found = run(donors, tmp_path / "out", steps=2, settings=pipeline)
    assert found.nlp.pipe_names == pipeline["nlp.pipeline"]


def test_word_vectors_of_the_encoder_travel_with_it(donors, tmp_path):
    nlp = blank()
    for i, word in enumerate(["Maria", "Rome", "Oslo", "storm"]):
        nlp.vocab.set_vector(word, np.eye(4, dtype="float32")[i])
    nlp.to_disk(tmp_path / "vectors")
    embed = "components.tok2vec.model.embed.include_static_vectors"
    settings = {embed: True, "initialize.vectors": str(tmp_path / "vectors")}
    found = run(donors, tmp_path / "out", settings={**TINY, **settings})
    places = write_pretrained(found, tmp_path / "out", "pretrain")
    loaded = util.load_model(places["model"])
    assert (loaded.vocab["Oslo"].vector == [0, 0, 1, 0]).all()
    assert "Nobody" in found.nlp.vocab.strings and "Nobody" not in loaded.vocab.strings
    texts = ["Maria sailed to Rome .", "A storm hit Oslo ."]
    one, other = ([p.tensor for p in n.pipe(texts)] for n in (found.nlp, loaded))
    assert all(np.allclose(a, b) for a, b in zip(one, other, strict=True))
    for value, code in (
        (3, "L438.*vectors must be a path"),
        (str(tmp_path / "none"), "L402"),
        (str(donors[0]), "L408"),
    ):
        with pytest.raises(ValueError, match=code):
            run(donors, tmp_path / "no", settings={**TINY, embed: True, "initialize.vectors": value})
    with pytest.raises(ValueError, match=r"L213.*initialize.init_tok2vec"):
        run(donors, tmp_path / "no", settings={**TINY, "initialize.init_tok2vec": "x"})
    assert not (tmp_path / "no").exists()


@pytest.fixture
def beginning(trained, tmp_path):
    """A config of stock `ner` that begins with the CNN alone, filled as spaCy fills it."""
    found, _, places = trained
    config = found.nlp.config.interpolate()
    config["components"]["ner"] = {
        "factory": "ner",
        "model": {
            "@architectures": "spacy.TransitionBasedParser.v2",
            "state_type": "ner",
            "extra_state_tokens": False,
            "hidden_width": 8,
            "maxout_pieces": 2,
            "use_upper": True,
            "tok2vec": config["components"]["ner"]["model"]["tok2vec"],
        },
    }
    config["initialize"]["components"] = {}
    config["initialize"]["init_tok2vec"] = str(places["tok2vec"])
    config["pretraining"] = {}
    config.to_disk(tmp_path / "bare.cfg")
    fill_config(tmp_path / "full.cfg", tmp_path / "bare.cfg", pretraining=True, silent=True)
    filled = util.load_config(tmp_path / "full.cfg")
    filled["pretraining"]["component"] = "tok2vec"
    filled["pretraining"]["layer"] = ""
    return filled


def test_the_cnn_alone_is_an_init_tok2vec(trained, beginning):
    known = params(trained[0].nlp.get_pipe("tok2vec"))
    nlp = load_model_from_config(beginning)
    load_weights(nlp, beginning)  # what is asked before a training
    nlp.initialize(lambda: examples(nlp))
    own = params(nlp.get_pipe("tok2vec"))
    assert all(np.array_equal(a, b) for a, b in zip(own, known, strict=True))


@pytest.mark.parametrize("is_given", [False, True])
def test_what_a_pipe_calls_its_source_is_no_source_of_spacy(is_given, tmp_path):
    """A longtail_gated_pipe names its secondary so: what is wrong elsewhere is not blamed on it."""
    config = CONFIGS / "gated_llm.cfg"
    settings = {"training.dropout": 5.0, "longtail.tail": ["PER"]}
    filled = load_filled(config, toy_corpus(tmp_path / "toy"), settings)
    if is_given:
        rules = spacy.blank("en")
        rules.add_pipe("entity_ruler")
        rules.to_disk(tmp_path / "rules")
        filled["components"]["rescue"].update(source=str(tmp_path / "rules"), pipe=None)
    with pytest.raises(ValueError, match=r"L438.*dropout"):
        check_trainable(filled, config)


def test_weights_of_another_layer_are_refused_before_training(donors, beginning, tmp_path):
    rows = load_model_from_config(beginning)
    beginning["components"]["tok2vec"]["model"]["embed"]["rows"] = [100, 50, 50, 60]
    with pytest.raises(ValueError, match=r"L418.*tok2vec.bin does not fit 'tok2vec'.*60"):
        load_weights(load_model_from_config(beginning), beginning)
    empty = tmp_path / "empty.bin"
    empty.write_bytes(b"")
    beginning["initialize"]["init_tok2vec"] = str(empty)
    with pytest.raises(ValueError, match=r"L418.*empty.bin"):
        load_weights(rows, beginning)
    file, config = tmp_path / "crf.cfg", CONFIGS / "token_crf.cfg"
    fill_config(file, config, pretraining=True, silent=True)
    given = ["train", str(file), str(donors[0]), str(tmp_path / "out")]
    refused = RUN.invoke(app, [*given, "--paths.init_tok2vec", str(empty), "--training.max_steps", "2"])
    assert refused.exit_code == 2 and "L418" in refused.output and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"components.ner.model.width": 128}, "its width has 256 columns, this one 128"),
        (
            {"components.ner.describe": {"@misc": "longtail.HashedDescriptions.v1", "width": 31}},
            "other vectors",
        ),
        (
            {
                "components.ner.describe": {
                    "@misc": "longtail.HashedDescriptions.v1",
                    "width": 30,
                    "seed": 1,
                }
            },
            "other vectors",
        ),
    ],
    ids=["width", "describe", "seed"],
)
def test_a_head_of_another_shape_is_refused(change, problem, trained, donors, tmp_path):
    given = {"paths.pretrained": str(trained[2]["model"]), **change}
    with pytest.raises(ValueError, match=f"L275.*{problem}"):
        recipe("pretrained_cnn", tmp_path, donors, **given)


def test_a_trained_pipeline_says_whose_data_it_began_with(trained, tmp_path):
    """With the encoder alone as well: its head is of another kind."""
    config = util.load_config(CONFIGS / "pretrained_cnn.cfg", interpolate=False)
    listener = config["components"]["ner"]["model"]["tok2vec"]
    config["components"]["ner"]["model"] = {
        "@architectures": "longtail.TokenClassifier.v1",
        "nO": None,
        "tok2vec": listener,
    }
    config["initialize"]["components"]["ner"]["pretrained"] = None
    config.to_disk(tmp_path / "own.cfg")
    given = {"paths.pretrained": str(trained[2]["model"]), "training.max_steps": 2}
    corpus = toy_corpus(tmp_path / "toy")
    model = train_model(tmp_path / "own.cfg", corpus, tmp_path / "out", overrides=given)
    assert spacy.load(model).meta["sources"] == SOURCES


def test_whose_data_is_in_encoders_that_are_named(trained, beginning, tmp_path):
    assert sources_of_beginning(beginning) == SOURCES
    beginning["initialize"]["init_tok2vec"] = str(tmp_path / "mine.bin")
    assert sources_of_beginning(beginning) == []
    folder = tmp_path / "pretrained"
    shutil.copytree(trained[2]["model"], folder / "model")
    model = {"@architectures": "spacy-transformers.TransformerModel.v3", "name": str(folder / "mine")}
    beginning["components"]["transformer"] = {"factory": "transformer", "model": model}
    assert sources_of_beginning(beginning) == []  # a name on the hub lies beside nothing
    (folder / "mine").mkdir()
    assert sources_of_beginning(beginning) == SOURCES


def test_an_encoder_of_another_width_is_refused(trained, donors, tmp_path):
    nlp = blank()
    model = {"@architectures": "longtail.DescribedTypes.v1", "width": 256, "tok2vec": SMALL}
    nlp.add_pipe("longtail_token_ner", name="ner", config={"model": model})
    nlp.config["initialize"]["components"]["ner"] = {"pretrained": str(trained[2]["model"])}
    with pytest.raises(ValueError, match=r"L275.*its encoder has 96 columns, this one 16"):
        nlp.initialize(lambda: examples(nlp))


def test_a_source_without_a_described_head_is_refused(trained, donors, tmp_path):
    nlp = spacy.load(trained[2]["model"])
    nlp.remove_pipe("ner")
    nlp.to_disk(tmp_path / "encoder")
    for path, problem in ((tmp_path / "encoder", "L274.*found tok2vec"), (tmp_path / "none", "L720")):
        given = {
            "paths.pretrained": str(trained[2]["model"]),
            "initialize.components.ner.pretrained": str(path),
        }
        with pytest.raises(ValueError, match=problem):
            recipe("pretrained_cnn", tmp_path, donors, **given)


def half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("given", "code", "problem"),
    [
        (None, "L720", "None .'source' of tok2vec.*model/"),
        ("none", "L720", "none .'source' of tok2vec.*model/"),
        ("", "L571", "it has the components none.*model/"),  # the folder above
        ("config.cfg", "L408", "cannot be loaded as a pipeline"),
        ("tok2vec/model", "L408", "cannot be loaded as a pipeline"),
        ("other", "L571", "it has the components ner"),
    ],
)
def test_what_a_config_begins_with_is_named_where_it_is_at_fault(
    given, code, problem, trained, donors, tmp_path
):
    model = tmp_path / "pretrained" / "model"
    shutil.copytree(trained[2]["model"], model)
    path = {None: None, "none": tmp_path / "none", "": model.parent, "other": tmp_path / "other"}
    if given not in path:
        half(model / given)
    other = blank()
    other.add_pipe("longtail_token_ner", name="ner")
    other.to_disk(tmp_path / "other")
    named = path.get(given, model)
    settings = {"paths.pretrained": str(named) if named else None}
    config = CONFIGS / "pretrained_cnn.cfg"
    with pytest.raises(ValueError, match=f"{code}.*{problem}") as found:
        check_trainable(load_filled(config, toy_corpus(tmp_path / "toy"), settings), config)
    assert named is None or str(named) in str(found.value)


def test_an_encoder_of_another_language_is_named(trained, tmp_path):
    config = CONFIGS / "pretrained_cnn.cfg"
    corpus = toy_corpus(tmp_path / "toy")
    types = json.loads((corpus / "types.json").read_text(encoding="utf8"))
    (corpus / "types.json").write_text(json.dumps({**types, "lang": "de"}), encoding="utf8")
    settings = {"paths.pretrained": str(trained[2]["model"])}
    with pytest.raises(ValueError, match=r"L274.*tok2vec.*language 'en', the training of 'de'"):
        check_trainable(load_filled(config, corpus, settings), config)


def test_a_described_type_has_a_name_that_a_config_can_hold(tmp_path):
    config = CONFIGS / "pretrained_cnn.cfg"
    folder = write(tmp_path / "odd", ["[Ann|a:b] saw [Oslo|GEO]"], dev=["[Bo|a:b] left"])
    load_filled(config, folder)  # not described, it is called by its name
    for descriptions, problem in (
        ({"a:b": "something"}, "the type 'a:b'.*':'"),
        ({"GEO": "of ${nlp.lang}"}, r"'\$' in the text of GEO"),
    ):
        types = json.loads((folder / "types.json").read_text(encoding="utf8"))
        types["descriptions"] = descriptions
        (folder / "types.json").write_text(json.dumps(types), encoding="utf8")
        with pytest.raises(ValueError, match=f"L271.*odd.*{problem}"):
            load_filled(config, folder)
        load_filled(CONFIGS / "baseline.cfg", folder)


# The command


def call(*arguments):
    options = [f"--set={name}={json.dumps(value)}" for name, value in TINY.items()]
    return RUN.invoke(app, ["pretrain", *map(str, arguments), *options])


def test_the_command(donors, tmp_path):
    target = write(tmp_path / "target", SENTENCES, test=["THE rain  fell for hours .", "Rome fell ."])
    arguments = ["--steps", 4, "--words", 20, "--evaluations", 1, "--exclude", target]
    shown = call(*donors, "-o", tmp_path / "out", *arguments)
    assert shown.exit_code == 0, shown.output
    assert "toy" in shown.output and "left out" in shown.output
    record = json.loads((tmp_path / "out" / "pretrain.json").read_text(encoding="utf8"))
    assert [d["left_out"] for d in record["donors"]] == [1, 0]
    assert record["excluded"] == ["target"]
    near = tmp_path.name
    assert record["command"].endswith(f"--exclude {near}/target -o {near}/out")
    assert "--steps 4 --words 20" in record["command"]
    again = call(*donors, "-o", tmp_path / "out", *arguments)
    assert again.exit_code == 2 and "L498" in again.output
    arguments += ["--set", "training.dropout=0.25"]
    machine = call(*donors, "-o", tmp_path / "json", *arguments, "--json")
    assert machine.exit_code == 0
    printed = json.loads(machine.stdout[machine.stdout.index("{") :])
    assert printed["model"] == str(tmp_path / "json" / "model") and printed["key"] != record["key"]
    with_settings = json.loads((tmp_path / "json" / "pretrain.json").read_text(encoding="utf8"))
    assert "--set training.dropout=0.25" in with_settings["command"]
    failed = call(*donors, "-o", tmp_path / "out", "--steps", 5)
    assert failed.exit_code == 2 and "L497" in failed.output
    for more, code in (
        (["-o", tmp_path / "new", "--slim"], "L213"),
        (["-o", donors[0] / "new"], "L436"),
        (["-o", tmp_path / "new", "--set", "training.max_steps=3"], "L213"),
    ):
        failed = call(*donors, "--steps", 2, *more)
        assert failed.exit_code == 2 and code in failed.output
        assert not (tmp_path / "new").exists() and not (donors[0] / "new").exists()
    failed = call(tmp_path / "none", "-o", tmp_path / "new")
    assert failed.exit_code == 2 and "L402" in failed.output and not (tmp_path / "new").exists()


def test_clusters_of_spacy_are_left_out_where_wanted(donors, tmp_path):
    pytest.importorskip("spacy_lookups_data", reason="needs the extra 'lookups'")
    found, sizes = run(donors, tmp_path, steps=2, clusters="lookups", evaluations=1), {}
    text = "The Fram left Oslo ."
    expected = [(e.text, e.label_) for e in found.nlp(text).ents]
    for slim in (False, True):
        places = write_pretrained(found, tmp_path, "pretrain", slim)
        sizes[slim] = places["tok2vec"].stat().st_size
        assert [(e.text, e.label_) for e in spacy.load(places["model"])(text).ents] == expected
    assert sizes[True] < 0.2 * sizes[False]
