"""Comparison of results bit by bit: it tells 0.0 from -0.0, and one NaN from another."""

import numpy as np

__all__ = ["bits", "same"]


def bits(array):
    """Return the bit patterns of floats, and other arrays as they are."""
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "f" else array


def same(got, expected):
    """Return whether two arrays agree in type, shape and every bit."""
    got, expected = np.asarray(got), np.asarray(expected)
    return got.dtype == expected.dtype and got.shape == expected.shape and np.array_equal(bits(got), bits(expected))
