"""Who runs which trial: an Optuna study that any number of processes and machines share.

A trial of the study holds a content key and who runs it. Whoever dies stops giving signs of life, and
its trial is given to someone else.
"""

import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Errors

KEY, OWNER, PLACE = "key", "owner", "place"  # attributes of a trial
BEAT = 20.0  # seconds between signs of life
GRACE = 120.0  # seconds without one until a trial counts as abandoned
HOST = socket.gethostname()


class Claim(NamedTuple):
    number: int  # in the study
    key: str


def import_optuna() -> Any:
    """Optuna without its chatter. RAISES (ValueError): L406."""
    try:
        import optuna
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="optuna", extra="tune")) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def open_storage(storage: str | None, default: Path) -> Any:
    """An Optuna storage.

    storage (Optional[str]): A database URL, such as postgresql://user@host/name, or the path of a
        journal file. default (Path): The journal file that null stands for.
    RAISES (ValueError): L406, L477.
    """
    optuna = import_optuna()
    try:
        if storage is not None and "://" in storage:
            return optuna.storages.RDBStorage(storage, engine_kwargs=_patient(storage))
        path = default if storage is None else Path(storage)
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = optuna.storages.journal
        lock = journal.JournalFileOpenLock(str(path))  # an old one breaks after a grace period
        return optuna.storages.JournalStorage(journal.JournalFileBackend(str(path), lock))
    except Exception as error:  # of any database driver
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(Errors.L477.format(storage=storage or default, problem=problem)) from error


def _patient(url: str) -> dict[str, Any]:
    """SQLite lets one process write at a time: the others wait."""
    return {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {"pool_pre_ping": True}


class Claims:
    """The trials of a study, by content key.

    storage (BaseStorage): Of Optuna. name (str): Of the study, made if it is not there.
    place (str): The output folder, so that what was finished elsewhere can be told.
    """

    def __init__(self, storage: Any, name: str, place: str) -> None:
        self.optuna = import_optuna()
        self.place = f"{HOST}:{place}"
        self.study = self.optuna.create_study(
            storage=storage, study_name=name, direction="maximize", load_if_exists=True
        )

    def fill(self, keys: Iterable[str]) -> list[str]:
        """Put up trials that nobody has put up or finished.

        keys (Iterable[str]): Of trials that are not finished here.
        RETURNS (List[str]): Those finished on another machine, which are not run again.
        """
        live, elsewhere = set(), set()
        state = self.optuna.trial.TrialState
        for trial in self.study.get_trials(deepcopy=False):
            key = trial.user_attrs.get(KEY)
            if trial.state in (state.WAITING, state.RUNNING):
                live.add(key)
            elif trial.state == state.COMPLETE and trial.user_attrs.get(PLACE) != self.place:
                elsewhere.add(key)
        keys = list(keys)
        for key in keys:
            if key not in live | elsewhere:
                self.study.enqueue_trial({}, user_attrs={KEY: key})
        return [key for key in keys if key in elsewhere]

    def claim(self) -> Claim | None:
        """The next trial that nobody runs, if there is one."""
        state = self.optuna.trial.TrialState
        while self.study.get_trials(deepcopy=False, states=(state.WAITING,)):
            trial = self.study.ask()
            key = trial.user_attrs.get(KEY)
            # null: another process took the last one, and the study made a new one
            if key is not None and not self._has_earlier(key, trial.number):
                trial.set_user_attr(OWNER, _owner())
                return Claim(trial.number, key)
            self.study.tell(trial, state=state.FAIL)
        return None

    def _has_earlier(self, key: str, number: int) -> bool:
        """Whether two processes put up the same trial: the first one counts."""
        state = self.optuna.trial.TrialState
        live = (state.WAITING, state.RUNNING, state.COMPLETE)
        return any(
            t.user_attrs.get(KEY) == key and t.number < number
            for t in self.study.get_trials(deepcopy=False, states=live)
            if t.state != state.COMPLETE or t.user_attrs.get(PLACE) != self.place
        )

    @contextmanager
    def alive(self, claim: Claim) -> Iterator[None]:
        """Give signs of life while the block runs."""
        done = threading.Event()
        storage, trial_id = self.study._storage, self._id(claim.number)

        def beat() -> None:
            while not done.wait(BEAT):
                storage.set_trial_user_attr(trial_id, OWNER, _owner())

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _id(self, number: int) -> int:
        study = self.study
        return int(study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number))

    def finish(self, claim: Claim, score: float | None) -> bool:
        """Close a trial, with its score on dev, or null if it failed. RETURNS (bool): False if someone
        else had closed it."""
        state = self.optuna.trial.TrialState
        storage, trial_id = self.study._storage, self._id(claim.number)
        try:
            storage.set_trial_user_attr(trial_id, PLACE, self.place)
            self.study.tell(claim.number, score, state=state.FAIL if score is None else state.COMPLETE)
        except (RuntimeError, ValueError):  # an UpdateFinishedTrialError is a RuntimeError
            return False
        return True

    def give_back(self, claim: Claim) -> None:
        """Put a trial that was not finished up again."""
        if self.finish(claim, None):
            self.study.enqueue_trial({}, user_attrs={KEY: claim.key})

    def reap(self) -> list[Claim]:
        """Put up again what its owners have abandoned."""
        state, found = self.optuna.trial.TrialState, []
        for trial in self.study.get_trials(deepcopy=False, states=(state.RUNNING,)):
            if is_abandoned(trial.user_attrs.get(OWNER), trial.datetime_start.timestamp()):
                claim = Claim(trial.number, trial.user_attrs.get(KEY, ""))
                self.give_back(claim)
                found.append(claim)
        return found

    def n_running(self) -> int:
        """Trials that someone runs, here or elsewhere."""
        state = self.optuna.trial.TrialState
        return len(self.study.get_trials(deepcopy=False, states=(state.RUNNING,)))


def _owner() -> dict[str, Any]:
    return {"host": HOST, "pid": os.getpid(), "time": time.time()}


def is_abandoned(owner: dict[str, Any] | None, started: float) -> bool:
    """Whether nobody runs a trial any more.

    owner (Optional[Dict[str, Any]]): The last sign of life: host, pid, and time in seconds.
    started (float): When the trial began, in seconds, for an owner who never gave one.
    """
    if owner is None:
        return time.time() - started > GRACE
    if owner["host"] == HOST and not _is_running(owner["pid"]):
        return True
    return time.time() - owner["time"] > GRACE


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True
