"""How many texts a pool has, and how long a pipeline takes for one."""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab
from tqdm import tqdm

from ..corpus.formats.context import Events, Settings
from ..output.estimates import Estimate
from .pool import read_pool

COUNTING = 20.0  # seconds, after which a pool is not counted any further
LOOK = 1000  # texts between two looks at the clock
MEASURED = 200  # texts
CHUNK = 20  # texts that are timed together
LONGEST = 8.0  # seconds of reading, after which no more are measured


class _Whole:
    """A tokenizer that leaves a text in one piece."""

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab

    def __call__(self, text: str) -> Doc:
        return Doc(self.vocab, words=["text"])


def count_texts(pool: Path, nlp: Language, settings: Settings) -> tuple[int, bool]:
    """How many texts a pool has. It is read as a stream, and no text is tokenized.

    pool (Path): As `read_pool` takes it. nlp (Language): That is to read them.
    settings (Settings): Of the pool.
    RETURNS (Tuple[int, bool]): Texts, and whether these are all: counting ends after a while.
    RAISES (ValueError): Those of `read_pool`.
    """
    counting = type(nlp)(vocab=Vocab(), max_length=nlp.max_length)
    counting.tokenizer = _Whole(counting.vocab)
    texts = read_pool(pool, counting, settings, Events())
    begin, n = perf_counter(), 0
    for _ in tqdm(texts, "counting", unit="text", delay=2, disable=None, leave=False):
        n += 1
        if n % LOOK == 0 and perf_counter() - begin > COUNTING:
            return n, next(iter(texts), None) is None
    return n, True


def time_texts(
    texts: Iterator[Doc], nlp: Language, take: Callable[[list[Doc]], object], n_process: int = 1
) -> Estimate | None:
    """The time of one text, by the first of a pool. The first few begin, and are not measured.

    texts (Iterator[Doc]): The pool's. nlp (Language): That reads them.
    take (Callable): What is done with documents that were read.
    n_process (int): Processes that would share the work evenly; -1 is one per core.
    RETURNS (Optional[Estimate]): Null without a text.
    """
    chunks: list[tuple[int, float]] = []
    while sum(n for n, _ in chunks) < MEASURED and sum(s for _, s in chunks) < LONGEST:
        begin = perf_counter()
        docs = list(nlp.pipe(islice(texts, CHUNK), batch_size=CHUNK))
        if not docs:
            break
        take(docs)
        chunks.append((len(docs), perf_counter() - begin))
    if not chunks:
        return None
    measured = chunks[1:] or chunks
    n_texts = sum(n for n, _ in measured)
    n = n_process if n_process > 0 else os.cpu_count() or 1
    shared = f", shared by {n} processes" if n > 1 else ""
    seconds = sum(s for _, s in measured) / n_texts / n
    return Estimate(seconds, f"measured on {n_texts} texts{shared}")
