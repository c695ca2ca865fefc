"""Bulk inference with Spark's mapInPandas: a worker loads the pipeline once. See README.md."""

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
    """What a task runs on its partition."""

    def run(frames: Frames) -> Frames:
        nlp = load(model)
        for frame in frames:
            yield pd.DataFrame(predict(nlp, frame["id"], frame["text"], docs))

    return run


@contextmanager
def session(master: str | None, workers: int, retries: int) -> Iterator[SparkSession]:
    """A session: a task whose worker dies is done again. When it ends, no task writes on."""
    if master is None:  # the workers of this machine run this Python, activated or not
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.appName("spacy bulk inference")
        .master(master or f"local[{workers},{retries + 1}]")
        .config("spark.task.maxFailures", retries + 1)  # a cluster's; local[n,f] has its own
        .config("spark.executorEnv.OMP_NUM_THREADS", "1")  # the workers share the cores
        # a task's files count from the moment that the job is committed, not before
        .config("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version", "1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()


def run(spark: SparkSession, work: Work, folder: Path, partitions: int, docs: bool) -> None:
    """Predict, a task for each partition."""
    # every worker finds the module, and with it the pipeline that it loaded before
    spark.sparkContext.addPyFile(bulk.__file__)
    files = [f"file://{file}" for file in work.files]
    reader = spark.read.schema(from_arrow_schema(DOCUMENTS)).option("mode", "FAILFAST")
    documents = reader.parquet(*files) if files[0].endswith(".parquet") else reader.json(files)
    # by id: a task that is done again gets the documents it had
    documents.repartition(partitions, "id").mapInPandas(
        predictor(work.model, docs), from_arrow_schema(output_schema(docs))
    ).write.parquet(f"file://{folder}")


def main(
    model: Model,
    source: Source,
    output: Output,
    workers: Annotated[int, typer.Option(min=1, help="Processes that predict, on this machine.")] = 2,
    partitions: Annotated[
        int, typer.Option(min=1, help="Parts that the documents are dealt to: a task, and a file, each.")
    ] = 32,
    retries: Annotated[int, typer.Option(min=0, help="Deaths that a task may cost.")] = 3,
    docs: WithDocs = False,
    master: Annotated[
        str | None, typer.Option(help="A cluster's master.", show_default="this machine")
    ] = None,
) -> None:
    """Find the entities of many documents, with a row for each document exactly once."""
    work = prepare(model, source, output)
    try:
        with all_or_nothing(output, work.ids) as folder, session(master, workers, retries) as spark:
            run(spark, work, folder, partitions, docs)
    except (PySparkException, Py4JError, RuntimeError) as error:
        msg.fail(f"No output was written. {error}", exits=1)
    msg.good(f"Wrote {output}: {len(work.ids)} documents")


if __name__ == "__main__":
    typer.run(main)
