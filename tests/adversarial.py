"""Words at which an inverse transform is likeliest to fail: ends, powers of two, ties, and where its branches meet."""

from math import isqrt


def adversarial_words() -> list[int]:
    """Return some 5,000 words: both ends, both sides of every 2^e and sqrt(1/2) 2^e, of 1, and of every half word."""
    return _adversarial(64)


def adversarial_half_words() -> list[int]:
    """Return the same places among half words."""
    return _adversarial(32)


def _adversarial(bits: int) -> list[int]:
    top = 1 << bits
    near = range(-9, 10)
    words = [*range(256), *range(top - 256, top)]
    for k in range(bits + 1):
        words += [(1 << k) + d for d in near]  # where u passes a power of two
        words += [isqrt(1 << (2 * k - 1)) + d for d in near if k]  # where f changes its exponent
        words += [top - (1 << k) + d for d in near]  # close to 1
        words += [(1 << k) * 0xAAAAAAAAAAAAAAAB % top, (1 << k) * 0x5555555555555555 % top]
    half = bits // 2
    for k in range(half):
        words += [(1 << half + k) + d for d in near]  # where the halves meet
        words += [((1 << k) + 1 << half) + d for d in near]
    # Integers that lie half way between two floats once they are rounded to their 53, or 24, leading bits.
    precision = 53 if bits == 64 else 24
    for k in range(bits - precision):
        root_half = 0x16A09E667F3BCD >> 53 - precision
        for lead in (1 << precision - 1, (1 << precision) - 1, 0b101 << precision - 3, root_half):
            words += [(lead << k + 1) + (1 << k) + d for d in (-1, 0, 1)]
    return sorted({word for word in words if 0 <= word < top})
