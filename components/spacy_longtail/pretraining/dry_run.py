"""What a pretraining would read and train."""

from pathlib import Path

from .donors import said
from .learner import Options
from .records import Progress
from .run import STATE, prepared, settled


def pretraining_outlook(
    folders: list[Path], output: Path, options: Options, exclude: list[Path]
) -> tuple[list[str], dict[str, object]]:
    """The donors, and how many steps there are. Nothing is written.

    Arguments as `pretrain` has them.
    RETURNS (Tuple[List[str], Dict[str, object]]): In lines, and as JSON data.
    RAISES (ValueError): Those of `pretrain`, without L498.
    """
    found = settled(folders, output, options, exclude)
    head = f"{found.steps:,} steps of {options.words:,} subwords"
    if found.is_finished:
        return [head, "All steps are done."], {"donors": [], "steps": found.steps}
    own = prepared(folders, found, options, exclude)
    progress = own.load(output / STATE) or Progress()
    done = [f"{progress.step:,} steps are done."] if progress.step else []
    donors = [
        {
            "name": donor.name,
            "sentences": len(donor.train),
            "types": len(donor.descriptions),
            "left_out": donor.n_excluded,
        }
        for donor in own.donors
    ]
    lines = [*(said(donor, bool(exclude)) for donor in own.donors), head, *done]
    return lines, {"donors": donors, "steps": found.steps}
