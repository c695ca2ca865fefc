"""Pools of text that nobody labelled, as a stream of documents."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.examples import bare
from ..corpus.formats.context import Context, Events, Place, Settings
from ..corpus.formats.json_stream import no_record, read_records
from ..corpus.formats.sources import FORMATS, OURS, find_parts
from ..corpus.formats.text import lines
from ..corpus.formats.tokens import check_text, given_tokens
from ..errors import Errors

Read = Callable[[Path, Context], Iterator[Doc]]
NAMED = ("text", "data", "tokens", "spans", "label", "entities", "meta")
PLACE = "pool"  # in user_data: where a text stands
TEXT = "Write one JSON object with a 'text' per line."


def read_pool(source: Path, nlp: Language, settings: Settings, events: Events) -> Iterator[Doc]:
    """The texts of a pool as documents without annotation, one file in memory at most.

    source (Path): A file, or a folder of files, of a format that `convert` reads; .txt is one text per
        line, and JSON needs no spans.
    nlp (Language): Makes the tokens where a text has none; texts beyond its max_length are left out.
    settings (Settings): How to read. events (Events): Counts what is left out.
    YIELDS (Doc): With the values beside a text, and its place, in user_data.
    RAISES (ValueError): L402, L403, L420 to L427.
    """
    context = Context(nlp, settings, events)
    n_texts = 0
    for path, read in pool_files(source, settings):
        for i, doc in enumerate(read(path, context), 1):
            doc.user_data.setdefault(PLACE, f"{path.name}:{i}")
            n_texts += 1
            yield doc
    if not n_texts:
        fix = f"Left out: {events.summary() or 'nothing'}."
        raise ValueError(Errors.L403.format(path=source, fix=fix))


def pool_files(source: Path, settings: Settings) -> list[tuple[Path, Read]]:
    """The files of a pool and their readers. RAISES (ValueError): L001, L402, L420 to L422."""
    if settings.format is None:
        files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
        files = [p for p in files if p.name[0] != "."]
        texts: list[tuple[Path, Read]] = []
        for path in files:
            suffix = path.suffix.lower()
            if suffix == ".txt" and not path.with_suffix(".ann").is_file():
                texts.append((path, _lines))
            elif suffix in FORMATS["json"].suffixes and path.name not in OURS:
                texts.append((path, _records))
        if texts:
            return texts
    found = [
        (path, _without_annotation(FORMATS[part.format].read))
        for part in find_parts(source, ("train", "dev", "test"), settings).values()
        for path in part.files
    ]
    return found


def _lines(path: Path, context: Context) -> Iterator[Doc]:
    for i, line in enumerate(lines(path, context.settings.encoding), 1):
        if line.strip():
            yield from _made(line.strip(), context, Place(path, i))


def _records(path: Path, context: Context) -> Iterator[Doc]:
    for place, record in read_records(path, context.settings.encoding):
        data = record.get("data")
        own = data if isinstance(data, dict) else record
        text = own.get("text", data)
        if not isinstance(text, str):
            raise no_record(place, f"found {str(text)[:60]!r} as the text", TEXT)
        meta = record.get("meta")
        about = {**own, **(meta if isinstance(meta, dict) else {})}
        for doc in _made(check_text(text, place), context, place, record.get("tokens")):
            for name, value in about.items():
                if name not in NAMED and isinstance(value, (str, int, float)):
                    doc.user_data[name] = value
            yield doc


def _made(text: str, context: Context, place: Place, tokens: object = None) -> Iterator[Doc]:
    """The document of a text; none where the pipeline cannot read it."""
    if not text.strip():
        context.events.add("empty", "texts", place)
    elif len(text) > context.nlp.max_length:
        context.events.add("too long", "texts", place)
    elif tokens is not None:
        yield given_tokens(context.nlp, text, tokens, place)
    else:
        yield context.nlp.make_doc(text)


def _without_annotation(read: Read) -> Read:
    def stream(path: Path, context: Context) -> Iterator[Doc]:
        for doc in read(path, context):
            own = bare(doc, context.nlp.vocab)
            if doc.has_annotation("SENT_START"):
                for token, known in zip(own, doc, strict=True):
                    token.is_sent_start = known.is_sent_start
            own.user_data.update(doc.user_data)
            yield own

    return stream
