"""Speed as ratios to stock spaCy, measured in one run by alternating the two. Run it alone.

Appends one JSON record a benchmark to benchmarks/results/speed.jsonl.
"""

import gc
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import thinc
import typer
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Corpus, Example
from spacy.util import fix_random_seed, load_config, load_model_from_config, minibatch

from spacy_longtail import __version__, convert_ner
from spacy_longtail.corpora import load_docs
from spacy_longtail.readers import ResampledCorpus, units
from spacy_longtail.repeats import sCR

ROOT = Path(__file__).parents[1]
LOSS = {"@losses": "longtail.MoM.v1", "lam": 0.3, "base": {"@losses": "longtail.Focal.v1"}}


def seconds(work: Callable[[], Any]) -> float:
    """CPU time of this process: the work has one thread, and shared cores make wall time noisy."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def alternate(ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> dict[str, Any]:
    """Speed of ours over theirs: the median over runs of the ratio of neighbouring times."""
    theirs()
    ours()  # both warm
    ratios = []
    for i in range(runs):
        pair = (ours, theirs) if i % 2 else (theirs, ours)
        times = {work: seconds(work) for work in pair}
        ratios.append(times[theirs] / times[ours])
    return {"ratio": statistics.median(ratios), "ratios": [round(r, 4) for r in ratios]}


def texts(examples: list[Example]) -> list[str]:
    return [eg.reference.text for eg in examples]


def stock_and_ours(examples: list[Example]) -> tuple[Language, Language]:
    """Stock `ner` after some training, and a longtail_ner with the same weights."""
    found = []
    for _ in range(2):
        fix_random_seed(0)
        nlp = spacy.blank("en")
        nlp.add_pipe("ner")
        optimizer = nlp.initialize(lambda: examples)
        for batch in list(minibatch(examples, 8)) * 6:  # enough to predict entities
            nlp.update(batch, sgd=optimizer)
        found.append(nlp)
    convert_ner(found[1], "ner", {"loss": LOSS})
    return found[0], found[1]


def bench_ner(examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    stock, ours = stock_and_ours(examples)
    batches = list(minibatch(examples[:48], 8))

    def train(nlp: Language) -> Callable[[], None]:
        optimizer = nlp.resume_training()
        optimizer.learn_rate = 1e-6  # the states that are visited stay alike

        def work() -> None:
            for batch in batches:
                nlp.update(batch, sgd=optimizer, drop=0.2)

        return work

    n_words = sum(len(eg.reference) for batch in batches for eg in batch)
    yield {"name": "train longtail_ner", "words": n_words, **alternate(train(ours), train(stock), runs)}
    data = texts(examples)
    ours.get_pipe("ner").from_bytes(stock.get_pipe("ner").to_bytes(exclude=["vocab"]), exclude=["vocab"])
    for name in ("predict longtail_ner", "predict longtail_ner with entity scores"):
        ours.get_pipe("ner").cfg["scores_key"] = "entity_scores" if "scores" in name else None
        result = alternate(lambda: list(ours.pipe(data)), lambda: list(stock.pipe(data)), runs)
        yield {"name": name, "words": sum(len(eg.reference) for eg in examples), **result}


def bench_reader(path: Path, runs: int) -> Iterator[dict[str, Any]]:
    nlp = spacy.blank("en")
    with tempfile.TemporaryDirectory() as folder:
        docs = load_docs(path, nlp)
        DocBin(docs=[s.as_doc() for d in docs for s in d.sents]).to_disk(Path(folder) / "s.spacy")
        for name, source, unit in (
            ("documents of one sentence", Path(folder) / "s.spacy", "doc"),
            ("sentences of documents", path, "sentence"),
        ):
            corpus = Corpus(source)
            n_units = sum(1 for _ in units(corpus(nlp), unit))
            reader = ResampledCorpus(corpus, sCR(cap=1), unit=unit, join=1)
            counting = seconds(lambda reader=reader: reader(nlp).__next__())
            same = alternate(
                lambda r=reader: sum(1 for _ in r(nlp)),
                lambda c=corpus, u=unit: sum(1 for _ in units(c(nlp), u)),
                runs,
            )
            yield {
                "name": f"read {name}, each once",
                "units": n_units,
                "counting_s": round(counting, 3),
                **same,
            }
            copies = ResampledCorpus(corpus, sCR(), unit=unit, join=1)
            n_copies = sum(1 for _ in copies(nlp))
            plain = alternate(
                lambda r=copies: sum(1 for _ in r(nlp)),
                lambda c=corpus, u=unit: sum(1 for _ in units(c(nlp), u)),
                runs,
            )
            plain["ratio_per_yielded"] = plain["ratio"] * n_copies / n_units
            yield {"name": f"read {name}, with copies", "units": n_units, "yielded": n_copies, **plain}


@contextmanager
def only(nlp: Language, names: list[str]) -> Iterator[None]:
    with nlp.select_pipes(enable=names):
        yield


def bench_gate(path: Path, examples: list[Example], runs: int, share: float) -> dict[str, Any]:
    """configs/config.cfg against its own tok2vec and ner, the gate open for `share` of the sentences."""
    fix_random_seed(0)
    config = load_config(
        ROOT / "configs" / "config.cfg", overrides={"paths.train": str(path), "paths.dev": str(path)}
    )
    nlp = load_model_from_config(config, auto_fill=True)
    optimizer = nlp.initialize(lambda: examples)
    for batch in list(minibatch(examples, 8)) * 6:
        nlp.update(batch, sgd=optimizer, annotates=["sentencizer"])
    data = texts(examples)
    gate = nlp.get_pipe("gate")
    gate.cfg["threshold"] = 0.0
    scores = [s for doc in nlp.pipe(data) for s in doc.spans["weak_sentences"].attrs["scores"]]
    gate.cfg["threshold"] = float(np.quantile(scores, 1 - share))

    def primary() -> None:
        with only(nlp, ["tok2vec", "ner"]):
            list(nlp.pipe(data))

    flagged = sum(len(doc.spans["weak_sentences"]) for doc in nlp.pipe(data)) / len(scores)
    result = alternate(lambda: list(nlp.pipe(data)), primary, runs)
    return {"name": "predict gated pipeline", "flagged": round(flagged, 4), **result}


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")] = Path(
        "corpus/field_notes"
    ),
    runs: Annotated[int, typer.Option(help="Alternating runs of each pair.")] = 9,
    share: Annotated[float, typer.Option(help="Share of sentences that the gate flags.")] = 0.05,
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = ROOT
    / "benchmarks/results/speed.jsonl",
) -> None:
    """Measure everything and append the records."""
    path = corpus / "train.spacy"
    nlp = spacy.blank("en")
    examples = list(Corpus(path)(nlp))
    about = {
        "corpus": corpus.name,
        "runs": runs,
        "python": platform.python_version(),
        "spacy": spacy.__version__,
        "thinc": thinc.__version__,
        "spacy_longtail": __version__,
        "cores": os.cpu_count(),
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    records = [
        *bench_ner(examples, runs),
        *bench_reader(path, runs),
        bench_gate(path, examples, runs, share),
    ]
    with results.open("a", encoding="utf8") as file:
        for record in records:
            file.write(json.dumps({**record, **about}) + "\n")
            typer.echo(
                f"{record['name']}: {record['ratio']:.3f}x"
                + (
                    f", {record['ratio_per_yielded']:.2f}x an example"
                    if "ratio_per_yielded" in record
                    else ""
                )
            )


if __name__ == "__main__":
    typer.run(main)
