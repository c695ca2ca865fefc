"""This package, with `convert` and `train`. The setting `config` names a file in configs/."""

import json
import subprocess
import sys
from pathlib import Path

import spacy
from protocol import in_words, run

CONFIGS = Path(__file__).parents[2] / "configs"


def longtail(*arguments):
    subprocess.run([sys.executable, "-m", "spacy_longtail", *map(str, arguments)], check=True)


def train(task):
    source, corpus, output = (task.folder / name for name in ("source", "corpus", "model"))
    source.mkdir(exist_ok=True)
    types = {"labels": task.types, "tail": task.rare}
    (source / "corpus.json").write_text(json.dumps(types), encoding="utf8")
    for part, sentences in (("train", task.train), ("dev", task.dev)):
        blocks = ["\n".join(map("\t".join, zip(*sentence, strict=True))) for sentence in sentences]
        (source / f"{part}.iob2").write_text("\n\n".join(blocks) + "\n", encoding="utf8")
    longtail("convert", source, corpus)
    settings = dict(task.settings)
    config = CONFIGS / settings.pop("config")
    given = ["--system.seed", task.seed]
    for name, value in settings.items():
        given += [f"--{name}", value if isinstance(value, str) else json.dumps(value)]
    longtail("train", config, corpus, output, *given)
    best = output / "model-best"
    return spacy.load(best), best


def predict(nlp, sentences):
    docs = nlp.pipe([" ".join(words) for words in sentences])
    entities = []
    for words, doc in zip(sentences, docs, strict=True):
        group = doc.spans["entity_scores"]
        scores = {(s.start, s.end): p for s, p in zip(group, group.attrs["scores"], strict=True)}
        spans = [(e.start_char, e.end_char, e.label_, scores.get((e.start, e.end))) for e in doc.ents]
        entities.append(in_words(words, spans))
    return entities


run(train, predict)
