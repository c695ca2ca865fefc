"""Records of evaluations and statistics, as JSON data."""

from collections.abc import Iterable

from spacy_longtail.corpus.statistics import PartStatistics
from spacy_longtail.evaluation.records import Document


def documents_of(rows: Iterable[dict]) -> list[Document]:
    """Documents of an evaluation, from JSON data."""
    return [Document.model_validate({"text": "", **row}, strict=False) for row in rows]


def evaluation_data(documents: list[dict], **given) -> dict:
    """An evaluation as JSON data: what is given, and what nothing looks at."""
    averages = dict.fromkeys(("ents_f", "ents_macro_f", "ents_weighted_f"), 0.0)
    about = {"name": "toy", "model": "toy/model-best", "data": "toy/test.spacy", "documents": documents}
    rest = {"labels": [], "tail": [], "training": {}, "performance": {}, "words_per_second": 1.0}
    scores = {**averages, "ents_per_type": {}, **given.get("scores", {})}
    return {**about, **rest, **given, "scores": scores}


def type_statistics(**given) -> dict:
    """A type in a part, as stats.json has it: what is given, and numbers that nothing looks at."""
    return {"mentions": 20, "tokens": 20, "sentences": 20, "rareness": 4.5, **given}


def part_statistics(types: dict[str, dict], **given) -> dict:
    """A part, as stats.json has it."""
    found = {name: 20 for name, f in PartStatistics.model_fields.items() if f.annotation is int}
    return {**found, "types": types, **given}


def corpus_statistics_of(parts: dict[str, dict], labels: list[str], **given) -> dict:
    """stats.json of a corpus in which nothing occurs twice."""
    nothing = {"sentences": 0, "entity_sentences": 0, "share": 0.0, "examples": []}
    found = {"corpus": "toy", "lang": "en", "labels": labels, "parts": parts, "diagnosis": []}
    found |= {"undeclared": [], "tail": [], "buckets": {"head": labels, "mid": [], "tail": []}}
    found |= {"duplicates": dict.fromkeys(parts, 0), "conflicts": {"texts": 0, "examples": []}}
    found["leakage"] = {part: nothing for part in parts if part != "train"}
    return {**found, **given}
