"""Compare the advice of `recommend` with all of its candidates, trained to the end.

    python benchmarks/advice.py corpus/crossner_ai corpus/crossner_music --output training/advice

On each corpus `recommend` runs with a time limit. The test scores of its candidates are read from
records in results/ in which each was trained to the end, with one to five seeds. Regret is the
macro F1 of the best one minus that of the advice. Corpora with a record are skipped.
"""

import os
import statistics
from pathlib import Path
from typing import Annotated

import srsly
import typer

from spacy_longtail.corpus.converted import ConvertedCorpus
from spacy_longtail.studies.advice.advice import advise, find_candidates
from spacy_longtail.studies.advice.candidates import plan_comparison
from spacy_longtail.studies.advice.pretrained_candidates import LARGE_CORPUS, find_pretrained
from spacy_longtail.studies.trials.study import TrialOptions

FOLDER = Path(__file__).parent / "results"
RESULTS = FOLDER / "advice.jsonl"
RECORDS = ("knowledge", "crossner", "larger", "domains", "languages", "small")
KNOWN = [FOLDER / f"{name}.jsonl" for name in RECORDS]
CNN = "crf-pretrained-described-gazetteer"
THREE, SIX = "softmax-en_longtail_trf_small-described", "softmax-en_longtail_trf-described"
CANDIDATES = {  # by their names in the records
    "ner": "ner",
    "stock": "ner",
    "crf": "crf",
    "CNN": CNN,
    "english CNN": CNN,
    "three layers": THREE,
    "six layers": SIX,
}
MANY_CANDIDATES = {
    "CNN, not mixed": CNN,
    "CNN": CNN.replace("-described", "_mixed-described"),
}


def trained(corpus: Path) -> dict[str, list[float]]:
    """Return the macro F1 of each candidate on test, one value per seed, in [0, 1]."""
    names = dict(CANDIDATES)
    if ConvertedCorpus(corpus).statistics.parts["train"].sentences >= LARGE_CORPUS:
        names |= MANY_CANDIDATES
    short = corpus.name.removesuffix("_subset")
    scores: dict[str, list[float]] = {}
    for row in (row for path in KNOWN if path.is_file() for row in srsly.read_jsonl(path)):
        if row["corpus"] == short and row["method"] in names:
            scores.setdefault(names[row["method"]], []).append(row["test"]["ents_macro_f"])
    return scores


def main(
    corpora: Annotated[list[Path], typer.Argument(help="Folders that `convert` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for all trainings.")] = Path(
        "training/advice"
    ),
    minutes: Annotated[float, typer.Option(help="Time limit of each `recommend`, in minutes.")] = 20,
    workers: Annotated[int, typer.Option(help="Number of trials that run at a time.")] = 1,
) -> None:
    """Compare advice with stock spaCy and with the best candidate, on test."""
    threads = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))
    keys = ("corpus", "minutes", "threads")
    done = srsly.read_jsonl(RESULTS) if RESULTS.exists() else ()
    known = {tuple(record[key] for key in keys) for record in done}
    for corpus in corpora:
        if (corpus.name, minutes, threads) in known:
            continue
        place = output / corpus.name
        candidates = find_candidates(corpus, find_pretrained(corpus))
        plan = plan_comparison(candidates, corpus)
        limits = {"total_minutes": minutes, "options": TrialOptions(workers=workers)}
        found = advise(candidates, plan, place, place / "recommended.cfg", **limits)
        choice, rows = found.recommendation, found.summary.corpora[0].rows
        scores = trained(corpus)
        means = {method: statistics.mean(own) for method, own in scores.items()}
        best = max(means, key=lambda name: means[name])
        record: dict[str, object] = {
            "corpus": corpus.name,
            "minutes": minutes,
            "workers": workers,
            "threads": threads,
            "advice": choice.method,
            "guess": choice.best,
            "text": choice.text,
            "tried": {row.method: row.n_trials for row in rows},
            "scores": scores,
            "best": best,
        }
        if choice.method in means and "ner" in means:  # candidates that were not trained are unknown
            record["regret"] = round(means[best] - means[choice.method], 4)
            record["gain"] = round(means[choice.method] - means["ner"], 4)
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
