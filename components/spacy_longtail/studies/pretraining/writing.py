"""What a pretraining leaves: a pipeline, its encoder alone, its record, and a page."""

import json
from pathlib import Path

from spacy.language import Language
from spacy.util import load_model_from_config
from thinc.api import Model

from ...corpus.seen import write_seen
from ...describers.label_encoder import FILE as LABEL_ENCODER
from ...evaluation.report.plots import MOST, Line, can_draw, learning_curves
from ...evaluation.report.rendering import render
from ...layers.clusters import leave_out_tables
from ...output.writing import coded_io, replacing
from ...pipes.sources import add_sources
from .records import DonorScore
from .run import RECORD, STATE, Pretrained

MODEL, TOK2VEC = "model", "tok2vec.bin"
TRANSFORMER = "transformer"  # beside the pipelines of earlier versions: a folder of transformers
PAGE = "pretrain.html"


def write_pretrained(
    found: Pretrained, output: Path, command: str, slim: bool = False
) -> dict[str, Path]:
    """Write the results, all or nothing.

    found (Pretrained): What was pretrained. output (Path): The folder. command (str): That made it.
    slim (bool): Leave out word clusters that spacy-lookups-data has: it is needed to load the pipeline.
    RETURNS (Dict[str, Path]): model (the pipeline), tok2vec (spaCy's init_tok2vec) of a CNN, page.
    RAISES (ValueError): L406, L432.
    """
    scores = found.scores
    if found.label_encoder is None:
        nlp = _bare(found.nlp)
        if slim:
            leave_out_tables(_tok2vec(nlp))
    else:
        nlp = found.nlp
        nlp.get_pipe_config("ner")["describe"]["name"] = str(output / MODEL)
    add_sources(nlp, [{"name": donor.name} for donor in found.record.donors])
    record = found.record.model_copy(update={"command": command})
    last = {score.name: score for score in scores[-1][1]}
    rows = [{**donor.as_json(), "score": last.get(donor.name)} for donor in record.donors]
    lines = [
        Line(name, [step for step, _ in scores], [[_micro(own, name)] for _, own in scores])
        for name in list(last)
    ]
    unit = "words" if found.label_encoder is None else "subwords"
    values = {"record": record, "rows": rows, "unit": unit}
    texts = {
        PAGE: render("pretrain.html", plots=_plots(lines), **values),
        "pretrain.md": render("pretrain.md", **values),
        RECORD: json.dumps(record.as_json(), indent=1),
    }
    with coded_io(output), replacing(output, [output / STATE]) as new:
        nlp.to_disk(new / MODEL)
        write_seen(new / MODEL, (doc for donor in found.donors for doc in donor.train))
        places = {"model": output / MODEL, "page": output / PAGE}
        if found.label_encoder is None:
            (new / TOK2VEC).write_bytes(_tok2vec(nlp).to_bytes())
            places["tok2vec"] = output / TOK2VEC
        else:
            (new / MODEL / LABEL_ENCODER).write_bytes(found.label_encoder)
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf8", errors="replace")
    return places


def _bare(nlp: Language) -> Language:
    """The same pipeline without the words that it has seen: its vocabulary would be most of it."""
    fresh = load_model_from_config(nlp.config, auto_fill=True)
    if nlp.vocab.vectors_length:  # with the strings they would bring all words that were read
        fresh.vocab.vectors.from_bytes(nlp.vocab.vectors.to_bytes(exclude=["strings"]))
    for name, pipe in nlp.pipeline:
        data = pipe.to_bytes(exclude=["vocab"])  # type: ignore[attr-defined]
        fresh.get_pipe(name).from_bytes(data, exclude=["vocab"])  # type: ignore[attr-defined]
    return fresh


def _micro(scores: list[DonorScore], name: str) -> float:
    return next(score.micro for score in scores if score.name == name)


def _plots(lines: list[Line]) -> list[str]:
    """The donors' curves, at most as many in a plot as can be told apart; none without matplotlib."""
    if not can_draw():
        return []
    return [learning_curves(lines[i : i + MOST]) for i in range(0, len(lines), MOST)]


def _tok2vec(nlp: Language) -> Model:
    found: Model = nlp.get_pipe("tok2vec").model  # type: ignore[attr-defined]
    return found
