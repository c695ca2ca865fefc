"""`convert`: a corpus to .spacy files."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from wasabi import msg

from ..corpus.descriptions import has_open_types
from ..corpus.folder import ConvertedPart, convert_corpus, read_conversion
from ..corpus.formats.context import (
    MEANINGS,
    SENTENCIZER,
    Columns,
    Scheme,
    Settings,
    parse_columns,
    read_tag_names,
)
from ..corpus.formats.sources import FORMATS
from ..corpus.rare import RARE_MENTIONS, RARE_SHARE, rare_sentence
from ..corpus.tokenizers import Tokens
from ..output.amounts import number
from ..training.loading import load_pipeline
from .app import CORPUS_PANEL, Code, Json, app, print_json
from .options import Allow, Counted, Cut

N_SHOWN = 3  # examples of each kind
LONG = 60  # tokens of a document that is probably more than a sentence
WHOLE = ("json", "brat")  # formats without sentence boundaries


@app.command(rich_help_panel=CORPUS_PANEL)
def convert(
    source: Annotated[Path, Argument(help="A folder with train, dev, test; or one file.")],
    target: Annotated[Path, Argument(help="Folder for train.spacy, dev.spacy, test.spacy.")],
    lang: Annotated[str | None, Option(help="spaCy language code.")] = None,
    format: Annotated[str | None, Option(help=f"{', '.join(FORMATS)}, if not found.")] = None,
    open_types: Annotated[bool, Option("--open", help="Each mention has a type of its own.")] = False,
    encoding: Annotated[str, Option(help="Of text files, as cp1252.")] = "utf8",
    scheme: Annotated[Scheme, Option(help="Of tags; auto tells all but iob1 apart.")] = "auto",
    token_column: Annotated[int, Option(help="From 0, or from -1 backwards.")] = 0,
    tag_column: Annotated[int, Option(help="From 0, or from -1 backwards.")] = -1,
    columns: Annotated[str | None, Option(help="By name: token=word,tag=ner,sentence=sent_id.")] = None,
    tag_names: Annotated[str | None, Option(help="Names of numbered tags, as O,B-X, or a file.")] = None,
    documents: Annotated[bool, Option("--documents", help="A document from each -DOCSTART-.")] = False,
    misaligned: Cut = None,
    tokens: Annotated[Tokens | None, Option(help="What is a token.")] = None,
    text_key: Annotated[str | None, Option(help="Of the text in JSON records.")] = None,
    offsets: Counted = None,
    allow: Allow = False,
    sentences: Annotated[str | None, Option(help="Where there are none: sentencizer, pipeline.")] = None,
    docs_per_file: Annotated[int | None, Option(min=1, help="Folders of files of so many docs.")] = None,
    rare_mentions: Annotated[
        int | None,
        Option(
            min=0,
            help="Maximum number of training mentions of a rare type.",
            show_default=f"{RARE_MENTIONS}, or {100 * RARE_SHARE:g} % of the most frequent type's",
        ),
    ] = None,
    code: Code = None,
    as_json: Json = False,
) -> None:
    """Check a corpus and write it as .spacy files, with its types and which of them are rare."""
    if sentences not in (None, SENTENCIZER):
        sentences = load_pipeline(sentences)
    settings = Settings(
        format=format,
        encoding=encoding,
        scheme=scheme,
        token_column=token_column,
        tag_column=tag_column,
        columns=parse_columns(columns) if columns else Columns(),
        tag_names=read_tag_names(tag_names) if tag_names else None,
        documents=documents,
        misaligned=misaligned,
        tokens=tokens,
        text_key=text_key,
        offsets=offsets,
        allow=allow,
        sentences=sentences,
        docs_per_file=docs_per_file,
        open=open_types,
    )
    types = convert_corpus(source, target, lang, settings, rare_mentions)
    conversion, is_open = read_conversion(target), has_open_types(target)
    if as_json:
        data = {"open": True} if is_open else {"labels": types.labels, "tail": types.tail}
        return print_json({**conversion.as_json(), **data})
    for name, part in conversion.parts.items():
        msg.text(f"{name}: {number(part.documents, 'document')}, {number(part.tokens, 'token')}")
        _show_events(part)
        mean = part.tokens / max(part.documents, 1)
        if settings.sentences is None and part.format in WHOLE and mean > LONG:
            msg.warn(
                f"{name}: documents of {mean:.0f} tokens on average, each of which counts as one"
                " sentence. If they have several, convert with --sentences sentencizer."
            )
    msg.good(f"Wrote {target}")
    mentions = next(iter(conversion.parts.values())).mentions
    if is_open:
        n_mentions = number(sum(mentions.values()), "mention")
        return msg.text(f"{n_mentions} of {number(len(mentions), 'open type')}. `pretrain` reads them.")
    msg.text(f"Types: {', '.join(types.labels)}")
    msg.text(rare_sentence(types.tail, mentions, types.labels))
    if "all" in conversion.parts:
        msg.info("It is one part, 'all'. `split` makes train, dev and test of it.")
    return None


def _show_events(part: ConvertedPart) -> None:
    for kind, counts in part.events.items():
        policy = f" (--misaligned {part.misaligned})" if kind == "misaligned" else ""
        types = ", ".join(f"{name} {n}" for name, n in counts.items())
        msg.warn(f"{sum(counts.values())} {MEANINGS[kind]}{policy}: {types}")
        for example in part.examples[kind][:N_SHOWN]:
            typer.echo(f"    {example}")
