"""F1 on targets against the number of donor sentences that the encoder was pretrained on.

    python benchmarks/donor_curve.py corpus/crossner_ai corpus/crossner_science \\
      --donors corpus/wnut17,corpus/wikigold,corpus/btc -o training/donor_curve

A share of every donor's training part is drawn by the seed, smaller shares being parts of larger
ones, and an encoder is pretrained on it, with the same seed and as many steps whatever the share.
Then it is fine-tuned on the targets, whose dev and test parts no donor may have, to convergence. A
share of 0 is the recipe from scratch, with the same clusters and senses. What is done is not done
again. Records, as a matrix's with `donors`, `donor_sentences` and `donor_steps`, are appended to
benchmarks/results/donor_curve.jsonl.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import spacy
import srsly
import typer

from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.parts import part_path, write_part

RESULTS = Path(__file__).parent / "results" / "donor_curve.jsonl"
SENSES = "en_longtail_cnn/senses.npz"
ENCODER = [  # the options of en_longtail_cnn
    *("--encoder", "cnn", "--clusters", "lookups", "--slim", "--power", "0.6", "--evaluations", "2"),
    *("--set", "training.dropout=0.3", "--set", "training.optimizer.learn_rate.initial_rate=0.001"),
    *("--set", "components.tok2vec.model.embed.rows=[2500,1000,1500,1000]"),
    *("--set", "components.tok2vec.model.embed.cluster_rows=[1000,700,128]"),
    *("--set", f"components.tok2vec.model.embed.senses={SENSES}"),
    *("--set", "components.tok2vec.model.embed.sense_rows=[500,64]"),
]
PLAN = {
    "steps": 3000,
    "patience": 200,
    "settings": {
        "training.eval_frequency": 50,
        "nlp.after_pipeline_creation": {"@callbacks": "longtail.numpy_blas.v1"},
    },
}
FROM_SCRATCH = {"config": "configs/clusters_crf.cfg", "components.tok2vec.model.embed.senses": SENSES}


def command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "spacy_longtail", *map(str, arguments)], check=True)


def draw(donor: Path, share: float, seed: int, target: Path) -> None:
    """Write a donor with a share of its training part, one sentence at least, and with its dev part."""
    docs = load_docs(part_path(donor, "train"), spacy.blank("en"))
    order = np.random.default_rng(seed).permutation(len(docs))
    drawn = sorted(order[: max(1, round(share * len(docs)))].tolist())
    held_out = part_path(donor, "dev")
    target.mkdir(parents=True)
    write_part(target, "train", (docs[i] for i in drawn))
    shutil.copy(held_out if held_out.exists() else part_path(donor, "test"), target / "dev.spacy")
    shutil.copy(donor / "types.json", target)


def pretrain(
    donors: list[Path], targets: list[Path], share: float, steps: int, seed: int, run: Path
) -> Path:
    """Draw a share of the donors and pretrain on it, if that is not done yet.

    RETURNS (Path): The pretraining's folder.
    """
    drawn, drawing, pretrained = run / "donors", run / "drawing", run / "pretrained"
    if not drawn.exists():
        shutil.rmtree(drawing, ignore_errors=True)
        for donor in donors:
            draw(donor, share, seed, drawing / donor.name)
        drawing.rename(drawn)
    if not (pretrained / "model").exists():
        excluded = [option for target in targets for option in ("--exclude", target)]
        options = [*ENCODER, "--steps", steps, "--seed", seed, *excluded]
        command("pretrain", *(drawn / donor.name for donor in donors), "-o", pretrained, *options)
    return pretrained


def main(
    targets: Annotated[list[Path], typer.Argument(help="Converted corpora to fine-tune on.")],
    donors: Annotated[str, typer.Option(help="Converted corpora to pretrain on, separated by commas.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for what is trained.")],
    shares: Annotated[
        str, typer.Option(help="Of each donor's training part.")
    ] = "0,0.015625,0.0625,0.25,1",
    steps: Annotated[int, typer.Option(help="Of every pretraining.")] = 2000,
    seeds: Annotated[str, typer.Option(help="Of shares, pretraining and fine-tuning.")] = "0,1,2",
) -> None:
    """Draw, pretrain, fine-tune, and append records."""
    for seed in map(int, seeds.split(",")):
        for share in map(float, shares.split(",")):
            run = output / f"share_{share:g}_steps_{steps if share else 0}_seed_{seed}"
            method: dict[str, Any] = FROM_SCRATCH
            more: dict[str, Any] = {"donors": [], "donor_sentences": 0, "donor_steps": 0}
            if share:
                folder = pretrain([Path(d) for d in donors.split(",")], targets, share, steps, seed, run)
                method = {
                    "config": "configs/pretrained_cnn.cfg",
                    "paths.pretrained": str(folder / "model"),
                }
                found = srsly.read_json(folder / "pretrain.json")["donors"]
                more = {
                    "donors": [own["name"] for own in found],
                    "donor_sentences": sum(own["sentences"] for own in found),
                    "donor_steps": steps,
                }
            run.mkdir(parents=True, exist_ok=True)
            name = "pretrained" if share else "from-scratch"
            srsly.write_yaml(run / "plan.yml", PLAN | {"methods": {name: method}})
            command("matrix", run / "plan.yml", *targets, "-o", run / "targets", "--seeds", seed)
            known = (
                {record["key"] for record in srsly.read_jsonl(RESULTS)} if RESULTS.exists() else set()
            )
            new = [own | more for own in srsly.read_jsonl(run / "targets" / "trials.jsonl")]
            new = [own for own in new if own["key"] not in known]
            srsly.write_jsonl(RESULTS, new, append=RESULTS.exists(), append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
