"""Bulk inference with Ray Data: every worker loads the pipeline once. See README.md."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import ray
import spacy
import typer
from bulk import (
    PARSE,
    READ,
    Model,
    Output,
    Source,
    WithDocs,
    Work,
    all_or_nothing,
    output_schema,
    predict,
    prepare,
)
from ray.exceptions import RayError
from wasabi import msg

LOCAL = "local"  # Ray's word for a cluster of its own, on this machine


class Predictor:
    """What an actor runs: made once, called with a block of documents at a time."""

    def __init__(self, model: str, docs: bool):
        self.nlp, self.docs = spacy.load(model), docs

    def __call__(self, block: pa.Table) -> pa.Table:
        ids, texts = block["id"].to_pylist(), block["text"].to_pylist()
        columns = predict(self.nlp, ids, texts, self.docs)
        return pa.Table.from_pydict(columns, schema=output_schema(self.docs))


@contextmanager
def cluster(address: str, workers: int) -> Iterator[None]:
    """A connection to a cluster. A cluster on this machine ends with it, and so do its tasks."""
    # one CPU more than workers: reading and writing need some too
    num_cpus = workers + 1 if address == LOCAL else None
    ray.init(address, num_cpus=num_cpus, include_dashboard=False, logging_level=logging.WARNING)
    try:
        yield
    finally:
        ray.shutdown()


def run(work: Work, folder: Path, workers: int, block_size: int, retries: int, docs: bool) -> None:
    """Predict on the cluster that Ray is connected to. A block whose worker dies is done again."""
    if work.files[0].endswith(".parquet"):
        documents = ray.data.read_parquet(work.files, columns=["id", "text"])
    else:
        documents = ray.data.read_json(work.files, parse_options=PARSE, read_options=READ)
    documents.repartition(target_num_rows_per_block=block_size).map_batches(
        Predictor,
        fn_constructor_args=(work.model, docs),
        batch_size=None,  # the block
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        max_restarts=retries,  # Ray's default is for ever, which a document that kills never ends
        max_task_retries=retries,
    ).write_parquet(str(folder))


def main(
    model: Model,
    source: Source,
    output: Output,
    workers: Annotated[int, typer.Option(min=1, help="Processes that predict.")] = 2,
    block_size: Annotated[
        int, typer.Option(min=1, help="Documents that a worker takes at a time: a file each.")
    ] = 1000,
    retries: Annotated[
        int, typer.Option(min=-1, help="Deaths that a worker, or a block, may cost; -1: any number.")
    ] = 3,
    docs: WithDocs = False,
    address: Annotated[
        str, typer.Option(envvar="RAY_ADDRESS", help="A running cluster's address.")
    ] = LOCAL,
) -> None:
    """Find the entities of many documents, with a row for each document exactly once."""
    work = prepare(model, source, output)
    try:
        with all_or_nothing(output, work.ids) as folder, cluster(address, workers):
            run(work, folder, workers, block_size, retries, docs)
    except (RayError, RuntimeError) as error:
        msg.fail(f"No output was written. {error}", exits=1)
    msg.good(f"Wrote {output}: {len(work.ids)} documents")


if __name__ == "__main__":
    typer.run(main)
