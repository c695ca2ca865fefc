"""Checks of outputs: where a command may write, and which names files may have."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import Errors
from .writing import coded_io, nearest

ASSETS = "assets"  # folder with a project's own data
ENDS = 1 << 16  # number of bytes at both ends of a file that are searched for a mark
NOT_IN_NAMES = frozenset('<>:"/\\|?*')  # characters that Windows forbids in names of files
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}


def check_folder(
    target: Path, inputs: Iterable[Path] = (), foreign: Callable[[Path], str] = lambda _: ""
) -> None:
    """Refuse an output folder that would replace something else, before any work.

    target (Path): The folder, existing or new.
    inputs (Iterable[Path]): Files and folders that the command reads. None of them may be the
        folder or lie in it.
    foreign (Callable[[Path], str]): Returns why a non-empty folder must not be replaced, or "".
    RAISES (ValueError): If the folder cannot be written or must not be replaced.
    """
    full = _checked(target, inputs, "folder")
    if full.exists() and not full.is_dir():
        raise ValueError(Errors.L436.format(path=target, problem="it is not a folder", kind="folder"))
    if full.is_dir():
        _check_open(full)
    with coded_io(full):
        problem = foreign(full) if full.is_dir() and any(full.iterdir()) else ""
    if problem:
        raise ValueError(Errors.L437.format(path=target, problem=problem))


def unless_holds(*names: str) -> Callable[[Path], str]:
    """Return a check for `check_folder` that accepts a folder with one of these files."""
    return lambda folder: "" if any((folder / n).exists() for n in names) else f"it holds no {names[0]}"


def check_file(target: Path, inputs: Iterable[Path] = (), mark: str = "") -> None:
    """Refuse an output file that would replace something else, before any work.

    target (Path): The file, existing or new.
    inputs (Iterable[Path]): Files and folders that the command reads. None of them may be the file.
    mark (str): Text near the beginning or the end of every file of this kind. A file without it is
        not replaced.
    RAISES (ValueError): If the file cannot be written or must not be replaced.
    """
    full = _checked(target, inputs, "file")
    if full.exists() and not full.is_file():
        problem = "it is a folder" if full.is_dir() else "it is not an ordinary file"
        raise ValueError(Errors.L436.format(path=target, problem=problem, kind="file"))
    if full.is_file() and not has_mark(full, mark):
        raise ValueError(Errors.L437.format(path=target, problem="the file there is of something else"))


def check_outside(target: Path, folders: Iterable[Path], kind: str) -> None:
    """Refuse an output in a folder that the command reads, because the next run would read it.

    target (Path): The output.
    folders (Iterable[Path]): Files and folders that the command reads.
    kind (str): "folder" or "file", for the message.
    RAISES (ValueError): If the output lies in one of the folders.
    """
    for folder in folders:
        if folder.resolve() in target.resolve().parents:
            raise ValueError(
                Errors.L436.format(path=target, problem=f"it lies in {folder}, which is read", kind=kind)
            )


def has_mark(path: Path, mark: str) -> bool:
    """Return whether a file is empty, or has a text near its beginning or end."""
    wanted = mark.encode("utf8")
    with coded_io(path), path.open("rb") as file:
        head = file.read(ENDS)
        file.seek(max(path.stat().st_size - ENDS, 0))
        return not head or wanted in head or wanted in file.read()


def _checked(target: Path, inputs: Iterable[Path], kind: str) -> Path:
    """Return the absolute path of an output that neither is nor contains a protected folder."""
    try:
        full = target.resolve()  # raises for links in a circle up to Python 3.12
        with suppress(FileNotFoundError, NotADirectoryError):
            full.stat()  # which does so after it, and for a name that is too long
        kept = {path.resolve(): f"{path}" for path in inputs}
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a NUL
        raise ValueError(Errors.L432.format(path=repr(str(target)), problem=error)) from error
    if (home := home_folder()) is not None:
        kept[home.resolve()] = "the home folder"
    kept |= {
        Path(ASSETS).resolve(): f"the folder {ASSETS}",
        Path.cwd(): "the working folder",
        Path(full.anchor): "the root folder",
    }
    problems = [f"it is {kept[full]}"] if full in kept else []
    problems += [f"{name} lies in it" for path, name in kept.items() if full in path.parents]
    if problems:
        raise ValueError(Errors.L436.format(path=target, problem=problems[0], kind=kind))
    _check_open(nearest(full.parent))
    return full


def home_folder() -> Path | None:
    """Return the home folder, or None if the user has none, as in many containers."""
    with suppress(RuntimeError):
        return Path.home()
    return None


def _check_open(place: Path) -> None:
    """Refuse a path that is not a folder or cannot be written to."""
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        problem = "it cannot be written to" if place.is_dir() else "it is not a folder"
        raise ValueError(Errors.L432.format(path=place, problem=problem))


def is_file_name(name: str) -> bool:
    """Return whether a file may have this name on every system, since users copy outputs.

    Windows reserves names of devices with any extension, and drops a dot or space at the end.
    """
    bad = not name or name[-1] in " ." or any(c in NOT_IN_NAMES or ord(c) < 32 for c in name)
    return not bad and name.partition(".")[0].rstrip().upper() not in DEVICES


def with_name(folder: Path) -> Path:
    """Return the path of a folder with its name at the end, instead of . or .."""
    return folder.resolve() if folder.name in ("", "..") else folder
