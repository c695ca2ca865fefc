"""Where an Optuna study is kept: an SQLite file, or any database that machines share."""

import random
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import quote

from ...errors import Errors, Warnings
from .secrets import masked

if TYPE_CHECKING:  # Optuna is an extra
    from optuna import Study
    from optuna.storages import RDBStorage
    from optuna.trial import FrozenTrial

STUDY = "study.db"
KEY, ATTEMPT = "key", "attempt"  # attributes of a trial
BEAT = 20  # seconds between signs of life
GRACE = 60  # seconds without one until a trial counts as abandoned
LOCKED = 60  # seconds that a process waits for another one's transaction in an SQLite file
N_SHOWN = 5  # tables that a message names
OWN_TABLES = {"studies", "version_info"}  # one of them is the first that Optuna makes
DRIVERS = {
    "psycopg2": "psycopg2-binary",
    "psycopg": "'psycopg[binary]'",
    "MySQLdb": "mysqlclient",
}  # packages


def import_optuna() -> ModuleType:
    """Optuna without its chatter. RAISES (ValueError): L406."""
    try:
        import optuna
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="optuna", extra="tune")) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # of heartbeats, which Engine sends
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    warnings.filterwarnings("ignore", "Heartbeat of storage is supposed to be used with Study.optimize")
    return optuna


def open_storage(storage: str | None, default: Path, copy: Path | None = None) -> "RDBStorage":
    """An Optuna storage.

    storage (Optional[str]): A database URL, such as postgresql://user@host/name, or the path of an
        SQLite file. default (Path): The SQLite file that null stands for; one that cannot be read is
        set aside.
    copy (Optional[Path]): A file that repeats what is in the study, and is set aside where that cannot
        be read or is gone: the trials are run again. Null where records outlive the study.
    RAISES (ValueError): L406, L477, L549.
    """
    import_optuna()
    try:
        if storage is not None and "://" in storage:
            if path_of := _file_of(storage):
                _check_own(path_of)
            return _open(storage)
        path = default if storage is None else Path(storage)
        path.parent.mkdir(parents=True, exist_ok=True)
        if storage is None and not path.exists():
            _leave(copy, path)
        try:
            _check_file(path)
            _check_own(path)
        except sqlite3.OperationalError:  # it may be sound, but is locked or cannot be opened
            raise
        except sqlite3.DatabaseError:
            if storage is not None:  # others may use it
                raise
            _set_aside(path, copy)
        return _open(_url(path))
    except Exception as error:  # of any database driver
        if str(error).startswith("[L"):
            raise
        url = storage or str(default)
        problem = masked(_said(error), url)
        for missing in (error, error.__cause__):
            if isinstance(missing, ModuleNotFoundError) and missing.name:
                package = DRIVERS.get(missing.name, missing.name)
                problem = f"its driver {missing.name} is not installed. Run: pip install {package}."
        # not from error: what it says may hold a password
        raise ValueError(Errors.L477.format(storage=masked(url), problem=problem)) from None


def is_lost(path: Path) -> bool:
    """Whether the study of the records beside it is gone, or cannot be read."""
    try:
        if not path.is_file():
            return True
        _check_file(path)
    except sqlite3.OperationalError:  # locked: it may be sound
        return False
    except sqlite3.DatabaseError:
        return True
    return False


def _check_file(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=LOCKED)) as link:
        (said,) = link.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise sqlite3.DatabaseError(said)


def _file_of(url: str) -> Path | None:
    """The file of an SQLite URL; null of any other, and of a database in memory."""
    from sqlalchemy import make_url

    parts = make_url(url)
    is_file = parts.get_backend_name() == "sqlite" and parts.database not in (None, "", ":memory:")
    return Path(str(parts.database)) if is_file else None


def _check_own(path: Path) -> None:
    """Refuse an SQLite file of something else: Optuna would make its tables there. RAISES: L549."""
    if not path.is_file():
        return
    with closing(sqlite3.connect(path, timeout=LOCKED)) as link:
        rows = link.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = {name for (name,) in rows}
    # empty: another process may be making its tables at this moment
    if tables and not tables & OWN_TABLES:
        raise ValueError(Errors.L549.format(path=path, tables=", ".join(sorted(tables)[:N_SHOWN])))


def _set_aside(path: Path, copy: Path | None) -> None:
    stamp = time.time_ns()
    aside = path.with_name(f"{path.name}.{stamp}")
    path.rename(aside)
    unfinished = path.with_name(f"{path.name}-journal")  # the next file has no part in its transaction
    if unfinished.exists():
        unfinished.rename(path.with_name(f"{aside.name}-journal"))
    if copy is None:
        warnings.warn(Warnings.W096.format(path=path, aside=aside.name), stacklevel=3)
        return
    if copy.exists():
        copy.rename(copy.with_name(f"{copy.name}.{stamp}"))
    warnings.warn(Warnings.W109.format(path=path, aside=aside.name, copy=copy.name), stacklevel=3)


def _leave(copy: Path | None, path: Path) -> None:
    """Set aside what repeats a study that is no longer there: its trials are numbered anew."""
    if copy is None or not copy.exists():
        return
    aside = copy.with_name(f"{copy.name}.{time.time_ns()}")
    copy.rename(aside)
    warnings.warn(Warnings.W110.format(path=path, copy=copy.name, aside=aside.name), stacklevel=3)


def _url(path: Path) -> str:
    from sqlalchemy import URL, make_url

    url = URL.create("sqlite", database=str(path)).render_as_string()
    if make_url(url).database != str(path):  # SQLAlchemy 2.0 reads what follows a ? as options
        url = f"sqlite:///file:{quote(str(path))}?uri=true"
    return url.replace("{", "{{").replace("}", "}}")  # Optuna formats it


def _open(url: str) -> "RDBStorage":
    is_file = url.startswith("sqlite")
    waiting = {"connect_args": {"timeout": LOCKED, "isolation_level": None}}
    storage = _again(
        lambda: import_optuna().storages.RDBStorage(
            url,
            engine_kwargs=waiting if is_file else {"pool_pre_ping": True},
            heartbeat_interval=BEAT,
            grace_period=GRACE,
            heartbeat_stale_trial_callback=put_back,
        )
    )
    if is_file:
        from sqlalchemy import event

        # SQLite ignores FOR UPDATE, so that two processes could take the same trial: let each
        # transaction lock the file from its beginning, while the others wait.
        event.listen(storage.engine, "begin", lambda link: link.exec_driver_sql("BEGIN IMMEDIATE"))
    return storage


def _again(opened: "Callable[[], RDBStorage]", times: int = 5) -> "RDBStorage":
    """Open a new database, although another process may be making its tables at the same moment."""
    for _ in range(times - 1):
        try:
            return opened()
        except Exception:  # of any database driver
            time.sleep(random.random())
    return opened()


def put_back(study: "Study", trial: "FrozenTrial") -> None:
    """Put a trial that was not finished back into the queue, with the values that it had.

    Optuna's own callback copies all attributes, who ran the trial too, and does not count attempts.

    study (Study): The study. trial (FrozenTrial): The trial.
    """
    own = trial.user_attrs
    if KEY in own:
        values = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        study.enqueue_trial(values, user_attrs={KEY: own[KEY], ATTEMPT: own[ATTEMPT] + 1})


def _said(error: BaseException) -> str:
    """What the database's driver says, without the statement that it says it of."""
    while inner := getattr(error, "orig", None) or error.__cause__:
        error = inner
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"{text.rstrip('.')}."


@contextmanager
def coded_storage() -> Iterator[None]:
    """What a database refuses becomes a coded error. RAISES (ValueError): L491."""
    try:
        yield
    except Exception as error:  # of any database driver
        if isinstance(error, ValueError) and str(error).startswith("[L"):
            raise
        # not from error: what it says may hold a password
        raise ValueError(Errors.L491.format(problem=masked(_said(error)))) from None
