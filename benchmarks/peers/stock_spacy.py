"""Stock spaCy `ner`, with the config that `spacy init config` writes.

The setting `start` names what it starts from: nothing, en_core_web_sm's tok2vec, or a transformer.
"""

import spacy
from protocol import in_words, run
from spacy.cli.init_config import init_config
from spacy.cli.train import train as train_pipeline
from spacy.tokens import Doc, DocBin


def write(sentences, path):
    vocab = spacy.blank("en").vocab
    docs = DocBin()
    for sentence in sentences:
        doc = Doc(vocab, words=sentence.words, ents=sentence.tags)
        docs.add(doc)
    docs.to_disk(path)


def train(task):
    start = task.settings["start"]
    config = init_config(lang="en", pipeline=["ner"], gpu=start == "transformer")
    if start == "transformer":
        config["components"]["transformer"]["model"]["name"] = task.encoder
    elif start != "nothing":
        config["components"]["tok2vec"] = {"source": start}
        config["components"]["ner"]["model"]["tok2vec"]["width"] = 96
    config.to_disk(task.folder / "config.cfg")
    paths = {part: str(task.folder / f"{part}.spacy") for part in ("train", "dev")}
    write(task.train, paths["train"])
    write(task.dev, paths["dev"])
    steps = task.settings["steps"]  # of a round
    overrides = {
        "paths": paths,
        "system.seed": task.seed,
        "training.eval_frequency": steps,
        "training.patience": task.patience * steps,
        "training.max_steps": task.rounds * steps,
    }
    overrides |= {f"paths.{part}": path for part, path in overrides.pop("paths").items()}
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


if __name__ == "__main__":
    run(train, predict)
