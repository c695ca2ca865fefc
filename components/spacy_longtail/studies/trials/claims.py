"""Who runs which trial: an Optuna study that any number of processes and machines share.

A trial of the study holds a content key and who runs it. Whoever dies stops giving signs of life, and
its trial is given to someone else.
"""

import os
import random
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import Errors, Warnings
from .secrets import masked

KEY, ATTEMPT, OWNER, PLACE = "key", "attempt", "owner", "place"  # attributes of a trial
BEAT = 20.0  # seconds between signs of life
GRACE = 120.0  # seconds without one until a trial counts as abandoned
HOST = socket.gethostname()
DRIVERS = {
    "psycopg2": "psycopg2-binary",
    "psycopg": "'psycopg[binary]'",
    "MySQLdb": "mysqlclient",
}  # packages


class Claim(NamedTuple):
    number: int  # in the study
    key: str
    attempt: int = 0  # one more each time that the trial is put up again


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
    import_optuna()
    try:
        if storage is not None and "://" in storage:
            return _open_database(storage)
        path = default if storage is None else Path(storage)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _open_journal(path)
        except OSError:
            raise
        except Exception:  # of reading what is no journal
            if storage is not None:  # others may use it
                raise
            aside = path.with_name(f"{path.name}.{time.time_ns()}")
            path.rename(aside)
            warnings.warn(Warnings.W096.format(path=path, aside=aside.name), stacklevel=2)
            return _open_journal(path)
    except Exception as error:  # of any database driver
        url = storage or str(default)
        problem = masked(_said(error), url)
        for missing in (error, error.__cause__):
            if isinstance(missing, ModuleNotFoundError) and missing.name:
                package = DRIVERS.get(missing.name, missing.name)
                problem = f"its driver {missing.name} is not installed. Run: pip install {package}."
        # not from error: what it says may hold a password
        raise ValueError(Errors.L477.format(storage=masked(url), problem=problem)) from None


def _open_journal(path: Path) -> Any:
    from .journal import WholeLines  # needs Optuna

    return import_optuna().storages.JournalStorage(WholeLines(path))


def _open_database(url: str) -> Any:
    open_database = partial(import_optuna().storages.RDBStorage, url)
    if not url.startswith("sqlite"):
        return _again(lambda: open_database(engine_kwargs={"pool_pre_ping": True}))
    from sqlalchemy import event

    # SQLite ignores FOR UPDATE, so that two processes could take the same trial: let each transaction
    # lock the file from its beginning, while the others wait.
    arguments = {"timeout": 60, "isolation_level": None}
    storage = _again(lambda: open_database(engine_kwargs={"connect_args": arguments}))
    event.listen(storage.engine, "begin", lambda link: link.exec_driver_sql("BEGIN IMMEDIATE"))
    return storage


def _again(opened: Callable[[], Any], times: int = 5) -> Any:
    """Open a new database, although another process may be making its tables at the same moment."""
    for _ in range(times - 1):
        try:
            return opened()
        except Exception:  # of any database driver
            time.sleep(random.random())
    return opened()


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextmanager
def coded_storage() -> Iterator[None]:
    """What a database or a journal refuses becomes a coded error. RAISES (ValueError): L491."""
    try:
        yield
    except Exception as error:  # of any database driver
        if isinstance(error, ValueError) and str(error).startswith("[L"):
            raise
        # not from error: what it says may hold a password
        raise ValueError(Errors.L491.format(problem=masked(_said(error)))) from None


class Claims:
    """The trials of a study, by content key.

    storage (BaseStorage): Of Optuna. name (str): Of the study, made if it is not there.
    place (str): The output folder, so that what was finished elsewhere can be told.
    RAISES (ValueError): L406; L491 here and of each method, if the storage fails.
    """

    def __init__(self, storage: Any, name: str, place: str) -> None:
        self.optuna = import_optuna()
        self.place = f"{HOST}:{place}"
        with coded_storage():
            self.study = self.optuna.create_study(
                storage=storage,
                sampler=self.optuna.samplers.RandomSampler(),  # which there is no use for
                study_name=name,
                direction="maximize",
                load_if_exists=True,
            )

    @coded_storage()
    def fill(self, keys: Iterable[str]) -> list[str]:
        """Put up trials that nobody has put up or finished.

        keys (Iterable[str]): Of trials that are not finished here.
        RETURNS (List[str]): Those finished on another machine, which are not run again.
        """
        live, elsewhere, attempts = set(), set(), dict[str, int]()
        state = self.optuna.trial.TrialState
        for trial in self.study.get_trials(deepcopy=False):
            key = trial.user_attrs.get(KEY)
            attempts[key] = max(attempts.get(key, 0), trial.user_attrs.get(ATTEMPT, -1) + 1)
            if trial.state in (state.WAITING, state.RUNNING):
                live.add(key)
            elif trial.state == state.COMPLETE and trial.user_attrs.get(PLACE) != self.place:
                elsewhere.add(key)
        keys = list(keys)
        for key in keys:
            if key not in live | elsewhere:
                self._put_up(key, attempts.get(key, 0))
        return [key for key in keys if key in elsewhere]

    def _put_up(self, key: str, attempt: int) -> None:
        self.study.enqueue_trial({}, user_attrs={KEY: key, ATTEMPT: attempt})

    @coded_storage()
    def claim(self) -> Claim | None:
        """The next trial that nobody runs, if there is one."""
        state = self.optuna.trial.TrialState
        while self.study.get_trials(deepcopy=False, states=(state.WAITING,)):
            trial = self.study.ask()
            found = trial.user_attrs
            # no key: another process took the last one, and the study made a new one
            if KEY in found:
                claim = Claim(trial.number, found[KEY], found[ATTEMPT])
                if not self._has_earlier(claim):
                    trial.set_user_attr(OWNER, owner_here())
                    return claim
            self.study.tell(trial, state=state.FAIL)
        return None

    def _has_earlier(self, claim: Claim) -> bool:
        """Whether two processes put up the same attempt: the first one counts, however it ended."""
        return any(
            (t.user_attrs.get(KEY), t.user_attrs.get(ATTEMPT)) == claim[1:] and t.number < claim.number
            for t in self.study.get_trials(deepcopy=False)
        )

    @contextmanager
    def alive(self, claim: Claim) -> Iterator[None]:
        """Give signs of life while the block runs."""
        done = threading.Event()
        with coded_storage():
            storage, trial_id = self.study._storage, self._id(claim.number)

        def beat() -> None:
            while not done.wait(BEAT):
                with suppress(Exception):  # a storage that is back in time has lost nothing
                    storage.set_trial_user_attr(trial_id, OWNER, owner_here())

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

    @coded_storage()
    def finish(self, claim: Claim, score: float | None) -> bool:
        """Close a trial.

        claim (Claim): The trial. score (Optional[float]): On dev, or null if it failed.
        RETURNS (bool): False if someone else had closed it.
        """
        state = self.optuna.trial.TrialState
        storage, trial_id = self.study._storage, self._id(claim.number)
        try:
            storage.set_trial_user_attr(trial_id, PLACE, self.place)
            if score is None:
                storage.set_trial_state_values(trial_id, state.FAIL)
            else:
                storage.set_trial_state_values(trial_id, state.COMPLETE, [score])
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False
        return True

    def give_back(self, claim: Claim) -> None:
        """Put a trial that was not finished up again."""
        with coded_storage():
            if claim.key:  # first, so that a crash between the two loses nothing
                self._put_up(claim.key, claim.attempt + 1)
        self.finish(claim, None)

    @coded_storage()
    def reap(self) -> list[Claim]:
        """Put up again what its owners have abandoned."""
        state, found = self.optuna.trial.TrialState, []
        for trial in self.study.get_trials(deepcopy=False, states=(state.RUNNING,)):
            own = trial.user_attrs
            if is_abandoned(own.get(OWNER), trial.datetime_start.timestamp()):
                found.append(Claim(trial.number, own.get(KEY, ""), own.get(ATTEMPT, 0)))
                self.give_back(found[-1])
        return found

    @coded_storage()
    def n_running(self) -> int:
        """Trials that someone runs, here or elsewhere."""
        state = self.optuna.trial.TrialState
        return len(self.study.get_trials(deepcopy=False, states=(state.RUNNING,)))


def owner_here() -> dict[str, Any]:
    """A sign of life of this process, as a trial's OWNER."""
    return {"host": HOST, "pid": os.getpid(), "time": time.time()}


def is_abandoned(owner: dict[str, Any] | None, started: float) -> bool:
    """Whether nobody runs a trial any more.

    owner (Optional[Dict[str, Any]]): The last sign of life: host, pid, and time in seconds.
    started (float): When the trial began, in seconds, for an owner who never gave one.
    """
    if owner is None:
        return time.time() - started > GRACE
    if owner["host"] == HOST and not is_running(owner["pid"]):
        return True
    return time.time() - owner["time"] > GRACE


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
