"""Measure memory and speed of mining a pool of a million sentences.

    python benchmarks/mining.py training/main/field_notes/ner/model-best corpus/field_notes

The pool consists of the words of the corpus in random order, with one new word in fifty, so that
the vocabulary would grow by about 300,000 words. Memory is the peak of the process minus its peak
for a pool of a thousand sentences.
"""

import os
import random
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

import spacy
import srsly
import typer

from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.unlabelled.mining import mine
from spacy_longtail.unlabelled.pool import PoolOptions

RESULTS = Path(__file__).parent / "results" / "mining.jsonl"
SMALL = 1_000  # sentences of the pool that others are compared with
NEW = 0.02  # share of words that occur nowhere else


def resident() -> float:
    """Return the memory of this process, in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="utf8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def make_pool(corpus: Path, path: Path, n: int) -> None:
    """n sentences, as long as those of the corpus."""
    docs = load_docs(part_path(corpus, "train"), spacy.blank("en"))
    sentences = [[t.text for t in s if not t.is_space] for doc in docs for s in doc.sents]
    words = [word for sentence in sentences for word in sentence]
    rng = random.Random(0)
    with path.open("w", encoding="utf8") as file:
        for _ in range(n):
            k = len(rng.choice(sentences))
            file.write(" ".join(word(rng, words) for _ in range(k)) + "\n")


def word(rng: random.Random, words: list[str]) -> str:
    return f"x{rng.getrandbits(40):x}" if rng.random() < NEW else rng.choice(words)


class Watch(Thread):
    """Context manager that samples the peak memory of the process while a block runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.ended = 0.0, Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            self.peak = max(self.peak, resident())

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


def main(
    pipeline: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus of its training.")],
    sentences: Annotated[int, typer.Option(help="Number of sentences in the pool.")] = 1_000_000,
    labels: Annotated[int, typer.Option(help="Number of sentences to propose.")] = 200,
) -> None:
    options = PoolOptions()
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (SMALL, sentences):
            pool, output = Path(folder) / f"pool-{n}.txt", Path(folder) / f"next-{n}.jsonl"
            make_pool(corpus, pool, n)
            begin = time.perf_counter()
            with Watch() as watch:
                found = mine(pipeline, pool, output, options, "prodigy", labels=labels, corpus=corpus)
            seconds = time.perf_counter() - begin
            peaks.append(watch.peak)
    record = {
        "sentences": found.scan.counts.sentences,
        "labels": labels,
        "types": len(found.types),
        "megabytes_above_small_pool": round(peaks[1] - peaks[0]),
        "megabytes_of_small_pool": round(peaks[0]),
        "sentences_per_second": round(sentences / seconds),
        "cores": os.cpu_count(),
    }
    with RESULTS.open("a", encoding="utf8") as file:
        file.write(srsly.json_dumps(record) + "\n")
    typer.echo(srsly.json_dumps(record, indent=1))


if __name__ == "__main__":
    typer.run(main)
