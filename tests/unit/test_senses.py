"""Senses of words from WordNet, as features of `longtail.RichEmbed.v1`."""

import importlib.util
import sys
import types
import zipfile

import numpy as np
import pytest
import spacy
from spacy.strings import get_string_id
from spacy.tokens import Doc

from spacy_longtail.layers.clusters import leave_out_tables, read_paths
from spacy_longtail.layers.path_table import MOST_BITS
from spacy_longtail.layers.senses import CLASS_BITS, DEPTH, FILES, IRREGULAR, read_senses
from spacy_longtail.models import RichEmbed
from tests.util import blank, examples, found, params, rich_ner, train

LICENCE = "  1 This database may be used by everyone.\n"
# number, class, name, number of what it is a kind of; a chain of eight, and what hangs on it
TREE = [
    ("00000001", 3, "entity", None),
    ("00000002", 3, "process", "00000001"),
    ("00000003", 19, "phenomenon", "00000002"),
    ("00000004", 19, "natural_phenomenon", "00000003"),
    ("00000005", 19, "physical_phenomenon", "00000004"),
    ("00000006", 19, "atmosphere", "00000005"),
    ("00000007", 19, "weather", "00000006"),
    ("00000008", 19, "storm", "00000007"),
    ("00000009", 19, "typhoon", "00000008"),
    ("00000010", 11, "match", "00000002"),
    ("00000011", 6, "lighter", "00000001"),
    ("00000012", 18, "woman", "00000001"),
    ("00000013", 18, "pretty_woman", "00000012"),
    ("00000014", 23, "in", "00000001"),
]
# word to its senses, the most frequent one first
SENSES = {
    "storm": ["00000008"],
    "typhoon": ["00000009"],
    "weather": ["00000007"],
    "match": ["00000010", "00000011"],
    "lighter": ["00000011"],
    "box": ["00000011"],
    "city": ["00000011"],
    "woman": ["00000012"],
    "axis": ["00000011"],
    "pretty_woman": ["00000013"],
    "in": ["00000014"],
    "'hood": ["00000014"],
}
SMALL = {"width": 8, "attrs": ["NORM"], "rows": [50], "sense_rows": [40, 20]}
TEXT = "Typhoon typhoons storm match women axes axis zzz"


def data_line(number, of_class, name, above):
    up = "001 @" if above else "000"
    pointer = f" {above} n 0000" if above else ""
    return f'{number} {of_class:02d} n 01 {name} 0 {up}{pointer} | what it is; "an example"  \n'


def write_wordnet(folder, data=None, index=None, irregular="axes axis\nfeet foot\n"):
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{w} n {len(s)} 1 @ {len(s)} 0 {' '.join(s)}  \n" for w, s in SENSES.items()]
    data = LICENCE + "".join(data_line(*row) for row in TREE) if data is None else data
    (folder / "data.noun").write_text(data, encoding="utf8")
    (folder / "index.noun").write_text(
        LICENCE + "".join(lines) if index is None else index, encoding="utf8"
    )
    if irregular is not None:
        (folder / IRREGULAR).write_text(irregular, encoding="utf8")
    return str(folder)


@pytest.fixture
def wordnet(tmp_path):
    read_senses.cache_clear()
    return write_wordnet(tmp_path / "dict")


def sense_of(table, word):
    """Class and hashed name of the ancestor of a word, None where it is unknown."""
    row = table.find(np.array([get_string_id(word)], dtype="uint64"))[0]
    path = int(table.paths[row])
    return None if row < 0 else (path % (1 << CLASS_BITS), path >> CLASS_BITS)


def ancestor(name):
    return get_string_id(name) % (1 << MOST_BITS - CLASS_BITS)


def test_class_and_ancestor_are_those_of_the_first_sense(wordnet):
    """By hand: six steps below the root, or the word itself where the tree is not so deep."""
    table = read_senses(wordnet)
    assert DEPTH == 6
    assert sense_of(table, "typhoon") == sense_of(table, "storm") == (19, ancestor("weather"))
    assert sense_of(table, "weather") == (19, ancestor("weather"))
    assert sense_of(table, "match") == (11, ancestor("match"))
    assert sense_of(table, "lighter") == (6, ancestor("lighter"))


def test_plurals_are_known_words_of_several_or_few_letters_are_not(wordnet):
    table = read_senses(wordnet)
    for singular, plurals in {
        "typhoon": ["typhoons"],
        "match": ["matches"],
        "box": ["boxes"],
        "city": ["cities"],
        "woman": ["women", "womans"],
        "axis": ["axes", "axises"],
    }.items():
        for plural in plurals:
            assert sense_of(table, plural) == sense_of(table, singular) is not None
    for unknown in ("in", "ins", "pretty_woman", "'hood", "feet", "citys", "boxs", "zzz"):
        assert sense_of(table, unknown) is None


def test_a_word_is_never_taken_for_a_plural_of_another(tmp_path):
    """A noun of its own keeps its own sense, though it looks like a plural, or stands among them."""
    index = "".join(
        f"{word} n 1 1 @ 1 0 {sense}  \n"
        for word, sense in {"typhoon": "00000009", "typhoons": "00000011", "axis": "00000012"}.items()
    )
    folder = write_wordnet(tmp_path / "dict", index=index, irregular="typhoons axis\nbroken\n")
    assert sense_of(read_senses(folder), "typhoons") == (6, ancestor("lighter"))


def test_only_what_a_noun_is_a_kind_or_an_instance_of_counts(tmp_path):
    """Parts and kinds of a noun stand among its pointers, too."""
    tops = data_line("00000001", 19, "wind", None) + data_line("00000003", 4, "gust", None)
    for sign in ("@", "@i"):
        kind = f"00000002 19 n 02 storm 0 tempest 0 002 ~ 00000003 n 0000 {sign} 00000001 n 0000 | it\n"
        folder = write_wordnet(tmp_path / sign, tops + kind, "storm n 1 1 @ 1 0 00000002  \n")
        row = sense_of(read_senses(folder), "storm")
        assert row == (19, ancestor("storm"))  # one step below the root: itself
    chain = "".join(
        f"{n:08d} 19 n 01 noun{n} 0 002 ~ 00000099 n 0000 @i {n + 1:08d} n 0000 | it\n"
        for n in range(1, 9)
    )
    data = chain + data_line("00000009", 19, "noun9", None) + data_line("00000099", 4, "gust", None)
    folder = write_wordnet(tmp_path / "chain", data, "storm n 1 1 @ 1 0 00000001  \n")
    assert sense_of(read_senses(folder), "storm") == (19, ancestor("noun3"))


def test_a_folder_without_irregular_plurals_and_with_a_circle(tmp_path):
    circle = data_line("00000001", 19, "storm", "00000002") + data_line(
        "00000002", 19, "wind", "00000001"
    )
    index = "storm n 1 1 @ 1 0 00000001  \n"
    table = read_senses(write_wordnet(tmp_path / "dict", circle, index, irregular=None))
    assert sense_of(table, "storm")[0] == 19 and sense_of(table, "storms") == sense_of(table, "storm")


def test_clusters_can_be_senses(wordnet):
    """A folder is taken for WordNet's, in any language."""
    assert read_paths(wordnet, "de") is read_senses(wordnet)


@pytest.mark.parametrize(
    ("data", "index", "code"),
    [
        (None, "storm n 1 1 @ 1 0 99999999  \n", "L262.*Line 1.*index.noun.*storm"),
        (None, "\nstorm n x 1 @ 1 0 00000008  \n", "L262.*Line 2.*index.noun"),
        (None, "storm\n", "L262.*index.noun"),
        (None, LICENCE, "L262.*index.noun.*nothing"),
        ("00000008 19 n zz storm\n", None, "L262.*Line 1.*data.noun"),
        ("00000008\n", None, "L262.*data.noun"),
        ("", None, "L262.*index.noun"),
    ],
)
def test_files_that_are_not_wordnets(data, index, code, tmp_path):
    with pytest.raises(ValueError, match=code):
        read_senses(write_wordnet(tmp_path / "dict", data, index))


def test_files_in_another_encoding(tmp_path):
    folder = tmp_path / "dict"
    write_wordnet(folder)
    (folder / "data.noun").write_bytes(b"00000008 19 n 01 st\xf6rm 0 000 |  \n")
    with pytest.raises(ValueError, match=r"L269.*data.noun.*utf-8"):
        read_senses(str(folder))


@pytest.mark.parametrize("name", FILES)
def test_a_folder_without_one_of_the_files(name, wordnet, tmp_path):
    (tmp_path / "dict" / name).unlink()
    with pytest.raises(ValueError, match=rf"L402.*{name}.*index.noun and data.noun"):
        read_senses(wordnet)


# nltk's


def use_nltk(monkeypatch, find):
    """A stand-in for nltk, of which `data.find` alone is used."""
    fake = types.ModuleType("nltk")
    fake.data = types.SimpleNamespace(find=find)
    monkeypatch.setitem(sys.modules, "nltk", fake)
    read_senses.cache_clear()


def test_nltk_that_is_missing(monkeypatch):
    read_senses.cache_clear()
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(ValueError, match=r"L263.*no nltk.*pip install nltk"):
        read_senses("wordnet")


def test_nltk_without_the_data(monkeypatch):
    def find(name):
        raise LookupError(name)

    use_nltk(monkeypatch, find)
    with pytest.raises(ValueError, match=r"L263.*without the data.*nltk.downloader wordnet"):
        read_senses("wordnet")


class Pointer:
    """What nltk finds: a folder, or one in an archive."""

    def __init__(self, path):
        self.path = path

    def join(self, name):
        return Pointer(self.path / name)

    def open(self, encoding):
        return self.path.open(encoding=encoding)


@pytest.mark.parametrize("place", ["corpora/wordnet", "corpora/wordnet.zip/wordnet/"])
def test_nltk_is_asked_for_the_folder_and_for_the_archive(place, wordnet, tmp_path, monkeypatch):
    def find(name):
        if name != place:
            raise LookupError(name)
        return Pointer(tmp_path / "dict")

    use_nltk(monkeypatch, find)
    table, expected = read_paths("wordnet", "en"), read_senses(wordnet)
    read_senses.cache_clear()
    assert np.array_equal(table.keys, expected.keys)
    assert np.array_equal(table.paths, expected.paths)


def test_another_language_than_english():
    with pytest.raises(ValueError, match=r"L267.*wordnet.*English.*'de'"):
        read_paths("wordnet", "de")


@pytest.mark.skipif(importlib.util.find_spec("nltk") is None, reason="needs nltk")
@pytest.mark.parametrize("zipped", [False, True])
def test_what_nltk_downloads(zipped, wordnet, tmp_path, monkeypatch):
    """Unpacked, and as the archive that its downloader leaves."""
    import nltk

    corpora = tmp_path / "data" / "corpora"
    corpora.mkdir(parents=True)
    if zipped:
        with zipfile.ZipFile(corpora / "wordnet.zip", "w") as archive:
            archive.writestr("wordnet/", "")
            for name in (*FILES, IRREGULAR):
                archive.write(tmp_path / "dict" / name, f"wordnet/{name}")
    else:
        write_wordnet(corpora / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "data")])
    table, expected = read_senses("wordnet"), read_senses(wordnet)
    read_senses.cache_clear()
    assert np.array_equal(table.keys, expected.keys)
    assert np.array_equal(table.paths, expected.paths)


# In the embedding


def test_words_of_one_sense_share_rows(wordnet):
    """Without attributes a word is its sense: typhoon and storm are equal, match is not."""
    layer = RichEmbed(width=8, attrs=[], rows=[], senses=wordnet, sense_rows=[40, 20])
    nlp = blank()
    doc = Doc(nlp.vocab, words=TEXT.split())
    layer.initialize(X=[doc])
    rows = layer.predict([doc])[0]
    of = dict(zip(TEXT.split(), rows, strict=True))
    assert np.array_equal(of["Typhoon"], of["storm"]) and np.array_equal(of["typhoons"], of["storm"])
    assert np.array_equal(of["axes"], of["axis"])
    assert not np.allclose(of["storm"], of["match"]) and not np.allclose(of["storm"], of["zzz"])


def test_the_ancestor_has_the_first_table_and_each_table_its_own_hashes(wordnet):
    attributes = {"width": 8, "attrs": ["NORM", "SHAPE"], "rows": [50, 50]}
    layer = RichEmbed(**attributes, senses=wordnet, sense_rows=[40, 20])
    (keys,) = [node for node in layer.walk() if node.name == "cluster_prefixes"]
    assert keys.attrs["masks"].tolist() == [2**32 - 1, 2**6 - 1]
    tables = [node for node in layer.walk() if node.name == "hashembed"]
    assert sorted(node.get_dim("nV") for node in tables) == [20, 40, 50, 50]
    assert {(node.get_dim("nV"), node.attrs["column"]) for node in tables} >= {(40, 0), (20, 1)}
    assert len({node.attrs["seed"] for node in tables}) == 4


def test_the_table_is_saved_with_the_pipeline(wordnet, tmp_path):
    """It is loaded, trained on and predicts where WordNet is gone."""
    nlp = rich_ner(**SMALL, senses=wordnet)
    train(nlp, 5)
    leave_out_tables(nlp.get_pipe("ner").model)  # of spacy-lookups-data alone
    nlp.to_disk(tmp_path / "model")
    for name in FILES:
        (tmp_path / "dict" / name).unlink()
    read_senses.cache_clear()
    again = spacy.load(tmp_path / "model")
    for eg in examples(nlp):
        assert found(again(eg.reference.text)) == found(nlp(eg.reference.text))
    pairs = zip(params(again.get_pipe("ner")), params(nlp.get_pipe("ner")), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_what_is_wrong_in_a_config_is_said_when_it_is_built(wordnet):
    with pytest.raises(ValueError, match=r"L001.*senses.*clusters = 'lookups'"):
        RichEmbed(senses="lookups")
    with pytest.raises(ValueError, match=r"L001.*sense_rows"):
        RichEmbed(senses=wordnet, sense_rows=[10])
    with pytest.raises(ValueError, match=r"L001.*sense_rows"):
        RichEmbed(senses=wordnet, sense_rows=[0, 10])


def test_clusters_are_not_read_as_senses_nor_senses_as_clusters(wordnet, tmp_path):
    """What is on the disk counts when it is read, not when a trained pipeline is loaded."""
    paths = tmp_path / "paths.txt"
    paths.write_text("1100\tOslo\t9\n", encoding="utf8")
    own = {name: value for name, value in SMALL.items() if name != "sense_rows"}
    for settings, other in (({"senses": str(paths)}, "clusters"), ({"clusters": wordnet}, "senses")):
        nlp = rich_ner(**own, **settings)
        ((name, source),) = settings.items()
        with pytest.raises(ValueError, match=rf"L001.*'{name}' must be .*set {other} = ") as error:
            train(nlp, 1)
        assert source in str(error.value)
    for right in ({"clusters": str(paths)}, {"senses": wordnet}):
        nlp = rich_ner(**own, **right)
        train(nlp, 1)
        nlp.to_disk(tmp_path / "model")
        spacy.load(tmp_path / "model")("Oslo")


def test_senses_that_are_not_there_are_an_error_before_training(tmp_path):
    nlp = rich_ner(**SMALL, senses=str(tmp_path / "none"))
    with pytest.raises(ValueError, match="L402"):
        train(nlp, 1)
