"""Atomic writing of files and folders."""

import os
import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from ..errors import Errors, Warnings

NEW = ".longtail-"  # prefix of temporary files and folders
RANDOM = r"\w{8}"  # suffix that tempfile adds
STOPPED = ".stopped"  # suffix of a folder whose content is unfinished; see `set_aside`
INSIDE = "new"  # the new content, in a temporary folder
MAX_NAME = 40  # characters of the target's name in the name of a temporary folder


@contextmanager
def coded_io(path: Path) -> Iterator[None]:
    """Turn errors of the disk into errors with a code.

    Closed pipes, lost connections and errors without a number of the operating system, which
    libraries raise as well, are not of the disk and pass unchanged.

    path (Path): Path for the message, if the error names none.
    RAISES (ValueError): If reading or writing fails (L432).
    """
    try:
        yield
    except ConnectionError:  # also BrokenPipeError
        raise
    except OSError as error:
        place, problem = error.filename or path, error.strerror or error
        if isinstance(error, shutil.Error):
            if isinstance(error.args[0], list):
                _, place, problem = error.args[0][0]  # the first that copytree could not copy
        elif error.errno is None:
            raise
        raise ValueError(Errors.L432.format(path=place, problem=problem)) from error


def nearest(path: Path) -> Path:
    """Return the path if it exists, otherwise its nearest parent that exists."""
    path = path.absolute()
    return next(place for place in (path, *path.parents) if place.exists())


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically. Missing folders are created.

    path (Path): The file.
    content (str | bytes): Content of the file. Text is written in UTF-8.
    RAISES (ValueError): If writing fails (L432). An earlier file is then unchanged.
    """
    # a lone surrogate is legal in JSON and has no UTF-8
    data = content.encode("utf8", "replace") if isinstance(content, str) else content
    path = path.resolve()
    with coded_io(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.parent / f"{NEW}{uuid.uuid4().hex}"
        try:
            with new.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)


def in_progress(target: Path) -> list[Path]:
    """Return the temporary folders of `whole_folder` for a target, of any process."""
    near = nearest(target.resolve().parent)
    pattern = re.compile(re.escape(_prefix(target)) + RANDOM)  # not the folders of run-b, if this is run
    folders = [path for path in sorted(near.iterdir()) if pattern.fullmatch(path.name)]
    return [path / INSIDE / target.resolve().name for path in folders]


def _prefix(target: Path) -> str:
    return f"{NEW}{target.resolve().name[:MAX_NAME]}-"


def refuse_mount_point(target: Path) -> None:
    """Refuse a folder that `whole_folder` could neither rename nor replace (L436).

    target (Path): The folder, existing or new. Commands check it before long work.
    """
    if os.path.ismount(target.resolve()):
        problem = "it is a mount point, which cannot be replaced"
        raise ValueError(Errors.L436.format(path=target, problem=problem, kind="folder"))


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Replace a folder by a new one if the block ends without an error.

    target (Path): The folder. Its content is deleted, so `check_folder` should be called before.
    YIELDS (Path): The new folder, empty, beside the target.
    RAISES (ValueError): If the target is a mount point (L436), or if reading or writing fails
        (L432). If only the last step fails, the new content is kept as `set_aside` does.
    """
    with coded_io(target):
        refuse_mount_point(target)
        full = target.resolve()
        if left := [new.parents[1].name for new in in_progress(full)]:
            near = nearest(full.parent)
            warnings.warn(Warnings.W034.format(folder=near, names=", ".join(left)), stacklevel=3)
        with replacing(full.parent, [full], _prefix(full), whole=target) as folder:
            new = folder / full.name
            new.mkdir()
            yield new


def set_aside(new: Path, target: Path) -> Path:
    """Keep the unfinished content of a `whole_folder` beside the target.

    new (Path): The new folder of `whole_folder`.
    target (Path): The folder that it would replace.
    RETURNS (Path): The folder in which the content is kept.
    """
    target = target.resolve()
    names = (f"{target.name}{STOPPED}" + f"-{n}" * (n > 1) for n in count(1))
    aside = next(path for name in names if not (path := target.with_name(name)).exists())
    with coded_io(aside):
        aside.parent.mkdir(parents=True, exist_ok=True)
        new.rename(aside)
    return aside


def _move(moves: Iterable[tuple[Path, Path]]) -> None:
    """Rename files and folders. If one cannot be renamed, all others are renamed back."""
    with ExitStack() as undo:
        for here, there in moves:
            os.replace(here, there)
            undo.callback(os.replace, there, here)
        undo.pop_all()


@contextmanager
def replacing(
    target: Path, stale: Iterable[Path] = (), prefix: str = NEW, whole: Path | None = None
) -> Iterator[Path]:
    """Replace some entries of a folder if the block ends without an error.

    target (Path): The folder, existing or new. Its other entries are kept.
    stale (Iterable[Path]): Entries that are removed even if no new ones replace them.
    prefix (str): Prefix of the name of the temporary folder.
    whole (Optional[Path]): Path of the only new entry, if it is a folder that `set_aside` keeps if
        it cannot be moved to its place. Messages name it instead of the target.
    YIELDS (Path): A new folder for the new entries, empty.
    RAISES (ValueError): If reading or writing in the block fails (L432).
    """
    if target.exists() and not target.is_dir():
        raise ValueError(Errors.L436.format(path=target, problem="it is not a folder", kind="folder"))
    # inside an existing target, which may be a separate disk or have a read-only parent
    near = target if target.is_dir() else nearest(target)
    with (
        coded_io(whole or target),
        tempfile.TemporaryDirectory("", prefix, near, ignore_cleanup_errors=True) as folder,
    ):
        new, old = Path(folder) / INSIDE, Path(folder) / "old"
        new.mkdir()
        old.mkdir()
        yield new
        target.mkdir(parents=True, exist_ok=True)
        arrivals = [(entry, target / entry.name) for entry in sorted(new.iterdir())]
        places = {*stale, *(place for _, place in arrivals)}
        try:
            _move([*((path, old / path.name) for path in places if path.exists()), *arrivals])
        except OSError as error:
            if whole is None:
                raise
            aside = set_aside(new / whole.resolve().name, whole)
            problem = f"{error.strerror or error}. The new content is kept in {aside}"
            raise ValueError(Errors.L432.format(path=whole, problem=problem)) from error
