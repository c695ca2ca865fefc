"""spaCy's console logger, and a file that has each evaluation as soon as it is made.

spaCy's own logger buffers its file, which may be empty until the training ends.
"""

from pathlib import Path
from typing import IO, Any

import srsly
from spacy.language import Language
from spacy.util import registry

NAME = "longtail.CurveLogger.v1"  # while a training goes on: no saved config has it


@registry.loggers(NAME)
def curve_logger(output_file: str, progress_bar: str | None = None, console_output: bool = True) -> Any:
    """Print as spaCy does, and write a line of JSON for each evaluation.

    output_file (str): The file. progress_bar (Optional[str]): "train" or "eval"; null shows none.
    console_output (bool): Whether to print evaluations.
    """
    console = registry.loggers.get("spacy.ConsoleLogger.v3")(progress_bar, console_output)

    def setup(nlp: Language, stdout: IO[str], stderr: IO[str]) -> tuple:
        show, finalize = console(nlp, stdout, stderr)
        weights = nlp.config["training"]["score_weights"]
        shown = [name for name, weight in weights.items() if weight is not None]
        path = Path(output_file)
        path.write_bytes(b"")

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
