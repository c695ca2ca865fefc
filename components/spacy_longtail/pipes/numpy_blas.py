"""Matrix multiplication with NumPy's BLAS, which is faster than spaCy's on some CPUs."""

from collections.abc import Callable

from spacy.language import Language
from thinc.api import NumpyOps

from ..layers.listeners import nodes_of


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
        # the exact type, because Apple's ops are a subclass of NumpyOps
        if isinstance(node.ops, NumpyOps) and type(node.ops) is NumpyOps and node.ops.use_blis:
            node.ops = NumpyOps(use_blis=False)
    return nlp


def create_numpy_blas() -> Callable[[Language], Language]:
    """Create a callback that makes a pipeline use NumPy's BLAS, in training and after loading.

    It is for [nlp.after_pipeline_creation]. See `use_numpy_blas`.

    RETURNS (Callable[[Language], Language]): `use_numpy_blas`.
    """
    return use_numpy_blas
