"""Convert the donors of a multilingual CNN: corpora of many languages, and free-text types.

    python benchmarks/multilingual.py CORPORA_XX CORPORA donors
    python -m spacy_longtail pretrain donors/corpora/* donors/open_xx donors/open_native \
        assets/open_types -o pretrained/xx --encoder en_longtail_cnn --new-subwords 16000 \
        --steps 8000 --set training.encoder_rate=0.001 --set training.head_rate=0.001

The second trial describes types in the language of their text as well, and has a teacher for the
English donors:

    python benchmarks/multilingual.py CORPORA_XX CORPORA donors --most 800 \
        --native benchmarks/native_donor_types.json
    ... --steps 3500 --teacher en_longtail_trf --teacher-cache training/teacher

CORPORA_XX has a folder for each corpus of another language, whose name begins with the code of that
language, and open_types with sents.json and ann*.txt: sentences whose mentions have a fine and a
coarse type in English, and the fine type in the language of the sentence. The corpora that
languages.yml measures on are left out, as are their sentences with free-text types, a corpus with
the same types as one of them (es_echr), and the many alike sentences for voice assistants (*_hass).
"""

import json
import random
import re
from pathlib import Path
from typing import Annotated

import spacy
import typer
from languages import TARGETS
from spacy.tokens import DocBin

from spacy_longtail.corpus.folder import convert_corpus, load_docs, read_types

LEFT_OUT = {*TARGETS, "es_echr", "open_types"}
MARKS = re.compile(r"[\[\]|]")  # of free-text types, so sentences with them are skipped


def convert_donors(sources: Path, output: Path, language: str | None = None) -> None:
    """Convert each corpus with described types. language (Optional[str]): The same for all."""
    for source in sorted(path.parent for path in sources.glob("*/types.json")):
        if source.name in LEFT_OUT or source.name.endswith("_hass"):
            continue
        spoken = language or source.name.partition("_")[0]
        convert_corpus(source, output / source.name, spoken.replace("mul", "xx"), allow=True)


def add_native_words(corpora: Path, words: dict[str, dict[str, str]]) -> None:
    """Describe the types of corpora in their language as well.

    words (Dict[str, Dict[str, str]]): By language, the native words of each English description.
    """
    for path in sorted(corpora.glob("*/types.json")):
        types = json.loads(path.read_text(encoding="utf8"))
        known = words.get(types["lang"], {})
        texts = {t: known.get(d) or known.get(d.split(",")[0]) for t, d in types["descriptions"].items()}
        types["other_descriptions"] = {label: [text] for label, text in texts.items() if text}
        path.write_text(json.dumps(types, ensure_ascii=False), encoding="utf8")


def shorten(corpora: Path, most: int) -> None:
    """Keep a random sample of the training sentences of each English corpus."""
    nlp = spacy.blank("en")
    for path in sorted(corpora.glob("*/train.spacy")):
        if read_types(path.parent).lang == "en":
            docs = load_docs(path, nlp)
            random.Random(0).shuffle(docs)
            DocBin(store_user_data=True, docs=docs[:most]).to_disk(path)


def marked(text: str, annotation: str, is_native: bool) -> str:
    """Return a sentence with its mentions in the format of assets/open_types.

    text (str): Tokens with spaces in between.
    annotation (str): Mentions such as "Hom => epic poet; person; Epiker", separated by " | ".
    is_native (bool): Whether to take the types in the language of the sentence.
    """
    found: list[tuple[int, int, str]] = []
    for part in annotation.split(" | "):
        mention, _, types = part.partition(" => ")
        fine, _, rest = types.partition("; ")
        coarse, _, native = rest.partition("; ")
        if not (mention.strip() and native):
            continue
        label = native if is_native else f"{fine}; {coarse}"
        for match in re.finditer(rf"(?<!\S){re.escape(mention.strip())}(?!\S)", text):
            if not any(start < match.end() and match.start() < end for start, end, _ in found):
                found.append((*match.span(), label))
    for start, end, label in sorted(found, reverse=True):
        text = f"{text[:start]}[{text[start:end]}|{label}]{text[end:]}"
    return text


def write_open_types(source: Path, output: Path, is_native: bool) -> None:
    """Write the sentences with free-text types as a text corpus."""
    rows = json.loads((source / "sents.json").read_text(encoding="utf8"))
    lines = [
        line.split("\t", 1)
        for path in sorted(source.glob("ann*.txt"))
        for line in path.read_text(encoding="utf8").splitlines()
    ]
    sentences = []
    for number, annotation in lines:
        corpus, tokens = rows[int(number)]
        text = " ".join(tokens)
        if corpus not in LEFT_OUT and not MARKS.search(text):
            sentences.append(marked(text, annotation, is_native))
    output.mkdir(parents=True, exist_ok=True)
    (output / "corpus.json").write_text(json.dumps({"lang": "xx"}), encoding="utf8")
    (output / "001.txt").write_text("domain: mixed\n\n" + "\n".join(sentences) + "\n", encoding="utf8")


def main(
    others: Annotated[Path, typer.Argument(exists=True, help="Corpora of other languages.")],
    english: Annotated[Path, typer.Argument(exists=True, help="English corpora.")],
    output: Annotated[Path, typer.Argument(help="Folder for the donors.")],
    native: Annotated[Path | None, typer.Option(help="JSON file with native words of types.")] = None,
    most: Annotated[int | None, typer.Option(help="Sentences of each English corpus.")] = None,
) -> None:
    """Convert all donors."""
    convert_donors(others, output / "corpora")
    convert_donors(english, output / "corpora", "en")
    if native is not None:
        add_native_words(output / "corpora", json.loads(native.read_text(encoding="utf8")))
    if most is not None:
        shorten(output / "corpora", most)
    write_open_types(others / "open_types", output / "open_xx", is_native=False)
    write_open_types(others / "open_types", output / "open_native", is_native=True)


if __name__ == "__main__":
    typer.run(main)
