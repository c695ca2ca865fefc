"""Output layer of a token model: set its size, replace outputs by name, remove its weights."""

from collections.abc import Sequence

from spacy.util import replace_model_node
from thinc.api import Linear, Model, zero_init

from ..errors import Errors
from ..layers.described import SHARED, described_linear, is_described
from ..layers.transitions import transition_scores
from .base import Head


def set_outputs(model: Model, n_outputs: int, who: str) -> None:
    """Set the number of outputs of an untrained model.

    RAISES (ValueError): If the config gave the model another number (L209).
    """
    output = output_of(model)
    n_known = output.maybe_get_dim("nO")
    if n_known not in (None, n_outputs):
        problem = f"it has {n_known} outputs, its types need {n_outputs}"
        raise ValueError(Errors.L209.format(who=who, problem=problem, fix="Set nO = null in its block."))
    output.set_dim("nO", n_outputs)


def output_of(model: Model) -> Model:
    """Return the layer that gives one output per tag."""
    return model.get_ref("output_layer")


def rename_outputs(
    model: Model, old: Sequence[str], new: Sequence[str], biases: Sequence[float]
) -> None:
    """Replace the outputs of a trained model; outputs of the same name keep their weights.

    The layers are replaced as well, so that an optimizer has no averages or moments for them.

    old (Sequence[str]): Names of the outputs that the model has, in order.
    new (Sequence[str]): Names of the outputs that it gets.
    biases (Sequence[float]): Bias of each output of `new` that is not in `old`; its other weights
        are 0.
    """
    kept = [i for i, name in enumerate(new) if name in old]
    source = [old.index(new[i]) for i in kept]
    refs = [ref for ref in ("output_layer", "transitions") if ref in model.ref_names]
    layers = {ref: model.get_ref(ref) for ref in refs}
    before = {ref: {n: layer.get_param(n) for n in layer.param_names} for ref, layer in layers.items()}
    forget_outputs(model, len(new))
    for ref, params in before.items():
        for name, rows in params.items():
            if name not in SHARED:
                n_axes = 1 if ref == "output_layer" else rows.ndim
                resized = model.ops.alloc((len(new),) * n_axes + rows.shape[n_axes:])
                if name == "b":
                    resized += model.ops.asarray1f(biases)
                at, was = (model.ops.xp.ix_(*[index] * n_axes) for index in (kept, source))
                resized[at] = rows[was]
                rows = resized
            model.get_ref(ref).set_param(name, rows)


def resize_outputs(model: Model, before: Head, after: Head) -> None:
    """Give a model the outputs of another head. Outputs that both heads have keep their weights.

    model (Model): The model. One without weights gets a new size if it has the size of `before`;
        otherwise its size is left open.
    before (Head): Head whose outputs the model has.
    after (Head): Head whose outputs it gets.
    """
    output = output_of(model)
    if output.has_param("W"):
        # A described type starts from its description alone.
        biases = [0.0] * len(after.outputs)
        biases = biases if is_described(output) else after.initial_biases(before.outputs)
        rename_outputs(model, before.outputs, after.outputs, biases)
    elif output.maybe_get_dim("nO") == len(before.outputs):  # the size in the config
        forget_outputs(model, len(after.outputs))


def forget_outputs(model: Model, n_outputs: int | None = None) -> None:
    """Replace the output layer, and the transitions of a CRF, by layers without weights.

    n_outputs (Optional[int]): Number of outputs; null leaves it open.
    """
    output = output_of(model)
    for node in model.walk():  # containers that took their size from the output layer
        if node is not output and "nO" in node.dim_names and output in node.walk():
            node.set_dim("nO", n_outputs, force=True)  # type: ignore[arg-type]
    sizes = {"nO": n_outputs, "nI": output.maybe_get_dim("nI")}
    if is_described(output):
        layer: Model = described_linear(output.get_dim("nM"), output.attrs["residual"], **sizes)
    else:
        layer = Linear(init_W=zero_init, **sizes)
    replace_model_node(model, output, layer)
    if "transitions" in model.ref_names:
        replace_model_node(model, model.get_ref("transitions"), transition_scores(n_outputs))
