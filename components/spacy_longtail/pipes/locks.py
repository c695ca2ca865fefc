"""A lock for what threads share in a pipe, which is pickled with it."""

import threading


class Lock:
    """One thread at a time, which may enter again. A copy, as in another process, is another lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Lock"], tuple[()]]:
        return type(self), ()
