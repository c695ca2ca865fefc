"""Stock spaCy `ner` with the config that `spacy init config` writes.

The setting `start` names its initial weights: nothing, vectors (those of en_core_web_lg), a
transformer, or a pipeline such as en_core_web_sm, whose tok2vec is copied.
"""

import spacy
from protocol import in_words, run
from spacy.cli.init_config import init_config
from spacy.cli.train import train as train_pipeline
from spacy.tokens import Doc, DocBin


def write(sentences, path):
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words, ents=tags) for words, tags in sentences]
    DocBin(docs=docs).to_disk(path)


def train(task):
    start, steps = task.settings["start"], task.settings["steps"]  # steps per round
    optimize = "accuracy" if start == "vectors" else "efficiency"
    config = init_config(lang="en", pipeline=["ner"], optimize=optimize, gpu=start == "transformer")
    if start == "transformer":
        config["components"]["transformer"]["model"]["name"] = task.encoder
    elif start.startswith("en_"):
        config["components"]["tok2vec"] = {"source": start}
        config["components"]["ner"]["model"]["tok2vec"]["width"] = 96
    config.to_disk(task.folder / "config.cfg")
    overrides = {
        "paths.train": str(task.folder / "train.spacy"),
        "paths.dev": str(task.folder / "dev.spacy"),
        "system.seed": task.seed,
        "training.eval_frequency": steps,
        "training.patience": task.patience * steps,
        "training.max_steps": task.rounds * steps,
    }
    write(task.train, overrides["paths.train"])
    write(task.dev, overrides["paths.dev"])
    train_pipeline(task.folder / "config.cfg", task.folder / "model", overrides=overrides)
    best = task.folder / "model" / "model-best"
    return spacy.load(best), best


def predict(nlp, sentences):
    texts = [" ".join(words) for words in sentences]
    docs = nlp.pipe(texts)
    return [
        in_words(words, [(e.start_char, e.end_char, e.label_, None) for e in doc.ents])
        for words, doc in zip(sentences, docs, strict=True)
    ]


run(train, predict)
