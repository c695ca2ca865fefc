"""Matrix products of a pipeline by NumPy's BLAS, where that is faster than spaCy's."""

from collections.abc import Callable

from spacy.language import Language
from thinc.api import NumpyOps

from ..layers.listeners import nodes_of


def use_numpy_blas(nlp: Language) -> Language:
    """Let every model of a pipeline multiply matrices by NumPy's BLAS, in prediction and training.

    spaCy comes with another one, BLIS, which takes plain C where it does not know the CPU, as AMD's
    fourth Zen. What is computed is the same but for rounding. NumPy's takes all cores unless the
    variable OPENBLAS_NUM_THREADS says otherwise. Models on a GPU, and on Apple's own BLAS, stay as
    they are; components that are added later, too.

    nlp (Language): The pipeline, of any components; changed in place.
    RETURNS (Language): The pipeline.
    """
    for node in nodes_of(nlp):
        # not Apple's, which is one of NumPy's
        if isinstance(node.ops, NumpyOps) and type(node.ops) is NumpyOps and node.ops.use_blis:
            node.ops = NumpyOps(use_blis=False)
    return nlp


def create_numpy_blas() -> Callable[[Language], Language]:
    """Lets a pipeline multiply matrices by NumPy's BLAS, in training and once it is loaded.

    For [nlp.after_pipeline_creation]. See `use_numpy_blas`.

    RETURNS (Callable[[Language], Language]): `use_numpy_blas`.
    """
    return use_numpy_blas
