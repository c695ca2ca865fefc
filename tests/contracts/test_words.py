"""README and the hand-written pages of docs/: short sentences, the field's terms, narrow lines.

Read is what a person wrote: a page of `scripts/pages/` in place of the page that it becomes.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "scripts" / "pages"
WRITTEN = {path.name: path for path in sorted(TEMPLATES.glob("*.md"))}
BY_CODE = {"registered.md", "commands.md", "errors.md"}
GENERATED = BY_CODE | {*WRITTEN}
PAGES = [
    *WRITTEN.values(),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in GENERATED),
]
PAGES += [ROOT / "docs" / "README.md"]  # not the README that a template writes
READ = [  # what is read, with its figures
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in BY_CODE),
]
LONGEST, WIDEST = 25, 100  # words of a sentence, characters of a line

FENCE = re.compile(r"^( *)```.*?^\1```$", flags=re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", flags=re.DOTALL)
CODE = re.compile(r"\$`[^`]*`\$|``[^`]+``|`[^`]*`")  # formulas, too
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
APART = re.compile(r"^ *(#|\||>|<|!\[)")  # headings, tables, quotations, tags and pictures
ITEM = re.compile(r"^ *([-*]|\d+\.) ")
FIGURE = re.compile(r"\{\{.*?\}\}", flags=re.DOTALL)  # the name of one, in a template
END = re.compile(r"(?<!\bal\.)(?<!\beq\.)(?<=[.!?])[*)\"]* +")
COINAGES = (
    *(r"\bsilver\b", r"\btypes in words\b", r"\bbehind one pipe\b"),
    r"\b(?<!maxout layer of 3 )pieces\b",
    r"(?<!a )\b(begins?|began) with\b",
    r"\b(is|are) (said|told|refused)\b",
)


def sentences_of(markdown: str) -> list[str]:
    """The sentences of paragraphs and list items, code as one word and links as their text."""
    text = COMMENT.sub("", FENCE.sub("\n\n", FIGURE.sub("0.0", markdown)))
    text = LINK.sub(r"\1", CODE.sub("Code", text))
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if APART.match(line) or not line.strip():
            blocks.append([])
            continue
        if ITEM.match(line):
            blocks.append([])
            line = ITEM.sub("", line)
        blocks[-1].append(line.strip())
    return [part for block in blocks for part in END.split(" ".join(block)) if part.strip()]


def words_in(sentence: str) -> list[str]:
    return [word for word in sentence.split() if re.search(r"\w", word)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sentences_are_short(page):
    assert not [s for s in sentences_of(page.read_text(encoding="utf8")) if len(words_in(s)) > LONGEST]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_terms_are_those_of_the_field(page):
    prose = "\n".join(sentences_of(page.read_text(encoding="utf8")))
    assert not [m[0] for coinage in COINAGES for m in re.finditer(coinage, prose, re.IGNORECASE)]


@pytest.mark.parametrize("page", READ, ids=lambda page: page.name)
def test_lines_are_narrow(page):
    text = FENCE.sub("", page.read_text(encoding="utf8").split("<!-- WEASEL")[0])
    lines = [line for line in text.splitlines() if not re.match(r" *([|!<]|\$`)", line)]
    assert not [line for line in lines if len(LINK.sub(r"\1", line)) > WIDEST]


def test_a_long_sentence_a_coinage_and_a_wide_line_are_seen():
    long = "One " + "word " * LONGEST + "more. And a short one."
    assert [len(words_in(s)) > LONGEST for s in sentences_of(f"- {long}")] == [True, False]
    assert sentences_of("```\ncode.\n```\n| a cell |\n\nIt is `a b` of [two words](x.md).") == [
        "It is Code of two words."
    ]
    assert any(re.search(c, "The file is refused.") for c in COINAGES)


@pytest.mark.parametrize("page", [page for page in READ if page.name in WRITTEN], ids=lambda p: p.name)
def test_every_figure_is_put_in(page):
    assert not re.findall(r"\{[\w., ]+\}", " ".join(sentences_of(page.read_text(encoding="utf8"))))
