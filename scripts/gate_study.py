"""What gate, merge rule and thresholds do to models that a matrix kept: scores on test, and cost.

Every model is scored as it was trained ("raw"), and with calibration and thresholds chosen on dev
("fitted"). A model with a gate is scored with each merge rule, behind its own gate and, raw, behind
an "oracle" of the sentences that hold a rare type (no gate is better), and a gate always open.
"""

import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import spacy
import typer
from spacy.language import Language
from spacy.tokens import Span, SpanGroup
from spacy.training import Corpus, Example
from tqdm import tqdm

from spacy_longtail.corpus.examples import flagged_sentences, predict_examples
from spacy_longtail.corpus.folder import read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.thresholds import fit_thresholds
from spacy_longtail.pipes.scores.chosen import Goal
from spacy_longtail.scorers import make_ner_scorer

RULES = ("span", "token", "fill")
RUNS = 3  # timed runs of each, alternating


class Trained(NamedTuple):
    """A model of a finished trial."""

    seed: int
    method: str
    trial: str  # its content key
    model: Path


def read_trained(folder: Path, corpus: str, seeds: str | None) -> list[Trained]:
    """The models that `matrix --keep-models` left of its trials on a corpus, seed by seed."""
    wanted = None if seeds is None else {int(seed) for seed in seeds.split(",")}
    found: dict[tuple[int, str], Trained] = {}
    for path in folder.glob("trials/*/record.json"):
        record = json.loads(path.read_text(encoding="utf8"))
        if record["corpus"] != corpus or record["status"] != "done":
            continue
        if wanted is not None and record["seed"] not in wanted:
            continue
        model = path.parent / "model" / "model-best"
        if not model.is_dir():
            fix = "Run the matrix with --keep-models into a new folder."
            raise typer.BadParameter(f"{model} is not there. {fix}")
        own = Trained(record["seed"], record["method"], record["key"], model)
        same = found.setdefault(own[:2], own)
        if same is not own:
            problem = f"has two trials of {own.method}, seed {own.seed}: {same.trial} and {own.trial}"
            raise typer.BadParameter(f"{folder} {problem}. Name a folder with those of one plan.")
    if not found:
        which = "" if seeds is None else f" with seeds {seeds}"
        raise typer.BadParameter(f"{folder} has no finished trial on {corpus}{which}.")
    return sorted(found.values())


class Way(NamedTuple):
    """How a model is read out."""

    fitted: bool
    merge: str | None = None
    gate: str | None = None


def ways(nlp: Language) -> Iterator[Way]:
    """All ways to read out a pipeline."""
    rules = RULES if "weak_ner" in nlp.pipe_names else (None,)
    if "gate" not in nlp.pipe_names:
        yield from (Way(fitted, merge) for fitted in (False, True) for merge in rules)
        return
    for fitted, gate in ((False, "own"), (False, "oracle"), (False, "open"), (True, "own")):
        yield from (Way(fitted, merge, gate) for merge in rules)


class Before(NamedTuple):
    """What a document holds before the secondary."""

    ents: list[tuple[int, int, str]]
    spans: bytes


def predicted(nlp: Language, data: Path) -> tuple[list[Example], list[Before]]:
    """A file's documents after all but the secondary: the costly encoder runs once."""
    examples = list(Corpus(data)(nlp))
    with nlp.select_pipes(disable=[name for name in ("weak_ner",) if name in nlp.pipe_names]):
        predict_examples(nlp, examples)
    docs = [eg.predicted for eg in examples]
    ents = [[(e.start, e.end, e.label_) for e in doc.ents] for doc in docs]
    return examples, [Before(e, d.spans.to_bytes()) for e, d in zip(ents, docs, strict=True)]


def score(
    nlp: Language,
    way: Way,
    examples: list[Example],
    before: list[Before],
    labels: list[str],
    tail: list[str],
) -> dict[str, Any]:
    """Scores of one way, from the documents as they were before the secondary."""
    for eg, state in zip(examples, before, strict=True):
        doc = eg.predicted
        doc.set_ents([Span(doc, *ent) for ent in state.ents])
        doc.spans.from_bytes(state.spans)
    if way.gate in ("oracle", "open"):
        gate: Any = nlp.get_pipe("gate")
        for eg in examples:
            flags = flagged_sentences(eg, gate.labels) if way.gate == "oracle" else None
            sentences = [s for i, s in enumerate(eg.predicted.sents) if flags is None or flags[i]]
            eg.predicted.spans[gate.cfg["spans_key"]] = SpanGroup(eg.predicted, spans=sentences)
    if way.merge is not None:
        nlp.get_pipe("weak_ner").cfg["merge"] = way.merge  # type: ignore[attr-defined]
        with nlp.select_pipes(enable=["weak_ner"]):
            predict_examples(nlp, examples)
    scores = make_ner_scorer(labels, tail)(examples)
    if way.gate == "own":
        scores.update(nlp.get_pipe("gate").score(examples))  # type: ignore[attr-defined]
    return scores


def cost(nlp: Language, data: Path) -> float | None:
    """CPU time of the primary alone as a share of the whole pipeline's."""
    extra = [name for name in ("sentencizer", "gate", "weak_ner") if name in nlp.pipe_names]
    if not extra:
        return None
    ratios = []
    for _ in range(RUNS):
        seconds = []
        for disabled in (extra, []):
            docs = [eg.predicted for eg in Corpus(data)(nlp)]
            with nlp.select_pipes(disable=disabled):
                start = time.process_time()
                for _doc in nlp.pipe(docs):
                    pass
                seconds.append(time.process_time() - start)
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def study(model: Path, corpus: Path, timed: bool) -> Iterator[dict[str, Any]]:
    """The scores of one model, each way."""
    types, test = read_types(corpus), part_path(corpus, "test")
    with tempfile.TemporaryDirectory() as folder:
        fit_thresholds(
            model,
            part_path(corpus, "dev"),
            goal=Goal(),
            gate_goal=Goal("recall", 0.9),
            output=Path(folder),
        )
        pipelines = {False: spacy.load(model), True: spacy.load(folder)}
    done = {fitted: predicted(nlp, test) for fitted, nlp in pipelines.items()}
    for way in ways(pipelines[False]):
        nlp = pipelines[way.fitted]
        scores = score(nlp, way, *done[way.fitted], types.labels, types.tail)
        own = way.gate in ("own", None) and way.merge in ("span", None)
        yield {**way._asdict(), "test": scores, "cost": cost(nlp, test) if timed and own else None}


def shown(records: list[dict[str, Any]]) -> None:
    """Markdown: a row for each method and way, means over seeds."""
    keys = ("macro_f", "f", "tail_f")
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for r in records:
        groups.setdefault((r["variant"], r["fitted"], r["merge"], r["gate"]), []).append(r)
    rare = [t for t in records[0]["tail"] if t in records[0]["test"]["ents_per_type"]]
    head = ["model", "scores", "merge", "gate", "seeds", "macro", "micro", "tail", *rare]
    head += ["gate P", "gate R", "opened", "cost"]
    rows = [head, ["---"] * len(head)]
    for (variant, fitted, merge, gate), own in groups.items():
        row = [variant, "fitted" if fitted else "raw", merge or "-", gate or "-", str(len(own))]
        row += [mean([r["test"][f"ents_{key}"] for r in own]) for key in keys]
        row += [mean([r["test"]["ents_per_type"][t]["f"] for r in own]) for t in rare]
        gated = [r["test"] for r in own if "weak_sents_r" in r["test"]]
        row += [mean([t[f"weak_sents_{k}"] for t in gated]) for k in ("p", "r", "open")]
        row.append(mean([r["cost"] for r in own if r["cost"] is not None]))
        rows.append(row)
    for row in rows:
        typer.echo(f"| {' | '.join(row)} |")


def mean(values: list[float]) -> str:
    if not values:
        return "-"
    shown = f"{100 * statistics.mean(values):.1f}"
    return f"{shown} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else shown


def main(
    folder: Annotated[Path, typer.Argument(exists=True, help="What `matrix --keep-models` wrote.")],
    corpus: Annotated[Path, typer.Argument(exists=True, help="A folder that `convert` wrote.")],
    results: Annotated[Path, typer.Option(help="JSONL to append to; what it holds is not run again.")],
    seeds: Annotated[str | None, typer.Option(help="Seeds, separated by commas; else all.")] = None,
    timed: Annotated[bool, typer.Option(help="Measure the cost too; run nothing else.")] = False,
) -> None:
    """Score trained models each way on test, append a record each, and print the table."""
    trained = read_trained(folder, corpus.name, seeds)
    lines = results.read_text(encoding="utf8").splitlines() if results.is_file() else []
    records = [json.loads(line) for line in lines]
    done = {r.get("trial") for r in records}
    results.parent.mkdir(parents=True, exist_ok=True)
    tail = read_types(corpus).tail
    for seed, method, trial, model in tqdm([t for t in trained if t.trial not in done], unit="model"):
        about = {"corpus": corpus.name, "variant": method, "seed": seed, "trial": trial, "tail": tail}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [{**about, **record} for record in study(model, corpus, timed)]
        with results.open("a", encoding="utf8") as file:  # all of a model, or none
            file.write("".join(json.dumps(record) + "\n" for record in found))
        records += found
    shown([r for r in records if r.get("trial") in {t.trial for t in trained}])


if __name__ == "__main__":
    typer.run(main)
