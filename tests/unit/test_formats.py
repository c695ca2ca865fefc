"""What `convert` reads: two sentences in every format, spans that cut tokens, broken files."""

import gzip
import json
import random
import re
from collections import Counter
from inspect import signature

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.cli.convert import convert as convert_command
from spacy_longtail.corpus import folder as corpora
from spacy_longtail.corpus.folder import convert_corpus, load_docs
from spacy_longtail.corpus.formats.context import MEANINGS, Context, Events
from spacy_longtail.corpus.formats.json_files import read_records
from spacy_longtail.corpus.formats.options import Columns, parse_columns, read_tag_names
from spacy_longtail.corpus.formats.sources import FORMATS, find_parts
from spacy_longtail.corpus.parts import write_docs
from spacy_longtail.corpus.tokenizers import blank
from tests.util import new_file, save_docs, tags_of, write_files

NLP = spacy.blank("en")
QUICK = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def write_json(path, *records):
    """Write records as JSON, one per line."""
    return new_file(path, "".join(json.dumps(record) + "\n" for record in records))


def read(source, events=None, nlp=NLP, labels=(), format=None, **options):
    """Return every document of a source that is one part."""
    (part,) = find_parts(source, ("train", "dev", "test"), format, options).parts.values()
    context = Context(nlp, events or Events(), labels, options.get("tokens", "words"))
    return list(part.read(context))


def chars(doc):
    """Return the text of a document and its entities in characters."""
    return doc.text.rstrip(" "), [(e.start_char, e.end_char, e.label_) for e in doc.ents]


def counts(events):
    """Return how often each kind of event came, by what it happened to."""
    assert set(events.counts) <= set(MEANINGS)
    return {kind: dict(counter) for kind, counter in events.counts.items()}


# ---------------------------------------------------------------- two sentences in every format


FIRST = Doc(
    NLP.vocab,
    words=["Ann", "saw", "New", "Rome", "."],
    spaces=[True] * 5,
    ents=["B-PER", "O", "B-GEO", "I-GEO", "O"],
)
SECOND = Doc(NLP.vocab, words=["So", "did", "I"], spaces=[True] * 3, ents=["O", "O", "O"])
IOB = "Ann\tB-PER\nsaw\tO\nNew\tB-GEO\nRome\tI-GEO\n.\tO\n\nSo\tO\ndid\tO\nI\tO\n"
CONLLU = """\
1\tAnn\t_\tX\tB-PER\t_\t0\t_\t_\tNE=B-PER
2\tsaw\t_\tX\tO\t_\t0\t_\t_\tGloss=x
3\tNew\t_\tX\tB-GEO\t_\t0\t_\t_\tNE=B-GEO
4\tRome\t_\tX\tI-GEO\t_\t0\t_\t_\tNE=I-GEO
5\t.\t_\tX\tO\t_\t0\t_\t_\tGloss=x

1\tSo\t_\tX\tO\t_\t0\t_\t_\tGloss=x
2\tdid\t_\tX\tO\t_\t0\t_\t_\tGloss=x
3\tI\t_\tX\tO\t_\t0\t_\t_\tGloss=x
"""
# kind: files, options
TOKEN_FORMATS = {
    "iob": ({"a.iob": IOB}, {}),
    "iob1": (
        {
            "a.conll": "Ann x I-PER\nsaw x O\nNew x I-GEO\nRome x I-GEO\n. x O\n\n"
            "So x O\ndid x O\nI x O\n"
        },
        {"scheme": "iob1"},
    ),
    "bioes": (
        {
            "a.bioes": "Ann x S-PER\nsaw x O\nNew x B-GEO\nRome x E-GEO\n. x O\n\n"
            "So x O\ndid x O\nI x O\n"
        },
        {},
    ),
    "bilou": (
        {
            "a.txt": "U-PER\tx\tAnn\r\nO\tx\tsaw\r\nB-GEO\tx\tNew\r\nL-GEO\tx\tRome\r\nO\tx\t.\r\n\r\n"
            "O\tx\tSo\r\nO\tx\tdid\r\nO\tx\tI\r\n"
        },
        {"tag_column": 0, "token_column": -1},
    ),
    "utf16": ({"a.bio": IOB.encode("utf-16")}, {"encoding": "utf-16"}),
    "kaggle": (
        {
            "a.csv": "Sentence #,Word,Tag\nSentence: 1,Ann,B-PER\n,saw,O\n,New,B-GEO\n,Rome,I-GEO\n,.,O\n"
            "Sentence: 2,So,O\n,did,O\n,I,O\n"
        },
        {},
    ),
    "kaggle with a number in every row": (
        {
            "a.csv": "Sentence #,Word,Tag\nSentence: 1,Ann,B-PER\nSentence: 1,saw,O\n"
            "Sentence: 1,New,B-GEO\nSentence: 1,Rome,I-GEO\nSentence: 1,.,O\n"
            "Sentence: 2,So,O\nSentence: 2,did,O\nSentence: 2,I,O\n"
        },
        {},
    ),
    "csv": (
        {
            "a.csv": "sent;word;tag\n0;Ann;B-PER\n0;saw;O\n0;New;B-GEO\n0;Rome;I-GEO\n0;.;O\n"
            "1;So;O\n1;did;O\n1;I;O\n"
        },
        {"columns": Columns("word", "tag", "sent")},
    ),
    "tsv": (
        {
            "a.tsv": "x\tw\tt\r\n1\tAnn\tB-PER\r\n1\tsaw\tO\r\n1\tNew\tB-GEO\r\n1\tRome\tI-GEO\r\n"
            "1\t.\tO\r\n\t\t\r\n1\tSo\tO\r\n1\tdid\tO\r\n1\tI\tO\r\n\t\t\r\n"
        },
        {"columns": Columns("w", "t")},
    ),
    "conllu": ({"a.conllu": CONLLU}, {}),
    "conllu with another key": (
        {"a.conllu": CONLLU.replace("NE=", "Ent=")},
        {"columns": Columns(tag="ent")},
    ),
    "conllu with a column": ({"a.conllu": CONLLU}, {"columns": Columns(tag="xpos")}),
    "huggingface": (
        {
            "a.json": '{"id": "0", "tokens": ["Ann", "saw", "New", "Rome", "."], "ner_tags": '
            '["B-PER", "O", "B-GEO", "I-GEO", "O"], "ref": "x"}\n'
            '{"id": "0", "tokens": ["So", "did", "I"], "ner_tags": ["O", "O", "O"], "ref": "x"}\n'
        },
        {},
    ),
    "numbers": (
        {
            "a.jsonl": '{"tokens": ["Ann", "saw", "New", "Rome", "."], "fine": [1, 0, 3, 4, 0]}\n'
            '{"tokens": ["So", "did", "I"], "fine": [0, 0, 0]}\n'
        },
        {
            "tag_names": ("O", "B-PER", "I-PER", "B-GEO", "I-GEO"),
            "columns": Columns(tag="fine"),
        },
    ),
    "gliner": (
        {
            "a.json": '{"tokenized_text": ["Ann", "saw", "New", "Rome", "."], '
            '"ner": [[0, 0, "PER"], [2, 3, "GEO"]]}\n'
            '{"tokenized_text": ["So", "did", "I"], "ner": []}\n'
        },
        {},
    ),
    "dygie": (
        {
            "a.jsonl": '{"doc_key": "x", "sentences": [["Ann", "saw", "New", "Rome", "."]], '
            '"ner": [[[0, 0, "PER"], [2, 3, "GEO"]]]}\n'
            '{"doc_key": "x", "sentences": [["So", "did", "I"]], "ner": [[]]}\n'
        },
        {},
    ),
    "opennlp": (
        {"a.train": "<START:PER> Ann <END> saw <START:GEO> New Rome <END> .\nSo did I\n"},
        {"format": "opennlp"},
    ),
    "spacy": ({"a.spacy": DocBin(docs=[FIRST, SECOND], store_user_data=True).to_bytes()}, {}),
}
ANN, SO = "Ann saw New Rome .", "So did I"
PER, GEO = [0, 3, "PER"], [8, 16, "GEO"]
PRODIGY = [
    {
        "text": ANN,
        "spans": [{"start": 0, "end": 3, "label": "PER"}, {"start": 8, "end": 16, "label": "GEO"}],
        "answer": "accept",
        "_input_hash": 1,
        "meta": {"x": 2},
    },
    {"text": SO, "spans": [], "answer": "accept", "_input_hash": 2, "meta": {"x": 2}},
]
PRODIGY_TOKENS = [
    {
        **PRODIGY[0],
        "tokens": [
            {"text": "Ann", "start": 0, "end": 3, "id": 0, "ws": True},
            {"text": "saw", "start": 4, "end": 7, "id": 1, "ws": True},
            {"text": "New", "start": 8, "end": 11, "id": 2, "ws": True},
            {"text": "Rome", "start": 12, "end": 16, "id": 3, "ws": True},
            {"text": ".", "start": 17, "end": 18, "id": 4, "ws": False},
        ],
    },
    PRODIGY[1],
]
GENERIC = [
    {
        "text": ANN,
        "entities": [{"start": 0, "end": 3, "label": "PER"}, {"start": 8, "end": 16, "label": "GEO"}],
    },
    {"text": SO, "entities": []},
]
REGIONS = [
    {"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]},
    {"start": 8, "end": 16, "text": "New Rome", "labels": ["GEO"]},
]
LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"text": ANN, "id": "3"},
        "annotations": [
            {
                "result": [
                    {"type": "labels", "value": REGIONS[0], "id": "q"},
                    {"type": "labels", "value": REGIONS[1], "id": "q"},
                ],
                "was_cancelled": False,
            }
        ],
    },
    {
        "id": 1,
        "data": {"text": SO, "id": "3"},
        "annotations": [{"result": [], "was_cancelled": False}],
    },
]
ABOUT = {"id": 5, "sentiment": "good", "annotator": 1, "annotation_id": 3, "lead_time": 4.5}
SPACY_2 = [[ANN, {"entities": [PER, GEO]}], [SO, {"entities": []}]]
RECORDS = {  # of two documents
    "prodigy": PRODIGY,
    "prodigy with tokens": PRODIGY_TOKENS,
    "doccano with label": [
        {"id": 1, "text": ANN, "label": [PER, GEO]},
        {"id": 1, "text": SO, "label": []},
    ],
    "doccano with labels": [
        {"id": 1, "data": ANN, "labels": [PER, GEO]},
        {"id": 1, "data": SO, "labels": []},
    ],
    "doccano with entities": [
        {
            "text": ANN,
            "entities": [
                {"start_offset": 0, "end_offset": 3, "label": "PER", "id": 1},
                {"start_offset": 8, "end_offset": 16, "label": "GEO", "id": 2},
            ],
        },
        {"text": SO, "entities": []},
    ],
    "generic": GENERIC,
    "type": [
        {
            "text": ANN,
            "entities": [
                {"start": 0, "end": 3, "type": "PER"},
                {"start": 8, "end": 16, "type": "GEO"},
            ],
        },
        {"text": SO, "entities": []},
    ],
    "pipeline of Hugging Face": [
        {
            "text": ANN,
            "entities": [
                {"start": 0, "end": 3, "entity_group": "PER", "score": 0.9, "word": "x"},
                {"start": 8, "end": 16, "entity_group": "GEO", "score": 0.9, "word": "x"},
            ],
        },
        {"text": SO, "entities": []},
    ],
    "annotations": [
        {"id": 1, "text": ANN, "annotations": [PER, GEO]},
        {"id": 1, "text": SO, "annotations": []},
    ],
    "ner annotator": [
        {"classes": ["PER"], "annotations": [[ANN, {"entities": [PER, GEO]}]]},
        {"classes": ["PER"], "annotations": [[SO, {"entities": []}]]},
    ],
    "lighttag": [
        {
            "examples": [
                {
                    "content": ANN,
                    "annotations": [
                        {"start": 0, "end": 3, "tag": "PER", "value": "Ann"},
                        {"start": 8, "end": 16, "tag": "GEO", "value": "New Rome"},
                    ],
                    "classifications": [],
                }
            ]
        },
        {"examples": [{"content": SO, "annotations": [], "classifications": []}]},
    ],
    "bioc": [
        {
            "id": "1",
            "passages": [
                {
                    "offset": 7,
                    "text": ANN,
                    "annotations": [
                        {
                            "infons": {"type": "PER"},
                            "text": "Ann",
                            "locations": [{"offset": 7, "length": 3}],
                        },
                        {
                            "infons": {"type": "GEO"},
                            "text": "New Rome",
                            "locations": [{"offset": 15, "length": 8}],
                        },
                    ],
                }
            ],
        },
        {"id": "1", "passages": [{"offset": 7, "text": SO, "annotations": []}]},
    ],
    "rasa": [
        {
            "rasa_nlu_data": {
                "common_examples": [
                    {
                        "text": ANN,
                        "entities": [
                            {"start": 0, "end": 3, "entity": "PER"},
                            {"start": 8, "end": 16, "entity": "GEO"},
                        ],
                    }
                ]
            }
        },
        {"rasa_nlu_data": {"common_examples": [{"text": SO, "entities": []}]}},
    ],
    "label studio": LABEL_STUDIO,
    "json-min": [{"text": ANN, **ABOUT, "ner": REGIONS}, {"text": SO, **ABOUT}],
    "spacy 2": SPACY_2,
}
BIOC_XML = """<collection>
<document><id>1</id><passage><offset>7</offset><text>Ann saw New Rome .</text>
<annotation><infon key="type">PER</infon><location offset="7" length="3"/><text>Ann</text></annotation>
<annotation><infon key="type">GEO</infon><location offset="15" length="8"/>
<text>New Rome</text></annotation></passage></document>
<document><id>1</id><passage><offset>7</offset><text>So did I</text></passage></document>
</collection>"""
TEXT_FORMATS = {
    "brat": (
        {
            "000.txt": ANN,
            "000.ann": "T1\tPER 0 3\tAnn\nT2\tGEO 8 16\tNew Rome\nR1\tloves Arg1:T1 Arg2:T2\n",
            "001.txt": SO,
            "001.ann": "R1\tloves Arg1:T1 Arg2:T2\n",
        },
        {},
    ),
    "bioc xml": ({"a.xml": BIOC_XML}, {}),
    "pubtator": (
        {
            "a.pubtator": "0|t|Ann saw New Rome .\n0\t0\t3\tAnn\tPER\tD1\n0\t8\t16\tNew Rome\tGEO\tD1\n\n"
            "1|t|So did I\n\n"
        },
        {},
    ),
    **{
        f"{tool}, lines": ({"a.json": "".join(json.dumps(r) + "\n" for r in records)}, {})
        for tool, records in RECORDS.items()
    },
    "generic, array": ({"a.json": json.dumps(GENERIC)}, {}),
    "generic, indented": ({"a.json": json.dumps(GENERIC, indent=2)}, {}),
    "label studio, array": ({"a.json": json.dumps(LABEL_STUDIO)}, {}),
    "label studio, indented": ({"a.json": json.dumps(LABEL_STUDIO, indent=2)}, {}),
    "spacy 2, array": ({"a.json": json.dumps(SPACY_2)}, {}),
    "spacy 2, indented": ({"a.json": json.dumps(SPACY_2, indent=2)}, {}),
}
ARTICLE = {"a.txt": "title: T\nkind: k\n\n[Ann|PER] saw [New Rome|GEO] .\nSo did I\n"}
MARKED = {"a.txt": "domain: d\n\n[Ann|PER; thing] saw [New Rome|GEO; thing] .\nSo did I\n"}
NUMBERED = {
    "sents.json": '[["a", ["Ann", "saw", "New", "Rome", "."]], ["a", ["So", "did", "I"]]]',
    "ann00.txt": "0\tAnn => PER; thing | New Rome => GEO; thing\n",
    "ann01.txt": "1\t-\n",
}
EVERY_FORMAT = {
    **TOKEN_FORMATS,
    **TEXT_FORMATS,
    "articles": ({**ARTICLE, "corpus.json": '{"labels": ["PER", "GEO"]}'}, {}),
    "open": (MARKED, {}),
    "numbered": (NUMBERED, {}),
}


@pytest.mark.parametrize("kind", TOKEN_FORMATS)
def test_two_sentences_are_read_from_every_format_of_tokens(kind, tmp_path):
    files, options = TOKEN_FORMATS[kind]
    docs = read(write_files(tmp_path, files), **options)
    found = [" ".join(map("{}/{}".format, doc, tags_of(doc))) for doc in docs]
    assert found == ["Ann/B-PER saw/O New/B-GEO Rome/I-GEO ./O", "So/O did/O I/O"]
    assert docs[0].has_unknown_spaces == (kind != "spacy")


@pytest.mark.parametrize("kind", TEXT_FORMATS)
def test_two_sentences_are_read_from_every_format_of_texts(kind, tmp_path):
    files, options = TEXT_FORMATS[kind]
    first, second = read(write_files(tmp_path, files), **options)
    assert chars(first) == (ANN, [(0, 3, "PER"), (8, 16, "GEO")])
    assert chars(second) == (SO, [])
    assert tags_of(second) == ["O", "O", "O"]
    assert not first.has_unknown_spaces


def test_an_article_is_one_document_of_sentences(tmp_path):
    (doc,) = read(write_files(tmp_path, ARTICLE), labels=["PER", "GEO"])
    assert chars(doc) == (f"{ANN} {SO}", [(0, 3, "PER"), (8, 16, "GEO")])
    assert [sentence.text for sentence in doc.sents] == [ANN, SO]


@pytest.mark.parametrize("files", [MARKED, NUMBERED])
def test_open_types_are_kept_as_they_are(files, tmp_path):
    first, second = read(write_files(tmp_path, files))
    assert chars(first) == (ANN, [(0, 3, "PER; thing"), (8, 16, "GEO; thing")])
    assert chars(second) == (SO, [])


ANY_WORD = st.text(
    st.characters(codec="utf-8", exclude_categories=("Z", "C"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=5,
).filter(lambda word: not word.startswith("-DOCSTART-") and word.split() == [word])
ANY_SENTENCES = st.lists(st.lists(ANY_WORD, min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize("name", ["a.iob", "a.csv", "a.jsonl", "a.spacy"])
@QUICK
@given(sentences=ANY_SENTENCES)
def test_tokens_of_any_characters_are_kept(name, sentences, tmp_path):
    path = tmp_path / name
    if name == "a.iob":
        tagged = ["".join(f"{word}\tB-X\n" for word in words) for words in sentences]
        new_file(path, "\n".join(tagged))
    elif name == "a.csv":
        quoted = [[word.replace('"', '""') for word in words] for words in sentences]
        rows = [f'{i},"{word}",B-X\n' for i, words in enumerate(quoted) for word in words]
        new_file(path, "Sentence #,Word,Tag\n" + "".join(rows))
    elif name == "a.jsonl":
        write_json(path, *[{"tokens": w, "ner_tags": ["B-X"] * len(w)} for w in sentences])
    else:
        docs = [Doc(NLP.vocab, words=words, ents=["B-X"] * len(words)) for words in sentences]
        save_docs(path, docs)
    docs = read(path)
    assert [[ent.text for ent in doc.ents] for doc in docs] == sentences


@pytest.mark.parametrize("kind", EVERY_FORMAT)
def test_every_format_is_found_and_may_be_gzipped(kind, tmp_path):
    files, options = EVERY_FORMAT[kind]
    source = write_files(tmp_path / "in", files)
    for file in source.iterdir():
        if file.name != "corpus.json" and file.suffix != ".spacy":
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
    types = convert_corpus(source, tmp_path / "out", **options)
    assert sorted(types.labels) == ([] if kind in ("open", "numbered") else ["GEO", "PER"])
    (report,) = json.loads((tmp_path / "out" / "conversion.json").read_text())["parts"].values()
    assert report["format"] in FORMATS
    assert sum(report["mentions"].values()) == 2


# ---------------------------------------------------------------- columns, tables and CoNLL-U


@pytest.mark.parametrize("n_before", [0, 3, 9000])  # more than Python decodes at a time
@pytest.mark.parametrize(
    ("encoding", "start", "line", "broken"),
    [
        ("utf8", b"", b"a\tO\r\n", b"\xff\xff"),
        ("shift_jis", b"", b"a\tO\r\n", b"\xff\xff"),
        ("ascii", b"", b"a\tO\r\n", b"\xff\xff"),
        ("iso2022_jp", b"", b"a\tO\r\n", b"\xff\xff"),
        ("utf-16", b"\xff\xfe", "a\tO\r\n".encode("utf-16-le"), b"\x00\xd8a\x00"),
    ],
)
def test_bytes_that_are_not_the_encoding_are_named_by_line(
    encoding, start, line, broken, n_before, tmp_path
):
    path = new_file(tmp_path / "a.iob", start + line * n_before + broken + line * 3)
    with pytest.raises(ValueError, match=rf"L401.*a\.iob:{n_before + 1}: .*{encoding}"):
        read(path, encoding=encoding)


WORDS_OF_TIMES = '["The", "New", "York", "Times", "of", "New", "York", "."]'
TIMES = f'[["d", {WORDS_OF_TIMES}], ["d", ["So", " ", "?"]]]'
KAGGLE = "Sentence #,Word,POS,Tag\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "place"),
    [
        ("a.iob", "a\tO\nb\tI-X\n", {}, "2"),
        ("a.iob", "a\tB-X\nb\tI-Y\n", {}, "2"),
        ("a.iob", "a\tB-X\n\nb\tI-X\n", {}, "3"),
        ("a.iob", "a\tS-X\nb\tE-X\n", {}, "2"),
        ("a.iob", "a\tS-X\n", {"scheme": "iob2"}, "1"),
        ("a.iob", "a\tB-X\nb\tE-X\nc\tI-X\n", {}, "3"),
        ("a.iob", "a\tU-X\nb\tE-X\n", {"scheme": "bilou"}, "2"),
        ("a.iob", "a\tO\n\nb\tB-\n", {}, "3"),
        ("a.iob", "a\to\n", {}, "1"),
        ("a.iob", "a\tO\nb\tO\tO\n", {}, "2"),
        ("a.iob", "a\tO\n\u3000\tB-X\n", {}, "2"),
        ("a.iob", "text\tid\tlabel\tannotator\nAnn\t1\t\ta\n", {}, "1"),
        ("a.iob", "\n\na\tO\n", {"token_column": 2}, "3: .*--token-column is 2"),
        ("a.iob", "\n\na\tO\n", {"tag_column": -3}, "3: .*--tag-column is -3"),
        ("a.iob", "a\tO\n\n-DOCSTART-\tO\n\nb\tO\n", {"documents": True}, "1: .*--documents"),
        ("a.csv", "Word,Tag\n", {}, "1: .*Sentence #"),
        ("a.csv", "", {}, "1"),
        ("a.csv", f"{KAGGLE},a,NN,O\n", {}, "2"),
        ("a.csv", f"{KAGGLE}1,a,NN\n", {}, "2"),
        ("a.csv", f'{KAGGLE}1,"a\nb",NN,O\n,b,NN,B-\n', {}, "4"),
        ("a.csv", f'{KAGGLE}1,"a', {}, "2"),
        ("a.csv", f"{KAGGLE}1,,NN,B-X\n", {}, "2"),
        ("a.csv", f"{KAGGLE}1,{'a' * 200_000},NN,O\n", {}, "2"),
        ("a.csv", "text,id,label,annotator,annotation_id,lead_time\nAnn,1,,a,2,3.2\n", {}, "1"),
        ("a.tsv", "w\tt\na\tO\n", {"columns": Columns("word", "t")}, "1: .*word"),
        ("a.tsv", "w\tt\ts\na\tO\t\n", {"columns": Columns("w", "t", "s")}, "2"),
        ("a.conllu", "1\ta\t_\t_\t_\t_\t_\t_\t_\tGloss=x\n", {}, "1: .*NE="),
        (
            "a.conllu",
            "1\ta\t_\t_\t_\t_\t_\t_\t_\tNE=B-X\n",
            {"columns": Columns(tag="Entity")},
            "1: .*ENTITY=",
        ),
        (
            "a.conllu",
            "1\ta\t_\t_\t_\t_\t_\t_\t_\tNE=B-X\n2\tb\t_\t_\t_\t_\t_\t_\t_\tNE=I-Y\n",
            {},
            "2",
        ),
        ("a.conllu", "1\t \t_\t_\t_\t_\t_\t_\t_\tNE=B-X\n", {}, "1"),
        ("a.conllu", "\n# global.columns = ID LEMMA MISC\n1\ta\t_\n", {}, "3: .*ID, LEMMA, MISC"),
        ("a.conllu", "# global.columns = ID FORM\n1\ta\n", {}, "2"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[Ana|PER sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\nAna|PER] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[Ana|XYZ] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[Ana [Lisbon|GEO] Sá|PER] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[ Ana|PER] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[|PER] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\nAna | Sá\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\n[Ana] sat.\n", {}, "5"),
        ("a.txt", "title: T\nkind: note\n\nFine.\nThe [Lisb|GEO]oners left.\n", {}, "5"),
        ("a.txt", "title: T\n", {}, "2"),
        ("a.txt", "title: T\nkinds: k\nSo.\n", {}, "2"),
        ("a.txt", "domain: d\n[Ann|a; b; c] left.\n", {}, "2"),
        ("a.txt", "domain: d\n[Ann|; b] left.\n", {}, "2"),
        ("a.jsonl", "{", {}, "1"),
        ("a.jsonl", '{"text": "a", "label": []}{"text": "a", "label": []}', {}, "1"),
        ("a.jsonl", '\n\n[{"text": "a", "label": []},\n{', {}, "4"),
        ("a.jsonl", '[{"text": "a", "label": []}\n{"text": "a", "label": []}]', {}, "2"),
        ("a.jsonl", '[{"text": "a", "label": []}]\n\n[', {}, "3"),
        ("a.jsonl", '[{"text": "a", "label": []},]', {}, "1"),
        ("a.jsonl", "[" * 100_000, {}, "1"),
        ("a.jsonl", '{"a":' * 100_000, {}, "1"),
        ("a.jsonl", f'{{"text": {"9" * 5000}}}', {}, "1"),
        ("a.jsonl", "[NaN]", {}, "record 1"),
        ("a.jsonl", "nothing", {}, "1"),
        ("a.jsonl", '{"tokens": ["a"], "ner_tags": [2]}', {"tag_names": ("O", "B-X")}, "1: .*0 to 1"),
        ("a.jsonl", '{"tokens": ["a"], "ner_tags": [-1]}', {"tag_names": ("O", "B-X")}, "1: .*0 to 1"),
        ("sents.json", "{", {}, "1"),
        ("sents.json", "[[1]]", {}, "1"),
        ("sents.json", "[1]", {}, "1"),
        ("sents.json", "[" * 100_000, {}, "1"),
        ("ann00.txt", "zero\tTimes => a; b", {}, "1"),
        ("ann00.txt", "0 Times => a; b", {}, "1"),
        ("ann00.txt", "2\t-", {}, "1"),
        ("ann00.txt", "0\t-\n0\t-", {}, "2"),
        ("ann00.txt", "0\tTimes = a; b", {}, "1"),
        ("ann00.txt", "0\tTimes => a; b; c", {}, "1"),
        ("ann00.txt", "0\tTimes => ; b", {}, "1"),
        ("ann00.txt", "0", {}, "1"),
        ("ann00.txt", "0\t => a", {}, "1"),
    ],
)
def test_a_broken_line_is_named(name, text, options, place, tmp_path):
    if name in ("sents.json", "ann00.txt"):  # each needs the other
        write_files(tmp_path, {"sents.json": TIMES, "ann00.txt": "0\t-"})
    path = new_file(tmp_path / name, text)
    source = tmp_path if name in ("sents.json", "ann00.txt") else path
    with pytest.raises(ValueError, match=rf"L401.*{name}:{place}"):
        read(source, labels=["PER", "GEO"], **options)


@pytest.mark.parametrize("sentences", ['[["a", [1]]]', '[["a", "b"]]', '[["a", []]]'])
def test_a_number_of_a_sentence_without_tokens_is_named(sentences, tmp_path):
    write_files(tmp_path, {"sents.json": sentences, "ann00.txt": "0\t-"})
    with pytest.raises(ValueError, match=r"L401.*ann00\.txt:1"):
        read(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "T1 Dis 0 4 left",
        "T1\tDis 0\tleft",
        "T1\tDis 0 4",
        "T1\tDis 0 4;\tleft",
        f"T1\tDis 0 {'9' * 5000}\tleft",
        "Q1\tDis 0 4\tleft",
        "T1\tDis 0 99\tleft",
        "T1\tDis 4 0\tleft",
        "T1\tDis 0 4\tright",
        "T1\tDis 0 4;9 14\tleft and",
        "T1\tDis 0 4;9 99\tleft right",
    ],
)
def test_a_broken_annotation_of_brat_is_named(line, tmp_path):
    write_files(tmp_path, {"a.txt": "left and right cancer", "a.ann": f"R1\tx\n{line}\n"})
    with pytest.raises(ValueError, match=r"L401.*a\.ann:2"):
        read(tmp_path)


def test_tokens_of_white_space_outside_entities_are_skipped(tmp_path):
    """As where somebody has written spaCy's tokens. Other white space is part of a token."""
    text = "New\u2028\tB-X\n \tI-X\nYork\tI-X\n\x85\tO\n is\tO\n\n\tO\n\n10\u00a0000\tO\n\n\tO\n"
    events = Events()
    docs = read(new_file(tmp_path / "a.iob", text), events)
    assert [[t.text for t in doc] for doc in docs] == [["New", "York", "is"], ["10\u00a0000"]]
    assert [ent.text for ent in docs[0].ents] == ["New York"]
    assert counts(events) == {"blank": {"tokens": 4}}
    assert events.examples["blank"][0] == "a.iob:2: ' '"


MARKS = "-DOCSTART- -X- O\n\na O\n\nb B-X\nc I-X\n\n-DOCSTART- -X- O\n-DOCSTART- -X- O\nd O\n"
NODE = "_\t_\t_\t_\t_\t_\t_"


@pytest.mark.parametrize(
    ("name", "text", "options", "documents"),
    [
        pytest.param(
            "a.iob",
            "a I-PER\nb B-PER\nc I-GEO\nd O\ne I-GEO\n",
            {"scheme": "iob1"},
            [["a/B-PER b/B-PER c/B-GEO d/O e/B-GEO"]],
            id="neighbouring entities in IOB1",
        ),
        pytest.param(
            "a.iob",
            "a B-PER\nb B-PER\nc I-PER\nd B-GEO\ne O\n",
            {"scheme": "iob2"},
            [["a/B-PER b/B-PER c/I-PER d/B-GEO e/O"]],
            id="neighbouring entities in IOB2",
        ),
        pytest.param(
            "a.iob",
            "a S-PER\nb B-PER\nc E-PER\nd B-人名\ne I-人名\n",
            {"scheme": "bioes"},
            [["a/B-PER b/B-PER c/I-PER d/B-人名 e/I-人名"]],
            id="neighbouring entities in BIOES",
        ),
        pytest.param(
            "a.iob",
            "a U-PER\nb B-ART-X\nc I-ART-X\nd L-ART-X\ne O\n",
            {"scheme": "bilou"},
            [["a/B-PER b/B-ART-X c/I-ART-X d/I-ART-X e/O"]],
            id="neighbouring entities in BILOU",
        ),
        pytest.param(
            "a.iob", "10\u00a0000 O\n", {}, [["10\u00a0000/O"]], id="no-break spaces separate no columns"
        ),
        pytest.param(
            "a.iob", MARKS, {}, [["a/O"], ["b/B-X c/I-X"], ["d/O"]], id="each sentence is a document"
        ),
        pytest.param(
            "a.iob",
            MARKS,
            {"documents": True},
            [["a/O", "b/B-X c/I-X"], ["d/O"]],
            id="sentences between marks form a document",
        ),
        pytest.param(
            "a.conllu",
            f"# newdoc id = 1\n1\ta\t{NODE}\tNE=B-X\n\n1\ta\t{NODE}\tNE=B-X\n\n# newdoc\n",
            {"documents": True},
            [["a/B-X", "a/B-X"]],
            id="no entity runs across the sentences of a document",
        ),
        pytest.param(
            "a.conllu",
            f"1\ta\t{NODE}\tNE=B-X\n1.1\tnothing\t{NODE}\t_\n2\tb\t{NODE}\t_\n",
            {},
            [["a/B-X b/O"]],
            id="empty nodes of CoNLL-U are skipped",
        ),
        pytest.param(
            "a.conllu",
            f"1\ta\t{NODE}\tname=B-Z|ner=B-Z|NE=B-X\n",
            {},
            [["a/B-X"]],
            id="the key NE wins over others of MISC",
        ),
    ],
)
def test_sentences_and_tags_of_a_file_in_columns(name, text, options, documents, tmp_path):
    docs = read(new_file(tmp_path / name, text), **options)
    found = [[" ".join(map("{}/{}".format, sent, tags_of(sent))) for sent in doc.sents] for doc in docs]
    assert found == documents


def test_names_of_tags_are_given_or_in_a_file(tmp_path):
    for named in ("O, B-X", new_file(tmp_path / "a.txt", "O\nB-X\n")):
        assert read_tag_names(str(named)) == ("O", "B-X")


def test_columns_are_named_by_pairs():
    assert parse_columns("token=word, tag = ner") == Columns("word", "ner")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((read_tag_names, text) for text in ("names.json", "O,B-X,O", "", ",", "O", "O\0")),
        *(
            (parse_columns, text)
            for text in ("", "token", "token=", "word=token", "tag=a,tag=b", "tag=a,")
        ),
    ],
)
def test_names_that_are_no_tags_or_no_pairs_are_refused(parse, text):
    with pytest.raises(ValueError, match="L581"):
        parse(text)


ZIPPED = gzip.compress(b"a\tO\n" * 100_000)


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        pytest.param(name, content, options, message, id=about)  # the header of gzip holds the time
        for about, name, content, options, message in (
            ("a number of a tag in columns", "a.iob", "a\tO\n", {"columns": Columns(tag="x")}, "L420"),
            ("names of tags in columns", "a.iob", "a\tO\n", {"tag_names": ("O", "B-X")}, "L420"),
            ("no column of tags", "a.tsv", "a\tO\n", {"columns": Columns(token="x")}, "L581"),
            ("a column of JSON", "a.jsonl", "a\tO\n", {"columns": Columns("w", "t", "s")}, "L581"),
            ("an empty CoNLL-U", "a.conllu", "", {}, "L403"),
            ("an empty Kaggle", "a.csv", KAGGLE, {}, "L403"),
            ("an empty table", "a.tsv", "w\tt\n", {"columns": Columns("w", "t")}, "L403"),
            ("an empty article", "a.txt", "title: T\nkind: x\n\n", {}, "L403"),
            ("an empty array", "a.json", "[\n]", {}, "L403"),
            ("not zipped", "a.iob.gz", b"a\tO\n", {}, r"L401.*a\.iob\.gz"),
            ("cut at the end", "a.iob.gz", ZIPPED[:-20], {}, r"L401.*a\.iob\.gz"),
            ("changed", "a.iob.gz", ZIPPED[:100] + b"xxxx" + ZIPPED[104:], {}, r"L401.*a\.iob\.gz"),
            ("a few bytes", "a.iob.gz", ZIPPED[:5], {}, r"L401.*a\.iob\.gz"),
            ("a broken line", "a.iob.gz", gzip.compress(b"a\tO\nb\n"), {}, r"L401.*a\.iob\.gz:2: "),
            (
                "a broken character",
                "a.iob.gz",
                gzip.compress(b"a\tO\n\xff"),
                {},
                r"L401.*a\.iob\.gz:2: ",
            ),
            ("a zipped file of spaCy", "a.spacy.gz", ZIPPED, {}, "L421"),
        )
    ],
)
def test_a_source_that_cannot_be_read_is_refused(name, content, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(new_file(tmp_path / name, content), **options)


# ---------------------------------------------------------------- JSON


@QUICK
@given(
    text=st.text(st.characters(codec="utf-8", exclude_categories=()), min_size=1, max_size=30),
    data=st.data(),
)
def test_characters_keep_every_span(text, data, tmp_path):
    assume(text.strip())
    places = [i for i, c in enumerate(text) if not c.isspace()]
    a, b = sorted(data.draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    record = {"text": text, "entities": [{"start": a, "end": b + 1, "label": "X"}]}
    options = {"tokens": "characters", "offsets": "characters"}
    path = write_json(tmp_path / "a.jsonl", record)
    (doc,) = read(path, nlp=blank("ja", "characters"), **options)
    assert (doc.text, chars(doc)[1]) == (text, [(a, b + 1, "X")])


TOKENS_OF_A_RECORD = {
    "text": "  ab  c\nd e ",
    "spans": [{"start": 2, "end": 3, "label": "X"}],
    "tokens": [
        {"start": 2, "end": 4},
        {"start": 4, "end": 5},
        {"start": 6, "end": 7},
        {"start": 8, "end": 9},
        {"start": 10, "end": 11},
    ],
}


def test_tokens_of_a_record_are_used_unless_characters_are_asked_for(tmp_path):
    path = write_json(tmp_path / "a.jsonl", TOKENS_OF_A_RECORD)
    (as_given,) = read(path)
    (in_characters,) = read(path, nlp=blank("en", "characters"), tokens="characters")
    assert [t.text for t in as_given] == ["  ", "ab", " ", "c", "\n", "d", "e"]
    assert chars(in_characters) == ("  ab  c\nd e", [(2, 3, "X")])


def region(**value):
    """Return annotations of Label Studio with one region of "abc def"."""
    return [{"result": [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"], **value}}]}]


ABC = {"text": "abc def", "entities": []}
TASK = {"id": 1, "data": {"text": "abc def", "id": "3"}, "annotations": [{"result": []}]}
CANCELLED = {"result": [], "was_cancelled": True}


def test_each_annotation_of_a_task_that_was_not_cancelled_is_a_document(tmp_path):
    annotations = [*region(), CANCELLED, {"result": []}, *region(start=4, end=7)]
    docs = read(write_json(tmp_path / "a.json", {**TASK, "annotations": annotations}))
    assert [chars(doc)[1] for doc in docs] == [[(0, 3, "X")], [], [(4, 7, "X")]]


TAGGED = {"tokens": ["a", "b"], "ner_tags": ["O", "O"]}
GLINER = {"tokenized_text": ["a", "b"], "ner": []}


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ({"text": "abc", "spans": [], "answer": "accept", "_view_id": "ner"}, "spans alone"),
        (3, "'3' instead of an object"),
        (["Ann", []], ""),
        (["Ann", {}], ""),
        (["Ann", {"entities": []}, 1], ""),
        ({**ABC, "text": None}, "'None' is not text"),
        ({**ABC, "text": "a\ud800"}, "surrogate"),
        ({"body": "abc", "spans": [[0, 3, "X"]]}, "no 'text', found the texts body.*--text-key"),
        ({"text": "abc"}, "spans, entities"),
        ({**ABC, "entities": "X"}, "'X' as the list of spans"),
        ({**ABC, "entities": ["X"]}, ""),
        ({**ABC, "entities": [[0, 1]]}, ""),
        ({**ABC, "entities": [{"label": "X"}]}, ""),
        ({**ABC, "entities": [{"start": 0, "end": 3}]}, ""),
        ({**ABC, "entities": [[0, 3, ""]]}, "'' as its type"),
        ({**ABC, "entities": [[0, 3, "\ud800"]]}, "surrogate"),
        ({**ABC, "entities": [["0", 3, "X"]]}, "'0' to 3 'X'"),
        ({**ABC, "entities": [[0.0, 3, "X"]]}, "0.0 to 3 'X'"),
        ({**ABC, "entities": [[-1, 3, "X"]]}, "-1 to 3 'X' covers nothing"),
        ({**ABC, "entities": [[0, 8, "X"]]}, "0 to 8 'X' covers nothing"),
        ({**ABC, "entities": [[3, 3, "X"]]}, "3 to 3 'X' covers nothing"),
        ({**ABC, "entities": [[3, 4, "X"]]}, "3 to 4 'X' covers nothing"),
        ({**TASK, "data": "abc"}, ""),
        ({**TASK, "annotations": 3}, ""),
        ({**TASK, "annotations": [3]}, ""),
        ({**TASK, "data": {"a": "x", "b": "y"}}, "found the texts a, b"),
        ({**TASK, "annotations": region(text="abd")}, "'abd' but covers 'abc'"),
        ({**ABOUT, "text": 3}, "'3' is not text"),
        ({**ABC, "tokens": [{"start": 0, "end": 1}]}, "its tokens"),  # "bc def" is in none
        ({**ABC, "tokens": [{"start": 0, "end": 9}]}, "its tokens"),
        ({**ABC, "tokens": [{"start": 0, "end": 2}, {"start": 1, "end": 7}]}, "its tokens"),
        ({**ABC, "tokens": [{"start": 0, "end": 7, "text": "abd def"}]}, "its tokens"),
        ({**ABC, "tokens": [{"start": "0", "end": 7}]}, "its tokens"),
        ({**ABC, "tokens": ["abc"]}, "its tokens"),
        ({**ABC, "tokens": "abc"}, "its tokens"),
        ({**ABC, "tokens": 3}, "its tokens"),
        ({**TAGGED, "tokens": "ab"}, "'ab' as tokens"),
        ({**TAGGED, "tokens": ["a", 1]}, "'1' is not text"),
        ({**TAGGED, "ner_tags": ["O"]}, "2 tokens"),
        ({**TAGGED, "ner_tags": None}, "'None'"),
        ({**TAGGED, "ner_tags": ["O", 1]}, "no --tag-names are given"),
        ({**TAGGED, "ner_tags": [True, False]}, "tags"),
        ({**TAGGED, "ner_tags": ["O", "I-X"]}, "'I-X'"),
        ({"tokens": ["a", " "], "ner_tags": ["O", "B-X"]}, "white space"),
        ({**GLINER, "tokenized_text": {}}, "as tokenized_text"),
        ({**GLINER, "tokenized_text": ["a", " "]}, "white space"),
        ({"tokenized_text": ["a"]}, "'None' as their"),
        ({**GLINER, "ner": [[0, 1]]}, "2 tokens"),
        ({**GLINER, "ner": [[0, 2, "X"]]}, "2 tokens"),
        ({**GLINER, "ner": [[1, 0, "X"]]}, "2 tokens"),
        ({**GLINER, "ner": [[-1, 0, "X"]]}, "2 tokens"),
        ({**GLINER, "ner": [[0.0, 1, "X"]]}, "2 tokens"),
        ({**GLINER, "ner": [[0, 1, " "]]}, "' ' as its type"),
    ],
)
def test_a_broken_record_is_named(record, text, tmp_path):
    lines = write_json(tmp_path / "a.jsonl", record)
    array = new_file(tmp_path / "a.json", json.dumps([TASK, record]))
    for path, place in ((lines, r"a\.jsonl:1"), (array, r"a\.json:record 2")):
        with pytest.raises(ValueError, match=rf"L401.*{place}: .*{text}"):
            read(path)


@pytest.mark.parametrize(
    ("text", "quote", "end"), [("ab  cd\nef", "ab cd\\nef", 9), (r"C:\new now", r"C:\new", 6)]
)
def test_quotes_are_compared_without_white_space(text, quote, end, tmp_path):
    """Label Studio folds double blanks and writes line ends as \\n; not every such pair is one."""
    task = {"data": {"text": text}, "annotations": region(end=end, text=quote)}
    (doc,) = read(write_json(tmp_path / "a.json", task))
    assert chars(doc) == (text, [(0, end, "X")])


@pytest.mark.parametrize(
    ("record", "n_entities", "expected"),
    [
        ({"text": "kept without spans", "answer": "accept"}, [0], {}),
        ({"text": " \n", "label": []}, [], {"empty": {"texts": 1}}),
        (
            {**TASK, "annotations": [CANCELLED, *region(), {"result": []}]},
            [1, 0],
            {"cancelled": {"annotations": 1}},
        ),
        (
            {**TASK, "annotations": [CANCELLED]},
            [],
            {"cancelled": {"annotations": 1}, "unlabelled": {"records": 1}},
        ),
        ({**TASK, "annotations": []}, [], {"unlabelled": {"records": 1}}),
        (
            {
                **TASK,
                "annotations": [
                    {
                        "result": [
                            {"type": "relation", "from_id": "a"},
                            {"type": "choices", "value": {"choices": ["x"]}},
                        ]
                    }
                ],
            },
            [0],
            {"ignored": {"relation": 1, "choices": 1}},
        ),
        ({**TASK, "annotations": region(labels=[])}, [0], {"unreadable": {"without a type": 1}}),
        ({**TASK, "data": {"body": "abc def", "n": 3}, "annotations": region()}, [1], {}),
        (
            {
                **ABOUT,
                "text": "abc",
                "ner": [{"start": 0, "end": 3, "text": "abc", "labels": ["X"]}],
                "topics": ["a", "b"],
                "html": [{"start": "/p[1]", "hypertextlabels": ["X"]}],
                "note": [{"text": ["a"]}],
            },
            [1],
            {"ignored": {"region": 1}, "unreadable": {"region": 1}},
        ),
        ({"tokenized_text": [], "ner": []}, [], {"empty": {"texts": 1}}),
        ({"text": "abc", "spans": None, "label": [], "entities": [[0, 3, "X"]]}, [1], {}),
    ],
)
def test_what_was_not_annotated_is_counted(record, n_entities, expected, tmp_path):
    events = Events()
    other = {"text": "abc", "entities": []}
    *docs, _ = read(write_json(tmp_path / "a.jsonl", record, other), events)
    assert [len(doc.ents) for doc in docs] == n_entities
    assert counts(events) == expected


def test_records_that_were_not_accepted_are_counted(tmp_path):
    rejected = {"text": "abc", "spans": [], "answer": "reject"}
    path = write_json(tmp_path / "a.jsonl", rejected, {**rejected, "answer": "ignore"}, *PRODIGY)
    events = Events()
    assert len(read(path, events)) == 2
    assert counts(events) == {"rejected": {"reject": 1, "ignore": 1}}
    with pytest.raises(ValueError, match=r"L403.*b\.jsonl.*reject 1"):
        read(write_json(tmp_path / "b.jsonl", rejected))


def unreadable(kind, value):
    """Return a task of Label Studio with one region that cannot be read."""
    return [{"data": {"text": "Ann"}, "annotations": [{"result": [{"type": kind, "value": value}]}]}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.iob", "Ann\tO\n", r"a\.iob"),  # no entity
        *(
            ("a.json", json.dumps(unreadable(kind, value)), rf"\({kind} 1\), as a\.json:record 1")
            for kind, value in (
                ("htmllabels", {"start": "/p[1]", "htmllabels": ["X"]}),
                ("paragraphlabels", {"start": "0", "paragraphlabels": ["X"]}),
                ("labels", {"start": 0, "end": 3}),
                ("text", {"start": 0, "end": 3}),
            )
        ),
    ],
)
def test_annotation_that_is_lost_is_refused_by_name_unless_it_is_allowed(name, text, message, tmp_path):
    path = new_file(tmp_path / name, text)
    with pytest.raises(ValueError, match=rf"L700.*{message}"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    convert_corpus(path, tmp_path / "out", allow=True)


WIDE = "🚒🧯 The crew of Oslo met Ann 🐳 at Li ."
BY_CHARACTERS = {"text": WIDE, "label": [[15, 19, "X"], [24, 27, "X"], [33, 35, "X"]]}
BY_UTF16 = {"text": WIDE, "label": [[17, 21, "X"], [26, 29, "X"], [36, 38, "X"]]}


@pytest.mark.parametrize("ascii_alone", [False, True])
@pytest.mark.parametrize(
    ("record", "unit", "expected"),
    [(BY_CHARACTERS, "characters", {}), (BY_UTF16, "utf-16", {"utf16": {"X": 3}})],
)
def test_the_unit_of_offsets_is_detected(record, unit, expected, ascii_alone, tmp_path):
    events = Events()
    narrow = {"text": "Ann left", "label": [[0, 3, "X"]]}
    path = new_file(tmp_path / "a.json", json.dumps([record, narrow], ensure_ascii=ascii_alone))
    assert [e.text for doc in read(path, events) for e in doc.ents] == ["Oslo", "Ann", "Li", "Ann"]
    assert counts(events) == expected
    assert [e.text for e in read(path, offsets=unit)[0].ents] == ["Oslo", "Ann", "Li"]


@pytest.mark.parametrize(
    ("said", "text", "kind"),
    [({"offsets": "utf-16"}, "京", "utf16"), ({}, "に", "ambiguous")],  # `mine` says the unit
)
def test_ambiguous_units_of_offsets_are_reported(said, text, kind, tmp_path):
    events = Events()
    path = write_json(tmp_path / "a.jsonl", {"text": "🚒東京に行く", "label": [[3, 4, "X"]], **said})
    (doc,) = read(path, events, blank("ja", "characters"), tokens="characters")
    assert doc.ents[0].text == text
    assert not doc.user_data
    assert counts(events) == {kind: {"X": 1}}


def test_utf16_offsets_of_a_discontinuous_span_are_converted(tmp_path):
    places = [{"offset": 7, "length": 2}, {"offset": 14, "length": 2}]  # "on" and "up"
    annotation = {"infons": {"type": "X"}, "locations": places}
    passage = {"offset": 0, "text": "🚒🚒🚒 on off up", "annotations": [annotation]}
    path = write_json(tmp_path / "a.jsonl", {"id": "1", "passages": [passage]})
    (doc,) = read(path, offsets="utf-16")
    assert [token.text for token in doc if token.ent_iob_ == ""] == ["on", "up"]


FOUND = {"text": "Annes saw Rome", "label": [[10, 14, "GEO"]]}
LOST = {"text": "Annes saw Oslo", "label": [[0, 3, "PER"], [10, 14, "GEO"], [10, 14, "CITY"]]}


def test_a_corpus_that_loses_annotations_is_refused_with_counts(tmp_path):
    path = write_json(tmp_path / "a.jsonl", FOUND, LOST)
    with pytest.raises(ValueError, match=r"L700.* 2 of 4 .*\(PER 1\), as a\.jsonl:2: PER.*\(CITY 1\)"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_twentieth_of_the_annotations_may_be_lost(tmp_path):
    path = write_json(tmp_path / "a.jsonl", *[FOUND] * 37, LOST)
    assert convert_corpus(path, tmp_path / "out").labels == ["GEO"]


@pytest.mark.parametrize(
    "record",
    [
        {"body": "abc", "title": "T", "spans": [{"start": 0, "end": 3, "label": "X"}]},
        {"body": "abc", "title": "T", "label": [[0, 3, "X"]]},
        {"data": {"body": "abc", "title": "T"}, "annotations": region()},
        {**ABOUT, "body": "abc", "title": "T", "ner": [{"start": 0, "end": 3, "labels": ["X"]}]},
    ],
)
def test_the_text_may_have_another_key(record, tmp_path):
    path = write_json(tmp_path / "a.jsonl", record)
    (doc,) = read(path, text_key="body")
    assert chars(doc) == ("abc", [(0, 3, "X")])
    assert doc.user_data["title"] == "T" and "body" not in doc.user_data
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: .*no 'corpus', found the texts .*body"):
        read(path, text_key="corpus")


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        (
            {**ABC, "meta": {"source": "x", "score": 0.5, "page": 3}, "_task_hash": 7},
            {"source": "x", "page": 3},
        ),
        ({**ABC, "article": "y", "big": 2**64, "none": None, "note": ""}, {"article": "y"}),
        ({**TASK, "data": {"text": "abc", "ref": "z", "id": 1, "n": 4}}, {"ref": "z", "n": 4}),
        ({**TASK, "data": {"body": "abc", "n": 4}}, {"n": 4}),
        ({**TAGGED, "id": "0", "ref": "x", "split": "x"}, {"ref": "x", "split": "x"}),
    ],
)
def test_plain_values_beside_the_text_are_kept(record, kept, tmp_path):
    """`split --group-by` keeps texts together that share one."""
    (doc,) = read(write_json(tmp_path / "a.jsonl", record))
    assert doc.user_data == kept


# ---------------------------------------------------------------- spans on tokens


def annotated(tmp_path, text, *spans, misaligned="missing"):
    """Read a text with spans. RETURNS (Tuple[Doc, Events]): The document, and the events."""
    events = Events()
    path = write_json(tmp_path / "a.jsonl", {"text": text, "label": spans})
    (doc,) = read(path, events, misaligned=misaligned)
    return doc, events


@pytest.mark.parametrize(
    ("policy", "text", "span", "expected"),
    [
        ("missing", "an apple tree grew .", (4, 13), ["O", "", "", "O", "O"]),
        ("expand", "an apple tree grew .", (4, 13), ["O", "B-X", "I-X", "O", "O"]),
        ("contract", "an apple tree grew .", (4, 13), ["O", "O", "B-X", "O", "O"]),
        ("contract", "an apple tree", (4, 7), ["O", "", "O"]),  # no token inside
        ("contract", "ab \n\n cd", (1, 8), ["O", "O", "B-X"]),
        ("contract", "ab \n\n cd", (1, 7), ["", "", ""]),
    ],
)
def test_policies_of_misaligned_spans(policy, text, span, expected, tmp_path):
    doc, events = annotated(tmp_path, text, (*span, "X"), misaligned=policy)
    assert tags_of(doc) == expected
    assert counts(events) == {"misaligned": {"X": 1}}


def test_misaligned_spans_are_missing_unless_something_else_is_asked_for(tmp_path):
    path = write_json(tmp_path / "a.jsonl", {"text": "an apple", "label": [[4, 8, "X"]]})
    (doc,) = read(path, events := Events())
    assert tags_of(doc) == ["O", ""]
    assert events.examples["misaligned"] == ["a.jsonl:1: X in an a[pple]"]
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: X in "):
        read(path, misaligned="error")


@pytest.mark.parametrize(
    ("spans", "expected", "kinds"),
    [
        (
            [(4, 7, "X"), (0, 5, "Y"), (6, 7, "Z"), (8, 11, "X"), (8, 11, "X"), (8, 11, "W")],
            ["B-Y", "I-Y", "I-Y", "B-Z", "B-X", "I-X"],
            {"overlapping": {"X": 1}, "repeated": {"X": 1}, "doubled": {"W": 1}},
        ),
        # "d" was in an entity
        ([(0, 5, "X"), (4, 7, "Y")], ["B-X", "I-X", "I-X", "", "O", "O"], {"overlapping": {"Y": 1}}),
        # the longest comes later
        ([(0, 3, "X"), (2, 7, "Y")], ["", "B-Y", "I-Y", "I-Y", "O", "O"], {"overlapping": {"X": 1}}),
        ([(1, 4, "X")], ["O", "B-X", "O", "O", "O", "O"], {"trimmed": {"X": 1}}),
    ],
)
def test_of_overlapping_spans_the_longest_is_kept(spans, expected, kinds, tmp_path):
    doc, events = annotated(tmp_path, "a b c d e f", *spans)
    assert tags_of(doc) == expected
    assert counts(events) == kinds


@QUICK
@given(
    data=st.data(),
    words=st.lists(st.text("ab'.,-", min_size=1, max_size=4), min_size=1, max_size=20),
    policy=st.sampled_from(["missing", "expand", "contract"]),
)
def test_no_span_is_lost_in_silence(data, words, policy, tmp_path):
    """Every span is an entity with its ends, or counted. It touches no O, unless contracted."""
    text = " ".join(words)
    place = st.sampled_from([i for i, c in enumerate(text) if c != " "])
    drawn = data.draw(st.lists(st.tuples(place, place).map(sorted), max_size=5))
    spans = [(a, b + 1, "X") for a, b in drawn]
    doc, events = annotated(tmp_path, text, *spans, misaligned=policy)
    n_counted = sum(events.n(kind) for kind in ("misaligned", "overlapping", "repeated"))
    assert len(spans) <= len([s for s in dict.fromkeys(spans) if s in chars(doc)[1]]) + n_counted
    touched = {t.i for t in doc for a, b, _ in spans if t.idx < b and t.idx + len(t) > a}
    outside = {t.i for t in doc if t.ent_iob_ == "O"}
    assert set(range(len(doc))) - touched <= outside
    if policy != "contract":
        assert not touched & outside


# ---------------------------------------------------------------- brat


def test_what_brat_has_beside_entities_is_counted(tmp_path):
    ann = (
        "T1\tDis 0 4;15 21\tleft cancer\nT2\tDis 9 21\tright cancer\nT3\tDis 9 14\tright\n"
        "T4\tOrg 22 25;26 29\tthe end\nE1\tX:T1 A:T2\nA1\tNeg T1\nM1\tNeg T1\nN1\tReference T1 x:1\ty\n"
        "#1\tAnnotatorNotes T1\tno\n*\tEquiv T1 T2\n\n"
    )
    events = Events()
    (doc,) = read(
        write_files(tmp_path, {"a.txt": "left and right cancer\nthe\nend", "a.ann": ann}), events
    )
    assert tags_of(doc) == ["", "O", "B-Dis", "I-Dis", "O", "B-Org", "I-Org", "I-Org"]
    ignored = {"events": 1, "attributes": 2, "normalizations": 1, "notes": 1, "equivalences": 1}
    lost = {"discontinuous": {"Dis": 1}, "overlapping": {"Dis": 1}}
    assert counts(events) == {"ignored": ignored, **lost}
    assert events.examples["discontinuous"] == ["a.ann:1: Dis 'left cancer'"]


@pytest.mark.parametrize(
    ("text", "ann", "read_as", "expected"),
    [
        ("Ann left.\nIn Oslo\n", "T1\tX 0 3\tAnn\nT2\tX 13 17\tOslo\n", "Ann left.\nIn Oslo\n", {}),
        (
            "Ann left.\r\nIn Oslo\r\n",
            "T1\tX 0 3\tAnn\nT2\tX 14 18\tOslo\n",
            "Ann left.\r\nIn Oslo\r\n",
            {},
        ),
        (
            "Ann left.\r\nIn Oslo\r\n",
            "T1\tX 0 3\tAnn\nT2\tX 13 17\tOslo\n",
            "Ann left.\nIn Oslo\n",
            {"folded": {"files": 1}},
        ),
    ],
)
def test_line_ends_count_as_one_character_or_as_two(text, ann, read_as, expected, tmp_path):
    """brat's server counts the text as it is, other programs count line ends as one."""
    events = Events()
    (doc,) = read(write_files(tmp_path, {"a.txt": text, "a.ann": ann}), events)
    assert [e.text for e in doc.ents] == ["Ann", "Oslo"]
    assert doc.text == read_as
    assert counts(events) == expected


@pytest.mark.parametrize(
    ("names", "missing"),
    [(["1.txt", "1.ann", "2.txt"], r"2\.ann"), (["1.txt", "1.ann", "2.ann"], r"2\.txt")],
)
def test_brat_files_come_in_pairs(names, missing, tmp_path):
    write_files(tmp_path, dict.fromkeys(names, ""))
    with pytest.raises(ValueError, match=rf"L402.*{missing} does not exist"):
        read(tmp_path)


# ---------------------------------------------------------- numbered sentences of free-text types


@pytest.mark.parametrize(
    ("line", "spans", "kinds"),
    [
        (
            "0\tNew York => city; place | New York Times => newspaper; work | . => mark",
            [(1, 4, "newspaper; work"), (5, 7, "city; place"), (7, 8, "mark")],
            {},
        ),
        (
            "0\tNew York => city | New York => state",
            [(1, 3, "city"), (5, 7, "city")],
            {"doubled": {"state": 1}},
        ),
        ("0\tTimes => a | Times => b | The => c", [(0, 1, "c"), (3, 4, "a")], {"doubled": {"b": 1}}),
        ("0\tNew => a", [(1, 2, "a"), (5, 6, "a")], {}),
        ("0\tNew york => a | of => b", [(4, 5, "b")], {"absent": {"a": 1}}),
        ("0\tYork Times => a | New York Times => b", [(1, 4, "b")], {"overlapping": {"a": 1}}),
    ],
)
def test_a_listed_mention_stands_in_all_places_that_no_longer_one_takes(line, spans, kinds, tmp_path):
    events = Events()
    (doc,) = read(write_files(tmp_path, {"sents.json": TIMES, "ann00.txt": line}), events)
    assert [(e.start, e.end, e.label_) for e in doc.ents] == spans
    assert counts(events) == kinds


def test_blank_tokens_of_numbered_sentences_are_skipped(tmp_path):
    (doc,) = read(write_files(tmp_path, {"sents.json": TIMES, "ann00.txt": "1\t-\n"}))
    assert [token.text for token in doc] == ["So", "?"]


def test_listed_mentions_that_are_absent_are_losses(tmp_path):
    source = write_files(
        tmp_path / "in", {"sents.json": TIMES, "ann00.txt": "0\tNew york => a | of => b"}
    )
    with pytest.raises(ValueError, match=r"L700.*1 of 2 annotations.*ann00\.txt:1"):
        convert_corpus(source, tmp_path / "out")


# ---------------------------------------------------------------- .spacy


def test_written_files_hold_what_spacy_writes(tmp_path):
    first = Doc(NLP.vocab, words=["Ann", "saw", "Rome"], ents=["B-PER", "O", "B-GEO"])
    second = Doc(NLP.vocab, words=["人名", "?"], spaces=[False, False], ents=["B-人名", "O"])
    second.user_data["title"] = "t1"
    second.spans["x"] = [second[:1]]
    second.cats = {"c": 0.5}
    tally = write_docs(tmp_path / "ours.spacy", iter([first, second]))
    save_docs(tmp_path / "theirs.spacy", [first, second])
    ours, theirs = (load_docs(tmp_path / f"{n}.spacy", spacy.blank("xx")) for n in ("ours", "theirs"))
    assert [d.to_bytes() for d in ours] == [d.to_bytes() for d in theirs]
    assert (tally.documents, tally.tokens) == (2, 5)
    assert tally.mentions == Counter({"PER": 1, "GEO": 1, "人名": 1})


@pytest.mark.parametrize("codes", [(1, 1, 2), (2, 1, 2), (3, 1, 2)])
def test_entities_that_nothing_begins_are_refused(codes, tmp_path):
    doc = Doc(NLP.vocab, words=list("abc"))
    types = NLP.vocab.strings.add("X") * (codes[0] == 1)
    doc.from_array(["ENT_IOB", "ENT_TYPE"], np.array([codes, [types] * 3], dtype="uint64").T)
    with pytest.raises(ValueError, match=r"L404.*a\.spacy.*document 1"):
        read(save_docs(tmp_path / "a.spacy", [doc]))


def test_white_space_at_the_ends_of_entities_is_trimmed(tmp_path):
    tags = ["B-X", *["I-X"] * 4, "O", "B-X"]
    doc = Doc(NLP.vocab, words=["\n", "a", "\n", "b", " ", "c", "\n"], ents=tags)
    (again,) = read(save_docs(tmp_path / "a.spacy", [doc]), events := Events())
    assert tags_of(again) == ["O", "B-X", "I-X", "I-X", "O", "O", "O"]
    assert counts(events) == {"trimmed": {"X": 2}}


def test_ids_and_blocked_tokens_of_entities_are_kept(tmp_path):
    doc = Doc(NLP.vocab, words=["a", "b", "c", "d"])
    doc.set_ents([Span(doc, 0, 1, "X", kb_id="Q1", span_id="7")], blocked=[doc[1:2]])
    (kept,) = read(save_docs(tmp_path / "a.spacy", [doc]))
    assert tags_of(kept) == ["B-X", "", "O", "O"]
    assert (kept.ents[0].kb_id_, kept.ents[0].id_) == ("Q1", "7")


def test_documents_without_annotation_or_tokens_are_counted(tmp_path):
    docs = [Doc(NLP.vocab, words=["a"]), Doc(NLP.vocab, words=["b"], ents=["O"]), Doc(NLP.vocab)]
    found = read(save_docs(tmp_path / "a.spacy", docs), events := Events())
    assert [d.has_annotation("ENT_IOB") for d in found] == [False, True]
    assert counts(events) == {"unannotated": {"documents": 1}, "empty": {"texts": 1}}


# ---------------------------------------------------------------- broken files of every format


PIECES = [*b'\x00\xff\t\n "[]{,9\\', *"é".encode()]


def mutate(content, rng):
    """Return bytes of which a few, or some lines, are changed, dropped, doubled or swapped."""
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


BROKEN_FILE = {"brat": "000.ann", "numbered": "ann00.txt"}  # of formats with several


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", EVERY_FORMAT)
def test_broken_files_give_coded_errors_and_nothing_else(kind, tmp_path, monkeypatch):
    files, options = EVERY_FORMAT[kind]
    source, rng = write_files(tmp_path / "in", files), random.Random(kind)
    path = source / BROKEN_FILE.get(kind, next(iter(files)))
    good = path.read_bytes()
    monkeypatch.setattr(corpora, "blank", lambda lang, tokens: NLP)
    n_refused = 0
    for i in range(20):
        path.write_bytes(mutate(good, rng))
        target = tmp_path / str(i)
        try:
            convert_corpus(source, target, **options)
            assert (target / "types.json").is_file()
        except ValueError as error:
            n_refused += 1
            text = str(error)
            assert text.startswith(("[L4", "[L700", "[L550]", "[L830]")), (text, path.read_bytes())
            whole = kind == "brat" or re.match(r"\[L(402|403|421|700|830)\]", text)
            assert str(source if whole else path) in text, text
            assert not target.exists()
    assert n_refused > 2
    assert not list(tmp_path.glob(".longtail*"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_option_of_a_format_is_an_option_of_convert(name):
    assert FORMATS[name].options <= {*signature(convert_command).parameters}


def test_each_indented_object_has_the_line_where_it_begins(tmp_path):
    path = new_file(tmp_path / "a.json", '{\n"text": "a"\n}\n\n{\n"text": "b"\n}\n{\n"text": "c"\n}\n')
    assert [(place.line, record["text"]) for place, record in read_records(path, "utf8")] == [
        (1, "a"),
        (5, "b"),
        (8, "c"),
    ]
