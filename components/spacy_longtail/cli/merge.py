"""Command `merge`: adds labelled sentences to a corpus."""

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option
from wasabi import msg

from ..output.console import number
from ..unlabelled.returning import CONFLICTS, merge_labels
from .app import UNLABELLED_PANEL, Corpus, Json, app, print_json
from .options import Allow, Misalignment, OffsetUnit, given_options


@app.command(rich_help_panel=UNLABELLED_PANEL)
def merge(
    corpus: Corpus,
    labelled: Annotated[Path, Argument(help="File that the annotation tool exported.")],
    random_to: Annotated[
        Literal["train", "dev", "test"], Option(help="Part for the random sample of `mine --random`.")
    ] = "dev",
    unchanged: Annotated[
        bool, Option("--unchanged", help="Accept a file without any change of the annotation.")
    ] = False,
    replace: Annotated[
        bool,
        Option("--replace", help="Replace the annotation of sentences that an earlier `merge` added."),
    ] = False,
    format: Annotated[
        str | None, Option(help="Format of the file: json or spacy.", show_default="detected")
    ] = None,
    misaligned: Misalignment = None,
    offsets: OffsetUnit = None,
    allow: Allow = False,
    as_json: Json = False,
) -> None:
    """Add sentences that `mine` proposed and you labelled to a corpus.

    Sentences that the corpus has with other labels are conflicts. They are written to a file of
    their own instead of the corpus.
    """
    merged = merge_labels(
        corpus,
        labelled,
        random_to,
        unchanged,
        replace=replace,
        format=format,
        allow=allow,
        **given_options(misaligned=misaligned, offsets=offsets),
    )
    mentions, skipped = merged.mentions.most_common(), merged.events.summary()
    if as_json:
        return print_json(
            {
                "added": dict(merged.parts),
                "mentions": dict(mentions),
                "new_types": merged.new_types,
                "known": merged.n_known,
                "repeated": merged.n_repeated,
                "replaced": len(merged.replaced),
                "unchanged": merged.n_unchanged,
                "conflicts": len(merged.conflicts),
                "left_out": skipped,
            }
        )
    for part, n in merged.parts.items():
        msg.good(f"{part}: {number(n, 'sentence')} added")
    if merged.replaced:
        msg.good(f"Annotation replaced: {number(len(merged.replaced), 'sentence')}")
    if not merged.parts and not merged.replaced:
        msg.info("No new sentence.")
    if mentions:
        msg.text(", ".join(f"{label} {n}" for label, n in mentions))
    if merged.new_types:
        msg.info(f"New types, declared as rare: {', '.join(merged.new_types)}")
    if merged.n_known or merged.n_repeated:
        msg.text(f"Already in the corpus: {merged.n_known}. Repeated in the file: {merged.n_repeated}.")
    if merged.n_unchanged and not unchanged:
        msg.text(
            f"{merged.n_unchanged} of {number(merged.n_read, 'sentence')} have the predicted entities. "
            "Check that somebody has read them: Doccano exports predictions as labels."
        )
    if skipped:
        msg.warn(f"Skipped or changed: {skipped}")
    if merged.conflicts:
        msg.warn(
            f"{number(len(merged.conflicts), 'conflict')} not added. They are in {corpus / CONFLICTS}"
        )
