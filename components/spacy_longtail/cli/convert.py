"""`convert`: a corpus to .spacy files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..corpus.descriptions import has_open_types
from ..corpus.folder import ConvertedPart, convert_corpus, read_conversion
from ..corpus.formats.columns import Columns, parse_columns, read_tag_names
from ..corpus.formats.context import MEANINGS, SENTENCIZER, Settings
from ..corpus.formats.markup import fine_and_coarse
from ..corpus.formats.sources import FORMATS
from ..corpus.rare import rare_sentence
from ..output.amounts import number
from ..training.loading import load_pipeline
from .app import CORPUS_PANEL, Code, Json, app, print_json

POLICIES = {
    "missing": "their tokens without annotation",
    "expand": "expanded to whole tokens",
    "contract": "contracted to the tokens inside",
}
N_SHOWN = 3  # examples of each kind
MANY_TYPES = 200  # more than guidelines of annotation have
LONG = 60  # tokens of a document that is probably more than a sentence
DIVIDED = "spacy"  # a format that may bring sentence boundaries of its own


@app.command(rich_help_panel=CORPUS_PANEL)
def convert(
    source: Annotated[Path, typer.Argument(help="A folder with train, dev, test; or one file.")],
    target: Annotated[Path, typer.Argument(help="Folder for train.spacy, dev.spacy, test.spacy.")],
    lang: Annotated[str | None, typer.Option(help="spaCy language code.")] = None,
    format: Annotated[str | None, typer.Option(help=f"{', '.join(FORMATS)}, if not found.")] = None,
    open_types: Annotated[
        bool,
        typer.Option(
            "--open", help="Each mention has a type of its own, for `pretrain`. Implied by format open."
        ),
    ] = False,
    encoding: Annotated[str, typer.Option(help="Of text files, as cp1252.")] = "utf8",
    scheme: Annotated[str, typer.Option(help="Of tags: auto, iob1, iob2, bioes or bilou.")] = "auto",
    token_column: Annotated[int, typer.Option(help="From 0, or from -1 backwards.")] = 0,
    tag_column: Annotated[int, typer.Option(help="From 0, or from -1 backwards.")] = -1,
    columns: Annotated[
        str | None, typer.Option(help="By name, as token=word,tag=ner,sentence=sent_id.")
    ] = None,
    tag_names: Annotated[
        str | None, typer.Option(help="Of tags that are numbers: O,B-PER,..., or a file.")
    ] = None,
    documents: Annotated[
        bool, typer.Option("--documents", help="One document from -DOCSTART- to -DOCSTART-.")
    ] = False,
    misaligned: Annotated[
        str | None, typer.Option(help="Spans that cut a token: missing, expand, contract or error.")
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="words or characters.")] = None,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Prodigy's answers are on the spans alone.")
    ] = False,
    text_key: Annotated[str | None, typer.Option(help="Of the text in JSON records.")] = None,
    offsets: Annotated[
        str | None, typer.Option(help="Count characters or utf-16 units, if not found.")
    ] = None,
    allow: Annotated[
        bool,
        typer.Option("--allow", help="Go on where more than a twentieth of all annotations is lost."),
    ] = False,
    sentences: Annotated[
        str | None, typer.Option(help="Where there are none: sentencizer, or a pipeline.")
    ] = None,
    docs_per_file: Annotated[
        int | None, typer.Option(help="Write folders of files of this many documents.")
    ] = None,
    code: Code = None,
    as_json: Json = False,
) -> None:
    """Check a corpus and write it as .spacy files, with its types and which of them are rare."""
    named = parse_columns(columns) if columns else Columns()
    settings = Settings(
        format=format,
        open=open_types,
        encoding=encoding,
        scheme=scheme,
        token_column=token_column,
        tag_column=tag_column,
        columns=named,
        tag_names=read_tag_names(tag_names, named.tag) if tag_names else None,
        documents=documents,
        misaligned=misaligned,
        tokens=tokens,
        decisions=decisions,
        text_key=text_key,
        offsets=offsets,
        allow=allow,
        sentences=sentences if sentences in (None, SENTENCIZER) else load_pipeline(sentences),
        docs_per_file=docs_per_file,
    )
    types = convert_corpus(source, target, lang, settings)
    conversion = read_conversion(target)
    is_open = has_open_types(target)
    if as_json:
        said = {"open": True} if is_open else {"labels": types.labels, "tail": types.tail}
        return print_json({**conversion.as_json(), **said})
    parts = conversion.parts
    for part, found in parts.items():
        msg.text(f"{part}: {number(found.documents, 'document')}, {number(found.tokens, 'token')}")
        _show_events(found)
        if settings.sentences is None:
            _warn_of_length(part, found)
    msg.good(f"Wrote {target}")
    training = next(iter(parts.values())).mentions
    if is_open:
        return msg.text(_open_sentence(training))
    msg.text(f"Types: {', '.join(types.labels)}")
    msg.text(rare_sentence(types.tail, training))
    if len(types.labels) > MANY_TYPES:
        msg.info("Were types named freely, mention by mention? Then convert with --open for `pretrain`.")
    if list(parts) == ["all"]:
        msg.info("It is one part, 'all'. `split` makes train, dev and test of it.")
    return None


def _open_sentence(mentions: Mapping[str, int]) -> str:
    """How many open types a corpus has. mentions (Mapping[str, int]): By type."""
    fine, coarse = (len(set(level)) for level in zip(*map(fine_and_coarse, mentions), strict=True))
    types = f"{number(fine, 'fine type')} and {number(coarse, 'coarse type')}"
    return f"{number(sum(mentions.values()), 'mention')} of open types: {types}. `pretrain` reads them."


def _warn_of_length(part: str, found: ConvertedPart) -> None:
    """Say where whole texts were taken for sentences."""
    mean = found.tokens / max(found.documents, 1)
    if "sentences" in FORMATS[found.format].heeds and found.format != DIVIDED and mean > LONG:
        msg.warn(
            f"{part}: documents of {mean:.0f} tokens on average, each of which counts as one sentence"
            " for resampling, the gate and the secondary NER. If they have several, convert with"
            " --sentences sentencizer."
        )


def _show_events(found: ConvertedPart) -> None:
    for kind, counts in found.events.items():
        meaning = MEANINGS[kind]
        if kind == "misaligned":
            meaning = f"{meaning}, {POLICIES[found.misaligned]}"
        total, what = sum(counts.values()), ", ".join(f"{name} {n}" for name, n in counts.items())
        msg.warn(f"{total} {meaning}: {what}")
        for example in found.examples[kind][:N_SHOWN]:
            typer.echo(f"    {example}")
