"""Torch modules as layers of thinc, with weights saved as safetensors.

Weights have a checksum: a damaged safetensors file would load, as any bit pattern is a number.
"""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from thinc.api import ArgsKwargs, Model, PyTorchShim, PyTorchWrapper_v3, torch2xp, xp2torch
from thinc.compat import has_torch
from thinc.shims import Shim
from thinc.types import Floats2d, FloatsXd

from ..errors import Errors
from ..extras import extra

if TYPE_CHECKING:
    import torch

SIZE_BYTES = 8  # a safetensors file begins with the size of its header, little-endian


def require_torch() -> None:
    """Check that the packages of torch layers are installed, and prepare for forked processes."""
    with extra("", "torch"):
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401
    prepare_forks()


def prepare_forks() -> None:
    """Let processes that are forked from now on compute with one torch thread instead of hanging.

    Every torch layer of this package does so. It is to be called before `nlp.pipe(n_process=2)` of
    pipelines whose torch layers are of other packages.
    """
    if has_torch:
        from . import torch_threads  # noqa: F401  # says what a forked process does first


def torch_layer(
    module: "torch.nn.Module",
    convert_inputs: Callable | None = None,
    convert_outputs: Callable | None = None,
    init: Callable | None = None,
    shim: "TorchShim | None" = None,
) -> Model:
    """Return a torch module as a thinc layer, whose weights are saved without pickle.

    module (torch.nn.Module): Module that pickles and returns float32. One that learns the width
        `n_in` of its inputs later has `resize`, and `first` names the weights that tell the width.
    convert_inputs (Optional[Callable]): Converts (model, X, is_train) to the module's ArgsKwargs
        and a callback for their gradients; null passes arrays as tensors.
    convert_outputs (Optional[Callable]): Converts (model, (X, tensors), is_train) to the outputs
        and a callback for their gradients; null passes tensors as arrays.
    init (Optional[Callable]): Initializes the layer.
    shim (Optional[TorchShim]): Shim of the module; null is one that saves it as safetensors.
    """
    require_torch()
    model = PyTorchWrapper_v3(module, convert_inputs=convert_inputs, convert_outputs=convert_outputs)
    model.shims[0] = shim or TorchShim(
        module, serialize_model=to_safetensors, deserialize_model=from_safetensors
    )
    if init is not None:
        model.init = init
    return model


class TorchShim(PyTorchShim):
    """thinc's shim, but safe for threads, and with averaged weights.

    After each prediction thinc's shim sets training mode, in which dropout changes what other
    threads are predicting at that moment.
    """

    @property
    def module(self) -> Any:
        """Return the torch module."""
        return self._model

    def copy(self) -> "TorchShim":
        """Return a copy with its own id, under which optimizers know and average its weights."""
        other = copy.deepcopy(self)
        with Shim.global_id_lock:
            Shim.global_id += 1
            other.id = Shim.global_id
        return other

    def predict(self, inputs: ArgsKwargs) -> Any:
        """Return the module's outputs in evaluation mode; `begin_update` sets training mode."""
        import torch

        self.module.eval()
        with torch.no_grad():
            return self.module(*inputs.args, **inputs.kwargs)

    @contextmanager
    def use_params(self, params: Mapping[tuple[int, str], FloatsXd]) -> Iterator[None]:
        """Use other weights for a while: those that an optimizer averaged.

        thinc's own shim looks for them under names that no optimizer gives.

        params (Mapping[Tuple[int, str], FloatsXd]): Weights by the shim's id and the parameter's
            name.
        """
        trained = []
        try:
            for name, parameter in self.module.named_parameters():
                if (other := params.get((self.id, name))) is not None:
                    trained.append((parameter, parameter.data))
                    parameter.data = xp2torch(other, device=parameter.device).clone()
            yield
        finally:
            for parameter, tensor in trained:
                parameter.data = tensor


def shim_of(layer: Model) -> TorchShim:
    """Return the shim of a layer that `torch_layer` returned."""
    return cast(TorchShim, layer.shims[0])


def rows_to_torch(model: Model, X: list[Floats2d], is_train: bool) -> tuple[ArgsKwargs, Callable]:
    """Convert the rows of documents to one tensor (n_tokens, width) and a list of lengths."""
    lengths = [*map(len, X)]
    rows = xp2torch(model.ops.flatten(X), requires_grad=is_train, device=shim_of(model).device)

    def from_gradient(d_inputs: ArgsKwargs) -> list[Floats2d]:
        return model.ops.unflatten(torch2xp(d_inputs.args[0]), model.ops.asarray1i(lengths))

    return ArgsKwargs(args=(rows, lengths), kwargs={}), from_gradient


def rows_from_torch(model: Model, X_Y: tuple, is_train: bool) -> tuple[list[Floats2d], Callable]:
    """Convert a tensor with one row per token to the rows of each document."""
    X, rows = X_Y

    def to_gradient(d_Y: list[Floats2d]) -> ArgsKwargs:
        d_rows = xp2torch(model.ops.flatten(d_Y), device=rows.device)
        return ArgsKwargs(args=((rows,),), kwargs={"grad_tensors": (d_rows,)})

    return model.ops.unflatten(torch2xp(rows), model.ops.asarray1i([*map(len, X)])), to_gradient


def to_safetensors(module: "torch.nn.Module") -> bytes:
    """Return the weights of a module as a safetensors file."""
    return write_safetensors(tensors_of(module))


def tensors_of(module: "torch.nn.Module") -> dict[str, "torch.Tensor"]:
    """Return copies of a module's weights that share no memory, as tied weights and cuDNN's do."""
    import torch

    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in module.state_dict().items()
    }


def from_safetensors(
    module: "torch.nn.Module", data: bytes, device: "torch.device"
) -> "torch.nn.Module":
    """Return a copy of a module with the weights of a safetensors file."""
    who = type(module).__name__
    tensors, _ = read_safetensors(data, who)
    loaded: Any = copy.deepcopy(module)
    first = tensors.get(getattr(loaded, "first", ""))
    if first is not None and first.ndim == 2 and loaded.n_in is None:
        loaded.resize(first.shape[1])
    load_state(loaded, tensors, who)
    return cast("torch.nn.Module", loaded.to(device))


def write_safetensors(tensors: dict[str, "torch.Tensor"], **metadata: str) -> bytes:
    """Return tensors as a safetensors file, with their checksum beside the other metadata."""
    import safetensors.torch

    return safetensors.torch.save(tensors, metadata={**metadata, "sha256": tensor_checksum(tensors)})


def read_safetensors(data: bytes, who: str) -> tuple[dict[str, "torch.Tensor"], dict[str, str]]:
    """Return the tensors and the metadata of a safetensors file.

    RAISES (ValueError): If it is no such file, or the weights do not have their checksum (L221).
    """
    import safetensors.torch

    try:
        tensors = safetensors.torch.load(data)
        size = int.from_bytes(data[:SIZE_BYTES], "little")
        metadata = json.loads(data[SIZE_BYTES : SIZE_BYTES + size]).get("__metadata__", {})
        if metadata.get("sha256") != tensor_checksum(tensors):
            raise ValueError("the weights do not have their checksum")
    except Exception as error:  # whatever the parser says of bytes that are not such a file
        raise ValueError(Errors.L221.format(who=who, problem=error)) from error
    return tensors, metadata


def load_state(module: "torch.nn.Module", tensors: dict[str, "torch.Tensor"], who: str) -> None:
    """Load weights into a module.

    RAISES (ValueError): If names or shapes of weights differ (L221).
    """
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(Errors.L221.format(who=who, problem=" ".join(str(error).split()))) from error


def tensor_checksum(tensors: dict[str, "torch.Tensor"]) -> str:
    """Return the SHA-256 of all contents in the order of names."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
