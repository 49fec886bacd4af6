"""Write golden_exact.json: exact noise of known seeds, made by references alone and not by what is tested.

    python tests/data/make_golden_exact.py            write the file; refused while STREAM_VERSION is the one it holds

Words come from the plain Python cipher, integers from mpmath's intervals, sums from fractions (tests/exact_oracles.py).
When draws have to change: raise STREAM_VERSION in src/lapnoise/bits/stream.py, run this, and say so in CHANGELOG.md.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import exact_oracles

from lapnoise import STREAM_VERSION
from lapnoise.bits.chacha import stream_word
from lapnoise.bits.entropy import Key

GOLDEN = Path(__file__).with_name("golden_exact.json")
ABOUT = (
    "Written by tests/data/make_golden_exact.py. draws: scale, then place in the stream and integer. "
    "sums: the exponent of the granularity, scale, values at places from 0 on, sums. Floats are C99 hexadecimal."
)

SEED, ROUNDS = 7, 20
PLACES = [*range(20), 12345, 2**40 + 77, 2**62 - 1]
SCALES = [1e-3, 0.1, 1 / 3, 1.0, 3.0, 50.0, 2.0**30 - 2.0**-23, 2.0**36, 2.0**40, 2.0**43, 2.0**50, 2.0**57]
ENOUGH_OPEN = 3
OPEN_AT = {2.0**50: range(6000), 2.0**57: range(200)}
"""Where to look for draws that their first words leave open: one in 900 at 2^50, one in 12 at 2^57."""

VALUES = [0.0, -0.0, 0.5, -0.5, 1 / 3, 2.0**-25, 1e15 + 0.125, -1e300, 5e-324, 1.7976931348623157e308]
VALUES32 = [0.0, -0.0, 0.5, 0.1, 16777215.0, 1e15, -3.4028234663852886e38, 1e-45]
INTEGERS = [0, -1, 2**60 + 128, 2**60 + 129, -(2**63), 2**63 - 1]
LATTICES = [(-24, 2.0**24), (-40, 2.0**40), (1, 2.0**30)]


def word(place: int, depth: int | None = None) -> int:
    """Return the word at a place of the seed's stream, or of the stream of further words at a depth."""
    stream = 0 if depth is None else exact_oracles.EXTENSION_STREAMS + depth
    return stream_word(KEY, place, stream, ROUNDS)


KEY = [
    int(half) for w in Key.from_seed(np.random.SeedSequence(SEED)).words() for half in (int(w) % 2**32, int(w) >> 32)
]


def draw(t: float, place: int) -> int:
    """Return the draw of a scale at a place."""
    return exact_oracles.draw(Fraction(t), word(place), lambda depth: word(place, depth))


def open_places(t: float) -> list[int]:
    """Return the first places at which one word does not settle the draw."""
    found: list[int] = []
    for place in OPEN_AT.get(t, ()):
        if exact_oracles._common_floor(Fraction(t), word(place) >> 1, exact_oracles.FIRST_BITS) is None:
            found.append(place)
        if len(found) == ENOUGH_OPEN:
            break
    return found


def collect() -> dict:
    """Return what the file holds."""
    draws = {t.hex(): {str(place): draw(t, place) for place in [*PLACES, *open_places(t)]} for t in SCALES}
    sums = []
    for exponent, t in LATTICES:
        for kind, values in ((np.float64, VALUES), (np.float32, VALUES32), (np.int64, INTEGERS)):
            out = np.float32 if kind == np.float32 else np.float64
            noise = [draw(t, place) for place in range(len(values))]
            exact = [Fraction(kind(x).item()) for x in values]
            made = [exact_oracles.lattice_sum(x, k, exponent, out).hex() for x, k in zip(exact, noise, strict=True)]
            given = [kind(x).item().hex() if kind != np.int64 else x for x in values]
            sums.append({"exponent": exponent, "t": t.hex(), "dtype": kind.__name__, "values": given, "sums": made})
    return {
        "about": ABOUT,
        "stream_version": STREAM_VERSION,
        "seed": SEED,
        "rounds": ROUNDS,
        "draws": draws,
        "sums": sums,
    }


def main() -> int:
    """Write the file, and return an exit code."""
    if GOLDEN.exists() and json.loads(GOLDEN.read_text())["stream_version"] == STREAM_VERSION:
        print(f"{GOLDEN.name} holds STREAM_VERSION {STREAM_VERSION}; draws change with it only", file=sys.stderr)
        return 1
    GOLDEN.write_text(json.dumps(collect(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
