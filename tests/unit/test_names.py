"""Lists of names: reading them, counting them in a corpus, and the encoder that sees them."""

import json
import pickle
import re
import shutil

import numpy as np
import pytest
import spacy
import srsly
from spacy.ml.models import build_hash_embed_cnn_tok2vec
from spacy.tokens import Doc, Span

from spacy_longtail.augment import MentionReplacement
from spacy_longtail.corpus.names import count_names, read_names, words_by, write_names
from spacy_longtail.corpus.parts import checksum
from spacy_longtail.models import ListedNames
from spacy_longtail.readers import create_names_corpus
from spacy_longtail.training.filling import load_with_corpus_values
from spacy_longtail.training.provenance import read_run
from tests.util import examples, new_file, refused, run_app, toy_corpus, write_files

NAMES = {"EVE": [["Sandy"], ["Storm", "Ida"]], "GEO": [["Oslo"]]}


def write(path, *entries):
    path.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf8")
    return path


def listed(path, names=NAMES):
    write_names(path, names)
    return str(path)


def encoder(names, docs=(), W=None, **settings):
    """An encoder that sees lists of names, with the vectors W of the lists.

    docs: Documents to initialize it with; without them it stays uninitialized.
    """
    inner = build_hash_embed_cnn_tok2vec(
        width=8, depth=1, embed_size=50, window_size=1, maxout_pieces=2, subword_features=True,
        pretrained_vectors=None,
    )  # fmt: skip
    model = ListedNames(inner, names=names, **settings)
    if docs:
        model.initialize(X=list(docs))
    if W is not None:
        model.set_param("W", np.asarray(W, dtype="float32"))
    return model


def added_rows(model, doc):
    """What the lists add to the rows of the encoder inside."""
    return model.predict([doc])[0] - model.layers[0].predict([doc])[0]


VOCAB = spacy.blank("en").vocab


def doc_of(*words: str) -> Doc:
    return Doc(VOCAB, words=list(words))


def test_a_folder_has_a_file_with_names_for_each_type_in_any_case(tmp_path):
    write(tmp_path / "HERB.txt", "lemon balm", "", "  rue ", "Lemon Balm")
    write(tmp_path / "BIRD.txt", "robin")
    assert read_names(tmp_path, str.split) == {"BIRD": [["robin"]], "HERB": [["lemon", "balm"], ["rue"]]}


def test_patterns_of_an_entity_ruler_are_read(tmp_path):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "HERB", "pattern": "lemon-balm tea"},
            {"label": "HERB", "pattern": [{"LOWER": "rue"}], "id": "rue"},
        ]
    )
    srsly.write_jsonl(tmp_path / "names.jsonl", ruler.patterns)
    read = read_names(tmp_path / "names.jsonl", words_by(nlp))
    assert sorted(read["HERB"]) == [["lemon", "-", "balm", "tea"], ["lemon-balm", "tea"], ["rue"]]


def test_written_names_are_read_again_and_fit_an_entity_ruler(tmp_path):
    path = tmp_path / "names.jsonl"
    write_names(path, NAMES)
    assert read_names(path, str.split) == NAMES
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").from_disk(path)
    assert [(ent.text, ent.label_) for ent in nlp("Storm Ida hit").ents] == [("Storm Ida", "EVE")]


def test_written_names_may_have_a_token_with_a_space(tmp_path):
    (tmp_path / "LOC.txt").write_text("EE. UU.", encoding="utf8")
    names = read_names(tmp_path, words_by(spacy.blank("es")))
    assert names == {"LOC": [["EE. UU."], ["EE.", "UU."]]}
    write_names(tmp_path / "names.jsonl", names)
    assert read_names(tmp_path / "names.jsonl", str.split) == names


def test_single_letters_are_skipped_with_a_warning(tmp_path):
    write(tmp_path / "HERB.txt", "rue", "x", "y")
    with pytest.warns(UserWarning, match=r"LW209.*skipped \(2\).*HERB, HERB\.txt, line 2"):
        assert read_names(tmp_path, str.split) == {"HERB": [["rue"]]}


def test_names_without_letter_or_digit_are_skipped_with_a_warning(tmp_path):
    write(tmp_path / "HERB.txt", "---", "rue", "C++")
    with pytest.warns(UserWarning, match=r"LW209.*skipped \(1\).*HERB, HERB\.txt, line 1"):
        assert read_names(tmp_path, str.split) == {"HERB": [["rue"], ["C++"]]}


def test_a_place_counts_blank_lines(tmp_path):
    write(tmp_path / "HERB.txt", "", "", "rue", "", "a")
    with pytest.warns(UserWarning, match=r"HERB\.txt, line 5"):
        read_names(tmp_path, str.split)


def test_a_suffix_may_be_in_capitals(tmp_path):
    write(tmp_path / "HERB.TXT", "rue")
    assert read_names(tmp_path, str.split) == {"HERB": [["rue"]]}


def test_files_are_read_in_the_encoding_that_is_given(tmp_path):
    (tmp_path / "HERB.txt").write_bytes("Kräuter".encode("cp1252"))
    assert read_names(tmp_path, str.split, "cp1252") == {"HERB": [["Kräuter"]]}


@pytest.mark.parametrize("coding", ["utf8", "utf-8-sig"])
def test_a_list_may_be_utf8_whatever_the_encoding_of_the_corpus(coding, tmp_path):
    (tmp_path / "GEO.txt").write_bytes("Ålesund\nTromsø".encode(coding))
    assert read_names(tmp_path, str.split, "cp1252") == {"GEO": [["Ålesund"], ["Tromsø"]]}


def test_an_encoding_whose_bytes_are_ascii_is_used(tmp_path):
    (tmp_path / "GEO.txt").write_bytes("東京".encode("iso2022_jp"))
    assert read_names(tmp_path, str.split, "iso2022_jp") == {"GEO": [["東京"]]}


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path):
    (tmp_path / "HERB.txt").write_bytes("rue\nKräuter\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"L401.*HERB\.txt:2.*Save the list as UTF-8"):
        read_names(tmp_path, str.split)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("names.jsonl", '{"label": "HERB"}', "line 1: it is no JSON object"),
        ("names.jsonl", "HERB\true", "line 1: it is no JSON object"),
        (
            "names.jsonl",
            '{"label": "HERB", "pattern": [{"LOWER": "rue", "OP": "+"}]}',
            "neither a text nor a list of words",
        ),
        (
            "names.jsonl",
            '{"label": "HERB", "pattern": [{"LEMMA": "rue"}]}',
            "neither a text nor a list of words",
        ),
        ("names.jsonl", '{"label": "HERB", "pattern": 3}', "neither a text nor a list of words"),
        (
            "names.jsonl",
            '{"label": "HERB", "pattern": "x"}',
            "it has only names of one character",
        ),
        ("names.jsonl", '\n\n{"label": "HERB", "pattern": ""}', "line 3: its pattern is empty"),
        (
            "names.jsonl",
            '{"label": "HERB", "pattern": [{"TEXT": ""}]}',
            "a word of its pattern is empty",
        ),
        ("names.jsonl", '{"label": "HERB", "pattern": "rue \\ud83d"}', "half of a surrogate pair"),
        (
            "names.jsonl",
            '{"label": "HERB", "pattern": [{"TEXT": "x\\ud83d"}]}',
            "half of a surrogate pair",
        ),
        ("lists/HERB.txt", "rue\t12", "line 1: it contains a tab"),
        ("lists/HERB.txt", "rue " * 300, "it has 1,199 characters"),
        ("names.jsonl", '{"label": " ", "pattern": "rue"}', "line 1"),
        ("lists/PRICE$.txt", "rue", ""),  # no type can have this name
    ],
)
def test_a_wrong_list_is_refused_with_its_file_and_line(tmp_path, name, text, problem):
    path = new_file(tmp_path / name, text)
    with pytest.raises(ValueError, match=rf"L803.*{re.escape(path.name)}.*{problem}"):
        read_names(path if path.suffix == ".jsonl" else path.parent, str.split)


def test_names_are_found_in_the_tokens_of_a_corpus_in_columns(tmp_path):
    write(tmp_path / "PROD.txt", "UnfallSchutz 55+")
    names = read_names(tmp_path, words_by(spacy.blank("de")))
    by_tokenizer, in_columns = doc_of("UnfallSchutz", "55", "+"), doc_of("UnfallSchutz", "55+")
    for doc in (by_tokenizer, in_columns):
        doc.ents = []
        assert count_names(names, [doc])["PROD"].unannotated == 1


def test_a_name_that_is_split_in_two_ways_counts_once(tmp_path):
    write(tmp_path / "PROD.txt", "UnfallSchutz 55+")
    write(tmp_path / "CODE.txt", "UnfallSchutz 55+", "Haus-Schutz")
    counts = count_names(read_names(tmp_path, words_by(spacy.blank("de"))), [doc_of("Haus")])
    assert (counts["PROD"].names, counts["PROD"].shared) == (1, 1)
    assert (counts["CODE"].names, counts["CODE"].shared) == (2, 1)


def test_occurrences_are_counted_by_their_annotation():
    doc = doc_of("Sandy", "hit", "Oslo", "and", "oslo", "after", "Storm", "Ida")
    doc.ents = [Span(doc, 0, 1, "EVE"), Span(doc, 2, 3, "ORG"), Span(doc, 7, 8, "EVE")]
    assert count_names({**NAMES, "PER": [["sandy"]]}, [doc]) == {
        "EVE": (2, 1, 1, 1, 0),  # Storm Ida has other boundaries
        "GEO": (1, 0, 0, 1, 1),  # Oslo is an ORG, oslo nothing
        "PER": (1, 1, 0, 1, 0),
    }


def test_occurrences_without_annotation_are_not_counted():
    doc = doc_of("Oslo", "and", "Sandy", "hit", "Storm", "Ida")
    doc.set_ents([], missing=[doc[0:1]], default="outside")
    doc.user_data["annotated_types"] = ["GEO", "PER"]
    assert count_names({**NAMES, "PER": [["Sandy"]]}, [doc]) == {
        "EVE": (2, 1, 0, 0, 0), "GEO": (1, 0, 0, 0, 0), "PER": (1, 1, 0, 0, 1)
    }  # fmt: skip


def test_untrained_lists_leave_the_encoder_as_it_is(tmp_path):
    docs = [doc_of("Sandy", "hit", "Oslo"), doc_of()]
    model = encoder(listed(tmp_path / "names.jsonl"), docs)
    for doc in docs:
        assert not added_rows(model, doc).any()


def test_each_list_has_a_vector_for_first_and_for_other_words(tmp_path):
    doc = doc_of("storm", "IDA", "reached", "Oslo")
    model = encoder(listed(tmp_path / "names.jsonl"), [doc], np.arange(32).reshape(4, 8))
    expected = 16 * np.stack([np.arange(0, 8), np.arange(8, 16), np.zeros(8), np.arange(16, 24)])
    assert np.allclose(added_rows(model, doc), expected, atol=1e-4)


def test_the_gradient_of_a_lists_vector_is_the_sum_over_its_matches(tmp_path):
    doc = doc_of("Oslo", "and", "Oslo")
    model = encoder(listed(tmp_path / "names.jsonl"), [doc], dropout=0.0)
    _, backprop = model.begin_update([doc])
    backprop([np.asarray([[1] * 8, [2] * 8, [4] * 8], dtype="float32")])
    assert np.allclose(model.get_grad("W")[2], 16 * (1 + 4))
    assert not model.get_grad("W")[[0, 1, 3]].any()


def test_matches_are_dropped_at_random_in_training_alone(tmp_path):
    docs = [doc_of("Oslo") for _ in range(200)]
    model = encoder(listed(tmp_path / "names.jsonl"), docs, np.ones((4, 8)), dropout=0.5)
    plain = model.layers[0].predict(docs)

    def share_with_match(rows):
        return np.mean([not np.allclose(row, other) for row, other in zip(rows, plain, strict=True)])

    assert share_with_match(model.predict(docs)) == 1.0
    assert 0.35 < share_with_match(model.begin_update(docs)[0]) < 0.65


def test_lists_are_saved_with_the_model_and_need_no_file(tmp_path):
    doc, path = doc_of("Sandy", "hit", "Oslo"), tmp_path / "names.jsonl"
    model = encoder(listed(path), [doc], np.ones((4, 8)))
    path.unlink()
    for other in (encoder(str(path)).from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict([doc])[0], model.predict([doc])[0])


def test_another_vocabulary_is_matched_as_well(tmp_path):
    model = encoder(listed(tmp_path / "names.jsonl"), [doc_of("Oslo")], np.ones((4, 8)))
    model.predict([doc_of("Oslo")])
    other = Doc(spacy.blank("de").vocab, words=["nach", "Oslo"])
    assert np.allclose(added_rows(model, other), [[0] * 8, [16] * 8], atol=1e-4)


def test_lists_that_are_first_used_in_a_memory_zone_outlive_it(tmp_path):
    nlp = spacy.blank("en")
    names = listed(tmp_path / "names.jsonl", {"NEWTYPE": [["zzyx", "qqr"]]})
    model = encoder(names, [nlp("anything")], np.ones((2, 8)))
    for text in ("a zzyx qqr", "one ZZYX qqr more"):
        with nlp.memory_zone():
            assert np.allclose(added_rows(model, nlp(text))[1:3], 16, atol=1e-4)


def test_the_tokenizer_of_a_language_is_loaded_only_for_names_that_are_texts(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ImportError("The Thai tokenizer requires PyThaiNLP")

    doc = doc_of("Oslo")
    monkeypatch.setattr(spacy, "blank", fail)
    model = encoder(listed(tmp_path / "names.jsonl"), [doc])
    assert model.attrs["matcher"].names == NAMES
    write_files(tmp_path, {"names/GEO.txt": "Oslo"})
    with pytest.raises(ValueError, match=r"L428.*PyThaiNLP"):
        encoder(str(tmp_path / "names"), [doc])


@pytest.mark.parametrize(
    "use",
    [
        lambda: encoder(None, [doc_of("Oslo")]),
        lambda: list(create_names_corpus(None)(spacy.blank("en"))),
    ],
    ids=["encoder", "reader"],
)
def test_a_path_that_is_null_is_refused(use):
    with pytest.raises(ValueError, match=r"L803.*null"):
        use()


@pytest.mark.parametrize("dropout", [1.0, -0.1, "much"])
def test_a_wrong_dropout_is_refused(dropout):
    with pytest.raises(ValueError, match=r"L001.*dropout"):
        encoder("names.jsonl", dropout=dropout)


def test_mention_replacement_draws_from_lists(tmp_path):
    nlp = spacy.blank("en")
    corpus = create_names_corpus(listed(tmp_path / "names.jsonl", {"GEO": [["Lake", "Vättern"]]}))
    augment = MentionReplacement(corpus, level=1.0)
    copies = [new.reference for eg in examples(nlp) for new in augment(nlp, eg)]
    assert {ent.text for doc in copies for ent in doc.ents if ent.label_ == "GEO"} == {"Lake Vättern"}


def test_mention_replacement_draws_each_name_once_and_as_it_is_written(tmp_path):
    names = ["co-enzyme Q(10)", "St. John's wort", "rue", "black bird", "blackbird"]
    write(tmp_path / "DRUG.txt", *names)
    found = [eg.reference for eg in create_names_corpus(str(tmp_path))(spacy.blank("en"))]
    assert sorted(doc.text for doc in found) == sorted(f"{name} " for name in names)
    (wort,) = (doc for doc in found if "wort" in doc.text)
    assert [token.text for token in wort] == ["St.", "John", "'s", "wort"]


@pytest.fixture
def source(tmp_path):
    return toy_corpus(tmp_path / "source")


@pytest.fixture
def corpus(source, tmp_path):
    """A converted corpus whose source has lists, and which is converted again."""
    write_files(source, {"names/GEO.txt": "Key West\nOslo\n"})
    run_app("convert", source, tmp_path / "corpus")
    return tmp_path / "corpus"


@pytest.fixture
def config(tmp_path):
    """A config that reads the lists of its corpus."""
    run_app("init-config", "listed_names", "-o", tmp_path / "names.cfg")
    return tmp_path / "names.cfg"


def test_convert_writes_lists_that_stats_counts_and_split_copies(corpus, tmp_path):
    assert read_names(corpus / "names.jsonl", str.split) == {"GEO": [["Key", "West"], ["Oslo"]]}
    assert "annotated otherwise" in run_app("stats", corpus).output
    run_app("split", corpus, tmp_path / "folds", "--folds", "3")
    copied = tmp_path / "folds" / "fold-0" / "names.jsonl"
    assert copied.read_bytes() == (corpus / "names.jsonl").read_bytes()


def test_convert_removes_lists_that_the_source_no_longer_has(corpus, source):
    shutil.rmtree(source / "names")
    run_app("convert", source, corpus)
    assert not (corpus / "names.jsonl").exists()


def test_split_removes_lists_that_the_corpus_no_longer_has(corpus, tmp_path):
    for _ in range(2):
        run_app("split", corpus, tmp_path / "split")
        assert (tmp_path / "split" / "names.jsonl").exists() == (corpus / "names.jsonl").exists()
        (corpus / "names.jsonl").unlink(missing_ok=True)


def test_the_only_file_of_a_corpus_may_be_named_as_the_lists_are(tmp_path):
    task = {"text": "Oslo waits", "spans": [{"start": 0, "end": 4, "label": "GEO"}]}
    source = new_file(tmp_path / "source" / "names.jsonl", json.dumps(task))
    run_app("convert", source, tmp_path / "corpus")
    assert not (tmp_path / "corpus" / "names.jsonl").exists()


@pytest.mark.parametrize("path", ["names/people.csv", "names"])
def test_another_folder_or_file_of_that_name_is_no_list(path, source, tmp_path):
    write_files(source, {path: "Oslo\n"})
    run_app("convert", source, tmp_path / "corpus")
    assert not (tmp_path / "corpus" / "names.jsonl").exists()


def test_convert_says_how_many_names_it_has_read(source, tmp_path):
    write_files(source, {"names/GEO.txt": "Stoke-on-Trent\nOslo\n"})  # one is split in two ways
    assert "Lists of names: GEO 2" in run_app("convert", source, tmp_path / "corpus").output


@pytest.mark.parametrize("other", ["people.csv", "more/GEO.txt", "PER.txt"])
def test_convert_warns_of_what_adds_no_names_to_a_folder_of_lists(other, source, tmp_path):
    write_files(source, {"names/GEO.txt": "Key West\n", f"names/{other}": "\n"})
    output = " ".join(run_app("convert", source, tmp_path / "corpus").output.split())
    assert f"LW213] {source / 'names'}: no name was read from {other.split('/')[0]}" in output


def test_convert_refuses_lists_in_both_forms(source, tmp_path):
    pattern = '{"label": "GEO", "pattern": "Oslo"}\n'
    write_files(source, {"names/GEO.txt": "Key West\n", "names.jsonl": pattern})
    refused(["convert", source, tmp_path / "corpus"], "L803", tmp_path / "corpus")


def test_convert_reads_lists_in_the_encoding_of_the_parts(tmp_path):
    train = "Tromsø\tB-GEO\nis\tO\nnorth\tO\n\n"
    parts = dict.fromkeys(("train.iob", "dev.iob"), train.encode("cp1252"))
    source = write_files(tmp_path / "columns", {**parts, "names/GEO.txt": "Tromsø\n".encode("cp1252")})
    run_app("convert", source, tmp_path / "corpus", "--encoding", "cp1252")
    assert read_names(tmp_path / "corpus" / "names.jsonl", str.split) == {"GEO": [["Tromsø"]]}


def test_stats_has_the_lists_in_its_json_and_in_its_file(corpus, tmp_path):
    printed = json.loads(run_app("stats", corpus, "--json", "-o", tmp_path / "stats.json").stdout)
    assert printed["names"]["GEO"]["names"] == 2
    assert srsly.read_json(tmp_path / "stats.json")["names"] == printed["names"]


def test_stats_counts_lists_of_a_corpus_that_is_not_split(tmp_path):
    parts = {"all.iob": "Oslo\tB-GEO\nis\tO\nnorth\tO\n\n", "names/GEO.txt": "Oslo\n"}
    run_app("convert", write_files(tmp_path / "whole", parts), tmp_path / "corpus")
    assert (
        json.loads(run_app("stats", tmp_path / "corpus", "--json").stdout)["names"]["GEO"]["as_type"]
        == 1
    )


def test_stats_names_lists_that_never_occur_in_training(source, tmp_path):
    write_files(source, {"names/GEO.txt": "Ouagadougou\n"})
    run_app("convert", source, tmp_path / "corpus")
    output = " ".join(run_app("stats", tmp_path / "corpus").output.split())
    assert "No name of GEO occurs in the training part" in output


def test_convert_warns_of_a_list_for_an_unknown_type(source, tmp_path):
    write_files(source, {"names/GEOO.txt": "Oslo\n"})
    output = " ".join(run_app("convert", source, tmp_path / "corpus").output.split())
    assert "lists of names for GEOO, which are no types of the corpus" in output


def test_convert_refuses_a_broken_list_and_writes_nothing(source, tmp_path):
    write_files(source, {"names.jsonl": "{"})
    refused(["convert", source, tmp_path / "corpus"], "L803", tmp_path / "corpus")


@pytest.mark.slow
def test_the_recipe_trains_on_a_corpus_with_lists(corpus, config, tmp_path):
    steps = ["--training.max_steps", 20, "--training.eval_frequency", 10]
    run_app("train", config, corpus, tmp_path / "output", *steps)
    nlp = spacy.load(tmp_path / "output" / "model-best")
    assert nlp.get_pipe("ner").model.get_ref("tok2vec").attrs["matcher"].names == {
        "GEO": [["Key", "West"], ["Oslo"]]
    }
    assert [len(doc) for doc in nlp.pipe(["A trip to Key West .", ""])] == [6, 0]
    run = read_run(tmp_path / "output" / "model-best")
    assert run.checksums["names"] == checksum(corpus / "names.jsonl")


def test_a_config_takes_the_lists_of_the_corpus_or_keeps_its_own(corpus, config, tmp_path):
    assert load_with_corpus_values(config, corpus)["paths"]["names"] == str(corpus / "names.jsonl")
    text = config.read_text(encoding="utf8")
    config.write_text(text.replace("names = null", 'names = "own/names.jsonl"'), encoding="utf8")
    bare = toy_corpus(tmp_path / "bare")
    assert load_with_corpus_values(config, bare)["paths"]["names"] == "own/names.jsonl"


@pytest.mark.parametrize("exists", [True, False])
def test_a_config_with_other_lists_than_the_corpus_uses_those_that_exist(
    exists, corpus, config, tmp_path
):
    own, lists = tmp_path / "clean.jsonl", corpus / "names.jsonl"
    if exists:
        write_names(own, NAMES)
    text = config.read_text(encoding="utf8")
    config.write_text(text.replace("names = null", f'names = "{own}"'), encoding="utf8")
    used = str(own if exists else lists)
    with pytest.warns(UserWarning, match=rf"LW214.*{re.escape(str(own))}.*Those in {re.escape(used)}"):
        assert load_with_corpus_values(config, corpus)["paths"]["names"] == used


def test_an_override_names_the_lists_without_a_warning(corpus, config, tmp_path, recwarn):
    write_names(tmp_path / "own.jsonl", NAMES)
    text = config.read_text(encoding="utf8")
    config.write_text(
        text.replace("names = null", f'names = "{tmp_path / "own.jsonl"}"'), encoding="utf8"
    )
    own = load_with_corpus_values(config, corpus, {"paths.names": "third.jsonl"})
    assert own["paths"]["names"] == "third.jsonl"
    assert not [w for w in recwarn if "LW214" in str(w.message)]


def test_a_config_may_name_a_copy_of_the_lists(corpus, config, tmp_path, recwarn):
    copy = shutil.copyfile(corpus / "names.jsonl", tmp_path / "copy.jsonl")
    text = config.read_text(encoding="utf8")
    config.write_text(text.replace("names = null", f'names = "{copy}"'), encoding="utf8")
    load_with_corpus_values(config, corpus)
    assert not [w for w in recwarn if "LW214" in str(w.message)]


@pytest.mark.slow
def test_the_folds_of_audit_have_the_lists(corpus, config, tmp_path):
    pytest.importorskip("cleanlab", reason="needs the extra 'audit'")
    report = tmp_path / "audit.json"
    run_app("audit", corpus, "--config", config, "--folds", 3, "--steps", 2, "-o", report)
    assert report.is_file()
