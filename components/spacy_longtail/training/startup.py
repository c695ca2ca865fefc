"""Before the work: where to compute, and code of one's own that configs name (`--code`)."""

from pathlib import Path

from spacy.cli._util import setup_gpu
from spacy.util import import_file

from ..errors import Errors

_imported: list[Path] = []


def use_gpu(gpu_id: int) -> None:
    """Compute on a GPU from now on. gpu_id (int): -1 is the CPU."""
    try:
        setup_gpu(gpu_id, silent=True)  # spaCy says it
    except Exception as error:  # CuPy and torch have their own
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=str(error).rstrip("."))) from error


def import_code(path: Path) -> None:
    """Run a Python file, whose registered names configs may then use. path (Path): The file."""
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="--code names a Python file."))
    try:
        import_file("python_code", path)
    except Exception as error:  # whatever the code raises
        fix = "Correct it, or name another file with --code."
        problem = f"{path} cannot be imported: {type(error).__name__}: {error}".rstrip(".") + "."
        raise ValueError(Errors.L540.format(problem=problem, fix=fix)) from error
    _imported.append(path.resolve())


def imported_code() -> list[Path]:
    """The files that were imported in this process: processes that it starts need them, too."""
    return list(_imported)
