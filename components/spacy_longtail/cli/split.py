"""`split`: a corpus into stratified parts or folds."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option
from wasabi import msg

from ..corpus.rare import rare_sentence
from ..corpus.splits import Split, read_shares, split_corpus
from .app import CORPUS_PANEL, Json, app, print_json, print_table
from .options import LARGEST_SEED


@app.command(rich_help_panel=CORPUS_PANEL)
def split(
    source: Annotated[Path, Argument(help="What `convert` wrote, a .spacy file or a folder of them.")],
    target: Annotated[Path, Argument(help="Folder for the parts, or for one folder per fold.")],
    parts: Annotated[
        str | None, Option(help="Shares of the sentences.", show_default="train=0.8,dev=0.1,test=0.1")
    ] = None,
    part: Annotated[str | None, Option(help="Part to split.", show_default="all, else train")] = None,
    folds: Annotated[int | None, Option(help="Write this many folds instead, at least 3.")] = None,
    unit: Annotated[Literal["doc", "sentence"], Option(help="sentence: cut at boundaries.")] = "doc",
    group_by: Annotated[str | None, Option(help="user_data key that keeps documents together.")] = None,
    near: Annotated[
        bool,
        Option("--near", help="Keep sentences together that differ in names and numbers alone."),
    ] = False,
    min_mentions: Annotated[int, Option(min=0, help="Least mentions of each type in each part.")] = 1,
    seed: Annotated[int, Option(min=0, max=LARGEST_SEED, help="Fixes the split.")] = 0,
    strict: Annotated[bool, Option("--strict", help="Refuse if a type cannot be in all parts.")] = False,
    as_json: Json = False,
) -> None:
    """Split a corpus so that each part has its share of every type, the rarest first.

    Documents with the same text, or with a sentence in common, stay in one part as far as possible.
    """
    result = split_corpus(
        source,
        target,
        shares=None if parts is None else read_shares(parts),
        folds=folds,
        part=part,
        unit=unit,
        group_by=group_by,
        near=near,
        min_mentions=min_mentions,
        seed=seed,
        strict=strict,
    )
    if as_json:
        return print_json({name: part._asdict() for name, part in result.parts.items()})
    _print_split(result)
    return msg.good(f"Wrote {target}")


def _print_split(result: Split) -> None:
    parts = result.parts.values()
    amounts: list[tuple[str, list[int]]] = [
        ("documents", [part.n_docs for part in parts]),
        ("sentences", [part.n_sentences for part in parts]),
    ]
    for label in next(iter(parts)).mentions:
        name = label + (" *" if label in result.types.tail else "")
        amounts.append((name, [part.mentions[label] for part in parts]))
    rows = [(name, *(_cell(n, sum(row)) for n in row)) for name, row in amounts]
    head = ("type (* rare)", *(f"{n} {100 * part.share:.4g} %" for n, part in result.parts.items()))
    print_table(head, rows)
    learnt = [result.parts["train"]] if "train" in result.parts else parts  # folds have one tail
    mentions = sum((Counter(part.mentions) for part in learnt), Counter())
    msg.text(rare_sentence(result.types.tail, mentions, result.types.labels))


def _cell(n: int, total: int) -> str:
    return f"{n:,} ({100 * n / total:.1f} %)" if total else "0"
