"""Around the work: where to compute, code that configs name (`--code`), processes that are left."""

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
    """Compute on a GPU from now on. gpu_id (int): -1 is the CPU."""
    try:
        setup_gpu(gpu_id, silent=True)  # spaCy says it
    except Exception as error:  # CuPy and torch have their own
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=str(error).rstrip("."))) from error


def check_gpu(gpu_id: int) -> None:
    """Refuse a GPU that other processes could not use, without using it in this one.

    gpu_id (int): -1 is the CPU. RAISES (ValueError): If there is none, or what it needs is missing.
    """
    if gpu_id >= 0 and not has_gpu:
        use_gpu(gpu_id)


def import_code(path: Path) -> None:
    """Run a Python file, whose registered names configs may then use.

    path (Path): The file.
    RAISES (ValueError): If there is no such file, or it fails or ends the program while it runs.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix="--code names a Python file."))
    try:
        import_file("python_code", path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit, too, which would end the command without a word
        problem = f"{type(error).__name__}: {error}".rstrip(".: ")
        if isinstance(error, SystemExit):
            problem = 'it calls sys.exit, which belongs below `if __name__ == "__main__":`'
        raise ValueError(Errors.L850.format(path=path, problem=problem)) from error
    _imported.append(path.resolve())


def imported_code() -> list[Path]:
    """Return the files imported so far, which the processes that this one starts need as well."""
    return list(_imported)


def end_processes(others: Collection[BaseProcess] = ()) -> None:
    """End the processes that `nlp.pipe` started, where nobody reads their results any more.

    spaCy waits until they end, and they wait until somebody reads what they send. At its end Python
    waits until they read what was sent to them.

    others (Collection[BaseProcess]): Processes that go on.
    """
    if left := [process for process in active_children() if process not in others]:
        for process in left:
            process.terminate()
        for queue in (found for found in gc.get_objects() if isinstance(found, Queue)):
            queue.cancel_join_thread()
