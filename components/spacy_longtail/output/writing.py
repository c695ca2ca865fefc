"""Safe output: checks where a command may write, and atomic writing of files and folders."""

import os
import re
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from ..errors import Errors, Warnings

NEW = ".longtail-"  # prefix of temporary files and folders
RANDOM = r"\w{8}"  # suffix that tempfile adds
INSIDE = "new"  # the new content, in a temporary folder
ASSETS = "assets"  # folder with a project's own data
ENDS = 1 << 16  # number of bytes at both ends of a file that are searched for a mark
MAX_NAME = 40  # characters of the target's name in the name of a temporary folder
NOT_IN_NAMES = frozenset('<>:"/\\|?*')  # characters that Windows forbids in names of files
DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}


@contextmanager
def coded_io(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into errors with a code.

    path (Path): Path for the message, if the error names none.
    RAISES (ValueError): If reading or writing fails (L432).
    """
    try:
        yield
    except OSError as error:
        place, problem = error.filename or path, error.strerror or error
        if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
            _, place, problem = error.args[0][0]  # the first that copytree could not copy
        raise ValueError(Errors.L432.format(path=place, problem=problem)) from error


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
            problem = f"it lies in {folder}, which is read"
            raise ValueError(Errors.L436.format(path=target, problem=problem, kind=kind))


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
    """Return whether a file may have this name on every system, because outputs are copied.

    Windows reserves names of devices with any extension, and drops a dot or space at the end.
    """
    bad = not name or name[-1] in " ." or any(c in NOT_IN_NAMES or ord(c) < 32 for c in name)
    return not bad and name.partition(".")[0].rstrip().upper() not in DEVICES


def with_name(folder: Path) -> Path:
    """Return the path of a folder with its name at the end, instead of . or .."""
    return folder.resolve() if folder.name in ("", "..") else folder


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


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Replace a folder by a new one if the block ends without an error.

    target (Path): The folder. Its content is deleted, so `check_folder` should be called before.
    YIELDS (Path): The new folder, empty, beside the target.
    RAISES (ValueError): If reading or writing in the block fails (L432).
    """
    with coded_io(target):
        target = target.resolve()
        if left := [new.parents[1].name for new in in_progress(target)]:
            near = nearest(target.parent)
            warnings.warn(Warnings.W034.format(folder=near, names=", ".join(left)), stacklevel=3)
        with replacing(target.parent, [target], _prefix(target)) as folder:
            new = folder / target.name
            new.mkdir()
            yield new


def set_aside(new: Path, target: Path) -> Path:
    """Keep the unfinished content of a `whole_folder` beside the target.

    new (Path): The new folder of `whole_folder`.
    target (Path): The folder that it would replace.
    RETURNS (Path): The folder in which the content is kept.
    """
    target = target.resolve()
    names = (f"{target.name}.stopped" + f"-{n}" * (n > 1) for n in count(1))
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
def replacing(target: Path, stale: Iterable[Path] = (), prefix: str = NEW) -> Iterator[Path]:
    """Replace some entries of a folder if the block ends without an error.

    target (Path): The folder, existing or new. Its other entries are kept.
    stale (Iterable[Path]): Entries that are removed even if no new ones replace them.
    prefix (str): Prefix of the name of the temporary folder.
    YIELDS (Path): A new folder for the new entries, empty.
    RAISES (ValueError): If reading or writing in the block fails (L432).
    """
    if target.exists() and not target.is_dir():
        raise ValueError(Errors.L436.format(path=target, problem="it is not a folder", kind="folder"))
    # inside an existing target, which may be a separate disk or have a read-only parent
    near = target if target.is_dir() else nearest(target)
    with (
        coded_io(target),
        tempfile.TemporaryDirectory("", prefix, near, ignore_cleanup_errors=True) as folder,
    ):
        new, old = Path(folder) / INSIDE, Path(folder) / "old"
        new.mkdir()
        old.mkdir()
        yield new
        target.mkdir(parents=True, exist_ok=True)
        arrivals = [(entry, target / entry.name) for entry in sorted(new.iterdir())]
        places = {*stale, *(place for _, place in arrivals)}
        _move([*((path, old / path.name) for path in places if path.exists()), *arrivals])
