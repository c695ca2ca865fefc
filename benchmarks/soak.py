"""Check that pipes neither leak memory nor lose documents over many documents of odd lengths.

Each trained pipeline in turn processes the same documents with `nlp.pipe`: empty ones, one token,
white space, emoji, other scripts, usual sentences, and sometimes 5,000 tokens. Each document must
be returned, in order. A sample is predicted again one by one, and must give the same entities.
Memory is sampled, and a line is fitted to the second half of the samples, because initial loading
is no leak. Appends one JSON record per pipeline to benchmarks/results/soak.jsonl.
"""

import gc
import json
import platform
import random
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc

from spacy_longtail.about import __version__

PAGE_KB = 4
LONG = 5_000  # tokens
EVERY_LONG = 500  # documents
WORDS = [
    "Maria",
    "Oslo",
    "the",
    "Fram",
    "sailed",
    "Storm",
    "Ida",
    "Jon",
    "Berg",
    "Rome",
    "and",
    ".",
    "zzz",
]
ODD = (
    "",
    " ",
    "\n\n \t",
    "x",
    "😀",
    "👩‍👩‍👧 🇳🇴 Fram 🚢 .",
    "e\u0301a\u0300 \u200b\u200d Oslo\ufeff .",
    "オスロ 漢字 العربية עברית .",
    "\x00 \x1b Maria",
    "." * 50,
    "Fram" * 100,
    "[SEP] [CLS] <<ENT>> [MASK]",
    "1e9999 -0 NaN",
)
KEPT = 2_000  # documents that are read again one by one, at most


class Found(NamedTuple):
    ents: list[tuple[int, int, str]]
    spans: list[tuple[str, int, int, str]]
    scores: list[float]


class Run(NamedTuple):
    docs: int
    tokens: int
    seconds: float
    memory: list[tuple[int, float]]  # documents so far, MB in use
    sample: list[tuple[str, Found]]  # texts, and what was found in them


def texts(seed: int) -> Iterator[str]:
    """Yield documents without end, the same ones for the same seed."""
    rng = random.Random(seed)
    i = 0
    while True:
        i += 1
        if i % EVERY_LONG == 0:
            yield " ".join(rng.choices(WORDS, k=LONG))
        elif rng.random() < 0.3:
            yield rng.choice(ODD)
        else:
            yield " ".join(rng.choices(WORDS, k=min(1 + int(rng.expovariate(1 / 15)), 300)))


def resident_mb() -> float:
    """Return the memory in use: the current one on Linux, elsewhere the peak."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_KB / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def shown(doc: Doc) -> Found:
    spans = [(key, s.start, s.end, s.label_) for key, group in doc.spans.items() for s in group]
    scores = [score for group in doc.spans.values() for score in group.attrs.get("scores", ())]
    return Found([(e.start, e.end, e.label_) for e in doc.ents], spans, scores)


def is_same(one: Found, other: Found) -> bool:
    """Return whether entities are equal and scores nearly so: batches differ in rounding."""
    return one[:2] == other[:2] and np.allclose(one.scores, other.scores, atol=1e-4)


def soak(nlp: Language, n_docs: int, seconds: float, batch_size: int, seed: int) -> Run:
    """Run the documents through the pipeline.

    RAISES (RuntimeError): If a document is lost, or another one is returned.
    """
    memory: list[tuple[int, float]] = []
    sample: list[tuple[str, Found]] = []
    start, n_tokens, n, n_sent = time.perf_counter(), 0, 0, 0
    rng = random.Random(seed + 1)

    def given() -> Iterator[tuple[str, str]]:
        nonlocal n_sent
        for text in islice(texts(seed), n_docs):
            if time.perf_counter() - start > seconds:
                return
            n_sent += 1
            yield text, text

    for doc, text in nlp.pipe(given(), as_tuples=True, batch_size=batch_size):
        n += 1
        n_tokens += len(doc)
        if doc.text != text:
            raise RuntimeError(f"document {n} came back as another one")
        if len(sample) < KEPT and rng.random() < 0.05:
            sample.append((text, shown(doc)))
        if n % max(batch_size, 200) == 0:
            memory.append((n, resident_mb()))
    if n != n_sent:
        raise RuntimeError(f"{n_sent} documents were sent, {n} came back")
    return Run(n, n_tokens, time.perf_counter() - start, memory, sample)


def slope(memory: list[tuple[int, float]]) -> float | None:
    """Return the growth of the second half in KB per 1,000 documents; None below ten samples."""
    half = np.asarray(memory[len(memory) // 2 :])
    if len(half) < 10:
        return None
    return round(float(np.polyfit(half[:, 0], half[:, 1], 1)[0]) * 1024 * 1000, 1)


def main(
    saved: Annotated[Path, typer.Argument(help="Folder with trained pipelines, at any depth.")],
    docs: Annotated[int, typer.Option(min=1, help="Number of documents for each pipeline.")] = 1_000_000,
    seconds: Annotated[
        float, typer.Option(min=1, help="Time limit for each pipeline, in seconds.")
    ] = float("inf"),
    batch_size: Annotated[int, typer.Option(min=1, help="Batch size of nlp.pipe.")] = 64,
    seed: Annotated[int, typer.Option(help="Random seed of the documents.")] = 0,
    only: Annotated[str, typer.Option(help="Only pipelines whose names start with this.")] = "",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = Path(__file__).parent
    / "results"
    / "soak.jsonl",
) -> None:
    """Process the documents with each pipeline, and append a record of each."""
    names = {path: str(path.parent.relative_to(saved)) for path in saved.rglob("config.cfg")}
    places = sorted(path for path, name in names.items() if name.startswith(only))
    if not places:
        raise SystemExit(f"There is no pipeline in {saved} whose name begins with {only!r}.")
    for path in places:
        try:
            nlp = spacy.load(path.parent)
        except ValueError as error:  # an extra is not installed
            typer.echo(f"{names[path]} is left out: {error}")
            continue
        run = soak(nlp, docs, seconds, batch_size, seed)
        other = [text for text, found in run.sample if not is_same(shown(nlp(text)), found)]
        record = {
            "name": "soak",
            "pipeline": names[path],
            "docs": run.docs,
            "tokens": run.tokens,
            "seconds": round(run.seconds, 1),
            "batch_size": batch_size,
            "seed": seed,
            "first_mb": round(run.memory[0][1], 1) if run.memory else None,
            "last_mb": round(run.memory[-1][1], 1) if run.memory else None,
            "slope_kb_per_1000_docs": slope(run.memory),
            "strings": len(nlp.vocab.strings),
            "read_again": len(run.sample),
            "different": len(other),
            "spacy_longtail": __version__,
            "spacy": spacy.__version__,
            "python": platform.python_version(),
            "system": platform.system(),
        }
        typer.echo(json.dumps(record))
        with results.open("a", encoding="utf8") as file:
            file.write(json.dumps(record) + "\n")
        for text in other[:3]:
            typer.echo(f"differs: {text[:200]!r}")
        del nlp, run
        gc.collect()


if __name__ == "__main__":
    typer.run(main)
