"""Comparison of pipelines: their scores, speed and size."""

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from spacy.language import Language

from ..corpus.folder import CorpusTypes, load_docs, part_path
from ..records import Record
from .evaluate import score_pipeline

PASSES = 3  # timed passes of each pipeline over the same texts
MAX_WORDS = 20_000  # words of the part that are timed
WARM = 32  # documents that are processed before time is measured


class MeasuredPipeline(Record):
    """Scores, speed and size of a pipeline."""

    name: str
    model: str
    macro: float  # F1 in [0, 1]
    tail: float | None
    micro: float
    words_per_second: float
    speed_ratio: float  # to the first one's
    megabytes: float  # on disk


def measure(
    pipelines: Mapping[str, tuple[Language, Path]], gold: Path, types: CorpusTypes, part: str = "test"
) -> list[MeasuredPipeline]:
    """Measure the scores and the relative speed of pipelines on a part of a corpus.

    pipelines (Mapping[str, Tuple[Language, Path]]): Pipelines with their folders, by name.
    gold (Path): Folder of a converted corpus.
    types (CorpusTypes): Types of the corpus.
    part (str): Part of the corpus.
    RETURNS (List[MeasuredPipeline]): In the same order. Speeds are relative to the first one's.
    """
    data = part_path(gold, part)
    docs = load_docs(data, types.blank())
    some = docs[:: max(1, -(-sum(map(len, docs)) // MAX_WORDS))]  # evenly spaced in the part
    texts, n_words = [doc.text for doc in some], sum(map(len, some))
    speeds = words_per_second([nlp for nlp, _ in pipelines.values()], texts, n_words)
    measured = []
    for (name, (nlp, folder)), speed in zip(pipelines.items(), speeds, strict=True):
        scores = score_pipeline(nlp, data, types.labels, types.tail)
        measured.append(
            MeasuredPipeline(
                name=name,
                model=str(folder),
                macro=scores.ents_macro_f,
                tail=scores.ents_tail_f,
                micro=scores.ents_f,
                words_per_second=round(speed, 1),
                speed_ratio=round(speed / speeds[0], 3),
                megabytes=round(
                    sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6, 3
                ),
            )
        )
    return measured


def words_per_second(pipelines: Sequence[Language], texts: list[str], n_words: int) -> list[float]:
    """Measure the speed of pipelines on the same texts, each in the fastest of its passes.

    The pipelines take turns after a warm-up, so that other load on the machine slows all of them.
    Words are those of the corpus and not those of a pipeline's tokenizer.

    pipelines (Sequence[Language]): The pipelines.
    texts (List[str]): The texts.
    n_words (int): Number of words in all texts.
    RETURNS (List[float]): Words per second of each pipeline.
    """
    for nlp in pipelines:
        list(nlp.pipe(texts[:WARM]))
    fastest = [math.inf] * len(pipelines)
    for _ in range(PASSES):
        for i, nlp in enumerate(pipelines):
            start = time.perf_counter()
            deque(nlp.pipe(texts), maxlen=0)  # reads the documents without keeping them
            fastest[i] = min(fastest[i], time.perf_counter() - start)
    return [n_words / max(seconds, 1e-9) for seconds in fastest]
