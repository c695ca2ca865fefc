"""Evaluation of a trained pipeline: scores, and each document with gold and predicted entities."""

import os
import time
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

from spacy.language import Language
from spacy.pipeline.pipe import Pipe
from spacy.tokens import Span
from spacy.training import Corpus, Example

from ..corpus.converted import TrainingCounts
from ..corpus.examples import on_gold_tokens, predict_examples
from ..corpus.parts import check_docs, checksum
from ..errors import Errors, Warnings
from ..pipes.neighbours import is_gate
from ..pipes.scores.spans import read_scores
from ..pipes.secondary.gated_pipe import GatedPipe
from ..pipes.token.ensemble_ner import EnsembleNER
from ..scorers import make_ner_scorer
from ..training.loading import load_for_types, pipeline_folder
from ..training.provenance import MODELS, method_of, read_curve, read_run
from ..types import ENTITY_SCORES
from .analysis import analyse
from .records import Document, Evaluation, Scores, TrainingSettings

DEV = "dev"  # part whose scores are in the meta data of a pipeline
UNNAMED = (*MODELS, "model")  # folder names that `train` gives to every pipeline


def evaluate_model(
    model: Path | str,
    data: Path,
    labels: list[str],
    tail: list[str],
    name: str | None = None,
    training: TrainingCounts | None = None,
    part: str | None = None,
    descriptions: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    group_by: str | None = None,
) -> Evaluation:
    """Run a pipeline over a .spacy file and score it on the declared types.

    model (Path | str): Folder of a pipeline, or name of an installed package.
    data (Path): A .spacy file, or a folder of such files.
    labels (List[str]): The declared types.
    tail (List[str]): The rare types.
    name (Optional[str]): Name of the model in reports. By default the name of its folder or, if
        that is model-best, model-last or model, the name of the parent folder.
    training (Optional[TrainingCounts]): Counts of the training part, for scores by type frequency
        and of unseen mentions. Without them there is no analysis.
    part (Optional[str]): Part of the corpus that the data is. Reports accept only "test".
    descriptions (Optional[Mapping[str, str]]): Description of each declared type, by which a
        pretrained encoder finds it. A trained pipeline keeps its own types.
    names (Optional[Mapping[str, str]]): Corpus types by pipeline type, for types with different
        names.
    group_by (Optional[str]): Key of user_data. Documents with the same value form one unit of
        significance tests and intervals.
    RETURNS (Evaluation): Scores in [0, 1], their analysis, documents with gold and predicted
        entities and, if the command `train` recorded it, how the pipeline was made.
    RAISES (ValueError): If pipeline and data have no type in common.
    """
    place = Path(os.path.abspath(pipeline_folder(model)))  # "." has no parent
    if name is None:
        is_package = place != Path(os.path.abspath(model))
        name = str(model) if is_package else (place.parent if place.name in UNNAMED else place).name
    run, curve = read_run(place), read_curve(place)
    nlp = load_for_types(model, descriptions or {})
    secondaries = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, GatedPipe)}
    examples, seconds = _read(nlp, data)
    rename_types(examples, names or {})
    check_types(examples, labels, str(model), str(data))
    scores = make_ner_scorer(labels, tail)(examples)
    for _, pipe in nlp.pipeline:
        if is_gate(pipe):
            gate, renamed = cast(Pipe, pipe), names or {}
            types = [renamed.get(label, label) for label in gate.labels]
            scores.update(gate.score(examples, labels=types))
    details = None if training is None else analyse(examples, labels, tail, training)
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
        method=method_of(nlp),
        run=run,
        curve=curve,
        performance={n: value for n, value in performance.items() if isinstance(value, (int, float))},
        scores=Scores(**scores),
        analysis=details,
        secondaries={n: dict(pipe.usage) for n, pipe in secondaries.items()},
        words_per_second=sum(len(eg.predicted) for eg in examples) / max(seconds, 1e-9),
        # documents without annotation cannot be scored
        documents=[_document(eg, group_by) for eg in examples if eg.reference.has_annotation("ENT_IOB")],
    )


def score_pipeline(nlp: Language, data: Path, labels: list[str], tail: list[str]) -> Scores:
    """Score a loaded pipeline on the declared types.

    nlp (Language): The pipeline.
    data (Path): A .spacy file, or a folder of such files.
    labels (List[str]): The declared types.
    tail (List[str]): The rare types.
    RETURNS (Scores): Scores in [0, 1].
    """
    return Scores(**make_ner_scorer(labels, tail)(_read(nlp, data)[0]))


def update_performance(nlp: Language, data: Path, names: Collection[str] | None = None) -> None:
    """Update the scores in the meta data of a pipeline that has changed since its training.

    nlp (Language): The pipeline, changed in place.
    data (Path): Dev part: a .spacy file, or a folder of such files.
    names (Optional[Collection[str]]): Names of the scores. By default those that are there.
    """
    scores = nlp.evaluate(list(Corpus(data)(nlp)))
    kept = nlp.meta.setdefault("performance", {})
    kept.update({name: scores[name] for name in (kept if names is None else names) if name in scores})


def _read(nlp: Language, data: Path) -> tuple[list[Example], float]:
    """Return documents with annotation and predictions, and the seconds that predicting took."""
    check_docs(data)  # refuses a file that cannot be read
    examples = list(Corpus(data)(nlp))
    start = time.perf_counter()
    predict_examples(nlp, examples)
    return examples, time.perf_counter() - start


def _training_settings(nlp: Language) -> TrainingSettings:
    """Return the training settings in a pipeline's config.

    The config of an ensemble is that of its first member, so that only its seed is valid.
    """
    settings = nlp.config.interpolate()["training"]
    if any(isinstance(pipe, EnsembleNER) for _, pipe in nlp.pipeline):
        return TrainingSettings(seed=settings["seed"])
    return TrainingSettings(**{name: settings[name] for name in TrainingSettings.model_fields})


def _document(eg: Example, group_by: str | None = None) -> Document:
    """Return a document in character offsets, with those predictions that the scorer judges."""
    doc, gold = eg.predicted, eg.reference
    # without the label, which `rename_types` may have changed
    scores = {place[:2]: scored.score for place, scored in read_scores(doc, ENTITY_SCORES).items()}
    predicted = []
    for ent, start, end in on_gold_tokens(eg, doc.ents):
        span, score = gold[start:end], scores.get((ent.start, ent.end))
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


def rename_types(examples: Sequence[Example], names: Mapping[str, str]) -> None:
    """Rename the types of predicted entities to the corpus's names, in place.

    examples (Sequence[Example]): Examples with the predictions of a pipeline.
    names (Mapping[str, str]): Name of a type in the corpus, by its name in the pipeline.
    """
    predicted = {ent.label_ for eg in examples for ent in eg.predicted.ents}
    for name in sorted(set(names) - predicted):
        warnings.warn(Warnings.W200.format(name=name, value=names[name]), stacklevel=3)
    if names:
        for eg in examples:
            doc = eg.predicted
            doc.ents = [Span(doc, e.start, e.end, names.get(e.label_, e.label_)) for e in doc.ents]


def check_types(examples: Sequence[Example], labels: Collection[str], model: str, data: str) -> None:
    """Warn of predicted types that the corpus does not have, and suggest names of the corpus.

    examples (Sequence[Example]): Examples with gold annotation and predictions.
    labels (Collection[str]): The declared types.
    model (str): Name of the pipeline for messages.
    data (str): Name of the data for messages.
    RAISES (ValueError): If no predicted type is declared or occurs in the data.
    """
    gold = Counter(ent.label_ for eg in examples for ent in eg.reference.ents)
    predicted = Counter(ent.label_ for eg in examples for ent in eg.predicted.ents)
    foreign = {t: n for t, n in predicted.most_common() if t not in labels and t not in gold}
    if not foreign or not gold:
        return
    missing = [label for label in dict.fromkeys([*labels, *gold]) if label not in predicted]
    pairs = _likely_names(examples, foreign, missing)
    options = " ".join(f"--map {name}={label}" for name, label in pairs.items())
    shown = {
        "model": model,
        "data": data,
        "predicted": ", ".join(f"{label} ({n})" for label, n in foreign.items()),
        "fix": f"If the corpus has these types under other names, add {options or '--map THIS=THAT'}.",
    }
    if len(foreign) == len(predicted):
        raise ValueError(Errors.L841.format(**shown, known=", ".join(gold)))
    warnings.warn(Warnings.W199.format(**shown), stacklevel=3)


def _likely_names(
    examples: Sequence[Example], foreign: Collection[str], missing: Collection[str]
) -> dict[str, str]:
    """Return the corpus type that is most often annotated where an unknown type is predicted."""
    together: dict[str, Counter[str]] = {label: Counter() for label in foreign}
    for eg in examples:
        gold = {(ent.start, ent.end): ent.label_ for ent in eg.reference.ents}
        for ent, start, end in on_gold_tokens(eg, eg.predicted.ents):
            label = gold.get((start, end), "")
            if ent.label_ in together and label in missing:
                together[ent.label_][label] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in together.items() if counts}
