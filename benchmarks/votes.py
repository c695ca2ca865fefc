"""What an ensemble of trials would reach: entities that at least so many of them found.

    python benchmarks/votes.py training/knowledge_field_notes

Reads the evaluations of a matrix, dev and test. It is a bound: distilled into one model, such an
ensemble gives less.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import srsly
import typer

RESULTS = Path(__file__).parent / "results" / "votes.jsonl"
PARTS = ("dev", "test")

Span = tuple[int, int, str]  # start, end, type


class Trial(NamedTuple):
    method: str
    seed: int
    folder: Path


def spans(entities: list) -> set[Span]:
    return {(start, end, label) for start, end, label, *_ in map(tuple, entities)}


def scores(gold: list[set[Span]], found: list[set[Span]], labels: list[str], tail: list[str]) -> dict:
    """Macro, tail and micro F1, in points."""
    n_gold = Counter(span[2] for doc in gold for span in doc)
    n_found = Counter(span[2] for doc in found for span in doc)
    n_right = Counter(span[2] for a, b in zip(gold, found, strict=True) for span in a & b)
    f1 = {t: 200 * n_right[t] / max(1, n_gold[t] + n_found[t]) for t in labels}
    means = {
        name: sum(f1[t] for t in types) / len(types)
        for name, types in (("macro", labels), ("tail", tail))
    }
    return {**means, "micro": 200 * n_right.total() / max(1, n_gold.total() + n_found.total())}


def vote(models: list[list[set[Span]]], least: int) -> list[set[Span]]:
    """Per document what at least so many models found, the most voted first where entities overlap."""
    voted = []
    for documents in zip(*models, strict=True):
        votes = Counter(span for document in documents for span in document)
        kept: set[Span] = set()
        for span, n_votes in sorted(votes.items(), key=lambda item: (-item[1], item[0])):
            if n_votes >= least and not any(span[0] < end and start < span[1] for start, end, _ in kept):
                kept.add(span)
        voted.append(kept)
    return voted


def main(folders: list[Path]) -> None:
    """Score each method's seeds together, and all trials together, by the votes that an entity needs."""
    trials = []
    for file in sorted(record for folder in folders for record in folder.glob("trials/*/record.json")):
        record = srsly.read_json(file)
        if record["status"] == "done":
            trials.append(Trial(record["method"], record["seed"], file.parent))
    groups = defaultdict(list)
    for trial in trials:
        groups[trial.method].append(trial)
        groups["all"].append(trial)
    for part in PARTS:
        for name, members in sorted(groups.items()):
            evaluations = [srsly.read_json(trial.folder / f"{part}.json") for trial in members]
            if len({evaluation["checksum"] for evaluation in evaluations}) > 1:
                raise SystemExit(f"The trials of {name} were scored on different data.")
            labels, tail = evaluations[0]["labels"], evaluations[0]["tail"]
            gold = [spans(document["gold"]) for document in evaluations[0]["documents"]]
            found = [[spans(doc["predicted"]) for doc in own["documents"]] for own in evaluations]
            alone = [scores(gold, own, labels, tail) for own in found]
            mean = {key: round(sum(own[key] for own in alone) / len(alone), 1) for key in alone[0]}
            about = {"part": part, "models": name, "n_models": len(found)}
            lines = [{**about, "votes": None, **mean}]
            for least in range(1, len(found) // 2 + 2):
                result = scores(gold, vote(found, least), labels, tail)
                lines.append({**about, "votes": least, **{k: round(v, 1) for k, v in result.items()}})
            for line in lines if len(found) > 1 else lines[:1]:
                print(line)
                srsly.write_jsonl(RESULTS, [line], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
