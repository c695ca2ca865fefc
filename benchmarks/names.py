"""Draw small corpora with lists of names, simulated from sentences that are in no part.

    python benchmarks/names.py SOURCES corpus/names --name dimb_re --coverage 0.3
    longtail matrix benchmarks/names.yml corpus/names/* -o training/names

SOURCES holds folders with train.iob, as for benchmarks/languages.py, whose parts are drawn here as
well. A list has the given share of the distinct mentions in the other sentences, and a fifth of
its names are wrong: mentions of another type, or common words. With `--wrong 0` all are right.
"""

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from languages import draw, unused

from spacy_longtail.corpus.folder import convert_corpus
from spacy_longtail.corpus.names import write_names

MAX_WORDS = 6


def mentions(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield type and words of each mention of a sentence; the type of words outside is O."""
    words, label = list[str](), "O"
    for row in [*block.split("\n"), "\tO"]:
        word, tag = row.split("\t")[0], row.split("\t")[-1]
        if tag.startswith("I-") and tag[2:] == label:
            words.append(word)
            continue
        if words:
            yield label, tuple(words)
        words, label = [word], tag.partition("-")[2] or "O"


def simulate(
    unused: list[str], labels: list[str], coverage: float, wrong: float
) -> dict[str, list[list[str]]]:
    """Return lists of names by type. wrong (float): Number of wrong names per right one."""
    rng = random.Random(0)
    known: dict[str, set[tuple[str, ...]]] = {label: set() for label in labels}
    common: list[tuple[str, ...]] = []
    for block in unused:
        for label, words in mentions(block):
            if label == "O":
                common.append(words)
            elif label in known and len(words) <= MAX_WORDS and len("".join(words)) > 1:
                known[label].add(words)
    lists = {}
    for label, own in known.items():
        right = rng.sample(sorted(own), int(coverage * len(own)))
        others = sorted(set().union(*(known[other] for other in labels if other != label)) - own)
        n_wrong = int(wrong * len(right))
        false = [rng.choice(others if rng.random() < 0.5 else common) for _ in range(n_wrong)]
        lists[label] = [list(words) for words in dict.fromkeys([*right, *false])]
    return {label: names for label, names in lists.items() if names}


def main(
    sources: Annotated[Path, typer.Argument(exists=True, help="Folder of the corpora.")],
    output: Annotated[Path, typer.Argument(help="Folder for the converted corpora.")],
    names: Annotated[list[str], typer.Option("--name", help="Corpus; repeatable.")],
    coverage: Annotated[float, typer.Option(help="Share of the distinct mentions in a list.")] = 0.3,
    n_train: Annotated[int, typer.Option("--train", help="Sentences to train on.")] = 300,
    wrong: Annotated[float, typer.Option(help="Number of wrong names per right one.")] = 0.25,
) -> None:
    """Draw and convert corpora with lists of names."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            draw(sources / name, place, n_train)
            rest = unused(sources / name, place)
            target = output / f"{name}_{round(100 * coverage)}{'' if wrong else '_right'}"
            labels = convert_corpus(place, target, "en").labels
            lists = simulate(rest, labels, coverage, wrong)
            write_names(target / "names.jsonl", lists)
        print(target.name, len(rest), "unused sentences", sum(map(len, lists.values())), "names")


if __name__ == "__main__":
    typer.run(main)
