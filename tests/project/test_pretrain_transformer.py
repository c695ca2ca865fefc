"""`pretrain` of a transformer: a tiny encoder is pretrained, killed, resumed, written and used."""

import json
import pickle
import random
import re
import shutil

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin, Span
from spacy.training import Example

from spacy_longtail.types import ANNOTATED_TYPES
from tests.project.pretraining import FAST, check_scores, resumed, run_pretrain
from tests.util import refused, reloaded, run_app, same_weights, tiny_bert, write_files

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
pytest.importorskip("transformers", reason="needs the extra 'transformers'")


from spacy_longtail.describers import LabelEncoder  # noqa: E402
from spacy_longtail.layers.subword_tokenizer import SubwordTokenizer  # noqa: E402
from spacy_longtail.models.transformer import encoder_of  # noqa: E402
from spacy_longtail.pipes.token.pretrained_head import read_pretrained  # noqa: E402
from spacy_longtail.pretraining.batches import IGNORED, Batches, pack_donor, sample_batch  # noqa: E402
from spacy_longtail.pretraining.donors import read_donors  # noqa: E402
from spacy_longtail.pretraining.learners import with_beginnings  # noqa: E402
from spacy_longtail.pretraining.transformer import keep_layers  # noqa: E402

TEXT = """domain: harbour notes

The [Fram|ship; vehicle] left [Oslo|town; place] at [night|time of day; time].
[Jon|sailor; person] saw the [Fram|ship; vehicle] in [Rome|city; place].
Nobody sent help there.
"""


@pytest.fixture
def notes(tmp_path):
    return write_files(tmp_path / "notes", {"a.txt": TEXT})


@pytest.fixture
def bert(tmp_path):
    return tiny_bert(tmp_path / "bert", width=64, depth=2, spells=True)


def packed(folder, bert):
    from transformers import AutoTokenizer

    texts = {}
    [corpus] = read_donors([folder], [], ["train"], spacy.blank("en").vocab)
    tokenizer = AutoTokenizer.from_pretrained(bert).backend_tokenizer
    return pack_donor(corpus, SubwordTokenizer(tokenizer), texts), list(texts)


def test_what_is_near_to_a_type_of_the_sentence_is_left_out(notes, bert):
    donor, names = packed(notes, bert)
    assert donor.is_open and len(names) == 9
    for sentence, n in zip(donor.train, (7, 7, 5), strict=True):  # fine and coarse types
        assert [len(tags) for tags in sentence.tags] == [n, n]
    similar = np.eye(len(names), dtype=bool)
    a, b = names.index("town"), names.index("city")
    similar[a, b] = similar[b, a] = True
    for seed in range(40):
        batch = sample_batch(donor, donor.train, random.Random(seed), similar)
        own = [names[i] for i in batch.label_ids.tolist()]
        assert batch.is_masked.shape == (19, len(own)) and batch.gold.max() <= 2 * len(own)
        picked = batch.gold[batch.gold > 0]
        assert not batch.is_masked[batch.gold > 0, (picked - 1) // 2].any()
        if "town" in own:  # the fine types
            assert (
                len(own) == 5 and batch.is_masked.sum() == 14
            )  # 7 words of Oslo's sentence, 7 of Rome's
        else:
            assert set(own) == {"vehicle", "place", "time", "person"} and not batch.is_masked.any()
    # without mentions: a type that is not there
    batch = sample_batch(donor, donor.train[2:], random.Random(0), similar)
    assert len(batch.label_ids) == 1 and not batch.gold.any() and not batch.is_masked.any()


def test_a_type_is_described_in_any_of_its_languages_at_random(donors, bert, tmp_path):
    folder = tmp_path / "ships"
    shutil.copytree(donors[1], folder)
    types = json.loads((folder / "types.json").read_text(encoding="utf8"))
    types["other_descriptions"] = {"SHIP": ["Schiff", "navire"]}
    (folder / "types.json").write_text(json.dumps(types), encoding="utf8")
    donor, names = packed(folder, bert)
    similar = np.eye(len(names), dtype=bool)

    batches = [sample_batch(donor, donor.train, random.Random(i), similar, 0.0) for i in range(30)]

    used = {names[i] for batch in batches for i in batch.label_ids.tolist()}
    assert used == {"ship", "Schiff", "navire", "port"}


def test_types_that_are_left_out_are_not_o_where_a_near_one_competes(notes, bert):
    donor, names = packed(notes, bert)
    donor.is_open = False
    similar, n_masked = np.ones((len(names),) * 2, dtype=bool), []
    for rows in (similar, ~similar):
        batches = [sample_batch(donor, donor.train, random.Random(i), rows, 1.0) for i in range(20)]
        n_masked.append(max(int((batch.gold == IGNORED).sum()) for batch in batches))
    assert n_masked[0] > 0 and n_masked[1] == 0


def test_what_is_not_annotated_is_never_o(donors, bert, tmp_path):
    docs = list(DocBin().from_disk(donors[0] / "train.spacy").get_docs(spacy.blank("en").vocab))
    docs[0].user_data[ANNOTATED_TYPES] = [docs[0].ents[0].label_]
    docs[1].set_ents([], missing=[docs[1][0:2]], default="unmodified")
    folder = tmp_path / "partial"
    shutil.copytree(donors[0], folder)
    DocBin(docs=docs, store_user_data=True).to_disk(folder / "train.spacy")
    donor, _ = packed(folder, bert)
    batch = sample_batch(donor, donor.train[:2], random.Random(0), np.eye(100, dtype=bool), 0.0)
    n = len(docs[0])
    assert batch.is_masked[:n].sum() == n * (len(donor.label_ids) - 1) and not batch.is_masked[n:].any()
    assert (batch.gold[n:] == IGNORED).sum() == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_depends_on_the_seed_and_its_number_alone(workers, notes, bert):
    def drawn(start, n, seed=0, workers=0):
        donor, names = packed(notes, bert)
        donor.weight = 1.0
        found = Batches([donor], np.eye(len(names), dtype=bool), 30, seed, start)
        stream = iter(torch.utils.data.DataLoader(found, batch_size=None, num_workers=workers))
        return [[part.tolist() for part in next(stream)] for _ in range(n)]

    whole = drawn(0, 9)
    assert whole[4:] == drawn(4, 5, workers=workers) and whole != drawn(0, 9, seed=1)


@pytest.mark.parametrize(("layers", "kept"), [(3, [1, 3, 5]), (4, [1, 2, 3, 5]), (6, [*range(6)])])
def test_layers_are_kept_from_all_heights(layers, kept, tmp_path):
    from transformers import AutoModel

    encoder = AutoModel.from_pretrained(tiny_bert(tmp_path / "deep", depth=6))
    before = list(encoder.encoder.layer)
    keep_layers(encoder, "deep", layers)
    assert [before.index(layer) for layer in encoder.encoder.layer] == kept


def test_an_entity_that_begins_inside_begins():
    assert with_beginnings(np.array([2, 2, 0, 1, 2, 4, 2, 1])).tolist() == [1, 2, 0, 1, 2, 3, 1, 1]


def go(folders, output, encoder, **options):
    settings = {**FAST, **options.pop("settings", {})}
    own = {"steps": 6, "batch_size": 60, "evaluations": 2, **options}
    return run_pretrain(folders, output, encoder, settings=settings, **own)


def weights(nlp):
    layer = nlp.get_pipe("ner").model.get_ref("output_layer")
    encoder = encoder_of(nlp.get_pipe("tok2vec").model).encoder
    own = [value.numpy() for _, value in sorted(encoder.state_dict().items())]
    return [*own, layer.get_param("P"), layer.get_param("Q")]


def same(one, other):
    return same_weights(weights(one), weights(other))


def test_a_transformer_that_was_killed_comes_to_the_same_weights(
    notes, donors, bert, tmp_path, monkeypatch
):
    folders = [*donors, notes]
    given = {"steps": 6, "batch_size": 60, "evaluations": 2, "settings": FAST}
    place = (monkeypatch, tmp_path, folders, bert)
    straight, again = resumed(*place, 5, (3,), **given)
    assert same(straight.nlp, again.nlp) and [step for step, _ in again.scores] == [3, 6]
    assert [(s["name"], s["sentences"]) for s in again.scores[-1][1]] == [("toy", 3), ("ships", 2)]
    assert not same(straight.nlp, go(folders, tmp_path / "seed", bert, seed=1).nlp)


def test_donors_are_scored_as_the_pipeline_finds_their_types(donors, bert, tmp_path):
    first = go(donors, tmp_path / "first", bert, steps=80, batch_size=100)
    scores = first.scores[-1][1]
    assert max(score["micro"] for score in scores) > 0.3
    nlp = spacy.load(first.model)
    assert nlp.meta["sources"] == [{"name": "toy"}, {"name": "ships"}]
    read = read_donors(donors, [], ["train"], spacy.blank("en").vocab)
    check_scores(nlp, read, scores)
    slow = {"settings": dict.fromkeys(FAST, 1e-09), "steps": 1}
    more = go(donors, tmp_path / "more", first.model, **slow)  # it goes on
    after = [s["micro"] for s in more.scores[-1][1]]
    assert after == pytest.approx([s["micro"] for s in scores], abs=0.2)
    texts = ["ship", "harbour town"]
    one, other = (LabelEncoder(str(own.model))(texts) for own in (first, more))
    assert np.array_equal(one, other)  # what is in few bits is not shortened again


def test_a_pretrained_pipeline_that_is_trained_further_saves_what_it_learnt(donors, bert, tmp_path):
    nlp = go(donors, tmp_path / "out", bert, steps=1).nlp
    shipped = (tmp_path / "out" / "model" / "tok2vec" / "model").read_bytes()
    doc = nlp.make_doc("Maria sailed to Oslo")
    doc.set_ents([Span(doc, 0, 1, "person"), Span(doc, 3, 4, "location")], default="outside")
    nlp.update([Example(nlp.make_doc(doc.text), doc)], sgd=nlp.resume_training())

    assert same(reloaded(nlp, tmp_path / "more"), nlp)
    assert (tmp_path / "more" / "tok2vec" / "model").read_bytes() != shipped


def test_the_pipeline_that_pretraining_returns_can_be_pickled(donors, bert, tmp_path):
    done = go(donors, tmp_path / "out", bert, steps=1)
    copy = pickle.loads(pickle.dumps(done.nlp))
    assert same(copy, spacy.load(done.model))
    copy.get_pipe("ner").set_labels({"SHIP": "ship"})


def test_a_pretrained_pipeline_finds_what_it_was_shown(notes, bert, tmp_path):
    out, small, moved = tmp_path / "out", tmp_path / "small", tmp_path / "moved"
    rates = [f"--set={name}={value}" for name, value in FAST.items()]
    own = ["pretrain", notes, "--batch-size", 400, "--evaluations", 1, *rates]
    run_app(*own, "--encoder", bert, "--steps", 60, "-o", out)
    record = json.loads((out / "pretrain.json").read_text(encoding="utf8"))
    assert [(d["name"], d["sentences"], d["open"], len(d["types"])) for d in record["donors"]] == [
        ("notes", 3, True, 9)
    ]
    (out / "model").rename(moved)  # it finds its label encoder wherever it lies
    assert read_pretrained(moved, "ner").pipe.describe(["ship"]).any()
    nlp = spacy.load(moved)
    ner = nlp.get_pipe("ner")
    assert "person" in ner.labels
    ner.set_labels({"BOAT": "ship", "TOWN": "town"})
    # a random BERT reads all labels alike: which type it is cannot be learnt, what is a mention can
    shown, nothing = nlp.pipe(["The Fram left Oslo at night .", "Nobody sent help there ."])
    assert [ent.text for ent in shown.ents] == ["Fram", "Oslo", "night"] and not nothing.ents
    run_app(*own, "--encoder", moved, "--teacher", moved, "--layers", 1, "--steps", 2, "-o", small)
    nlp = spacy.load(small / "model")
    assert encoder_of(nlp.get_pipe("tok2vec").model).encoder.config.num_hidden_layers == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--layers", 3], "L495.*cut to 3 layers"),
        (["--teacher", "OTHER"], "L495.*the teacher"),
        (["--teacher", "en_longtail_cnn"], "L495.*the teacher"),
        (["--share", 0.5], "L213.*share = 0.5"),
        (["--set", "components.ner.head=crf"], "L001.*components.ner.head"),
        (["--set", "training.dropout=high"], "L001.*training.dropout"),
        (["--gpu-id", 99], "L515"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options, problem, notes, bert, tmp_path):
    if "OTHER" in options:
        encoder = tiny_bert(tmp_path / "words", others=["ahoy"], spells=True)
        options = ["--teacher", go([notes], tmp_path / "other", encoder, steps=1).model]
    given = ["pretrain", notes, "--encoder", bert, "-o", tmp_path / "out", "--steps", 1, *options]
    done = refused(given, "", tmp_path / "out")
    assert re.search(problem, " ".join(done.output.split())), done.output
