"""Write golden.json: the first words and draws of known seeds, which may change only together with STREAM_VERSION.

    python tests/data/make_golden.py            write the file; refused while STREAM_VERSION is the one that it holds
    python tests/data/make_golden.py --print    show what this machine draws, without touching the file

When draws have to change: raise STREAM_VERSION in src/lapnoise/bits/stream.py, run this, and say in CHANGELOG.md which
draws are others now.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from lapnoise import STREAM_VERSION, default_rng

GOLDEN = Path(__file__).with_name("golden.json")
ABOUT = (
    "Written by tests/data/make_golden.py. Keys say how to draw: seed, rounds, place in the stream in words, call. "
    "Words are hexadecimal, draws C99 hexadecimal floats, digests BLAKE2b of the little-endian bytes of many draws."
)

SEEDS = (0, 7)
ROUNDS = (8, 12, 20)
PLACES = (0, 12345, 2**40 + 77)
MANY = 100_003

CALLS = {
    "laplace(0, 1)": lambda g, n: g.laplace(0.0, 1.0, n),
    "laplace(-3.25, 0.7)": lambda g, n: g.laplace(-3.25, 0.7, n),
    "laplace(0, 1), float32": lambda g, n: g.laplace(0.0, 1.0, n, dtype=np.float32),
    "laplace(-3.25, 0.7), float32": lambda g, n: g.laplace(-3.25, 0.7, n, dtype=np.float32),
    "difference(0, 1)": lambda g, n: g.laplace(0.0, 1.0, n, method="exponential_difference"),
    "difference(-3.25, 0.7)": lambda g, n: g.laplace(-3.25, 0.7, n, method="exponential_difference"),
    "difference(0, 1), float32": lambda g, n: g.laplace(0.0, 1.0, n, method="exponential_difference", dtype=np.float32),
    "exponential(0.7)": lambda g, n: g.exponential(0.7, n),
    "exponential(0.7), float32": lambda g, n: g.exponential(0.7, n, dtype=np.float32),
    "log_laplace(2000.5).log_abs": lambda g, n: g.log_laplace(2000.5, n).log_abs,
    "log_laplace(2000.5).sign": lambda g, n: g.log_laplace(2000.5, n).sign,
    "bounded_laplace(0.5, 2, -1, 30)": lambda g, n: g.bounded_laplace(0.5, 2.0, -1.0, 30.0, n),
    "bounded_laplace(0, 1, 40, inf)": lambda g, n: g.bounded_laplace(0.0, 1.0, 40.0, np.inf, n),
}


def collect() -> dict:
    """Return what this machine draws, as it stands in the file."""
    words, draws, digests = {}, {}, {}
    for seed in SEEDS:
        for rounds in ROUNDS:
            generator = default_rng(seed, rounds=rounds)
            for place in PLACES:
                generator.seek(place)
                words[f"seed {seed}, rounds {rounds}, place {place}"] = _hexadecimal(generator.words(8))
            for place in PLACES[:2]:
                for name, call in CALLS.items():
                    generator.seek(place)
                    draws[f"seed {seed}, rounds {rounds}, place {place}, {name}"] = _hexadecimal(call(generator, 4))
    generator = default_rng(7)
    relatives = {
        "child('a')": generator.child("a"),
        "child('a', 1)": generator.child("a", 1),
        "child(b'1')": generator.child(b"1"),
        "child('a').child('b')": generator.child("a").child("b"),
        "spawn(2)[1]": generator.spawn(2)[1],
        "spawn(1)[0] after that": generator.spawn(1)[0],
    }
    for name, relative in relatives.items():
        words[f"seed 7, rounds 12, place 0, {name}"] = _hexadecimal(relative.words(8))
    for name, call in CALLS.items():
        drawn = call(default_rng(7, rounds=8), MANY)
        data = drawn.astype(drawn.dtype.newbyteorder("<")).tobytes()
        digests[f"seed 7, rounds 8, place 0, {MANY} draws, {name}"] = hashlib.blake2b(data, digest_size=16).hexdigest()
    return {"about": ABOUT, "stream_version": STREAM_VERSION, "words": words, "draws": draws, "digests": digests}


def _hexadecimal(values: np.ndarray) -> list[str]:
    if values.dtype == np.uint64:
        return [f"{word:016x}" for word in values.tolist()]
    return [float(value).hex() for value in values.tolist()]


def main(arguments: list[str] | None = None) -> int:
    """Write or print, and return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", help="show the draws and leave the file alone")
    if parser.parse_args(arguments).print:
        json.dump(collect(), sys.stdout)
        return 0
    if GOLDEN.exists() and json.loads(GOLDEN.read_text())["stream_version"] == STREAM_VERSION:
        print(
            f"{GOLDEN.name} holds STREAM_VERSION {STREAM_VERSION} already; draws change with it only", file=sys.stderr
        )
        return 1
    GOLDEN.write_text(json.dumps(collect(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
