"""`stats`: what a corpus holds, and what that means for training on it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg, wrap

from ..corpus.rare import rare_sentence
from ..corpus.statistics import MARK, Statistics, corpus_statistics, write_statistics
from ..output.writing import check_file
from .app import CORPUS_PANEL, Corpus, Json, app, print_json, print_table

# rows of the first table, by field: numbers, then shares
COUNTS = ("documents", "sentences", "entity_sentences", "tokens", "entity_tokens", "mentions")
SHARES = {
    "entity_sentence_share": "sentences with an entity, %",
    "entity_share": "entity tokens, %",
    "outside_share": "O, %",
    "begin_share": "B, %",
    "inside_share": "I, %",
}
CLASSES = {"found_types": "types that occur", "bio_classes": "BIO classes"}
# columns of the types in training
TYPES = {
    "tokens": "tokens",
    "token_share": "% of tokens",
    "mention_share": "% of mentions",
    "sentences": "sentences",
    "one_token_mentions": "one-token",
    "surfaces": "wordings",
    "ambiguous_surfaces": "ambiguous",
    "surfaces_also_outside": "also O",
}


@app.command(rich_help_panel=CORPUS_PANEL)
def stats(
    corpus: Corpus,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write JSON here.")] = None,
    as_json: Json = False,
) -> None:
    """Count a corpus by type and part: rareness, unseen mentions, leakage, policies; and what to try."""
    if output is not None:
        check_file(output, mark=MARK)
    statistics = corpus_statistics(corpus)
    if output is not None:
        write_statistics(statistics, output)
    if as_json:
        print_json(statistics.as_json())
    else:
        _print_statistics(statistics)


def _print_statistics(of: Statistics) -> None:
    training, columns = of.parts["train"].types, [*of.parts.values(), of.all]
    msg.divider(f"Corpus {of.corpus}")
    rows: list[tuple[str, ...]] = [(key.replace("_", " "), *_cells(columns, key)) for key in COUNTS]
    rows += [(name, *_cells(columns, key)) for key, name in SHARES.items()]
    for key in ("least", "most"):
        ends = [getattr(part, key) for part in columns]
        shown = ("-" if end is None else f"{end.type} {_cell(end.share)}" for end in ends)
        rows.append((f"{key} frequent type, % of tokens", *shown))
    rows += [(name, *_cells(columns, key)) for key, name in CLASSES.items()]
    print_table(("", *of.parts, "all"), rows)
    msg.divider("Types by part")
    heads = [f"{part} mentions" for part in of.parts]
    heads += ["bits", "bucket", *(f"{part} unseen, %" for part in of.leakage)]
    print_table(("type (* rare)", *heads), [_type_row(of, t) for t in of.labels + of.undeclared])
    msg.text(rare_sentence(of.tail, {t: own.mentions for t, own in training.items()}))
    msg.divider("Types in training")
    rows = [(t, *(_cell(getattr(own, key)) for key in TYPES)) for t, own in training.items()]
    print_table(("type", *TYPES.values()), rows)
    if of.policies:
        msg.divider("Size of training, after / before")
        rows = [(n, f"{p.sentences:.2f}", f"{p.tokens:.2f}") for n, p in of.policies.items()]
        print_table(("policy", "sentences", "tokens"), rows)
    msg.divider("Sentences that occur more than once")
    rows = []
    for part, repeated in of.duplicates.items():
        leaked = of.leakage.get(part)
        numbers = (leaked.sentences, leaked.entity_sentences) if leaked else (None, None)
        rows.append((part, *map(_cell, (repeated.sentences, *numbers))))
    print_table(("part", "repeats in the part", "also in training", "with an entity"), rows)
    msg.text(f"Texts with different annotations: {of.conflicts.texts:,}")
    msg.divider("Findings")
    for finding in of.diagnosis:
        msg.warn(finding.finding)
        for line in (finding.evidence, f"Try: {finding.advice}"):
            typer.echo(wrap(line, indent=2, wrap_max=100))


def _type_row(of: Statistics, label: str) -> tuple[str, ...]:
    by_part = {part: counts.types[label] for part, counts in of.parts.items()}
    (bucket,) = (name for name, types in of.buckets.items() if label in types)
    bits = by_part["train"].rareness
    return (
        label + " *" * (label in of.tail) + " (undeclared)" * (label in of.undeclared),
        *(_cell(own.mentions) for own in by_part.values()),
        "-" if bits is None else f"{bits:.1f}",
        bucket,
        *(_cell(by_part[part].unseen, 0) for part in of.leakage),
    )


def _cells(columns: Iterable[object], key: str) -> list[str]:
    return [_cell(getattr(column, key)) for column in columns]


def _cell(value: float | None, digits: int = 2) -> str:
    """A count as it is, a share in points of 100."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{100 * value:.{digits}f}"
