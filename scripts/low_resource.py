"""Methods on the first N sentences of shuffled training parts, equal steps: one record a run.

A smoke test of the two-task losses: partition r shuffles the sentences with a seed of its own and takes
the first N, so that sizes nest. Dev and test stay whole.
"""

import random
import shutil
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.tokens import Doc, DocBin

from compare import check_settings, read_records, read_settings, read_variants, run_all, run_one, spread
from spacy_longtail.corpora import load_docs

ROOT = Path(__file__).parents[1]


def sentences_of(path: Path) -> list[Doc]:
    """Each sentence as a document; documents without boundaries as they are."""
    found = []
    for doc in load_docs(path, spacy.blank("xx")):
        bounded = doc.has_annotation("SENT_START")
        found += [span.as_doc() for span in doc.sents] if bounded else [doc]
    return found


def partition(corpus: Path, sentences: list[Doc], size: int, part: int, folder: Path) -> Path:
    """A corpus folder with `size` of the training sentences, and the same dev and test parts."""
    if size > len(sentences):
        raise typer.BadParameter(f"{corpus} has {len(sentences)} training sentences, not {size}.")
    target = folder / f"{corpus.name}-{size}-{part}"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("dev.spacy", "test.spacy", "types.json"):
        shutil.copy(corpus / name, target / name)
    order = list(range(len(sentences)))
    random.Random(f"low-resource/{part}").shuffle(order)
    DocBin(docs=[sentences[i] for i in order[:size]]).to_disk(target / "train.spacy")
    return target


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="A folder that `convert` wrote.")],
    results: Annotated[Path, typer.Option(help="JSONL to append to; what it holds is not run again.")],
    variants: Annotated[Path, typer.Option(exists=True, help="A JSON of variants.")] = ROOT
    / "benchmarks/two_task.json",
    sizes: Annotated[
        str, typer.Option(help="Training sentences, separated by commas.")
    ] = "20,50,100,200",
    parts: Annotated[int, typer.Option(help="Partitions of each size.")] = 3,
    steps: Annotated[int, typer.Option(help="Training steps, the same for all.")] = 200,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="SECTION.NAME=VALUE of every config; repeatable.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Trainings at a time.")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder for parts and models.")] = Path("training/low"),
) -> None:
    """Train every variant on every partition, append one record each, and print the table."""
    methods = read_variants([variants], read_settings(settings or []))
    own = [r for r in read_records(results) if (r["corpus"], r["steps"]) == (corpus.name, steps)]
    check_settings(own, methods, results)
    done = {(r["config"], r["size"], r["part"]) for r in own}
    wanted = [(v, int(n), r) for r in range(parts) for n in sizes.split(",") for v in methods]
    jobs = [job for job in wanted if (job[0].name, job[1], job[2]) not in done]
    sentences = sentences_of(corpus / "train.spacy") if jobs else []
    parts_wanted = {(n, r) for _, n, r in jobs}
    corpora = {(n, r): partition(corpus, sentences, n, r, folder) for n, r in parts_wanted}

    def run(job: tuple[Any, int, int]) -> dict[str, Any]:
        variant, size, part = job
        record = run_one(variant, corpora[size, part], part, steps, folder / "models")
        return {**record, "corpus": corpus.name, "size": size, "part": part}

    run_all(run, jobs, results, workers)
    own = [r for r in read_records(results) if (r["corpus"], r["steps"]) == (corpus.name, steps)]
    rows = [["sentences", *sizes.split(",")], ["---"] * (1 + len(sizes.split(",")))]
    for method in methods:
        mine = [r for r in own if r["config"] == method.name]
        by_size = [[r["test"]["ents_f"] for r in mine if r["size"] == int(n)] for n in sizes.split(",")]
        rows.append([method.name, *(spread(f) if f else "" for f in by_size)])
    for cells in rows:
        typer.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    typer.run(main)
