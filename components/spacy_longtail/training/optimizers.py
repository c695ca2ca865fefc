"""Adam with the updates of thinc's, computed by torch in one pass over each parameter."""

import math
from typing import Any

import numpy as np
from spacy.language import Language
from thinc.api import Model, Optimizer, PyTorchShim
from thinc.backends import get_array_ops
from thinc.compat import has_torch
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd

from ..errors import Errors
from ..layers.torch_layer import TorchShim
from ..settings import finite, unused
from ..types import Block

Key = tuple[int, str]  # ID of the layer or torch module, and name of the parameter
WeightsAndGradient = tuple[FloatsXd, FloatsXd]


class TorchAdam(Optimizer):
    """Adam optimizer: updates NumPy parameters with torch, and all others with thinc.

    learn_rate (FloatOrSeq): Learning rate, a number or a schedule.
    weight_mix (float): Fraction of the trained weights in the averages; the rest are the weights
        before training. With 1, the averages are moving averages.
    **settings (Any): Settings of thinc's Optimizer.
    """

    def __init__(self, learn_rate: FloatOrSeq, *, weight_mix: float = 1.0, **settings: Any) -> None:
        super().__init__(learn_rate, **settings)
        self.weight_mix = weight_mix
        self.before: dict[Key, FloatsXd] = {}
        if weight_mix < 1:
            self.averages = {}

    def __call__(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd, *, lr_scale: float = 1
    ) -> WeightsAndGradient:
        """Update a parameter in place, and set its gradient to zero.

        key (Tuple[int, str]): ID of the layer, and name of the parameter.
        weights (FloatsXd): Weights, of any shape.
        gradient (FloatsXd): Gradient, of the same shape.
        lr_scale (float): Factor on the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): Weights and gradient.
        """
        averages, self.averages = self.averages, None  # so that thinc's update does not average as well
        if self.weight_mix < 1 and key not in self.before:
            self.before[key] = weights.copy()
        try:
            stepped = self._stepped(key, weights, gradient, lr_scale)
        finally:
            self.averages = averages
        if averages is None:
            return stepped
        ops = get_array_ops(weights)
        if key not in averages:
            averages[key] = ops.alloc(weights.shape, dtype="float32")
        if self.weight_mix < 1:
            averages[key][...] = weights
            averages[key] *= self.weight_mix
            averages[key] += (1 - self.weight_mix) * self.before[key]
        else:
            ops.update_averages(averages[key], stepped[0], self.nr_update[key])
        return stepped

    def _stepped(
        self, key: Key, weights: FloatsXd, gradient: FloatsXd, lr_scale: float
    ) -> WeightsAndGradient:
        decays_all = self.L2_is_weight_decay and self.learn_rate * lr_scale * self.L2 >= 1
        if not has_torch or decays_all or not all(map(_shares_memory, (weights, gradient))):
            return super().__call__(key, weights, gradient, lr_scale=lr_scale)
        ops = get_array_ops(weights)
        self.nr_update[key] += 1
        if self.L2 and not self.L2_is_weight_decay:
            gradient += self.L2 * weights
        if self.grad_clip:
            gradient = ops.clip_gradient(gradient, self.grad_clip)
        for moment in (self.mom1, self.mom2):
            if key not in moment:
                moment[key] = ops.alloc1f(weights.size)
        self._step(key, weights, gradient, self.learn_rate * lr_scale)
        gradient.fill(0)
        return weights, gradient

    def _step(self, key: Key, weights: FloatsXd, gradient: FloatsXd, rate: float) -> None:
        import torch
        from torch.optim.adamw import adamw

        n_updates = self.nr_update[key]
        kept = 1 - rate * self.L2 if self.L2_is_weight_decay else 1.0
        arrays = (weights, gradient, self.mom1[key], self.mom2[key])
        w, g, mom1, mom2 = (torch.from_numpy(a.reshape(-1)) for a in arrays)
        counts = [torch.tensor(n_updates - 1.0)]  # torch counts the update itself
        adamw(
            *([w], [g], [mom1], [mom2], [], counts),
            fused=True,
            amsgrad=False,
            beta1=self.b1,
            beta2=self.b2,
            lr=rate * kept,  # torch steps after the decay, thinc before it
            weight_decay=self.L2 / kept if self.L2_is_weight_decay else 0.0,
            eps=self.eps / math.sqrt(1 - self.b2**n_updates),  # torch adds it after its correction
            maximize=False,
        )


def check_averages(nlp: Language) -> None:
    """Check that the averages of an optimizer would include all trained weights.

    thinc's shim for torch modules ignores averages, so torch layers of other packages are refused.

    nlp (Language): The pipeline to train.
    RAISES (ValueError): If a trained component has such a layer (L821).
    """
    settings = nlp.config.interpolate()["training"]
    optimizer = settings["optimizer"]
    setting = "weight_mix" if optimizer.get("weight_mix", 1.0) < 1 else "use_averages"
    if setting == "use_averages" and not optimizer.get("use_averages", True):
        return
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        if name in settings["frozen_components"] or not isinstance(model, Model):
            continue
        shims = (shim for node in model.walk() for shim in node.shims)
        if any(isinstance(shim, PyTorchShim) and not isinstance(shim, TorchShim) for shim in shims):
            raise ValueError(Errors.L821.format(who=name, setting=setting))


def _shares_memory(array: object) -> bool:
    """Return whether torch can write to the memory of an array."""
    return isinstance(array, np.ndarray) and array.dtype == np.float32 and array.flags.carray


def create_adam(
    learn_rate: FloatOrSeq = 0.001,
    *,
    L2: FloatOrSeq = 0.0,
    beta1: FloatOrSeq = 0.9,
    beta2: FloatOrSeq = 0.999,
    eps: FloatOrSeq = 1e-8,
    grad_clip: FloatOrSeq = 1.0,
    L2_is_weight_decay: bool = True,
    use_averages: bool = True,
    weight_mix: float = 1.0,
) -> TorchAdam:
    """Create an Adam optimizer that is more than twice as fast as thinc's on a CPU with torch.

    Settings and updates are those of thinc's Adam.v1, up to rounding. Without torch, and on a GPU,
    thinc computes the updates. All numbers except weight_mix may be schedules.

    learn_rate (FloatOrSeq): Learning rate.
    L2 (FloatOrSeq): Strength of the weight decay.
    beta1 (FloatOrSeq): Decay rate of the mean of the gradients, between 0 and 1.
    beta2 (FloatOrSeq): Decay rate of the mean of their squares, between 0 and 1.
    eps (FloatOrSeq): Number added to the root of the mean square.
    grad_clip (FloatOrSeq): Maximum norm of a parameter's gradient, or 0 for no maximum.
    L2_is_weight_decay (bool): Whether weights decay apart from the update, as in AdamW. Otherwise
        L2 times the weights is added to the gradient.
    use_averages (bool): Whether spaCy evaluates and saves moving averages of the weights. Must be
        false for torch layers of other packages, such as those of spacy-transformers.
    weight_mix (float): Fraction of the trained weights, above 0 and at most 1, in the weights that
        spaCy evaluates and saves; the rest are the weights before training. With less than 1, a
        pretrained encoder forgets less of rare types.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If weight_mix is not in this range, or below 1 with use_averages.
    SOURCE: Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2; weight_mix:
        Wortsman et al. 2022, Robust fine-tuning of zero-shot models.
    """
    rule, fix = "a number above 0, at most 1", "1 keeps the trained weights."
    mix = finite("weight_mix", weight_mix, rule, fix, 1e-9, 1.0)
    if mix < 1 and use_averages:
        raise unused("use_averages", use_averages, "longtail.Adam.v1", "weight_mix = 1")
    settings: Block = {"L2": L2, "beta1": beta1, "beta2": beta2, "eps": eps, "grad_clip": grad_clip}
    settings |= {"L2_is_weight_decay": L2_is_weight_decay, "use_averages": use_averages or mix < 1}
    return TorchAdam(learn_rate, weight_mix=mix, **settings)
