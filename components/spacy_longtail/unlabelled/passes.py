"""A pass of a pipeline over a pool: its memory does not grow with the pool, and it can be taken up."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from tqdm import tqdm

from ..errors import Errors
from ..output.writing import check_file, write_file

BATCH = 64  # documents whose probabilities are counted together
ZONE = 40  # batches after which words are forgotten
SAVED_EVERY = 60.0  # seconds


class State(Protocol):
    """What a pass has found so far."""

    def as_data(self) -> dict[str, Any]:
        """All of it, as msgpack holds it."""
        ...

    def take(self, data: dict[str, Any]) -> None:
        """Become what `as_data` gave."""
        ...


def processed(
    nlp: Language, texts: Iterator[Doc], batch_size: int, n_process: int, n_done: int = 0
) -> Iterator[list[Doc]]:
    """What the pipeline makes of texts after the first `n_done`, `BATCH` at a time, behind a bar.

    A batch is of use until the next one: its words are forgotten, or the vocabulary would grow with
    the pool.
    """
    size = BATCH * (ZONE if n_process == 1 else ZONE * 100)  # processes are started anew in each zone
    for at in range(0, n_done, size):
        with nlp.memory_zone():
            deque(islice(texts, min(size, n_done - at)), maxlen=0)
    # from where it stopped: what is skipped takes no time, and would spoil the estimate
    texts = iter(tqdm(texts, "texts", initial=n_done, unit="text", delay=2, disable=None, leave=False))
    while True:
        with nlp.memory_zone():
            first = next(texts, None)
            if first is None:
                return
            some = chain([first], islice(texts, size - 1))
            docs = nlp.pipe(some, batch_size=batch_size, n_process=n_process)
            yield from minibatch(docs, BATCH)


@contextmanager
def resumed(state: State, path: Path, about: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """Take up a pass that was interrupted, and leave a file to take this one up by.

    state (State): Of a pass that begins; it becomes that of the file, if there is one.
    path (Path): The file. about (Dict): What the pass is of: a file of anything else is refused.
    YIELDS (Callable): Saves the state now and then; it is saved too when the block is interrupted.
    RAISES (ValueError): L432, L507.
    """
    if path.is_file():
        load_state(state, path, about)
    last = [monotonic()]

    def save() -> None:
        if monotonic() - last[0] > SAVED_EVERY:
            save_state(state, path, about)
            last[0] = monotonic()

    try:
        yield save
    except KeyboardInterrupt:
        save_state(state, path, about)
        raise


def save_state(state: State, path: Path, about: dict[str, Any]) -> None:
    """Keep a state, with what it is of. RAISES (ValueError): L432."""
    write_file(path, srsly.msgpack_dumps({"about": about, **state.as_data()}))


def load_state(state: State, path: Path, about: dict[str, Any]) -> None:
    """Take up where a pass over the same stopped. RAISES (ValueError): L507."""
    try:
        data = srsly.msgpack_loads(path.read_bytes())
        if data["about"] != about:
            raise ValueError("it is of other settings, or its pool, corpus or pipeline has changed")
        state.take(data)
    except Exception as error:  # msgpack raises its own kinds
        raise ValueError(Errors.L507.format(path=path, problem=error)) from error


def state_path(output: Path) -> Path:
    """Where the state of a pass is, beside what it is to write. RAISES (ValueError): L432, L436."""
    path = output.with_name(f"{output.name}.state")
    check_file(path)
    return path


def stamps(paths: Iterable[Path]) -> list[str]:
    """What files are known by, as cheaply as a pool of millions allows; of those that are there."""
    found = ((path, path.stat()) for path in paths if path.exists())
    return [f"{path} {of.st_size} {of.st_mtime_ns}" for path, of in found]
