"""Plant annotation errors in a corpus, audit it, and count how many are ranked first.

Half of the errors change the type of a mention, half remove the mention. A suspected error is a
hit if it shares a token with a planted one. Appends one JSON record per run to
benchmarks/results/audit.jsonl.
"""

import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import cleanlab
import numpy as np
import spacy
import typer
from spacy.tokens import Doc, Span

from spacy_longtail import __version__
from spacy_longtail.corpus.folder import CorpusTypes, load_docs, read_types, write_corpus
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.corpus.suspects import Suspect
from spacy_longtail.training.out_of_fold import audit_corpus

ROOT = Path(__file__).parents[1]
Errors = dict[tuple[int, int, int], tuple[str, str]]  # document, first token, end: true type, planted


def plant(docs: list[Doc], types: CorpusTypes, share: float, seed: int) -> Errors:
    """Change the annotation of a fraction of the mentions, in place."""
    rng = np.random.default_rng(seed)
    mentions = [(i, ent.start, ent.end, ent.label_) for i, doc in enumerate(docs) for ent in doc.ents]
    errors: Errors = {}
    for k in rng.permutation(len(mentions))[: round(share * len(mentions))].tolist():
        i, start, end, label = mentions[k]
        others = [name for name in types.labels if name != label]
        errors[i, start, end] = (label, "O" if rng.random() < 0.5 else str(rng.choice(others)))
    for i, doc in enumerate(docs):
        labels = {(e.start, e.end): errors.get((i, e.start, e.end), ("", e.label_))[1] for e in doc.ents}
        kept = [Span(doc, a, b, label=label) for (a, b), label in labels.items() if label != "O"]
        doc.set_ents(kept)
    return errors


def scores(suspects: list[Suspect], errors: Errors, cuts: list[int]) -> dict[str, Any]:
    """Return precision and recall of the first n suspected errors, for each n, and of all."""
    hits = [{e for e in errors if e[0] == s.doc_i and e[1] < s.end and s.start < e[2]} for s in suspects]
    found = {}
    for n in sorted({*(n for n in cuts if n < len(hits)), len(hits)}):
        precision = sum(map(bool, hits[:n])) / max(n, 1)
        recall = len(set().union(*hits[:n])) / max(len(errors), 1)
        found[n] = {"precision": round(precision, 4), "recall": round(recall, 4)}
    return {"errors": len(errors), "first": found}


def main(
    corpus: Annotated[Path, typer.Argument(help="A folder that `convert` wrote.")] = Path(
        "corpus/field_notes"
    ),
    share: Annotated[float, typer.Option(help="Fraction of the mentions that get an error.")] = 0.05,
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.")] = 5,
    steps: Annotated[int, typer.Option(help="Training steps per fold.")] = 300,
    seed: Annotated[int, typer.Option(help="Random seed of errors, folds and trainings.")] = 0,
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = ROOT
    / "benchmarks/results/audit.jsonl",
) -> None:
    """Measure one run and append its record."""
    types = read_types(corpus)
    docs = load_docs(part_path(corpus, "train"), spacy.blank("xx"))
    n_mentions = sum(len(doc.ents) for doc in docs)
    errors = plant(docs, types, share, seed)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), {"train": docs}, types)
        found = audit_corpus(Path(folder), folds=folds, steps=steps, seed=seed)
    by_score = sorted(found.suspects, key=lambda s: s.score)
    rare = {place: pair for place, pair in errors.items() if set(pair) & set(types.tail)}
    record = {
        "name": "audit",
        "corpus": corpus.name,
        "mentions": n_mentions,
        "share": share,
        "folds": folds,
        "steps": steps,
        "seed": seed,
        "all": scores(by_score, errors, [25, 50, len(errors), 2 * len(errors)]),
        "rare": scores([s for s in found.suspects if s.rare], rare, [len(rare), 2 * len(rare)]),
        "seconds": round(time.perf_counter() - start),
        "python": platform.python_version(),
        "spacy": spacy.__version__,
        "cleanlab": cleanlab.__version__,
        "spacy_longtail": __version__,
    }
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")
    typer.echo(json.dumps(record, indent=2))


if __name__ == "__main__":
    typer.run(main)
