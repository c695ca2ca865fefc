"""A search: what of which config, on what, and where its results go."""

import warnings
from pathlib import Path
from typing import Any

from thinc.api import Config

from ...errors import Errors, Warnings
from ...hub import check_models
from ...output.amounts import number
from ...training.checksums import digest
from ...training.contamination import warn_seen
from ...training.provenance import DEV_SCORE
from ...training.train import refuse_parts
from ...types import Overrides
from ..trials.compose import compose, read_base
from ..trials.filling import fill, interpolated
from ..trials.keys import code_version, config_content, corpus_version
from ..trials.ledger import check_output
from ..trials.plan_file import is_whole
from .space import Space

STUDY = "study.db"  # of Optuna
MODELS = "models"
LEAST_EVALUATIONS = 3
MAX_STEPS, EVAL_FREQUENCY = 20_000, 200  # of spaCy, where a config does not say
ENDS, NO_ENDS = ("training.patience", "training.max_epochs"), (0, -1)  # what could end a trial early


def read_config(path: Path, settings: Overrides) -> Config:
    """The config of a search: every trial trains equal steps.

    path (Path): A config file. settings (Overrides): Config values by dotted name; they win.
    RETURNS (Config): Not interpolated; training neither ends early nor by epochs.
    RAISES (ValueError): L402, L438, L470, L471, L484, L486, L488; L516 for settings that it would
        overwrite.
    """
    refuse_parts(settings)
    _refuse_ends(settings)
    config = compose(read_base(path), {}, settings)
    training = config.setdefault("training", {})
    found = interpolated(config)["training"]
    epochs = found.get("max_epochs")
    training["patience"] = 0
    training["max_epochs"] = epochs if is_whole(epochs) and epochs < 0 else 0  # -1 streams
    steps, frequency = found.get("max_steps", MAX_STEPS), found.get("eval_frequency", EVAL_FREQUENCY)
    if not is_whole(steps) or steps < 1:
        raise ValueError(Errors.L488.format(found=steps))
    if not is_whole(frequency) or frequency < 1:
        problem = f"[training] eval_frequency must be a whole number above 0, found {frequency!r}."
        raise ValueError(Errors.L438.format(path=path, problem=problem))
    if steps // frequency < LEAST_EVALUATIONS:
        least, fix = LEAST_EVALUATIONS, max(steps // LEAST_EVALUATIONS, 1)
        shown = {"n": number(steps // frequency, "evaluation"), "steps": number(steps, "step")}
        raise ValueError(Errors.L484.format(frequency=frequency, least=least, fix=fix, **shown))
    return config


def _refuse_ends(settings: Overrides) -> None:
    """Refuse settings that this search would overwrite. RAISES (ValueError): L516."""
    given = [name for name in ENDS if name in settings and settings[name] not in NO_ENDS]
    if given:
        problem = "would be ignored: all trials train equal steps"
        fix = "Leave it out; --steps says how long they train."
        raise ValueError(Errors.L516.format(name="set", found=given[0], problem=problem, fix=fix))


class Search:
    """What is searched, on what, and where the results go.

    space (Space): Config and parameters. corpus (Path): A folder that `convert` wrote.
    output (Path): The folder; a search there is resumed. seed (int): Of the draws.
    RAISES (ValueError): L402, L430, L432, L434, L436, L476.
    """

    def __init__(self, space: Space, corpus: Path, output: Path, seed: int = 0) -> None:
        check_output(output, [corpus], MODELS)
        self.space, self.corpus, self.output, self.seed = space, corpus, output, seed
        self.version = corpus_version(corpus)
        self.name = f"tune-{digest(self._content())}"

    def _content(self) -> dict[str, object]:
        """What makes it another search. Where the corpus lies has no part in it."""
        parameters = [parameter._asdict() for parameter in self.space.parameters]
        content = {"config": config_content(self.space.config), "space": parameters, "seed": self.seed}
        return {**content, "corpus": self.version, "code": code_version()}

    @property
    def steps(self) -> int:
        """Of every training."""
        return int(interpolated(self.space.config)["training"].get("max_steps", MAX_STEPS))

    def check(self) -> None:
        """Build the baseline's pipeline and those at the space's corners: mistakes show before hours of
        training.

        RAISES (ValueError): L482, L486.
        """
        filled = fill(self.space.config, self.corpus, {})
        for name in (parameter.name for parameter in self.space.parameters):
            block: Any = filled
            for part in name.split("."):
                if part not in block:  # in some sections spaCy ignores unknown names
                    raise ValueError(Errors.L482.format(name=name))
                block = block[part]
        for values in (self.space.baseline(), self.space.corner(False), self.space.corner(True)):
            with warnings.catch_warnings():  # of ends of ranges, which nobody may ever draw
                warnings.simplefilter("ignore")
                fill(self.space.configure(values), self.corpus, values)
        weights = filled["training"]["score_weights"]  # with those that spaCy adds
        chosen_by = [name for name, weight in weights.items() if weight]
        if chosen_by != [DEV_SCORE]:
            found = ", ".join(chosen_by) or "spaCy's own scores"
            warnings.warn(Warnings.W092.format(found=found), stacklevel=2)
        check_models(filled.interpolate())
        warn_seen(filled.interpolate(), self.corpus)

    def model(self, number: int) -> Path:
        """Where the models of a trial are kept."""
        return self.output / MODELS / f"{self.name}-{number}"
