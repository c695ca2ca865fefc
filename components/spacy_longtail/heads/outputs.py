"""The size of a token model's output layer: set, changed by name, or left to what is loaded."""

from collections.abc import Sequence

from spacy.util import replace_model_node
from thinc.api import Linear, Model, zero_init

from ..errors import Errors
from ..layers.described import described_linear, is_described
from ..layers.transitions import transition_scores


def set_outputs(model: Model, n_outputs: int, who: str) -> None:
    """Size the output layer of an untrained model."""
    output = output_of(model)
    n_known = output.maybe_get_dim("nO")
    if n_known not in (None, n_outputs):
        problem = f"it has {n_known} outputs, its types need {n_outputs}"
        raise ValueError(Errors.L209.format(who=who, problem=problem, fix="Set nO = null in its block."))
    output.set_dim("nO", n_outputs)


def output_of(model: Model) -> Model:
    """The layer that gives one output per tag."""
    return model.get_ref("output_layer")


def rename_outputs(model: Model, old: Sequence[str], new: Sequence[str], fill: Sequence[float]) -> None:
    """Give a trained model other outputs: those of the same name keep their weights.

    The layers are replaced, so that an optimizer starts from zero with them.

    fill (Sequence[float]): What each output of `new` has, whatever the input, if `old` lacks it.
    """
    kept = [i for i, name in enumerate(new) if name in old]
    source = [old.index(new[i]) for i in kept]
    refs = [ref for ref in ("output_layer", "transitions") if ref in model.ref_names]
    layers = {ref: model.get_ref(ref) for ref in refs}
    before = {ref: {n: layer.get_param(n) for n in layer.param_names} for ref, layer in layers.items()}
    forget_outputs(model, len(new))
    for ref, params in before.items():
        for name, rows in params.items():
            if name not in ("P", "Q", "D"):  # which all outputs share
                n_axes = 1 if ref == "output_layer" else rows.ndim
                fresh = model.ops.alloc((len(new),) * n_axes + rows.shape[n_axes:])
                if name == "b":
                    fresh += model.ops.asarray1f(fill)
                at, was = (model.ops.xp.ix_(*[index] * n_axes) for index in (kept, source))
                fresh[at] = rows[was]
                rows = fresh
            model.get_ref(ref).set_param(name, rows)


def forget_outputs(model: Model, n_outputs: int | None = None) -> None:
    """Put fresh layers without weights in place of the sized ones."""
    output = output_of(model)
    for node in model.walk():  # containers that took their size from the output layer
        if node is not output and "nO" in node.dim_names and output in node.walk():
            node.set_dim("nO", n_outputs, force=True)  # type: ignore[arg-type]
    sizes = {"nO": n_outputs, "nI": output.maybe_get_dim("nI")}
    if is_described(output):
        fresh: Model = described_linear(output.get_dim("nM"), output.attrs["residual"], **sizes)
    else:
        fresh = Linear(init_W=zero_init, **sizes)
    replace_model_node(model, output, fresh)
    if "transitions" in model.ref_names:
        replace_model_node(model, model.get_ref("transitions"), transition_scores(n_outputs))
