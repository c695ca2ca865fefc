"""Draw the small corpora that benchmarks/languages.yml and benchmarks/domains.yml train on.

    python benchmarks/languages.py SOURCES corpus/languages
    python benchmarks/languages.py SOURCES corpus/domains --name dimb_re --language en --train 300

SOURCES holds folders such as de_smartdata, each with train.iob, perhaps dev.iob and test.iob, and
types.json. Without --language, the name begins with the code of the language. The sentences to
train on and 300 to choose by are drawn at random, and the test part is the corpus's own, or what
is left. With --pool, the text of the sentences that are in no part is written as unlabelled text.
"""

import json
import random
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from spacy_longtail.corpus.folder import convert_corpus

TARGETS = (
    *("de_smartdata", "de_biofid", "es_pharmaconer", "fr_echr"),
    *("it_linkedbooks", "nl_globalise", "hu_nerkor", "fi_turku_one"),
)
N_DEV, MOST_TEST = 300, 2000


def sentences(path: Path) -> list[str]:
    """Return the sentences of a file of token and tag columns."""
    blocks = path.read_text(encoding="utf8").split("\n\n") if path.is_file() else []
    return [block.strip("\n") for block in blocks if block.strip() and "-DOCSTART-" not in block]


def draw(source: Path, target: Path, n_train: int, seed: int = 0) -> None:
    """Write the parts of a small corpus, in which every type has a mention to train on."""
    rng = random.Random(seed)
    train, dev, test = (sentences(source / f"{part}.iob") for part in ("train", "dev", "test"))
    rng.shuffle(train)
    rng.shuffle(dev)
    rest = train[n_train:]
    parts = {"train": train[:n_train], "dev": dev[:N_DEV] or rest[:N_DEV]}
    parts["test"] = test[:MOST_TEST] or rest[N_DEV if not dev else 0 :][:MOST_TEST]
    seen = {block for name in ("train", "dev") for block in parts[name]}
    parts["test"] = [block for block in parts["test"] if block not in seen]
    types = json.loads((source / "types.json").read_text(encoding="utf8"))
    types = types.get("descriptions", types)
    known = {tag for tag in types if f"-{tag}\n" in "\n".join(parts["train"]) + "\n"}
    lost = {f"-{tag}" for tag in types if tag not in known}
    for name, blocks in parts.items():
        text = "\n\n".join(blocks)
        rows = [
            row if not any(row.endswith(tag) for tag in lost) else f"{row.split(chr(9))[0]}\tO"
            for row in text.split("\n")
        ]
        (target / f"{name}.iob").write_text("\n".join(rows) + "\n", encoding="utf8")
    texts = [types[tag] for tag in known]  # two types of one description cannot be told apart
    words = {
        tag: types[tag] if texts.count(types[tag]) == 1 else f"{types[tag]}, {tag}" for tag in known
    }
    declared = {"labels": sorted(known), "descriptions": dict(sorted(words.items()))}
    (target / "corpus.json").write_text(json.dumps(declared), encoding="utf8")


def text_of(block: str) -> str:
    """Return the text of a sentence, its tokens separated by spaces."""
    return " ".join(row.split("\t")[0] for row in block.split("\n"))


def unused(source: Path, parts: Path) -> list[str]:
    """Return the sentences of train whose text is in no drawn part."""
    drawn = {text_of(s) for part in ("train", "dev", "test") for s in sentences(parts / f"{part}.iob")}
    return [block for block in sentences(source / "train.iob") if text_of(block) not in drawn]


def main(
    sources: Annotated[Path, typer.Argument(exists=True, help="Folder of the corpora.")],
    output: Annotated[Path, typer.Argument(help="Folder for the converted corpora.")],
    names: Annotated[list[str] | None, typer.Option("--name", help="Corpus; repeatable.")] = None,
    n_train: Annotated[int, typer.Option("--train", help="Sentences to train on.")] = 400,
    language: Annotated[str | None, typer.Option(help="Code of the language.")] = None,
    pool: Annotated[Path | None, typer.Option(help="Folder for unlabelled text.")] = None,
    most: Annotated[int, typer.Option(help="Number of unlabelled sentences.")] = 1500,
) -> None:
    """Draw and convert the target corpora."""
    for name in names or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            draw(sources / name, Path(folder), n_train)
            spoken = language or name.partition("_")[0]
            types = convert_corpus(Path(folder), output / name, spoken)
            if pool is not None:
                texts = map(text_of, unused(sources / name, Path(folder))[:most])
                pool.mkdir(parents=True, exist_ok=True)
                (pool / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf8")
        print(name, len(types.labels), "types")


if __name__ == "__main__":
    typer.run(main)
