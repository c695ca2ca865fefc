"""What `convert` reads: round trips of every format, spans that cut tokens, broken files."""

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
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
import pytest
import spacy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.corpus import folder as corpora
from spacy_longtail.corpus.folder import convert_corpus, load_docs
from spacy_longtail.corpus.formats.context import MEANINGS, Context, Events
from spacy_longtail.corpus.formats.docbin import write_docs
from spacy_longtail.corpus.formats.options import Columns, parse_columns, read_tag_names
from spacy_longtail.corpus.formats.sources import FORMATS, find_parts
from spacy_longtail.corpus.tokenizers import blank

NLP = spacy.blank("en")
QUICK = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
TYPES = ["PER", "GEO", "ART-X", "人名"]
NAMES = ("O", *(f"{prefix}-{label}" for label in TYPES for prefix in "BI"))


class Sent(NamedTuple):
    words: list[str]
    ents: list[tuple[int, int, str]]  # token offsets, type


SOME = [Sent(["Ann", "saw", "New", "Rome", "."], [(0, 1, "PER"), (2, 4, "GEO")])] * 3
SOME += [Sent(["So", "did", "I"], [])]


def sents(word):
    @st.composite
    def draw_one(draw):
        words = draw(st.lists(word, min_size=1, max_size=7))
        cuts = sorted(draw(st.sets(st.integers(0, len(words)), max_size=5)))
        if draw(st.booleans()):  # neighbours of one type
            return Sent(words, [(a, b, "PER") for a, b in itertools.pairwise(cuts)])
        return Sent(words, [(a, b, draw(st.sampled_from(TYPES))) for a, b in zip(cuts[::2], cuts[1::2])])

    return st.lists(draw_one(), min_size=1, max_size=6)


LETTERS = st.text("abcdefgäß", min_size=1, max_size=5)
ANYTHING = st.text(
    st.characters(codec="utf-8", exclude_categories=("Z", "C"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=5,
).filter(lambda w: not w.startswith("-DOCSTART-") and w.split() == [w])


def texts(sent):
    """The sentence as text, and its spans in characters."""
    starts = [0, *itertools.accumulate(len(word) + 1 for word in sent.words)]
    return " ".join(sent.words), [(starts[a], starts[b] - 1, t) for a, b, t in sorted(sent.ents)]


def tags(sent, scheme="iob2"):
    found = ["O"] * len(sent.words)
    last, single = {"bioes": "ES", "bilou": "LU"}.get(scheme, ("I", "B"))
    for a, b, label in sent.ents:
        follows = any(end == a and t == label for _, end, t in sent.ents)
        first = "I" if scheme == "iob1" and not follows else "B"
        prefixes = [first, *"I" * (b - a - 2), last] if b - a > 1 else [single if first == "B" else "I"]
        found[a:b] = [f"{prefix}-{label}" for prefix in prefixes]
    return found


def write(path, text, encoding="utf8", newline=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline=newline) as file:
        file.write(text)
    return path


def write_json(path, *records):
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def read(source, events=None, nlp=NLP, labels=(), format=None, **chosen):
    """Return every document of a source that is one part."""
    (part,) = find_parts(source, ("train", "dev", "test"), format, chosen).parts.values()
    context = Context(nlp, events or Events(), labels, chosen.get("tokens", "words"))
    return list(part.read(context))


def chars(doc):
    return doc.text.rstrip(" "), [(e.start_char, e.end_char, e.label_) for e in doc.ents]


def iob(doc):
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else t.ent_iob_ for t in doc]


def counts(events):
    assert set(events.counts) <= set(MEANINGS)
    return {kind: dict(counter) for kind, counter in events.counts.items()}


# ---------------------------------------------------------------- every format, there and back


def with_tags(line, scheme="iob2"):
    """A text format of a line per token. line (Callable): Of number, word and tag."""

    def make(found):
        rows = ([*enumerate(zip(s.words, tags(s, scheme)), 1)] for s in found)
        return "".join("".join(line(i, *row) for i, row in sent) + "\n" for sent in rows)

    return make


def conllu(i, word, tag, key="NE"):
    misc = "Gloss=x" if tag == "O" else f"{key}={tag}"
    return "\t".join([str(i), word, *"_X", tag, *"_0__", misc]) + "\n"


def table(head, sentence, gap=",", end=""):
    """CSV. sentence (Callable): Of the numbers of sentence and token, what stands in its column."""

    def make(found):
        file = io.StringIO()
        quoting = {"quoting": csv.QUOTE_NONE, "quotechar": None} if gap == "\t" else {}
        rows = csv.writer(file, delimiter=gap, **quoting)
        rows.writerow(head)
        for i, sent in enumerate(found):
            for j, pair in enumerate(zip(sent.words, tags(sent))):
                rows.writerow([sentence(i, j), *pair])
            file.write(end)
        return file.getvalue()

    return make


def prodigy(text, spans, with_tokens=False):
    record = {"text": text, "spans": [{"start": a, "end": b, "label": t} for a, b, t in spans]}
    record |= {"answer": "accept", "_input_hash": 1, "meta": {"x": 2}}
    if with_tokens:
        record["tokens"] = [
            {"text": t.text, "start": t.idx, "end": t.idx + len(t), "id": t.i, "ws": bool(t.whitespace_)}
            for t in NLP(text)
        ]
    return record


def values(text, spans):
    return [{"start": a, "end": b, "text": text[a:b], "labels": [t]} for a, b, t in spans]


def label_studio(text, spans):
    regions = [{"type": "labels", "value": value, "id": "q"} for value in values(text, spans)]
    annotations = [{"result": regions, "was_cancelled": False}]
    return {"id": 1, "data": {"text": text, "id": "3"}, "annotations": annotations}


def json_min(text, spans):
    about = {"id": 5, "sentiment": "good", "annotator": 1, "annotation_id": 3, "lead_time": 4.5}
    return {"text": text, **about, **({"ner": values(text, spans)} if spans else {})}


def objects(start="start", end="end", label="label", **more):
    return lambda text, spans: {
        "text": text,
        "entities": [{start: a, end: b, label: t, **more} for a, b, t in spans],
    }


def listed(key, text_key="text"):
    return lambda text, spans: {"id": 1, text_key: text, key: [list(s) for s in spans]}


def light_tag(text, spans):
    marks = [{"start": a, "end": b, "tag": t, "value": text[a:b]} for a, b, t in spans]
    return {"examples": [{"content": text, "annotations": marks, "classifications": []}]}


def bioc_json(text, spans, offset=7):
    marks = []
    for a, b, t in spans:
        where = [{"offset": a + offset, "length": b - a}]
        marks.append({"infons": {"type": t}, "text": text[a:b], "locations": where})
    return {"id": "1", "passages": [{"offset": offset, "text": text, "annotations": marks}]}


RECORDS = {
    "prodigy": prodigy,
    "prodigy_tokens": lambda text, spans: prodigy(text, spans, True),
    "doccano_label": listed("label"),
    "doccano_labels": listed("labels", "data"),
    "doccano_entities": objects("start_offset", "end_offset", id=1),
    "generic": objects(),
    "type": objects(label="type"),
    "pipeline": objects(label="entity_group", score=0.9, word="x"),  # of Hugging Face
    "annotations": listed("annotations"),
    "ner_annotator": lambda text, spans: {
        "classes": ["PER"],
        "annotations": [[text, {"entities": [list(s) for s in spans]}]],
    },
    "light_tag": light_tag,
    "bioc_json": bioc_json,
    "rasa": lambda text, spans: {
        "rasa_nlu_data": {"common_examples": [objects(label="entity")(text, spans)]}
    },
    "label_studio": label_studio,
    "json_min": json_min,
    "spacy_2": lambda text, spans: [text, {"entities": [list(s) for s in spans]}],
}


def dump(records, layout):
    if layout == "lines":
        return "\n".join(json.dumps(r, ensure_ascii=False) for r in records) + "\n"
    indent = 2 if layout == "indented" else None
    return json.dumps(records, indent=indent, ensure_ascii=layout == "array")


def of_records(make, layout):
    return lambda found: dump([make(*texts(s)) for s in found], layout)


def of_tokens(make):
    return lambda found: dump([make(s) for s in found], "lines")


def brat_files(found):
    files = {}
    for i, sent in enumerate(found):
        text, spans = texts(sent)
        ann = "".join(f"T{j}\t{t} {a} {b}\t{text[a:b]}\n" for j, (a, b, t) in enumerate(spans, 1))
        files |= {f"{i:03}.txt": text, f"{i:03}.ann": f"{ann}R1\tloves Arg1:T1 Arg2:T2\n"}
    return files


def bioc_xml(found):
    root = Element("collection")
    for sent in found:
        (passage,) = bioc_json(*texts(sent))["passages"]
        document = SubElement(root, "document")
        SubElement(document, "id").text = "1"
        inner = SubElement(document, "passage")
        SubElement(inner, "offset").text = str(passage["offset"])
        SubElement(inner, "text").text = passage["text"]
        for mark in passage["annotations"]:
            annotation = SubElement(inner, "annotation")
            SubElement(annotation, "infon", key="type").text = mark["infons"]["type"]
            where = {name: str(value) for name, value in mark["locations"][0].items()}
            SubElement(annotation, "location", where)
            SubElement(annotation, "text").text = mark["text"]
    return tostring(root)


def pubtator(found):
    blocks = []
    for i, sent in enumerate(found):
        text, spans = texts(sent)
        marks = "".join(f"{i}\t{a}\t{b}\t{text[a:b]}\t{t}\tD1\n" for a, b, t in spans)
        blocks.append(f"{i}|t|{text}\n{marks}\n")
    return "".join(blocks)


def opennlp(found):
    lines = []
    for sent in found:
        words = list(sent.words)
        for a, b, label in sent.ents:
            words[a] = f"<START:{label}> {words[a]}"
            words[b - 1] += " <END>"
        lines.append(" ".join(words) + "\n")
    return "".join(lines)


def dygie(sent):
    return {"doc_key": "x", "sentences": [sent.words], "ner": [[[a, b - 1, t] for a, b, t in sent.ents]]}


def numbered(found):
    lines = []
    for i, sent in enumerate(found):
        mentions = [f"{' '.join(sent.words[a:b])} => {t}; thing" for a, b, t in sent.ents]
        lines.append(f"{i}\t{' | '.join(mentions) or '-'}\n")
    rows = json.dumps([["a", sent.words] for sent in found])
    return {"sents.json": rows, "ann00.txt": "".join(lines[:2]), "ann01.txt": "".join(lines[2:])}


def marked(head, level=""):
    def make(found):
        lines = []
        for sent in found:
            words = list(sent.words)
            for a, b, label in sent.ents:
                words[a] = f"[{words[a]}"
                words[b - 1] += f"|{label}{level}]"
            lines.append(" ".join(words))
        return head + "\n".join(lines) + "\n"

    return make


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


def kaggle(every_row):
    head = ["Sentence #", "Word", "Tag"]
    return table(head, lambda i, j: f"Sentence: {i}" if every_row or not j else "")


def huggingface(sent, tag="ner_tags"):
    return {"id": "0", "tokens": sent.words, tag: tags(sent), "ref": "x"}


PLAIN = with_tags(lambda i, word, tag: f"{word}\t{tag}\n")
WTS, WT = Columns("word", "tag", "sent"), {"columns": Columns("w", "t")}
# kind: file, content of sentences, settings
TOKEN_FORMATS = {
    "iob": ("a.iob", PLAIN, {}),
    "iob1": ("a.conll", with_tags(lambda i, w, t: f"{w} x {t}\n", "iob1"), {"scheme": "iob1"}),
    "bioes": ("a.bioes", with_tags(lambda i, w, t: f"{w} x {t}\n", "bioes"), {}),
    "bilou": ("a.txt", with_tags(lambda i, w, t: f"{t}\tx\t{w}\r\n", "bilou"), {"tag_column": 0}),
    "utf16": ("a.bio", PLAIN, {"encoding": "utf-16"}),
    "kaggle": ("a.csv", kaggle(False), {}),
    "kaggle_rows": ("a.csv", kaggle(True), {}),
    # numbers of sentences that come again
    "csv": ("a.csv", table(["sent", "word", "tag"], lambda i, j: i % 2, ";"), {"columns": WTS}),
    "tsv": ("a.tsv", table(["x", "w", "t"], lambda i, j: "1", "\t", "\t\t\r\n"), WT),
    "conllu": ("a.conllu", with_tags(conllu), {}),
    "conllu_key": (
        "a.conllu",
        with_tags(lambda *row: conllu(*row, "Ent")),
        {"columns": Columns(tag="ent")},
    ),
    "conllu_tag": ("a.conllu", with_tags(conllu), {"columns": Columns(tag="xpos")}),
    "huggingface": ("a.json", of_tokens(huggingface), {}),
    "numbers": (
        "a.jsonl",
        of_tokens(lambda s: {"tokens": s.words, "fine": [NAMES.index(tag) for tag in tags(s)]}),
        {"tag_names": NAMES, "columns": Columns(tag="fine")},
    ),
    "gliner": (
        "a.json",
        of_tokens(lambda s: {"tokenized_text": s.words, "ner": [[a, b - 1, t] for a, b, t in s.ents]}),
        {},
    ),
    "dygie": ("a.jsonl", of_tokens(dygie), {}),
    "opennlp": ("a.train", opennlp, {"format": "opennlp"}),
    "spacy": ("a.spacy", lambda found: DocBin(docs=docs_of(found), store_user_data=True).to_bytes(), {}),
}
TOKEN_FORMATS["bilou"][2]["token_column"] = -1
TEXT_FORMATS = {
    "brat": ("", brat_files, {}),
    "bioc": ("a.xml", bioc_xml, {}),
    "pubtator": ("a.pubtator", pubtator, {}),
    "articles": ("a.txt", marked("title: T\nkind: k\n\n"), {}),
    "open": ("a.txt", marked("domain: d\n\n", "; thing"), {}),
} | {
    f"{kind}_{layout}": ("a.json", of_records(make, layout), {})
    for kind, make in RECORDS.items()
    for layout in ("lines", "array", "indented")
    if layout == "lines" or kind in ("generic", "label_studio", "spacy_2")
}

FORMS = {**TOKEN_FORMATS, **TEXT_FORMATS, "numbered": ("", numbered, {})}


def save(folder, kind, found):
    """The files of a format. RETURNS (Path): The one to read, or their folder."""
    name, make, chosen = FORMS[kind]
    content = make(found)
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in (content if isinstance(content, dict) else {name: content}).items():
        encoded = data if isinstance(data, bytes) else data.encode(chosen.get("encoding", "utf8"))
        (folder / file).write_bytes(encoded)
    return folder / name if name else folder


def check_round_trip(kind, found, folder):
    for path in folder.iterdir() if folder.exists() else ():
        path.unlink()
    docs = read(save(folder, kind, found), labels=TYPES if kind == "articles" else (), **FORMS[kind][2])
    sentences = [s.as_doc() for doc in docs for s in doc.sents] if kind == "articles" else docs
    expected = [texts(sent) for sent in found]
    if kind == "open":
        expected = [(text, [(a, b, f"{t}; thing") for a, b, t in spans]) for text, spans in expected]
    assert [chars(doc) for doc in sentences] == expected
    assert all(doc.has_annotation("ENT_IOB", require_complete=True) for doc in docs)
    return docs


@pytest.mark.parametrize("kind", TOKEN_FORMATS)
@QUICK
@given(data=st.data())
def test_formats_of_tokens_round_trip(kind, data, tmp_path):
    found = data.draw(sents(LETTERS if "conllu" in kind else ANYTHING))
    found += SOME if "conllu" in kind else []  # which is refused without any tag
    docs = check_round_trip(kind, found, tmp_path / "in")
    assert [[t.text for t in doc] for doc in docs] == [sent.words for sent in found]
    assert all(doc.has_unknown_spaces for doc in docs) or kind == "spacy"


@pytest.mark.parametrize("kind", TEXT_FORMATS)
@QUICK
@given(found=sents(LETTERS))
def test_formats_of_texts_round_trip(kind, found, tmp_path):
    assert not any(doc.has_unknown_spaces for doc in check_round_trip(kind, found, tmp_path / "in"))


DECLARED = '{"labels": ["PER", "GEO"]}'


@pytest.mark.parametrize("kind", FORMS)
def test_every_format_is_found_and_may_be_gzipped(kind, tmp_path):
    chosen = FORMS[kind][2]
    path = save(tmp_path / "in", kind, SOME)
    for file in tmp_path.joinpath("in").iterdir() if kind != "spacy" else ():
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    if kind == "articles":
        write(tmp_path / "in" / "corpus.json", DECLARED)
    source = path if path.exists() else tmp_path / "in"
    types = convert_corpus(source, tmp_path / "out", **chosen)
    assert sorted(types.labels) == ([] if kind in ("open", "numbered") else ["GEO", "PER"])
    (report,) = json.loads((tmp_path / "out" / "conversion.json").read_text())["parts"].values()
    assert report["format"] in FORMATS and sum(report["mentions"].values()) == 6


# ---------------------------------------------------------------- columns, tables and CoNLL-U


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


HEAD = "Sentence #,Word,POS,Tag\n"
EXPORT = "text,id,label,annotator,annotation_id,lead_time\nAnn,1,,a,2,3.2\n"  # of Label Studio
OTHERS = [["d", ["The", "New", "York", "Times", "of", "New", "York", "."]], ["d", ["So", " ", "?"]]]
BESIDE = {  # what a file cannot do without
    "a.ann": {"a.txt": "left and right cancer"},
    "ann00.txt": {"sents.json": json.dumps(OTHERS)},
    "sents.json": {"ann00.txt": "0\t-"},
}
BROKEN_LINES = [  # file, text, settings, the line or the place
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
    ("a.iob", EXPORT.replace(",", "\t"), {}, "1"),
    ("a.iob", "\n\na\tO\n", {"token_column": 2}, "3: .*--token-column is 2"),
    ("a.iob", "\n\na\tO\n", {"tag_column": -3}, "3: .*--tag-column is -3"),
    ("a.iob", "a\tO\n\n-DOCSTART-\tO\n\nb\tO\n", {"documents": True}, "1: .*--documents"),
    ("a.csv", "Word,Tag\n", {}, "1: .*Sentence #"),
    ("a.csv", "", {}, "1"),
    ("a.csv", HEAD + ",a,NN,O\n", {}, "2"),
    ("a.csv", HEAD + "1,a,NN\n", {}, "2"),
    ("a.csv", HEAD + '1,"a\nb",NN,O\n,b,NN,B-\n', {}, "4"),
    ("a.csv", HEAD + '1,"a', {}, "2"),
    ("a.csv", HEAD + "1,,NN,B-X\n", {}, "2"),
    ("a.csv", HEAD + "1," + "a" * 200_000 + ",NN,O\n", {}, "2"),
    ("a.csv", EXPORT, {}, "1"),
    ("a.tsv", "w\tt\na\tO\n", {"columns": Columns("word", "t")}, "1: .*word"),
    ("a.tsv", "w\tt\ts\na\tO\t\n", {"columns": Columns("w", "t", "s")}, "2"),
    ("a.conllu", conllu(1, "a", "O"), {}, "1: .*NE="),
    ("a.conllu", conllu(1, "a", "B-X"), {"columns": Columns(tag="Entity")}, "1: .*ENTITY="),
    ("a.conllu", conllu(1, "a", "B-X") + conllu(2, "b", "I-Y"), {}, "2"),
    ("a.conllu", conllu(1, " ", "B-X"), {}, "1"),
    ("a.conllu", "\n# global.columns = ID LEMMA MISC\n1\ta\t_\n", {}, "3: .*ID, LEMMA, MISC"),
    ("a.conllu", "# global.columns = ID FORM\n1\ta\n", {}, "2"),
    *(
        ("a.txt", f"title: T\nkind: note\n\nFine.\n{line}\n", {"misaligned": "error"}, "5")
        for line in (
            *("[Ana|PER sat.", "Ana|PER] sat.", "[Ana|XYZ] sat.", "[Ana [Lisbon|GEO] Sá|PER] sat."),
            *("[ Ana|PER] sat.", "[|PER] sat.", "Ana | Sá", "[Ana] sat.", "The [Lisb|GEO]oners left."),
        )
    ),
    ("a.txt", "title: T\n", {}, "2"),
    ("a.txt", "title: T\nkinds: k\nSo.\n", {}, "2"),
    ("a.txt", "domain: d\n[Ann|a; b; c] left.\n", {}, "2"),
    ("a.txt", "domain: d\n[Ann|; b] left.\n", {}, "2"),
    *(
        ("a.jsonl", text, {}, f"({line}|record 1)")
        for text, line in (
            *(("{", 1), ("{}{}", 1), ("\n\n[{},\n{}", 4), ("[{}\n{}]", 2), ("[{}]\n\n[", 3)),
            *(('[{"text": "a", "label": []},]', 1), ("[" * 100_000, 1), ('{"a":' * 100_000, 1)),
            *(('{"text": ' + "9" * 5000 + "}", 1), ("[NaN]", 1), ("nothing", 1)),
        )
    ),
    *(
        ("a.ann", f"R1\tx\n{line}\n", {}, "2")
        for line in (
            *("T1 Dis 0 4 left", "T1\tDis 0\tleft", "T1\tDis 0 4", "T1\tDis 0 4;\tleft"),
            *("T1\tDis 0 " + "9" * 5000 + "\tleft", "Q1\tDis 0 4\tleft", "T1\tDis 0 99\tleft"),
            *("T1\tDis 4 0\tleft", "T1\tDis 0 4\tright", "T1\tDis 0 4;9 14\tleft and"),
            "T1\tDis 0 4;9 99\tleft right",
        )
    ),
    *(("sents.json", rows, {}, "1") for rows in ("{", "[[1]]", "[1]", "[" * 100_000)),
    *(
        ("sents.json", rows, {}, "ann00.txt:1")
        for rows in ('[["a", [1]]]', '[["a", "b"]]', '[["a", []]]')
    ),
    *(
        ("ann00.txt", line, {}, line.count("\n") + 1)
        for line in (
            *("zero\tTimes => a; b", "0 Times => a; b", "2\t-", "0\t-\n0\t-", "0\tTimes = a; b"),
            *("0\tTimes => a; b; c", "0\tTimes => ; b", "0", "0\t => a"),
        )
    ),
]


@pytest.mark.parametrize(("name", "text", "chosen", "place"), BROKEN_LINES)
def test_a_broken_line_is_named(name, text, chosen, place, tmp_path):
    for other, content in BESIDE.get(name, {}).items():
        write(tmp_path / other, content)
    path = write(tmp_path / name, text.replace("{}", '{"text": "a", "label": []}'))
    place = place if ".txt:" in str(place) else f"{name}:{place}"
    with pytest.raises(ValueError, match=rf"L401.*{place}"):
        read(tmp_path if name in BESIDE else path, labels=["PER", "GEO"], **chosen)


@pytest.mark.parametrize("name", ["a.conllu", "a.csv", "a.tsv", "a.txt", "a.json"])
def test_sources_without_a_sentence_are_refused(name, tmp_path):
    text = {"a.csv": HEAD, "a.tsv": "w\tt\n", "a.txt": "title: T\nkind: x\n\n", "a.json": "[\n]"}
    with pytest.raises(ValueError, match="L403"):
        read(write(tmp_path / name, text.get(name, "")), **(WT if name == "a.tsv" else {}))


def test_tokens_of_white_space_outside_entities_are_left_out(tmp_path):
    """As where somebody has written spaCy's tokens. Other white space is part of a token."""
    text = "New\u2028\tB-X\n \tI-X\nYork\tI-X\n\x85\tO\n is\tO\n\n\tO\n\n10\u00a0000\tO\n\n\tO\n"
    events = Events()
    docs = read(write(tmp_path / "a.iob", text), events)
    assert [[t.text for t in doc] for doc in docs] == [["New", "York", "is"], ["10\u00a0000"]]
    assert [ent.text for ent in docs[0].ents] == ["New York"]
    assert counts(events) == {"blank": {"tokens": 4}}
    assert events.examples["blank"][0] == "a.iob:2: ' '"
    assert read(write(tmp_path / "a.iob", "10\u00a0000 O\n"))[0][0].text == "10\u00a0000"


def test_documents_between_marks_and_words_of_the_syntax(tmp_path):
    text = "-DOCSTART- -X- O\n\na O\n\nb B-X\nc I-X\n\n-DOCSTART- -X- O\n-DOCSTART- -X- O\nd O\n"
    path = write(tmp_path / "a.iob", text)
    assert [d.text.split() for d in read(path)] == [["a"], ["b", "c"], ["d"]]
    docs = read(path, documents=True)
    assert [[s.text.split() for s in d.sents] for d in docs] == [[["a"], ["b", "c"]], [["d"]]]
    assert [iob(d) for d in docs] == [["O", "B-X", "I-X"], ["O"]]
    text = f"# newdoc id = 1\n{conllu(1, 'a', 'B-X')}\n{conllu(1, 'b', 'B-X')}# newdoc\n"
    (doc,) = read(write(tmp_path / "a.conllu", text), documents=True)
    assert iob(doc) == ["B-X", "B-X"] and len(list(doc.sents)) == 2  # no entity runs over them
    rest = "\t_" * 8 + "\n"
    text = f"{conllu(1, 'a', 'B-X')}1.1\tnothing{rest}{conllu(2, 'b', 'O')}"
    assert chars(read(write(tmp_path / "a.conllu", text))[0]) == ("a b", [(0, 1, "X")])
    misc = conllu(1, "a", "B-X", "name=B-Z|ner=B-Z|NE")
    assert read(write(tmp_path / "b.conllu", misc))[0].ents[0].label_ == "X"


def test_names_of_tags_and_columns(tmp_path):
    file = write(tmp_path / "a.txt", "O\nB-X\n")
    assert read_tag_names("O, B-X") == read_tag_names(str(file)) == ("O", "B-X")
    for text in ("names.json", "O,B-X,O", "", ",", "O", "O\0"):
        with pytest.raises(ValueError, match="L581"):
            read_tag_names(text)
    assert parse_columns("token=word, tag = ner") == Columns("word", "ner")
    for text in ("", "token", "token=", "word=token", "tag=a,tag=b", "tag=a,"):
        with pytest.raises(ValueError, match="L581"):
            parse_columns(text)
    for name, chosen, code in (  # names that would be ignored
        ("a.iob", {"columns": Columns(tag="x")}, "L420"),
        ("a.iob", {"tag_names": ("O", "B-X")}, "L420"),
        ("a.tsv", {"columns": Columns(token="x")}, "L581"),
        ("a.jsonl", {"columns": Columns("w", "t", "s")}, "L581"),
    ):
        with pytest.raises(ValueError, match=code):
            read(write(tmp_path / name, "a\tO\n"), **chosen)


def test_gzip_that_is_not_intact(tmp_path):
    path, whole = tmp_path / "a.iob.gz", gzip.compress(b"a\tO\n" * 100_000)
    for content in (b"a\tO\n", whole[:-20], whole[:100] + b"xxxx" + whole[104:], whole[:5]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"L401.*a\.iob\.gz"):
            read(path)
    for content in (b"a\tO\nb\n", b"a\tO\n\xff"):
        path.write_bytes(gzip.compress(content))
        with pytest.raises(ValueError, match=r"L401.*a\.iob\.gz:2: "):
            read(path)
    (tmp_path / "a.spacy.gz").write_bytes(whole)
    with pytest.raises(ValueError, match="L421"):
        read(tmp_path / "a.spacy.gz")


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
    path = write_json(tmp_path / "a.jsonl", RECORDS["generic"](text, [(a, b + 1, "X")]))
    found = {"tokens": "characters", "offsets": "characters"}
    (doc,) = read(path, nlp=blank("ja", "characters"), **found)
    assert (doc.text, chars(doc)[1]) == (text, [(a, b + 1, "X")])


def test_tokens_and_annotations_of_a_record_are_used_as_given(tmp_path):
    text = "  ab  c\nd e "
    spans = [(2, 4), (4, 5), (6, 7), (8, 9), (10, 11)]
    record = prodigy(text, [(2, 3, "X")]) | {"tokens": [{"start": a, "end": b} for a, b in spans]}
    path = write_json(tmp_path / "a.jsonl", record)
    (doc,) = read(path)
    assert doc.text == text and [t.text for t in doc] == ["  ", "ab", " ", "c", "\n", "d", "e"]
    (doc,) = read(path, nlp=blank("en", "characters"), tokens="characters")
    assert chars(doc) == (text.rstrip(), [(2, 3, "X")])
    task = label_studio("abc def", [(0, 3, "X")])
    cancelled = {"result": [], "was_cancelled": True}
    own = {"annotations": [*task["annotations"], cancelled, {"result": []}, *region(start=4, end=7)]}
    docs = read(write_json(tmp_path / "a.json", task | own))
    assert [chars(doc)[1] for doc in docs] == [[(0, 3, "X")], [], [(4, 7, "X")]]


def changed(record):
    return lambda **change: {**record, **change}


GENERIC = changed(RECORDS["generic"]("abc def", []))
TASK = changed(label_studio("abc def", []))
HF = changed({"tokens": ["a", "b"], "ner_tags": ["O", "O"]})
GLINER = changed({"tokenized_text": ["a", "b"], "ner": []})


def region(**value):
    return [{"result": [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"], **value}}]}]


BROKEN_RECORDS = [  # the record, and what the error names
    ({"text": "abc", "spans": [], "answer": "accept", "_view_id": "ner"}, "spans alone"),
    (3, "'3' instead of an object"),
    (GENERIC(text=None), "'None' is not text"),
    (GENERIC(text="a\ud800"), "surrogate"),
    ({"body": "abc", "spans": [[0, 3, "X"]]}, "no 'text', found the texts body.*--text-key"),
    ({"text": "abc"}, "spans, entities"),
    (GENERIC(entities="X"), "'X' as the list of spans"),
    *((GENERIC(entities=[span]), "") for span in ("X", [0, 1], {"label": "X"}, {"start": 0, "end": 3})),
    *(
        (GENERIC(entities=[span]), text)
        for span, text in (
            ([0, 3, ""], "'' as its type"),
            ([0, 3, "\ud800"], "surrogate"),
            (["0", 3, "X"], "'0' to 3 'X'"),
            ([0.0, 3, "X"], "0.0 to 3 'X'"),
            ([-1, 3, "X"], "-1 to 3 'X' covers nothing"),
            ([0, 8, "X"], "0 to 8 'X' covers nothing"),
            ([3, 3, "X"], "3 to 3 'X' covers nothing"),
            ([3, 4, "X"], "3 to 4 'X' covers nothing"),
        )
    ),
    *((TASK(**change), "") for change in ({"data": "abc"}, {"annotations": 3}, {"annotations": [3]})),
    (TASK(data={"a": "x", "b": "y"}), "found the texts a, b"),
    (TASK(annotations=region(text="abd")), "'abd' but covers 'abc'"),
    (json_min("abc", []) | {"text": 3}, "'3' is not text"),
    *(
        (GENERIC(text="abc", tokens=tokens), "its tokens")
        for tokens in (
            [{"start": 0, "end": 1}],  # "c" is in none
            [{"start": 0, "end": 4}],
            [{"start": 0, "end": 2}, {"start": 1, "end": 3}],
            [{"start": 0, "end": 3, "text": "abd"}],
            *([{"start": "0", "end": 3}], ["abc"], "abc", 3),
        )
    ),
    (HF(tokens="ab"), "'ab' as tokens"),
    (HF(tokens=["a", 1]), "'1' is not text"),
    (HF(ner_tags=["O"]), "2 tokens"),
    (HF(ner_tags=None), "'None'"),
    (HF(ner_tags=["O", 1]), "no --tag-names are given"),
    (HF(ner_tags=[True, False]), "tags"),
    *((HF(ner_tags=[0, number]), "0 to 1") for number in (2, -1)),
    (HF(ner_tags=["O", "I-X"]), "'I-X'"),
    (HF(tokens=["a", " "], ner_tags=["O", "B-X"]), "white space"),
    (GLINER(tokenized_text={}), "as tokenized_text"),
    (GLINER(tokenized_text=["a", " "]), "white space"),
    ({"tokenized_text": ["a"]}, "'None' as their"),
    *(
        (GLINER(ner=[span]), "2 tokens")
        for span in ([0, 1], [0, 2, "X"], [1, 0, "X"], [-1, 0, "X"], [0.0, 1, "X"])
    ),
    (GLINER(ner=[[0, 1, " "]]), "' ' as its type"),
    *((pair, "") for pair in (["Ann", []], ["Ann", {}], ["Ann", {"entities": []}, 1])),
]


@pytest.mark.parametrize(("record", "text"), BROKEN_RECORDS)
def test_a_broken_record_is_named(record, text, tmp_path):
    chosen = {"tag_names": ("O", "B-X")} if "0 to 1" in text else {}
    with pytest.raises(ValueError, match=rf"L401.*a\.jsonl:1: .*{text}"):
        read(write_json(tmp_path / "a.jsonl", record), **chosen)
    both = json.dumps([label_studio("abc", []), record])
    with pytest.raises(ValueError, match=rf"L401.*a\.json:record 2: .*{text}"):
        read(write(tmp_path / "a.json", both), **chosen)


@pytest.mark.parametrize(
    ("text", "quote", "end"), [("ab  cd\nef", "ab cd\\nef", 9), (r"C:\new now", r"C:\new", 6)]
)
def test_quotes_are_compared_without_white_space(text, quote, end, tmp_path):
    """Label Studio folds double blanks and writes line ends as \\n; not every such pair is one."""
    task = {"data": {"text": text}, "annotations": region(end=end, text=quote)}
    assert chars(read(write_json(tmp_path / "a.json", task))[0]) == (text, [(0, end, "X")])


def test_what_was_not_accepted_is_counted(tmp_path):
    cancelled = {"result": [], "was_cancelled": True}
    task = label_studio("abc def", [(0, 3, "X")])
    others = [{"type": "relation", "from_id": "a"}, {"type": "choices", "value": {"choices": ["x"]}}]
    page = {"start": "/p[1]", "globalOffsets": {"start": 0, "end": 3}, "hypertextlabels": ["X"]}
    records = [
        prodigy("abc", []) | {"answer": "reject"},
        prodigy("abc", []) | {"answer": "ignore"},
        prodigy("abc", [(0, 3, "X")]),
        {"text": "kept without spans", "answer": "accept"},
        {"text": " \n", "label": []},
        task | {"annotations": [cancelled, *task["annotations"], {"result": []}]},
        task | {"annotations": [cancelled]},
        task | {"annotations": []},
        task | {"annotations": [{"result": [*task["annotations"][0]["result"], *others]}]},
        task | {"annotations": region(labels=[])},
        task | {"data": {"body": "abc def", "n": 3}},
        json_min("abc", [(0, 3, "X")])
        | {"topics": ["a", "b"], "html": [page], "note": [{"text": ["a"]}]},
        {"tokenized_text": [], "ner": []},
        {"text": "abc", "spans": None, "label": [], "entities": [[0, 3, "X"]]},  # of several tools
    ]
    events = Events()
    docs = read(write_json(tmp_path / "a.jsonl", *records), events)
    assert [len(d.ents) for d in docs] == [1, 0, 1, 0, 1, 0, 1, 1, 1]
    assert counts(events) == {
        "rejected": {"reject": 1, "ignore": 1},
        "empty": {"texts": 2},
        "cancelled": {"annotations": 2},
        "unlabelled": {"records": 2},
        "ignored": {"relation": 1, "choices": 1, "region": 1},
        "unreadable": {"without a type": 1, "region": 1},
    }
    with pytest.raises(ValueError, match=r"L403.*a\.jsonl.*reject 1"):
        read(write_json(tmp_path / "a.jsonl", *records[:2]))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("htmllabels", {"start": "/p[1]", "htmllabels": ["X"]}),
        ("paragraphlabels", {"start": "0", "paragraphlabels": ["X"]}),
        ("labels", {"start": 0, "end": 3}),
        ("text", {"start": 0, "end": 3}),
    ],
)
def test_regions_that_cannot_be_read_are_refused_by_name(kind, value, tmp_path):
    task = {"data": {"text": "Ann"}, "annotations": [{"result": [{"type": kind, "value": value}]}]}
    path = write(tmp_path / "a.json", dump([task], "array"))
    with pytest.raises(ValueError, match=rf"L700.*\({kind} 1\), as a\.json:record 1"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    convert_corpus(path, tmp_path / "out", allow=True)


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
    assert [e.text for doc in read(path, events) for e in doc.ents] == ["Oslo", "Ann", "Li", "Ann"]
    assert counts(events) == ({"utf16": {"X": 3}} if unit == "utf-16" else {})
    assert [e.text for e in read(path, offsets=unit)[0].ents] == ["Oslo", "Ann", "Li"]


def test_offsets_that_may_count_either_are_told(tmp_path):
    record = counted("utf-16", "🚒東京に行く", ["京"])
    said = record | {"offsets": "utf-16"}  # as `mine` does
    for row, text, kind in ((said, "京", "utf16"), (record, "に", "ambiguous")):
        path, events = write_json(tmp_path / "a.jsonl", row), Events()
        (doc,) = read(path, events, blank("ja", "characters"), tokens="characters")
        assert doc.ents[0].text == text and not doc.user_data
        assert counts(events) == {kind: {"X": 1}}


def test_a_corpus_that_loses_annotations_is_refused_with_counts(tmp_path):
    row = {"text": "Annes saw Rome", "label": [[10, 14, "GEO"]]}
    lost = {"text": "Annes saw Oslo", "label": [[0, 3, "PER"], [10, 14, "GEO"], [10, 14, "CITY"]]}
    path = write_json(tmp_path / "a.jsonl", row, lost)
    with pytest.raises(ValueError, match=r"L700.* 2 of 4 .*\(PER 1\), as a\.jsonl:2: PER.*\(CITY 1\)"):
        convert_corpus(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    convert_corpus(write_json(tmp_path / "b.jsonl", *[row] * 37, lost), tmp_path / "out")  # a twentieth
    none = write(tmp_path / "c.iob", "Ann\tO\n")
    with pytest.raises(ValueError, match=r"L700.*c\.iob"):
        convert_corpus(none, tmp_path / "out")
    convert_corpus(none, tmp_path / "out2", allow=True)


@pytest.mark.parametrize("kind", ["prodigy", "doccano_label", "label_studio", "json_min"])
def test_the_text_may_have_another_key(kind, tmp_path):
    record = RECORDS[kind]("abc", [(0, 3, "X")])
    inner = record["data"] if kind == "label_studio" else record
    inner |= {"body": inner.pop("text"), "title": "T"}
    path = write_json(tmp_path / "a.jsonl", record)
    (doc,) = read(path, text_key="body")
    assert chars(doc) == ("abc", [(0, 3, "X")])
    assert doc.user_data["title"] == "T" and "body" not in doc.user_data
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: .*no 'corpus', found the texts .*body"):
        read(path, text_key="corpus")


def test_plain_values_beside_the_text_are_kept(tmp_path):
    """`split --group-by` keeps texts together that share one."""
    records = [
        prodigy("abc", []) | {"meta": {"source": "x", "score": 0.5, "page": 3}, "_task_hash": 7},
        RECORDS["doccano_label"]("abc", []) | {"article": "y", "big": 2**64, "none": None, "note": ""},
        label_studio("abc", []) | {"data": {"text": "abc", "ref": "z", "id": 1, "n": 4}},
        label_studio("abc", []) | {"data": {"body": "abc", "n": 4}},
        huggingface(Sent(["a"], [])) | {"split": "x"},
    ]
    docs = read(write_json(tmp_path / "a.jsonl", *records))
    expected = [{"source": "x", "page": 3}, {"article": "y"}, {"ref": "z", "n": 4}, {"n": 4}]
    assert [d.user_data for d in docs] == [*expected, {"ref": "x", "split": "x"}]


# ---------------------------------------------------------------- spans on tokens


def annotated(tmp_path, text, *spans, misaligned=None):
    events = Events()
    path = write_json(tmp_path / "a.jsonl", RECORDS["generic"](text, spans))
    (doc,) = read(path, events, **({"misaligned": misaligned} if misaligned else {}))
    return doc, events


@pytest.mark.parametrize(
    ("policy", "text", "span", "expected"),
    [
        (None, "an apple tree grew .", (4, 13), ["O", "", "", "O", "O"]),
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
    assert iob(doc) == expected and counts(events) == {"misaligned": {"X": 1}}
    if policy is None:
        assert events.examples["misaligned"] == ["a.jsonl:1: X in an a[pple tree] grew ."]
    with pytest.raises(ValueError, match=r"L401.*a\.jsonl:1: X in "):
        annotated(tmp_path, text, (*span, "X"), misaligned="error")


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
    assert iob(doc) == expected and counts(events) == kinds
    row = {"tokenized_text": ["New", "Rome"], "ner": [[0, 1, "GEO"], [1, 1, "ORG"], [0, 1, "GEO"]]}
    (doc,) = read(write_json(tmp_path / "b.jsonl", row), events := Events())
    assert iob(doc) == ["B-GEO", "I-GEO"]
    assert counts(events) == {"overlapping": {"ORG": 1}, "repeated": {"GEO": 1}}


@QUICK
@given(
    data=st.data(),
    sent=sents(st.text("ab'.,-", min_size=1, max_size=4)),
    policy=st.sampled_from(["missing", "expand", "contract"]),
)
def test_no_span_is_lost_in_silence(data, sent, policy, tmp_path):
    """Every span is an entity with its ends, or counted. It touches no O, unless contracted."""
    text = " ".join(w for s in sent for w in s.words)
    place = st.sampled_from([i for i, c in enumerate(text) if c != " "])
    spans = data.draw(st.lists(st.tuples(place, place).map(sorted), max_size=5))
    spans = [(a, b + 1, "X") for a, b in spans]
    doc, events = annotated(tmp_path, text, *spans, misaligned=policy)
    n_counted = sum(events.n(kind) for kind in ("misaligned", "overlapping", "repeated"))
    assert len(spans) <= len([s for s in dict.fromkeys(spans) if s in chars(doc)[1]]) + n_counted
    touched = {t.i for t in doc for a, b, _ in spans if t.idx < b and t.idx + len(t) > a}
    outside = {t.i for t in doc if t.ent_iob_ == "O"}
    assert set(range(len(doc))) - touched <= outside
    if policy != "contract":
        assert not touched & outside


# ---------------------------------------------------------------- brat


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
    (doc,), events = brat(tmp_path, "left and right cancer\nthe\nend", ann)
    assert iob(doc) == ["", "O", "B-Dis", "I-Dis", "O", "B-Org", "I-Org", "I-Org"]
    ignored = {"events": 1, "attributes": 2, "normalizations": 1, "notes": 1, "equivalences": 1}
    lost = {"discontinuous": {"Dis": 1}, "overlapping": {"Dis": 1}}
    assert counts(events) == {"ignored": ignored, **lost}
    assert events.examples["discontinuous"] == ["a.ann:1: Dis 'left cancer'"]


@pytest.mark.parametrize(("end", "is_folded"), [("\n", False), ("\r\n", False), ("\r\n", True)])
def test_line_ends_count_as_one_character_or_as_two(end, is_folded, tmp_path):
    """brat's server counts the text as it is, other programs count line ends as one."""
    text = end.join(["Ann left.", "In Oslo", "Bo stayed there.", ""])
    counted_in = text.replace("\r\n", "\n") if is_folded else text
    ann = ""
    for word in ("Ann", "Oslo", "stayed"):
        start = counted_in.index(word)
        ann += f"T1\tX {start} {start + len(word)}\t{word}\n"
    (doc,), events = brat(tmp_path, text, ann)
    assert [e.text for e in doc.ents] == ["Ann", "Oslo", "stayed"]
    assert doc.text == counted_in and counts(events) == ({"folded": {"files": 1}} if is_folded else {})


def test_brat_files_come_in_pairs(tmp_path):
    for name, text in (("1.txt", "abc"), ("1.ann", ""), ("2.txt", "abc")):
        write(tmp_path / name, text)
    with pytest.raises(ValueError, match=r"L402.*2\.ann does not exist"):
        read(tmp_path)
    (tmp_path / "2.txt").rename(tmp_path / "2.ann")
    with pytest.raises(ValueError, match=r"L402.*2\.txt does not exist"):
        read(tmp_path)
    write(tmp_path / "2.txt", " \n")
    write(tmp_path / "2.ann", "")
    events = Events()
    assert len(read(tmp_path, events)) == 1 and counts(events) == {"empty": {"texts": 1}}


# ---------------------------------------------------------------- numbered sentences of open types


@pytest.mark.parametrize(
    ("lines", "spans", "kinds"),
    [
        (
            "0\tNew York => city; place | New York Times => newspaper; work | . => mark\n1\t-\n",
            [(1, 4, "newspaper; work"), (5, 7, "city; place"), (7, 8, "mark")],
            {"blank": {"tokens": 1}},
        ),
        (
            "0\tNew York => city | New York => state\n",
            *([(1, 3, "city"), (5, 7, "city")], {"doubled": {"state": 1}}),
        ),
        ("0\tTimes => a | Times => b | The => c", [(0, 1, "c"), (3, 4, "a")], {"doubled": {"b": 1}}),
        ("0\tNew => a", [(1, 2, "a"), (5, 6, "a")], {}),
        ("0\tNew york => a | of => b", [(4, 5, "b")], {"absent": {"a": 1}}),
        ("0\tYork Times => a | New York Times => b", [(1, 4, "b")], {"overlapping": {"a": 1}}),
    ],
)
def test_a_listed_mention_stands_in_all_places_that_no_longer_one_takes(lines, spans, kinds, tmp_path):
    write(tmp_path / "in" / "sents.json", json.dumps(OTHERS))
    path, events = write(tmp_path / "in" / "ann00.txt", lines), Events()
    doc, *others = read(path.parent, events)
    assert [(e.start, e.end, e.label_) for e in doc.ents] == spans and counts(events) == kinds
    assert [[t.text for t in other] for other in others] == [["So", "?"]] * (len(others))
    if "absent" in kinds:
        with pytest.raises(ValueError, match=r"L700.*1 of 2 annotations.*ann00\.txt:1"):
            convert_corpus(path.parent, tmp_path / "out")


# ---------------------------------------------------------------- .spacy


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


@pytest.mark.parametrize("codes", [(1, 1, 2), (2, 1, 2), (3, 1, 2)])
def test_entities_that_nothing_begins_are_refused(codes, tmp_path):
    doc = Doc(NLP.vocab, words=list("abc"))
    types = NLP.vocab.strings.add("X") * (codes[0] == 1)
    doc.from_array(["ENT_IOB", "ENT_TYPE"], np.array([codes, [types] * 3], dtype="uint64").T)
    DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    with pytest.raises(ValueError, match=r"L404.*a\.spacy.*document 1"):
        read(tmp_path / "a.spacy")


def test_white_space_in_entities_is_trimmed_and_empty_annotation_reported(tmp_path):
    tags = ["B-X", *["I-X"] * 4, "O", "B-X"]
    spaced = Doc(NLP.vocab, words=["\n", "a", "\n", "b", " ", "c", "\n"], ents=tags)
    named = Doc(NLP.vocab, words=["a", "b", "c", "d"])
    named.set_ents([Span(named, 0, 1, "X", kb_id="Q1", span_id="7")], blocked=[named[1:2]])
    bare, done = Doc(NLP.vocab, words=["a"]), Doc(NLP.vocab, words=["b"], ents=["O"])
    DocBin(docs=[spaced, named, bare, done, Doc(NLP.vocab)]).to_disk(tmp_path / "a.spacy")
    again, kept, *others = read(tmp_path / "a.spacy", events := Events())
    assert iob(again) == ["O", "B-X", "I-X", "I-X", "O", "O", "O"]
    assert iob(kept) == ["B-X", "", "O", "O"] and (kept.ents[0].kb_id_, kept.ents[0].id_) == ("Q1", "7")
    assert [d.has_annotation("ENT_IOB") for d in others] == [False, True]
    left = {"unannotated": {"documents": 1}, "empty": {"texts": 1}}
    assert counts(events) == {"trimmed": {"X": 2}, **left}


# ---------------------------------------------------------------- broken files of every format


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


@pytest.mark.parametrize("kind", FORMS)
def test_broken_files_give_coded_errors_and_nothing_else(kind, tmp_path, monkeypatch):
    chosen, rng = FORMS[kind][2], random.Random(kind)
    path = save(tmp_path / "in", kind, SOME)
    path = path if path.is_file() else path / {"brat": "000.ann", "numbered": "ann00.txt"}[kind]
    good = path.read_bytes()
    if kind == "articles":
        write(path.parent / "corpus.json", DECLARED)
    monkeypatch.setattr(corpora, "blank", lambda lang, tokens: NLP)
    n_refused = 0
    for i in range(20):
        path.write_bytes(mutate(good, rng))
        target = tmp_path / str(i)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                convert_corpus(path.parent, target, **chosen)
            assert (target / "types.json").is_file()
        except ValueError as error:
            n_refused += 1
            text = str(error)
            assert text.startswith(("[L4", "[L700", "[L550]", "[L830]")), (text, path.read_bytes())
            whole = kind == "brat" or re.match(r"\[L(402|403|421|700|830)\]", text)
            assert str(path.parent if whole else path) in text, text
            assert not target.exists()
    assert n_refused > 2
    assert not list(tmp_path.glob(".longtail*"))
