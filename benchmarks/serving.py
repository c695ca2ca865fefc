"""Measure speed, latency, memory and load time of pipelines on a CPU, and the limits of the CPU.

    python benchmarks/serving.py CORPUS PIPELINES --transformer MINILM

The script trains the pipelines that PIPELINES lacks (a few minutes). Then it measures each system
once per round, in one process for each number of threads, and appends JSON records to
benchmarks/results/serving.jsonl. Run nothing else on the machine. `--only user` measures only one
text at a time, eight threads and batches. ONNX Runtime is included if onnx and onnxruntime are
installed.
"""

import gc
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc, DocBin

ROOT = Path(__file__).parents[1]
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SIX, THREE = "en_longtail_trf", "en_longtail_trf_small"
STEPS = {"baseline": 300, "pretrained_cnn": 200, "bert_ner": 60, "six": 40, "three": 40}
INT8 = " int8"
PLAIN = "plain transformers"
FEW = 1024  # subwords of a batch of the plain loops, the fastest of 512 to 4,096 here


def train(corpus: Path, pipelines: Path, transformer: str) -> None:
    """Train missing pipelines. Their weights change the number of entities but not the speed."""
    configs: dict[str, tuple[str, list[str]]] = {
        "baseline": ("baseline", []),
        "pretrained_cnn": ("pretrained_cnn", []),
        "bert_ner": ("bert_ner", ["--paths.transformer", transformer]),
        "six": ("transformer", ["--paths.pretrained", SIX]),
        "three": ("transformer", ["--paths.pretrained", THREE]),
    }
    for name, (config, given) in configs.items():
        if (pipelines / name / "model-best").exists():
            continue
        n_steps = str(STEPS[name])
        steps = ["--training.max_steps", n_steps, "--training.eval_frequency", n_steps]
        written, output = str(pipelines / f"{name}.cfg"), str(pipelines / name)
        for command in (
            ["init-config", config, "-o", written, "--force"],
            ["train", written, str(corpus), output, *given, *steps],
        ):
            subprocess.run([sys.executable, "-m", "spacy_longtail", *command], check=True)


def of_pipeline(folder: Path) -> Language:
    """Load a trained pipeline."""
    return spacy.load(folder / "model-best")


def systems(pipelines: Path) -> dict[str, Callable[[], Language]]:
    """Return a function for each spaCy system that loads it."""
    from spacy_longtail import use_int8, use_numpy_blas

    def load(name: str) -> Language:
        return of_pipeline(pipelines / name)

    return {
        "stock CNN ner": lambda: load("baseline"),
        "stock CNN ner, NumPy's BLAS": lambda: use_numpy_blas(load("baseline")),
        "our CNN": lambda: use_numpy_blas(load("pretrained_cnn")),
        "stock transformer ner, six layers": lambda: load("bert_ner"),
        "ours, six layers": lambda: load("six"),
        "ours, three layers": lambda: load("three"),
        "ours, six layers" + INT8: lambda: use_int8(load("six")),
        "ours, three layers" + INT8: lambda: use_int8(load("three")),
    }


class PlainLoop:
    """Token classification without spaCy: encodes words as subwords, sorts batches, selects tags.

    encoder (Callable): Function of IDs and mask, both NumPy arrays, that returns the states, shape
        (n_texts, n_subwords, width).
    """

    def __init__(self, encoder: Callable[..., np.ndarray], width: int, n_tags: int, tokenizer: Any):
        self.encoder, self.tokenizer = encoder, tokenizer
        self.weights = np.random.default_rng(0).normal(size=(width, n_tags)).astype("float32")

    def __call__(self, texts: list[list[str]]) -> list[np.ndarray]:
        found: dict[int, np.ndarray] = {}
        encodings = self.tokenizer.encode_batch(texts, is_pretokenized=True)
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        batch: list[int] = []
        for i in [*order, None]:
            full = i is None or len(encodings[i].ids) * (len(batch) + 1) > FEW
            if full and batch:
                longest = len(encodings[batch[-1]].ids)
                ids = np.zeros((len(batch), longest), dtype="int64")
                mask = np.zeros_like(ids)
                for row, j in enumerate(batch):
                    own = encodings[j].ids
                    ids[row, : len(own)], mask[row, : len(own)] = own, 1
                tags = (self.encoder(ids, mask) @ self.weights).argmax(axis=-1)
                found.update(zip(batch, tags, strict=True))
                batch = []
            if i is not None:
                batch.append(i)
        return [found[i] for i in range(len(texts))]


def plain_loops(pipelines: Path, n_threads: int) -> dict[str, PlainLoop]:
    """Return loops without spaCy over the encoders of our two transformers, in each precision."""
    import torch
    from torch.ao.quantization import quantize_dynamic

    from spacy_longtail.layers.windows import TRANSFORMER
    from spacy_longtail.models.transformer import encoder_of

    found = {}
    for layers, name in (("six", "six"), ("three", "three")):
        model = of_pipeline(pipelines / name).get_pipe("tok2vec").model
        module = encoder_of(next(node for node in model.walk() if node.name == TRANSFORMER)).eval()
        tokenizer, bert = module.tokenizer, module.encoder
        short = quantize_dynamic(bert, {torch.nn.Linear}, dtype=torch.qint8)

        def by_torch(own: Any) -> Callable[..., np.ndarray]:
            def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
                with torch.inference_mode():
                    given = {
                        "input_ids": torch.from_numpy(ids),
                        "attention_mask": torch.from_numpy(mask),
                    }
                    return own(**given).last_hidden_state.numpy()

            return run

        encoders = {"torch": by_torch(bert), "torch" + INT8: by_torch(short)}
        if all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
            encoders |= by_onnx(bert, n_threads)
        for kind, encoder in encoders.items():
            loop = PlainLoop(encoder, bert.config.hidden_size, 19, tokenizer)
            found[f"{PLAIN}, {layers} layers, {kind}"] = loop
    return found


def by_onnx(bert: Any, n_threads: int) -> dict[str, Callable[..., np.ndarray]]:
    """Return the encoder in ONNX Runtime with fused operators, in full precision and in int8."""
    import onnx
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    implementation = bert.config._attn_implementation
    bert.config._attn_implementation = "eager"
    folder = Path(tempfile.mkdtemp())
    given = (torch.ones((2, 9), dtype=torch.int64), torch.ones((2, 9), dtype=torch.int64))
    axes = {name: {0: "n_texts", 1: "n_subwords"} for name in ("ids", "mask", "states")}
    torch.onnx.export(
        States().eval(),
        given,
        str(folder / "plain.onnx"),
        input_names=["ids", "mask"],
        output_names=["states"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )
    bert.config._attn_implementation = implementation
    sizes = {"num_heads": bert.config.num_attention_heads, "hidden_size": bert.config.hidden_size}
    fused = optimizer.optimize_model(str(folder / "plain.onnx"), model_type="bert", **sizes)
    fused.save_model_to_file(str(folder / "full.onnx"))
    quantize_dynamic(
        folder / "full.onnx",
        folder / "int8.onnx",
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},  # fused operators have no shapes
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
    found = {}
    for kind, file in (("ONNX Runtime", "full"), ("ONNX Runtime" + INT8, "int8")):
        session = onnxruntime.InferenceSession(folder / f"{file}.onnx", options)

        def run(ids: np.ndarray, mask: np.ndarray, session: Any = session) -> np.ndarray:
            states: np.ndarray = session.run(None, {"ids": ids, "mask": mask})[0]
            return states

        found[kind] = run
    return found


def read(corpus: Path) -> list[list[str]]:
    """Return the words of each document in the test part."""
    docs = DocBin().from_disk(corpus / "test.spacy").get_docs(spacy.blank("en").vocab)
    return [[token.text for token in doc] for doc in docs]


def fresh(nlp: Language, texts: Iterable[list[str]]) -> list[Doc]:
    return [Doc(nlp.vocab, words=words) for words in texts]


def gemm_rate(n_threads: int) -> dict[str, float]:
    """Return the speed of the matrix multiplications of the layers, in GFLOP/s."""
    import torch

    def rate(work: Callable[[], Any], flops: float) -> float:
        work()
        best = min(timed(work) for _ in range(20))
        return flops / best / 1e9

    x, layer = torch.randn(FEW, 384), torch.nn.Linear(384, 1536)
    short = torch.ao.quantization.quantize_dynamic(
        torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8
    )
    flops = 2.0 * FEW * 384 * 1536
    with torch.inference_mode():
        return {"full": rate(lambda: layer(x), flops), "int8": rate(lambda: short(x), flops)}


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def throughput(corpus: Path, pipelines: Path, n_threads: int, rounds: int) -> list[dict[str, Any]]:
    """Measure the words per second of each system, in alternating rounds."""
    import torch

    torch.set_num_threads(n_threads)
    texts = read(corpus)
    n_words = sum(map(len, texts))
    works: dict[str, Callable[[], float]] = {}
    for name, ready in systems(pipelines).items():
        nlp = ready()

        def by_pipe(nlp: Language = nlp) -> float:
            docs = fresh(nlp, texts)
            return timed(lambda: list(nlp.pipe(docs, batch_size=256)))

        works[name] = by_pipe
    for name, loop in plain_loops(pipelines, n_threads).items():
        works[name] = lambda loop=loop: timed(lambda: loop(texts))
    times: dict[str, list[float]] = {name: [] for name in works}
    for i in range(rounds + 1):
        for name, work in works.items():
            gc.collect()
            seconds = work()
            if i:  # the first warms up
                times[name].append(seconds)
    stock = times["stock CNN ner"]
    found = [
        {
            "name": name,
            "words_per_second": round(n_words / min(own)),
            "times_stock": round(statistics.median(a / b for a, b in zip(stock, own, strict=True)), 3),
        }
        for name, own in times.items()
    ]
    tokenizer = of_pipeline(pipelines / "six").get_pipe("tok2vec").model
    n_pieces = pieces_per_word(tokenizer, texts)
    for kind, rate in gemm_rate(n_threads).items():
        for layers, n_layers in (("six", 6), ("three", 3)):
            flops = 2 * n_layers * (4 * 384**2 + 2 * 384 * 1536) * n_pieces
            limit = {"name": f"limit, {layers} layers, {kind}", "gflops": round(rate)}
            found.append({**limit, "words_per_second": round(rate * 1e9 / flops)})
    return [{**record, "threads": n_threads, "words": n_words} for record in found]


def pieces_per_word(model: Any, texts: list[list[str]]) -> float:
    from spacy_longtail.layers.windows import TRANSFORMER
    from spacy_longtail.models.transformer import encoder_of

    tokenizer = encoder_of(next(node for node in model.walk() if node.name == TRANSFORMER)).tokenizer
    encodings = tokenizer.encode_batch(texts, is_pretokenized=True)
    return sum(len(e.ids) for e in encodings) / sum(map(len, texts))


def memory() -> float:
    """Return the peak memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def probe(corpus: Path, pipelines: Path, name: str) -> dict[str, Any]:
    """Measure load time, first document, latency of single texts, eight threads and peak memory."""
    import torch

    torch.set_num_threads(1)
    texts = [" ".join(words) for words in read(corpus)]
    before = memory()
    nlp: Any = None

    def load() -> None:
        nonlocal nlp
        nlp = systems(pipelines)[name]()

    found: dict[str, Any] = {"load_s": round(timed(load), 2)}
    found["first_ms"] = round(timed(lambda: nlp(texts[0])) * 1e3, 1)
    latencies = [timed(lambda text=text: nlp(text)) * 1e3 for text in texts[1:301]]
    for share in (50, 95):
        found[f"p{share}_ms"] = round(float(np.percentile(latencies, share)), 1)
    wanted = [[(e.text, e.label_) for e in nlp(text).ents] for text in texts[:300]]
    if not name.startswith("stock transformer"):  # those of spacy-transformers are not safe in threads
        with ThreadPoolExecutor(8) as pool:
            start = time.perf_counter()
            docs = list(pool.map(nlp, texts[:300]))
            found["eight_threads_texts_per_second"] = round(300 / (time.perf_counter() - start), 1)
        if [[(e.text, e.label_) for e in doc.ents] for doc in docs] != wanted:
            raise ValueError(f"{name}: eight threads find something else than one")
    list(nlp.pipe(texts, batch_size=256))
    found["peak_mib"] = round(memory())
    found["peak_mib_over_imports"] = round(memory() - before)
    return {"name": name, "part": "serving", **found}


def ways_to_serve(corpus: Path, pipelines: Path, rounds: int) -> list[dict[str, Any]]:
    """Texts per second one at a time, by eight threads and in batches, over those of stock `ner`.

    The systems take turns, and every ratio has the same definition: the median over rounds of a
    system's texts per second over those of stock `ner` as `spacy.load` loads it, in the same round.
    """
    from spacy_longtail import use_numpy_blas

    texts = [" ".join(words) for words in read(corpus)][:300]
    folders = {"stock CNN ner": "baseline", "our CNN": "pretrained_cnn"}
    loaded = {name: of_pipeline(pipelines / folder) for name, folder in folders.items()}
    for name, folder in folders.items():
        loaded[f"{name}, NumPy's BLAS"] = use_numpy_blas(of_pipeline(pipelines / folder))
    pool = ThreadPoolExecutor(8)
    ways: dict[str, Callable[[Language], object]] = {
        "one text at a time": lambda nlp: [nlp(text) for text in texts],
        "eight threads": lambda nlp: list(pool.map(nlp, texts)),
        "batches": lambda nlp: list(nlp.pipe(texts, batch_size=256)),
    }
    found = []
    for way, serve in ways.items():
        rates: dict[str, list[float]] = {name: [] for name in loaded}
        for i in range(rounds + 1):
            for name, nlp in loaded.items():
                gc.collect()
                seconds = timed(lambda serve=serve, nlp=nlp: serve(nlp))
                if i:  # the first warms up
                    rates[name].append(len(texts) / seconds)
        for name, own in rates.items():
            ratios = [a / b for a, b in zip(own, rates["stock CNN ner"], strict=True)]
            rate = round(statistics.median(own), 1)
            ratio = round(statistics.median(ratios), 3)
            found.append({"name": name, "part": "user", "way": way, "texts_per_second": rate})
            found[-1]["times_stock"] = ratio
    pool.shutdown()
    threads = {name: os.environ.get(f"{name}_NUM_THREADS") for name in ("OMP", "OPENBLAS")}
    return [{**record, "num_threads": threads} for record in found]


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")],
    pipelines: Annotated[Path, typer.Argument(help="Folder for the trained pipelines.")],
    transformer: Annotated[str, typer.Option(help="MiniLM, as a hub name or a folder.")] = MINILM,
    threads: Annotated[list[int], typer.Option(help="Numbers of threads; repeatable.")] = [1, 2],  # noqa: B006
    rounds: Annotated[int, typer.Option(help="Number of rounds after the first.")] = 5,
    only: Annotated[
        str,
        typer.Option(help="user: only one text at a time, threads and batches, of trained pipelines."),
    ] = "",
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/serving.jsonl",
) -> None:
    """Measure everything, and append the records."""
    warnings.simplefilter("ignore")
    if only == "user":
        records = ways_to_serve(corpus, pipelines, rounds)
    elif only.isdigit():
        records = throughput(corpus, pipelines, int(only), rounds)
    elif only:
        records = [probe(corpus, pipelines, only)]
    else:
        train(corpus, pipelines, transformer)
        for own in [*map(str, threads), "user", *systems(pipelines)]:
            n = own if own.isdigit() else "1"
            given = [str(corpus), str(pipelines), "--only", own, "--rounds", str(rounds)]
            variables = {f"{name}_NUM_THREADS": n for name in ("OMP", "OPENBLAS", "MKL")}
            command = [sys.executable, __file__, *given, "--results", str(results)]
            subprocess.run(command, check=True, env={**os.environ, **variables})
        return
    about = {"corpus": corpus.name, "python": platform.python_version(), "cores": os.cpu_count()}
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf8") as file:
        for record in records:
            file.write(json.dumps({**record, **about}) + "\n")
            typer.echo(json.dumps(record))


if __name__ == "__main__":
    typer.run(main)
