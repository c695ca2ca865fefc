"""Reading corpora: markup, IOB2, conversion; every bad line is named and nothing is half-written."""

import errno
from pathlib import Path

import pytest
import srsly
from spacy.tokens import DocBin

from spacy_longtail.corpus.folder import convert_corpus, load_docs, read_types
from spacy_longtail.corpus.formats.columns import read_docs
from spacy_longtail.corpus.formats.context import Context, Events, Settings
from spacy_longtail.corpus.formats.markup import article_doc, parse_line, read_article
from tests.util import blank, toy_corpus

LABELS = ["PER", "GEO", "ART"]
NLP = blank()


def context():
    return Context(NLP, Settings(misaligned="error"), Events(), LABELS)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")
    return path


def test_markup_becomes_character_spans():
    line = 'In [Lisbon|GEO]\'s port, [Ana Sá|PER] read "[The Long Dusk|ART]".'
    found = parse_line(Path("x"), 4, line, LABELS)
    assert found.text == 'In Lisbon\'s port, Ana Sá read "The Long Dusk".'
    assert [(found.text[a:b], t) for a, b, t in found.spans] == [
        ("Lisbon", "GEO"),
        ("Ana Sá", "PER"),
        ("The Long Dusk", "ART"),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[Ana|PER sat.", "unbalanced"),
        ("Ana|PER] sat.", "unbalanced"),
        ("[Ana|XYZ] sat.", "unknown type 'XYZ'"),
        ("[Ana [Lisbon|GEO] Sá|PER] sat.", "overlapping"),
        ("[ Ana|PER] sat.", "padded"),
        ("[|PER] sat.", "empty"),
        ("Ana | Sá", "stray"),
        ("[Ana] sat.", "unbalanced"),
    ],
)
def test_bad_markup_is_named_with_file_and_line(line, problem, tmp_path):
    path = write(tmp_path / "a.txt", f"title: T\nkind: note\n\nFine.\n{line}\n")
    with pytest.raises(ValueError, match=rf"L401.*a\.txt:5: .*{problem}"):
        read_article(path, LABELS)


def test_a_mention_that_does_not_align_with_tokens(tmp_path):
    path = write(tmp_path / "a.txt", "title: T\nkind: note\n\nThe [Lisb|GEO]oners left.\n")
    with pytest.raises(ValueError, match=r"L425.*a\.txt:4: GEO in The \[Lisb\]oners left\. does not"):
        article_doc(read_article(path, LABELS), context())


@pytest.mark.parametrize(
    ("text", "code"), [("kind: x\n", "L401"), ("title: T\nkind: x\n\n", "L403"), ("", "L401")]
)
def test_bad_articles(text, code, tmp_path):
    with pytest.raises(ValueError, match=code):
        read_article(write(tmp_path / "a.txt", text), LABELS)


def test_an_article_is_a_document_with_sentences(tmp_path):
    text = "title: T\nkind: note\n\n[Ana|PER] left.\nRain fell.\n\n[Lisbon|GEO] slept.\n"
    article = read_article(write(tmp_path / "a.txt", text), LABELS)
    doc = article_doc(article, context())
    assert doc.text == "Ana left. Rain fell. Lisbon slept."
    assert [s.text for s in doc.sents] == ["Ana left.", "Rain fell.", "Lisbon slept."]
    assert [(e.text, e.label_) for e in doc.ents] == [("Ana", "PER"), ("Lisbon", "GEO")]
    assert [s.new_paragraph for s in article.sentences] == [True, False, True]
    assert doc.user_data["title"] == "T"


def read(path):
    return list(read_docs(path, Context(NLP, Settings(), Events())))


IOB = "-DOCSTART-\tO\n\nAna\tB-PER\nSá\tI-PER\nleft\tO\n\n\nLisbon\tB-GEO\nPorto\tB-GEO\n"


def test_iob_becomes_documents(tmp_path):
    docs = read(write(tmp_path / "a.iob", IOB))
    assert [[(e.text, e.label_) for e in d.ents] for d in docs] == [
        [("Ana Sá", "PER")],
        [("Lisbon", "GEO"), ("Porto", "GEO")],
    ]
    assert all(d.has_unknown_spaces and d.has_annotation("ENT_IOB") for d in docs)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("Ana\tB-PER\nSá\n", 2, "expected a token and a tag"),
        ("Ana\tB-PER\nSá\tI-PER\tX\n", 2, "found 3 columns"),
        ("Ana\tB-PER\tX\n", 1, "unknown tag 'X'"),
        ("a\tO\nAna\tI-PER\n", 2, "opens no entity"),
        ("Ana\tB-PER\nSá\tI-GEO\n", 2, "opens no entity"),
        ("Ana\tB-PER\n\nSá\tI-PER\n", 3, "opens no entity"),
        ("Ana\tX-PER\n", 1, "unknown tag"),
        ("Ana\tB-\n", 1, "unknown tag"),
    ],
)
def test_a_malformed_iob_line_is_named(text, line, problem, tmp_path):
    with pytest.raises(ValueError, match=rf"L401.*a\.iob:{line}: .*{problem}"):
        read(write(tmp_path / "a.iob", text))


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(ValueError, match="L402"):
        read(tmp_path / "none.iob")
    with pytest.raises(ValueError, match="L403"):
        read(write(tmp_path / "empty.iob", "\n\n"))
    with pytest.raises(ValueError, match="L402"):
        convert_corpus(tmp_path / "none", tmp_path / "out")


def corpus(folder: Path, test: str = IOB) -> Path:
    for part in ("train", "dev"):
        write(folder / f"{part}.iob", IOB)
    write(folder / "test.iob", test)
    return folder


def test_conversion_writes_all_parts_and_types(tmp_path):
    types = convert_corpus(corpus(tmp_path / "in"), tmp_path / "out")
    assert types.labels == ["GEO", "PER"] and read_types(tmp_path / "out") == types
    for part in ("train", "dev", "test"):
        docs = load_docs(tmp_path / "out" / f"{part}.spacy", NLP)
        assert [len(d.ents) for d in docs] == [1, 2]


def test_a_bad_part_leaves_nothing_behind(tmp_path):
    with pytest.raises(ValueError, match="L401"):
        convert_corpus(corpus(tmp_path / "in", test="Ana\tX\n"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_declared_types_win(tmp_path):
    folder = corpus(tmp_path / "in")
    srsly.write_json(
        folder / "corpus.json", {"labels": ["PER", "GEO", "ART"], "tail": ["ART"], "lang": "de"}
    )
    assert convert_corpus(folder, tmp_path / "out") == (
        ["PER", "GEO", "ART"],
        ["ART"],
        "de",
        "words",
        {},
    )


def test_articles_need_declared_types(tmp_path):
    for part in ("train", "dev", "test"):
        write(tmp_path / "in" / part / "a.txt", "title: T\nkind: note\n\n[Ana|PER] left.\n")
    with pytest.raises(ValueError, match=r"L407.*corpus\.json"):
        convert_corpus(tmp_path / "in", tmp_path / "out")


@pytest.mark.parametrize(("content", "code"), [(None, "L402"), (b"not a docbin", "L404")])
def test_files_spacy_cannot_read(content, code, tmp_path):
    path = tmp_path / "x.spacy"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=code):
        load_docs(path, NLP)


def test_a_full_disk_leaves_the_corpus_before(tmp_path, monkeypatch):
    toy_corpus(tmp_path / "corpus")
    before = {path.name: path.read_bytes() for path in (tmp_path / "corpus").iterdir()}

    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(DocBin, "to_disk", full)
    with pytest.raises(ValueError, match=r"L432.*No space left"):
        toy_corpus(tmp_path / "corpus")
    assert {path.name: path.read_bytes() for path in (tmp_path / "corpus").iterdir()} == before
