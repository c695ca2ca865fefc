"""What an error tells of its cause: its code, and the module that raised it."""

import re
import traceback

CODE = re.compile(r"\[LW?\d+\]")


def is_coded(message: BaseException | str) -> bool:
    """Whether an error or a warning is one of `errors.py`, which says how to fix what it names."""
    return bool(CODE.match(str(message)))


def raised_in(error: BaseException) -> str:
    """The module of the code that raised an error; "" where nothing raised it."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")) if frames else ""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the memory of the machine or of its GPU is full. torch and cupy name it so."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
