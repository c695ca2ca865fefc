"""Score pretrained encoders by label descriptions alone, on a part of converted corpora.

    python benchmarks/zero_shot.py corpus/domains/pico_breast corpus/languages/de_smartdata

Appends one JSON record for each corpus and encoder to benchmarks/results/zero_shot.jsonl. With
--examples, each description names the most frequent training mentions of its type as well. With
--descriptions benchmarks/native_types.json, types are described in the language of the corpus. A
type with several descriptions, as in benchmarks/paraphrases.json, gets the mean of their vectors.
With --contrast, a type's vector moves away from that of the most similar type of the corpus.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import srsly
import typer

from spacy_longtail.corpus.folder import load_docs, read_types
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.corpus.type_words import type_words
from spacy_longtail.describers.base import unit_rows
from spacy_longtail.evaluation.evaluate import score_pipeline
from spacy_longtail.evaluation.records import Scores
from spacy_longtail.pipes.token.describing import vectors_of
from spacy_longtail.pipes.token.pretrained_head import read_pretrained

RESULTS = Path(__file__).parent / "results" / "zero_shot.jsonl"
ENCODERS = ["en_longtail_cnn", "en_longtail_trf_small", "en_longtail_trf"]


def in_points(scores: Scores) -> dict[str, float]:
    """Return macro, tail and micro F1 in points of 100."""
    values = {"macro": scores.ents_macro_f, "tail": scores.ents_tail_f or 0, "micro": scores.ents_f}
    return {name: round(100 * value, 1) for name, value in values.items()}


def contrasted(vectors: np.ndarray, amount: float) -> np.ndarray:
    """Return unit vectors (n, width) that are moved away from their nearest neighbours.

    amount (float): Fraction of their difference that is added.
    """
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -np.inf)
    nearest = vectors[likeness.argmax(axis=1)]
    return unit_rows(vectors + amount * (vectors - nearest))


def main(
    corpora: Annotated[list[Path], typer.Argument(exists=True, help="Converted corpora.")],
    encoders: Annotated[list[str], typer.Option("--encoder", help="Repeatable.")] = ENCODERS,
    examples: Annotated[int, typer.Option(help="Training mentions in each description.")] = 0,
    descriptions: Annotated[Path | None, typer.Option(help="JSON: corpus, type, description.")] = None,
    contrast: Annotated[float, typer.Option(help="Distance from the most similar type.")] = 0.0,
    part: Annotated[str, typer.Option(help="Part of the corpus to score.")] = "test",
    output: Annotated[Path, typer.Option(help="JSONL file to append to.")] = RESULTS,
) -> None:
    """Score each encoder on a part of each corpus, without any training."""
    given = {} if descriptions is None else srsly.read_json(descriptions)
    for corpus in corpora:
        types = read_types(corpus)
        for encoder in encoders:
            head = read_pretrained(encoder, "benchmark")
            texts = type_words(types.labels, types.descriptions) | given.get(corpus.name, {})
            if examples:
                mentions: dict[str, Counter[str]] = {label: Counter() for label in types.labels}
                for doc in load_docs(part_path(corpus, "train"), head.nlp):
                    for ent in doc.ents:
                        mentions[ent.label_][ent.text] += 1
                for label, counts in mentions.items():
                    names = ", ".join(name for name, _ in counts.most_common(examples))
                    texts[label] += f" such as {names}" if names else ""
            several = {k: [own] if isinstance(own, str) else own for k, own in texts.items()}
            head.pipe.set_labels({label: own[0] for label, own in several.items()})
            vectors = [vectors_of(own, head.pipe.describe, "").mean(axis=0) for own in several.values()]
            means = unit_rows(np.asarray(vectors))
            head.pipe.tokens.set_descriptions(contrasted(means, contrast))
            scores = score_pipeline(head.nlp, part_path(corpus, part), types.labels, types.tail)
            record = {
                "corpus": corpus.name,
                "encoder": encoder,
                "part": part,
                "examples": examples,
                "contrast": contrast,
                "descriptions": "declared" if descriptions is None else descriptions.stem,
                "n_types": len(types.labels),
                "n_rare": len(types.tail),
                **in_points(scores),
            }
            print(record)
            srsly.write_jsonl(output, [record], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
