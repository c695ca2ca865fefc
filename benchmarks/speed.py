"""Measure speed relative to stock spaCy, in alternating runs of one process.

Appends one JSON record per benchmark to benchmarks/results/speed.jsonl. Run nothing else on the
machine.
"""

import gc
import json
import os
import platform
import statistics
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import thinc
import typer
from spacy.language import Language
from spacy.ml.models import MaxoutWindowEncoder, MultiHashEmbed
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus, Example
from spacy.training.initialize import init_nlp
from spacy.util import fix_random_seed, load_model_from_config, minibatch
from thinc.api import Config, Optimizer, chain, with_array

from spacy_longtail import __version__, convert_ner, use_numpy_blas
from spacy_longtail.chains.packing import viterbi
from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.corpus.examples import keep_types
from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.heads.crf import marginal_loss
from spacy_longtail.losses import CrossEntropy
from spacy_longtail.models.rich_embed import RichEmbed
from spacy_longtail.pipes.gate.sentence_gate import DEFAULT_GATE_MODEL
from spacy_longtail.pipes.token.tagging import DEFAULT_TOKEN_MODEL
from spacy_longtail.readers import ResampledCorpus, sentences
from spacy_longtail.readers.repeats import sCR
from spacy_longtail.studies.configs.recipes import make_config, read_recipes

ROOT = Path(__file__).parents[1]
LOSS = {"@losses": "longtail.MoM.v1", "lam": 0.3, "base": {"@losses": "longtail.Focal.v1"}}


def seconds(work: Callable[..., Any], *given: Any) -> float:
    """Return the CPU time of a call in seconds, because shared cores make wall time noisy."""
    gc.collect()
    start = time.process_time()
    work(*given)
    return time.process_time() - start


def alternate(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    runs: int,
    prepare: Callable[[], Any] | None = None,
) -> dict[str, Any]:
    """Speed of ours over theirs: the median over runs of the ratio of neighbouring times, and the
    ratio of the shortest times, which others on the machine have disturbed least.

    What `prepare` returns is handed to the work, made anew each time and not counted.
    """

    def given() -> tuple[Any, ...]:
        return () if prepare is None else (prepare(),)

    theirs(*given())
    ours(*given())  # both warm
    found: list[dict[Callable[..., Any], float]] = []
    for i in range(runs):
        pair = (ours, theirs) if i % 2 else (theirs, ours)
        found.append({work: seconds(work, *given()) for work in pair})
    ratios = [times[theirs] / times[ours] for times in found]
    shortest = min(times[theirs] for times in found) / min(times[ours] for times in found)
    return {
        "ratio": statistics.median(ratios),
        "ratio_of_shortest": shortest,
        "ratios": [round(r, 4) for r in ratios],
    }


def texts(examples: list[Example]) -> list[str]:
    return [eg.reference.text for eg in examples]


def stock_and_ours(examples: list[Example]) -> tuple[Language, Language]:
    """Return stock `ner` after some training, and a longtail_ner with the same weights."""
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


def of_length(nlp: Language, examples: list[Example], n_words: int, total: int) -> list[Example]:
    """Cut the text of the corpus into documents of n_words words, with `total` words in all."""
    words, spans = [], []
    for eg in examples:
        for sent in eg.reference.sents:
            spans += [(e.start + len(words), e.end + len(words), e.label_) for e in sent.as_doc().ents]
            words += [t.text for t in sent]
    found = []
    for start in range(0, min(total, len(words) - n_words), n_words):
        own = words[start : start + n_words]
        reference = Doc(nlp.vocab, words=own)
        inside = [(a - start, b - start, t) for a, b, t in spans if start <= a and b <= start + len(own)]
        reference.set_ents([Span(reference, a, b, label=t) for a, b, t in inside])
        found.append(Example(Doc(nlp.vocab, words=own), reference))
    return found


def bench_token_ner(examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    """Compare each head with stock `ner` over the same encoder, in training and prediction."""
    for n_words in (16, 200):
        data = of_length(spacy.blank("en"), examples, n_words, 8000)
        pipes = {}
        for name, factory, config in (
            ("stock", "ner", {}),
            ("softmax", "longtail_token_ner", {}),
            ("crf", "longtail_token_ner", {"head": "crf"}),
            ("two_task", "longtail_token_ner", {"head": "two_task"}),
        ):
            fix_random_seed(0)
            nlp = spacy.blank("en")
            nlp.add_pipe(factory, name="ner", config=config)
            optimizer = nlp.initialize(lambda data=data: data)
            for batch in list(minibatch(data, 1000 // n_words)) * 8:  # enough to predict entities
                nlp.update(batch, sgd=optimizer)
            optimizer.learn_rate = 1e-6  # the states that are visited stay alike
            pipes[name] = (nlp, optimizer)
        n_found = {k: sum(len(d.ents) for d in v[0].pipe(fresh(data))) for k, v in pipes.items()}

        def train(name: str, pipes: dict[str, Any] = pipes, data: list[Example] = data) -> Callable:
            nlp, optimizer = pipes[name]
            batches = list(minibatch(data, max(1000 // len(data[0].reference), 1)))
            return lambda: [nlp.update(batch, sgd=optimizer, drop=0.2) for batch in batches]

        def predict(name: str, pipes: dict[str, Any] = pipes) -> Callable:
            return lambda docs: list(pipes[name][0].pipe(docs))

        for head in ("softmax", "crf", "two_task"):
            about = {"words": sum(len(eg.reference) for eg in data), "entities": n_found}
            name = f"longtail_token_ner {head}, documents of {n_words} words"
            result = alternate(train(head), train("stock"), runs)
            yield {"name": f"train {name}", **about, **result}
            result = alternate(predict(head), predict("stock"), runs, lambda data=data: fresh(data))
            yield {"name": f"predict {name}", **about, **result}


def bench_mrc(examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    """Prediction of longtail_mrc_ner against longtail_token_ner, by types, on an encoder wide
    enough to see the query from every token."""
    encoder = {**DEFAULT_TOKEN_MODEL["tok2vec"], "depth": 2, "window_size": 10}
    everything = of_length(spacy.blank("en"), examples, 16, 2000)
    known = [label for label, _ in Counter(e.label_ for g in everything for e in g.y.ents).most_common()]
    for n_types in (3, 8):
        labels = known[:n_types]
        data = [keep_types(eg, labels) for eg in everything]
        pipes = []
        for factory, architecture, settings in (
            ("longtail_token_ner", "longtail.TokenClassifier.v1", {}),
            ("longtail_mrc_ner", "longtail.MRC.v1", {"queries": {t: f"spans of {t}" for t in labels}}),
        ):
            fix_random_seed(0)
            nlp = spacy.blank("en")
            model = {"@architectures": architecture, "tok2vec": encoder}
            nlp.add_pipe(factory, name="ner", config={"model": model, **settings})
            optimizer = nlp.initialize(lambda data=data: data)
            optimizer.learn_rate = 0.01
            for batch in list(minibatch(data, 12)) * 8:  # enough to predict entities
                nlp.update(batch, sgd=optimizer)
            pipes.append(nlp)
        theirs, ours = ((lambda docs, nlp=nlp: list(nlp.pipe(docs))) for nlp in pipes)
        yield {
            "name": f"predict longtail_mrc_ner, {n_types} types, documents of 16 words",
            "words": sum(len(eg.reference) for eg in data),
            "types": n_types,
            "entities": [sum(len(d.ents) for d in nlp.pipe(fresh(data))) for nlp in pipes],
            **alternate(ours, theirs, runs, lambda data=data: fresh(data)),
        }


def bench_embed(examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    """longtail.RichEmbed.v1 against spaCy's MultiHashEmbed, alone and below a CNN."""
    docs = [eg.reference for eg in examples]
    about = {"words": sum(map(len, docs))}
    batches = [list(batch) for batch in minibatch(docs, 128)]

    def work(model: Any) -> Callable[[], None]:
        model.initialize(X=docs[:10])
        return lambda: [model.predict(batch) for batch in batches][:0]

    embeds = (
        RichEmbed(subwords="en_longtail_cnn"),
        MultiHashEmbed(96, ["NORM", "PREFIX", "SUFFIX", "SHAPE"], [2000, 1000, 1000, 1000], False),
    )
    name = "longtail.RichEmbed.v1 with subwords"
    yield {"name": name, **about, **alternate(*map(work, embeds), runs)}
    encode = [chain(embed, with_array(MaxoutWindowEncoder(96, 1, 3, 4))) for embed in embeds]
    name = f"{name}, below a CNN of 4 layers"
    yield {"name": name, **about, **alternate(*map(work, encode), runs)}


def recipe(name: str, path: Path, examples: list[Example]) -> tuple[Language, Optimizer]:
    """Return the pipeline of a config after some training."""
    fix_random_seed(0)
    paths = {"paths.train": str(path), "paths.dev": str(path)}
    config = Config().from_str(
        make_config(read_recipes()[name]).to_str(interpolate=False), overrides=paths
    )
    nlp = init_nlp(config)
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.003
    for batch in list(minibatch(examples, 8)) * 8:  # enough to predict entities
        nlp.update(batch, sgd=optimizer)
    return nlp, optimizer


def bench_numpy_blas(path: Path, examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    """Compare NumPy's matrix multiplication with spaCy's. Set one thread for both."""
    n_words = sum(len(eg.reference) for eg in examples)
    batches = list(minibatch(examples[:48], 8))
    for name in ("baseline", "pretrained_cnn"):
        pairs = [recipe(name, path, examples) for _ in range(2)]
        use_numpy_blas(pairs[0][0])
        ours, theirs = (lambda docs, nlp=nlp: list(nlp.pipe(docs)) for nlp, _ in pairs)
        found = alternate(ours, theirs, runs, lambda: fresh(examples))
        yield {"name": f"predict with configs/{name}.cfg, NumPy's BLAS", "words": n_words, **found}
        for _, optimizer in pairs:
            optimizer.learn_rate = 1e-6
        ours, theirs = (
            lambda nlp=nlp, own=own: [nlp.update(batch, sgd=own, drop=0.2) for batch in batches]
            for nlp, own in pairs
        )
        found = alternate(ours, theirs, runs)
        words = sum(len(eg.reference) for batch in batches for eg in batch)
        yield {"name": f"train configs/{name}.cfg, NumPy's BLAS", "words": words, **found}


def bench_recipes(path: Path, examples: list[Example], runs: int) -> Iterator[dict[str, Any]]:
    """Compare the pipelines of `weasel run all`, after some training, with stock `ner`."""
    pipes = [recipe(name, path, examples)[0] for name in ("pretrained_cnn", "baseline")]
    n_found = [sum(len(doc.ents) for doc in nlp.pipe(fresh(examples))) for nlp in pipes]
    about = {"words": sum(len(eg.reference) for eg in examples), "entities": n_found}
    both = [lambda docs, nlp=nlp: list(nlp.pipe(docs)) for nlp in pipes]
    result = alternate(*both, runs, lambda: fresh(examples))
    yield {"name": "predict with configs/pretrained_cnn.cfg", **about, **result}


def fresh(examples: list[Example]) -> list[Doc]:
    return [eg.predicted.copy() for eg in examples]


def bench_chain_memory() -> Iterator[dict[str, Any]]:
    """Peak memory of CRF batches by tokens: training, with one long document beside many short
    ones, and prediction over many short sentences."""
    rng = np.random.default_rng(0)
    legality = TagCodec(tuple("ABCDEFGH"), "BIO").legality()
    n_tags = len(legality.start)

    def train(n_tokens: int) -> Callable[[], Any]:
        lengths = np.array([n_tokens // 2] + [16] * (n_tokens // 32))
        scores = rng.normal(size=(lengths.sum(), n_tags)).astype("float32")
        tags, weights = np.zeros(len(scores), dtype="int64"), np.ones(len(scores))
        return lambda: marginal_loss(CrossEntropy(), scores, tags, weights, lengths, legality)

    def predict(n_tokens: int) -> Callable[[], Any]:
        scores = rng.normal(size=(n_tokens, n_tags)).astype("float32")
        return lambda: viterbi(scores, np.full(n_tokens // 5, 5), legality)

    for name, make, sizes in (
        ("training", train, (4000, 8000, 16000, 32000)),
        ("prediction", predict, (25000, 50000, 100000, 200000)),
    ):
        peaks = {}
        for n_tokens in sizes:
            work = make(n_tokens)
            tracemalloc.start()
            work()
            peaks[n_tokens] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        per_token = {n: round(peak / n) for n, peak in peaks.items()}
        ratio = per_token[sizes[0]] / per_token[sizes[-1]]
        yield {"name": f"memory of a CRF batch in {name}", "bytes_per_token": per_token, "ratio": ratio}


def bench_reader(path: Path, runs: int) -> Iterator[dict[str, Any]]:
    nlp = spacy.blank("en")
    with tempfile.TemporaryDirectory() as folder:
        docs = load_docs(path, nlp)
        DocBin(docs=[s.as_doc() for d in docs for s in d.sents]).to_disk(Path(folder) / "s.spacy")
        for name, source in (
            ("documents of one sentence", Path(folder) / "s.spacy"),
            ("sentences of documents", path),
        ):
            corpus = Corpus(source)
            n_units = sum(1 for _ in sentences(nlp, corpus(nlp)))
            reader = ResampledCorpus(corpus, sCR(cap=1), join=1)
            counting = seconds(lambda reader=reader: reader(nlp).__next__())
            same = alternate(
                lambda r=reader: sum(1 for _ in r(nlp)),
                lambda c=corpus: sum(1 for _ in sentences(nlp, c(nlp))),
                runs,
            )
            yield {
                "name": f"read {name}, each once",
                "units": n_units,
                "counting_s": round(counting, 3),
                **same,
            }
            copies = ResampledCorpus(corpus, sCR(), join=1)
            n_copies = sum(1 for _ in copies(nlp))
            plain = alternate(
                lambda r=copies: sum(1 for _ in r(nlp)),
                lambda c=corpus: sum(1 for _ in sentences(nlp, c(nlp))),
                runs,
            )
            plain["ratio_per_yielded"] = plain["ratio"] * n_copies / n_units
            yield {"name": f"read {name}, with copies", "units": n_units, "yielded": n_copies, **plain}


@contextmanager
def only(nlp: Language, names: list[str]) -> Iterator[None]:
    with nlp.select_pipes(enable=names):
        yield


PRIMARY = ["tok2vec", "ner"]
WITH_GATE = [*PRIMARY, "sentencizer", "gate"]
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
OWN = DEFAULT_GATE_MODEL["tok2vec"]
GATED = {  # where gate and secondary of the config gated_token take their words from
    "a shared gate, a secondary of its own": {},
    "encoders of their own": {"components.gate.model.tok2vec": OWN},
    "one shared encoder": {"components.weak_ner.model.tok2vec": LISTENER},
}


def gated_pipeline(path: Path, examples: list[Example], share: float, overrides: dict) -> Language:
    """Return gated_token after some training, with a gate that flags `share` of the sentences."""
    fix_random_seed(0)
    paths = {"paths.train": str(path), "paths.dev": str(path)}
    text = make_config(read_recipes()["gated_token"]).to_str(interpolate=False)
    config = Config().from_str(text, overrides={**paths, **overrides})
    nlp = load_model_from_config(config, auto_fill=True)
    optimizer = nlp.initialize(lambda: examples)
    for batch in list(minibatch(examples, 8)) * 6:
        nlp.update(batch, sgd=optimizer, annotates=["sentencizer"])
    gate: Any = nlp.get_pipe("gate")
    gate.cfg["threshold"] = 0.0
    docs = nlp.pipe(texts(examples))
    scores = [s for doc in docs for s in doc.spans["weak_sentences"].attrs["scores"]]
    gate.cfg["threshold"] = float(np.quantile(scores, 1 - share))
    return nlp


def bench_gate(path: Path, examples: list[Example], runs: int, share: float) -> Iterator[dict[str, Any]]:
    """Measure the cost of gate and secondary relative to the primary."""
    data = texts(examples)
    for encoders, overrides in GATED.items():
        nlp = gated_pipeline(path, examples, share, overrides)
        everything = nlp.pipe_names
        found = list(nlp.pipe(data))
        n_sentences = sum(len(list(doc.sents)) for doc in found)
        flagged = sum(len(doc.spans["weak_sentences"]) for doc in found) / n_sentences

        def work(names: list[str], nlp: Language = nlp) -> Callable[[], None]:
            def run() -> None:
                with only(nlp, names):
                    list(nlp.pipe(data))

            return run

        for what, ours, theirs in (
            ("gate and secondary, against the primary", everything, PRIMARY),
            ("secondary, against primary and gate", everything, WITH_GATE),
            ("gate, against the primary", WITH_GATE, PRIMARY),
        ):
            result = alternate(work(ours), work(theirs), runs)
            name = f"predict with {encoders}: {what}"
            yield {"name": name, "flagged": round(flagged, 4), **result}


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")] = Path(
        "corpus/field_notes"
    ),
    runs: Annotated[int, typer.Option(help="Number of alternating runs per pair.")] = 9,
    share: Annotated[float, typer.Option(help="Fraction of the sentences that the gate flags.")] = 0.02,
    only_these: Annotated[
        str,
        typer.Option(
            "--only",
            help="Only these: ner, token_ner, memory, reader, gate, mrc, embed, recipes, blas.",
        ),
    ] = "",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/speed.jsonl",
) -> None:
    """Measure everything, and append the records."""
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
    benches = {
        "ner": lambda: bench_ner(examples, runs),
        "token_ner": lambda: bench_token_ner(examples, runs),
        "memory": bench_chain_memory,
        "reader": lambda: bench_reader(path, runs),
        "gate": lambda: bench_gate(path, examples, runs, share),
        "mrc": lambda: bench_mrc(examples, runs),
        "embed": lambda: bench_embed(examples, runs),
        "recipes": lambda: bench_recipes(path, examples, runs),
        "blas": lambda: bench_numpy_blas(path, examples, runs),
    }
    wanted = only_these.split(",") if only_these else list(benches)
    records = [record for name in wanted for record in benches[name]()]
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
