"""Files of other tools that `convert` once read wrongly, or refused with a wrong message."""

import itertools
import json

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_longtail.corpus import folder
from spacy_longtail.corpus.folder import REPORT, Conversion, convert_corpus, read_types, stream_docs
from spacy_longtail.corpus.formats.context import Events
from spacy_longtail.corpus.formats.options import Columns
from spacy_longtail.corpus.formats.sources import FORMATS
from spacy_longtail.unlabelled.pool import PoolOptions, read_pool
from tests.util import ROOT, new_file, refused, run_app, write_files

NLP = spacy.blank("en")
FERRY = "The ferry Heron left Oban at nine."
SHIP, PLACE, BIRD = [10, 15, "SHIP"], [21, 25, "PLACE"], [10, 15, "BIRD"]


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def texts(*annotations):
    """The same text, once for each list of spans."""
    return lines(*({"text": FERRY, "label": spans} for spans in annotations))


def converted(source, **options):
    """Convert a source of one part. Return text and entities of each document, and the events."""
    target = source.parent / f"{source.name}-converted"
    convert_corpus(source, target, **options)
    docs = stream_docs(target / "all.spacy", NLP.vocab)
    found = [(doc.text, [(ent.text, ent.label_) for ent in doc.ents]) for doc in docs]
    report = Conversion.model_validate_json((target / REPORT).read_bytes())
    return found, report.parts["all"].events


def conllu(*words, text=""):
    """Sentence of (ID, form, MISC)."""
    rows = [f"{i}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n" for i, form, misc in words]
    return (f"# text = {text}\n" if text else "") + "".join(rows) + "\n"


def task(*annotations, key="annotations"):
    """Task of Label Studio. annotations: Type of the one region, and further keys."""
    listed = []
    for label, more in annotations:
        value = {"start": 10, "end": 15, "text": "Heron", "labels": [label]}
        listed.append({"result": [{"type": "labels", "value": value}], **more})
    return {"data": {"text": FERRY}, key: listed}


BIOC_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE collection SYSTEM "BioC.dtd">
<collection><source>x</source><document><id>7</id>
<passage><offset>0</offset><text>No boat.</text></passage>
<passage><offset>9</offset><text>The Heron left Oban.</text>
<annotation id="T1"><infon key="type">SHIP</infon><location offset="13" length="5"/><text>Heron</text></annotation>
<annotation id="T2"><infon key="type">X</infon><location offset="9" length="3"/>
<location offset="19" length="4"/><text>The left</text></annotation>
</passage></document></collection>
"""

XMI = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore"
 xmlns:seg="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore"
 xmlns:ner="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore">
<seg:Sentence begin="0" end="14"/><seg:Sentence begin="15" end="20"/>
<ner:NamedEntity begin="3" end="8" value="SHIP"/><ner:NamedEntity begin="15" end="19" value="PLACE"/>
<cas:Sofa sofaString="&#128674; Heron left. Oban."/></xmi:XMI>
"""
SPACY_JSON = Doc(
    NLP.vocab,
    words=["Heron", "left", ".", "Oban", "slept", "."],
    spaces=[True, False, True, True, False, False],
    ents=["B-SHIP", "O", "O", "B-PLACE", "O", "O"],
    sent_starts=[True, False, False, True, False, False],
).to_json()


def grouped(groups, empty=()):
    """Bytes of a .spacy file of two documents with spans in doc.spans alone.

    groups (dict): Spans of the first document by key. empty: Keys of empty groups of the second.
    """
    first, second = NLP("The Heron left Oban."), NLP("No boat came.")
    for key, spans in groups.items():
        first.spans[key] = [first.char_span(*span) for span in spans]
    for key in empty:
        second.spans[key] = []
    return DocBin(docs=[first, second]).to_bytes()


TWO_GROUPS = grouped({"a": [(4, 9, "SHIP")], "b": [(15, 19, "PLACE")]}, empty="ab")
LONG_TEXT = f"Oban slept.{' ' * 1_000_000}"  # spaCy's maximum of characters, and few tokens

# ---------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("name", "text", "options", "docs", "events"),
    [
        pytest.param(
            "a.csv",
            ",word,tag\n0,Anna,B-PER\n1,sings,O\n2,loudly,O\n",
            {"columns": Columns("word", "tag")},
            [("Anna sings loudly ", [("Anna", "PER")])],
            {},
            id="an index column of a csv cuts no sentence",
        ),
        pytest.param(
            "a.csv",
            "word,x,x,tag\nAnna,1,2,B-PER\n",
            {"columns": Columns("word", "tag")},
            [("Anna ", [("Anna", "PER")])],
            {},
            id="two columns of one name are fine if neither is read",
        ),
        pytest.param(
            "a.conll",
            "1\tThe\tO\n2\tHeron\tB-SHIP\n",
            {"token_column": 0},
            [("1 2 ", [("2", "SHIP")])],
            {},
            id="the first column is read if it is named, even if it holds numbers",
        ),
        pytest.param(
            "a.conll",
            "1\tThe\tO\n2\tHeron\tB-SHIP\n",
            {"token_column": 1},
            [("The Heron ", [("Heron", "SHIP")])],
            {},
            id="another column than the first is read if it is named",
        ),
        pytest.param(
            "a.tsv",
            "Nora\tPERS\nQuist\tPERS\nsaw\tO\nOban\tLOC\n",
            {},
            [("Nora Quist saw Oban ", [("Nora Quist", "PERS"), ("Oban", "LOC")])],
            {"unprefixed": {"PERS": 2, "LOC": 1}},
            id="tags without a prefix in columns are read as IO, with a notice",
        ),
        pytest.param(
            "a.jsonl",
            lines({"tokens": ["Nora", "Quist", "saw"], "ner_tags": ["PERS", "PERS", "O"]}),
            {},
            [("Nora Quist saw ", [("Nora Quist", "PERS")])],
            {"unprefixed": {"PERS": 2}},
            id="tags without a prefix in JSON are read as IO, with a notice",
        ),
        pytest.param(
            "a.csv",
            "Sentence #,Word,Tag\n1,Nora,PERS\n1,Quist,PERS\n1,saw,OTHER\n1,Oban,LOC\n",
            {},
            [("Nora Quist saw Oban ", [("Nora Quist", "PERS"), ("Oban", "LOC")])],
            {"unprefixed": {"PERS": 2, "LOC": 1}, "outside": {"OTHER": 1}},
            id="OTHER is no type in a file without O",
        ),
        pytest.param(
            "a.tsv",
            "Nora\tPERS\nsaw\tO\nthings\tOTHER\n",
            {},
            [("Nora saw things ", [("Nora", "PERS"), ("things", "OTHER")])],
            {"unprefixed": {"PERS": 1, "OTHER": 1}},
            id="OTHER is a type in a file with O",
        ),
        pytest.param(
            "a.conll",
            "# id 11-22\tdomain=train\nthe _ _ O\nheron _ _ B-SHIP\n\n"
            "# id 11-23\tdomain=train\noban _ _ O\n",
            {},
            [("the heron ", [("heron", "SHIP")]), ("oban ", [])],
            {"comments": {"lines": 2}},
            id="comments with tabs are skipped in a file that begins with one",
        ),
        pytest.param(
            "a.conll",
            "# sent_id = 1\nthe\tO\nheron\tB-SHIP\n\n# sent_id = 2\noban\tO\n",
            {},
            [("the heron ", [("heron", "SHIP")]), ("oban ", [])],
            {"comments": {"lines": 2}},
            id="comments without tabs are skipped in a file that begins with one",
        ),
        pytest.param(
            "a.conll",
            "#heron\tO\nleft\tO\n#oban\tB-PLACE\n",
            {},
            [("#heron left #oban ", [("#oban", "PLACE")])],
            {},
            id="a token that begins with a number sign is no comment",
        ),
        pytest.param(
            "a.conll",
            "# id 1 2\nsaw\tO\n#nora\tPERS\n#\tO\n",
            {},
            [("saw #nora # ", [("#nora", "PERS")])],
            {"comments": {"lines": 1}, "unprefixed": {"PERS": 1}},
            id="a hashtag is no comment in a file with comments",
        ),
        pytest.param(
            "a.conll",
            "# one\n-DOCSTART- -X- O\n\nthe\tO\nheron\tB-SHIP\n",
            {"documents": True},
            [("the heron ", [("heron", "SHIP")])],
            {"comments": {"lines": 1}},
            id="a mark of a document does not hide a comment",
        ),
        pytest.param(
            "a.conll",
            "the\tO\n#heron\tB-SHIP\nof\tB-X\n",
            {"comments": True},
            [("the of ", [("of", "X")])],
            {"comments": {"lines": 1}},
            id="comments can be switched on",
        ),
        pytest.param(
            "a.iob",
            "Heron|NNP|B-SHIP left|VBD|O\nNo|DT|O boat|NN|O\n",
            {},
            [("Heron left ", [("Heron", "SHIP")]), ("No boat ", [])],
            {},
            id="sentences of spaCy 2 stand on a line each",
        ),
        pytest.param(
            "a.conll",
            "May\tB-PER\nleft\tO\n\nMay\tO\nleft\tO\n",
            {},
            [("May left ", [("May", "PER")]), ("May left ", [])],
            {},
            id="sentences of given tokens recur with other annotation",
        ),
        pytest.param(
            "a.conllup",
            "# global.columns = ID FORM PARSEME:NE\n1\tAnna\tB-PER\n",
            {},
            [("Anna ", [("Anna", "PER")])],
            {},
            id="CoNLL-U Plus with one column of entities needs no option",
        ),
        pytest.param(
            "a.conllup",
            "# global.columns = ID FORM LEMMA X:TAGS\n1\tAnna\tAnna\tB-PER\n2\tsings\tsing\t_\n",
            {"columns": Columns(tag="x:tags")},
            [("Anna sings ", [("Anna", "PER")])],
            {},
            id="CoNLL-U Plus needs no MISC if the column of the tags is named",
        ),
        pytest.param(
            "a.conllu",
            conllu((1, "Heron", "NE=B-SHIP|SpaceAfter=No"), (2, "'s", "_"), (3, "off", "SpaceAfter=No")),
            {},
            [("Heron's off", [("Heron", "SHIP")])],
            {},
            id="SpaceAfter=No joins words",
        ),
        pytest.param(
            "a.conllu",
            conllu((1, "Heron", "NE=B-SHIP"), (2, "'s", "_"), (3, "off", "_"), text="Heron's off"),
            {},
            [("Heron's off", [("Heron", "SHIP")])],
            {},
            id="the text of a sentence tells its spaces",
        ),
        pytest.param(
            "a.conllu",
            conllu(("1-2", "Heron's", "_"), (1, "Heron", "NE=B-SHIP"), (2, "'s", "_"), (3, "off", "_")),
            {},
            [("Heron's off ", [("Heron", "SHIP")])],
            {},
            id="words of a multiword token that spell it stay apart",
        ),
        pytest.param(
            "a.conllu",
            conllu(
                ("1-2", "du", "_"),
                (1, "de", "_"),
                (2, "le", "NE=B-GEO"),
                (3, "Mans", "NE=I-GEO"),
                text="du Mans",
            ),
            {},
            [("du Mans", [("du Mans", "GEO")])],
            {"contracted": {"B-GEO": 1}},
            id="a multiword token that its words do not spell is one token",
        ),
        pytest.param(
            "a.conllu",
            "# newdoc\n"
            + conllu((1, "Oban", "NE=B-GEO"), (2, ".", "SpaceAfter=No"), text="Oban.")
            + conllu((1, "Go", "_"), text="Go"),
            {"documents": True},
            [("Oban. Go", [("Oban", "GEO")])],
            {},
            id="a blank separates the sentences of a document",
        ),
        pytest.param(
            "a.conllu",
            "# newdoc\n"
            + conllu((1, "Oban", "NE=B-GEO|SpaceAfter=No"), (2, ".", "_"))
            + conllu((1, "Go", "_"), (2, "on", "_")),
            {"documents": True},
            [("Oban. Go on ", [("Oban", "GEO")])],
            {},
            id="a sentence of a document may say nothing of spaces",
        ),
        pytest.param(
            "a.conllu",
            conllu((1, "Nora", "name=B-PER"), (2, "Quist", "SpaceAfter=No name=I-PER")),
            {},
            [("Nora Quist", [("Nora Quist", "PER")])],
            {},
            id="a tag behind a blank in MISC is read",
        ),
        pytest.param(
            "a.conllu",
            conllu((1, "Ida", "Gloss=to go|NE=B-named storm|X=1")),
            {},
            [("Ida ", [("Ida", "named storm")])],
            {},
            id="a value in MISC may have blanks",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "tokens": ["Heron", "'s", "off"],
                    "ner_tags": ["B-SHIP", "O", "O"],
                    "space_after": [False, True, False],
                }
            ),
            {},
            [("Heron's off", [("Heron", "SHIP")])],
            {},
            id="spaces after tokens are kept",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "text": "Heron's off",
                    "tokens": ["Heron", "'s", "off"],
                    "ner_tags": ["B-SHIP", "O", "O"],
                }
            ),
            {},
            [("Heron's off", [("Heron", "SHIP")])],
            {},
            id="the text beside tokens with tags tells their spaces",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "text": "Heron's off",
                    "tokenized_text": ["Heron", "'s", "off"],
                    "ner": [[0, 0, "SHIP"]],
                }
            ),
            {},
            [("Heron's off", [("Heron", "SHIP")])],
            {},
            id="the text beside tokens with spans tells their spaces",
        ),
        pytest.param(
            "a.json",
            "\n"
            + json.dumps({"text": FERRY, "label": [SHIP]}, indent=2)
            + "\n"
            + json.dumps({"text": "No boat.", "label": []}, indent=2),
            {},
            [(FERRY, [("Heron", "SHIP")]), ("No boat.", [])],
            {},
            id="indented objects are read",
        ),
        pytest.param(
            "a.json",
            json.dumps(
                {
                    "classes": ["SHIP"],
                    "annotations": [
                        [FERRY, {"entities": [SHIP]}],
                        None,
                        ["No boat.", {"entities": []}],
                    ],
                },
                indent=4,
            ),
            {},
            [(FERRY, [("Heron", "SHIP")]), ("No boat.", [])],
            {"unlabelled": {"records": 1}},
            id="an indented file of NER Annotator is read",
        ),
        pytest.param(
            "a.jsonl",
            lines({"text": FERRY, "spans": [{"start_char": 10, "end_char": 15, "label": "SHIP"}]}),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {},
            id="spans may have start_char and end_char",
        ),
        pytest.param(
            "a.jsonl",
            lines({"text": FERRY, "spans": [{"begin": 10, "end": 15, "type": "SHIP"}]}),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {},
            id="spans may have begin and type",
        ),
        pytest.param(
            "a.jsonl",
            lines({"text": FERRY, "spans": [{"offset": 10, "length": 5, "label": "SHIP"}]}),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {},
            id="spans may have offset and length",
        ),
        pytest.param(
            "a.json",
            json.dumps([task(("SHIP", {"ground_truth": False}), ("BIRD", {"ground_truth": True}))]),
            {},
            [(FERRY, [("Heron", "BIRD")])],
            {"further": {"annotations": 1}},
            id="the ground truth of a task of Label Studio is taken",
        ),
        pytest.param(
            "a.json",
            json.dumps([task(("SHIP", {}), key="completions")]),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {},
            id="completions of older Label Studio are read",
        ),
        pytest.param(
            "a.json",
            json.dumps(
                {
                    "examples": [
                        {
                            "content": FERRY,
                            "metadata": {"source": "log"},
                            "annotations": [
                                {
                                    "start": 10,
                                    "end": 15,
                                    "tag": "SHIP",
                                    "value": "Heron",
                                    "correct": True,
                                },
                                {
                                    "start": 21,
                                    "end": 25,
                                    "tag": "PLACE",
                                    "value": "Oban",
                                    "correct": False,
                                },
                            ],
                        }
                    ],
                    "relations": [],
                }
            ),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {"rejected": {"PLACE": 1}},
            id="what was reviewed as wrong in LightTag is skipped",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "text": FERRY,
                    "entities": [{"start": 10, "end": 15, "value": "MV Heron", "entity": "SHIP"}],
                }
            ),
            {},
            [(FERRY, [("Heron", "SHIP")])],
            {},
            id="the value of Rasa may be a synonym",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "doc_key": "a",
                    "sentences": [["Heron", "left", "."], ["Oban", "slept"]],
                    "ner": [[[0, 0, "SHIP"]], [[3, 3, "PLACE"]]],
                }
            ),
            {},
            [("Heron left . Oban slept ", [("Heron", "SHIP"), ("Oban", "PLACE")])],
            {},
            id="spans of DyGIE count the tokens of the document",
        ),
        pytest.param(
            "a.json",
            json.dumps(
                {
                    "documents": [
                        {
                            "id": "7",
                            "passages": [
                                {
                                    "offset": 9,
                                    "text": "The Heron left.",
                                    "annotations": [
                                        {
                                            "infons": {"type": "SHIP"},
                                            "text": "Heron",
                                            "locations": [{"offset": 13, "length": 5}],
                                        }
                                    ],
                                }
                            ],
                        }
                    ]
                },
                indent=1,
            ),
            {},
            [("The Heron left.", [("Heron", "SHIP")])],
            {},
            id="a collection of BioC in JSON is read by passage",
        ),
        pytest.param(
            "a.pubtator.txt",
            "1|t|The Heron left Oban.\n1|a|No boat.\n1\t4\t9\tHeron\tSHIP\tD1\n1\tCID\tD1\tD2\n\n"
            "2|t|Oban.\n2\t0\t4\tOban\tPLACE\t-\n",
            {},
            [("The Heron left Oban. No boat.", [("Heron", "SHIP")]), ("Oban.", [("Oban", "PLACE")])],
            {"ignored": {"relations": 1}},
            id="PubTator is read without its relations",
        ),
        pytest.param(
            "a.txt",
            "The <START:ship> Heron II <END> left <START:place> Oban <END> .\nNo boat .\n",
            {},
            [
                ("The Heron II left Oban . ", [("Heron II", "ship"), ("Oban", "place")]),
                ("No boat . ", []),
            ],
            {},
            id="OpenNLP is known by its marks",
        ),
        pytest.param(
            "a.xmi",
            XMI,
            {},
            [("\U0001f6a2 Heron left. Oban.", [("Heron", "SHIP"), ("Oban", "PLACE")])],
            {},
            id="UIMA CAS XMI is read",
        ),
        pytest.param(
            "a.jsonl",
            lines(SPACY_JSON),
            {},
            [("Heron left. Oban slept.", [("Heron", "SHIP"), ("Oban", "PLACE")])],
            {},
            id="what spaCy writes of a Doc as JSON is read",
        ),
        pytest.param(
            "a.conll",
            "ha UH O\nha UH O\nAnn NNP B-PER\n",
            {},
            [("ha ha Ann ", [("Ann", "PER")])],
            {},
            id="repeated words among others are tokens",
        ),
        pytest.param(
            "a.conll",
            "1 x O\n2 x O\n\nAnn x B-PER\n4 x O\n",
            {},
            [("1 2 ", []), ("Ann 4 ", [("Ann", "PER")])],
            {},
            id="numbers among words are tokens",
        ),
        pytest.param(
            "a.jsonl",
            texts([PLACE], [SHIP]),
            {},
            [(FERRY, [("Heron", "SHIP"), ("Oban", "PLACE")])],
            {"merged": {"texts": 1}},
            id="passes for one type each are merged",
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], [BIRD]),
            {"duplicates": "first"},
            [(FERRY, [("Heron", "SHIP")])],
            {"further copies": {"texts": 1}},
            id="the first of contradicting annotations is read as asked",
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], [BIRD]),
            {"duplicates": "keep"},
            [(FERRY, [("Heron", "SHIP")]), (FERRY, [("Heron", "BIRD")])],
            {},
            id="all contradicting annotations are read as asked",
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], [SHIP], [SHIP]),
            {},
            [(FERRY, [("Heron", "SHIP")])] * 3,
            {},
            id="copies with equal annotation are kept",
        ),
        pytest.param(
            "a.jsonl",
            lines(*({"text": f"{FERRY} {i}", "label": [SHIP]} for i in range(30)))
            + texts([SHIP], [BIRD]),
            {},
            [
                *((f"{FERRY} {i}", [("Heron", "SHIP")]) for i in range(30)),
                (FERRY, [("Heron", "SHIP")]),
                (FERRY, [("Heron", "BIRD")]),
            ],
            {"contradicting": {"texts": 2}},
            id="few contradictions are kept and counted",
        ),
        pytest.param(
            "a.spacy",
            grouped({"sc": [(4, 9, "SHIP"), (15, 19, "PLACE")]}, empty=["sc"]),
            {},
            [
                ("The Heron left Oban.", [("Heron", "SHIP"), ("Oban", "PLACE")]),
                ("No boat came.", []),
            ],
            {"groups": {"SHIP": 1, "PLACE": 1}},
            id="a single group of spans is read if there are no entities",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {"tokenized_text": ["New", "Rome"], "ner": [[0, 1, "GEO"], [1, 1, "ORG"], [0, 1, "GEO"]]}
            ),
            {"allow": True},
            [("New Rome ", [("New Rome", "GEO")])],
            {"overlapping": {"ORG": 1}, "repeated": {"GEO": 1}},
            id="of overlapping spans of tokens the longest is kept",
        ),
        pytest.param(
            "a.spacy",
            TWO_GROUPS,
            {"spans_key": "b"},
            [("The Heron left Oban.", [("Oban", "PLACE")]), ("No boat came.", [])],
            {"groups": {"PLACE": 1}},
            id="of several groups of spans the named one is read",
        ),
        pytest.param(
            "a.spacy",
            grouped({"sc": [(4, 9, "SHIP")]}),
            {"spans_key": "sc"},
            [("The Heron left Oban.", [("Heron", "SHIP")]), ("No boat came.", [])],
            {"groups": {"SHIP": 1}},
            id="a document without the named group of spans has no entity",
        ),
        pytest.param(
            "a.jsonl",
            lines({"text": LONG_TEXT, "label": [[0, 4, "PLACE"]]}),
            {},
            [(LONG_TEXT, [("Oban", "PLACE")])],
            {"long": {"documents": 1}},
            id="a document that spaCy would not process is counted",
        ),
    ],
)
def test_a_file_of_another_tool_is_read(name, text, options, docs, events, tmp_path):
    assert converted(new_file(tmp_path / name, text), **options) == (docs, events)


# ---------------------------------------------------------------- what is refused


CONTRADICTING = (
    r"L830.*1 of 1 texts.*contradicting.*a\.jsonl:1 'Heron' SHIP"
    r"(?s:.*--duplicates first.*--duplicates keep)"
)


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        pytest.param(
            "a.csv",
            "Sentence #,Word,Word,Tag\nSentence: 1,Anna,x,B-PER\n",
            {},
            r"L401.*a\.csv:1: there are 2 columns of the name Word",
            id="two columns of the name of the tokens",
        ),
        pytest.param(
            "a.conllup",
            "# global.columns = ID FORM FORM MISC\n1\tAnna\tx\tNE=B-PER\n",
            {},
            r"L401.*:2: there are two columns FORM",
            id="two columns FORM",
        ),
        pytest.param(
            "a.conllup",
            "# global.columns = ID FORM LEMMA X:TAGS\n1\tAnna\tAnna\tB-PER\n",
            {},
            r"L401.*no column MISC with the tags.*--columns tag=",
            id="CoNLL-U Plus without MISC",
        ),
        pytest.param(
            "a.conll",
            "1\tThe\tO\n1\tHeron\tB-SHIP\n\n2\tStorm\tO\n2\tcame\tO\n",
            {},
            r"L401.*a\.conll:1: .*the same throughout.*--token-column and --tag-col",
            id="numbers of sentences in the first column",
        ),
        pytest.param(
            "a.conll",
            "notes/a 0 The O\nnotes/a 1 Heron B-SHIP\n",
            {},
            r"L401.*a\.conll:1: .*the same throughout.*--token-column and --tag-col",
            id="names of documents in the first column",
        ),
        pytest.param(
            "a.conll",
            "1\tHeron\tB-SHIP\tO\n2\tleft\tO\tO\n3\tOban\tB-PLACE\tO\n",
            {},
            r"L401.*a\.conll:1: .*a running number.*--token-column and --tag-col",
            id="numbers of tokens in the first column",
        ),
        pytest.param(
            "a.conll",
            "The\tO\t-\tanna\nHeron\tB-SHIP\t-\tbert\n",
            {},
            r"L401.*'anna', has no tags.*--tag-column 1",
            id="no tags in the last column but in another",
        ),
        pytest.param(
            "a.tsv",
            "Word\tTag\nAnna\tPER\nsings\tO\n",
            {},
            r"L401.*a\.tsv:1: .*names of columns.*--format csv",
            id="names of columns in the first line",
        ),
        pytest.param(
            "a.tsv",
            "Nora\tB-PERS\nsaw\tO\nOban\tLOC\n",
            {},
            r"L401.*:3: tag 'LOC' has no prefix.*'B-PERS' at .*a\.tsv:1",
            id="a tag without a prefix behind one with a prefix",
        ),
        pytest.param(
            "a.tsv",
            "Nora\tPERS\nsaw\tO\nOban\tB-LOC\n",
            {},
            r"L401.*:3: tag 'B-LOC' has a prefix.*'PERS' at .*a\.tsv:1",
            id="a tag with a prefix behind one without",
        ),
        pytest.param(
            "a.tsv",
            "Nora\tNNP\nsleeps\tVBZ\n",
            {},
            r"L401.*:1: no token has the tag O, found NNP, VBZ",
            id="parts of speech instead of tags",
        ),
        pytest.param(
            "a.tsv", "Nora\t-\nsleeps\tO\n", {}, r"L401.*:1: unknown tag '-'", id="a hyphen as a tag"
        ),
        pytest.param(
            "a.json",
            '{\n "text": "a",\n "label": [}\n',
            {},
            r"L401.*a\.json:3: ",
            id="a broken indented object, by its line",
        ),
        pytest.param(
            "a.jsonl",
            lines(
                {
                    "text": FERRY,
                    "entities": [{"start": 10, "end": 15, "word": "Heron", "entity": "B-SHIP"}],
                }
            ),
            {},
            r"L401.*'B-SHIP' of a single token.*aggregation_strategy",
            id="tags of single tokens instead of spans",
        ),
        pytest.param("a.xml", "<collection><document>", {}, r"L401.*a\.xml", id="BioC that is no XML"),
        pytest.param(
            "a.xml",
            BIOC_XML.replace('offset="13"', 'offset="x"'),
            {},
            r"L401.*a\.xml",
            id="BioC with an offset that is no number",
        ),
        pytest.param(
            "a.json",
            lines({"passages": [{"offset": "x", "text": "Oban"}]}),
            {},
            r"L401.*a\.json:1: the document has another form",
            id="BioC in JSON with an offset that is no number",
        ),
        pytest.param(
            "a.txt",
            "<START:a> x <END>\n<START:a> x\n",
            {},
            r"L401.*a\.txt:2: .*<START:type>",
            id="a name of OpenNLP without an end",
        ),
        pytest.param(
            "a.txt",
            "<START:a> x <END>\n<START:a> <START:b> x <END>\n",
            {},
            r"L401.*a\.txt:2: .*<START:type>",
            id="a name of OpenNLP within another one",
        ),
        pytest.param(
            "a.txt",
            "<START:a> x <END>\n<START:a> <END>\n",
            {},
            r"L401.*a\.txt:2: .*<START:type>",
            id="a name of OpenNLP without a token",
        ),
        pytest.param(
            "a.txt",
            "<START:a> x <END>\nx <END> <START:a>\n",
            {},
            r"L401.*a\.txt:2: .*<START:type>",
            id="an end of OpenNLP without a name",
        ),
        pytest.param(
            "a.xmi", XMI.replace("sofaString", "x"), {}, r"L401.*a\.xmi", id="XMI without a text"
        ),
        pytest.param(
            "a.xmi",
            XMI.replace('end="19"', 'end="99"'),
            {},
            r"L401.*a\.xmi",
            id="XMI with a span behind its text",
        ),
        pytest.param("a.xmi", "no xml", {}, r"L401.*a\.xmi", id="XMI that is no XML"),
        pytest.param("a.parquet", "PAR1", {}, r"L831.*a\.parquet.*Parquet.*read_parquet", id="Parquet"),
        pytest.param("a.zip", "PK", {}, r"L831.*a\.zip.*ZIP.*Unpack", id="a ZIP archive"),
        pytest.param("a.xlsx", "PK", {}, r"L831.*a\.xlsx.*Excel.*CSV", id="an Excel file"),
        pytest.param(
            "a.tsv",
            "#FORMAT=WebAnno TSV 3.3\n\n",
            {},
            r"L831.*a\.tsv.*WebAnno.*XMI",
            id="WebAnno's columns",
        ),
        pytest.param(
            "nlu.yml",
            'version: "3.1"\nnlu:\n- intent: x\n',
            {},
            r"L831.*nlu\.yml.*rasa data convert nlu -f json",
            id="Rasa's YAML",
        ),
        pytest.param(
            "a.xml",
            "<?xml version='1.0'?>\n<GateDocument>\n",
            {},
            r"L831.*a\.xml.*GATE.*gatenlp",
            id="GATE's XML",
        ),
        pytest.param(
            "a.json",
            '{\n "annotatable": {"parts": ["s1v1"]},\n "entities": []}',
            {},
            r"L831.*a\.json.*tagtog.*no text",
            id="tagtog's annotation without its text",
        ),
        pytest.param(
            "a.json",
            '{"%TYPES": {}, "%FEATURE_STRUCTURES": [{"%ID": 1, "%TYPE": "uima.cas.Sofa"}]}',
            {},
            r"L831.*a\.json.*UIMA CAS JSON.*dkpro-cassis",
            id="UIMA CAS in JSON",
        ),
        pytest.param(
            "a.jsonl", texts([SHIP], [BIRD]), {}, CONTRADICTING, id="two types of a span, contradicting"
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], [[4, 15, "SHIP"]]),
            {},
            CONTRADICTING,
            id="one type with other spans, contradicting",
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], [SHIP, PLACE]),
            {},
            CONTRADICTING,
            id="one type, found by one alone, contradicting",
        ),
        pytest.param(
            "a.json",
            json.dumps([task(("SHIP", {}), ("BIRD", {}))]),
            {},
            "L830",
            id="two annotators of a task who contradict each other",
        ),
        pytest.param(
            "a.spacy", TWO_GROUPS, {}, r"L4.*a, b.*--spans-key", id="several groups of spans, none named"
        ),
        pytest.param(
            "a.conll",
            "# a b\nthe\tO\nheron\tB-SHIP\n",
            {"comments": False},
            r"L401.*a\.conll:2",
            id="a line that is no comment",
        ),
        pytest.param(
            "a.jsonl",
            texts([SHIP], []),
            {"duplicates": "refuse"},
            r"L830.*different annotation",
            id="a text that one annotator left without spans",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(name, text, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        converted(new_file(tmp_path / name, text), **options)


@pytest.mark.parametrize(
    ("name", "text", "sentences"),
    [
        ("a.xmi", XMI, ["\U0001f6a2 Heron left.", "Oban."]),
        ("a.jsonl", lines(SPACY_JSON), ["Heron left.", "Oban slept."]),
    ],
)
def test_sentences_of_a_file_are_kept(name, text, sentences, tmp_path):
    convert_corpus(new_file(tmp_path / name, text), tmp_path / "out")
    (doc,) = stream_docs(tmp_path / "out" / "all.spacy", NLP.vocab)
    assert [sentence.text for sentence in doc.sents] == sentences


# ---------------------------------------------------------------- columns and tables


@pytest.mark.parametrize("scheme", ["auto", "iob1", "iob2"])
@pytest.mark.parametrize(
    "tag", ["B-SHIP|B-BIRD", "B-PLACE|O", "B-a,B-b,B-c", "B-a; B-b", "O B-a", "I-a+I-b"]
)
def test_several_tags_in_a_cell_are_refused_in_every_scheme(scheme, tag, tmp_path):
    path = new_file(tmp_path / "a.conll", f"The\tO\nHeron\t{tag}\n\nA\tO\nTern\tB-SHIP\n")
    with pytest.raises(
        ValueError, match=r"a\.conll:2: found several tags in one cell.*one tag"
    ) as error:
        converted(path, scheme=scheme)
    assert "--scheme" not in str(error.value)


# ---------------------------------------------------------------- texts given several times


def test_a_file_of_another_member_without_annotation_is_merged(tmp_path):
    records = [{"text": FERRY, "label": [SHIP, PLACE]}, {"text": "No boat.", "label": []}]
    new_file(tmp_path / "in" / "admin.jsonl", lines(*records))
    new_file(tmp_path / "in" / "second.jsonl", lines(*({**record, "label": []} for record in records)))
    docs, events = converted(tmp_path / "in")
    assert docs[0] == (FERRY, [("Heron", "SHIP"), ("Oban", "PLACE")])
    assert [text for text, _ in docs] == [FERRY, "No boat.", "No boat."]
    assert events == {"merged": {"texts": 1}}


# ---------------------------------------------------------------- JSON


def test_spacy_2_training_files_are_read(tmp_path):
    tokens = [
        {"orth": "Heron", "ner": "U-SHIP"},
        {"orth": "left", "ner": "O"},
        {"orth": "it", "ner": "-"},
    ]
    paragraph = {
        "raw": "Heron left it.",
        "sentences": [{"tokens": [*tokens, {"orth": ".", "ner": "O"}]}],
    }
    path = new_file(tmp_path / "a.json", json.dumps([{"id": 0, "paragraphs": [paragraph]}]))
    assert converted(path)[0] == [("Heron left it.", [("Heron", "SHIP")])]
    (doc,) = stream_docs(tmp_path / "a.json-converted" / "all.spacy", NLP.vocab)
    assert [token.ent_iob_ for token in doc] == ["B", "O", "", "O"]


# ---------------------------------------------------------------- formats of other tools


def test_bioc_xml_is_read_by_passage(tmp_path):
    docs, events = converted(new_file(tmp_path / "a.xml", BIOC_XML), allow=True)
    assert docs == [("No boat.", []), ("The Heron left Oban.", [("Heron", "SHIP")])]
    assert events == {"discontinuous": {"X": 1}}
    found = stream_docs(tmp_path / "a.xml-converted" / "all.spacy", NLP.vocab)
    assert [doc.user_data["document"] for doc in found] == ["7", "7"]


def test_xml_neither_grows_nor_reads_other_files(tmp_path):
    names = "abcdefghijkl"
    grows = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in itertools.pairwise(names))
    for i, entities in enumerate(
        (f'<!ENTITY a "{"x" * 10}">{grows}', '<!ENTITY l SYSTEM "/etc/hosts">')
    ):
        text = BIOC_XML.replace('"BioC.dtd">', f'"BioC.dtd" [{entities}]>').replace("No boat.", "&l;")
        with pytest.raises(ValueError, match=rf"L401.*{i}\.xml:.*this is no XML"):
            converted(new_file(tmp_path / f"{i}.xml", text))


def test_the_docs_list_every_format():
    page = (ROOT / "docs" / "corpora.md").read_text(encoding="utf8")
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


def test_a_foreign_file_beside_the_corpus_is_ignored(tmp_path):
    files = {"nlu.yml": "nlu:\n- intent: x\n", "a.jsonl": texts([SHIP])}
    assert converted(write_files(tmp_path / "in", files))[0] == [(FERRY, [("Heron", "SHIP")])]


# ---------------------------------------------------------------- .spacy


def test_groups_of_spans_do_not_keep_text_from_being_read_as_a_pool(tmp_path):
    docs = read_pool(new_file(tmp_path / "a.spacy", TWO_GROUPS), NLP, PoolOptions(), Events())
    assert [doc.text for doc in docs] == ["The Heron left Oban.", "No boat came."]


# ---------------------------------------------------------------- parts, files and the command


OBAN = "Oban\tB-PLACE\nslept\tO\n"


@pytest.mark.parametrize("name", ["valid", "validation"])
def test_other_names_of_dev_are_accepted(name, tmp_path, recwarn):
    files = dict.fromkeys(("train.txt", f"{name}.txt", "test.txt"), OBAN)
    convert_corpus(write_files(tmp_path / "in", files), tmp_path / "out")
    assert (tmp_path / "out" / "dev.spacy").is_file() and not recwarn


def test_files_that_are_no_part_are_named(tmp_path):
    files = dict.fromkeys(("train.txt", "dev.txt", "test.txt", "testa.txt"), OBAN)
    source = write_files(tmp_path / "in", files)
    with pytest.warns(UserWarning, match=r"LW195.*testa\.txt is not read.*valid, validation"):
        convert_corpus(source, tmp_path / "out")


def test_no_type_is_looked_up_in_the_list_of_rare_types(tmp_path, monkeypatch):
    """With 200,000 types that took minutes."""

    class Labels(list):
        def __contains__(self, label):
            raise AssertionError("a type was looked up in the list of all types")

    real = folder.rare_types
    monkeypatch.setattr(folder, "rare_types", lambda *given: Labels(real(*given)))
    new_file(tmp_path / "corpus.json", '{"descriptions": {"SHIP": "a vessel"}}')
    path = new_file(tmp_path / "a.jsonl", lines({"text": FERRY, "label": [SHIP, PLACE]}))

    convert_corpus(path, tmp_path / "out")

    assert read_types(tmp_path / "out").descriptions == {"SHIP": "a vessel"}


def test_the_command_takes_the_options_of_a_format(tmp_path):
    path = new_file(tmp_path / "a.conll", "# one\n1\tThe\tO\n2\tHeron\tB-SHIP\n")
    shown = run_app(
        "convert", path, tmp_path / "out", "--token-column", 1, "--comments", "--duplicates", "keep"
    )
    assert "1 lines that begin with #" in " ".join(shown.output.split())
    refused(["convert", path, tmp_path / "other", "--spans-key", "sc"], "L420", tmp_path / "other")
    refused(["convert", path, tmp_path / "other", "--encoding", "idna"], "L001", tmp_path / "other")
