"""Torch modules in thinc: weights are safetensors, and nothing else is ever read."""

import copy
import pickle
import sys

import numpy as np
import pytest
import srsly

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
safetensors = pytest.importorskip("safetensors.torch", reason="needs the extra 'torch'")


from spacy_longtail.layers.torch_layer import (  # noqa: E402
    from_safetensors,
    tensor_checksum,
    to_safetensors,
    torch_layer,
)

CPU = torch.device("cpu")


class Net(torch.nn.Module):
    def __init__(self, n_in=3, dtype=torch.float32):
        super().__init__()
        self.first = torch.nn.Linear(n_in, 4, dtype=dtype)
        self.norm = torch.nn.BatchNorm1d(4)  # has a buffer of integers without a dimension

    def forward(self, X):
        return self.first(X)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.a.bias = torch.nn.Parameter(torch.arange(9.0).reshape(3, 3).t()[0])  # not contiguous


class Exploit:
    ran = False

    def __reduce__(self):
        return (setattr, (Exploit, "ran", True))


def state(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("make", [Net, Tied, lambda: Net(dtype=torch.bfloat16), torch.nn.Identity])
def test_weights_come_back_exactly_and_without_pickle(make, no_pickle):
    module, other = make(), make()
    data = to_safetensors(module)
    assert set(safetensors.load(data)) == set(module.state_dict())  # the bytes are all safetensors
    assert same(state(from_safetensors(other, data, CPU)), state(module))


def test_a_layer_pickles_and_copies():
    layer = torch_layer(Net())
    X = np.ones((2, 3), "f")
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer), layer.copy()):
        assert np.array_equal(layer.predict(X), other.predict(X))
        assert other.shims[0]._serialize_model is to_safetensors
        assert other.shims[0]._deserialize_model is from_safetensors


def refused(module, data, match):
    before, identity = state(module), dict(module.named_parameters())
    with pytest.raises(ValueError, match=match):
        from_safetensors(module, data, CPU)
    assert same(state(module), before)
    assert all(p is identity[name] for name, p in module.named_parameters())
    layer = torch_layer(module)
    message = srsly.msgpack_dumps({"config": {}, "state": data})
    with pytest.raises(ValueError, match=match):
        layer.shims[0].from_bytes(message)
    assert layer.shims[0].module is module and same(state(module), before)


def test_every_cut_and_every_changed_byte_is_noticed():
    module = Net()
    data = to_safetensors(module)
    for n in (*range(0, len(data), 53), len(data) - 1):
        refused(module, data[:n], "L221")
    refused(module, data + b"\0", "L221")
    for place in range(0, len(data), 17):
        changed = bytearray(data)
        changed[place] ^= 0x01
        refused(module, bytes(changed), "L221")


def test_no_pickle_is_opened_and_no_weight_takes_another_name(tmp_path):
    for data in (b"", b"\x08\0\0\0\0\0\0\0{}      ", "text", None, b'{"a": [1.0]}'):
        refused(Net(), data, r"L221.*Net")
    refused(Net(), pickle.dumps(Exploit()), "L221")
    torch.save({"state": Exploit()}, tmp_path / "weights.pt")
    refused(Net(), (tmp_path / "weights.pt").read_bytes(), "L221")
    assert not Exploit.ran


def test_weights_under_each_others_names_are_noticed():
    module = Tied()
    tensors = state(module)
    metadata = {"sha256": tensor_checksum(tensors)}
    tensors["a.bias"], tensors["b.bias"] = tensors["b.bias"], tensors["a.bias"]
    refused(module, safetensors.save(tensors, metadata=metadata), "L221.*checksum")
    refused(module, safetensors.save(tensors), "L221.*checksum")  # of somebody else: no checksum


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda tensors: tensors.pop("first.bias"), "first.bias"),
        (lambda tensors: tensors.update(extra=torch.zeros(2)), "extra"),
        (lambda tensors: tensors.update({"first.weight": torch.zeros(4, 5)}), "first.weight"),
        (lambda tensors: tensors.clear(), "first.bias"),
    ],
)
def test_weights_of_another_module_are_refused(change, named):
    tensors = state(Net())
    change(tensors)
    metadata = {"sha256": tensor_checksum(tensors)}
    refused(Net(), safetensors.save(tensors, metadata=metadata), f"L221.*{named}")


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_a_missing_package_names_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "safetensors.torch", raising=False)
    with pytest.raises(ValueError, match=rf"L406.*{package}.*spacy-longtail\[torch\]"):
        torch_layer(object())


def test_a_copied_layer_does_not_take_averages_of_the_first():
    layer = torch_layer(torch.nn.Linear(2, 2))
    other = layer.copy()
    averages = {(layer.shims[0].id, "weight"): np.ones((2, 2), "float32")}
    with other.use_params(averages):
        assert not (other.shims[0].module.weight == 1).all()


def test_a_layer_that_is_built_after_a_copy_has_another_id():
    other = torch_layer(torch.nn.Linear(2, 2)).copy()
    assert torch_layer(torch.nn.Linear(2, 2)).shims[0].id != other.shims[0].id
