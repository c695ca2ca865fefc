"""The best trial of a search against its baseline on test: one look, when the search is over."""

import warnings
from pathlib import Path
from typing import NamedTuple

from ...corpus.folder import part_path, read_types
from ...errors import Warnings
from ...evaluation.evaluate import evaluate_model
from ...evaluation.records import Evaluation, read_evaluation, write_evaluation
from ...evaluation.significance import Verdict, describe, judge, mention_counts, named_metrics, stack
from ...output.writing import coded_io
from ...training.device import use_gpu
from ...training.provenance import DEV_SCORE
from ..trials.keys import digest
from .draws import Tried
from .search import Search

TESTED = "tested"
PART = "test"
SHOWN = ("macro F1", "tail F1", "micro F1")
SCORES = {"macro F1": DEV_SCORE, "tail F1": "ents_tail_f", "micro F1": "ents_f"}


class Holdout(NamedTuple):
    baseline: dict[str, float]  # scores on test by name
    best: dict[str, float]
    verdicts: dict[str, Verdict]  # none if the baseline is the best
    findings: list[str]  # the same in words


def hold_out(search: Search, best: Tried, baseline: Tried, gpu_id: int) -> Holdout | None:
    """Evaluate the kept models on test. What was evaluated before is read.

    search (Search): What was searched. best (Tried): The best. baseline (Tried): The baseline.
    gpu_id (int): -1 is the CPU.
    RETURNS (Optional[Holdout]): Null if a model was trained on another machine.
    RAISES (ValueError): L406, L408, L432.
    """
    folder = search.output / TESTED
    files = {t.number: folder / f"{search.name}-{digest(t.values)}.json" for t in (best, baseline)}
    for trial in (best, baseline):
        if not files[trial.number].is_file() and not search.model(trial.number).is_dir():
            place = trial.place.partition(":")[2]
            message = Warnings.W093.format(number=trial.number, place=place)
            warnings.warn(message, stacklevel=2)
            return None
    before = sorted(path.stem for path in folder.glob(f"{search.name}-*.json"))
    others = [stem for stem in before if stem not in [path.stem for path in files.values()]]
    if others:
        warnings.warn(Warnings.W094.format(found=", ".join(others)), stacklevel=2)
    found = {n: _evaluated(search, n, path, gpu_id) for n, path in files.items()}
    types = read_types(search.corpus)
    known = named_metrics(types.labels, types.tail)
    metrics = {name: known[name] for name in SHOWN if name in known}
    scores = {t.number: _scores(found[t.number], list(metrics)) for t in (baseline, best)}
    first, second = scores[baseline.number], scores[best.number]
    if best.is_baseline:
        return Holdout(first, second, {}, [])
    one, two = (mention_counts(found[t.number].documents, types.labels) for t in (baseline, best))
    verdicts = judge(stack([one]), stack([two]), metrics, one.unit)
    return Holdout(first, second, verdicts, describe("the best trial", verdicts))


def _evaluated(search: Search, number: int, path: Path, gpu_id: int) -> Evaluation:
    if not path.is_file():
        use_gpu(gpu_id)
        types, data = read_types(search.corpus), part_path(search.corpus, PART)
        training = part_path(search.corpus, "train")
        model = search.model(number) / "model-best"
        name = f"trial {number}"
        result = evaluate_model(model, data, types.labels, types.tail, name, training, PART)
        with coded_io(path):
            write_evaluation(result, path)
    with coded_io(path):
        return read_evaluation(path)


def _scores(evaluation: Evaluation, names: list[str]) -> dict[str, float]:
    return {name: getattr(evaluation.scores, SCORES[name]) for name in names}
