"""The sums of exact noise on operands of a test's choosing: those that are rounded twice, and wrongly, by simpler code.

Random noise meets a tie of float32 once in 2^29 draws. Here operands are placed beside ties.
"""

import random
from fractions import Fraction
from functools import cache

import numba
import numpy as np
import pytest
from exact_oracles import half_up, rounded_once
from mutants import mutant

from lapnoise.kernels import lattice_noise, refined

jit = numba.njit(error_model="numpy", nogil=True)
two_sum = refined.two_sum


@cache
def sums32(module):
    """Return fl32(x + c) of arrays, as the kernel for float32 makes it."""
    odd = module.odd

    @jit
    def run(x, c):
        out = np.empty(x.size, np.float32)
        for i in range(x.size):
            total, error = two_sum(np.float64(x[i]), c[i])
            out[i] = np.float32(odd(total, error))
        return out

    return run


@cache
def sums_of_three(module):
    """Return a + b + c of arrays, rounded once."""
    add = module.sum_of_three

    @jit
    def run(a, b, c):
        out = np.empty(a.size)
        for i in range(a.size):
            out[i] = add(a[i], b[i], c[i])
        return out

    return run


def without_kernels(*changes):
    """Return a mutant of the module; its kernels become device functions, which need no file."""
    return mutant(
        "lapnoise.kernels.lattice_noise", ("import device, kernel\n", "import device, device as kernel\n"), *changes
    )


def beside_ties32(seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 x and float64 c whose exact sum lies at, or just beside, the middle between two floats."""
    chance = random.Random(seed)
    x, c = [], []
    for _ in range(size):
        base = np.float32(chance.choice((-1, 1)) * chance.uniform(1, 2) * 2.0 ** chance.randint(-20, 20))
        ulp = Fraction(float(np.spacing(np.abs(base))))
        steps = chance.randint(-3, 3) + Fraction(1, 2)
        beside = chance.choice((0, 1, -1)) * Fraction(2) ** -chance.randint(28, 33)
        x.append(base)
        c.append(float((steps + beside) * ulp))  # 33 bits, so exact
    return np.array(x, np.float32), np.array(c)


def test_sums_beside_ties_of_float32():
    """Sums at and beside the middle of two float32 numbers are rounded as the exact sum is."""
    x, c = beside_ties32(1, 20_000)
    exact = [Fraction(float(a)) + Fraction(b) for a, b in zip(x, c.tolist(), strict=True)]
    wanted = np.array([rounded_once(s, np.float32) for s in exact], np.float32)

    assert np.array_equal(sums32(lattice_noise)(x, c), wanted)
    # The mutant that rounds to float64 first, to nearest, errs where the sum lies within 2^-29 of a tie.
    twice = (x.astype(np.float64) + c).astype(np.float32)
    assert np.sum(twice != wanted) > 500


def test_mutant_of_rounding_to_odd():
    """Rounding to odd toward the wrong side is seen."""
    x, c = beside_ties32(1, 20_000)
    wrong = without_kernels(("moved = bits + _ONE if outward else bits - _ONE", "moved = bits + _ONE"))
    assert np.sum(sums32(wrong)(x, c) != sums32(lattice_noise)(x, c)) > 100


def beside_ties(seed: int, size: int) -> list[tuple[int, float]]:
    """Return 64-bit integers and noises whose exact sum lies at, or just beside, the middle between two floats."""
    chance = random.Random(seed)
    made = []
    for _ in range(size):
        x = chance.getrandbits(chance.randint(54, 64))
        bits = max(x.bit_length() - 53, 0)
        ulp = 1 << bits
        middle = ((x >> bits) + chance.randint(-2, 2)) * ulp + Fraction(ulp, 2)
        beside = chance.choice((0, 1, -1)) * Fraction(2) ** -chance.randint(1, 40)
        c = float(middle + beside - x)
        if chance.random() < 0.5:
            x, c = -x, -c
        made.append((x, c))
    return made


def split(x: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper halves of integers times 2^32, and the lower halves, as floats."""
    return np.array([(k >> 32) * 2.0**32 for k in x]), np.array([float(k & 0xFFFFFFFF) for k in x])


def test_sums_of_integers_beside_ties():
    """Upper half, lower half and noise are added with one rounding, at and beside ties."""
    x, c = zip(*beside_ties(2, 20_000), strict=True)
    upper, lower = split(list(x))
    wanted = np.array([rounded_once(k + Fraction(noise)) for k, noise in zip(x, c, strict=True)])
    got = sums_of_three(lattice_noise)(upper, lower, np.array(c))

    assert np.array_equal(got, wanted)
    assert not np.signbit(got[got == 0]).any()
    # The mutant that makes the integer a float first.
    assert np.sum(np.array([float(k) for k in x]) + np.array(c) != wanted) > 2000


def test_sums_of_integers_with_tiny_noise():
    """Noise far below the last place of a tie decides it, down to the least float; an inner sum to nearest loses it."""
    nearest = without_kernels(("return total + odd(rest, lost)", "return total + rest"))
    x = [2**60 + 128, 2**60 + 128 + 256, -(2**60) - 128, 2**63 + 2**10, 2**54 + 2]
    for tiny in (5e-324, 2.0**-1000, 2.0**-60, 1.0):
        for sign in (-1, 1):
            upper, lower = split(x)
            noise = np.full(len(x), sign * tiny)
            wanted = [rounded_once(k + Fraction(sign * tiny)) for k in x]
            assert sums_of_three(lattice_noise)(upper, lower, noise).tolist() == wanted
            assert tiny > 2.0**-50 or sums_of_three(nearest)(upper, lower, noise).tolist() != wanted


@jit
def _rounded(x, steps):
    out = np.empty(x.size)
    huge = np.empty(x.size, np.bool_)
    for i in range(x.size):
        out[i], huge[i] = lattice_noise.steps_of(x[i], (steps[0], steps[1]))
    return out, huge


@pytest.mark.parametrize("exponent", [-1074, -1000, -537, -30, -1, 0, 1, 30, 600, 1023])
def test_rounding_to_the_lattice(exponent):
    """Values round half up at and beside ties, without -0.0, until abs(x / r) reaches 2^52; from there they are points.

    The mutant floor(x / r + 1/2) takes the float below one half, and every odd number from 2^52 on, one too far.
    """
    from lapnoise._lattice_noise import factors

    r = Fraction(2) ** exponent
    chance = random.Random(3)
    near = [Fraction(k) + Fraction(1, 2) for k in (0, -1, 1, 7, 2**51 - 1, -(2**51), 2**20)]
    near += [Fraction(chance.uniform(-1, 1)) * 2 ** chance.randint(0, 52) for _ in range(500)]
    near += [Fraction(0), Fraction(2**52) - Fraction(1, 2), Fraction(2**52), Fraction(-(2**52)), Fraction(2**53 + 2)]
    x = [float(f * r) for f in near if abs(f * r) < Fraction(2) ** 1023]
    x += [np.nextafter(v, s * np.inf) for v in x for s in (-1, 1) if abs(v) < 1e308] + [-0.0]
    rounded, huge = _rounded(np.array(x), factors(exponent))
    for v, i, far in zip(x, rounded.tolist(), huge.tolist(), strict=True):
        assert far == (abs(Fraction(v)) >= 2**52 * r)
        if far:
            assert (Fraction(v) / r).denominator == 1
        else:
            assert i == half_up(Fraction(v), exponent)
    assert not np.signbit(rounded[rounded == 0]).any()
    assert np.floor(0.49999999999999994 + 0.5) == 1.0
