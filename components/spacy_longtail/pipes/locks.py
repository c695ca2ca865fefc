"""A lock for what threads share in a pipe, which is pickled with it."""

import threading
from types import TracebackType


class Lock:
    """One thread at a time, which may enter again. A copy, as in another process, is another lock."""

    def __init__(self) -> None:
        self._own = threading.RLock()

    def __enter__(self) -> None:
        self._own.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._own.release()

    def __reduce__(self) -> tuple[type["Lock"], tuple[()]]:
        return type(self), ()
