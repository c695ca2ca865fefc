"""Memory and speed of mining a pool of a million sentences.

    python benchmarks/mining.py training/main/field_notes/ner/model-best corpus/field_notes

The pool is made of the corpus's own words in random order, one word in fifty a new one, so that the
vocabulary would grow by some 300,000 words. Memory is that of the process, less what it holds once the
pipeline is loaded.
"""

import os
import random
import tempfile
import time
from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer

from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.formats.context import Settings
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.training.loading import load_pipeline
from spacy_longtail.unlabelled import mining
from spacy_longtail.unlabelled.mining import MiningRequest, mine

RESULTS = Path(__file__).parent / "results" / "mining.jsonl"
NEW = 0.02  # share of words that occur nowhere else


def resident() -> float:
    """Megabytes that the process holds."""
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


def main(
    pipeline: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus it was trained on.")],
    sentences: Annotated[int, typer.Option(help="Of the pool.")] = 1_000_000,
    labels: Annotated[int, typer.Option(help="Sentences to propose.")] = 200,
) -> None:
    peak = [0.0]
    load = mining.load_counting

    def loaded(path: Path | str) -> spacy.Language:
        nlp = load(path)
        peak[0] = start[0] = resident()
        return nlp

    start = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        pool = Path(folder) / "pool.txt"
        make_pool(corpus, pool, sentences)
        load_pipeline(pipeline)  # what it imports is no memory of mining
        mining.load_counting = loaded
        scan_pool = mining.scan_pool

        def watched(scan, batches, nlp, signs, every):
            def look() -> None:
                peak[0] = max(peak[0], resident())
                every()

            return scan_pool(scan, batches, nlp, signs, look)

        mining.scan_pool = watched
        begin = time.perf_counter()
        request = MiningRequest(labels=labels, corpus=corpus)
        found = mine(pipeline, pool, Path(folder) / "next.jsonl", request, Settings(), "prodigy")
        seconds = time.perf_counter() - begin
    record = {
        "sentences": found.scan.n_sentences,
        "labels": labels,
        "types": len(found.types),
        "megabytes_above_model": round(peak[0] - start[0]),
        "megabytes_of_model": round(start[0]),
        "sentences_per_second": round(sentences / seconds),
        "cores": os.cpu_count(),
    }
    with RESULTS.open("a", encoding="utf8") as file:
        file.write(srsly.json_dumps(record) + "\n")
    typer.echo(srsly.json_dumps(record, indent=1))


if __name__ == "__main__":
    typer.run(main)
