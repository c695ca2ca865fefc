"""Evaluation of a trained pipeline: scores, and each document with gold and predicted entities."""

import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.training import Corpus, Example

from ..corpus.examples import on_gold_tokens
from ..corpus.formats.docbin import check_docs
from ..corpus.statistics.counting import tally_part
from ..pipes.neighbours import is_gate
from ..pipes.secondary.gated_pipe import GatedPipe
from ..pipes.token.ensemble_ner import EnsembleNER
from ..scorers import make_ner_scorer
from ..training.loading import load_for_types, pipeline_folder
from ..training.provenance import checksum, method, read_curve, read_run
from ..training.train import MODELS
from ..types import ENTITY_SCORES
from .analysis import analyse
from .names import check_types, rename_types
from .records import Document, Evaluation, Scores, TrainingSettings

UNNAMED = (*MODELS, "model")  # what `train` calls every pipeline


def evaluate_model(
    model: Path | str,
    data: Path,
    labels: list[str],
    tail: list[str],
    name: str | None = None,
    training: Path | None = None,
    part: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    group_by: str | None = None,
) -> Evaluation:
    """Run a pipeline over a .spacy file and score it on the declared types.

    model (Path | str): A pipeline folder, as `spacy train` writes it, or an installed package.
    data (Path): A .spacy file, or a folder of them.
    labels (List[str]): The declared types. tail (List[str]): The rare ones.
    name (Optional[str]): What reports call the model; null is its folder's name, or where that is
        model-best, model-last or model the name of the folder above.
    training (Optional[Path]): What it was trained on, a .spacy file or a folder of them: for scores
        by frequency and of unseen mentions. Null leaves the analysis out.
    part (Optional[str]): Which part of the corpus the data is; reports are of test.
    descriptions (Optional[Mapping[str, str]]): Of the declared types, by which a pretrained encoder
        finds them. A trained pipeline keeps its types.
    names (Optional[Mapping[str, str]]): What the corpus calls the pipeline's types, by their names
        in the pipeline; for those that differ.
    group_by (Optional[str]): Key of user_data, as in the corpus's types: documents with the same
        value are one unit of tests and intervals.
    RETURNS (Evaluation): Scores in [0, 1], their analysis, documents with gold and predicted
        entities, and how the pipeline was made, where the command `train` left that.
    RAISES (ValueError): If pipeline and data have no type in common.
    """
    place = Path(os.path.abspath(pipeline_folder(model)))  # "." has no parent
    if name is None:
        is_package = place != Path(os.path.abspath(model))
        name = str(model) if is_package else (place.parent if place.name in UNNAMED else place).name
    run, curve = read_run(place), read_curve(place)
    nlp = load_for_types(model, descriptions or {})
    check_docs(data)  # refuses a file that cannot be read, before the long work
    tally = None if training is None else tally_part(training)
    secondaries = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, GatedPipe)}
    for pipe in secondaries.values():
        pipe.usage.update(dict.fromkeys(pipe.usage, 0))
    examples, seconds = _read(nlp, data)
    rename_types(examples, names or {})
    check_types(examples, labels, str(model), str(data))
    scores = make_ner_scorer(labels, tail)(examples)
    for pipe_name, pipe in nlp.pipeline:
        if is_gate(nlp, pipe_name):
            scores.update(cast(Pipe, pipe).score(examples))
    details = None
    if tally is not None:
        details = analyse(examples, labels, tail, tally.counts.mentions, tally.surfaces)
    performance = nlp.meta.get("performance", {})
    return Evaluation(
        name=name,
        model=str(model),
        data=str(data),
        part=part,
        checksum=checksum(data),
        labels=labels,
        tail=tail,
        names=dict(names or {}),
        training=_training_settings(nlp),
        method=method(nlp),
        run=run,
        curve=curve,
        performance={n: value for n, value in performance.items() if isinstance(value, (int, float))},
        scores=Scores(**scores),
        analysis=details,
        secondaries={n: dict(pipe.usage) for n, pipe in secondaries.items()},
        words_per_second=sum(len(eg.predicted) for eg in examples) / max(seconds, 1e-9),
        # what is not annotated has no scores
        documents=[_document(eg, group_by) for eg in examples if eg.reference.has_annotation("ENT_IOB")],
    )


def score_pipeline(nlp: Language, data: Path, labels: list[str], tail: list[str]) -> Scores:
    """The scores alone, of a pipeline that is loaded.

    data (Path): A .spacy file, or a folder of them.
    labels (List[str]): The declared types. tail (List[str]): The rare ones.
    """
    check_docs(data)
    return Scores(**make_ner_scorer(labels, tail)(_read(nlp, data)[0]))


def update_performance(nlp: Language, data: Path, names: Collection[str] | None = None) -> None:
    """Measure anew what training left in the pipeline's meta: the pipeline has changed since.

    data (Path): A .spacy file, or a folder of them: those of dev.
    names (Optional[Collection[str]]): The scores; null are those that are there.
    """
    scores = nlp.evaluate(list(Corpus(data)(nlp)))
    kept = nlp.meta.setdefault("performance", {})
    kept.update({name: scores[name] for name in (kept if names is None else names) if name in scores})


def _read(nlp: Language, data: Path) -> tuple[list[Example], float]:
    """Documents as they are annotated and as a pipeline reads them, and the seconds it took."""
    examples = list(Corpus(data)(nlp))
    start = time.perf_counter()
    for eg, doc in zip(examples, nlp.pipe(eg.predicted for eg in examples), strict=True):
        eg.predicted = doc
    return examples, time.perf_counter() - start


def _training_settings(nlp: Language) -> TrainingSettings:
    """Of one training: the config of an ensemble is of its first member, but for the seed."""
    settings = nlp.config.interpolate()["training"]
    if any(isinstance(pipe, EnsembleNER) for _, pipe in nlp.pipeline):
        return TrainingSettings(seed=settings["seed"])
    return TrainingSettings(**{name: settings[name] for name in TrainingSettings.model_fields})


def _document(eg: Example, group_by: str | None = None) -> Document:
    """A document in characters, as the scorer compares it, without what cannot be judged."""
    doc, gold = eg.predicted, eg.reference
    scores: dict[tuple[int, int], float] = {}
    if ENTITY_SCORES in doc.spans:
        group = doc.spans[ENTITY_SCORES]
        places = [(span.start_char, span.end_char) for span in group]
        scores = dict(zip(places, group.attrs.get("scores", ()), strict=False))
    predicted = []
    for ent, start, end in on_gold_tokens(eg, doc.ents):
        span, score = gold[start:end], scores.get((ent.start_char, ent.end_char))
        predicted.append((span.start_char, span.end_char, ent.label_, score))
    sents = gold.sents if gold.has_annotation("SENT_START") else [gold[:]]
    return Document(
        title=gold.user_data.get("title", ""),
        group=gold.user_data.get(group_by) if group_by else None,
        text=gold.text,
        sentences=[(sent.start_char, sent.end_char) for sent in sents],
        gold=[(ent.start_char, ent.end_char, ent.label_) for ent in gold.ents],
        predicted=predicted,
    )
