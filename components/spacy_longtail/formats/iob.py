"""IOB2 columns to spaCy documents: token TAB tag, a blank line between sentences."""

from collections.abc import Iterator
from pathlib import Path

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from ..errors import Errors


def _fail(path: Path, line: int, problem: str, fix: str) -> ValueError:
    return ValueError(Errors.L401.format(path=path, line=line, problem=problem, fix=fix))


def read_sentences(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Tokens and checked IOB2 tags of each sentence.

    path (Path): A UTF-8 file; lines that begin with -DOCSTART- are skipped.
    RAISES (ValueError): L401 with the line, L402, L403.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="Put the IOB2 file there."))
    words: list[str] = []
    tags: list[str] = []
    n_sentences = 0
    with path.open(encoding="utf8") as lines:
        for i, line in enumerate(lines, 1):
            line = line.rstrip("\r\n")
            if line.strip() and not line.startswith("-DOCSTART-"):
                columns = line.split("\t") if "\t" in line else line.split()
                if len(columns) != 2 or not columns[0].strip():
                    problem = f"expected a token and a tag, found {line[:60]!r}"
                    raise _fail(path, i, problem, "Write token TAB tag.")
                word, tag = columns[0], columns[1].strip()
                _check_tag(path, i, tag, tags[-1] if tags else "O")
                words.append(word)
                tags.append(tag)
            elif words:
                n_sentences += 1
                yield words, tags
                words, tags = [], []
    if words:
        n_sentences += 1
        yield words, tags
    if not n_sentences:
        raise ValueError(Errors.L403.format(path=path, fix="Write token TAB tag lines."))


def _check_tag(path: Path, line: int, tag: str, before: str) -> None:
    if tag == "O":
        return
    prefix, _, label = tag.partition("-")
    if prefix not in ("B", "I") or not label:
        raise _fail(path, line, f"unknown tag {tag!r}", "IOB2 tags are O, B-TYPE and I-TYPE.")
    if prefix == "I" and before not in (f"B-{label}", f"I-{label}"):
        problem = f"tag {tag!r} after {before!r} opens no entity"
        raise _fail(path, line, problem, f"An entity begins with B-{label} in IOB2.")


def read_docs(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """One document a sentence, its tokens as given. Spacing is unknown, so spaCy trains on these tokens.

    path (Path): An IOB2 file.
    vocab (Vocab): The vocabulary of the documents.
    """
    for words, tags in read_sentences(path):
        doc = Doc(vocab, words=words, sent_starts=[i == 0 for i in range(len(words))])
        starts = [i for i, tag in enumerate(tags) if tag[0] == "B"]
        ents = []
        for start in starts:
            end = start + 1
            while end < len(tags) and tags[end][0] == "I":
                end += 1
            ents.append(Span(doc, start, end, label=tags[start][2:]))
        doc.set_ents(ents)
        yield doc
