"""Command `convert`: converts annotated files into a corpus of .spacy files."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option
from wasabi import msg

from ..corpus.boundaries import SENTENCIZER
from ..corpus.descriptions import has_open_types
from ..corpus.folder import REPORT, Conversion, ConvertedPart, convert_corpus
from ..corpus.formats.context import MEANINGS
from ..corpus.formats.duplicates import Duplicates
from ..corpus.formats.options import Scheme, parse_columns, read_tag_names
from ..corpus.formats.sources import FORMATS
from ..corpus.rare import RARE_MENTIONS, RARE_SHARE, rare_sentence
from ..corpus.tokenizers import Tokens
from ..output.console import echo, number
from ..training.loading import load_pipeline
from .app import CORPUS_PANEL, Code, Json, app, print_json
from .options import Allow, Misalignment, OffsetUnit, given_options

MAX_EXAMPLES_SHOWN = 3  # of each kind of event
MAX_SENTENCE_LENGTH = 60  # tokens; longer documents probably have several sentences


@app.command(rich_help_panel=CORPUS_PANEL)
def convert(
    source: Annotated[
        Path, Argument(help="Annotated corpus: a folder with train, dev and test, or one file.")
    ],
    target: Annotated[Path, Argument(help="Folder for train.spacy, dev.spacy and test.spacy.")],
    lang: Annotated[
        str | None,
        Option(help="spaCy language code of the tokenizer.", show_default="that of corpus.json, or en"),
    ] = None,
    format: Annotated[
        str | None, Option(help=f"Format of the files: {', '.join(FORMATS)}.", show_default="detected")
    ] = None,
    open_types: Annotated[
        bool,
        Option("--open", help="Read types as free text, one per mention. Only for `pretrain`."),
    ] = False,
    encoding: Annotated[
        str | None, Option(help="Encoding of text files, such as cp1252.", show_default="utf8")
    ] = None,
    scheme: Annotated[
        Scheme | None,
        Option(help="Scheme of the tags. auto detects every scheme except iob1.", show_default="auto"),
    ] = None,
    token_column: Annotated[
        int | None,
        Option(
            help="Column of the tokens, counted from 0, or from -1 backwards.", show_default="the first"
        ),
    ] = None,
    tag_column: Annotated[
        int | None,
        Option(
            help="Column of the tags, counted from 0, or from -1 backwards.", show_default="the last"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        Option(help="Columns of a table by name, such as token=word,tag=ner,sentence=sent_id."),
    ] = None,
    tag_names: Annotated[
        str | None,
        Option(help="Names of numbered tags, such as O,B-X,I-X, or a file with one per line."),
    ] = None,
    comments: Annotated[
        bool | None,
        Option(
            "--comments/--no-comments", help="Skip lines that begin with #.", show_default="detected"
        ),
    ] = None,
    documents: Annotated[
        bool, Option("--documents", help="Start a document at each -DOCSTART- or # newdoc line.")
    ] = False,
    misaligned: Misalignment = None,
    tokens: Annotated[Tokens | None, Option(help="Unit of tokenization.", show_default="words")] = None,
    text_key: Annotated[str | None, Option(help="Key of the text in JSON records.")] = None,
    spans_key: Annotated[
        str | None, Option(help="Key of doc.spans whose spans become the entities.")
    ] = None,
    offsets: OffsetUnit = None,
    duplicates: Annotated[
        Duplicates, Option(help="Handling of texts that occur several times with different annotation.")
    ] = "merge",
    allow: Allow = False,
    sentences: Annotated[
        str | None,
        Option(help="Set sentence boundaries with `sentencizer`, or with the pipeline of this name."),
    ] = None,
    docs_per_file: Annotated[
        int | None,
        Option(min=1, help="Number of documents in each file.", show_default="all in one file"),
    ] = None,
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
    """Check an annotated corpus and convert it to .spacy files.

    types.json beside these files declares the entity types and which of them are rare.
    """
    options = given_options(  # null if not given: a format refuses a given one that it does not have
        encoding=encoding,
        scheme=scheme,
        token_column=token_column,
        tag_column=tag_column,
        columns=parse_columns(columns) if columns else None,
        tag_names=read_tag_names(tag_names) if tag_names else None,
        comments=comments,
        documents=documents or None,
        misaligned=misaligned,
        tokens=tokens,
        text_key=text_key,
        spans_key=spans_key,
        offsets=offsets,
    )
    types = convert_corpus(
        source,
        target,
        lang,
        format=format,
        open_types=open_types,
        sentences=sentences if sentences in (None, SENTENCIZER) else load_pipeline(sentences),
        duplicates=duplicates,
        docs_per_file=docs_per_file,
        allow=allow,
        rare_mentions=rare_mentions,
        **options,
    )
    conversion = Conversion.model_validate_json((target / REPORT).read_bytes())
    is_open = has_open_types(target)
    if as_json:
        data = {"open": True} if is_open else {"labels": types.labels, "tail": types.tail}
        return print_json({**conversion.as_json(), **data})
    for name, part in conversion.parts.items():
        msg.text(f"{name}: {number(part.documents, 'document')}, {number(part.tokens, 'token')}")
        _show_events(part)
        if sentences is None:
            _warn_of_length(name, part)
    msg.good(f"Wrote {target}")
    mentions = next(iter(conversion.parts.values())).mentions
    if is_open:
        return msg.text(
            f"{number(sum(mentions.values()), 'mention')} of "
            f"{number(len(mentions), 'free-text type')}, for `pretrain`."
        )
    msg.text(f"Types: {', '.join(types.labels)}")
    if conversion.names:
        sizes = ", ".join(f"{label} {n:,}" for label, n in conversion.names.items())
        msg.text(f"Lists of names: {sizes}")
    msg.text(rare_sentence(types.tail, mentions, types.labels))
    if "all" in conversion.parts:
        msg.info("The corpus has one part, 'all'. Split it into train, dev and test with `split`.")


def _show_events(part: ConvertedPart) -> None:
    """Print the numbers of skipped and changed annotations, by kind and type."""
    for kind, counts in part.events.items():
        policy = f" (--misaligned {part.misaligned})" if kind == "misaligned" else ""
        types = ", ".join(f"{name} {n}" for name, n in counts.items())
        msg.warn(f"{sum(counts.values())} {MEANINGS[kind]}{policy}: {types}")
        for example in part.examples[kind][:MAX_EXAMPLES_SHOWN]:
            echo(f"    {example}")


def _warn_of_length(name: str, part: ConvertedPart) -> None:
    """Warn of documents that count as one sentence but probably have several."""
    mean = part.tokens / max(part.documents, 1)
    if mean <= MAX_SENTENCE_LENGTH or part.format == "spacy":
        return
    if not FORMATS[part.format].has_sentences:
        msg.warn(
            f"{name}: documents have {mean:.0f} tokens on average, and each counts as one sentence."
            " If they have several, convert with --sentences sentencizer."
        )
    elif part.format == "csv":
        msg.warn(
            f"{name}: sentences have {mean:.0f} tokens on average. Name the column that numbers the"
            " sentences: --columns token=...,tag=...,sentence=..."
        )
