"""Formats of tokens with names for their parts: records, CoNLL-U, tables; and files that are gzipped."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.corpus.folder import convert_corpus, stream_docs
from spacy_longtail.corpus.formats.columns import Columns, parse_columns, read_tag_names
from spacy_longtail.corpus.formats.context import Events, Settings
from spacy_longtail.corpus.formats.sources import FORMATS
from spacy_longtail.unlabelled.pool import read_pool

from .test_formats import ANYTHING, LETTERS, NLP, QUICK, iob, read, sents, tags, write

NAMES = ("O", "B-PER", "I-PER", "B-GEO", "I-GEO", "B-ART-X", "I-ART-X", "B-人名", "I-人名")


def shown(docs):
    return [([t.text for t in d], sorted((e.start, e.end, e.label_) for e in d.ents)) for d in docs]


def expected(found):
    return [(s.words, sorted(s.ents)) for s in found]


def records(path, rows, array=False):
    text = json.dumps(rows) if array else "".join(json.dumps(row) + "\n" for row in rows)
    return write(path, text)


# ---------------------------------------------------------------- records of tokens


@QUICK
@given(
    found=sents(ANYTHING),
    array=st.booleans(),
    numbers=st.booleans(),
    scheme=st.sampled_from(["iob2", "bilou"]),
)
def test_tagged_records_round_trip(found, array, numbers, scheme, tmp_path):
    scheme = "iob2" if numbers else scheme
    rows = []
    for s in found:
        own = [NAMES.index(t) for t in tags(s)] if numbers else tags(s, scheme)
        rows.append({"id": "0", "tokens": s.words, "ner_tags": own, "ref": "x"})
    path = records(tmp_path / "a.json", rows, array)
    docs = read(path, tag_names=NAMES if numbers else None)
    assert shown(docs) == expected(found)
    assert all(d.user_data == {"ref": "x"} and d.has_annotation("ENT_IOB") for d in docs)
    assert all(d.has_unknown_spaces for d in docs)


def test_columns_name_the_keys_of_records(tmp_path):
    rows = [{"words": ["Ann", "left"], "fine": ["B-PER", "O"], "tokens": 3, "ner_tags": None}]
    docs = read(records(tmp_path / "a.jsonl", rows), columns=Columns("words", "fine"))
    assert shown(docs) == [(["Ann", "left"], [(0, 1, "PER")])]
    with pytest.raises(ValueError, match=r"L581.*json"):
        read(tmp_path / "a.jsonl", columns=Columns("words", "fine", "x"))


@QUICK
@given(found=sents(ANYTHING), array=st.booleans())
def test_gliner_records_round_trip(found, array, tmp_path):
    rows = [{"tokenized_text": s.words, "ner": [[a, b - 1, t] for a, b, t in s.ents]} for s in found]
    docs = read(records(tmp_path / "a.json", rows, array))
    assert shown(docs) == expected(found)
    assert all(d.has_annotation("ENT_IOB") for d in docs)


def test_of_nested_gliner_spans_the_longest_is_kept(tmp_path):
    row = {
        "tokenized_text": ["New", "Rome", "fell"],
        "ner": [[0, 1, "GEO"], [1, 1, "ORG"], [0, 1, "GEO"]],
    }
    events = Events()
    (doc,) = read(records(tmp_path / "a.jsonl", [row, {"tokenized_text": [], "ner": []}]), events)
    assert iob(doc) == ["B-GEO", "I-GEO", "O"]
    assert {k: dict(v) for k, v in events.counts.items()} == {
        "overlapping": {"ORG": 1},
        "repeated": {"GEO": 1},
        "empty": {"records": 1},
    }


HF = {"tokens": ["a", "b"], "ner_tags": ["O", "O"]}
GLINER = {"tokenized_text": ["a", "b"], "ner": []}


@pytest.mark.parametrize(
    ("row", "names", "text"),
    [
        (HF | {"tokens": "ab"}, None, "'ab' as tokens"),
        (HF | {"tokens": ["a", 1]}, None, "'1' is not text"),
        (HF | {"ner_tags": ["O"]}, None, "2 tokens"),
        (HF | {"ner_tags": None}, None, "'None'"),
        (HF | {"ner_tags": ["O", 1]}, None, "tags"),
        (HF | {"ner_tags": [True, False]}, None, "tags"),
        (HF | {"ner_tags": ["O", "I-X"]}, None, "'I-X'"),
        (HF | {"ner_tags": ["O", "X"]}, None, "unknown tag 'X'"),
        (HF | {"tokens": ["a", " "], "ner_tags": ["O", "B-X"]}, None, "white space"),
        (HF | {"ner_tags": [0, 1]}, None, "no --tag-names are given"),
        (HF | {"ner_tags": [0, 2]}, ("O", "B-X"), "0 to 1"),
        (HF | {"ner_tags": [0, -1]}, ("O", "B-X"), "0 to 1"),
        (HF, ("O", "B-X"), "--tag-names"),
        (GLINER | {"tokenized_text": {}}, None, "as tokenized_text"),
        ({"tokenized_text": ["a"]}, None, "'None' as ner"),
        *(
            (GLINER | {"ner": [span]}, None, "span .*2 tokens")
            for span in ([0, 1], [0, 2, "X"], [1, 0, "X"], [-1, 0, "X"], [0.0, 1, "X"])
        ),
        (GLINER | {"ner": [[0, 1, " "]]}, None, "' ' as its type"),
    ],
)
def test_broken_token_records_are_named(row, names, text, tmp_path):
    first = HF | {"ner_tags": [0, 1]} if names else {"text": "a", "entities": []}
    with pytest.raises(ValueError, match=f"L401.*:2: .*{text}"):
        read(records(tmp_path / "a.jsonl", [first, row]), tag_names=names)


def test_pairs_of_spacy_2(tmp_path):
    """A line of its own begins as an array does."""
    pairs = [["Ann left", {"entities": [[0, 3, "PER"]]}], [" So", {"entities": [], "cats": {"x": 1}}]]
    for layout in ("lines", "array"):
        (first, second) = read(records(tmp_path / f"{layout}.json", pairs, layout == "array"))
        assert shown([first]) == [(["Ann", "left"], [(0, 1, "PER")])]
        assert second.text == " So" and not second.user_data
    for bad in (["Ann"], ["Ann", []], ["Ann", {}], [{}, "Ann"], ["Ann", {"entities": []}, 1]):
        with pytest.raises(ValueError, match=r"L401.*a\.jsonl:(1|record \d)"):
            read(records(tmp_path / "a.jsonl", [bad]))


# ---------------------------------------------------------------- names of tags and columns


FEATURE = {"feature": {"names": list(NAMES), "_type": "ClassLabel"}, "_type": "Sequence"}


@pytest.mark.parametrize(
    "found",
    [
        list(NAMES),
        {"names": list(NAMES)},
        {"label_names": list(NAMES)},
        {"id2label": {str(i): name for i, name in enumerate(NAMES)}},
        {"features": {"pos": {"feature": {"names": ["O", "X"]}}, "ner_tags": FEATURE}},
        {"ner_tags": FEATURE},
    ],
)
def test_names_of_tags_in_a_file(found, tmp_path):
    assert read_tag_names(str(write(tmp_path / "a.json", json.dumps(found)))) == NAMES


def test_names_of_tags_are_those_of_the_column(tmp_path):
    found = {"features": {"fine": {"feature": {"names": ["O", "B-X"]}}, "ner_tags": FEATURE}}
    path = write(tmp_path / "a.json", json.dumps(found))
    assert read_tag_names(str(path), "fine") == ("O", "B-X")
    with pytest.raises(ValueError, match=r"L581.*a\.json"):
        read_tag_names(str(path), "coarse")
    assert read_tag_names("O, B-X") == read_tag_names(str(write(tmp_path / "a.txt", "O\nB-X\n")))


@pytest.mark.parametrize("text", ["names.json", "O,B-X,O", "", ",", "O"])
def test_names_that_are_none(text):
    with pytest.raises(ValueError, match="L581"):
        read_tag_names(text)


@pytest.mark.parametrize("text", ["[", '["O", 1]', "{}", '{"names": 3}', '{"id2label": {"1": "O"}}'])
def test_files_without_names(text, tmp_path):
    with pytest.raises(ValueError, match=r"L581.*a\.json"):
        read_tag_names(str(write(tmp_path / "a.json", text)))


def test_columns_by_name():
    assert parse_columns("token=word, tag = ner") == Columns("word", "ner")
    for text in ("", "token", "token=", "word=token", "tag=a,tag=b", "tag=a,"):
        with pytest.raises(ValueError, match="L581"):
            parse_columns(text)


# ---------------------------------------------------------------- tables


@QUICK
@given(found=sents(ANYTHING), gap=st.sampled_from("\t;,"), sentence=st.booleans())
def test_tables_round_trip(found, gap, sentence, tmp_path):
    """A sentence column with numbers of documents that come again, or blank rows; quotes in a TSV are text."""

    def quoted(word):
        return word if gap == "\t" else '"' + word.replace('"', '""') + '"'

    text = gap.join(["i", "sent_id", "word", "ner"]) + "\r\n"
    for i, s in enumerate(found):
        for word, tag in zip(s.words, tags(s)):
            text += gap.join(["1", f"s{i % 2}", quoted(word), tag]) + "\r\n"
        text += "" if sentence else gap * 3 + "\r\n"
    path = write(tmp_path / ("a.tsv" if gap == "\t" else "a.csv"), text)
    columns = Columns("word", "ner", "sent_id" if sentence else "")
    assert shown(read(path, columns=columns)) == expected(found)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("w\tt\na\tO\n", Columns("word", "t"), "L401.*a.tsv:1: no column word"),
        ("w\tt\na\tO\nb\n", Columns("w", "t"), "L401.*a.tsv:3: "),
        ("w\tt\na\tI-X\n", Columns("w", "t"), "L401.*a.tsv:2: "),
        ("w\tt\ts\na\tO\t\n", Columns("w", "t", "s"), "L401.*a.tsv:2: "),
        ("w\tt\na\tO\n", Columns(token="w"), "L581.*token"),
        ("w\tt\n", Columns("w", "t"), "L403"),
        ("", Columns("w", "t"), "L401"),
    ],
)
def test_broken_tables(text, columns, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / "a.tsv", text), columns=columns)


def test_quotation_marks_of_a_tsv_are_tokens_and_of_a_csv_enclose(tmp_path):
    for name, gap, words in (("a.tsv", "\t", ['"', 'a"b', '"c"']), ("a.csv", ",", ['"', 'a"b', "c,d"])):
        cells = words if gap == "\t" else ['"' + word.replace('"', '""') + '"' for word in words]
        text = f"w{gap}t\n" + "".join(f"{cell}{gap}O\n" for cell in cells)
        assert shown(read(write(tmp_path / name, text), columns=Columns("w", "t"))) == [(words, [])]


# ---------------------------------------------------------------- CoNLL-U


def unit(i, word, tag="_", misc="_"):
    return "\t".join([str(i), word, "_", "X", tag, "_", "0", "_", "_", misc]) + "\n"


@QUICK
@given(found=sents(LETTERS.map("_".join)), data=st.data())
def test_conllu_round_trip(found, data, tmp_path):
    own_column, key = data.draw(st.booleans()), data.draw(st.sampled_from(["NE", "ner", "Name"]))
    text = "# newdoc id = 1\n"
    for n, s in enumerate(found):
        text += f"# sent_id = {n}\n# text = {' '.join(s.words)}\n"
        for i, (word, tag) in enumerate(zip(s.words, tags(s)), 1):
            if data.draw(st.booleans()):
                text += unit(f"{i}-{i + 1}", "both") + unit(f"{i}.1", "nothing")
            bare = tag == "O" and data.draw(st.booleans())
            misc = "SpaceAfter=No" if bare else f"SpaceAfter=No|{key}={tag}"
            text += unit(i, word, "_" if bare else tag) if own_column else unit(i, word, misc=misc)
        text += "\n"
    path = write(tmp_path / "a.conllu", text + unit(1, "Z", "B-Z", "ner=B-Z|NE=B-Z|name=B-Z"))
    found = [*found, type(found[0])(["Z"], [(0, 1, "Z")])]
    columns = Columns(tag=data.draw(st.sampled_from(["xpos", "XPOS"])) if own_column else "")
    assert shown(read(path, columns=columns)) == expected(found)
    (doc,) = read(path, columns=columns, documents=True)
    assert [len(sent) for sent in doc.sents] == [len(s.words) for s in found]


def test_conllu_plus_names_its_columns(tmp_path):
    text = "# global.columns = ID FORM PARSEME:NE\n1\tAnn\tB-PER\n2\tleft\t_\n"
    path = write(tmp_path / "a.conllup", text)
    assert shown(read(path, columns=Columns(tag="parseme:ne"))) == [(["Ann", "left"], [(0, 1, "PER")])]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (unit(1, "a"), "", r"L401.*NE="),
        (unit(1, "a", misc="NE=O"), "Entity", r"L401.*ENTITY="),
        (unit(1, "a"), "XPOS", r"L401.*XPOS"),
        ("1\ta\n", "", r"L401.*:1: found 2 columns for 10"),
        (unit(1, "a", misc="NE=O") + unit(2, "b", misc="NE=I-X"), "", r"L401.*:2: "),
        (unit(1, " ", misc="NE=B-X"), "", r"L401.*:1: "),
        ("\n# global.columns = ID LEMMA MISC\n1\ta\t_\n", "", r"L401.*:3: .*ID, LEMMA, MISC"),
        ("# global.columns = ID FORM\n1\ta\n", "", r"L401.*:2: "),
        ("", "", r"L403"),
    ],
)
def test_broken_conllu(text, columns, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / "a.conllu", text), columns=Columns(tag=columns))


# ---------------------------------------------------------------- gzip


def packed(path, text, encoding="utf8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(encoding)))
    return path


def test_every_text_format_may_be_gzipped(tmp_path):
    article = "title: T\nkind: k\n\n[Ann|PER] left.\n"
    texts = {
        "columns": ("train.iob", "Ann\tB-PER\n"),
        "conllu": ("train.conllu", unit(1, "Ann", misc="NE=B-PER")),
        "json": ("train.jsonl", json.dumps({"text": "Ann", "label": [[0, 3, "PER"]]})),
        "csv": ("train.csv", "Sentence #,Word,Tag\n1,Ann,B-PER\n"),
        "brat": ("train.txt", "Ann"),
        "articles": ("train.txt", article),
        "open": ("train.txt", "domain: d\n\n[Ann|poet; person] left.\n"),
    }
    assert set(texts) == set(FORMATS) - {"spacy"}
    for kind, (name, text) in texts.items():
        source = tmp_path / kind
        packed(source / f"{name}.gz", text)
        if kind != "open":
            write(source / "corpus.json", '{"labels": ["PER"]}')
        if kind == "brat":
            packed(source / "train.ann.gz", "T1\tPER 0 3\tAnn\n")
        with pytest.warns(UserWarning, match="LW030"):
            labels = convert_corpus(source, tmp_path / "out" / kind).labels
        assert labels == ([] if kind == "open" else ["PER"])
        (doc,) = stream_docs(tmp_path / "out" / kind / "train.spacy", NLP)
        assert [e.text for e in doc.ents] == ["Ann"]
        assert (
            json.loads((tmp_path / "out" / kind / "conversion.json").read_text())["parts"]["train"][
                "format"
            ]
            == kind
        )
    path = packed(tmp_path / "a.spacy.gz", "x")
    with pytest.raises(ValueError, match="L421"):
        read(path)


def test_gzip_that_is_not_intact(tmp_path):
    whole = packed(tmp_path / "a.iob.gz", "a\tO\n" * 100_000).read_bytes()
    for content in (b"a\tO\n", whole[:-20], whole[:100] + b"xxxx" + whole[104:], whole[:5]):
        (tmp_path / "a.iob.gz").write_bytes(content)
        with pytest.raises(ValueError, match=r"L401.*a\.iob\.gz"):
            read(tmp_path / "a.iob.gz")
    packed(tmp_path / "a.iob.gz", "a\tO\nb\n")
    with pytest.raises(ValueError, match=r"L401.*a\.iob\.gz:2: "):
        read(tmp_path / "a.iob.gz")
    (tmp_path / "a.iob.gz").write_bytes(gzip.compress(b"a\tO\n\xff"))
    with pytest.raises(ValueError, match=r"L401.*a\.iob\.gz:2: "):
        read(tmp_path / "a.iob.gz")


def test_pools_may_be_gzipped(tmp_path):
    packed(tmp_path / "pool" / "a.txt.gz", "Ann left.\nSo did I.\n")
    packed(tmp_path / "pool" / "b.jsonl.gz", json.dumps({"text": "No spans."}))
    packed(tmp_path / "pool" / "c.iob.gz", "Ann\tB-PER\n")
    docs = read_pool(tmp_path / "pool", NLP, Settings(), Events())
    assert [d.text.strip() for d in docs] == ["Ann left.", "So did I.", "No spans.", "Ann"]


@pytest.mark.parametrize("chosen", [{"columns": Columns(tag="x")}, {"tag_names": ("O", "B-X")}])
def test_names_that_would_be_ignored_are_refused(chosen, tmp_path):
    with pytest.raises(ValueError, match="L420"):
        read(write(tmp_path / "a.iob", "a\tO\n"), **chosen)
