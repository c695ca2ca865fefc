"""`convert`: a corpus to .spacy files."""

from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpora import convert_corpus
from .app import app, coded_errors


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(help="Folder with train, dev, test: .iob files or articles.")
    ],
    target: Annotated[Path, typer.Argument(help="Folder for train.spacy, dev.spacy, test.spacy.")],
    lang: Annotated[str | None, typer.Option(help="spaCy language code.")] = None,
) -> None:
    """Check a corpus and write it as .spacy files, with its types and which of them are rare."""
    with coded_errors():
        types = convert_corpus(source, target, lang)
    msg.good(f"Wrote {target}")
    msg.text(f"Types: {', '.join(types.labels)}")
    msg.text(f"Rare: {', '.join(types.tail)}")
