"""Command `stats`: counts a corpus by type and part, and says what that means for training."""

import json
from pathlib import Path
from typing import Annotated

from typer import Option
from wasabi import msg, wrap

from ..corpus.converted import ConvertedCorpus
from ..corpus.names import NAMES, ListCounts, count_names, read_names, words_by
from ..corpus.rare import rare_sentence
from ..corpus.statistics import MARK, Statistics
from ..errors import Errors
from ..evaluation.preview import Preview, preview
from ..output.console import echo
from ..output.targets import check_file
from ..output.writing import write_file
from .app import CORPUS_PANEL, Corpus, Json, app, print_json, print_table

# fields that are rows of the first table
COUNTS = ("documents", "sentences", "entity_sentences", "tokens", "entity_tokens", "mentions")


@app.command(rich_help_panel=CORPUS_PANEL)
def stats(
    corpus: Corpus,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write the statistics to this JSON file.")
    ] = None,
    encoder: Annotated[
        str | None,
        Option(help="Also score this pretrained encoder on each type, before any training."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count a corpus by type and part, and suggest what to try.

    The tables show how rare each type is, how many mentions of dev and test are unseen in training,
    and which sentences leak from training into other parts.
    """
    if as_json and encoder is not None:
        raise ValueError(Errors.L420.format(name="encoder", problem="--json prints the counts alone"))
    if output is not None:
        check_file(output, mark=MARK)
    statistics = ConvertedCorpus(corpus).statistics
    lists = _count_lists(ConvertedCorpus(corpus))
    data = statistics.as_json()
    if lists:
        data["names"] = {label: counts._asdict() for label, counts in lists.items()}
    if output is not None:
        write_file(output, json.dumps(data, indent=2))
    if as_json:
        print_json(data)
    else:
        _print_statistics(statistics)
        if lists:
            _print_lists(lists)
        if encoder is not None:
            _print_preview(preview(corpus, encoder))


def _print_preview(known: Preview) -> None:
    msg.divider(f"What {known.encoder} knows of the types")
    rows = [
        (
            row.label,
            row.description,
            f"{row.mentions:,}",
            f"{100 * row.f:.0f}" if row.support else "-",
            ", ".join(f"{words} ({cosine:.2f})" for words, cosine in row.nearest),
        )
        for row in known.types
    ]
    print_table(
        (
            "type",
            "description",
            "train mentions",
            "zero-shot F1, dev",
            "nearest known types (cosine)",
        ),
        rows,
        "llrrl",
    )
    msg.text(
        f"Macro F1 on dev without training: {100 * known.macro_f:.1f}. Where the F1 of a type "
        "is low and no known type is near, expect less from pretraining: improve the descriptions, or "
        "label more sentences. Where it is low although a known type is near (a cosine close to 1), the "
        "encoder knows the words of the description, but not what your corpus means by them, or dev has "
        "too few mentions to tell: train, and see whether F1 rises."
    )


def _count_lists(corpus: ConvertedCorpus) -> dict[str, ListCounts]:
    """Count how the listed names occur in the training part. Without lists the counts are empty."""
    path = corpus.folder / NAMES
    if not path.is_file():
        return {}
    nlp = corpus.types.blank()
    return count_names(read_names(path, words_by(nlp)), corpus.docs("train", nlp.vocab))


def _print_lists(counts: dict[str, ListCounts]) -> None:
    """Print how the listed names occur in the training part."""
    msg.divider(f"Lists of names ({NAMES}) in the training part")
    print_table(
        (
            "type",
            "names",
            "also of another type",
            "annotated so",
            "annotated otherwise",
            "not annotated",
        ),
        [(label, *(f"{n:,}" for n in row)) for label, row in counts.items()],
    )
    msg.text(
        "Names that are often annotated otherwise, or not at all, have several meanings. "
        "`init-config listed_names` writes a config that learns how far to rely on each list."
    )
    if silent := [label for label, c in counts.items() if not c.as_type + c.as_other + c.unannotated]:
        msg.warn(
            f"No name of {', '.join(silent)} occurs in the training part, so training cannot "
            "learn how far to rely on these lists."
        )


def _print_statistics(statistics: Statistics) -> None:
    mentions = {t: counts.mentions for t, counts in statistics.parts["train"].types.items()}
    msg.divider(f"Corpus {statistics.corpus}")
    rows: list[tuple[str, ...]] = [
        (key.replace("_", " "), *(_cell(getattr(part, key)) for part in statistics.parts.values()))
        for key in COUNTS
    ]
    print_table(("", *statistics.parts), rows)
    msg.divider("Types by part")
    heads = [f"{part} mentions" for part in statistics.parts]
    heads += ["bits", "bucket", *(f"{part} unseen, %" for part in statistics.leakage)]
    rows = [_type_row(statistics, label) for label in statistics.labels + statistics.undeclared]
    print_table(("type (* rare)", *heads), rows)
    msg.text(rare_sentence(statistics.tail, mentions, statistics.labels))
    msg.divider("Sentences that occur more than once")
    rows = []
    for part, repeated in statistics.duplicates.items():
        leaked = statistics.leakage.get(part)
        numbers = (leaked.sentences, leaked.entity_sentences, leaked.near) if leaked else [None] * 3
        rows.append((part, *map(_cell, (repeated, *numbers))))
    print_table(
        (
            "part",
            "repeats in the part",
            "also in training",
            "with an entity",
            "same but for names",
        ),
        rows,
    )
    msg.text(f"Texts with different annotations: {statistics.conflicts.texts:,}")
    msg.divider("Findings")
    for finding in statistics.diagnosis:
        msg.warn(finding.finding)
        for line in (finding.evidence, f"Try: {finding.advice}"):
            echo(wrap(line, indent=2, wrap_max=100))


def _type_row(statistics: Statistics, label: str) -> tuple[str, ...]:
    by_part = {part: counts.types[label] for part, counts in statistics.parts.items()}
    (bucket,) = (name for name, types in statistics.buckets.items() if label in types)
    bits = by_part["train"].rareness
    return (
        label + " *" * (label in statistics.tail) + " (undeclared)" * (label in statistics.undeclared),
        *(_cell(types.mentions) for types in by_part.values()),
        "-" if bits is None else f"{bits:.1f}",
        bucket,
        *(_cell(by_part[part].unseen) for part in statistics.leakage),
    )


def _cell(value: float | None) -> str:
    """Format a count as it is, a fraction as a percentage without its sign."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{100 * value:.0f}"
