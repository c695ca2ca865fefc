"""Threads of torch: batches that are predicted side by side, and forked processes.

This module needs torch: import it within functions.

torch computes with OpenMP, whose settings and pools of threads belong to single threads of Python.
`torch.set_num_threads` changes more than that: it also sets the default of every thread that has
not used torch yet, so nothing here calls it in a process that others share.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

In = TypeVar("In")
Out = TypeVar("Out")


def side_by_side(read: Callable[[In], Out], batches: Sequence[In]) -> list[Out]:
    """Predict each batch on one thread, as many at once as torch uses threads here.

    This scales better than all threads on one batch after the other. Where the number of OpenMP's
    threads cannot be set for a single thread of Python, the batches are read one after the other.

    read (Callable): Computes a batch; called from several threads.
    batches (Sequence): The batches.
    RETURNS (List): The results in the order of the batches.
    """
    n_threads = min(torch.get_num_threads(), len(batches))
    set_threads = openmp_setter()
    if n_threads < 2 or set_threads is None:
        return [*map(read, batches)]

    def begin() -> None:
        torch.get_num_threads()  # torch sets the default of a new thread at its first use
        set_threads(1)

    def alone(batch: In) -> Out:
        with torch.no_grad():  # which is a setting of each thread
            return read(batch)

    with ThreadPoolExecutor(n_threads, initializer=begin) as pool:
        return list(pool.map(alone, batches))


@cache
def openmp_setter() -> Callable[[int], None] | None:
    """Return OpenMP's function that sets the number of threads of the calling thread alone.

    RETURNS (Optional[Callable[[int], None]]): Null where torch's OpenMP library cannot be asked.
    """
    try:
        return ctypes.CDLL(torch._C.__file__).omp_set_num_threads
    except (OSError, AttributeError):
        return None


def settle_forked_process() -> None:
    """Let a process that was just forked compute with one thread.

    The threads of the parent's pools do not exist in it: OpenMP and the tokenizers' pool would wait
    for them forever. With one thread neither looks for a pool.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=settle_forked_process)
