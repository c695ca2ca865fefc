"""Command `split`: splits a corpus into stratified parts or cross-validation folds."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option
from wasabi import msg

from ..corpus.rare import rare_sentence
from ..corpus.splits import Split, read_shares, split_corpus
from .app import CORPUS_PANEL, Json, app, print_json, print_table
from .options import Seed


@app.command(rich_help_panel=CORPUS_PANEL)
def split(
    source: Annotated[
        Path,
        Argument(help="Folder of a converted corpus, a .spacy file, or a folder of .spacy files."),
    ],
    target: Annotated[Path, Argument(help="Folder for the parts, or for one folder per fold.")],
    parts: Annotated[
        str | None,
        Option(
            help="Fraction of the sentences in each part.", show_default="train=0.8,dev=0.1,test=0.1"
        ),
    ] = None,
    part: Annotated[
        str | None, Option(help="Part of the source to split.", show_default="all, otherwise train")
    ] = None,
    folds: Annotated[
        int | None, Option(help="Write N cross-validation folds (at least 3) instead of one split.")
    ] = None,
    unit: Annotated[
        Literal["doc", "sentence"],
        Option(help="Unit that stays whole: `sentence` splits documents at sentence boundaries."),
    ] = "doc",
    group_by: Annotated[
        str | None,
        Option(help="Keep documents with the same value of this `user_data` key in one part."),
    ] = None,
    near: Annotated[
        bool,
        Option("--near", help="Keep sentences that differ only in names and numbers in one part."),
    ] = False,
    min_mentions: Annotated[
        int, Option(min=0, help="Minimum number of mentions of every type in every part.")
    ] = 1,
    seed: Seed = 0,
    strict: Annotated[
        bool, Option("--strict", help="Fail if a type cannot be placed in every part.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Split a corpus so that every part gets its fraction of the mentions of every type.

    The rarest types are distributed first. Documents with the same text, or with a sentence in
    common, stay in one part if possible.
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
        *(
            (label + " *" * (label in result.types.tail), [part.mentions[label] for part in parts])
            for label in next(iter(parts)).mentions
        ),
    ]
    rows = [(name, *(_cell(n, sum(row)) for n in row)) for name, row in amounts]
    head = ("type (* rare)", *(f"{n} {100 * part.share:.4g} %" for n, part in result.parts.items()))
    print_table(head, rows)
    # the parts of folds are their test parts, which are the whole corpus together
    learnt = [result.parts["train"]] if "train" in result.parts else parts
    mentions = sum((Counter(part.mentions) for part in learnt), Counter())
    msg.text(rare_sentence(result.types.tail, mentions, result.types.labels))


def _cell(n: int, total: int) -> str:
    return f"{n:,} ({100 * n / total:.1f} %)" if total else "0"
