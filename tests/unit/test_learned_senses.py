"""Senses that weights have learnt: `distil-senses`, and the file in `longtail.RichEmbed.v1`."""

import json

import numpy as np
import pytest
import spacy
from spacy.strings import get_string_id
from spacy.tokens import Doc
from thinc.api import fix_random_seed
from typer.testing import CliRunner

from spacy_longtail.cli import app
from spacy_longtail.encoders import located
from spacy_longtail.layers import clusters, hash_net
from spacy_longtail.layers.learned_senses import LearnedSenses, read_learned
from spacy_longtail.layers.senses import CLASS_BITS, read_senses
from spacy_longtail.models import RichEmbed
from spacy_longtail.training import senses as training
from spacy_longtail.training.senses import Size, check_learnt, distil_senses, learn_senses, quantised
from tests.unit.test_senses import SMALL, ancestor, sense_of, write_wordnet
from tests.util import blank, examples, found, params, random_net, rich_ner, train

RUN = CliRunner()
SIZE = Size(n_rows=60, width=8, n_hidden=16, n_paths=2, n_others=40, epochs=400)
NOUNS = ["typhoon", "storm", "weather", "match", "lighter", "box", "city", "woman", "axis"]


@pytest.fixture(scope="module")
def lookups():
    pytest.importorskip("spacy_lookups_data")


@pytest.fixture(scope="module")
def distilled(lookups, tmp_path_factory):
    """A file, the words that were learnt, and what was said of it."""
    read_senses.cache_clear()
    folder = tmp_path_factory.mktemp("senses")
    source = write_wordnet(folder / "dict")
    learnt = distil_senses(source, folder / "en.npz", size=SIZE)
    return folder / "en.npz", training.read_words(source, SIZE), learnt


def hashes(*words):
    return np.array([get_string_id(word) for word in words], dtype="uint64")


def random_senses(seed=0, n_paths=5, least=0.0):
    """A net of random weights, which believes itself."""
    rng = np.random.default_rng(seed)
    return LearnedSenses(
        *random_net(rng, 1 + n_paths),
        paths=rng.integers(0, 2**32, n_paths).astype("uint32"),
        least=np.array([least], dtype="float32"),
    )


def test_a_net_says_what_its_numbers_say():
    """Against the same by hand, one word at a time."""
    senses = random_senses(least=0.6)
    words = [f"word{i}" for i in range(200)]
    expected = []
    for word in words:
        rows = hash_net.OPS.hash(hashes(word), hash_net.HASHES)[0] % 50
        vector = sum(senses.table[row].astype("float64") for row in rows) * 0.01
        state = np.maximum(senses.hidden.astype("float64") @ vector + senses.hidden_bias, 0)
        scores = np.exp(senses.output.astype("float64") @ state + senses.output_bias)
        p = scores / scores.sum()
        expected.append(int(p.argmax()) - 1 if p.max() >= 0.6 else -1)
    rows = senses.find(hashes(*words))
    assert rows.tolist() == expected
    assert len(set(expected)) > 3 and -1 in expected
    assert len(senses.find(hashes())) == 0


def test_what_is_trained_is_what_is_written(distilled):
    """The net before it is quantised says the same with the same confidence, nearly."""
    _, words, _ = distilled
    net = learn_senses(words, SIZE, 0)
    small = quantised(net, words.paths)
    p = net.predict(words.hashes)
    sure = np.abs(p.max(axis=1) - training.LEAST) > 0.02
    expected = np.where(p.max(axis=1) >= training.LEAST, p.argmax(axis=1), 0) - 1
    assert sure.sum() > 40
    assert np.array_equal(small.find(words.hashes)[sure], expected[sure])
    assert small.table.dtype == np.int8 and np.abs(small.table).max() == 127


def test_nouns_have_their_senses_and_frequent_words_none(distilled):
    """Two paths have an output of their own, of the others that of their class."""
    path, words, learnt = distilled
    senses = read_learned(path)
    assert sense_of(senses, "typhoon") == sense_of(senses, "storm") == (19, ancestor("weather"))
    assert sense_of(senses, "box") == sense_of(senses, "boxes") == (6, ancestor("lighter"))
    assert sense_of(senses, "woman") == (18, 0) and sense_of(senses, "match") == (11, 0)
    for word in ("the", "and", "in", ".", "The"):
        assert sense_of(senses, word) is None
    assert learnt.n_nouns == (words.labels > 0).sum() and learnt.n_others == SIZE.n_others
    assert learnt == check_learnt(senses, words)
    assert learnt.right == 1 and learnt.others == 1 and 0 < learnt.held_out < 1


def test_only_nouns_that_brown_clusters_know_are_learnt(distilled):
    """And that others are the most frequent words."""
    path, words, _ = distilled
    rare = "storm n 1 1 @ 1 0 00000008  \nqzxqzx n 1 1 @ 1 0 00000008  \n"
    folder = write_wordnet(path.parent / "rare", index=rare)
    assert training.read_words(folder, SIZE).hashes[:2].tolist() == sorted(
        hashes("storm", "storms").tolist()
    )
    assert set(hashes("the", "and", "of").tolist()) <= set(words.hashes[words.labels == 0].tolist())
    known = clusters.read_clusters("lookups", "en")
    asked = [*NOUNS, *(f"{noun}s" for noun in NOUNS), "boxes", "citys"]
    nouns = set(words.hashes[words.labels > 0].tolist())
    for word in asked:
        is_noun = word not in ("boxs", "matchs", "citys")
        expected = is_noun and known.find(hashes(word))[0] >= 0
        assert (int(hashes(word)[0]) in nouns) is bool(expected), word
    assert not nouns & set(words.held_out.tolist())
    assert len(words.held_out) == training.HELD_OUT


def test_shares_are_of_what_they_say():
    """A net that never says anything is right of no noun and of every other word."""
    silent = random_senses(least=2.0)
    words = training.Words(
        hashes("storm", "box", "the", "and"),
        np.array([1, 2, 0, 0]),
        np.array([1, 2], dtype="uint32"),
        hashes("zzz", "yyy"),
    )
    assert check_learnt(silent, words) == (2, 2, 0.0, 1.0, 1.0)
    talking = silent._replace(output_bias=np.array([0, 99, 0, 0, 0, 0], "float16"), least=np.zeros(1))
    assert check_learnt(talking, words) == (2, 2, 0.5, 0.0, 0.0)


def test_a_word_is_asked_for_in_lower_case(tmp_path):
    """The net never saw another case: what it says there is chance."""
    path = tmp_path / "random.npz"
    np.savez(path, **random_senses()._asdict())
    layer = RichEmbed(width=8, attrs=[], rows=[], senses=str(path), sense_rows=[40, 20])
    nlp = blank()
    lower, title = (
        Doc(nlp.vocab, words=[case(f"word{i}") for i in range(50)]) for case in (str, str.title)
    )
    layer.initialize(X=[lower])
    rows = layer.predict([lower])[0]
    assert np.array_equal(rows, layer.predict([title])[0])
    assert len(np.unique(rows.round(5), axis=0)) > 3


def test_the_weights_are_saved_with_the_pipeline(distilled, tmp_path):
    """It is loaded, trained on and predicts where the file is gone."""
    file = tmp_path / "en.npz"
    file.write_bytes(distilled[0].read_bytes())
    nlp = rich_ner(**SMALL, senses=str(file))
    train(nlp, 5)
    clusters.leave_out_tables(nlp.get_pipe("ner").model)  # of spacy-lookups-data alone
    nlp.to_disk(tmp_path / "model")
    file.unlink()
    again = spacy.load(tmp_path / "model")
    for eg in examples(nlp):
        assert found(again(eg.reference.text)) == found(nlp(eg.reference.text))
    pairs = zip(params(again.get_pipe("ner")), params(nlp.get_pipe("ner")), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    (layer,) = [n for n in again.get_pipe("ner").model.walk() if n.name == "cluster_prefixes"]
    kept = layer.attrs["clusters"]
    assert isinstance(kept, LearnedSenses)
    for a, b in zip(kept, read_learned(distilled[0]), strict=True):
        assert a.dtype == b.dtype and np.array_equal(a, b)


def test_one_seed_gives_one_file(distilled, tmp_path):
    path, *_ = distilled
    source = str(path.parent / "dict")
    fix_random_seed(7)
    assert distil_senses(source, tmp_path / "a.npz", size=SIZE) == distilled[2]
    assert (tmp_path / "a.npz").read_bytes() == path.read_bytes()
    distil_senses(source, tmp_path / "b.npz", seed=1, size=SIZE)
    assert (tmp_path / "b.npz").read_bytes() != path.read_bytes()


# Bad input


@pytest.mark.parametrize("damage", ["text", "empty", "cut", "array", "other arrays", "pickle", "folder"])
def test_what_is_no_file_of_senses(damage, distilled, tmp_path):
    path = tmp_path / "en.npz"
    whole = distilled[0].read_bytes()
    contents = {"text": b"storm 1", "empty": b"", "cut": whole[: len(whole) // 2]}
    if damage in contents:
        path.write_bytes(contents[damage])
    elif damage == "folder":
        path.mkdir()
    elif damage == "array":
        with path.open("wb") as file:
            np.save(file, np.ones(2))
    else:
        kept = {"a": np.ones(2)} if damage == "other arrays" else {"table": np.array([{}])}
        np.savez(path, **kept)
    with pytest.raises(ValueError, match=r"L402" if damage == "folder" else r"L266.*distil-senses"):
        read_learned(path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"table": np.zeros((0, 8), "int8")},
        {"table": np.zeros((50, 7), "int8")},
        {"table": np.zeros(50, "int8")},
        {"output": np.zeros((5, 16), "float16")},
        {"output_bias": np.zeros(5, "float16")},
        {"hidden_bias": np.zeros(15, "float16")},
        {"paths": np.zeros(0, "uint32")},
        {"paths": np.zeros(5, "float32")},
        {"scale": np.array(["x"])},
        {"least": np.zeros(2, "float32")},
        {"least": np.full(1, np.nan, "float32")},
        {"output_bias": np.full(6, np.inf, "float16")},
        {"paths": np.array(3, "uint32")},
        {"table": np.array(3, "int8")},
        {"hidden": np.zeros((16, 0), "float16"), "table": np.zeros((50, 0), "int8")},
    ],
)
def test_arrays_that_do_not_fit(wrong, tmp_path):
    path = tmp_path / "en.npz"
    np.savez(path, **{**random_senses()._asdict(), **wrong})
    with pytest.raises(ValueError, match=rf"L266.*{next(iter(wrong))}"):
        read_learned(path)


def test_another_language_and_no_file(distilled, tmp_path):
    with pytest.raises(ValueError, match=r"L267.*en.npz.*English.*'de'"):
        clusters.read_paths(str(distilled[0]), "de")
    with pytest.raises(ValueError, match=r"L402.*none.npz.*distil-senses"):
        train(rich_ner(**SMALL, senses=str(tmp_path / "none.npz")), 1)


def test_files_that_are_not_replaced(distilled, tmp_path):
    source = str(distilled[0].parent / "dict")
    other = tmp_path / "mine.npz"
    np.savez(other, a=np.ones(2))
    with pytest.raises(ValueError, match="L437"):
        distil_senses(source, other, size=SIZE)
    with pytest.raises(ValueError, match=r"L001.*output.*npz"):
        distil_senses(source, tmp_path / "en.senses", size=SIZE)
    with pytest.raises(ValueError, match="L402"):
        distil_senses(str(tmp_path / "none"), tmp_path / "en.npz", size=SIZE)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def test_the_command(distilled, tmp_path, monkeypatch):
    monkeypatch.setattr(training.distil_senses, "__defaults__", (0, SIZE))
    source, output = str(distilled[0].parent / "dict"), str(tmp_path / "en.npz")
    shown = RUN.invoke(app, ["distil-senses", source, "-o", output])
    said = " ".join(shown.output.split())
    assert shown.exit_code == 0, shown.output
    assert f"Right of {distilled[2].n_nouns} nouns 100.0%" in said and "40 other words 100.0%" in said
    shown = RUN.invoke(app, ["distil-senses", source, "-o", output, "--json"])
    record = json.loads(shown.stdout)
    assert record == {"senses": output, **distilled[2]._asdict()}
    failed = RUN.invoke(app, ["distil-senses", str(tmp_path / "no"), "-o", output])
    assert failed.exit_code == 2 and "L402" in failed.output and "Traceback" not in failed.output


def test_a_wordnet_without_a_known_noun(tmp_path, lookups):
    folder = write_wordnet(tmp_path / "dict", index="qzxqzx n 1 1 @ 1 0 00000008  \n", irregular="")
    with pytest.raises(ValueError, match=r"L268.*2 nouns of .*dict"):
        distil_senses(folder, tmp_path / "en.npz", size=SIZE)
    assert not (tmp_path / "en.npz").exists()


@pytest.mark.parametrize("name", ["wordnet", "a/en.npz"])
def test_senses_are_no_clusters(name):
    with pytest.raises(ValueError, match=rf"L001.*clusters.*senses = '{name}'"):
        RichEmbed(clusters=name)


def test_many_words_are_found_as_few_are(monkeypatch):
    senses = random_senses(least=0.6)
    words = hashes(*(f"word{i % 70}" for i in range(200)))
    at_once = senses.find(words)
    monkeypatch.setattr(hash_net, "BATCH", 7)
    assert np.array_equal(senses.find(words), at_once)
    assert np.array_equal(at_once, np.concatenate([senses.find(words[i : i + 1]) for i in range(200)]))


def test_the_file_of_the_project():
    """It knows a storm from a regatta, and says nothing of most words that are none."""
    senses = read_learned("en_longtail_cnn/senses.npz")
    n_weights = sum(part.size for part in senses[:6]) - 1  # without the scale
    card = located("en_longtail_cnn/README.md").read_text(encoding="utf8")
    assert f"a net of {n_weights:,} weights" in card
    assert sense_of(senses, "storm") == sense_of(senses, "typhoon") != sense_of(senses, "regatta")
    assert sense_of(senses, "regattas") == sense_of(senses, "regatta")
    assert [sense_of(senses, word)[0] for word in ("regatta", "uprising", "storm")] == [11, 4, 19]
    made_up = hashes(*(f"xq{i}zz" for i in range(1000)))
    assert (senses.find(made_up) < 0).mean() > 0.8
    assert {int(path) % (1 << CLASS_BITS) for path in senses.paths} == set(range(3, 29))
