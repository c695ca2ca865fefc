"""Causes of errors: their codes, and the modules that raised them."""

import re
import traceback

CODE = re.compile(r"\[LW?\d+\]")


def is_coded(message: BaseException | str) -> bool:
    """Return whether an error or warning has a code of `errors.py`."""
    return bool(CODE.match(str(message)))


def message_of(error: BaseException) -> str:
    """Return the message of an error on one line, with a full stop.

    Of an error in a config it names the settings that are wrong, without the rest of their block.

    error (BaseException): Any error; confection's has a title, and an entry for each wrong setting.
    """
    entries = getattr(error, "errors", None)
    if isinstance(entries, (list, tuple)) and entries:
        parts = [
            " -> ".join(map(str, entry["loc"]))
            + f": {entry['msg'].removeprefix('at root: ').replace('typing.', '')}"
            + (f", found {entry['input']!r}" if "input" in entry else "")
            for entry in entries
        ]
        text = f"{getattr(error, 'title', None) or type(error).__name__}: {'; '.join(parts)}"
    else:
        text = " ".join(str(getattr(error, "text", None) or error).split()) or type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."


def raised_in(error: BaseException) -> str:
    """Return the module whose code raised an error, or "" if nothing raised it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")) if frames else ""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means out of memory, on the machine or on its GPU."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
