"""Where to compute."""

from spacy.cli._util import setup_gpu

from ..errors import Errors


def use_gpu(gpu_id: int) -> None:
    """Compute on a GPU from now on. gpu_id (int): -1 is the CPU."""
    try:
        setup_gpu(gpu_id, silent=True)  # spaCy says it
    except Exception as error:  # CuPy and torch have their own
        raise ValueError(Errors.L515.format(gpu_id=gpu_id, problem=str(error).rstrip("."))) from error
