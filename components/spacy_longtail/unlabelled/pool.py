"""Pools of unlabelled text as a stream of documents, and the pass of a pipeline over a pool."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import active_children
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..corpus.cutting import bare
from ..corpus.formats.bioc import PASSAGES
from ..corpus.formats.context import Context, Events
from ..corpus.formats.json_files import read_records
from ..corpus.formats.json_tokens import PARAGRAPHS
from ..corpus.formats.options import FileOptions
from ..corpus.formats.records import NAMED, OTHER_FORM, JsonReader
from ..corpus.formats.sources import FORMATS, OURS, Source, find_parts
from ..corpus.formats.spans import Text, check_text, given_tokens, is_tangled, keep_values
from ..corpus.formats.standoff import annotation_file
from ..corpus.formats.tags import TagReader
from ..corpus.formats.text import Place, lines, unreadable, unzipped
from ..corpus.tokenizers import blank
from ..errors import Errors
from ..layers.torch_layer import prepare_forks
from ..output.console import progress
from ..training.startup import end_processes
from .units import PLACE

TEXTS = ("text", "data", "content")  # keys of the text of a JSON record
NESTED = {
    PASSAGES,
    PARAGRAPHS,
    "sentences",
}  # keys of the lists that BioC, spaCy 2 and DyGIE put texts in
TEXT = "Write one JSON object with a 'text' per line."
DEFAULT_ENCODING = FileOptions.encoding
ZONE = 2560  # number of texts after which new words are removed from the vocabulary


@dataclass(frozen=True, kw_only=True)
class PoolOptions(FileOptions):
    """Options of the files of a pool.

    format (Optional[str]): Name of the files' format, as for `convert`; null detects it.
    encoding (str): Encoding of text files, by Python's name.
    """

    format: str | None = None


def processed(nlp: Language, texts: Iterator[Doc], size: int, n_process: int) -> Iterator[Doc]:
    """Yield the documents that a pipeline makes of texts, with a progress bar.

    A document can only be used until the next one, because new words are removed from the
    vocabulary, which would otherwise grow with the pool.
    """
    if n_process != 1:  # -1 takes all cores
        prepare_forks()
    zone = ZONE if n_process == 1 else ZONE * 100  # processes are started anew in each zone
    texts = iter(progress(texts, "texts", "text"))
    others = active_children()
    try:
        while True:
            with nlp.memory_zone():
                first = next(texts, None)
                if first is None:
                    return
                some = chain([first], islice(texts, zone - 1))
                docs = nlp.pipe(some, batch_size=size, n_process=n_process)
                yield from chain(docs)  # unlike nlp.pipe itself, a chain is not closed before `except`
    except BaseException:
        end_processes(others)
        raise


def add_sentences(nlp: Language) -> None:
    """Split texts into sentences by punctuation, if no component of the pipeline splits them.

    nlp (Language): The pipeline; changed in place.
    """
    if not any("token.is_sent_start" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        nlp.add_pipe("sentencizer", first=True)


def read_pool(source: Path, nlp: Language, options: PoolOptions, events: Events) -> Iterator[Doc]:
    """Yield the texts of a pool as documents without annotation, with one file in memory.

    source (Path): File or folder of files in a format that `convert` reads. A .txt file has one
        text per line, and JSON needs no spans.
    nlp (Language): The pipeline that will process the documents.
    options (PoolOptions): Options of the files.
    events (Events): Counts skipped texts.
    YIELDS (Doc): Documents, with their place and metadata (strings and integers) in user_data.
    RAISES (ValueError): If there is no text.
    """
    context = Context(nlp, events)
    n_texts = 0
    root = source if source.is_dir() else source.parent
    for path, docs in pool_files(source, options, context):
        for i, doc in enumerate(docs, 1):
            known = doc.user_data.items()
            about = {k: v for k, v in known if isinstance(k, str) and type(v) in (str, int)}
            doc.user_data = {**about, PLACE: f"{path.relative_to(root)}:{i}"}
            n_texts += 1
            yield doc
    if not n_texts:
        raise ValueError(
            Errors.L403.format(path=source, fix=f"Skipped: {events.summary() or 'nothing'}.")
        )


def pool_files(source: Path, options: PoolOptions, context: Context) -> list[tuple[Path, Iterator[Doc]]]:
    """Return the files of a pool, each with its documents, which are read when they are needed.

    source (Path): File or folder of files.
    options (PoolOptions): Options of the files. Without a format, it is detected for each file.
    context (Context): Context of the readers.
    RAISES (ValueError): If there is no file.
    """
    files = [source]
    if source.is_dir():
        files = sorted(p for p in source.rglob("*") if _is_of_pool(p, source) and not p.is_dir())
    if not source.exists() or not files:
        raise ValueError(Errors.L402.format(path=source, fix="Name a file, or a folder with files."))
    readers: list[tuple[Path, Iterator[Doc]]] = []
    for path in files:
        suffix = unzipped(path).suffix.lower()
        if options.format in (None, "json") and suffix in FORMATS["json"].suffixes:
            readers.append((path, _records(path, options.encoding, context)))
        elif options.format is None and suffix == ".txt" and not annotation_file(path).is_file():
            readers.append((path, _lines(path, options.encoding, context)))
        else:
            given = {} if options.encoding == DEFAULT_ENCODING else {"encoding": options.encoding}
            for part in find_parts(path, ("all",), options.format, given).parts.values():
                readers.append((path, _without_annotation(part, context)))
    return readers


def _is_of_pool(path: Path, root: Path) -> bool:
    """Return whether a file may have texts: it is neither hidden, declaration nor annotation."""
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return not hidden and path.name not in OURS and unzipped(path).suffix.lower() != ".ann"


def _lines(path: Path, encoding: str, context: Context) -> Iterator[Doc]:
    """Yield the lines of a text file."""
    for place, line in lines(path, encoding):
        if line.strip():
            yield from _made(line.strip(), context, place)


def _records(path: Path, encoding: str, context: Context) -> Iterator[Doc]:
    """Yield the texts of a JSON file, which need no spans."""
    reader = JsonReader(encoding=encoding)
    context = context._replace(unlabelled=True)
    tags = TagReader(context, reader.scheme)
    for place, record in read_records(path, encoding):
        if _is_nested(record):
            yield from _nested(record, reader, context, place, tags)
            continue
        data, meta = record.get("data"), record.get("meta")
        task = data if isinstance(data, dict) and "text" not in record else record
        about = {**task, **(meta if isinstance(meta, dict) else {})}
        words = record.get("tokenized_text", record.get("tokens"))
        keys = TEXTS[:2] if isinstance(words, list) else TEXTS
        named = [task[key] for key in keys if not isinstance(task.get(key, {}), dict)]
        text = next(iter(named), None)
        if task is data and not named:  # in Label Studio, the only text may have any name
            texts = [name for name, value in task.items() if isinstance(value, str)]
            text = about.pop(texts[0]) if len(texts) == 1 else None
        if text is None and isinstance(words, list) and {*map(type, words)} <= {str}:
            # lists of tokens, as on the Hugging Face hub or for GLiNER
            docs = _of_words(words, context, place)
        elif isinstance(text, str) or (text is None and named):
            docs = _made(check_text(text or "", place), context, place, record.get("tokens"))
        else:
            raise unreadable(place, f"found {str(text)[:60]!r} as the text", TEXT)
        for doc in docs:
            values = {k: v for k, v in about.items() if k not in NAMED}
            keep_values(doc, {**values, "pool_id": task.get("id")}, place)
            yield doc


def _is_nested(record: dict[str, Any]) -> bool:
    """Return whether a record has texts in lists, and no text or tokens of its own."""
    lists = [record[key] for key in NESTED if isinstance(record.get(key), list)]
    has_own = bool(record.keys() & {*TEXTS, "tokens", "tokenized_text"})
    return not has_own and any(isinstance(item, list | dict) for items in lists for item in items)


def _nested(
    record: dict[str, Any], reader: JsonReader, context: Context, place: Place, tags: TagReader
) -> Iterator[Doc]:
    """Read the lists of a record as `convert` does, and yield their texts as documents."""
    items = reader.items({"ner": [], **record}, place, context, tags)  # without labels, too
    while True:
        try:  # one at a time, because a document is only valid until new words are removed
            item = next(items, None)
        except OTHER_FORM as error:
            problem = f"found {str(record)[:60]!r}, which has another form"
            raise unreadable(place, problem, TEXT) from error
        if item is None:
            return
        if isinstance(item, Text):
            docs, about = _made(check_text(item.text or "", place), context, place), item.about
        else:
            docs, about = [item], {}
        for doc in docs:
            values = {k: v for k, v in record.items() if k not in NAMED}
            keep_values(doc, {**values, **about, "pool_id": record.get("id")}, place)
            yield _plain(doc, context.nlp.vocab)


def _of_words(words: list[str], context: Context, place: Place) -> list[Doc]:
    """Make a document of the tokens that are not empty, or none if all are."""
    kept = [word for word in words if check_text(word, place).strip()]
    for _ in range(len(words) - len(kept) if kept else 0):
        context.events.add("blank", "tokens", place)
    return [Doc(context.nlp.vocab, words=kept)] if kept else _made("", context, place)


def _made(text: str, context: Context, place: Place, tokens: object = None) -> list[Doc]:
    """Return the document of a text, or none if the pipeline cannot process it."""
    kind = "" if text.strip() else "empty"
    if len(text) > context.nlp.max_length:
        kind = "long"
    elif is_tangled(text):
        kind = "tangled"
    if kind:
        context.events.add(kind, "texts", place)
        return []
    if tokens is not None:
        return [given_tokens(context.nlp, text, tokens, place)]
    return [context.nlp.make_doc(text)]


def _without_annotation(part: Source, context: Context) -> Iterator[Doc]:
    """Yield the documents of a file with only their words and sentence boundaries."""
    vocab = context.nlp.vocab
    context = context._replace(unlabelled=True)
    if part.format == "spacy":  # otherwise, its strings would stay in the pipeline's vocabulary
        context = context._replace(nlp=blank(context.nlp.lang or "xx", "words"))
    for doc in part.read(context):
        yield _plain(doc, vocab)


def _plain(doc: Doc, vocab: Vocab) -> Doc:
    """Copy the words, the sentence boundaries and the metadata of a document, and nothing else."""
    made = bare(doc, vocab).from_array(["SENT_START"], doc.to_array(["SENT_START"]))
    made.user_data.update(doc.user_data)
    return made
