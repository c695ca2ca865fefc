"""What a pretraining leaves: a pipeline, its encoder alone, its record, and a page."""

import json
from pathlib import Path

from ..corpus.seen import write_seen
from ..describers.label_encoder import FILE as LABEL_ENCODER
from ..evaluation.report.plots import MOST, Line, can_draw, learning_curves
from ..evaluation.report.rendering import render
from ..output.writing import coded_io, replacing
from ..pipes.sources import add_sources
from .records import DonorScore
from .run import MODEL, RECORD, STATE, Pretrained

TOK2VEC = "tok2vec.bin"
TRANSFORMER = "transformer"  # beside the pipelines of earlier versions: a folder of transformers
PAGE = "pretrain.html"


def write_pretrained(found: Pretrained, output: Path, command: str) -> dict[str, Path]:
    """Write the results, all or nothing.

    found (Pretrained): What was pretrained. output (Path): The folder. command (str): That made it.
    RETURNS (Dict[str, Path]): model (the pipeline), tok2vec (spaCy's init_tok2vec) of a CNN, page.
    RAISES (ValueError): L406, L432.
    """
    nlp, scores = found.nlp, found.scores
    add_sources(nlp, [{"name": donor.name} for donor in found.record.donors])
    record = found.record.model_copy(update={"command": command})
    last = {score.name: score for score in scores[-1][1]}
    rows = [{**donor.as_json(), "score": last.get(donor.name)} for donor in record.donors]
    lines = [
        Line(name, [step for step, _ in scores], [[_micro(own, name)] for _, own in scores])
        for name in list(last)
    ]
    values = {"record": record, "rows": rows}
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
            tok2vec = nlp.get_pipe("tok2vec")
            (new / TOK2VEC).write_bytes(tok2vec.model.to_bytes())  # type: ignore[attr-defined]
            places["tok2vec"] = output / TOK2VEC
        else:
            (new / MODEL / LABEL_ENCODER).write_bytes(found.label_encoder)
        for name, text in texts.items():
            (new / name).write_text(text, encoding="utf8", errors="replace")
    return places


def _micro(scores: list[DonorScore], name: str) -> float:
    return next(score.micro for score in scores if score.name == name)


def _plots(lines: list[Line]) -> list[str]:
    """The donors' curves, at most as many in a plot as can be told apart; none without matplotlib."""
    if not can_draw():
        return []
    return [learning_curves(lines[i : i + MOST]) for i in range(0, len(lines), MOST)]
