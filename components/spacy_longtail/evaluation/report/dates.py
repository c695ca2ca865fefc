"""When results were written."""

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path


def written(paths: Iterable[Path]) -> str:
    """The day, or the first and the last day, on which files were written.

    paths (Iterable[Path]): Those that are missing have no say.
    RETURNS (str): ISO dates, UTC; "" without any file.
    """
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    days = sorted({datetime.fromtimestamp(time, timezone.utc).date().isoformat() for time in times})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
