"""Weights to evaluate and to save in the place of those trained, of torch modules too.

spaCy puts the averages that an optimizer keeps in the place of the weights. For a torch module that
changes nothing, since it looks for its averages under names that no optimizer gives.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from thinc.api import PyTorchShim, xp2torch
from thinc.types import FloatsXd

Key = tuple[int, str]  # of a layer or of a module, and the parameter's name


class Averages(dict[Key, FloatsXd]):
    """Averages by parameter. Torch modules take them once `average_torch_modules` was called."""


def average_torch_modules() -> None:
    """Let torch modules take part in `use_params` where the parameters are `Averages`.

    Nothing changes for those of other optimizers.
    """
    original = PyTorchShim.use_params
    if getattr(original, "takes_averages", False):
        return

    @contextmanager
    def use_params(self: PyTorchShim, params: Mapping[Key, FloatsXd]) -> Iterator[None]:
        if not isinstance(params, Averages):
            with original(self, params):
                yield
            return
        kept = put(self, params)
        try:
            yield
        finally:
            for parameter, tensor in kept:
                parameter.data = tensor

    use_params.takes_averages = True  # type: ignore[attr-defined]
    PyTorchShim.use_params = use_params  # type: ignore[method-assign]


def put(shim: PyTorchShim, averages: Mapping[Key, FloatsXd]) -> list[tuple]:
    """Put averages in the place of a module's weights; what has none stays.

    shim (PyTorchShim): Of the module. averages (Mapping[Tuple[int, str], FloatsXd]): By parameter.
    RETURNS (List[Tuple[Parameter, Tensor]]): What was there.
    """
    kept = []
    for name, parameter in shim._model.named_parameters():
        average = averages.get((shim.id, name))
        if average is not None:
            kept.append((parameter, parameter.data))
            parameter.data = xp2torch(average, device=parameter.device).clone()
    return kept
