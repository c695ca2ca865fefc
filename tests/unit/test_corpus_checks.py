"""Faults of a corpus: one is planted, and exactly that one is found."""

import json

import pytest
from spacy.tokens import Doc

from spacy_longtail.corpus.checks import check_corpus
from spacy_longtail.corpus.folder import CorpusTypes, write_corpus
from tests.util import blank, document, invoke, run_app

NLP = blank()


# --- a corpus that nothing is wrong with, and faults to plant in it


def healthy():
    """Documents of two sentences; 60 mentions of each type in training, no text twice."""
    return {
        part: [
            document(
                NLP, f"[{part}{i}|PER] met [Mr {part}{i}|ORG] .", f"It saw the [{part}{i} x|ART] sink"
            )
            for i in range(n)
        ]
        for part, n in (("train", 60), ("dev", 3), ("test", 3))
    }


def annotated(doc, **columns):
    """A copy with some columns changed at some tokens: iob={0: 3}."""
    doc, names = doc.copy(), {"iob": "ENT_IOB", "type": "ENT_TYPE", "start": "SENT_START"}
    array = doc.to_array(list(names.values()))
    for key, changes in columns.items():
        for i, value in changes.items():
            number = NLP.vocab.strings.add(value) if isinstance(value, str) else value
            array[i, list(names).index(key)] = number
    doc.from_array(list(names.values()), array)
    return doc


def words(texts, entity=(0, 0), label="PER", starts=(0,)):
    """A document with at most one entity, from the first to before the second index."""
    tags = ["O"] * len(texts)
    tags[slice(*entity)] = [f"B-{label}", *[f"I-{label}"] * len(texts)][: entity[1] - entity[0]]
    return Doc(NLP.vocab, words=texts, ents=tags, sent_starts=[i in starts for i in range(len(texts))])


def save(folder, docs, labels=("PER", "ORG", "ART"), tail=()):
    write_corpus(folder, docs, CorpusTypes(list(labels), list(tail)))
    return folder


def faults(corpus, sections=None):
    """Warnings and failures, but for that the spacing of these tokens is not known."""
    found = check_corpus(corpus)
    return [c for c in found if c.level in ("warn", "fail") and (not sections or c.section in sections)]


def test_a_corpus_without_a_fault(tmp_path):
    checks = list(check_corpus(save(tmp_path / "c", healthy())))
    assert not [c for c in checks if c.level in ("warn", "fail")]
    good = {c.section for c in checks if c.level == "good"}
    assert good == {"Findings", "Types", "Sentences", "Entities", "Annotation", "Tokens"}


def test_tokens_of_a_language_without_a_tokenizer_are_not_compared(tmp_path):
    corpus = save(tmp_path / "c", healthy())
    types = json.loads((corpus / "types.json").read_text())
    (corpus / "types.json").write_text(json.dumps({**types, "lang": "xyz"}))
    (check,) = [c for c in check_corpus(corpus) if c.section == "Tokens"]
    assert check.level == "info"
    assert "L428" in check.text


def extra(*given, part="train", starts=(0,), **columns):
    doc = annotated(words(*given, starts=starts), **columns)
    return lambda docs: docs[part].append(doc)


def bare(*texts):
    return lambda docs: docs["train"].append(Doc(NLP.vocab, words=list(texts)))


CROSSING = words(["at", "New", "York", "now"], (1, 3), starts={0, 2})
PLANTED = [  # what is planted, level, section, and what the finding names; or that it is no fault
    (lambda docs: docs.pop("dev"), "warn", "Findings", "no dev part"),
    (extra(["a"], part="dev"), None, "", ""),
    (lambda docs: docs["train"].extend([words(["so", "it", "is"])] * 500), None, "", ""),  # sparse
    (
        extra(["so", "it", "is"], iob={1: 1}, type={1: "PER"}),
        "fail",
        "Entities",
        "1, such as: so it is",
    ),
    (extra(["at", "Oslo", "\n", "now"], (1, 3)), "fail", "Entities", r"such as: at [Oslo \n|PER] now"),
    (extra(["at", "--", "now"], (1, 2)), "warn", "Entities", "1, such as: at [--|PER] now"),
    (extra(["at", "Oslo", ",", "now"], (1, 3)), "warn", "Entities", "1, such as: at [Oslo ,|PER] now"),
    (extra(["\n", "it"]), None, "", ""),
    (extra(["for", "$", "5"], (1, 3)), None, "", ""),
    (extra(["in", "U.S.", "now"], (1, 2)), None, "", ""),
    (
        extra([f"w{i}" for i in range(201)], part="test"),
        "warn",
        "Sentences",
        "test: sentences of more than 200 words: 1, such as: w0",
    ),
    (extra(["so", ".", "it"], start={0: 0, 1: 0, 2: 0}), "warn", "Sentences", "train: documents"),
    (extra(["so", "be", "it"], start={0: 0, 1: 0, 2: 0}), None, "", ""),
    (extra(["so", ".", '"', "\n"], start={0: 0, 1: 0, 2: 0, 3: 0}), None, "", ""),
    (extra(["so", "\n", "it"], starts=(0, 1)), "warn", "Sentences", r"1, such as: so \n it"),
    (bare("so"), "warn", "Annotation", "train: documents without annotation"),
    (bare(), "warn", "Annotation", "documents without a token: 1"),
    (extra(["Malm\ufffd", "now"]), "warn", "Annotation", "1, such as: Malm\ufffd now"),
    (extra(["a\x07b"]), "warn", "Annotation", "control characters"),
    (extra(["Mu\u0308nchen", "liegt"]), "warn", "Annotation", "accents apart from their letters"),
    (extra(["so", "be", "it"], iob={1: 0}), "warn", "Annotation", "train: words"),
    (extra(["see", "Ida"], (1, 2), "STORM"), "fail", "Findings", "STORM"),
    (lambda docs: docs["train"].append(CROSSING), "warn", "Sentences", "at [New York|PER] now"),
    (
        lambda docs: docs.update(test=[words(["see", "Ida"], (1, 2), "ORG")]),
        "warn",
        "Findings",
        "PER, ART",
    ),
    (lambda docs: docs.update(train=docs["train"][:49]), "warn", "Findings", "49 mentions"),
    (lambda docs: docs.update(dev=[words(["it", "rained"])]), None, "", ""),
    (lambda docs: docs["test"].append(docs["train"][0]), "warn", "Findings", "2 sentences of test"),
    (
        lambda docs: docs["train"].extend(
            words(["so", "Ida", "came"], (1, 2), label) for label in ("PER", "ART")
        ),
        "warn",
        "Findings",
        "[Ida|PER]",
    ),
]


@pytest.mark.parametrize(("plant", "level", "section", "text"), PLANTED)
def test_a_planted_fault_is_found_and_no_other(plant, level, section, text, tmp_path):
    docs = healthy()
    plant(docs)
    found = faults(save(tmp_path / "c", docs))
    assert [(c.level, c.section) for c in found] == ([(level, section)] if level else [])
    assert all(text in c.text for c in found)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("PER", "per", True),
        ("PER", "P-E_R", True),
        ("PER", "PERS", True),
        ("PERSON", "PERSNO", True),
        ("LOCATION", "LOCTION", True),
        ("GEO", "GPE", False),
        ("cell_type", "cell_line", False),
        ("CARDINAL", "ORDINAL", False),
    ],
)
def test_types_with_almost_the_same_name(one, other, alike, tmp_path):
    docs = healthy()
    for part in docs:
        for label in (one, other):
            docs[part].append(words([f"so{part}{label}", "Ida"], (1, 2), label))
    labels = list(dict.fromkeys(["PER", "ORG", "ART", one, other]))
    checks = faults(save(tmp_path / "c", docs, labels=labels))
    assert len([check for check in checks if check.section == "Types"]) == alike


def test_tokens_are_compared_where_the_text_is_known(tmp_path):
    docs = healthy()
    docs["test"] = [words(["Nobody's", "there"], (0, 1))]  # tokens without their text
    checks = [c for c in check_corpus(save(tmp_path / "c", docs)) if c.section == "Tokens"]
    assert [c.level for c in checks] == ["good", "good", "info"]


def test_tokens_that_a_pipeline_would_not_make_are_found(tmp_path):
    docs = healthy()
    wrong = Doc(NLP.vocab, words=["Ann", "Lees", "s", "."], spaces=[True, False, False, False])
    wrong.ents = [wrong.char_span(0, 8, label="PER")]
    docs["train"] = [*docs["train"], wrong]
    cut, lost = faults(save(tmp_path / "c", docs), sections=["Tokens"])
    assert "train: 2 of 664 tokens" in cut.text and "Lees / s" in cut.text
    assert "1 of 181 mentions" in lost.text


# --- the command


def test_the_command_fails_where_a_check_does(tmp_path):
    corpus, docs = save(tmp_path / "fine", healthy(), tail=["ART"]), healthy()
    assert "0 fail, 0 warn" in run_app("audit", corpus).output
    assert json.loads(run_app("audit", corpus, "--json").output)[-1]["section"] == "Tokens"
    docs["train"].append(words(["see", "Ida"], (1, 2), "STORM"))
    bad = invoke("audit", save(tmp_path / "c", docs))
    assert bad.exit_code == 1
    assert "STORM" in bad.output and "1 fail" in bad.output and "Traceback" not in bad.output
