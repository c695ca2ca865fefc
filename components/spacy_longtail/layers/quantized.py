"""Quantization of weights: eight bits with a scale per row, four bits with a scale per group."""

from typing import NamedTuple

import numpy as np

GROUP = 64  # weights that share a scale in four bits
LEVELS = 16
ROUNDS = 12  # of Lloyd's algorithm
SAMPLE = 500_000  # weights that the levels are fitted to
TINY = 1e-6  # half precision has no smaller scale


class EightBit(NamedTuple):
    """A matrix in eight bits a weight."""

    codes: np.ndarray  # (n_rows, n_columns) int8
    scales: np.ndarray  # (n_rows,) float32

    def expand(self) -> np.ndarray:
        """Return the matrix in float32."""
        return self.codes.astype("float32") * self.scales[:, None]


class FourBit(NamedTuple):
    """A matrix in four bits a weight."""

    codes: np.ndarray  # (n_rows, n_columns / 2) uint8, two weights in a byte
    scales: np.ndarray  # (n_groups,) float16
    levels: np.ndarray  # (16,) float32

    def expand(self) -> np.ndarray:
        """Return the matrix in float32."""
        codes = np.stack([self.codes >> 4, self.codes & 15], axis=-1).reshape(-1)
        values = self.levels[codes].reshape(-1, GROUP) * self.scales.astype("float32")[:, None]
        return values.reshape(len(self.codes), -1)


def eight_bit(matrix: np.ndarray, bits: float = 8) -> EightBit:
    """Quantize a matrix to eight bits per weight. Expanded weights are quantized to the same codes.

    matrix (np.ndarray): (n_rows, n_columns).
    bits (float): Number of bits that are used, the others being compressed away in an archive.
    """
    scales = np.maximum(np.abs(matrix).max(axis=1), TINY).astype("float32") / round(2 ** (bits - 1) - 1)
    return EightBit(np.round(matrix / scales[:, None]).astype("int8"), scales)


def four_bit(matrix: np.ndarray, seed: int = 0) -> FourBit:
    """Quantize a matrix to four bits per weight: 16 levels, fitted to the weights, times a scale.

    matrix (np.ndarray): (n_rows, n_columns), columns a multiple of 64.
    seed (int): Random seed of the weights that the levels are fitted to.
    """
    groups = matrix.astype("float32").reshape(-1, GROUP)
    scales = np.maximum(np.abs(groups).max(axis=1), TINY).astype("float16")
    values = (groups / scales.astype("float32")[:, None]).reshape(-1)
    sample = np.random.default_rng(seed).choice(values, size=min(len(values), SAMPLE), replace=False)
    levels = np.quantile(sample, (np.arange(LEVELS) + 0.5) / LEVELS).astype("float32")
    for _ in range(ROUNDS):
        nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, sample)
        sums = np.bincount(nearest, sample, LEVELS)
        counts = np.bincount(nearest, minlength=LEVELS)
        levels = np.sort(np.where(counts > 0, sums / np.maximum(counts, 1), levels)).astype("float32")
    codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, values).astype("uint8").reshape(-1, 2)
    return FourBit((codes[:, 0] << 4 | codes[:, 1]).reshape(len(matrix), -1), scales, levels)
