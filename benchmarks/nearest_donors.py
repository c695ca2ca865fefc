"""Ask which corpora of other types are worth pretraining on, and whether that can be foreseen.

    python benchmarks/languages.py SOURCES corpus/domains --language en --train 300 --name dimb_re
    python benchmarks/nearest_donors.py corpus/domains/* --donor corpus/near/bionlp13cg \\
        --donor corpus/near/gmb_subset

For each donor, the CNN is pretrained further on it, for 300 steps with free-text types among the
batches. The config pretrained_cnn is then trained on each target from that encoder, as in
domains.yml. Two figures of nearness need no training: how like the descriptions of the types are
(the mean over the target's types of the cosine to the nearest type of the donor), and how like the
texts are (the fraction of the words of the target's training part that the donor has). A target is
never its own donor. Appends one JSON record for each target and donor to
benchmarks/results/nearest_donors.jsonl.
"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import srsly
import typer
from spacy.tokens import Doc
from zero_shot import in_points

from spacy_longtail.corpus.folder import load_docs, read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.corpus.type_words import type_words
from spacy_longtail.evaluation.evaluate import score_pipeline
from spacy_longtail.pipes.token.pretrained_head import read_pretrained
from spacy_longtail.training.loading import load_pipeline
from spacy_longtail.training.provenance import BEST
from spacy_longtail.training.train import train_model

BASE = "en_longtail_cnn"
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "nearest_donors.jsonl"
CONFIG = ROOT / "configs" / "pretrained_cnn.cfg"
OPEN_TYPES = ROOT / "assets" / "open_types"
PRETRAINING = ("--steps", "300", "--evaluations", "1")


def pretrain(donor: Path, targets: list[Path], output: Path) -> Path:
    """Pretrain the CNN further on a donor, if that is not done yet, and return the encoder.

    The dev and test sentences of all targets are excluded, so other targets need another folder.
    """
    if not (output / "model").is_dir():
        exclude = [word for target in targets for word in ("--exclude", str(target))]
        command = (sys.executable, "-m", "spacy_longtail", "pretrain", str(donor), str(OPEN_TYPES))
        subprocess.run([*command, "-o", str(output), *PRETRAINING, *exclude], check=True)
    return output / "model"


def words_of(docs: list[Doc]) -> set[str]:
    """Return the words of some documents in lower case, numbers and punctuation aside."""
    return {token.lower_ for doc in docs for token in doc if token.is_alpha}


def nearness(target: Path, donor: Path) -> dict[str, float]:
    """Return how like the types and the texts of two corpora are, each from 0 to 1."""
    head = read_pretrained(BASE, "benchmark")
    own, others = (
        head.pipe.describe(list(type_words(types.labels, types.descriptions).values()))
        for types in (read_types(target), read_types(donor))
    )
    words, known = (words_of(load_docs(part_path(c, "train"), head.nlp)) for c in (target, donor))
    return {
        "types_alike": round(float((own @ others.T).max(axis=1).mean()), 4),
        "words_known": round(len(words & known) / len(words), 4),
    }


def main(
    targets: Annotated[list[Path], typer.Argument(exists=True, help="Converted corpora.")],
    donors: Annotated[list[Path], typer.Option("--donor", help="Converted corpus; repeatable.")],
    output: Annotated[Path, typer.Option("--output", "-o")] = Path("training/nearest_donors"),
    seed: Annotated[int, typer.Option(help="Random seed of training on the target.")] = 0,
    results: Annotated[Path, typer.Option(help="JSONL file to append to.")] = RESULTS,
) -> None:
    """Train on each target from an encoder that was pretrained further on each donor."""
    for donor in donors:
        encoder = pretrain(donor, targets, output / donor.name)
        for target in targets:
            if target.name == donor.name:
                continue
            types = read_types(target)
            folder = output / f"{target.name}-{donor.name}-{seed}"
            settings = {
                "paths.pretrained": str(encoder.resolve()),
                "training.max_steps": 2000,
                "training.patience": 300,
                "training.eval_frequency": 50,
                "system.seed": seed,
            }
            train_model(CONFIG, target, folder, overrides=settings)
            nlp = load_pipeline(folder / BEST)
            scores = {
                part: in_points(score_pipeline(nlp, part_path(target, part), types.labels, types.tail))
                for part in ("dev", "test")
            }
            names = {"target": target.name, "donor": donor.name, "seed": seed}
            record = {**names, **nearness(target, donor), **scores}
            print(record, flush=True)
            srsly.write_jsonl(results, [record], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
