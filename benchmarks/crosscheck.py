"""Compare F1 and speed of longtail_token_ner on a transformer with plain transformers and torch.

Both train the same encoder on the same batches with the settings of a config of this project;
seqeval scores both on strict spans. Appends one JSON record per run, and skips runs with a record.
Run nothing else on the machine, and set OMP_NUM_THREADS=1.
"""

import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import torch
import typer
from plain_tagger import PlainTagger, PlainTrainer, Sentence, Settings
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from spacy.cli._util import setup_gpu
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_train_batches
from spacy.util import fix_random_seed, load_config, registry
from transformers import AutoConfig

from spacy_longtail.corpus.cutting import bare
from spacy_longtail.corpus.folder import load_docs, read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.studies.configs.recipes import make_config, read_recipes
from spacy_longtail.training.filling import training_overrides

ROOT = Path(__file__).parents[1]
POOLS: dict[str, Literal["mean", "first"]] = {"reduce_mean.v1": "mean", "reduce_first.v1": "first"}
SIDES = ("ours", "plain")
AVERAGES = ("micro", "macro")
KINDS = ("quality", "speed")
Job = tuple[str, str | None, int | None]  # kind, side, seed; speed is of both sides
PACKAGES = ("spacy-longtail", "spacy", "thinc", "spacy-transformers", "transformers", "torch")


class Task(NamedTuple):
    config: Path  # of this project, with a transformer and a softmax head
    corpus: Path  # a folder that `convert` wrote
    encoder: str
    steps: int
    words: int  # a batch, as the config's batcher counts them
    learn_rate: float  # of the encoder
    gpu_id: int = -1  # -1 is the CPU

    def overrides(self, seed: int) -> dict[str, Any]:
        return {
            "paths.transformer": self.encoder,
            "system.seed": seed,
            "training.max_steps": self.steps,
            "training.batcher.size": self.words,
            "training.optimizer.learn_rate.initial_rate": self.learn_rate,
        }

    def about(self) -> dict[str, Any]:
        """Return the settings for the record, which are the same for comparable runs."""
        encoder = AutoConfig.from_pretrained(self.encoder)
        optimizer = load_config(self.config, interpolate=False)["training"]["optimizer"]
        return {
            "corpus": self.corpus.name,
            "config": self.config.stem,
            "optimizer": optimizer["@optimizers"],  # of ours; plain has torch's AdamW
            "encoder": Path(self.encoder).name if Path(self.encoder).is_dir() else self.encoder,
            "layers": encoder.num_hidden_layers,
            "width": encoder.hidden_size,
            "steps": self.steps,
            "words": self.words,
            "learn_rate": self.learn_rate,
            "device": torch.cuda.get_device_name(self.gpu_id) if self.gpu_id >= 0 else "cpu",
        }


class Ours:
    """Pipeline of the config, trained in the same way as by `spacy train`."""

    def __init__(self, task: Task, seed: int) -> None:
        overrides = training_overrides(task.config, task.corpus, task.overrides(seed))
        self.nlp: Language = init_nlp(load_config(task.config, overrides=overrides), use_gpu=task.gpu_id)
        self.blocks = self.nlp.config.interpolate()
        self.training = registry.resolve(self.blocks["training"], schema=ConfigSchemaTraining)
        self.corpus = registry.resolve(self.blocks["corpora"])["train"]

    def batches(self, seed: int) -> Iterator[list[Example]]:
        """Yield batches without end, with a new order in each epoch."""
        fix_random_seed(seed)
        found = create_train_batches(self.nlp, self.corpus, self.training["batcher"], 0)
        return (batch for _, batch in found)

    def update(self, batch: list[Example]) -> float:
        losses: dict[str, float] = {}
        # with `sgd` here, the encoder would step before the gradient of its listener has come
        self.nlp.update(batch, sgd=False, drop=self.training["dropout"], losses=losses)
        for _, pipe in self.nlp.pipeline:
            pipe.finish_update(self.training["optimizer"])
        self.training["optimizer"].step_schedules()
        return losses["ner"]

    def predict(self, docs: list[Doc]) -> list[list[str]]:
        return [sentence(doc).tags for doc in self.nlp.pipe(docs)]


class Plain:
    """Tagger with the same encoder and settings in plain transformers and torch."""

    def __init__(self, task: Task, ours: Ours, seed: int) -> None:
        torch.manual_seed(seed)
        blocks = ours.blocks
        optimizer, encoder = blocks["training"]["optimizer"], blocks["components"]["tok2vec"]
        pooling = blocks["components"]["ner"]["model"]["tok2vec"]["pooling"]["@layers"]
        types = read_types(task.corpus).labels
        tags = ["O", *(f"{prefix}-{label}" for label in types for prefix in "BI")]
        self.model = PlainTagger(task.encoder, tags, POOLS[pooling])
        self.model.to(f"cuda:{task.gpu_id}" if task.gpu_id >= 0 else "cpu")
        settings = Settings(
            learn_rate=optimizer["learn_rate"]["initial_rate"],
            head_rate=blocks["components"]["ner"]["head_rate"],
            warmup_steps=optimizer["learn_rate"]["warmup_steps"],
            steps=optimizer["learn_rate"]["total_steps"],
            beta1=optimizer["beta1"],
            beta2=optimizer["beta2"],
            eps=optimizer["eps"],
            weight_decay=optimizer["L2"],
            clip=optimizer["grad_clip"],
        )
        self.trainer = PlainTrainer(self.model, settings)
        self.n_read, self.n_padded = blocks["nlp"]["batch_size"], encoder["max_batch_items"]

    def update(self, batch: list[Sentence]) -> float:
        return self.trainer.update(batch)

    def predict(self, docs: list[list[str]]) -> list[list[str]]:
        return self.model.predict(docs, self.n_read, self.n_padded)


def sentence(doc: Doc) -> Sentence:
    """Return the words and IOB2 tags of a document."""
    tags = [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]
    return Sentence([t.text for t in doc], tags)


def plain_batch(batch: list[Example]) -> list[Sentence]:
    return [sentence(eg.reference) for eg in batch]


def run_quality(task: Task, side: str, seed: int) -> dict[str, Any]:
    """Train one side, and score it on test after the last step.

    Both sides of a seed see the same batches, and draw the same dropout at equal padding.
    """
    ours = Ours(task, seed)
    docs = load_docs(part_path(task.corpus, "test"), ours.nlp)
    gold = [sentence(doc) for doc in docs]
    plain = Plain(task, ours, seed)
    batches = islice(ours.batches(seed), task.steps)
    if side == "ours":
        losses = [ours.update(batch) for batch in batches]
        found = ours.predict([bare(doc) for doc in docs])
    else:
        losses = [plain.update(plain_batch(batch)) for batch in batches]
        found = plain.predict([s.words for s in gold])
    wanted = [s.tags for s in gold]
    f = {a: float(f1_score(wanted, found, average=a, mode="strict", scheme=IOB2)) for a in AVERAGES}
    return {**f, "last_losses": statistics.mean(losses[-20:])}


def clock() -> tuple[float, float]:
    """Return the CPU time of this process and the wall time, in seconds."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.process_time(), time.perf_counter()


def alternate(ours: Callable[[], Any], plain: Callable[[], Any], runs: int) -> dict[str, Any]:
    """Return our speed relative to the plain tagger, as medians of ratios of consecutive runs."""
    seconds: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    work = dict(zip(SIDES, (ours, plain), strict=True))
    for i in range(runs + 1):
        for side in SIDES if i % 2 else SIDES[::-1]:
            gc.collect()
            start = clock()
            work[side]()
            used = [b - a for a, b in zip(start, clock(), strict=True)]
            if i:  # the first warms up
                seconds[side].append((used[0], used[1]))
    found: dict[str, Any] = {}
    for k, kind in enumerate(("cpu", "wall")):
        pairs = zip(seconds["plain"], seconds["ours"], strict=True)
        ratios = [a[k] / b[k] for a, b in pairs]
        found[kind] = {
            "ratio": statistics.median(ratios),
            "ratios": [round(r, 3) for r in ratios],
            **{side: round(statistics.median(s[k] for s in seconds[side]), 4) for side in SIDES},
        }
    return found


def run_speed(task: Task, runs: int, n_batches: int = 4, n_words: int = 5000) -> dict[str, Any]:
    """Train and predict alternately on the first batches of train and the first words of test."""
    ours = Ours(task, 0)
    plain = Plain(task, ours, 0)
    batches = list(islice(ours.batches(0), n_batches))
    same = [plain_batch(batch) for batch in batches]
    train = alternate(
        lambda: [ours.update(batch) for batch in batches],
        lambda: [plain.update(batch) for batch in same],
        runs,
    )
    docs = load_docs(part_path(task.corpus, "test"), ours.nlp)
    docs = docs[: next((n for n in range(len(docs)) if sum(map(len, docs[:n])) >= n_words), len(docs))]
    words = [sentence(doc).words for doc in docs]
    predict = alternate(lambda: list(ours.nlp.pipe(map(bare, docs))), lambda: plain.predict(words), runs)
    found = zip(SIDES, (ours.predict([bare(doc) for doc in docs]), plain.predict(words)), strict=True)
    return {
        "train": {"n_words": sum(len(s.words) for batch in same for s in batch), **train},
        "predict": {
            "n_words": sum(map(len, words)),
            "entities": {side: sum(t[0] == "B" for tags in all_ for t in tags) for side, all_ in found},
            **predict,
        },
    }


def read_records(results: Path, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records of this task."""
    lines = results.read_text(encoding="utf8").splitlines() if results.is_file() else []
    records = [json.loads(line) for line in lines]
    return [r for r in records if about.items() <= r.items()]


def append(results: Path, record: dict[str, Any]) -> None:
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    versions = {name: version(name) for name in PACKAGES}
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf8") as file:
        file.write(json.dumps({**record, **machine, **versions}) + "\n")


def print_quality(records: list[dict[str, Any]]) -> None:
    """Print the F1 of both sides, and whether their means differ less than seeds of a side."""
    for average in AVERAGES:
        values = {s: {r["seed"]: 100 * r[average] for r in records if r["side"] == s} for s in SIDES}
        seeds = sorted(values["ours"].keys() & values["plain"].keys())
        if len(seeds) < 2:
            return
        own, other = ([values[side][seed] for seed in seeds] for side in SIDES)
        gap = statistics.mean(own) - statistics.mean(other)
        spread = max(statistics.stdev(own), statistics.stdev(other))
        texts = (f"{statistics.mean(v):.1f} ± {statistics.stdev(v):.1f}" for v in (own, other))
        verdict = "within" if abs(gap) <= spread else "beyond"
        typer.echo(
            f"{average} F1 over {len(seeds)} seeds: ours {next(texts)}, plain {next(texts)}; "
            f"{gap:+.1f} is {verdict} the spread of seeds, {spread:.1f}"
        )


def print_speed(record: dict[str, Any]) -> None:
    for work in ("train", "predict"):
        found = record[work]
        for kind in ("cpu", "wall"):
            rates = [f"{side} {found['n_words'] / found[kind][side]:.0f}" for side in SIDES]
            ratio = found[kind]["ratio"]
            typer.echo(f"{work}, words per second of {kind} time: {', '.join(rates)}; {ratio:.2f}x")


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="A folder that `convert` wrote.")],
    encoder: Annotated[str, typer.Argument(help="Hub name or folder of a pretrained encoder.")],
    config: Annotated[
        Path | None, typer.Option(exists=True, help="Config of both sides; bert_softmax by default.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Training steps.")] = 300,
    seeds: Annotated[str, typer.Option(help="Random seeds, separated by commas.")] = "0,1,2",
    words: Annotated[int | None, typer.Option(help="Words per batch; the config's by default.")] = None,
    learn_rate: Annotated[
        float | None, typer.Option(help="Learning rate of the encoder; the config's by default.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Number of alternating runs per speed.")] = 7,
    only: Annotated[str, typer.Option(help="quality or speed; both by default.")] = "",
    gpu_id: Annotated[int, typer.Option(help="ID of a GPU; -1 for the CPU.")] = -1,
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/crosscheck.jsonl",
) -> None:
    """Run everything without a record, append the records, and print all."""
    if only not in ("", *KINDS):
        raise typer.BadParameter(f"--only is quality or speed, found {only!r}.")
    torch.set_num_threads(1)
    setup_gpu(gpu_id)
    plain = make_config(read_recipes()["bert_softmax"])
    training = (load_config(config, interpolate=False) if config else plain)["training"]
    words = words or training["batcher"]["size"]
    learn_rate = learn_rate or training["optimizer"]["learn_rate"]["initial_rate"]
    task = Task(config, corpus, encoder, steps, words, learn_rate, gpu_id)
    about = task.about()
    jobs: dict[Job, Callable[[], dict[str, Any]]] = {
        ("quality", side, seed): partial(run_quality, task, side, seed)
        for seed in map(int, seeds.split(","))
        for side in SIDES
    }
    jobs["speed", None, None] = partial(run_speed, task, runs)
    done = {(r["name"], r["side"], r["seed"]) for r in read_records(results, about)}
    for job, work in jobs.items():
        if only in ("", job[0]) and job not in done:
            append(results, {**dict(zip(("name", "side", "seed"), job, strict=True)), **about, **work()})
    records = read_records(results, about)
    print_quality([r for r in records if r["name"] == "quality"])
    for record in records:
        if record["name"] == "speed":
            print_speed(record)


if __name__ == "__main__":
    typer.run(main)
