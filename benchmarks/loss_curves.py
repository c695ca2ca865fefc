"""Loss of every training step, to the last digit, for each kind of loss and head.

    export OMP_NUM_THREADS=1
    longtail convert assets/field_notes corpus/field_notes
    python benchmarks/loss_curves.py before.json
    python benchmarks/loss_curves.py after.json --against before.json

Use it for a change of losses or heads that should change no number. Each pipeline is trained from
random weights on the field notes, without a shuffled reader or a config that may change.
"""

import random
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer
from spacy.training import Corpus, Example
from spacy.util import fix_random_seed
from typer import Option

from spacy_longtail.chains.tags import TagCodec
from spacy_longtail.corpus.cutting import write_soft

ROOT = Path(__file__).resolve().parent.parent
SCORER = {"@scorers": "longtail.ner_scorer.v1"}
CNN = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    **{"pretrained_vectors": None, "width": 32, "depth": 2, "embed_size": 500},
    **{"window_size": 1, "maxout_pieces": 2, "subword_features": True},
}
# reading comprehension needs an encoder that reads query and sentence together
BILSTM = {
    "@architectures": "longtail.BiLSTM.v1",
    **{"hidden_width": 16, "depth": 1, "dropout": 0.0},
    "embed": {
        "@architectures": "spacy.MultiHashEmbed.v2",
        **{"width": 32, "attrs": ["NORM"], "rows": [500], "include_static_vectors": False},
    },
}
TOKEN_MODEL = {"@architectures": "longtail.TokenClassifier.v1", "nO": None, "tok2vec": CNN}
TYPES = ("PER", "ORG", "GEO", "GPE", "TIM", "ART", "EVE", "NAT")


def make_loss(name: str, **settings: object) -> dict[str, Any]:
    """Return the config block of a registered loss."""
    return {"loss": {"@losses": f"longtail.{name}.v1", **settings}}


def make_mom(unit: str) -> dict[str, Any]:
    """Return the block of MoM over a focal loss with class weights."""
    weights = {"@misc": "longtail.log_inverse_frequency.v1", "beta": 3.0, "unit": unit}
    return make_loss("MoM", base=make_loss("Focal", gamma=1.5, weights=weights)["loss"])


PIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "transition stock": ("longtail_ner", {}),
    "transition focal": ("longtail_ner", make_loss("Focal")),
    "transition MoM": ("longtail_ner", make_mom("type")),
    "transition dice": ("longtail_ner", make_loss("Dice", terms="gold", alpha=0.5)),
    "softmax": ("longtail_token_ner", {}),
    "softmax MoM": ("longtail_token_ner", make_mom("tag")),
    "softmax dice": ("longtail_token_ner", {"warmup": 10, **make_loss("Dice", alpha=0.6)}),
    "softmax distillation": ("longtail_token_ner", make_loss("Distillation", temperature=3.0)),
    "sigmoid": ("longtail_token_ner", {"head": "sigmoid"}),
    "crf": ("longtail_token_ner", {"head": "crf"}),
    "crf MoM": ("longtail_token_ner", {"head": "crf", **make_mom("tag")}),
    "two_task AUC": ("longtail_token_ner", {"head": "two_task"}),
    "two_task running AUC": (
        "longtail_token_ner",
        {"head": "two_task", **make_loss("AUCMargin", form="running")},
    ),
    "two_task COMAUC": ("longtail_token_ner", {"head": "two_task", **make_loss("CompositionalAUC")}),
    "two_task cross-entropy": (
        "longtail_token_ner",
        {"head": "two_task", **make_loss("TwoTaskCrossEntropy", begin_weight=2.0)},
    ),
    "mrc MoM": ("longtail_mrc_ner", make_loss("MoM")),
    "gated": (
        "longtail_gated_ner",
        {"labels": ["ART", "EVE", "NAT"], "merge": "fill", **make_mom("tag")},
    ),
}


def train(factory: str, settings: dict[str, Any], corpus: Path, n_steps: int) -> dict[str, Any]:
    """Return the loss of every step and the scores on dev of one training.

    factory (str): The component. settings (dict): Its settings, with the loss.
    corpus (Path): Folder with train.spacy and dev.spacy.
    """
    fix_random_seed(0)
    nlp = spacy.blank("en")
    if factory == "longtail_mrc_ner":
        queries = {label: f"Find each {label.lower()}." for label in TYPES}
        settings = {"model": {"@architectures": "longtail.MRC.v1", "tok2vec": BILSTM}, **settings}
        settings |= {"queries": queries}
    elif factory == "longtail_ner":
        model = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner"}
        model |= {"hidden_width": 32, "maxout_pieces": 2, "use_upper": True, "tok2vec": CNN}
        settings = {"model": {**model, "extra_state_tokens": False}, **settings}
    else:
        settings = {"model": TOKEN_MODEL, **settings}
    if factory == "longtail_gated_ner":
        nlp.add_pipe("sentencizer")
        gate = {"@architectures": "longtail.SentenceGate.v1", "tok2vec": CNN}
        nlp.add_pipe(
            "longtail_sentence_gate",
            name="gate",
            config={"model": gate, "rare_labels": list(TYPES[-3:])},
        )
    nlp.add_pipe(factory, name="ner", config={"scorer": SCORER, **settings})
    gold = [eg.reference for eg in Corpus(corpus / "train.spacy")(nlp)]
    if "Distillation" in str(settings):
        codec, rng = TagCodec(TYPES), np.random.default_rng(0)
        for doc in gold[::2]:
            write_soft(doc, codec.tags, np.log(rng.dirichlet(np.full(len(codec), 0.1), len(doc)) + 1e-9))
    if "log_inverse_frequency" in str(settings):
        reader = {
            "@readers": "spacy.Corpus.v1",
            "path": str(corpus / "train.spacy"),
            "gold_preproc": False,
        }
        nlp.config["initialize"]["components"]["ner"] = {"counts_corpus": reader}
    optimizer = nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in gold])
    rng, curve = random.Random(0), []
    for _ in range(n_steps):
        batch = [Example(nlp.make_doc(doc.text), doc) for doc in rng.sample(gold, 12)]
        losses = nlp.update(batch, drop=0.1, sgd=optimizer, annotates=nlp.pipe_names[:1])
        curve.append({name: float(loss) for name, loss in losses.items()})
    dev = [Example(nlp.make_doc(eg.text), eg.reference) for eg in Corpus(corpus / "dev.spacy")(nlp)]
    return {"losses": curve, "scores": nlp.evaluate(dev[:60], batch_size=32)}


def main(
    target: Path,
    corpus: Path = ROOT / "corpus" / "field_notes",
    against: Path | None = None,
    steps: int = 50,
    only: Annotated[str, Option(help="Train the pipelines whose name has this text.")] = "",
) -> None:
    """Train every pipeline, write the curves to TARGET, and compare them with those of AGAINST."""
    found = {}
    for name, (factory, settings) in PIPES.items():
        if only in name:
            found[name] = train(factory, settings, corpus, steps)
            found[name]["scores"].pop("speed")
            print(name, found[name]["losses"][-1], found[name]["scores"].get("ents_f"), flush=True)
    srsly.write_json(target, found)
    if against is not None:
        before = srsly.read_json(against)
        differing = [name for name in found if srsly.read_json(target)[name] != before.get(name)]
        print("differ:", ", ".join(differing) or "none")
        sys.exit(bool(differing))


if __name__ == "__main__":
    typer.run(main)
