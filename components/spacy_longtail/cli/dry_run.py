"""`--dry-run`: what a command would do, and how long it would take, printed."""

import sys

from ..output.estimates import Outlook, rows, summary
from .app import print_json, print_table


def show(found: Outlook, as_json: bool = False) -> None:
    """Print what a command would do. found (Outlook): That. as_json (bool): As JSON."""
    if as_json:
        print_json(found.as_json())
        return
    sys.stdout.writelines(f"{line}\n" for line in [*found.lines, *found.facts])
    if found.open:
        print_table(("", "how many", "each", "in all", "estimate"), rows(found.open), "lrrrl")
    sys.stdout.write(f"{summary(found)}\n")
