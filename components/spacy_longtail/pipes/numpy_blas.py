"""Matrix products of a pipeline by NumPy's BLAS, where that is faster than spaCy's."""

import time
from collections.abc import Callable, Iterator

import numpy as np
from spacy.language import Language
from thinc.api import Model, NumpyOps

CALLBACK = "longtail.numpy_blas.v1"
SHAPE = (1000, 288)  # of a batch's words in spaCy's CNN
TIMES = 5


def use_numpy_blas(nlp: Language) -> Language:
    """Let every model of a pipeline multiply matrices by NumPy's BLAS, in prediction and in training.

    spaCy comes with another one, BLIS, which takes plain C where it does not know the CPU, as AMD's
    fourth Zen. What is computed is the same but for rounding. NumPy's takes all cores unless the
    variable OPENBLAS_NUM_THREADS says otherwise. Models on a GPU, and on Apple's own BLAS, stay as they
    are; components that are added later, too.

    nlp (Language): The pipeline, of any components; changed in place.
    RETURNS (Language): The pipeline.
    """
    ops = NumpyOps(use_blis=False)
    for node in _of_blis(nlp):
        node.ops = ops
    return nlp


def _of_blis(nlp: Language) -> Iterator[Model]:
    for _, pipe in nlp.components:
        model = getattr(pipe, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            own = node.ops
            # not Apple's, which is one of NumPy's
            if isinstance(own, NumpyOps) and type(own) is NumpyOps and own.use_blis:
                yield node


def uses_blis(nlp: Language) -> bool:
    """Whether `use_numpy_blas` would change anything. nlp (Language): The pipeline."""
    return any(True for _ in _of_blis(nlp))


def numpy_speedup() -> float:
    """How many times as fast NumPy's BLAS is as spaCy's on this machine, by a few products (50 ms)."""
    rows = np.ones(SHAPE, dtype="float32")
    weights = np.ones((SHAPE[1], SHAPE[1]), dtype="float32")

    def seconds(ops: NumpyOps) -> float:
        found = []
        for _ in range(TIMES):
            start = time.perf_counter()
            ops.gemm(rows, weights, trans2=True)
            found.append(time.perf_counter() - start)
        return min(found)

    return seconds(NumpyOps()) / seconds(NumpyOps(use_blis=False))


def create_numpy_blas() -> Callable[[Language], Language]:
    """Lets a pipeline multiply matrices by NumPy's BLAS, in training and once it is loaded.

    For [nlp.after_pipeline_creation]. See `use_numpy_blas`.

    RETURNS (Callable[[Language], Language]): `use_numpy_blas`.
    """
    return use_numpy_blas
