"""Tagged tokens, as column files, CSV and token records have them, to documents."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from spacy.tokens import Doc

from ...errors import Errors
from .context import Context, Events, Place
from .schemes import find_scheme, to_iob2
from .text import bad_line


class TaggedSentence(NamedTuple):
    at: Sequence[int]  # the line of each token
    words: list[str]
    tags: list[str]  # in the scheme of the file
    opens: bool = False  # whether a document is marked to begin here
    record: int = 0  # its number, from 1, where a line holds more than one


class Tagger:
    """Words and IOB2 tags of sentence after sentence; the scheme shows with the first entity.

    path (Path): The file, as errors name it. context (Context): The scheme, if it is set; events, which
        count tokens with white space inside.
    """

    def __init__(self, path: Path, context: Context) -> None:
        self.path, self.events, self.scheme = path, context.events, context.settings.scheme
        self.unlabelled = context.settings.unlabelled

    def __call__(self, sentence: TaggedSentence) -> tuple[list[str], list[str]]:
        """Words and tags, without tokens of white space that are in no entity, or within one."""
        sentence = self._without_blanks(sentence)
        if self.unlabelled:
            return checked_words(self.path, sentence, self.events), ["O"] * len(sentence.words)
        if self.scheme == "auto":
            self.scheme = find_scheme(sentence.tags)
        tags = to_iob2(sentence.tags, self.scheme, self.path, sentence.at, sentence.record)
        return checked_words(self.path, sentence, self.events), tags

    def _without_blanks(self, sentence: TaggedSentence) -> TaggedSentence:
        at, words, tags = sentence.at, sentence.words, sentence.tags
        needed = "" if self.unlabelled else "OI"  # a blank that begins or ends an entity is an error
        kept = [
            i
            for i, (word, tag) in enumerate(zip(words, tags, strict=True))
            if word.strip() or (needed and tag[:1] not in needed)
        ]
        if len(kept) == len(words):
            return sentence
        for i in sorted({*range(len(words))} - {*kept}):
            self.events.add("blank", "tokens", Place(self.path, at[i], sentence.record), repr(words[i]))
        return TaggedSentence(
            [at[i] for i in kept],
            [words[i] for i in kept],
            [tags[i] for i in kept],
            sentence.opens,
            sentence.record,
        )


def tagged_docs(
    path: Path, sentences: Iterable[TaggedSentence], context: Context, fix: str
) -> Iterator[Doc]:
    """One document per sentence, or one for the sentences from mark to mark.

    The tokens are as given. Spacing is unknown, so spaCy trains on these tokens.

    fix (str): What to do where there is no sentence.
    """
    settings, read = context.settings, Tagger(path, context)
    words: list[str] = []
    tags: list[str] = []
    starts: list[bool | int | None] = []
    n_docs = 0
    for sentence in sentences:
        if words and (sentence.opens or not settings.documents):
            yield Doc(context.nlp.vocab, words=words, ents=tags, sent_starts=starts)
            n_docs += 1
            words, tags, starts = [], [], []
        if settings.documents and not words and not sentence.opens:
            raise ValueError(Errors.L431.format(path=path))
        own_words, own_tags = read(sentence)
        words += own_words
        tags += own_tags
        starts += [i == 0 for i in range(len(own_words))]
    if words:
        yield Doc(context.nlp.vocab, words=words, ents=tags, sent_starts=starts)
    elif not n_docs:
        raise ValueError(Errors.L403.format(path=path, fix=fix))


def checked_words(path: Path, sentence: TaggedSentence, events: Events) -> list[str]:
    """The tokens, trimmed. Those with white space inside are kept as they are, and counted."""
    words = " ".join(sentence.words).split()
    if words == sentence.words:
        return words
    words = [word.strip() for word in sentence.words]
    for line, word in zip(sentence.at, words, strict=True):
        if not word:
            problem = "expected a token, found white space alone"
            raise bad_line(path, line, problem, "Remove the token.", sentence.record)
        if len(word.split()) > 1:
            events.add("spaced", "tokens", Place(path, line, sentence.record), repr(word))
    return words
