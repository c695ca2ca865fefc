"""`convert` as a whole: parts, targets, settings, tokenizers, the report and the command."""

import json
import pickle
import re
from collections import Counter

import pytest
import spacy
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.util import load_config

from spacy_longtail.corpus import parts
from spacy_longtail.corpus.descriptions import has_open_types
from spacy_longtail.corpus.folder import CorpusTypes, convert_corpus, read_types, stream_docs
from spacy_longtail.corpus.formats.options import FileOptions
from spacy_longtail.corpus.formats.spans import is_tangled
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.corpus.tokenizers import CharacterTokenizer, blank
from spacy_longtail.training.filling import training_overrides
from tests.util import ROOT, config_file, new_file, refused, run_app, tree, write_files

NLP = spacy.blank("en")
IOB = "Ann\tB-PER\nsaw\tO\n\nRome\tB-GEO\n"
RECORD = {"text": "Ann saw Rome", "entities": [[0, 3, "PER"], [8, 12, "GEO"]]}
JSONL = json.dumps(RECORD) + "\n"
ARTICLE = "title: T\nkind: k\n\n[Ann|PER] saw [Rome|GEO].\n"


def iob_corpus(folder, names=("train", "dev", "test")):
    return write_files(folder, {f"{name}.iob": IOB for name in names})


def ents(path, nlp=NLP):
    return [[(e.text, e.label_) for e in d.ents] for d in stream_docs(path, nlp.vocab)]


# ---------------------------------------------------------------- parts


def test_parts_in_any_format(tmp_path):
    files = {
        "corpus.json": '{"labels": ["PER", "GEO"]}',
        "train/b/2.jsonl": JSONL,
        "train/1.json": json.dumps([RECORD, RECORD]),
        "train/README.md": "not read",
        "train/.hidden.jsonl": "not read",
        "train.iob": "not read: the folder wins",
        "dev/a.txt": ARTICLE,
        "test.txt": "Ann saw Rome",
        "test.ann": "T1\tGEO 8 12\tRome\n",
    }
    types = convert_corpus(write_files(tmp_path / "in", files), tmp_path / "out")
    assert types.labels == ["PER", "GEO"]
    both = [("Ann", "PER"), ("Rome", "GEO")]
    found = {part: ents(tmp_path / "out" / f"{part}.spacy") for part in ("train", "dev", "test")}
    assert found == {"train": [both] * 3, "dev": [both], "test": [[("Rome", "GEO")]]}
    report = srsly.read_json(tmp_path / "out" / "conversion.json")
    assert {k: (v["format"], v["misaligned"]) for k, v in report["parts"].items()} == {
        "train": ("json", "missing"),
        "dev": ("articles", "error"),
        "test": ("brat", "missing"),
    }


@pytest.mark.parametrize("name", ["a.IOB2", "a.conll", "a.tsv", "a.txt"])
def test_a_file_is_one_part(name, tmp_path):
    types = convert_corpus(new_file(tmp_path / name, IOB), tmp_path / "out")
    assert types.labels == ["GEO", "PER"]
    assert read_types(tmp_path / "out") == types
    written = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert written == ["all.spacy", "conversion.json", "types.json"]


def test_a_folder_without_parts_is_one_part(tmp_path):
    files = {name: f"{name}\tB-X\n" for name in ("2.iob", "1.iob", "deeper/3.iob")}
    source = write_files(tmp_path / "in", {**files, "README.md": "no data"})
    convert_corpus(source, tmp_path / "out")
    assert ents(tmp_path / "out" / "all.spacy") == [[("1.iob", "X")], [("2.iob", "X")]]


def test_each_problem_has_its_own_warning(tmp_path):
    source = iob_corpus(tmp_path / "in", ("train",))
    new_file(source / "corpus.json", '{"labels": ["GEO"]}')
    with pytest.warns(UserWarning, match="LW030") as seen:
        convert_corpus(source, tmp_path / "out")
    texts = " ".join(str(warning.message) for warning in seen)
    assert "no dev and test" in texts
    assert re.search(r"corpus\.json.*PER", texts)
    assert not part_path(tmp_path / "out", "dev").exists()


def test_a_whole_corpus_and_a_single_file_give_no_warning(tmp_path, recwarn):
    source = iob_corpus(tmp_path / "in")
    convert_corpus(source, tmp_path / "out")
    convert_corpus(source / "dev.iob", tmp_path / "one")
    assert not recwarn


PARTS_OF_IOB = {"train.iob": IOB, "dev.iob": IOB, "test.iob": IOB}


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({}, {}, r"L402.*in"),
        ({"README.md": ""}, {}, r"L402.*in"),
        ({"types.json": "{}", "corpus.json": "{}", "conversion.json": "{}"}, {}, r"L402.*in"),
        ({"dev.iob": IOB, "test.iob": IOB}, {}, r"L402.*train"),
        ({"dev.iob": IOB, "test.iob": IOB, "train/README.md": ""}, {}, r"L402.*train"),
        ({**PARTS_OF_IOB, "dev.jsonl": JSONL}, {}, "L421.*dev.iob as columns, dev.jsonl as json"),
        (
            {**PARTS_OF_IOB, "dev.conll": IOB},
            {"format": "columns"},
            "L421.*dev.conll as columns, dev.iob as",
        ),
        ({"train.spacy": "not a docbin"}, {}, "L404"),
        ({"a.iob": IOB, "b.csv": "x"}, {}, "L421.*in cannot.*a.iob as columns, b.csv as csv"),
        ({"a.jsonl": JSONL}, {"tag_column": 1}, "L420.*--tag-column would be ignored"),
        ({"a.iob": IOB}, {"misaligned": "missing"}, "L420.*--misaligned would be ignored"),
        ({"a.iob": IOB}, {"sentences": "sentencizer"}, "L420.*--sentences would be ignored"),
        ({"train/a.txt": ARTICLE}, {}, r"L430.*in/corpus\.json"),
        (
            {
                "a.jsonl": JSONL,
                "corpus.json": '{"labels": ["Poet"], "descriptions": {"Poet": "a poet"}}',
            },
            {"open_types": True},
            r"L430.*corpus\.json.*labels and descriptions",
        ),
    ],
)
def test_sources_that_are_refused(files, options, message, tmp_path):
    (tmp_path / "in").mkdir()
    source = write_files(tmp_path / "in", files)
    with pytest.raises(ValueError, match=message):
        convert_corpus(source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"labels": "PER"}',
        '{"labels": ["A", "O"]}',
        '{"tokens": []}',
        '{"labels": ["A"], "tail": ["B"]}',
        '{"labels": ["A", "A", "B"], "tail": []}',
        '{"labels": ["A", "B"], "tail": ["B", "B"]}',
        '{"labels": ["A"], "descriptions": {"A": " "}}',
        "[" * 100_000,
    ],
)
def test_declarations_that_are_refused(text, tmp_path):
    source = iob_corpus(tmp_path / "in")
    new_file(source / "corpus.json", text)
    with pytest.raises(ValueError, match=r"L430.*corpus\.json"):
        convert_corpus(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (source / "corpus.json").rename(source / "types.json")
    with pytest.raises(ValueError, match=r"L430.*types\.json"):
        read_types(source)


@pytest.mark.parametrize(
    "encoding", ["klingon", "base64", "undefined", "a\0b", "idna", "punycode", "unicode_escape"]
)
def test_encodings_are_checked(encoding):
    with pytest.raises(ValueError, match=r"L001.*encoding"):
        FileOptions(encoding=encoding)


# ---------------------------------------------------------------- the target


def test_a_failed_run_leaves_the_target_as_it_was(tmp_path):
    target, bad = tmp_path / "deep" / "out", iob_corpus(tmp_path / "in")
    new_file(bad / "test.iob", "a\tI-X\n")
    with pytest.raises(ValueError, match="L401"):
        convert_corpus(bad, target)
    assert not target.parent.exists()
    convert_corpus(iob_corpus(tmp_path / "good"), target)
    new_file(target / "mine.txt", "kept")
    before = tree(target)
    with pytest.raises(ValueError, match="L401"):
        convert_corpus(bad, target, docs_per_file=1)
    assert tree(target) == before
    convert_corpus(tmp_path / "good", target)
    assert tree(target).keys() == before.keys()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "good", "in"]


def test_files_and_folders_of_a_part_replace_each_other(tmp_path):
    source, target = iob_corpus(tmp_path / "in"), tmp_path / "out"
    for docs_per_file in (None, 1, None, 5):
        convert_corpus(source, target, docs_per_file=docs_per_file)
        assert part_path(target, "dev").is_dir() == (docs_per_file is not None)
        assert (target / "dev.spacy").exists() != (target / "dev").exists()
        assert ents(part_path(target, "dev")) == [[("Ann", "PER")], [("Rome", "GEO")]]


def test_a_source_is_never_overwritten(tmp_path):
    articles = dict.fromkeys(("train/a.txt", "dev/a.txt", "test/a.txt"), ARTICLE)
    declared = '{"labels": ["PER", "GEO"]}'
    source = write_files(tmp_path / "in", {**articles, "corpus.json": declared})
    before = tree(source)
    with pytest.raises(ValueError, match=r"L437.*in would be replaced, but it holds train, dev, test"):
        convert_corpus(source, source)
    assert tree(source) == before
    types = new_file(source / "types.json", '{"labels": ["PER", "GEO"], "tail": ["GEO"]}')
    with pytest.raises(ValueError, match=r"L437.*in/train would be replaced"):
        convert_corpus(source, source)
    types.unlink()
    assert tree(source) == before
    with pytest.raises(ValueError, match=r"L436.*corpus\.json.*not a folder"):
        convert_corpus(source, source / "corpus.json")
    iob_corpus(tmp_path / "beside")
    convert_corpus(tmp_path / "beside", tmp_path / "beside")
    assert ents(tmp_path / "beside" / "train.spacy") and (tmp_path / "beside" / "train.iob").is_file()


def test_parts_are_written_as_they_are_read(tmp_path):
    seen = []

    def docs():
        for i in range(7):
            seen.append(len(list((tmp_path / "train").glob("*.spacy"))))
            yield Doc(NLP.vocab, words=[str(i)], ents=["B-X"])

    tally = parts.write_part(tmp_path, "train", docs(), 3)
    assert seen == [0, 0, 0, 1, 1, 1, 2]
    assert (tally.documents, tally.tokens, tally.mentions) == (7, 7, Counter(X=7))
    assert sorted(p.name for p in (tmp_path / "train").iterdir()) == [f"0000{i}.spacy" for i in range(3)]
    assert [d.text.strip() for d in stream_docs(tmp_path / "train", NLP.vocab)] == list("0123456")


# ---------------------------------------------------------------- types, report, warnings


def test_open_types_are_not_declared(tmp_path):
    record = {"tokenized_text": ["Ann", "saw", "Rome"], "ner": [[0, 0, "Poet"], [2, 2, "City;  place"]]}
    source = new_file(tmp_path / "in" / "a.jsonl", json.dumps(record)).parent
    for read_from, target in ((source, tmp_path / "a"), (tmp_path / "a", tmp_path / "b")):
        shown = run_app("convert", read_from, target, *(["--open"] if read_from == source else []))
        assert "2 mentions of 2 free-text types" in shown.output
        found = json.loads((target / "types.json").read_text(encoding="utf8"))
        assert found == {"open": True, "lang": "en", "tokens": "words"}
        assert ents(target / "all.spacy") == [[("Ann", "Poet"), ("Rome", "City;  place")]]
        assert has_open_types(target) and read_types(target, allow_open=True).labels == []
    with pytest.raises(ValueError, match=r"L419.*has free-text types"):
        read_types(target)
    for command in ("stats", "split"):
        refused([command, target, *([tmp_path / "c"] if command == "split" else [])], "L419")


def test_a_converted_corpus_keeps_what_was_declared(tmp_path):
    declared = {"labels": ["PER", "ART", "GEO"], "tail": ["ART"], "lang": "ja", "tokens": "characters"}
    files = dict.fromkeys(("train.jsonl", "dev.jsonl", "test.jsonl"), JSONL)
    source = write_files(tmp_path / "in", {**files, "corpus.json": json.dumps(declared)})
    types = convert_corpus(source, tmp_path / "a")
    assert types == CorpusTypes(**declared)
    assert convert_corpus(tmp_path / "a", tmp_path / "b", docs_per_file=1) == types
    assert [len(d) for d in stream_docs(tmp_path / "b" / "train", NLP.vocab)] == [10]
    assert "characters" in (tmp_path / "b" / "types.json").read_text(encoding="utf8")


def test_the_report_counts_by_part_and_type(tmp_path, recwarn):
    lines = [
        {"text": "Ann saw New Rome", "label": [[0, 3, "PER"], [8, 16, "GEO"], [12, 16, "GEO"]]},
        {"text": "Annes", "label": [[0, 3, "PER"]]},
        {"text": "no", "label": [], "answer": "ignore"},
        {"text": "人名だ", "label": [[0, 3, "人名"]]},
    ]
    train = "\n".join(map(json.dumps, lines))
    files = {"train.jsonl": train, "dev.jsonl": JSONL, "test.jsonl": JSONL}
    write_files(tmp_path / "in", files)
    convert_corpus(tmp_path / "in", tmp_path / "out", allow=True)
    assert not recwarn  # few misaligned spans are none of the language's fault
    text = (tmp_path / "out" / "conversion.json").read_text(encoding="utf8")
    assert "人名" in text
    report = json.loads(text)
    assert report["lang"] == "en" and report["tokens"] == "words"
    assert report["parts"]["dev"]["events"] == {}
    assert report["parts"]["train"] == {
        "format": "json",
        "misaligned": "missing",
        "documents": 3,
        "tokens": 6,
        "mentions": {"PER": 1, "GEO": 1, "人名": 1},
        "events": {"overlapping": {"GEO": 1}, "misaligned": {"PER": 1}, "rejected": {"ignore": 1}},
        "examples": {
            "overlapping": ["train.jsonl:1: GEO in Ann saw New [Rome]"],
            "misaligned": ["train.jsonl:2: PER in [Ann]es"],
            "rejected": ["train.jsonl:3: ignore"],
        },
    }


# ---------------------------------------------------------------- tokenizers


@settings(max_examples=200)
@given(st.text("ab あ.\n\t\u3000\u00a0\x1c", max_size=12))
def test_characters_are_tokens_and_white_space_is_spacys(text):
    doc = CharacterTokenizer(NLP.vocab)(text)
    assert doc.text == text and not doc.has_unknown_spaces
    expected = []
    for token in NLP(text):
        units = [token.text] if token.is_space else list(token.text)
        expected += [(unit, "") for unit in units[:-1]] + [(units[-1], token.whitespace_)]
    assert [(t.text, t.whitespace_) for t in doc] == expected


def test_the_character_tokenizer_survives_saving_and_pickling(tmp_path):
    nlp = blank("ja", "characters")
    words = ["東", "京", "へ"]
    assert [t.text for t in nlp("東京へ")] == words
    nlp.to_disk(tmp_path / "model")
    for again in (
        spacy.load(tmp_path / "model"),
        spacy.util.load_model_from_config(nlp.config, auto_fill=True).from_bytes(nlp.to_bytes()),
        pickle.loads(pickle.dumps(nlp)),
    ):
        assert isinstance(again.tokenizer, CharacterTokenizer)
        assert [t.text for t in again("東京へ")] == words
    assert [t.text for t in pickle.loads(pickle.dumps(nlp.tokenizer))("東京へ")] == words


@pytest.mark.parametrize(("lang", "tokens"), [("qq", "words"), ("qq", "characters"), ("vi", "words")])
def test_a_language_without_a_tokenizer_is_refused(lang, tokens):
    with pytest.raises(ValueError, match=f"L428.*'{lang}'"):
        blank(lang, tokens)


def test_characters_need_no_tokenizer_of_the_language():
    assert blank("vi", "characters").lang == "vi"


@pytest.mark.parametrize("mark", ["[", "🙂", "-."])
def test_a_text_that_a_tokenizer_would_not_finish_is_refused(mark, tmp_path):
    record = json.dumps({"text": f"Ann {mark * 100_000} left", "spans": []}, ensure_ascii=False)
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1.*2,000"):
        convert_corpus(new_file(tmp_path / "a.jsonl", record), tmp_path / "out")
    text = f"{'-' * 1999}a" * 500  # many rows of marks are looked at once
    assert not is_tangled(text) and is_tangled(f"{text}-{'-' * 1999}")


def test_a_tokenizer_that_fails_on_a_text(tmp_path, monkeypatch):
    def fail(self, text):
        raise RuntimeError("too long")

    path = new_file(tmp_path / "a.jsonl", "\n" + JSONL)
    for tokenizes in (fail, lambda self, text: NLP(text[1:])):
        monkeypatch.setattr(CharacterTokenizer, "__call__", tokenizes)
        with pytest.raises(ValueError, match=r"L401.*a\.jsonl:2: "):
            convert_corpus(path, tmp_path / "out", tokens="characters")


@pytest.mark.parametrize(
    ("declared", "tokenizer"),
    [
        ({}, None),
        ({"lang": "ja", "tokens": "characters"}, "longtail.CharacterTokenizer.v1"),
        ({"lang": "ja"}, "spacy.ja.JapaneseTokenizer"),
    ],
)
def test_training_gets_the_tokenizer_of_the_corpus(declared, tokenizer, tmp_path):
    new_file(tmp_path / "types.json", json.dumps({"labels": ["X"], "tail": ["X"], **declared}))
    found = training_overrides(ROOT / "configs" / "baseline.cfg", tmp_path)
    assert found["nlp.lang"] == declared.get("lang", "en")
    assert found.get("nlp.tokenizer", {}).get("@tokenizers") == tokenizer


def test_training_reads_a_part_from_its_file_or_folder(tmp_path):
    new_file(tmp_path / "types.json", '{"labels": ["X"], "tail": ["X"]}')
    config = ROOT / "configs" / "baseline.cfg"
    assert training_overrides(config, tmp_path)["paths.train"] == str(tmp_path / "train.spacy")
    (tmp_path / "train").mkdir()
    assert training_overrides(config, tmp_path)["paths.train"] == str(tmp_path / "train")


def test_training_gets_the_types_in_words(tmp_path):
    types = {
        "labels": ["PER", "SHIP", "festival"],
        "tail": ["SHIP"],
        "descriptions": {"SHIP": "a named vessel"},
    }
    new_file(tmp_path / "types.json", json.dumps(types))
    found = training_overrides(config_file("bert_mrc"), tmp_path)
    config = load_config(config_file("bert_mrc"), overrides=found, interpolate=True)
    asked = {"PER": "person: people, by name", "SHIP": "a named vessel", "festival": "festival"}
    assert config["components"]["ner"]["queries"] == asked
    described = load_config(ROOT / "configs" / "pretrained_cnn.cfg", interpolate=False)
    described["longtail"]["descriptions"] = {"PER": "somebody"}
    described.to_disk(tmp_path / "own.cfg")
    own = training_overrides(tmp_path / "own.cfg", tmp_path)["longtail.descriptions"]
    assert own == {"PER": "somebody", "SHIP": "a named vessel"}


# ---------------------------------------------------------------- the command


def test_the_command_reads_what_its_options_say(tmp_path):
    text = "-DOCSTART- x\nI-PER\tq\tAnn\nO\tq\t“saw”\n\nI-GEO\tq\tRome\n"
    path = tmp_path / "a.data"
    path.write_bytes(text.encode("cp1252"))
    options = "--format columns --encoding cp1252 --scheme iob1 --token-column -1 --tag-column 0"
    options += " --documents --docs-per-file 1 --lang de"
    shown = run_app("convert", path, tmp_path / "out", *options.split())
    (doc,) = stream_docs(tmp_path / "out" / "all", NLP.vocab)
    assert [(t.text, t.ent_type_, t.is_sent_start) for t in doc] == [
        ("Ann", "PER", True),
        ("“saw”", "", False),
        ("Rome", "GEO", True),
    ]
    assert read_types(tmp_path / "out").lang == "de"
    assert "one part, 'all'. Split it into" in " ".join(shown.output.split())
    for options, code in ((["--scheme", "x"], "L852"), (["--docs-per-file", "0"], "L852")):
        refused(["convert", path, tmp_path / "other", *options], code, tmp_path / "other")
