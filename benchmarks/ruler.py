"""Score a trained pipeline with and without an `entity_ruler` of a corpus's lists of names.

    python benchmarks/ruler.py training/cnn/model-best corpus/names/dimb_re_60*

Appends one JSON record to benchmarks/results/ruler.jsonl.
"""

from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer
from zero_shot import in_points

from spacy_longtail.corpus.folder import read_types
from spacy_longtail.corpus.names import NAMES
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.evaluation.evaluate import score_pipeline

RESULTS = Path(__file__).parent / "results" / "ruler.jsonl"


def main(
    model: Annotated[Path, typer.Argument(exists=True, help="Trained pipeline.")],
    corpora: Annotated[list[Path], typer.Argument(exists=True, help="Converted corpora with lists.")],
    output: Annotated[Path, typer.Option(help="JSONL file to append to.")] = RESULTS,
) -> None:
    """Score on test, with the ruler before and after the pipeline."""
    for corpus in corpora:
        types = read_types(corpus)
        record: dict[str, object] = {"corpus": corpus.name}
        for name, place in (("without", None), ("before", {"first": True}), ("after", {"last": True})):
            nlp = spacy.load(model)
            if place is not None:
                ruler = nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"}, **place)
                for line in srsly.read_jsonl(corpus / NAMES):
                    text = " ".join(token["TEXT"] for token in line["pattern"])
                    ruler.add_patterns([{"label": line["label"], "pattern": text}])
            scores = score_pipeline(nlp, part_path(corpus, "test"), types.labels, types.tail)
            record[name] = in_points(scores)
        print(record)
        srsly.write_jsonl(output, [record], append=True, append_new_line=False)


if __name__ == "__main__":
    typer.run(main)
