"""Train the CNN and six layers on unlabelled text of their domain, which a teacher has annotated.

    python benchmarks/languages.py SOURCES corpus/domains --language en --train 300 \\
        --name dimb_re --pool corpus/pools
    python benchmarks/self_training.py corpus/domains/dimb_re corpus/pools/dimb_re.txt

Both configs are trained on the corpus alone. The teacher is the CNN, six layers or the ensemble of
the two, whichever has the best macro F1 on dev. Its confident predictions and the corpus then train
the students: six layers for 1,000 steps, to be compared with six layers after 1,000 steps in
domains.jsonl, and the CNN with `--student CNN`. Appends one JSON record with macro, tail and micro
F1 on dev and test to benchmarks/results/self_training.jsonl. Trainings that OUTPUT has already are
not repeated.
"""

from pathlib import Path
from typing import Annotated

import srsly
import typer
from zero_shot import in_points

from spacy_longtail.corpus.folder import read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.ensemble import build_ensemble
from spacy_longtail.evaluation.evaluate import score_pipeline
from spacy_longtail.training.loading import load_pipeline
from spacy_longtail.training.provenance import BEST
from spacy_longtail.training.train import train_model
from spacy_longtail.types import Overrides
from spacy_longtail.unlabelled.distil import STUDENT, DistilRequest, distil

RESULTS = Path(__file__).parent / "results" / "self_training.jsonl"
CONFIGS = Path(__file__).parents[1] / "configs"
LONG: Overrides = {
    "training.max_steps": 2000,
    "training.patience": 300,
    "training.eval_frequency": 50,
}
TEACHERS: dict[str, tuple[Path, Overrides]] = {
    "CNN": (CONFIGS / "pretrained_cnn.cfg", LONG),
    "six layers": (CONFIGS / "transformer.cfg", {}),
}
STUDENTS: dict[str, tuple[Path, Overrides]] = {
    **TEACHERS,
    "six layers": (
        CONFIGS / "transformer.cfg",
        {"training.max_steps": 1000, "training.eval_frequency": 100},
    ),
}
DEFAULT = ["six layers"]


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="Converted corpus.")],
    pool: Annotated[Path, typer.Argument(exists=True, help="Unlabelled text of its domain.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the trainings.")] = Path(
        "training/self_training"
    ),
    students: Annotated[list[str], typer.Option("--student", help="Repeatable.")] = DEFAULT,
    seed: Annotated[int, typer.Option(help="Random seed of all trainings.")] = 0,
    results: Annotated[Path, typer.Option(help="JSONL file to append to.")] = RESULTS,
) -> None:
    """Train teachers and students, and score all of them."""
    types, place = read_types(corpus), output / f"{corpus.name}-{seed}"
    seeded: Overrides = {"system.seed": seed}

    def scores(model: Path) -> dict[str, dict[str, float]]:
        nlp = load_pipeline(model)
        data = {part: part_path(corpus, part) for part in ("dev", "test")}
        return {
            part: in_points(score_pipeline(nlp, path, types.labels, types.tail))
            for part, path in data.items()
        }

    teachers = {name: place / name for name in TEACHERS}
    for name, (config, settings) in TEACHERS.items():
        if not teachers[name].is_dir():
            train_model(config, corpus, teachers[name], overrides={**settings, **seeded})
    models = {name: folder / BEST for name, folder in teachers.items()}
    models["ensemble"] = place / "ensemble"
    if not models["ensemble"].is_dir():
        build_ensemble(list(teachers.values()), models["ensemble"])
    found = {name: scores(model) for name, model in models.items()}
    teacher = max(found, key=lambda name: found[name]["dev"]["macro"])
    kept = dict[str, int]()
    for name in students:
        config, settings = STUDENTS[name]
        folder = place / f"{name} taught"
        if not folder.is_dir():
            overrides = {**settings, **seeded}
            asked = DistilRequest(
                models[teacher], pool, config, corpus, compare=False, overrides=overrides
            )
            distilled, _ = distil(asked, folder, typer.echo)
            kept[name] = distilled.pseudo_labels.kept
        found[f"{name}, taught"] = scores(folder / STUDENT / BEST)
        record = {
            "corpus": corpus.name,
            "seed": seed,
            "teacher": teacher,
            "texts": len(pool.read_text(encoding="utf8").splitlines()),
            "kept": kept,
            "scores": found,
        }
        print(record)
    srsly.write_jsonl(results, [record], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
