"""`stats`: what a corpus holds, and what that means for training on it."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg, wrap

from ..corpus.rare import rare_sentence
from ..corpus.statistics import (
    MARK,
    Statistics,
    corpus_statistics,
    statistics_text,
    write_statistics,
)
from ..corpus.statistics.records import PartStatistics
from ..output.writing import check_file
from .app import CORPUS_PANEL, Corpus, Json, app, print_table

Rows = list[tuple[str, ...]]
COUNTS = ("documents", "sentences", "entity_sentences", "tokens", "entity_tokens", "mentions")
SHARES = {
    "entity_sentence_share": "sentences with an entity, %",
    "entity_share": "entity tokens, %",
    "outside_share": "O, %",
    "begin_share": "B, %",
    "inside_share": "I, %",
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
        sys.stdout.write(statistics_text(statistics) + "\n")
    else:
        _print_statistics(statistics)


def _print_statistics(of: Statistics) -> None:
    training = of.parts["train"].types
    columns = {**of.parts, "all": of.all}
    msg.divider(f"Corpus {of.corpus}")
    print_table(("", *columns), _size_rows(columns.values()))
    msg.divider("Types by part")
    scored = [part for part in of.parts if part != "train"]
    heads = [f"{part} mentions" for part in of.parts]
    heads += ["bits", "bucket", *(f"{part} unseen, %" for part in scored)]
    print_table(("type (* rare)", *heads), _type_rows(of, scored))
    msg.text(rare_sentence(of.tail, {t: own.mentions for t, own in training.items()}))
    msg.divider("Types in training")
    keys = ("sentences", "one_token_mentions", "surfaces", "ambiguous_surfaces", "surfaces_also_outside")
    rows: Rows = [
        (
            t,
            f"{own.tokens:,}",
            _percent(own.token_share),
            _percent(own.mention_share),
            *(f"{getattr(own, key):,}" for key in keys),
        )
        for t, own in training.items()
    ]
    counts = ("sentences", "one-token", "wordings", "ambiguous", "also O")
    print_table(("type", "tokens", "% of tokens", "% of mentions", *counts), rows)
    if of.policies:
        msg.divider("Size of training, after / before")
        rows = [(n, f"{p.sentences:.2f}", f"{p.tokens:.2f}") for n, p in of.policies.items()]
        print_table(("policy", "sentences", "tokens"), rows)
    msg.divider("Sentences that occur more than once")
    rows = []
    for part, repeated in of.duplicates.items():
        leaked = of.leakage.get(part)
        numbers = (leaked.sentences, leaked.entity_sentences) if leaked else ()
        rows.append((part, f"{repeated.sentences:,}", *([f"{n:,}" for n in numbers] or "--")))
    print_table(("part", "repeats in the part", "also in training", "with an entity"), rows)
    msg.text(f"Texts with different annotations: {of.conflicts.texts:,}")
    msg.divider("Findings")
    for finding in of.diagnosis:
        msg.warn(finding.finding)
        for line in (finding.evidence, f"Try: {finding.advice}"):
            typer.echo(wrap(line, indent=2, wrap_max=100))


def _size_rows(columns: Iterable[PartStatistics]) -> Rows:
    columns = list(columns)
    rows: Rows = [(key.replace("_", " "), *(f"{getattr(c, key):,}" for c in columns)) for key in COUNTS]
    rows += [(name, *(_percent(getattr(c, key)) for c in columns)) for key, name in SHARES.items()]
    for key in ("least", "most"):
        ends = [getattr(c, key) for c in columns]
        texts = ("-" if end is None else f"{end.type} {_percent(end.share)}" for end in ends)
        rows.append((f"{key} frequent type, % of tokens", *texts))
    for key, name in (("found_types", "types that occur"), ("bio_classes", "BIO classes")):
        rows.append((name, *(str(getattr(c, key)) for c in columns)))
    return rows


def _type_rows(of: Statistics, scored: list[str]) -> Rows:
    bucket = {t: name for name, types in of.buckets.items() for t in types}
    rows: Rows = []
    for label in of.labels + of.undeclared:
        own = {part: counts.types[label] for part, counts in of.parts.items()}
        bits = own["train"].rareness
        rows.append(
            (
                label + " *" * (label in of.tail) + " (undeclared)" * (label in of.undeclared),
                *(f"{counts.mentions:,}" for counts in own.values()),
                "-" if bits is None else f"{bits:.1f}",
                bucket[label],
                *(_percent(own[part].unseen, 0) for part in scored),
            )
        )
    return rows


def _percent(share: float | None, digits: int = 2) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f}"
