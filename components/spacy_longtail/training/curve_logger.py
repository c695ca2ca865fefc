"""A file that has each evaluation of a training at once: spaCy's own logger buffers its file."""

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import srsly
from spacy.language import Language
from spacy.util import registry

NAME = "longtail.CurveLogger.v1"  # while a training goes on: no saved config has it


def log_curve(nlp: Language, path: Path) -> None:
    """Let the next training of a pipeline write a line of JSON for each evaluation."""
    training = nlp.config["training"]
    training["logger"] = {"@loggers": NAME, "logger": training["logger"], "path": str(path)}


@registry.loggers(NAME)
def curve_logger(logger: Callable, path: str) -> Callable:
    """The logger of the config, and the file. What is saved from then on has that logger alone."""

    def setup(nlp: Language, stdout: IO[str], stderr: IO[str]) -> tuple:
        training = nlp.config["training"]
        training["logger"] = training["logger"]["logger"]
        show, finalize = logger(nlp, stdout, stderr)
        shown = [name for name, weight in training["score_weights"].items() if weight is not None]
        Path(path).write_bytes(b"")

        def log(info: dict[str, Any] | None) -> None:
            show(info)
            if info is not None:
                scores = {name: float(info["other_scores"].get(name, 0.0)) for name in shown}
                line = {
                    "epoch": info["epoch"],
                    "step": info["step"],
                    "losses": {name: float(loss) for name, loss in info["losses"].items()},
                    "scores": {name: v if name == "speed" else 100 * v for name, v in scores.items()},
                    "score": float(info["score"]),
                }
                srsly.write_jsonl(path, [line], append=True, append_new_line=False)

        return log, finalize

    return setup
