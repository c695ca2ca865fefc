"""The light install imports, trains and predicts. Run it without torch and matplotlib."""

import importlib.util
import tempfile
from pathlib import Path

import spacy
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin, Span

from spacy_longtail.studies.configs.recipes import make_config, read_recipes

SENTENCES = [
    ("Maria sailed to Oslo on the Fram .", [(0, 1, "PER"), (3, 4, "GEO"), (6, 7, "ART")]),
    ("Jon stayed in Rome .", [(0, 1, "PER"), (3, 4, "GEO")]),
    ("It rained .", []),
]


def main() -> None:
    for package in ("torch", "matplotlib", "spacy_transformers", "cleanlab"):
        assert importlib.util.find_spec(package) is None, (
            f"{package} is installed: this is no light install"
        )
    nlp = spacy.blank("en")
    docs = []
    for text, ents in SENTENCES:
        doc = Doc(nlp.vocab, words=text.split())
        doc.set_ents([Span(doc, a, b, label=label) for a, b, label in ents])
        docs.append(doc)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.spacy"
        DocBin(docs=docs * 4).to_disk(data)
        overrides = dict.fromkeys(("paths.train", "paths.dev"), str(data))
        overrides |= dict.fromkeys(("training.max_steps", "training.eval_frequency"), 30)
        overrides |= {"longtail.labels": ["PER", "GEO", "ART"], "longtail.tail": ["ART"]}
        for name in ("gated_token", "token_crf", "token_two_task"):
            own = {"longtail.frequent": ["PER", "GEO"]} if name == "gated_token" else {}
            make_config(read_recipes()[name]).to_disk(Path(folder) / "config.cfg", interpolate=False)
            train(Path(folder) / "config.cfg", Path(folder) / name, overrides=overrides | own)
            doc = spacy.load(Path(folder) / name / "model-last")("Maria sailed to Oslo on the Fram .")
            assert doc.ents, f"{name} learnt nothing"
            assert len(doc.spans["entity_scores"]) == len(doc.ents)
    print("3 passed, 0 failed")


if __name__ == "__main__":
    main()
