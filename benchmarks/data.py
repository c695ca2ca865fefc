"""Measure streaming of a corpus larger than memory, statistics and conversion.

Appends one JSON record per benchmark to benchmarks/results/data.jsonl. Times are CPU seconds. Run
nothing else on the machine.
"""

import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from spacy.cli.convert import convert as spacy_convert
from spacy.tokens import DocBin
from spacy.training import Corpus

from spacy_longtail import __version__
from spacy_longtail.corpus.folder import convert_corpus, stream_docs
from spacy_longtail.readers import ResampledCorpus
from spacy_longtail.readers.repeats import sCR

ROOT = Path(__file__).parents[1]
LABELS = ("PER", "ORG", "GEO", "NAT")
SHARES = (0.5, 0.3, 0.19, 0.01)  # of mentions
ATTRIBUTES = ("ENT_IOB", "ENT_TYPE", "SENT_START")
N_WORDS = 20_000
PER_FILE = 20_000


def generate(folder: Path, n_sentences: int) -> None:
    """Write documents of one sentence each, with random words and mentions of four types."""
    rng = np.random.default_rng(0)
    nlp = spacy.blank("en")
    orth = np.array([nlp.vocab.strings.add(f"word{i}") for i in range(N_WORDS)], dtype="uint64")
    labels = np.array([nlp.vocab.strings.add(label) for label in LABELS], dtype="uint64")
    for n, start in enumerate(range(0, n_sentences, PER_FILE)):
        bin_ = DocBin()
        iob, kind, start_ = (bin_.attrs.index(spacy.attrs.IDS[a]) for a in ATTRIBUTES)
        for _ in range(min(PER_FILE, n_sentences - start)):
            length = int(rng.integers(5, 30))
            tokens = np.zeros((length, len(bin_.attrs)), dtype="uint64")
            tokens[:, 0] = orth[np.minimum(rng.zipf(1.3, length), N_WORDS) - 1]
            tokens[:, iob] = 2
            tokens[:, start_] = np.uint64(2**64 - 1)
            tokens[0, start_] = 1
            for at in range(0, length - 2, 6)[: rng.integers(0, 3)]:
                size = int(rng.integers(1, 3))
                tokens[at : at + size, iob] = [3, 1][:size]
                tokens[at : at + size, kind] = labels[rng.choice(4, p=SHARES)]
            bin_.tokens.append(tokens)
            bin_.spaces.append(np.ones((length, 1), dtype=bool))
            bin_.flags.append({"has_unknown_spaces": True})
            bin_.cats.append({})
            bin_.span_groups.append(b"")
        bin_.strings = {f"word{i}" for i in range(N_WORDS)} | set(LABELS)
        bin_.to_disk(folder / f"{n:05}.spacy")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def peak_mb() -> float:
    """Return the peak memory of this process alone: ru_maxrss of a child may be its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="utf8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def stream(folder: str, answers: Any) -> None:
    """Stream a corpus and report time and memory. It must run in a process of its own."""
    nlp = spacy.blank("en")
    nlp.config["training"]["max_epochs"] = -1
    at_start = peak_mb()
    corpus = Corpus(folder)
    plain_s, n_read = timed(lambda: sum(1 for _ in corpus(nlp)))
    plain_mb = peak_mb()
    reader = ResampledCorpus(corpus, sCR(), join=1)
    counting_s, _ = timed(lambda: next(iter(reader(nlp))))  # with the first sentences of an epoch
    epoch_s, n_yielded = timed(lambda: sum(1 for _ in reader(nlp)))
    answers.put(
        {
            "name": "stream a generated corpus",
            "sentences": n_read,
            "yielded": n_yielded,
            "plain_s": round(plain_s, 1),
            "counting_s": round(counting_s, 1),
            "epoch_s": round(epoch_s, 1),
            "ratio": plain_s / epoch_s,
            "torch": "torch" in sys.modules,
            "mb_after_imports": round(at_start),
            "mb_plain": round(plain_mb),
            "mb_peak": round(peak_mb()),
        }
    )


def bench_stream(n_sentences: int) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), n_sentences)
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        child = context.Process(target=stream, args=(folder, answers))
        child.start()
        yield answers.get()
        child.join()


def bench_convert(iob: Path, runs: int) -> Iterator[dict[str, Any]]:
    """Compare `convert` with spaCy's converter on an IOB2 file, one document per sentence."""
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder) / "theirs", Path(folder) / "ours"
        theirs.mkdir()

        def by_spacy() -> None:
            spacy_convert(iob, theirs, file_type="spacy", converter="ner", n_sents=1, silent=True)

        convert_corpus(iob, ours)
        by_spacy()  # both warm
        pairs = []
        for _ in range(runs):
            pairs.append((timed(by_spacy)[0], timed(lambda: convert_corpus(iob, ours))[0]))
        n_docs = [sum(1 for _ in stream_docs(f, spacy.blank("en").vocab)) for f in (theirs, ours)]
    ratios = [a / b for a, b in pairs]
    yield {
        "name": f"convert {iob.parent.name}/{iob.name}",
        "documents": n_docs,
        "spacy_s": round(statistics.median(a for a, _ in pairs), 2),
        "ours_s": round(statistics.median(b for _, b in pairs), 2),
        "ratio": statistics.median(ratios),
        "ratios": [round(r, 3) for r in ratios],
    }


def bench_stats(corpus: Path) -> Iterator[dict[str, Any]]:
    """Measure the wall time of `stats` as a command, including the start of Python."""
    command = [sys.executable, "-m", "spacy_longtail", "stats", str(corpus), "--json"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    parts = json.loads(done.stdout)["parts"]
    n_tokens = sum(part["tokens"] for name, part in parts.items() if name != "all")
    yield {"name": f"stats {corpus.name}", "tokens": n_tokens, "wall_s": round(seconds, 1)}


def main(
    corpus: Annotated[Path, typer.Option(help="A converted corpus for `stats`.")] = Path(
        "corpus/field_notes"
    ),
    iob: Annotated[Path | None, typer.Option(help="An IOB2 file for `convert`.")] = None,
    runs: Annotated[int, typer.Option(help="Number of alternating runs of `convert`.")] = 5,
    sentences: Annotated[
        int, typer.Option(help="Number of sentences to generate and stream.")
    ] = 2_000_000,
    only_these: Annotated[
        str, typer.Option("--only", help="stream, convert or stats, separated by commas.")
    ] = "",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/data.jsonl",
) -> None:
    """Measure everything and append the records."""
    about = {
        "python": platform.python_version(),
        "spacy": spacy.__version__,
        "spacy_longtail": __version__,
        "cores": os.cpu_count(),
    }
    benches: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "stream": lambda: bench_stream(sentences),
        "stats": lambda: bench_stats(corpus),
    }
    if iob is not None:
        benches["convert"] = lambda: bench_convert(iob, runs)
    wanted = only_these.split(",") if only_these else list(benches)
    results.parent.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        for record in benches[name]():
            with results.open("a", encoding="utf8") as file:
                file.write(json.dumps({**record, **about}) + "\n")
            typer.echo(json.dumps(record))


if __name__ == "__main__":
    typer.run(main)
