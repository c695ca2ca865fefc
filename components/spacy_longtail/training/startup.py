"""Start and end of a command: choice of the device, import of `--code`, end of processes."""

import gc
from collections.abc import Collection
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from pathlib import Path

from spacy.cli._util import setup_gpu
from spacy.util import import_file
from thinc.util import has_gpu

from ..errors import Errors

_imported: list[Path] = []


def use_gpu(gpu_id: int) -> None:
    """Choose the device of all computations from now on.

    gpu_id (int): ID of the GPU, or -1 for the CPU.
    RAISES (ValueError): If there is no such GPU, or CuPy or torch is missing (L515).
    """
    try:
        setup_gpu(gpu_id, silent=True)  # spaCy prints it itself
    except Exception as error:  # CuPy and torch raise errors of their own
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=str(error).rstrip("."))) from error


def check_gpu(gpu_id: int) -> None:
    """Check that the machine has a GPU for other processes, without using it in this one.

    gpu_id (int): ID of the GPU, or -1 for the CPU. Another GPU of this machine passes as well.
    RAISES (ValueError): If there is no GPU at all, or CuPy or torch is missing (L515).
    """
    if gpu_id >= 0 and not has_gpu:
        use_gpu(gpu_id)


def import_code(path: Path) -> None:
    """Run a Python file, so that configs can use the functions that it registers.

    path (Path): The file.
    RAISES (ValueError): If there is no such file (L402), or it raises an error or exits (L850).
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="--code names a Python file."))
    try:
        import_file("python_code", path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # including sys.exit, which would end the command silently
        problem = f"{type(error).__name__}: {error}".rstrip(".: ")
        if isinstance(error, SystemExit):
            problem = 'it calls sys.exit, which belongs below `if __name__ == "__main__":`'
        raise ValueError(Errors.L850.format(path=path, problem=problem)) from error
    _imported.append(path.resolve())


def imported_code() -> list[Path]:
    """Return the files imported so far. Processes that this one starts must import them as well."""
    return list(_imported)


def end_processes(others: Collection[BaseProcess] = ()) -> None:
    """End the processes that `nlp.pipe` started, if their results will not be read any more.

    Otherwise spaCy would wait for these processes, which wait until their results are read. When
    Python exits, it would wait until they have read their input.

    others (Collection[BaseProcess]): Processes to keep.
    """
    if left := [process for process in active_children() if process not in others]:
        for process in left:
            process.terminate()
        for queue in (found for found in gc.get_objects() if isinstance(found, Queue)):
            queue.cancel_join_thread()
