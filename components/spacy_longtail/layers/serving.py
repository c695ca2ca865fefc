"""Faster predictions on a CPU: NumPy's BLAS for matrix multiplication, and transformers in int8."""

import os
import time
from collections.abc import Callable
from functools import cache

import numpy as np
from spacy.language import Language
from thinc.api import Model, NumpyOps
from thinc.types import Floats2d

from ..errors import Errors
from .listeners import nodes_of
from .windows import TRANSFORMER

MAX_PRODUCTS = 2**18  # multiplications up to which OpenBLAS uses the calling thread alone
BLOCK_ROWS = 32
VARIABLE, CHOICES = "SPACY_LONGTAIL_BLAS", ("numpy", "blis")
MIN_GAIN = 0.7  # time of NumPy's BLAS over BLIS's below which it replaces BLIS in a loaded pipeline


class BlockOps(NumpyOps):
    """Operations on the CPU that multiply matrices by NumPy's BLAS, in the calling thread alone.

    OpenBLAS gives a large product to all cores, where its threads wait for each other if several
    threads or processes serve texts. It computes a small one in the calling thread, so that a large
    one is computed in blocks here, whatever OPENBLAS_NUM_THREADS says. No other use of NumPy in the
    process changes. Gradients of weights, whose sums run over all tokens, stay with BLIS.
    """

    def gemm(
        self,
        x: Floats2d,
        y: Floats2d,
        out: Floats2d | None = None,
        trans1: bool = False,
        trans2: bool = False,
    ) -> Floats2d:
        """Return the product of two matrices. The arguments are those of thinc's `Ops.gemm`."""
        right = y.T if trans2 else y
        n_columns = MAX_PRODUCTS // (BLOCK_ROWS * max(len(right), 1))
        if trans1 or not n_columns:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        if len(x) * right.size <= MAX_PRODUCTS:
            return np.dot(x, right, out=out)
        if out is None:
            out = self.alloc2f(len(x), right.shape[1], zeros=False)
        for i in range(0, len(x), BLOCK_ROWS):
            rows = slice(i, i + BLOCK_ROWS)
            for j in range(0, right.shape[1], n_columns):
                out[rows, j : j + n_columns] = x[rows] @ right[:, j : j + n_columns]
        return out


@cache
def is_numpy_faster() -> bool:
    """Return whether blocks by NumPy's BLAS take less CPU time than BLIS, measured once a process.

    Where BLIS does not know the CPU, its generic C code takes some three times as long. The
    environment variable SPACY_LONGTAIL_BLAS, "numpy" or "blis", decides instead, if it is set, so
    that all processes round alike.

    RAISES (ValueError): If the variable has another value (L001).
    """
    if (chosen := os.environ.get(VARIABLE)) is not None:
        if chosen not in CHOICES:
            raise ValueError(
                Errors.L001.format(
                    name=VARIABLE,
                    rule="numpy or blis",
                    value=chosen,
                    fix="Remove it to take the faster one.",
                )
            )
        return chosen == "numpy"
    rows, weights = np.ones((BLOCK_ROWS, 288), dtype="float32"), np.ones((288, 288), dtype="float32")
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(6):
        for in_blocks, ops in ((False, NumpyOps(use_blis=True)), (True, BlockOps())):
            start = time.thread_time()
            ops.gemm(rows, weights, trans2=True)
            seconds[in_blocks].append(time.thread_time() - start)
    return min(seconds[True]) < MIN_GAIN * min(seconds[False])


def use_faster_blas(*models: Model) -> None:
    """Let models that multiply by BLIS take blocks by NumPy's BLAS if that is faster on this CPU.

    models (Model): Changed in place. Models on a GPU or on Apple's BLAS stay as they are, and those
        that `use_numpy_blas` has set.
    """
    nodes = [node for model in models for node in model.walk() if multiplies_by_blis(node)]
    if nodes and is_numpy_faster():
        for node in nodes:
            node.ops = BlockOps()


def multiplies_by_blis(node: Model) -> bool:
    """Return whether a layer multiplies matrices by spaCy's BLIS."""
    ops = node.ops  # the exact type, because Apple's ops are a subclass of NumpyOps
    return isinstance(ops, NumpyOps) and type(ops) is NumpyOps and bool(ops.use_blis)


def use_numpy_blas(nlp: Language) -> Language:
    """Use NumPy's BLAS for matrix multiplication in all components, in prediction and training.

    spaCy uses BLIS, which falls back to generic C code on CPUs that it does not know, such as AMD
    Zen 4. Results are the same except for rounding. NumPy's BLAS uses all cores unless the
    environment variable OPENBLAS_NUM_THREADS is set. Models on a GPU or on Apple's BLAS, and
    components that are added later, are not changed.

    nlp (Language): The pipeline, with any components; changed in place.
    RETURNS (Language): The pipeline.
    """
    for node in nodes_of(nlp):
        if multiplies_by_blis(node) or isinstance(node.ops, BlockOps):
            node.ops = NumpyOps(use_blis=False)
    return nlp


def create_numpy_blas() -> Callable[[Language], Language]:
    """Create a callback that makes a pipeline use NumPy's BLAS, in training and after loading.

    It is for [nlp.after_pipeline_creation]. See `use_numpy_blas`.

    RETURNS (Callable[[Language], Language]): `use_numpy_blas`.
    """
    return use_numpy_blas


def use_int8(nlp: Language) -> Language:
    """Quantize the transformers of a pipeline to int8, which doubles their speed on a CPU or more.

    Weights are quantized per output channel, activations per token. Scores change a little: compare
    `evaluate` before and after. Training, and predictions on a GPU, stay in full precision. A
    pipeline that is saved afterwards predicts in int8 when it is loaded.

    nlp (Language): Pipeline with a longtail.Transformer.v1; changed in place.
    RETURNS (Language): The pipeline.
    RAISES (ValueError): If no component has such a transformer (L860).
    """
    transformers = [node for node in nodes_of(nlp) if node.name == TRANSFORMER]
    if not transformers:
        raise ValueError(Errors.L860)
    for node in transformers:
        node.attrs["int8"] = True
    return nlp
