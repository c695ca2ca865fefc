"""Threads that take work until there is none."""

import threading
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from tqdm import tqdm

WAIT = 1.0  # seconds until a worker looks again whether another has given up a trial

T = TypeVar("T")


class Pool(ABC, Generic[T]):
    """Workers of this process; others may take from the same study.

    n_workers (int): Threads.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.stopped: str | None = None  # why all must end
        self.error: Exception | None = None
        self.lock = threading.Lock()  # of the progress bar, and of what is written about it
        self.freed = threading.Condition()  # a worker has ended a trial

    @abstractmethod
    def take(self) -> T | None:
        """Something to do, if there is anything now."""

    @abstractmethod
    def do(self, task: T) -> None:
        """Do it."""

    @abstractmethod
    def is_waiting(self) -> bool:
        """Whether others still do something that may come back."""

    @abstractmethod
    def reap(self) -> bool:
        """Put up again what others have abandoned. RETURNS (bool): Whether there was any."""

    def work(self, total: int, done: int = 0) -> None:
        """Work until there is nothing left, here or elsewhere, behind a progress bar.

        total (int): Tasks. done (int): Those that were done before.
        RAISES (Exception): The first error of a worker, when all have ended.
        """
        with (
            tqdm(total=total, initial=done, unit="trial", smoothing=0) as self.bar,
            ThreadPoolExecutor(self.n_workers) as pool,
        ):
            futures = [pool.submit(self._work) for _ in range(self.n_workers)]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                self.stopped = self.stopped or "Interrupted."
                raise
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            while self.stopped is None:
                task = self.take()
                if task is not None:
                    self.do(task)
                    with self.freed:
                        self.freed.notify_all()
                elif not self.is_waiting():
                    return
                elif not self.reap():
                    with self.freed:
                        self.freed.wait(WAIT)
        except Exception as error:  # a full disk, a lost database: every worker would meet it
            self.stopped, self.error = str(error), self.error or error
