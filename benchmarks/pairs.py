"""Compare an ensemble of several methods of a matrix with its baseline, seed by seed.

    python benchmarks/pairs.py training/main_job corpus/field_notes --methods crf,pretrained

The matrix was run with --keep-models. Scores on dev and test of each seed, and the decisions on
macro F1 over all seeds (corrected for the number of methods), are appended to
benchmarks/results/pairs.jsonl. With the first seed, speeds are measured as multiples of the
baseline's, in alternating passes of one process.
"""

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer

from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.ensemble import build_ensemble
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.evaluation.measuring import words_per_second
from spacy_longtail.evaluation.records import Evaluation, TrainingSettings, write_evaluation
from spacy_longtail.evaluation.report import read_report, summary_table
from spacy_longtail.evaluation.significance import MACRO
from spacy_longtail.training.provenance import BEST

RESULTS = Path(__file__).parent / "results" / "pairs.jsonl"
PARTS = ("dev", "test")


def trials_of(matrix: Path) -> dict[int, dict[str, Path]]:
    """Return the folders of the finished trials, by seed and method."""
    found: dict[int, dict[str, Path]] = defaultdict(dict)
    for file in sorted(matrix.glob("trials/*/record.json")):
        record = srsly.read_json(file)
        if record["status"] == "done":
            found[record["seed"]][record["method"]] = file.parent
    return found


def named(found: Evaluation, name: str, seed: int) -> Evaluation:
    return found.model_copy(update={"name": name, "training": TrainingSettings(seed=seed)})


def scores(found: Evaluation) -> dict[str, float | None]:
    own = found.scores
    return {"macro_f": own.ents_macro_f, "tail_f": own.ents_tail_f, "f": own.ents_f}


def speed_ratios(models: dict[str, Path], data: Path) -> dict[str, float]:
    """Return the words per second on a part, as multiples of the first model's."""
    pipelines = [spacy.load(path) for path in models.values()]
    docs = load_docs(data, spacy.blank(pipelines[0].lang))
    found = words_per_second(pipelines, [doc.text for doc in docs], sum(map(len, docs)))
    return {name: round(own / found[0], 3) for name, own in zip(models, found, strict=True)}


def main(
    matrix: Annotated[Path, typer.Argument(help="Folder of a matrix run with --keep-models.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus of that matrix.")],
    methods: Annotated[str, typer.Option(help="Methods of the ensemble, separated by commas.")],
    baseline: Annotated[str, typer.Option(help="Method to compare with.")] = "ner",
) -> None:
    """Combine models, score and compare them, and append the records."""
    members = methods.split(",")
    pair = " + ".join(members)
    found = ConvertedCorpus(corpus).statistics
    with tempfile.TemporaryDirectory(prefix="pairs-") as name:
        work, files = Path(name), []
        ratios: dict[str, float] = {}
        for seed, trials in sorted(trials_of(matrix).items()):
            if not {baseline, *members} <= set(trials):
                continue
            built = work / f"pair-{seed}"
            models = {method: trials[method] / "model" / BEST for method in (baseline, *members)}
            build_ensemble([models[own] for own in members], built)
            ratios = ratios or speed_ratios({**models, pair: built}, part_path(corpus, "test"))
            by_part: dict[str, dict[str, Evaluation]] = {}
            for part in PARTS:
                data = part_path(corpus, part)
                by_part[part] = {
                    method: evaluate_model(model, data, found.labels, found.tail, part=part)
                    for method, model in {**models, pair: built}.items()
                }
            for method in by_part["test"]:
                record = {"corpus": corpus.name, "method": method, "seed": seed}
                record |= {part: scores(by_part[part][method]) for part in PARTS}
                srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
                typer.echo(record)
                files.append(work / f"{len(files)}.json")
                write_evaluation(named(by_part["test"][method], method, seed), files[-1])
        report = read_report(found, files, baseline, pair)
    typer.echo(summary_table(report))
    for method, ratio in ratios.items():
        record = {"corpus": corpus.name, "method": method, "speed_ratio": ratio}
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)
    for method, own in report.verdicts.items():
        decided = {"value": own.value, "low": own.low, "high": own.high, "p": own.adjusted}
        record = {"corpus": corpus.name, "method": method, "score": MACRO, **decided}
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
