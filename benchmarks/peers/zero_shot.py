"""GLiNER or GLiNER2 with the weights of the setting `model`, without training.

Types are given by their names, in lower case and with blanks. The threshold is the default of the
package.
"""

import re

from protocol import in_words, run


def in_blanks(label):
    """Return "political party" for politicalParty, political_party and political-party."""
    return re.sub(r"[_-]+|(?<=[a-z])(?=[A-Z])", " ", label).lower()


def train(task):
    name = task.settings["model"]
    if task.settings.get("second"):
        from gliner2 import GLiNER2 as Kind
    else:
        from gliner import GLiNER as Kind
    model = Kind.from_pretrained(name)
    folder = task.folder / "model"
    model.save_pretrained(folder)
    label_of = {in_blanks(label): label for label in task.types}
    find = second if task.settings.get("second") else first
    return (model, label_of, find), folder


def first(model, texts, types):
    for entities in model.inference(texts, types):
        yield [(e["start"], e["end"], e["label"], e["score"]) for e in entities]


def second(model, texts, types):
    kept = {"include_confidence": True, "include_spans": True}
    for row in model.batch_extract_entities(texts, types, **kept):
        spans = [
            (e["start"], e["end"], label, e["confidence"])
            for label, entities in row["entities"].items()
            for e in entities
        ]
        yield apart(sorted(spans, key=lambda span: -span[-1]))


def apart(spans):
    """Return the highest-scoring spans without overlaps."""
    kept = []
    for span in spans:
        if all(span[1] <= other[0] or other[1] <= span[0] for other in kept):
            kept.append(span)
    return kept


def predict(loaded, sentences):
    model, label_of, find = loaded
    texts = [" ".join(words) for words in sentences]
    return [
        [(*place, label_of[label], p) for *place, label, p in in_words(words, spans)]
        for words, spans in zip(sentences, find(model, texts, list(label_of)), strict=True)
    ]


run(train, predict)
