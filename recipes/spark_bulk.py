"""Bulk inference with Spark's mapInPandas: each worker loads the pipeline once. See README.md."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import bulk
import pandas as pd
import typer
from bulk import (
    DOCUMENTS,
    Model,
    Output,
    Source,
    WithDocs,
    Work,
    all_or_nothing,
    load,
    output_schema,
    predict,
    prepare,
)
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from wasabi import msg

Frames = Iterator[pd.DataFrame]


def predictor(model: str, docs: bool) -> Callable[[Frames], Frames]:
    """Return the function that a task runs on its partition."""

    def run(frames: Frames) -> Frames:
        nlp = load(model)
        for frame in frames:
            yield pd.DataFrame(predict(nlp, frame["id"], frame["text"], docs))

    return run


@contextmanager
def session(master: str | None, workers: int, retries: int) -> Iterator[SparkSession]:
    """Start a Spark session that repeats tasks of crashed workers, and stop all at the end."""
    if master is None:  # workers on this machine use this Python, even if it is not activated
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName("spacy bulk inference")
        .master(master or f"local[{workers},{retries + 1}]")
        .config("spark.task.maxFailures", retries + 1)  # of a cluster; local[n,f] has its own
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")  # the workers share the cores
        # files of a task become visible only when the job is committed
        .config("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version", "1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


def run(spark: SparkSession, work: Work, folder: Path, partitions: int, docs: bool) -> None:
    """Predict with one task per partition."""
    # workers import the module by its name, so that its cache of the pipeline is kept
    spark.sparkContext.addPyFile(bulk.__file__)
    files = [f"file://{file}" for file in work.files]
    reader = spark.read.schema(from_arrow_schema(DOCUMENTS)).option("mode", "FAILFAST")
    documents = reader.parquet(*files) if files[0].endswith(".parquet") else reader.json(files)
    # partitioned by id, so that a repeated task gets the same documents
    documents.repartition(partitions, "id").mapInPandas(
        predictor(work.model, docs), from_arrow_schema(output_schema(docs))
    ).write.parquet(f"file://{folder}")


def main(
    model: Model,
    source: Source,
    output: Output,
    workers: Annotated[
        int, typer.Option(min=1, help="Number of processes that predict, on this machine.")
    ] = 2,
    partitions: Annotated[
        int, typer.Option(min=1, help="Number of partitions; each is one task and one file.")
    ] = 32,
    retries: Annotated[int, typer.Option(min=0, help="Crashes tolerated per task.")] = 3,
    docs: WithDocs = False,
    master: Annotated[
        str | None, typer.Option(help="Master of a cluster.", show_default="this machine")
    ] = None,
) -> None:
    """Find the entities of many documents, and write exactly one row per document."""
    work = prepare(model, source, output)
    try:
        with all_or_nothing(output, work.ids) as folder, session(master, workers, retries) as spark:
            run(spark, work, folder, partitions, docs)
    except (PySparkException, Py4JError, RuntimeError) as error:
        msg.fail(f"No output was written. {error}", exits=1)
    msg.good(f"Wrote {output}: {len(work.ids)} documents")


if __name__ == "__main__":
    typer.run(main)
