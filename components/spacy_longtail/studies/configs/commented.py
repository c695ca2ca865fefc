"""Text of a config with comments: the writer of `init-config`, `tune` and `recommend`."""

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

import srsly
from thinc.api import Config

from ...aliases import SETTINGS
from ...types import Block

WIDTH = 98  # of comments, without the sign


def format_config(config: Config, head: Iterable[str], comments: Mapping[str, str]) -> str:
    """Return the text of a config with comments, which `Config.to_str` cannot write.

    config (Config): The config, not interpolated. Deprecated settings that are null are omitted.
    head (Iterable[str]): Comment lines at the top.
    comments (Mapping[str, str]): Comments by dotted name of a value or a block.
    RETURNS (str): The text.
    """
    return "\n".join([*(f"# {line}".rstrip() for line in head), *_lines(config, comments)]) + "\n"


def _lines(block: Block, comments: Mapping[str, str], section: str = "") -> Iterator[str]:
    """Yield the lines of a block's values, then those of its blocks.

    `Config.to_str` writes deep blocks last, which separates them from their parents.
    """
    blocks = {}
    for key, value in block.items():
        name = f"{section}.{key}" if section else key
        if isinstance(value, dict) and not _is_short(name, value):
            blocks[name] = value
            continue
        if key in SETTINGS and value is None:
            continue  # a default that a new config should not show
        yield from _comment(comments.get(name, ""))
        is_variable = isinstance(value, str) and value.startswith("${")
        yield f"{key} = {value if is_variable else srsly.json_dumps(value)}"
    for name, value in blocks.items():
        yield ""
        yield from _comment(comments.get(name, ""))
        yield f"[{name}]"
        yield from _lines(value, comments, name)


def _comment(text: str) -> Iterator[str]:
    """Yield the lines of a comment."""
    yield from (f"# {line}" for line in wrap(text, WIDTH))


def _is_short(name: str, block: Block) -> bool:
    """Return whether a block is written on one line: it has at most one value and is no section."""
    parents, _, _ = name.rpartition(".")
    is_place = parents in ("", "components") or name.startswith("initialize.")
    return not is_place and len(block) <= 1 and not any(isinstance(v, dict) for v in block.values())
