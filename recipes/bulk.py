"""Shared code of the bulk recipes: checks the input, predicts, and writes all output or none."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
import spacy
import typer
from pyarrow.dataset import dataset
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_longtail.pipes.scores.spans import read_scores
from spacy_longtail.types import ENTITY_SCORES

DOCUMENTS = pa.schema([("id", pa.string()), ("text", pa.string())])
# With an explicit schema: without one, Arrow guesses that "2020-01-01" is a time.
PARSE = pj.ParseOptions(explicit_schema=DOCUMENTS, unexpected_field_behavior="ignore")
READ = pj.ReadOptions(block_size=64 * 2**20)  # limit of a line, in bytes
ENTITIES = pa.list_(
    pa.struct(
        [("start", pa.int32()), ("end", pa.int32()), ("label", pa.string()), ("score", pa.float64())]
    )
)
SHOWN = 3  # maximum number of ids in a message

Model = Annotated[str, typer.Argument(help="A trained pipeline: a folder or an installed package.")]
Source = Annotated[
    Path,
    typer.Argument(metavar="INPUT", exists=True, help="A .jsonl or .parquet file or a folder of them."),
]
Output = Annotated[Path, typer.Argument(help="Folder for the Parquet files. It must not exist.")]
WithDocs = Annotated[bool, typer.Option("--docs", help="Write the documents as well, as DocBins.")]


@lru_cache(maxsize=1)
def load(model: str) -> Language:
    """Return the pipeline, which is loaded once per process for all its tasks."""
    return spacy.load(model)


class Work(NamedTuple):
    """Checked input of a run."""

    model: str  # argument of spacy.load, valid in any working directory
    files: list[str]  # absolute paths, all .jsonl or all .parquet
    ids: pa.ChunkedArray  # unique ids of all documents


def prepare(model: str, source: Path, output: Path) -> Work:
    """Check everything that can be checked before an engine starts.

    model (str): A trained pipeline: a folder, or an installed package.
    source (Path): A .jsonl or .parquet file, or a folder of either, with `id` and `text`.
    output (Path): Folder for the predictions.
    RETURNS (Work): The pipeline, the files and the ids of the run.
    RAISES (typer.BadParameter): If the output exists, the pipeline cannot be loaded, there are no
        documents, or a document has no id or text, is too long for the pipeline, or shares its id.
    """
    if output.exists():
        raise typer.BadParameter(f"{output} exists already. Delete it, or choose another folder.")
    model = str(Path(model).resolve()) if Path(model).exists() else model
    try:
        nlp = spacy.load(model)
    except (OSError, ImportError, ValueError) as error:
        raise typer.BadParameter(f"The pipeline {model} cannot be loaded: {error}") from error
    files = _input_files(source)
    ids = pa.chunked_array([_read_ids(file, nlp.max_length) for file in files], pa.large_string())
    if not len(ids):
        raise typer.BadParameter(f"The files of {source} have no documents.")
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
    if len(repeated):
        raise typer.BadParameter(
            f"{len(repeated)} ids in {source} belong to more than one document, such as "
            f"{_some(repeated)}. Make them unique: the output has one row per id."
        )
    return Work(model, [str(file) for file in files], ids)


def _input_files(source: Path) -> list[Path]:
    source = source.resolve()
    found = [source] if source.is_file() else sorted(p for p in source.glob("*") if p.is_file())
    # an empty file is a shard without documents, and is not valid Parquet
    files = [p for p in found if p.suffix in (".jsonl", ".parquet") and p.stat().st_size]
    if not files:
        raise typer.BadParameter(f"{source} has no .jsonl or .parquet file with content.")
    if len({p.suffix for p in files}) > 1:
        raise typer.BadParameter(f"{source} has both .jsonl and .parquet files. Keep one kind.")
    return files


def _read_ids(file: Path, max_length: int) -> pa.Array:
    """Return the ids of a file, after checking the id and the text of every document."""
    try:
        documents = _read(file)
    except ValueError as error:  # Arrow's errors are ValueErrors as well
        raise typer.BadParameter(f"{file} has no strings `id` and `text` throughout: {error}") from error
    for name in DOCUMENTS.names:
        if documents[name].null_count:
            first = pc.index(pc.is_null(documents[name]), True).as_py()
            raise typer.BadParameter(
                f"{documents[name].null_count} documents of {file} have no `{name}`, "
                f"the first of them is number {first + 1}."
            )
    long = documents["id"].filter(pc.greater(pc.utf8_length(documents["text"]), max_length))
    if len(long):
        raise typer.BadParameter(
            f"{len(long)} documents of {file} are longer than the {max_length} characters that the "
            f"pipeline takes, such as {_some(long)}. Split them."
        )
    return documents["id"].cast(pa.large_string()).combine_chunks()


def _read(file: Path) -> pa.Table:
    if file.suffix == ".jsonl":
        return pj.read_json(file, parse_options=PARSE, read_options=READ)
    found = pq.read_schema(file)
    types = {name: str(found.field(name).type) for name in DOCUMENTS.names if name in found.names}
    if len(types) < 2 or not {"string", "large_string"}.issuperset(types.values()):
        raise ValueError(f"found {types}")
    return pq.read_table(file, columns=DOCUMENTS.names)


def _some(ids: pa.Array) -> str:
    return ", ".join(repr(found.as_py()) for found in ids[:SHOWN])


def output_schema(docs: bool) -> pa.Schema:
    """Return the columns of the output, with `doc` if `docs` is true."""
    fields = [("id", pa.string()), ("entities", ENTITIES)]
    return pa.schema([*fields, ("doc", pa.binary())] if docs else fields)


def predict(nlp: Language, ids: Iterable[str], texts: Iterable[str], docs: bool) -> dict[str, list]:
    """Run the pipeline over documents.

    nlp (Language): The pipeline.
    ids (Iterable[str]): The id of each document.
    texts (Iterable[str]): The text of each document, in the order of the ids.
    docs (bool): Whether to return the documents as well, each as the bytes of a DocBin.
    RETURNS (dict[str, list]): The columns of `output_schema`.
    """
    columns: dict[str, list] = {name: [] for name in output_schema(docs).names}
    columns["id"] = list(ids)
    with nlp.memory_zone():  # otherwise a worker keeps every word that it has seen
        for doc in nlp.pipe(texts):
            columns["entities"].append(_entities(doc))
            if docs:
                columns["doc"].append(DocBin(docs=[doc]).to_bytes())
    return columns


def _entities(doc: Doc) -> list[dict[str, Any]]:
    scores = {place: scored.score for place, scored in read_scores(doc, ENTITY_SCORES).items()}
    return [
        {
            "start": ent.start_char,
            "end": ent.end_char,
            "label": ent.label_,
            "score": scores.get((ent.start, ent.end, ent.label_)),
        }
        for ent in doc.ents
    ]


@contextmanager
def all_or_nothing(output: Path, ids: pa.ChunkedArray) -> Iterator[Path]:
    """Yield a folder to write to, which becomes the output if it holds every document once.

    Otherwise the folder is deleted.

    output (Path): The final folder.
    ids (pa.ChunkedArray): The ids of all documents.
    YIELDS (Path): A path beside the output, which does not exist yet.
    RAISES (RuntimeError): If the files cannot be read or do not hold each id exactly once.
    """
    output = output.resolve()
    part = output.with_name(f"{output.name}.part-{uuid4().hex[:8]}")
    try:
        yield part
        _check_written(part, ids)
        part.rename(output)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_written(folder: Path, ids: pa.ChunkedArray) -> None:
    try:
        written = dataset(folder, format="parquet").to_table(columns=["id"])["id"].cast(ids.type)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"The files that were written cannot be read: {error}") from error
    n_missing = len(ids) - pc.sum(pc.is_in(ids, value_set=written)).as_py()
    n_again = len(written) - pc.count_distinct(written).as_py()
    n_strange = len(written) - pc.sum(pc.is_in(written, value_set=ids)).as_py()
    if n_missing or n_again or n_strange:
        raise RuntimeError(
            f"Of {len(ids)} documents {n_missing} have no row, {n_again} rows repeat another and "
            f"{n_strange} rows belong to no document."
        )
