"""Whether a corpus's tokens are those that the pipeline will make in production."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ...corpus.folder import CorpusTypes, stream_docs
from ...corpus.tokenizers import blank
from .checks import Said, check

N_DOCS = 500  # of a part: enough for a share, quick on large corpora
N_EXAMPLES = 3
Bounds = tuple[int, int]  # in characters


@dataclass
class Differences:
    """Where the tokenizer of the language cuts otherwise than the corpus."""

    n_docs: int = 0  # with a known text
    n_tokens: int = 0
    n_cut: int = 0  # gold tokens that the tokenizer does not make
    n_mentions: int = 0
    n_lost: int = 0  # mentions that begin or end inside a token of the tokenizer

    def __post_init__(self) -> None:
        self.examples: list[str] = []

    def add(self, doc: Doc, nlp: Language) -> None:
        """doc (Doc): Gold tokens. nlp (Language): With the tokenizer of the language."""
        own, made = _bounds(doc), _bounds(nlp.make_doc(doc.text))
        starts, ends = {start for start, _ in made}, {end for _, end in made}
        self.n_docs += 1
        self.n_tokens += len(own)
        for bound in own - made:
            self.n_cut += 1
            if len(self.examples) < N_EXAMPLES:
                self.examples.append(_shown(doc.text, bound, made))
        for ent in doc.ents:
            self.n_mentions += 1
            self.n_lost += ent.start_char not in starts or ent.end_char not in ends


def _bounds(doc: Doc) -> set[Bounds]:
    return {(token.idx, token.idx + len(token)) for token in doc}


def _shown(text: str, bound: Bounds, made: set[Bounds]) -> str:
    """A gold token beside the tokens that the tokenizer makes there."""
    start, end = bound
    others = sorted(b for b in made if b[0] < end and b[1] > start)
    return f"{text[start:end]!r} is {' '.join(repr(text[a:b]) for a, b in others)}"


@dataclass(frozen=True)
class TokenizedParts:
    types: CorpusTypes
    paths: Mapping[str, Path]  # by part


@check("Tokens")
def check_tokens(parts: TokenizedParts) -> Said:
    lang = parts.types.lang
    try:
        nlp = blank(lang, parts.types.tokens)
    except ValueError as error:
        yield "info", f"The tokens were not compared with the language's: {error}"
        return
    for part, path in parts.paths.items():
        differences, n_unknown = Differences(), 0
        for doc in islice(stream_docs(path, nlp), N_DOCS):
            if doc.has_unknown_spaces:
                n_unknown += 1
            else:
                differences.add(doc, nlp)
        yield from _said(part, lang, differences, n_unknown)


def _said(part: str, lang: str, found: Differences, n_unknown: int) -> Said:
    if n_unknown:
        text = "the tokens are given without their text, so a pipeline in production may cut others"
        yield "info", f"{part}: {text} ({n_unknown} of the first {n_unknown + found.n_docs} documents)."
    if found.n_cut:
        share = 100 * found.n_cut / found.n_tokens
        text = f"{found.n_cut:,} of {found.n_tokens:,} tokens ({share:.1f} %) are others"
        examples = " / ".join(found.examples)
        yield "warn", f"{part}: {text} to the tokenizer of {lang!r}, such as: {examples}"
    elif found.n_docs:
        yield "good", f"{part}: the tokenizer of {lang!r} makes the same tokens."
    if found.n_lost:
        text = f"{found.n_lost:,} of {found.n_mentions:,} mentions end inside one of its tokens"
        yield "warn", f"{part}: {text}: in production they cannot be found."
