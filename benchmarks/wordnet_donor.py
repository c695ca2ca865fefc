"""WordNet's nouns as a donor of `pretrain`: rows of ten, the capitalised ones entities of their class.

    pip install nltk && python -m nltk.downloader wordnet
    python benchmarks/wordnet_donor.py training/wordnet_iob
    python -m spacy_longtail convert training/wordnet_iob corpus/wordnet

Only nouns that have a Brown cluster are taken (extra `lookups`). Each stands in two rows, and is
capitalised in half of them by chance.
"""

import random
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from spacy.strings import get_string_id

from spacy_longtail.layers.clusters import read_clusters
from spacy_longtail.layers.senses import read_nouns

# WordNet's classes of nouns from number 3 on; of the first, the top of the tree, nothing is said
CLASSES = [
    "tops",
    "act",
    "animal",
    "artifact",
    "attribute",
    "body",
    "cognition",
    "communication",
    "event",
    "feeling",
    "food",
    "group",
    "location",
    "motive",
    "object",
    "person",
    "phenomenon",
    "plant",
    "possession",
    "process",
    "quantity",
    "relation",
    "shape",
    "state",
    "substance",
    "time",
]
FIRST_CLASS = 3
WIDTH = 10  # nouns in a row
TIMES = 2
TRAIN = 0.95


def main(
    output: Annotated[Path, typer.Argument(help="Folder for train.iob and dev.iob.")],
    source: Annotated[str, typer.Option(help="'wordnet' for nltk's, or a folder.")] = "wordnet",
    seed: Annotated[int, typer.Option(help="Of the order and of the capitals.")] = 0,
) -> None:
    """Write the rows."""
    sense_of, nouns = read_nouns(source)
    words = sorted(sense_of)
    clusters = read_clusters("lookups", "en")
    has_cluster = clusters.find(np.array([get_string_id(w) for w in words], dtype="uint64")) >= 0
    words = [word for word, known in zip(words, has_cluster, strict=True) if known]
    rng = random.Random(seed)
    rng.shuffle(words)
    rows = []
    for start in range(0, TIMES * len(words), WIDTH):
        lines = []
        for word in (words * TIMES)[start : start + WIDTH]:
            name = CLASSES[nouns[sense_of[word]].of_class - FIRST_CLASS]
            is_name = rng.random() < 0.5
            tag = f"B-{name}" if is_name and name != "tops" else "O"
            lines.append(f"{word.title() if is_name else word}\t{tag}\n")
        rows.append("".join(lines))
    output.mkdir(parents=True, exist_ok=True)
    cut = int(TRAIN * len(rows))
    (output / "train.iob").write_text("\n".join(rows[:cut]), encoding="utf8")
    (output / "dev.iob").write_text("\n".join(rows[cut:]), encoding="utf8")
    typer.echo(f"{len(words):,} nouns in {len(rows):,} rows")


if __name__ == "__main__":
    typer.run(main)
