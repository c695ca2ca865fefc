"""Measure what a gazetteer of the training data adds to trained models, on dev and test.

    python benchmarks/gazetteer.py training/main_job corpus/field_notes --method pretrained

The matrix was run with --keep-models. Each model is scored without a gazetteer, with one of the
rare types and with one of all types, and each score is a record in
benchmarks/results/gazetteer.jsonl.
"""

import tempfile
from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.training import Corpus

from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.evaluate import evaluate_model
from spacy_longtail.training.provenance import BEST

RESULTS = Path(__file__).parent / "results" / "gazetteer.jsonl"
PARTS = ("dev", "test")
NAME = "gazetteer"


def put_behind(nlp: Language, train: Path, labels: list[str] | None) -> None:
    """Add a gazetteer of the training part at the end of a trained pipeline."""
    corpus = Corpus(train)
    pipe = nlp.add_pipe("longtail_gazetteer", name=NAME, config={"labels": labels, "scorer": None})
    pipe.initialize(lambda: corpus(nlp), nlp=nlp)


def main(
    matrix: Annotated[Path, typer.Argument(help="Folder of a matrix run with --keep-models.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus of that matrix.")],
    method: Annotated[
        str, typer.Option(help="Method whose runs are scored.")
    ] = "crf-pretrained-described",
) -> None:
    """Score each run in the three ways, and append the records."""
    found = ConvertedCorpus(corpus).statistics
    ways = {"none": [], "rare": found.tail, "all": None}
    for file in sorted(matrix.glob("trials/*/record.json")):
        run = srsly.read_json(file)
        if (run["status"], run["method"], run["corpus"]) != ("done", method, corpus.name):
            continue
        for way, labels in ways.items():
            nlp = spacy.load(file.parent / "model" / BEST)
            if NAME in nlp.pipe_names:
                nlp.remove_pipe(NAME)
            put_behind(nlp, part_path(corpus, "train"), labels)
            record: dict[str, object] = {"corpus": corpus.name, "seed": run["seed"], "gazetteer": way}
            with tempfile.TemporaryDirectory(prefix="gazetteer-") as folder:
                nlp.to_disk(folder)
                for part in PARTS:
                    data = part_path(corpus, part)
                    own = evaluate_model(Path(folder), data, found.labels, found.tail, part=part).scores
                    tail = {label: own.of_type(label).f for label in found.tail}
                    means = {"macro_f": own.ents_macro_f, "tail_f": own.ents_tail_f, "f": own.ents_f}
                    record[part] = {**means, "tail_per_type": tail}
            srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
            typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
