"""The trials of an Optuna study, each run once, by any number of threads, processes and machines.

A trial of the study holds a key and who runs it. Whoever dies stops giving signs of life, and the trial
returns to the queue.
"""

import hashlib
import os
import shutil
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tqdm import tqdm

from ...output.writing import coded_io
from ...types import Overrides
from .storage import ATTEMPT, GRACE, KEY, coded_storage, import_optuna, put_back

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Trial
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial, TrialState

PLACE, ENDED = "place", "ended"  # attributes of a trial: where it is run, how it ended
PROCESS = "process"  # another: what runs it, where the system can say whether that is alive
WORK = "work"  # folder of trials that are running
WAIT = 0.5  # seconds until a worker without a trial looks again
HOST = socket.gethostname()

Stop = Callable[[], str | None]


class Ended(NamedTuple):
    """How a trial ended."""

    status: str  # "done", "pruned", "failed" or "timeout"
    score: float | None  # macro F1 on dev, of one that is done
    seconds: float = 0.0
    error: str = ""


class Engine(ABC):
    """Runs the trials of a study until there are none left.

    storage (RDBStorage): As `open_storage` returned. name (str): Of the study, made if it is
    not there. output (Path): The folder of results. place (str): Tells it from those elsewhere.
    workers (int): Trials at a time.
    RAISES (ValueError): L406, L432; L491 here and of each method, if the storage fails.
    """

    def __init__(self, storage: "RDBStorage", name: str, output: Path, place: str, workers: int) -> None:
        self.storage, self.folder, self.workers = storage, output / WORK, workers
        self.place = f"{HOST}:{place}"
        self.optuna = import_optuna()
        self.states = self.optuna.trial.TrialState
        self.lock = threading.RLock()  # of the study's sampler, the progress bar and what it shows
        self.stopped: str | None = None  # why all must end
        self.error: Exception | None = None
        with coded_io(output):
            self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder)
        with coded_storage():
            self.study = self.optuna.create_study(
                storage=storage,
                sampler=self.optuna.samplers.RandomSampler(),
                study_name=name,
                direction="maximize",
                load_if_exists=True,
            )

    @abstractmethod
    def objective(self, trial: "Trial", work: Path) -> Ended | None:
        """Run a trial.

        trial (Trial): The trial. work (Path): An empty folder for its files.
        RETURNS (Optional[Ended]): How it ended, null if it was stopped.
        """

    @abstractmethod
    def show(self, trial: "Trial") -> None:
        """Tell of a trial that has ended."""

    def refill(self) -> bool:
        """Put up a trial when none is waiting. RETURNS (bool): Whether there was one to put up."""
        return False

    @coded_storage()
    def trials(self, *states: "TrialState") -> list["FrozenTrial"]:
        """The study's trials in order. states (TrialState): Only those; else all."""
        return list(self.study.get_trials(deepcopy=False, states=states or None))

    def missing(
        self, keys: Iterable[str], is_done: Callable[["FrozenTrial"], bool]
    ) -> Iterator[tuple[str, int]]:
        """What nobody has put up or finished.

        keys (Iterable[str]): Of the trials that are wanted.
        is_done (Callable): Whether a frozen trial counts as finished.
        YIELDS (Tuple[str, int]): A key, and the number of its next attempt.
        """
        known = defaultdict(list)
        for trial in self.trials():
            known[trial.user_attrs.get(KEY)].append(trial)
        for key in keys:
            live = (self.states.WAITING, self.states.RUNNING)
            if not any(trial.state in live or is_done(trial) for trial in known[key]):
                yield key, 1 + max((trial.user_attrs[ATTEMPT] for trial in known[key]), default=-1)

    @coded_storage()
    def put_up(self, key: str, attempt: int = 0, values: Overrides | None = None) -> None:
        """Put a trial into the queue.

        key (str): Its key. attempt (int): Of two equal ones the first counts.
        values (Optional[Overrides]): That the sampler must draw.
        """
        self.study.enqueue_trial(dict(values or {}), user_attrs={KEY: key, ATTEMPT: attempt})

    def work(self, total: int, done: int = 0) -> None:
        """Work until there is nothing left, here or elsewhere, behind a progress bar.

        total (int): Trials. done (int): Those that were done before.
        RAISES (Exception): The first error of a worker, when all have ended.
        """
        with (
            tqdm(total=total, initial=done, unit="trial", smoothing=0) as self.bar,
            ThreadPoolExecutor(self.workers) as pool,
        ):
            futures = [pool.submit(self._work) for _ in range(self.workers)]
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
                if (trial := self.take()) is not None:
                    self.do(trial)
                elif not self.trials(self.states.WAITING, self.states.RUNNING):
                    return
                else:
                    self.reap()
                    time.sleep(WAIT)
        except Exception as error:  # a full disk, a lost database: every worker would meet it
            self.stopped, self.error = str(error), self.error or error

    @coded_storage()
    def take(self) -> "Trial | None":
        """The next trial that nobody runs, null if there is none."""
        with self.lock:
            while self.trials(self.states.WAITING) or self.refill():
                trial = self.study.ask()
                # no key: another process took the last one, and the study made a new one
                if KEY in trial.user_attrs and not self._has_earlier(trial):
                    return trial
                self.study.tell(trial, state=self.states.FAIL)
        return None

    def _has_earlier(self, trial: "Trial") -> bool:
        """Whether two processes put up the same attempt: the first one counts, however it ended."""
        own = [trial.user_attrs[name] for name in (KEY, ATTEMPT)]
        before = self.trials()[: trial.number]
        return any([t.user_attrs.get(name) for name in (KEY, ATTEMPT)] == own for t in before)

    def do(self, trial: "Trial") -> None:
        """Run a trial and close it, or put it back."""
        work = self.folder / f"{self.study.study_name}-{trial.number}@{here()}@{os.getpid()}"
        try:
            with self._alive(trial):
                with coded_io(work):
                    shutil.rmtree(work, ignore_errors=True)  # of a dead process with the same number
                    work.mkdir()
                ended = self.objective(trial, work)
            if ended is None:
                return self.give_back(trial)
            self.close(trial, ended)
        except BaseException:
            with suppress(ValueError):  # of the same full disk; it is missed in time
                self.give_back(trial)
            raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
        self.show(trial)

    @contextmanager
    def _alive(self, trial: "Trial") -> Iterator[None]:
        """Give signs of life while the block runs."""
        done = threading.Event()
        with coded_storage():
            self.storage.record_heartbeat(trial._trial_id)
            trial.set_user_attr(PLACE, self.place)
            if machine := _machine():
                trial.set_user_attr(PROCESS, [machine, os.getpid()])

        def beat() -> None:
            while not done.wait(self.storage.heartbeat_interval):
                with suppress(Exception):  # a storage that is back in time has lost nothing
                    self.storage.record_heartbeat(trial._trial_id)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    @coded_storage()
    def close(self, trial: "Trial", ended: Ended) -> None:
        """Close a trial that has come to an end, unless someone else has.

        trial (Trial): The trial. ended (Ended): How.
        """
        states = {"done": self.states.COMPLETE, "pruned": self.states.PRUNED}
        state = states.get(ended.status, self.states.FAIL)
        kept = {"status": ended.status, "seconds": round(ended.seconds, 1), "error": ended.error}
        with suppress(self.optuna.exceptions.UpdateFinishedTrialError):
            trial.set_user_attr(ENDED, kept)
            self.study.tell(trial, ended.score, state, skip_if_finished=True)

    @coded_storage()
    def give_back(self, trial: "Trial | FrozenTrial") -> None:
        """Put a trial that was not finished back into the queue.

        trial (Union[Trial, FrozenTrial]): The trial.
        """
        put_back(self.study, self.trials()[trial.number])  # first: a crash between the two loses nothing
        with suppress(self.optuna.exceptions.UpdateFinishedTrialError):
            self.study.tell(trial.number, state=self.states.FAIL, skip_if_finished=True)

    @coded_storage()
    def reap(self) -> None:
        """Put back what others have abandoned, and remove their folders."""
        remove_leftovers(self.folder)
        self.optuna.storages.fail_stale_trials(self.study)
        for trial in self.trials(self.states.RUNNING):
            # Optuna misses nobody who died before the first sign of life
            is_late = _age(trial) > (self.storage.grace_period or GRACE)
            if _is_dead(trial) or (PLACE not in trial.user_attrs and is_late):
                self.give_back(trial)


def _age(trial: "FrozenTrial") -> float:
    """Seconds since a trial began."""
    return 0.0 if trial.datetime_start is None else time.time() - trial.datetime_start.timestamp()


@cache
def _machine() -> str:
    """Tells the processes that this one sees from those of other machines, boots and containers.

    RETURNS (str): Empty where the system does not say.
    """
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf8").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return ""


@cache
def here() -> str:
    """Names this machine, and the container on it, in names of folders."""
    place = _machine()
    return f"{HOST}.{hashlib.sha256(place.encode()).hexdigest()[:8]}" if place else HOST


def _is_dead(trial: "FrozenTrial") -> bool:
    """Whether what ran a trial was a process of this machine, and is no more: nobody waits for it."""
    machine, pid = trial.user_attrs.get(PROCESS, (None, 0))
    return machine == _machine() and not is_running(pid)


def remove_leftovers(parent: Path) -> None:
    """Remove the working folders of processes that have ended, of those that this one sees."""
    for folder in parent.glob(f"*@{here()}@*"):
        if not is_running(int(folder.name.rpartition("@")[2])):
            shutil.rmtree(folder, ignore_errors=True)


def is_running(pid: int) -> bool:
    """Whether this machine has a process of that number; on Windows, where asking would end it, true."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True
