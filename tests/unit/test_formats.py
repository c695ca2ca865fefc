"""What `convert` reads: round trips of every format, spans that cut tokens, and files that are broken."""

import csv
import gzip
import io
import itertools
import json
import random
import re
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.corpus import folder as corpora
from spacy_longtail.corpus.folder import convert_corpus, load_docs
from spacy_longtail.corpus.formats.context import MEANINGS, Context, Events, Settings
from spacy_longtail.corpus.formats.docbin import write_docs
from spacy_longtail.corpus.formats.sources import FORMATS, find_parts
from spacy_longtail.corpus.tokenizers import blank

NLP = spacy.blank("en")
QUICK = settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Sent(NamedTuple):
    words: list[str]
    ents: list[tuple[int, int, str]]  # token offsets, type


def sents(word, min_size=1):
    @st.composite
    def draw_one(draw):
        words = draw(st.lists(word, min_size=1, max_size=7))
        cuts = sorted(draw(st.sets(st.integers(0, len(words)), max_size=5)))
        ents = []
        for a, b in zip(cuts[::2], cuts[1::2]):
            ents.append((a, b, draw(st.sampled_from(["PER", "GEO", "ART-X", "人名"]))))
        if draw(st.booleans()):  # neighbours of one type
            ents = [(a, b, "PER") for a, b in itertools.pairwise(cuts)]
        return Sent(words, ents)

    return st.lists(draw_one(), min_size=min_size, max_size=6)


LETTERS = st.text("abcdefgäß", min_size=1, max_size=5)
ANYTHING = st.text(
    st.characters(codec="utf-8", exclude_categories=("Z", "C"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=5,
).filter(lambda w: not w.startswith("-DOCSTART-") and w.split() == [w])
WINDOWS = st.text("abcäöß€“”’é", min_size=1, max_size=5)


def texts(sent):
    """The sentence as text, and its spans in characters."""
    starts, at = [], 0
    for word in sent.words:
        starts.append(at)
        at += len(word) + 1
    text = " ".join(sent.words)
    return text, [(starts[a], starts[b - 1] + len(sent.words[b - 1]), t) for a, b, t in sent.ents]


def tags(sent, scheme="iob2"):
    found = ["O"] * len(sent.words)
    for a, b, label in sent.ents:
        if scheme in ("bioes", "bilou"):
            last, single = ("E", "S") if scheme == "bioes" else ("L", "U")
            found[a:b] = [f"I-{label}"] * (b - a)
            found[a], found[b - 1] = f"B-{label}", f"{last}-{label}"
            if b - a == 1:
                found[a] = f"{single}-{label}"
        else:
            found[a:b] = [f"I-{label}"] * (b - a)
            follows = any(end == a and t == label for _, end, t in sent.ents)
            if scheme == "iob2" or follows:
                found[a] = f"B-{label}"
    return found


def write(path, text, encoding="utf8", newline=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline=newline) as file:
        file.write(text)
    return path


def read(source, events=None, nlp=NLP, labels=(), **chosen):
    """Every document of a source that is one part."""
    (part,) = find_parts(source, ("train", "dev", "test"), Settings(**chosen)).values()
    return list(part.read(Context(nlp, Settings(**chosen), events or Events(), labels)))


def chars(doc):
    return doc.text, [(e.start_char, e.end_char, e.label_) for e in doc.ents]


def iob(doc):
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else t.ent_iob_ for t in doc]


# ---------------------------------------------------------------- columns and CSV


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "bioes", "bilou"])
@QUICK
@given(data=st.data(), found=sents(ANYTHING))
def test_columns_round_trip(scheme, data, found, tmp_path):
    encoding = data.draw(st.sampled_from(["utf8", "utf-8-sig", "utf-16"]))
    gap, end = data.draw(st.sampled_from("\t ")), data.draw(st.sampled_from(["\n", "\r\n"]))
    order = data.draw(st.permutations(["token", "x", "tag"]))
    text = ""
    for sent in found:
        for word, tag in zip(sent.words, tags(sent, scheme), strict=True):
            text += gap.join({"token": word, "x": "NN", "tag": tag}[c] for c in order) + end
        text += end * data.draw(st.integers(1, 2))
    if data.draw(st.booleans()):
        text = text.rstrip("\r\n")
    path = write(tmp_path / "a.conll", text, encoding)
    explicit = scheme == "iob1" or data.draw(st.booleans())
    docs = read(
        path,
        encoding="utf8" if encoding == "utf-8-sig" else encoding,
        scheme=scheme if explicit else "auto",
        token_column=order.index("token"),
        tag_column=order.index("tag") - 3,
    )
    assert [[t.text for t in d] for d in docs] == [s.words for s in found]
    assert [[(e.start, e.end, e.label_) for e in d.ents] for d in docs] == [
        sorted(s.ents) for s in found
    ]
    assert all(d.has_annotation("ENT_IOB", require_complete=True) for d in docs)
    assert all(d.has_unknown_spaces and d[0].is_sent_start for d in docs)
    assert all(not t.is_sent_start for d in docs for t in d[1:])


@pytest.mark.parametrize("encoding", ["utf8", "utf-16", "shift_jis", "ascii", "iso2022_jp"])
@pytest.mark.parametrize("n_before", [0, 3, 9000])  # more than Python decodes at a time
def test_bytes_that_are_not_the_encoding_are_named_by_line(encoding, n_before, tmp_path):
    good, bad, mark = "a\tO\r\n".encode(encoding), b"\xff\xff", b""
    if encoding == "utf-16":
        good, bad, mark = good[2:], b"\x00\xd8a\x00", good[:2]
    path = tmp_path / "a.iob"
    path.write_bytes(mark + good * n_before + bad + good * 3)
    with pytest.raises(ValueError, match=rf"L401.*a\.iob:{n_before + 1}: .*{encoding}"):
        read(path, encoding=encoding)


EXPORT = 'text,id,"label",annotator,annotation_id,created_at,lead_time\nAnn,1,,a,2,2026,3.2\n'
HEAD = "Sentence #,Word,POS,Tag\n"
FEW = {"token_column": 2}, {"tag_column": -3}
BROKEN_LINES = [  # file, text, settings, the place
    ("a.iob", "a\tO\nb\tI-X\n", {}, "2: tag 'I-X' after 'O'"),
    ("a.iob", "a\tI-X\n", {"scheme": "iob2"}, "1"),
    ("a.iob", "a\tB-X\nb\tI-Y\n", {}, "2"),
    ("a.iob", "a\tB-X\n\nb\tI-X\n", {}, "3"),
    ("a.iob", "a\tB-X\n\nb\tS-X\n", {}, "3: unknown tag 'S-X'"),
    ("a.iob", "a\tS-X\nb\tU-X\n", {}, "2: unknown tag 'U-X'"),
    ("a.iob", "a\tS-X\nb\tB-X\nc\tO\n", {}, "3: tag 'O' after 'B-X'"),
    ("a.iob", "a\tS-X\n\nb\tB-X\n\nc\tO\n", {}, "3"),
    ("a.iob", "a\tB-X\nb\tE-Y\n", {}, "2"),
    ("a.iob", "a\tS-X\nb\tE-X\n", {}, "2"),
    ("a.iob", "a\tS-X\nb\tI-X\n", {"scheme": "bioes"}, "2"),
    ("a.iob", "a\tU-X\nb\tB-X\nc\tU-X\n", {"scheme": "bilou"}, "3"),
    ("a.iob", "a\tS-X\n", {"scheme": "iob2"}, "1"),
    ("a.iob", "a\tB-X\n", {"scheme": "bilou"}, "1"),
    ("a.iob", "a\tO\n\nb\tB-\n", {}, "3: unknown tag 'B-'"),
    ("a.iob", "a\to\n", {}, "1: unknown tag 'o'"),
    ("a.iob", "a\t-X\n", {}, "1: unknown tag '-X'"),
    ("a.iob", "a\tO\nb\tO\tO\n", {}, "2"),
    ("a.iob", "a\tO\nb\n", {}, "2"),
    ("a.iob", "a\tO\n\tB-X\n", {}, "2"),
    ("a.iob", "a\tO\n\u3000\tB-X\n", {}, "2"),
    ("a.iob", "#FORMAT=WebAnno TSV 3.3\n\n", {}, "1: .*CoNLL 2002"),
    ("a.iob", EXPORT.replace(",", "\t"), {}, "1: .*JSON"),
    ("a.iob", "\n\na\tO\n", {"token_column": 2}, "3: .*--token-column is 2"),
    ("a.iob", "\n\na\tO\n", {"tag_column": -3}, "3: .*--tag-column is -3"),
    ("a.iob", "a\tO\n\n-DOCSTART-\tO\n\nb\tO\n", {"documents": True}, "1: .*--documents"),
    ("a.csv", "Word,Tag\n", {}, "1: .*Sentence #"),
    ("a.csv", "", {}, "1"),
    ("a.csv", HEAD + ",a,NN,O\n", {}, "2"),
    ("a.csv", HEAD + "1,a,NN\n", {}, "2: found 3 columns"),
    ("a.csv", HEAD + "1,a,NN,O\n,b,NN,I-X\n", {}, "3"),
    ("a.csv", HEAD + '1,"a\nb",NN,O\n,b,NN,Q\n', {}, "4: unknown tag 'Q'"),
    ("a.csv", HEAD + '1,"a"b,NN,O\n', {}, "2: this is no CSV"),
    ("a.csv", HEAD + '1,"a', {}, "2: this is no CSV"),
    ("a.csv", HEAD + "1,,NN,B-X\n", {}, "2"),
    ("a.csv", HEAD + "1," + "a" * 200_000 + ",NN,O\n", {}, "2: this is no CSV"),
    ("a.csv", EXPORT, {}, "1: .*JSON"),
]


@pytest.mark.parametrize(("name", "text", "chosen", "place"), BROKEN_LINES)
def test_a_broken_line_is_named(name, text, chosen, place, tmp_path):
    with pytest.raises(ValueError, match=rf"L401.*{name}:{place}"):
        read(write(tmp_path / name, text), **chosen)


def columns(tmp_path, text, **chosen):
    return read(write(tmp_path / "a.iob", text), **chosen)


def test_tokens_of_white_space_outside_entities_are_left_out(tmp_path):
    """As where somebody has written spaCy's tokens."""
    text = "New\u2028\tB-X\n \tI-X\nYork\tI-X\n\x85\tO\nis\tO\n\n\tO\n\nb\tO\n\n\tO\n"
    events = Events()
    docs = read(write(tmp_path / "a.iob", text), events)
    assert [[t.text for t in doc] for doc in docs] == [["New", "York", "is"], ["b"]]
    assert [ent.text for ent in docs[0].ents] == ["New York"]
    assert events.counts == {"blank": Counter(tokens=4)}


DOCUMENTS = "-DOCSTART- -X- O\n\na O\n\nb B-X\nc I-X\n\n-DOCSTART- -X- O\n-DOCSTART- -X- O\nd O\n"


def test_documents_between_marks(tmp_path):
    assert [d.text.split() for d in columns(tmp_path, DOCUMENTS)] == [["a"], ["b", "c"], ["d"]]
    docs = columns(tmp_path, DOCUMENTS, documents=True)
    assert [[s.text.split() for s in d.sents] for d in docs] == [[["a"], ["b", "c"]], [["d"]]]
    assert [iob(d) for d in docs] == [["O", "B-X", "I-X"], ["O"]]
    (doc,) = columns(tmp_path, "-DOCSTART- O\na B-X\n\nb B-X\n", documents=True)
    assert iob(doc) == ["B-X", "B-X"]  # no entity runs over sentences


def test_white_space_in_tokens(tmp_path):
    events = Events()
    (doc,) = read(write(tmp_path / "a.iob", "New York \tB-GEO\n10\u00a0000\tO\n x\tO\n"), events)
    assert [t.text for t in doc] == ["New York", "10\u00a0000", "x"]
    assert events.counts == {"spaced": Counter(tokens=2)}
    assert events.examples["spaced"][0] == "a.iob:1: 'New York'"
    read(write(tmp_path / "a.iob", "New York\tO\n" * 99), events)
    assert events.counts["spaced"]["tokens"] == 101 and len(events.examples["spaced"]) == 20
    (doc,) = columns(tmp_path, "10\u00a0000 O\n")  # between blanks as well
    assert doc[0].text == "10\u00a0000"


@QUICK
@given(found=sents(ANYTHING), every_row=st.booleans())
def test_kaggle_round_trip(found, every_row, tmp_path):
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["Sentence #", "Word", "POS", "Tag"])
    for i, sent in enumerate(found, 1):
        for j, (word, tag) in enumerate(zip(sent.words, tags(sent), strict=True)):
            rows.writerow([f"Sentence: {i}" if every_row or not j else "", word, "NN", tag])
    docs = read(write(tmp_path / "ner_dataset.csv", file.getvalue()))
    assert [[t.text for t in d] for d in docs] == [s.words for s in found]
    assert [[(e.start, e.end, e.label_) for e in d.ents] for d in docs] == [
        sorted(s.ents) for s in found
    ]


# ---------------------------------------------------------------- JSON


def prodigy(text, spans, with_tokens=False):
    record = {"text": text, "spans": [{"start": a, "end": b, "label": t} for a, b, t in spans]}
    record |= {"answer": "accept", "_input_hash": 1, "meta": {"x": 2}}
    if with_tokens:
        doc = NLP(text)
        record["tokens"] = [
            {"text": t.text, "start": t.idx, "end": t.idx + len(t), "id": t.i, "ws": bool(t.whitespace_)}
            for t in doc
        ]
    return record


def label_studio(text, spans):
    regions = [
        {"type": "labels", "value": {"start": a, "end": b, "text": text[a:b], "labels": [t]}, "id": "q"}
        for a, b, t in spans
    ]
    return {
        "id": 1,
        "data": {"text": text, "id": "3"},
        "annotations": [{"result": regions, "was_cancelled": False}],
    }


RECORDS = {
    "prodigy": prodigy,
    "prodigy_tokens": lambda text, spans: prodigy(text, spans, True),
    "doccano_label": lambda text, spans: {"id": 1, "text": text, "label": [list(s) for s in spans]},
    "doccano_labels": lambda text, spans: {"id": 1, "data": text, "labels": [list(s) for s in spans]},
    "doccano_entities": lambda text, spans: {
        "text": text,
        "relations": [],
        "entities": [{"id": 1, "label": t, "start_offset": a, "end_offset": b} for a, b, t in spans],
    },
    "generic": lambda text, spans: {
        "text": text,
        "entities": [{"start": a, "end": b, "label": t} for a, b, t in spans],
    },
    "type": lambda text, spans: {
        "text": text,
        "entities": [{"start": a, "end": b, "type": t} for a, b, t in spans],
    },
    "pipeline": lambda text, spans: {  # of Hugging Face
        "text": text,
        "entities": [
            {"entity_group": t, "score": 0.9, "word": "x", "start": a, "end": b} for a, b, t in spans
        ],
    },
    "annotations": lambda text, spans: {"text": text, "annotations": [list(s) for s in spans]},
    "ner_annotator": lambda text, spans: {
        "classes": ["PER"],
        "annotations": [[text, {"entities": [list(s) for s in spans]}]],
    },
    "label_studio": label_studio,
    "spacy_2": lambda text, spans: [text, {"entities": [list(s) for s in spans]}],
}


def dump(records, layout):
    if layout == "lines":
        return "\n".join(json.dumps(r, ensure_ascii=False) for r in records) + "\n"
    return json.dumps(
        records, indent=2 if layout == "indented" else None, ensure_ascii=layout == "array"
    )


@pytest.mark.parametrize("kind", sorted(RECORDS))
@pytest.mark.parametrize("layout", ["lines", "array", "indented"])
@QUICK
@given(found=sents(LETTERS))
def test_records_round_trip(kind, layout, found, tmp_path):
    expected = [texts(s) for s in found]
    path = write(tmp_path / "a.json", dump([RECORDS[kind](*e) for e in expected], layout))
    docs = read(path)
    assert [chars(d) for d in docs] == [(text, sorted(spans)) for text, spans in expected]
    assert not any(d.has_unknown_spaces for d in docs)


@QUICK
@given(
    text=st.text(st.characters(codec="utf-8", exclude_categories=()), min_size=1, max_size=30),
    data=st.data(),
)
def test_characters_keep_every_span(text, data, tmp_path):
    assume(text.strip())
    places = [i for i, c in enumerate(text) if not c.isspace()]
    a, b = sorted(data.draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    path = write(tmp_path / "a.jsonl", dump([RECORDS["generic"](text, [(a, b + 1, "X")])], "array"))
    found = {"tokens": "characters", "offsets": "characters"}
    (doc,) = read(path, nlp=blank("ja", "characters"), **found)
    assert chars(doc) == (text, [(a, b + 1, "X")])


def test_given_tokens_are_used_white_space_kept(tmp_path):
    text = "  ab  c\nd e "
    spans = [(2, 4), (4, 5), (6, 7), (8, 9), (10, 11)]
    record = prodigy(text, [(2, 3, "X")]) | {"tokens": [{"start": a, "end": b} for a, b in spans]}
    path = write(tmp_path / "a.jsonl", dump([record], "lines"))
    (doc,) = read(path)
    assert doc.text == text
    assert [t.text for t in doc] == ["  ", "ab", " ", "c", "\n", "d", "e"]
    (doc,) = read(path, nlp=blank("en", "characters"), tokens="characters")
    assert chars(doc) == (text, [(2, 3, "X")])


def broken(record):
    return lambda **change: {**record, **change}


GENERIC = broken(RECORDS["generic"]("abc def", []))
TASK = broken(label_studio("abc def", []))
MINIMAL = {"annotation_id": 3, "annotator": 1, "created_at": "2026-01-01", "lead_time": 1.5}


def region(**value):
    value = {"start": 0, "end": 3, "labels": ["X"], **value}
    return [{"result": [{"type": "labels", "value": value}]}]


def entity(*span):
    return GENERIC(entities=[list(span)])


BROKEN_RECORDS = [  # the record, and what the error names
    (3, "'3' instead of an object"),
    (GENERIC(text=None), "'None' is not text"),
    (GENERIC(text="a\ud800"), "surrogate"),
    (GENERIC(a="\ud800"), "surrogate"),
    ({"body": "abc", "spans": [[0, 3, "X"]]}, "no 'text', found the texts body.*--text-key"),
    ({"text": "abc"}, "spans, entities"),
    (GENERIC(entities="X"), "'X' as the list of spans"),
    (GENERIC(entities=["X"]), "'X' as a span"),
    (GENERIC(entities=[[0, 1]]), "as a span"),
    (GENERIC(entities=[{"label": "X"}]), "as a span"),
    (GENERIC(entities=[{"start": 0, "end": 3, "tag": "X"}]), "as a span"),
    (entity(0, 3, ""), "'' as its type"),
    (entity(0, 3, None), "None as its type"),
    (entity(0, 3, "\ud800"), "surrogate"),
    (entity("0", 3, "X"), "'0' to 3 'X'"),
    (entity(0.0, 3, "X"), "0.0 to 3 'X'"),
    (entity(True, 3, "X"), "True to 3 'X'"),
    (entity(-1, 3, "X"), "-1 to 3 'X' lies outside"),
    (entity(0, 8, "X"), "0 to 8 'X' lies outside"),
    (entity(3, 3, "X"), "3 to 3 'X' covers no text"),
    (entity(4, 3, "X"), "4 to 3 'X' covers no text"),
    (entity(3, 4, "X"), "3 to 4 'X' covers no text"),
    (TASK(data="abc"), "data"),
    (TASK(annotations={}), "annotations"),
    (TASK(annotations=[3]), "annotation '3'"),
    (TASK(data={"a": "x", "b": "y"}), "found the texts a, b"),
    (TASK(data={"a": 1}), "found the texts none"),
    (TASK(annotations=region(text="abd")), "'abd' but covers 'abc'"),
    (TASK(data={"text": "s3://b/a.txt"}, annotations=region(end=40)), "lies.*Put the text"),
    (MINIMAL | {"text": "abc", "ner": []}, "JSON-MIN"),
    *(
        (GENERIC(text="abc", tokens=tokens), "its tokens")
        for tokens in (
            [{"start": 0, "end": 1}],  # "c" is in none
            [{"start": 0, "end": 4}],
            [{"start": 0, "end": 2}, {"start": 1, "end": 3}],
            [{"start": 2, "end": 3}, {"start": 0, "end": 2}],
            [{"start": 0, "end": 3, "text": "abd"}],
            [{"start": 0, "end": 0}, {"start": 0, "end": 3}],
            [{"start": "0", "end": 3}],
            ["abc"],
            "abc",
            3,
        )
    ),
]


@pytest.mark.parametrize(("record", "text"), BROKEN_RECORDS)
def test_a_broken_record_is_named(record, text, tmp_path):
    with pytest.raises(ValueError, match=rf"L401.*a\.jsonl:1: .*{text}"):
        read(write(tmp_path / "a.jsonl", json.dumps(record) + "\n"))
    good = label_studio("abc", [])
    with pytest.raises(ValueError, match=rf"L401.*a\.json:record 2: .*{text}"):
        read(write(tmp_path / "a.json", f"[{json.dumps(good)},\n{json.dumps(record)}\n]"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ("{}{}", 1),
        ("\n\n[{},\n{}", 4),
        ("[{}\n{}]", 2),
        ("[{}]\n\n[", 3),
        ('[{"text": "a", "label": []},]', 1),
        ("[" * 100_000, 1),
        ("[{}," + '{"a":' * 100_000, 1),
        ('{"a":' * 100_000, 1),
        ('{"text": ' + "9" * 5000 + "}", 1),
        ("[NaN]", 1),
        ("nothing", 1),
    ],
)
def test_broken_json_is_named(text, line, tmp_path):
    with pytest.raises(ValueError, match=rf"L401.*a\.json:({line}|record 1): "):
        read(write(tmp_path / "a.json", text.replace("{}", json.dumps(GENERIC()))))


@pytest.mark.parametrize(
    ("text", "quote", "end"),
    [("ab  cd\nef", "ab cd\\nef", 9), (r"C:\new now", r"C:\new", 6)],
)
def test_quotes_are_compared_without_white_space(text, quote, end, tmp_path):
    """Label Studio folds double blanks and writes line ends as \\n, but not every such pair is one."""
    task = {"data": {"text": text}, "annotations": region(end=end, text=quote)}
    assert chars(read(write(tmp_path / "a.json", json.dumps([task])))[0]) == (text, [(0, end, "X")])


def test_what_was_not_accepted_is_counted(tmp_path):
    cancelled = {"result": [], "was_cancelled": True}
    task = label_studio("abc def", [(0, 3, "X")])
    relation = {"type": "relation", "from_id": "a"}
    records = [
        prodigy("abc", []) | {"answer": "reject"},
        prodigy("abc", []) | {"answer": "ignore"},
        prodigy("abc", [(0, 3, "X")]),
        {"text": "kept without spans", "answer": "accept"},
        {"text": " \n", "label": []},
        task | {"annotations": [cancelled, *task["annotations"], {"result": []}]},
        task | {"annotations": [cancelled]},
        task | {"annotations": []},
        task | {"annotations": [{"result": [*task["annotations"][0]["result"], relation]}]},
        task | {"annotations": region(labels=[])},
        task | {"data": {"body": "abc def", "n": 3}},
    ]
    events = Events()
    docs = read(write(tmp_path / "a.jsonl", dump(records, "lines")), events)
    assert [len(d.ents) for d in docs] == [1, 0, 1, 1, 0, 1]
    assert events.counts == {
        "rejected": Counter(reject=1, ignore=1),
        "empty": Counter(records=1),
        "cancelled": Counter(annotations=2),
        "further": Counter(annotations=1),
        "unlabelled": Counter(records=2),
        "ignored": Counter(relation=1),
        "unreadable": Counter(labels=1),
    }
    assert set(events.counts) <= set(MEANINGS)


@pytest.mark.parametrize("kind", ["labels", "hypertextlabels", "htmllabels"])
def test_regions_of_html_count_in_the_text_that_a_browser_shows(kind, tmp_path):
    page = "<div><p>Ann &amp; Bo<br>saw <b>Ro</b>me</p></div>"
    places = [(0, 3, "PER"), (6, 8, "PER"), (13, 17, "GEO")]
    values = [
        {"start": "/p[1]", "end": "/p[1]", "globalOffsets": {"start": a, "end": b}, kind: [label]}
        for a, b, label in places
    ]
    values[2]["text"] = "Rome"
    task = {
        "data": {"text": page},
        "annotations": [{"result": [{"type": kind, "value": v} for v in values]}],
    }
    empty = {"data": {"text": "<p>Nobody</p>"}, "annotations": [{"result": []}]}
    events = Events()
    docs = read(write(tmp_path / "a.json", dump([task, empty], "array")), events)
    shown = ("Ann & Bo\nsaw Rome", places)
    assert [chars(doc) for doc in docs] == [shown, ("Nobody", [])]
    assert events.counts == {"html": Counter(records=2)}


@pytest.mark.parametrize(
    ("kind", "value", "name"),
    [
        ("htmllabels", {"start": "/p[1]", "htmllabels": ["X"]}, "htmllabels without globalOffsets"),
        ("paragraphlabels", {"start": "0", "paragraphlabels": ["X"]}, "paragraphlabels"),
        ("labels", {"start": 0, "end": 3}, "labels"),
        ("text", {"start": 0, "end": 3}, "text"),
    ],
)
def test_regions_that_cannot_be_read_are_refused_by_name(kind, value, name, tmp_path):
    task = {"data": {"text": "Ann"}, "annotations": [{"result": [{"type": kind, "value": value}]}]}
    path = write(tmp_path / "a.json", dump([task], "array"))
    with pytest.raises(ValueError, match=rf"L700.*\({name} 1\), as a\.json:record 1"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    convert_corpus(path, tmp_path / "out", settings=Settings(allow=True))


def test_texts_that_nobody_annotated_stand_as_null_in_ner_annotators_file(tmp_path):
    pair, events = ["Ann", {"entities": [[0, 3, "PER"]]}], Events()
    (doc,) = read(write(tmp_path / "a.json", json.dumps({"annotations": [None, pair]})), events)
    assert chars(doc) == ("Ann", [(0, 3, "PER")])
    assert events.counts == {"unlabelled": Counter(records=1)}
    path = write(tmp_path / "b.json", json.dumps({"annotations": [pair, 3]}))
    with pytest.raises(ValueError, match=r"L401.*b\.json:1, record 2: .*found '3'"):
        read(path)


WIDE = "🚒🧯 The crew of Oslo met Ann 🐳 at Li ."


def counted(unit, text=WIDE, words=("Oslo", "Ann", "Li")):
    """A record whose offsets count in a unit."""
    places = [(text.index(word), text.index(word) + len(word)) for word in words]
    if unit == "utf-16":
        places = [[len(text[:at].encode("utf-16-le")) // 2 for at in place] for place in places]
    return {"text": text, "label": [[*place, "X"] for place in places]}


@pytest.mark.parametrize("unit", ["characters", "utf-16"])
@pytest.mark.parametrize("layout", ["lines", "array"])  # an array escapes them
def test_what_offsets_count_is_found(unit, layout, tmp_path):
    events = Events()
    path = write(tmp_path / "a.json", dump([counted(unit), counted(unit, "Ann left", ["Ann"])], layout))
    docs = read(path, events)
    assert [e.text for doc in docs for e in doc.ents] == ["Oslo", "Ann", "Li", "Ann"]
    assert events.counts == ({"utf16": Counter(X=3)} if unit == "utf-16" else {})
    assert [e.text for e in read(path, offsets=unit)[0].ents] == ["Oslo", "Ann", "Li"]
    with pytest.raises(ValueError, match=r"L420.*--offsets"):
        read(write(tmp_path / "c.jsonl", '{"tokens": ["a"], "ner_tags": ["O"]}'), offsets=unit)


def test_offsets_that_may_count_either_are_told(tmp_path):
    record = counted("utf-16", "🚒東京に行く", ["京"])
    said = write(tmp_path / "said.jsonl", json.dumps(record | {"offsets": "utf-16"}))  # as `mine` does
    (doc,) = read(said, nlp=blank("ja", "characters"), tokens="characters")
    assert doc.ents[0].text == "京" and not doc.user_data
    path = write(tmp_path / "a.jsonl", json.dumps(record))
    with pytest.warns(UserWarning, match=r"LW030.*a\.jsonl.*--offsets utf-16"):
        read(path, nlp=blank("ja", "characters"), tokens="characters")


def test_a_corpus_that_loses_annotations_is_refused_with_counts(tmp_path):
    row = {"text": "Annes saw Rome", "label": [[10, 14, "GEO"]]}
    lost = row | {"label": [[0, 3, "PER"], [10, 14, "GEO"], [10, 14, "CITY"]]}
    path = write(tmp_path / "a.jsonl", dump([row, lost], "lines"))
    with pytest.raises(ValueError, match=r"L700.* 2 of 4 .*\(PER 1\), as a\.jsonl:2: PER.*\(CITY 1\)"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    path = write(tmp_path / "b.jsonl", dump([row] * 37 + [lost], "lines"))  # a twentieth
    convert_corpus(path, tmp_path / "out")
    none = write(tmp_path / "c.iob", "Ann\tO\n")
    with pytest.raises(ValueError, match=r"L700.*c\.iob"):
        convert_corpus(none, tmp_path / "out")
    convert_corpus(none, tmp_path / "out2", settings=Settings(allow=True))


def test_each_annotation_of_a_task_may_be_a_document(tmp_path):
    task = label_studio("abc def", [(0, 3, "X")])
    cancelled = {"result": [], "was_cancelled": True}
    own = {"annotations": [*task["annotations"], cancelled, {"result": []}, *region(start=4, end=7)]}
    path, events = write(tmp_path / "a.json", dump([task | own], "array")), Events()
    docs = read(path, events, every_annotation=True)
    assert [chars(doc)[1] for doc in docs] == [[(0, 3, "X")], [], [(4, 7, "X")]]
    assert events.counts == {"cancelled": Counter(annotations=1)}
    assert [chars(doc)[1] for doc in read(path)] == [[(0, 3, "X")]]


@pytest.mark.parametrize("kind", ["prodigy", "doccano_label", "label_studio"])
def test_the_text_may_have_another_key(kind, tmp_path):
    record = RECORDS[kind]("abc", [(0, 3, "X")])
    inner = record["data"] if kind == "label_studio" else record
    inner |= {"body": inner.pop("text"), "title": "T"}
    path = write(tmp_path / "a.jsonl", json.dumps(record))
    (doc,) = read(path, text_key="body")
    assert chars(doc) == ("abc", [(0, 3, "X")])
    assert doc.user_data["title"] == "T" and "body" not in doc.user_data
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: .*no 'corpus', found the texts .*body"):
        read(path, text_key="corpus")
    with pytest.raises(ValueError, match=r"L420.*--text-key"):
        read(write(tmp_path / "b.jsonl", '{"tokens": ["a"], "ner_tags": ["O"]}'), text_key="body")


@pytest.mark.parametrize("other", [[], None, "PER"])
def test_an_empty_list_does_not_hide_another(other, tmp_path):
    """As where an export has a key for each of several tools."""
    record = {"text": "abc", "spans": other, "entities": [[0, 3, "X"]]}
    (doc,) = read(write(tmp_path / "a.jsonl", json.dumps(record)))
    assert chars(doc) == ("abc", [(0, 3, "X")])


def test_single_decisions_say_nothing_of_other_tokens(tmp_path):
    records = [
        prodigy("Ann saw Rome", [(0, 3, "PER")]),
        prodigy("Ann saw Rome", [(4, 7, "PER"), (8, 10, "GEO")]) | {"answer": "reject"},
        prodigy("Ann saw Rome", [(0, 3, "PER")]) | {"answer": "ignore"},
        prodigy("Ann saw Rome", []) | {"answer": "reject"},
        prodigy("Ann saw Rome", []),
    ]
    path, events = write(tmp_path / "a.jsonl", dump(records, "lines")), Events()
    convert_corpus(path, tmp_path / "out", settings=Settings(decisions=True, allow=True))
    right, wrong = load_docs(tmp_path / "out" / "all.spacy", NLP)
    assert [t.ent_iob_ for t in right] == ["B", "", ""] and right.ents[0].label_ == "PER"
    assert [t.ent_iob_ for t in wrong] == ["", "", ""]
    assert [(s.text, s.label_) for s in wrong.spans["incorrect_spans"]] == [("saw", "PER")]
    read(path, events, decisions=True)
    assert {k: dict(v) for k, v in events.counts.items()} == {
        "incorrect": {"PER": 1},
        "misaligned": {"GEO": 1},
        "rejected": {"ignore": 1},
        "unlabelled": {"records": 2},
    }
    assert set(events.counts) <= set(MEANINGS)
    report = json.loads((tmp_path / "out" / "conversion.json").read_text())["parts"]["all"]
    assert report["events"]["incorrect"] == {"PER": 1}
    with pytest.raises(ValueError, match=r"L401.*b\.jsonl:1: .*no answer.*--decisions"):
        read(write(tmp_path / "b.jsonl", json.dumps(RECORDS["generic"]("abc", []))), decisions=True)
    with pytest.raises(ValueError, match=r"L420.*--decisions"):
        read(write(tmp_path / "c.jsonl", '{"tokens": ["a"], "ner_tags": ["O"]}'), decisions=True)


def test_nothing_accepted_says_what_was_left_out(tmp_path):
    path = write(tmp_path / "a.jsonl", dump([prodigy("abc", []) | {"answer": "reject"}], "lines"))
    with pytest.raises(ValueError, match=r"L403.*a\.jsonl.*reject 1"):
        read(path)
    with pytest.raises(ValueError, match=r"L403.*b\.json"):
        read(write(tmp_path / "b.json", "[\n]"))


def test_plain_values_beside_the_text_are_kept(tmp_path):
    """`split --group-by` keeps texts together that share one."""
    records = [
        prodigy("abc", []) | {"meta": {"source": "x", "score": 0.5, "page": 3}, "_task_hash": 7},
        RECORDS["doccano_label"]("abc", []) | {"article": "y", "big": 2**64, "none": None, "note": ""},
        label_studio("abc", []) | {"data": {"text": "abc", "ref": "z", "id": 1, "n": 4}},
        label_studio("abc", []) | {"data": {"body": "abc", "n": 4}},
    ]
    docs = read(write(tmp_path / "a.jsonl", dump(records, "lines")))
    expected = [{"source": "x", "page": 3}, {"article": "y"}, {"ref": "z", "n": 4}, {"n": 4}]
    assert [d.user_data for d in docs] == expected


# ---------------------------------------------------------------- spans on tokens


def spanned(text, *spans):
    return RECORDS["generic"](text, spans)


def annotated(tmp_path, text, *spans, misaligned=None):
    events = Events()
    path = write(tmp_path / "a.jsonl", dump([spanned(text, *spans)], "lines"))
    (doc,) = read(path, events, misaligned=misaligned)
    return doc, events


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, ["O", "", "", "O", "O"]),
        ("missing", ["O", "", "", "O", "O"]),
        ("expand", ["O", "B-X", "I-X", "O", "O"]),
        ("contract", ["O", "O", "B-X", "O", "O"]),
    ],
)
def test_policies_of_misaligned_spans(policy, expected, tmp_path):
    doc, events = annotated(tmp_path, "an apple tree grew .", (4, 13, "X"), misaligned=policy)
    assert iob(doc) == expected
    assert events.counts == {"misaligned": Counter(X=1)}
    assert events.examples["misaligned"] == ["a.jsonl:1: X in an a[pple tree] grew ."]


def test_misaligned_spans_can_be_refused(tmp_path):
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: X in an a\[pple\] tree"):
        annotated(tmp_path, "an apple tree", (4, 8, "X"), misaligned="error")


def test_a_span_with_no_token_inside_cannot_contract(tmp_path):
    doc, _ = annotated(tmp_path, "an apple tree", (4, 7, "X"), misaligned="contract")
    assert iob(doc) == ["O", "", "O"]
    doc, _ = annotated(tmp_path, "ab \n\n cd", (1, 8, "X"), misaligned="contract")
    assert iob(doc)[-1] == "B-X"
    doc, _ = annotated(tmp_path, "ab \n\n cd", (1, 7, "X"), misaligned="contract")
    assert set(iob(doc)) == {""}


def test_of_overlapping_spans_the_longest_is_kept(tmp_path):
    doc, events = annotated(
        tmp_path,
        "a b c d e f",
        (4, 7, "X"),
        (0, 5, "Y"),
        (6, 7, "Z"),
        (8, 11, "X"),
        (8, 11, "X"),
        (8, 11, "W"),
    )
    assert iob(doc) == ["B-Y", "I-Y", "I-Y", "B-Z", "B-X", "I-X"]
    assert events.counts == {
        "overlapping": Counter(X=1),
        "repeated": Counter(X=1),
        "doubled": Counter(W=1),  # no longer one
    }
    doc, events = annotated(tmp_path, "a b c d e", (0, 5, "X"), (4, 7, "Y"))
    assert iob(doc) == ["B-X", "I-X", "I-X", "", "O"]  # "d" was in an entity
    doc, _ = annotated(tmp_path, "a b c d e", (0, 3, "X"), (2, 7, "Y"))  # the longest comes later
    assert iob(doc) == ["", "B-Y", "I-Y", "I-Y", "O"]


def test_white_space_at_the_ends_of_spans_is_trimmed(tmp_path):
    doc, events = annotated(tmp_path, "in Rome today", (2, 8, "X"))
    assert chars(doc)[1] == [(3, 7, "X")]
    assert events.counts == {"trimmed": Counter(X=1)}


@QUICK
@given(
    data=st.data(),
    sent=sents(st.text("ab'.,-", min_size=1, max_size=4)),
    policy=st.sampled_from(["missing", "expand", "contract"]),
)
def test_no_span_is_lost_in_silence(data, sent, policy, tmp_path):
    """Every span is an entity with its ends, or counted; and no token that it touches is O, unless contracted."""
    text = " ".join(w for s in sent for w in s.words)
    place = st.sampled_from([i for i, c in enumerate(text) if c != " "])
    spans = data.draw(st.lists(st.tuples(place, place).map(sorted), max_size=5))
    spans = [(a, b + 1, "X") for a, b in spans]
    doc, events = annotated(tmp_path, text, *spans, misaligned=policy)
    found = chars(doc)[1]
    n_counted = sum(events.counts[k].total() for k in ("misaligned", "overlapping", "repeated"))
    exact = [s for s in dict.fromkeys(spans) if s in found]
    assert len(spans) <= len(exact) + n_counted
    touched = {t.i for t in doc for a, b, _ in spans if t.idx < b and t.idx + len(t) > a}
    outside = {t.i for t in doc if t.ent_iob_ == "O"}
    assert set(range(len(doc))) - touched <= outside
    if policy != "contract":
        assert not touched & outside


# ---------------------------------------------------------------- brat


@QUICK
@given(found=sents(LETTERS), end=st.sampled_from(["\n", "\r\n"]))
def test_brat_round_trip(found, end, tmp_path):
    expected = []
    for i, sent in enumerate(found):
        text, spans = texts(sent)
        text = f"{text}{end}last line{end}"
        write(tmp_path / "b" / f"{i}.txt", text)
        ann = "".join(f"T{j}\t{t} {a} {b}\t{text[a:b]}\n" for j, (a, b, t) in enumerate(spans, 1))
        write(tmp_path / "b" / f"{i}.ann", ann + "R1\tloves Arg1:T1 Arg2:T2\n")
        expected.append((text, sorted(spans)))
    events = Events()
    docs = read(tmp_path / "b", events)
    assert [chars(d) for d in docs][: len(found)] == expected
    for path in (tmp_path / "b").iterdir():
        path.unlink()
    assert events.counts == {"ignored": Counter(relations=len(found))}


def brat(tmp_path, text, ann):
    write(tmp_path / "a.txt", text)
    write(tmp_path / "a.ann", ann)
    events = Events()
    return read(tmp_path / "a.txt", events), events


def test_what_brat_has_beside_entities(tmp_path):
    ann = (
        "T1\tDis 0 4;15 21\tleft cancer\nT2\tDis 9 21\tright cancer\nT3\tDis 9 14\tright\n"
        "T4\tOrg 22 25;26 29\tthe end\nE1\tX:T1 A:T2\nA1\tNeg T1\nM1\tNeg T1\nN1\tReference T1 x:1\ty\n"
        "#1\tAnnotatorNotes T1\tno\n*\tEquiv T1 T2\n\n"
    )
    (doc,), events = brat(
        tmp_path, "left and right cancer\nthe\nend", ann.replace("22 25;26 29", "22 25;26 29")
    )
    assert iob(doc) == ["", "O", "B-Dis", "I-Dis", "O", "B-Org", "I-Org", "I-Org"]
    assert events.counts == {
        "discontinuous": Counter(Dis=1),
        "overlapping": Counter(Dis=1),
        "ignored": Counter(events=1, attributes=2, normalizations=1, notes=1, equivalences=1),
    }
    assert events.examples["discontinuous"] == ["a.ann:1: Dis 'left cancer'"]


@pytest.mark.parametrize(
    "line",
    [
        "T1 Dis 0 4 left",
        "T1\tDis 0\tleft",
        "T1\tDis 0 4",
        "T1\tDis 0 4;\tleft",
        "T1\tDis 0 x\tleft",
        "T1\tDis 0 " + "9" * 5000 + "\tleft",
        "Q1\tDis 0 4\tleft",
        "T1\tDis 0 99\tleft",
        "T1\tDis 4 0\tleft",
        "T1\tDis 0 4\tright",
        "T1\tDis 0 4;9 14\tleft and",
        "T1\tDis 0 4;9 99\tleft right",
    ],
)
def test_broken_annotations_are_named(line, tmp_path):
    with pytest.raises(ValueError, match=r"L401.*a\.ann:2: "):
        brat(tmp_path, "left and right cancer", f"R1\tx\n{line}\n")


def test_line_ends_that_count_as_one_character(tmp_path):
    """As where a program read the text that brat's server counts as it is."""
    text = "Ann left.\nIn Oslo\nBo stayed there.\n"
    ann = "".join(
        f"T{i}\tX {text.index(word)} {text.index(word) + len(word)}\t{word}\n"
        for i, word in enumerate(("Ann", "Oslo", "stayed"), 1)
    )
    (doc,), events = brat(tmp_path, text.replace("\n", "\r\n"), ann)
    assert [e.text for e in doc.ents] == ["Ann", "Oslo", "stayed"]
    assert events.counts == {"folded": Counter(files=1)}


def test_brat_files_come_in_pairs(tmp_path):
    write(tmp_path / "b" / "1.txt", "abc")
    write(tmp_path / "b" / "1.ann", "")
    write(tmp_path / "b" / "2.txt", "abc")
    with pytest.raises(ValueError, match=r"L402.*2\.ann does not exist"):
        read(tmp_path / "b")
    (tmp_path / "b" / "2.txt").rename(tmp_path / "b" / "2.ann")
    with pytest.raises(ValueError, match=r"L402.*2\.txt does not exist"):
        read(tmp_path / "b")
    write(tmp_path / "b" / "2.txt", " \n")
    write(tmp_path / "b" / "2.ann", "")
    events = Events()
    assert len(read(tmp_path / "b", events)) == 1
    assert events.counts == {"empty": Counter(files=1)}


# ---------------------------------------------------------------- articles


@QUICK
@given(found=sents(LETTERS))
def test_articles_round_trip(found, tmp_path):
    lines = ["title: T", "kind: k", ""]
    for sent in found:
        words = list(sent.words)
        for a, b, label in sent.ents:
            words[a] = f"[{words[a]}"
            words[b - 1] += f"|{label}]"
        lines.append(" ".join(words))
    path = write(tmp_path / "a.txt", "\n".join(lines) + "\n")
    (doc,) = read(path, labels=["PER", "GEO", "ART-X", "人名"])
    assert [s.text for s in doc.sents] == [" ".join(s.words) for s in found]
    expected = [(text[a:b], t) for text, spans in map(texts, found) for a, b, t in sorted(spans)]
    assert [(e.text, e.label_) for e in doc.ents] == expected


@pytest.mark.parametrize(
    "line",
    [
        *("[Ana|PER sat.", "Ana|PER] sat.", "[Ana|XYZ] sat.", "[Ana [Lisbon|GEO] Sá|PER] sat."),
        *("[ Ana|PER] sat.", "[|PER] sat.", "Ana | Sá", "[Ana] sat.", "The [Lisb|GEO]oners left."),
    ],
)
def test_bad_markup_is_named(line, tmp_path):
    path = write(tmp_path / "a.txt", f"title: T\nkind: note\n\nFine.\n{line}\n")
    with pytest.raises(ValueError, match=r"L401.*a\.txt:5: "):
        read(path, labels=["PER", "GEO"], misaligned="error")


@pytest.mark.parametrize(
    ("text", "code"),
    [("title: T\n", "L401"), ("title: T\nkind: x\n\n", "L403"), ("title: ", "L401")],
)
def test_bad_articles(text, code, tmp_path):
    with pytest.raises(ValueError, match=code):
        read(write(tmp_path / "a.txt", text))


# ---------------------------------------------------------------- .spacy


def docs_of(found, nlp=NLP):
    docs = []
    for i, sent in enumerate(found):
        doc = Doc(nlp.vocab, words=sent.words, spaces=[True] * len(sent.words))
        doc.set_ents([Span(doc, a, b, t) for a, b, t in sent.ents])
        if i % 2:
            doc.user_data["title"] = f"t{i}"
            doc.spans["x"] = [doc[:1]]
            doc.cats = {"c": 0.5}
        docs.append(doc)
    return docs


@QUICK
@given(found=sents(ANYTHING))
def test_written_files_hold_what_spacy_writes(found, tmp_path):
    docs = docs_of(found)
    tally = write_docs(tmp_path / "ours.spacy", iter(docs))
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "theirs.spacy")
    ours, theirs = (load_docs(tmp_path / f"{n}.spacy", spacy.blank("xx")) for n in ("ours", "theirs"))
    assert [d.to_bytes() for d in ours] == [d.to_bytes() for d in theirs]
    assert tally.documents == len(found) and tally.tokens == sum(len(s.words) for s in found)
    assert tally.mentions == Counter(t for s in found for *_, t in s.ents)


def test_illegal_entities_are_mended_and_counted(tmp_path):
    x, y = (NLP.vocab.strings.add(t) for t in "XY")
    cases = {  # codes and types to tags
        ((1, 1, 2, 3, 1), (x, x, 0, x, y)): ["B-X", "I-X", "O", "B-X", "B-Y"],
        ((3, 1, 1, 2, 2), (0, 0, x, 0, 0)): ["", "", "B-X", "O", "O"],
        ((2, 3, 2, 2, 2), (0, 0, 0, 0, 0)): ["O", "", "O", "O", "O"],
    }
    events = Events()
    docs = []
    for codes, types in cases:
        docs.append(Doc(NLP.vocab, words=list("abcde")))
        docs[-1].from_array(["ENT_IOB", "ENT_TYPE"], np.array([codes, types], dtype="uint64").T)
    DocBin(docs=docs).to_disk(tmp_path / "a.spacy")
    assert [iob(d) for d in read(tmp_path / "a.spacy", events)] == list(cases.values())
    assert events.counts == {"mended": Counter({"begun with I": 3, "without a type": 2})}


def test_white_space_in_entities_is_trimmed(tmp_path):
    doc = Doc(
        NLP.vocab, words=["\n", "a", "\n", "b", " ", "c", "\n"], ents=["B-X", *["I-X"] * 4, "O", "B-X"]
    )
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    events = Events()
    (again,) = read(tmp_path / "a.spacy", events)
    assert iob(again) == ["O", "B-X", "I-X", "I-X", "O", "O", "O"]
    assert events.counts == {"trimmed": Counter(X=2)}


def test_documents_without_annotation_are_reported_and_kept(tmp_path):
    bare = Doc(NLP.vocab, words=["a"])
    done = Doc(NLP.vocab, words=["b"], ents=["O"])
    DocBin(docs=[bare, done, Doc(NLP.vocab)]).to_disk(tmp_path / "a.spacy")
    events = Events()
    again = read(tmp_path / "a.spacy", events)
    assert [d.has_annotation("ENT_IOB") for d in again] == [False, True]
    assert events.counts == {"unannotated": Counter(documents=1), "empty": Counter(documents=1)}


# ---------------------------------------------------------------- open types


ROWS = [["a", ["New", "York", "Times", "of", "New", "York", "\xa0", "."]], ["b", ["So", "be", "it"]]]


def numbered(folder, annotation, rows=ROWS):
    write(folder / "ann00.txt", annotation)
    return write(folder / "sents.json", json.dumps(rows))


def levels(doc):
    return [(e.start, e.end, e.label_) for e in doc.ents]


def test_open_types_in_marks(tmp_path):
    text = "domain: d\n\n[Ann|poet; person] saw [Rome|city].\nNobody left.\n"
    first, second = read(write(tmp_path / "a.txt", text))
    assert levels(first) == [(0, 1, "poet; person"), (2, 3, "city")] and not second.ents


def test_open_types_by_number_stand_in_all_places_that_no_longer_mention_takes(tmp_path):
    line = "0\tNew York => city; place | New York Times => newspaper; work | . => mark\n"
    events = Events()
    (doc,) = read(numbered(tmp_path, line), events)
    assert levels(doc) == [(0, 3, "newspaper; work"), (4, 6, "city; place"), (6, 7, "mark")]
    assert {kind: n.total() for kind, n in events.counts.items()} == {"blank": 1}
    twice = "0\tNew York => city; place | New York => state; place\n1\t-\n"
    assert levels(read(numbered(tmp_path, twice))[0]) == [(0, 2, "city; place"), (4, 6, "state; place")]


def test_mentions_that_a_sentence_does_not_have_are_lost(tmp_path):
    events = Events()
    numbered(tmp_path / "in", "0\tNew york => city; place | Times => newspaper; work\n")
    read(tmp_path / "in" / "sents.json", events)
    assert events.counts["absent"] == {"city; place": 1}
    assert events.examples["absent"][0].startswith("ann00.txt:1: 'New york' in 'New York Times")
    with pytest.raises(ValueError, match=r"L700.*1 of 2 annotations.*ann00\.txt:1"):
        convert_corpus(tmp_path / "in", tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        *(("zero\tTimes => a; b", "L401"), ("0 Times => a; b", "L401"), ("2\t-", "L401")),
        *(("0\t-\n0\t-", "L401"), ("0\tTimes = a; b", "L401"), ("0\tTimes => a; b; c", "L401")),
        *(("0\tTimes => ; b", "L401"), ("0\tTimes => $; b", "L550")),
    ],
)
def test_broken_lines_of_open_types(line, code, tmp_path):
    with pytest.raises(ValueError, match=rf"{code}.*ann00\.txt:{1 + line.count(chr(10))}"):
        read(numbered(tmp_path, line))


@pytest.mark.parametrize("rows", ["{", "{}", "[[1]]", '[["a", [1]]]', '[["a", "b"]]'])
def test_broken_sentences_of_open_types(rows, tmp_path):
    path = numbered(tmp_path, "0\t-\n")
    write(path, rows)
    with pytest.raises(ValueError, match=r"L401.*(sents\.json|ann00\.txt):1"):
        read(path)
    (tmp_path / "ann00.txt").unlink()
    write(path, "[]")
    with pytest.raises(ValueError, match=r"L402.*ann\*\.txt"):
        read(path)


# ---------------------------------------------------------------- broken files of every format


def valid(folder):
    """A small valid source of every format."""
    found = [
        Sent(["Ann", "saw", "New", "Rome", "."], [(0, 1, "PER"), (2, 4, "GEO")]),
        Sent(["So", "did", "I"], []),
    ] * 3
    pairs = [texts(s) for s in found]
    rows = "".join("".join(f"{w}\t{t}\n" for w, t in zip(s.words, tags(s))) + "\n" for s in found)
    ends = "".join(
        "".join(f"{w} x {t}\n" for w, t in zip(s.words, tags(s, "bioes"))) + "\n" for s in found
    )
    cells = HEAD + "".join(
        f"{'' if j else i},{w},NN,{t}\n"
        for i, s in enumerate(found, 1)
        for j, (w, t) in enumerate(zip(s.words, tags(s)))
    )
    article = "title: T\nkind: k\n\n[Ann|PER] saw [New Rome|GEO].\n\nSo did I.\n"
    files = {
        "iob": write(folder / "iob" / "a.iob", rows),
        "bioes": write(folder / "bioes" / "a.conll", ends),
        "csv": write(folder / "csv" / "a.csv", cells),
        "article": write(folder / "article" / "a.txt", article),
        "corpus": write(folder / "article" / "corpus.json", '{"labels": ["PER", "GEO"]}'),
        "brat": write(folder / "brat" / "a.txt", pairs[0][0]),
        "ann": write(
            folder / "brat" / "a.ann", "T1\tPER 0 3\tAnn\nT2\tGEO 8 11;12 16\tNew Rome\nR1\tx\n"
        ),
        "spacy": folder / "spacy" / "a.spacy",
        "open": write(
            folder / "open" / "a.txt", "domain: d\n\n[Ann|poet; person] saw [Rome|city; place].\nSo.\n"
        ),
        "rows": write(folder / "rows" / "sents.json", json.dumps([["d", s.words] for s in found])),
        "lines": write(
            folder / "rows" / "ann00.txt", "0\tAnn => poet; person | New Rome => city; place\n1\t-\n"
        ),
    }
    for kind, make in RECORDS.items():
        files[kind] = write(folder / kind / "a.jsonl", dump([make(*p) for p in pairs], "lines"))
        files[f"{kind}_array"] = write(
            folder / f"{kind}_array" / "a.json", dump([make(*p) for p in pairs], "indented")
        )
    units = "".join(
        "".join(
            f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t{'_' if t == 'O' else f'NE={t}'}\n"
            for i, (w, t) in enumerate(zip(s.words, tags(s)), 1)
        )
        + "\n"
        for s in found
    )
    files["conllu"] = write(folder / "conllu" / "a.conllu", units)
    files["gz"] = folder / "gz" / "a.jsonl.gz"
    (folder / "gz").mkdir()
    files["gz"].write_bytes(gzip.compress(files["generic"].read_bytes()))
    (folder / "spacy").mkdir()
    DocBin(docs=docs_of(found), store_user_data=True).to_disk(files["spacy"])
    return files


PIECES = [*b'\x00\xff\t\n "[]{,9\\', *"é".encode()]


def mutate(content, rng):
    """A few bytes or lines changed, dropped, doubled or swapped."""
    for _ in range(rng.randint(1, 3)):
        at, lines = rng.randrange(len(content) + 1), content.split(b"\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        content = rng.choice(
            [
                content[:at] + content[at + rng.randint(1, 4) :],
                content[:at] + bytes([rng.choice(PIECES)]) + content[at:],
                content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :],
                content[:at],
                b"\n".join([*lines[:i], lines[j], *lines[i + 1 :]]),
                b"\n".join([*lines[:i], lines[j], *lines[i:]]),
                b"\n".join([*lines[:i], *lines[i + 1 :]]),
            ]
        )
    return content


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return valid(tmp_path_factory.mktemp("valid"))


N_MUTANTS = 25
N_KINDS = 13 + 2 * len(RECORDS)


def test_every_valid_source_is_read(sources, tmp_path):
    assert len(sources) == N_KINDS
    assert {
        f for p in sources.values() for f in [find_parts(p.parent, (), Settings())["all"].format]
    } == set(FORMATS)
    for kind, path in sources.items():
        labels = convert_corpus(path.parent, tmp_path / kind).labels
        if kind in ("open", "rows", "lines"):
            assert labels == []
        else:
            assert labels == ["GEO", "PER"] or kind in ("article", "corpus")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start", "text", "x"]), inner)
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("kind", sorted(RECORDS))
@QUICK
@given(data=st.data())
def test_records_with_values_of_another_kind(kind, data, tmp_path):
    """Any value of a record replaced by any other: read, or refused with file and line."""
    record = json.loads(json.dumps(RECORDS[kind]("Ann saw Rome", [(0, 3, "PER"), (8, 12, "GEO")])))
    places, open_ = [], [record]
    while open_:
        node = open_.pop()
        keys = range(len(node)) if isinstance(node, list) else sorted(node)
        places += [(node, key) for key in keys]
        open_ += [node[key] for key in keys if isinstance(node[key], (dict, list))]
    node, key = places[data.draw(st.integers(0, len(places) - 1))]
    node[key] = data.draw(VALUES)
    path = write(tmp_path / "a.jsonl", json.dumps(record) + "\n")
    try:
        problem = str(read(path))
    except ValueError as error:
        place = re.escape(str(path))
        problem = re.sub(rf"^\[L(4\d|58)\d\] {place}", "coded", str(error))
        problem = re.sub(rf"^\[L550\] .* cannot be a type at {place}:1", "coded", problem)
    assert problem.startswith(("coded", "["))
    assert not problem.startswith("[L")


@pytest.mark.parametrize("i_kind", range(N_KINDS))
def test_broken_files_give_coded_errors_and_nothing_else(i_kind, sources, tmp_path, monkeypatch):
    kind = sorted(sources)[i_kind]
    path, good = sources[kind], sources[kind].read_bytes()
    rng = random.Random(kind)
    monkeypatch.setattr(corpora, "blank", lambda lang, tokens: NLP)
    n_refused = 0
    try:
        for i in range(N_MUTANTS):
            path.write_bytes(mutate(good, rng))
            target = tmp_path / str(i)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    convert_corpus(path.parent, target)
                assert (target / "types.json").is_file()
            except ValueError as error:
                n_refused += 1
                text = str(error)
                assert text.startswith(("[L4", "[L700", "[L550]")), (text, path.read_bytes())
                whole = re.match(r"\[L(402|421|700)\]", text)
                named = path.parent if whole else path
                if kind in ("brat", "corpus", "rows", "lines"):  # the fault may show in the other file
                    named = path.parent
                assert str(named) in text, text
                assert not target.exists()
    finally:
        path.write_bytes(good)
    assert n_refused > N_MUTANTS // 8
    assert not list(tmp_path.glob(".longtail*"))
