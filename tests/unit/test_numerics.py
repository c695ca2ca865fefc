"""Sigmoids and binary cross-entropy against formulas in Python's floats, far out at both ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_longtail.numerics import binary_cross_entropy, log_sigmoid, sigmoid

logit = st.one_of(
    st.floats(-40, 40), st.floats(-1e5, 1e5), st.sampled_from([0.0, -745.0, 745.0, -1e30, 1e30])
)
logits = st.lists(logit, min_size=1, max_size=6)


def true_sigmoid(z):
    small = math.exp(-abs(z))
    return (1.0 if z >= 0 else small) / (1 + small)


def true_log_sigmoid(z):
    return min(z, 0.0) - math.log1p(math.exp(-abs(z)))


@given(logits)
def test_sigmoids_are_those_of_float64(rows):
    z = np.array(rows)
    assert sigmoid(z) == pytest.approx([true_sigmoid(x) for x in rows], rel=1e-12, abs=1e-300)
    assert log_sigmoid(z) == pytest.approx([true_log_sigmoid(x) for x in rows], rel=1e-14, abs=1e-300)


@pytest.mark.filterwarnings("error")
@given(logits, st.integers(0, 2**31), st.sampled_from(["float32", "float64"]))
def test_binary_cross_entropy_is_that_of_float64(rows, seed, dtype):
    z = np.array(rows, dtype=dtype)
    y = np.random.default_rng(seed).integers(0, 2, len(z)).astype(dtype)
    signs = [x if yes else -x for x, yes in zip(z.tolist(), y)]
    f = [-true_log_sigmoid(x) for x in signs]
    d_rows = [-true_sigmoid(-x) if yes else true_sigmoid(-x) for x, yes in zip(signs, y)]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = binary_cross_entropy(z, y)
    near = {"rel": 1e-12} if dtype == "float64" else {"rel": 2e-5, "abs": 1.5e-7}
    assert found.f == pytest.approx(f, **near)
    assert found.d_rows == pytest.approx(d_rows, **near)
    assert found.f.dtype == found.d_rows.dtype == dtype
