"""Evaluations of toy models, from which tests write reports."""

import json

from spacy_longtail.evaluation.report import read_report
from spacy_longtail.evaluation.report.systems import read_statistics
from spacy_longtail.evaluation.significance import mention_counts, named_metrics
from tests.util import corpus_statistics_of, documents_of, part_statistics, type_statistics

LABELS, TAIL = ["PER", "LOC", "ART"], ["ART"]
TEXT = "Ann met <script>alert(1)</script> in Rome. Nothing here."
PLACES = {"PER": [(0, 3), (43, 50)], "LOC": [(37, 41)], "ART": [(8, 33)]}  # ART is the markup
N_DOCUMENTS = 30
KEYS = {"macro": "ents_macro_f", "micro": "ents_f", "weighted": "ents_weighted_f", "tail": "ents_tail_f"}


def statistics():
    """Return the statistics of a corpus of three types, of which ART is rare."""
    counts = type_statistics(mentions=20, tokens=30, sentences=15, rareness=4.5)
    types = {t: {**counts, "unseen": share} for t, share in (("PER", 0.5), ("LOC", 0.25), ("ART", None))}
    part = part_statistics(types, documents=2, sentences=40, tokens=500)
    return corpus_statistics_of(dict.fromkeys(("train", "dev", "test"), part), LABELS, tail=TAIL)


def gold_spans(i):
    labels = [label for label in LABELS if label != "ART" or i % 3 == 0]
    return [[*place, label] for label in labels for place in PLACES[label]]


def evaluation(name, found=None, seed=7, dev=0.4, n_documents=N_DOCUMENTS, spurious=0, **more):
    """Return the evaluation of a model that finds each type in its first N documents."""
    found = dict.fromkeys(LABELS, N_DOCUMENTS) | (found or {})
    documents = []
    for i in range(n_documents):
        predicted = [[*span, 0.875] for span in gold_spans(i) if i < found[span[2]]]
        predicted += [[11, 14, "LOC", None]] if i < spurious else []
        sentences = [[0, 42], [43, 56]]
        title = "A <b>title</b>"
        document = {"title": title, "text": TEXT, "sentences": sentences, "gold": gold_spans(i)}
        documents.append({**document, "predicted": predicted})
    data = {"name": name, "model": f"/home/someone/private/{name}/model-best", "documents": documents}
    data |= {"data": "corpus/toy/test.spacy", "checksum": "c" * 64, "labels": LABELS, "tail": TAIL}
    data |= {"training": {"seed": seed, "max_steps": 1234}, "performance": {"ents_macro_f": dev}}
    data |= {"method": {}, "run": {}, "curve": [], "analysis": None, "words_per_second": 4321.0, **more}
    return {**data, "scores": scores_of(data)}


def scores_of(data):
    """Return the scores of an evaluation's documents."""
    counts = mention_counts(documents_of(data["documents"]), data["labels"]).counts.sum(axis=0)
    own = {n: float(m(counts)) for n, m in named_metrics(data["labels"], data["tail"]).items()}
    kinds = {"p": "precision", "r": "recall", "f": "F1"}
    per_type = {
        label: {**{k: own[f"{n} of {label}"] for k, n in kinds.items()}, "support": int(counts[i, 2])}
        for i, label in enumerate(data["labels"])
    }
    averages = {key: own.get(f"{kind} F1", 0.0) for kind, key in KEYS.items()}
    return {**averages, "ents_per_type": per_type}


# six more of ten ART, two more documents' PER
WEAK = {"ART": 6, "PER": 20}


def write(folder, stats, *evaluations):
    """Write statistics and evaluations as JSON, and return their paths."""
    paths = []
    for i, data in enumerate((stats, *evaluations)):
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(json.dumps(data), encoding="utf-8")
    return paths[0], paths[1:]


def report_of(stats, evaluations, baseline=None, ours=None):
    """Return the report on files that `write` wrote."""
    return read_report(read_statistics(stats), evaluations, baseline, ours)
