"""Bulk inference with Ray Data, where each worker loads the pipeline once. See README.md."""

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

LOCAL = "local"  # tells Ray to start a cluster on this machine


class Predictor:
    """Ray actor: loads the pipeline once, then predicts one block of documents per call."""

    def __init__(self, model: str, docs: bool):
        self.nlp, self.docs = spacy.load(model), docs

    def __call__(self, block: pa.Table) -> pa.Table:
        ids, texts = block["id"].to_pylist(), block["text"].to_pylist()
        columns = predict(self.nlp, ids, texts, self.docs)
        return pa.Table.from_pydict(columns, schema=output_schema(self.docs))


@contextmanager
def cluster(address: str, workers: int) -> Iterator[None]:
    """Connect to a cluster. A cluster on this machine is stopped at the end, with its tasks."""
    # one CPU more than workers, because reading and writing need some as well
    num_cpus = workers + 1 if address == LOCAL else None
    ray.init(address, num_cpus=num_cpus, include_dashboard=False, logging_level=logging.WARNING)
    try:
        yield
    finally:
        ray.shutdown()


def run(work: Work, folder: Path, workers: int, block_size: int, retries: int, docs: bool) -> None:
    """Predict on the connected cluster. If a worker crashes, its block is predicted again."""
    if work.files[0].endswith(".parquet"):
        documents = ray.data.read_parquet(work.files, columns=["id", "text"])
    else:
        documents = ray.data.read_json(work.files, parse_options=PARSE, read_options=READ)
    documents.repartition(target_num_rows_per_block=block_size).map_batches(
        Predictor,
        fn_constructor_args=(work.model, docs),
        batch_size=None,  # the whole block
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        max_restarts=retries,  # without a limit, a document that crashes workers never ends
        max_task_retries=retries,
    ).write_parquet(str(folder))


def main(
    model: Model,
    source: Source,
    output: Output,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that predict.")] = 2,
    block_size: Annotated[
        int, typer.Option(min=1, help="Documents per block, which is one task and one file.")
    ] = 1000,
    retries: Annotated[
        int, typer.Option(min=-1, help="Crashes tolerated per worker and per block; -1: no limit.")
    ] = 3,
    docs: WithDocs = False,
    address: Annotated[
        str, typer.Option(envvar="RAY_ADDRESS", help="Address of a running cluster.")
    ] = LOCAL,
) -> None:
    """Find the entities of many documents, and write exactly one row per document."""
    work = prepare(model, source, output)
    try:
        with all_or_nothing(output, work.ids) as folder, cluster(address, workers):
            run(work, folder, workers, block_size, retries, docs)
    except (RayError, RuntimeError) as error:
        msg.fail(f"No output was written. {error}", exits=1)
    msg.good(f"Wrote {output}: {len(work.ids)} documents")


if __name__ == "__main__":
    typer.run(main)
