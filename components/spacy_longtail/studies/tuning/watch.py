"""A training under watch: its evaluations are told to the study, which may prune it."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ...output.writing import in_progress
from ...training.provenance import DEV_SCORE, read_curve
from ...training.train import BEST
from ..trials.child import MODEL
from ..trials.storage import coded_storage
from .draws import Draw


class Watch:
    """Looks at a training while it runs: reports each evaluation to the study, and ends it if pruned.

    draw (Draw): The trial. work (Path): Its folder. steps (int): Of the training.
    stop (Callable): Tells why all must end, else null.
    """

    def __init__(self, draw: Draw, work: Path, steps: int, stop: Callable[[], str | None]) -> None:
        self.draw, self.work, self.steps, self.stop = draw, work, steps, stop
        self.seen: set[int] = set()
        self.is_pruned = False

    def __call__(self) -> str | None:
        if (why := self.stop()) is not None:
            return why
        new = self.report()
        # the baseline is what the others are held against; a finished training costs no more
        if not new or new[-1] >= self.steps or self.draw.is_baseline:
            return None
        with coded_storage():
            self.is_pruned = self.draw.trial.should_prune()
        return f"Pruned after step {new[-1]}." if self.is_pruned else None

    def report(self) -> list[int]:
        """Tell the study of new evaluations. RETURNS (List[int]): Their steps."""
        target, points = self.work / MODEL, {}
        for folder in (*in_progress(target), target):
            with suppress(FileNotFoundError):  # a training is renamed when it is done
                curve = read_curve(folder / BEST)
                points |= {int(p["step"]): p[DEV_SCORE] for p in curve if DEV_SCORE in p}
        new = [step for step in points if step not in self.seen]
        with coded_storage():
            for step in new:
                self.draw.trial.report(points[step], step)
        self.seen.update(new)
        return new
