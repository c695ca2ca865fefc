"""The commands: `python -m spacy_longtail ...`. Thin: parse, call the package, print."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from wasabi import msg, table

from .corpora import convert_corpus, read_types
from .experiments.evaluation import evaluate_model, write_evaluation
from .experiments.statistics import corpus_statistics
from .experiments.training import train_model

app = typer.Typer(
    name="spacy_longtail",
    help="NER for rare types: convert a corpus, look at it, train, evaluate, report.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Corpus = Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@contextmanager
def _errors() -> Iterator[None]:
    """Coded errors end a command with a message and exit code 1, not with a traceback."""
    try:
        yield
    except ValueError as error:
        msg.fail(str(error), exits=1)


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(help="Folder with train, dev, test: .iob files or articles.")
    ],
    target: Annotated[Path, typer.Argument(help="Folder for train.spacy, dev.spacy, test.spacy.")],
    lang: Annotated[str | None, typer.Option(help="spaCy language code.")] = None,
) -> None:
    """Check a corpus and write it as .spacy files, with its types and which of them are rare."""
    with _errors():
        types = convert_corpus(source, target, lang)
    msg.good(f"Wrote {target}")
    msg.text(f"Types: {', '.join(types.labels)}")
    msg.text(f"Rare: {', '.join(types.tail)}")


@app.command()
def stats(
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    as_json: Json = False,
) -> None:
    """Count tokens and mentions per type and part, and what each resampling policy would do."""
    with _errors():
        found = corpus_statistics(corpus)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(found, indent=2), encoding="utf8")
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    _print_statistics(found)


def _print_statistics(found: dict[str, Any]) -> None:
    parts = found["parts"]
    rows: list[tuple[str, ...]] = [
        (key, *(f"{part[key]:,}" for part in parts.values()))
        for key in ("documents", "sentences", "entity_sentences", "tokens", "entity_tokens")
    ]
    msg.divider(f"Corpus {found['corpus']}")
    sys.stdout.write(table(rows, header=("", *parts), divider=True, aligns=tuple("lrrr")) + "\n")
    rows = []
    for label in found["labels"]:
        by_part = [part["types"][label] for part in parts.values()]
        rare = by_part[0]["rareness"]
        unseen = found["unseen"][label]
        rows.append(
            (
                label + (" *" if label in found["tail"] else ""),
                *(str(t["mentions"]) for t in by_part),
                "-" if rare is None else f"{rare:.1f}",
                "-" if unseen is None else f"{100 * unseen:.0f} %",
            )
        )
    head = ("type (* rare)", *(f"{part} mentions" for part in parts), "bits", "test unseen")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrrrrr")) + "\n")
    rows = [(n, f"{p['sentences']:.2f}", f"{p['tokens']:.2f}") for n, p in found["policies"].items()]
    head = ("policy", "sentences x", "tokens x")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrr")) + "\n")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def train(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="A config, such as configs/config.cfg.")],
    corpus: Corpus,
    output: Annotated[Path, typer.Argument(help="Folder for the models; emptied first.")],
    gpu_id: Annotated[int, typer.Option(help="GPU to use, -1 for the CPU.")] = -1,
) -> None:
    """Train a config on a converted corpus. Any config value can follow, as --training.max_steps 500."""
    from spacy.cli._util import parse_config_overrides

    overrides = parse_config_overrides(context.args)
    with _errors():
        train_model(config, corpus, output, gpu_id=gpu_id, overrides=overrides)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="A trained pipeline.")],
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    part: Annotated[str, typer.Option(help="train, dev or test.")] = "test",
    name: Annotated[str | None, typer.Option(help="What reports call the model.")] = None,
    gpu_id: Annotated[int, typer.Option(help="GPU to use, -1 for the CPU.")] = -1,
    as_json: Json = False,
) -> None:
    """Score a pipeline on the corpus's declared types, and keep every prediction for the report."""
    from spacy.cli._util import setup_gpu

    setup_gpu(gpu_id, silent=True)
    with _errors():
        types = read_types(corpus)
        result = evaluate_model(model, corpus / f"{part}.spacy", types.labels, types.tail, name)
    if output is not None:
        write_evaluation(result, output)
    if as_json:
        shown = {k: v for k, v in result.items() if k != "documents"}
        sys.stdout.write(json.dumps(shown, indent=2) + "\n")
        return
    scores = result["scores"]
    rows = [
        (t + (" *" if t in types.tail else ""), str(s["support"]), *(f"{100 * s[k]:.2f}" for k in "prf"))
        for t, s in scores["ents_per_type"].items()
    ]
    msg.divider(f"{result['name']} on {part}")
    head = ("type (* rare)", "support", "P", "R", "F")
    sys.stdout.write(table(rows, header=head, divider=True, aligns=tuple("lrrrr")) + "\n")
    for key, text in (
        ("macro_f", "macro"),
        ("f", "micro"),
        ("weighted_f", "weighted"),
        ("tail_f", "tail"),
    ):
        msg.text(f"{text} F1: {100 * scores[f'ents_{key}']:.2f}")
    msg.text(f"{result['words_per_second']:,.0f} words/s")


@app.command()
def report(
    metrics: Annotated[Path, typer.Argument(help="Folder with stats.json and the evaluations.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
    baseline: Annotated[str, typer.Option(help="Name of the model to compare with.")] = "baseline",
    ours: Annotated[str | None, typer.Option(help="Name of ours; the best on dev if left out.")] = None,
) -> None:
    """Write one self-contained HTML page, and print its result table."""
    from .experiments.report import summary_table, write_report
    from .experiments.report_inputs import metrics_files

    with _errors():
        statistics, evaluations = metrics_files(metrics)
        summary = write_report(statistics, evaluations, output, baseline, ours)
    sys.stdout.write(summary_table(summary) + "\n")
    sys.stdout.write(f"Report: {output.resolve()}\n")  # unwrapped, so that it can be copied


def main() -> None:
    """Entry point of `python -m spacy_longtail`."""
    app(prog_name="python -m spacy_longtail")
