"""Measure the time to make a report over hundreds of runs, and to open it in a browser.

The evaluations are simulated: each method finds each mention in the test part of a converted corpus
with a probability of its own. Appends one JSON record to benchmarks/results/report.jsonl.
"""

import json
import random
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc
from tqdm import tqdm

from spacy_longtail.about import __version__
from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import load_docs, read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.records import (
    Document,
    Evaluation,
    Scores,
    TrainingSettings,
    TypeScores,
    write_evaluation,
)
from spacy_longtail.evaluation.report import read_report, write_report
from spacy_longtail.evaluation.significance import mention_counts, named_metrics

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]
KINDS = {"p": "precision", "r": "recall", "f": "F1"}
KEYS = {"macro": "ents_macro_f", "micro": "ents_f", "weighted": "ents_weighted_f", "tail": "ents_tail_f"}


def invented(
    name: str, seed: int, docs: list[Doc], types: CorpusTypes, found: dict[str, float]
) -> Evaluation:
    """Simulate an evaluation that finds each mention with the probability of its type."""
    rng = random.Random(f"{name} {seed}")
    documents = []
    for doc in docs:
        gold = [(e.start_char, e.end_char, e.label_) for e in doc.ents]
        predicted = []
        for start, end, label in gold:
            if rng.random() < found[label]:
                label = label if rng.random() < 0.9 else rng.choice(types.labels)
                predicted.append((start, end, label, rng.random()))
        bounds = [(s.start_char, s.end_char) for s in doc.sents]
        documents.append(Document(text=doc.text, sentences=bounds, gold=gold, predicted=predicted))
    counts = mention_counts(documents, types.labels).counts.sum(axis=0)
    own = {n: float(m(counts)) for n, m in named_metrics(types.labels, types.tail).items()}
    per_type = {
        label: TypeScores(
            **{k: own[f"{n} of {label}"] for k, n in KINDS.items()}, support=int(counts[i, 2])
        )
        for i, label in enumerate(types.labels)
    }
    curve = [{"step": 100 * i, "ents_macro_f": own["macro F1"] * i / 10} for i in range(11)]
    return Evaluation(
        name=name,
        model=f"training/{name}-{seed}/model-best",
        data="corpus/test.spacy",
        labels=types.labels,
        tail=types.tail,
        training=TrainingSettings(seed=seed, max_steps=1000),
        curve=curve,
        performance={"ents_macro_f": own["macro F1"]},
        scores=Scores(**{key: own[f"{kind} F1"] for kind, key in KEYS.items()}, ents_per_type=per_type),
        words_per_second=10_000.0,
        documents=documents,
    )


def opened(page: Path) -> dict[str, float] | None:
    """Return the seconds until a browser has loaded the page and sorted its longest table."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(page.as_uri())
        load = time.perf_counter() - start
        script = """() => {
            const start = performance.now();
            document.querySelector("#reproduce th button").click();
            document.body.getBoundingClientRect();
            return performance.now() - start;
        }"""
        sort = tab.evaluate(script) / 1000
        browser.close()
    return {"load": round(load, 3), "sort": round(sort, 3)}


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")] = Path(
        "corpus/field_notes"
    ),
    methods: Annotated[int, typer.Option(help="Number of methods, including the baseline.")] = 50,
    seeds: Annotated[int, typer.Option(help="Number of seeds per method.")] = 10,
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = Path(__file__).parent
    / "results"
    / "report.jsonl",
) -> None:
    """Simulate the runs, make the report, open it, and append a record."""
    types = read_types(corpus)
    docs = load_docs(part_path(corpus, "test"), spacy.blank(types.lang))
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = []
        for method in tqdm(range(methods), unit="method"):
            found = {label: rng.random() for label in types.labels}
            for seed in range(seeds):
                run = invented(f"method-{method}" if method else "baseline", seed, docs, types, found)
                paths.append(folder / f"{method}-{seed}.json")
                write_evaluation(run, paths[-1])
        wall, cpu = time.perf_counter(), time.process_time()
        report = read_report(ConvertedCorpus(corpus).statistics, paths)
        target = folder / "report.html"
        write_report(report, target)
        record = {
            "name": "report",
            "corpus": corpus.name,
            "runs": len(paths),
            "documents": len(docs),
            "seconds": round(time.perf_counter() - wall, 2),
            "cpu_seconds": round(time.process_time() - cpu, 2),
            "kilobytes": target.stat().st_size // 1000,
            "browser": opened(target),
            "spacy_longtail": __version__,
            "numpy": version("numpy"),
        }
    typer.echo(json.dumps(record))
    with results.open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    typer.run(main)
