"""Write golden_keyed.json: identities of rows and keyed noise of known secrets, made by references alone.

    python tests/data/make_golden_keyed.py            write the file; refused while the versions are those it holds

Keys come from hashlib, identities from plain Python, words from the plain cipher, integers from mpmath's intervals
(tests/keyed_oracle.py). When they have to change: raise STREAM_VERSION in src/lapnoise/bits/stream.py or KEY_FORMAT in
src/lapnoise/_row_keys.py and tests/keyed_oracle.py, run this, and say so in CHANGELOG.md.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import keyed_oracle
import numpy as np
import siphash_oracle

from lapnoise import STREAM_VERSION, DiscreteLaplaceMechanism, LaplaceMechanism

GOLDEN = Path(__file__).with_name("golden_keyed.json")
ABOUT = (
    "Written by tests/data/make_golden_keyed.py. Each release has a secret, an id, the columns of its keys, the "
    "identities of its rows, and columns of values with mechanism and result. Floats are C99 hexadecimal."
)

KEYS = {
    "integers": [0, 1, -1, 2**31, -(2**63), 2**63 - 1],
    "text": ["", "a", "Zürich", "12345678", "123456789", "日本語"],
    "binary": ["", "00", "ff" * 8, "0102", "00" * 9, "7f"],
}
COLUMNS = [
    ("LaplaceMechanism", {"epsilon": "0.1", "sensitivity": "1", "changed": 1}),
    ("LaplaceMechanism", {"epsilon": "2", "sensitivity": "100.5", "changed": 3, "granularity": "1/1048576"}),
    ("LaplaceMechanism", {"epsilon": "1", "sensitivity": "1", "changed": 1, "granularity": f"1/{2**57}"}),
    ("DiscreteLaplaceMechanism", {"epsilon": "0.5", "sensitivity": "1"}),
]
VALUES = [0.0, 1.0, -3.0, 1e15, -7.0, 5.0]
KINDS = {"LaplaceMechanism": LaplaceMechanism, "DiscreteLaplaceMechanism": DiscreteLaplaceMechanism}
RELEASES = [(bytes(range(32)).hex(), "2024-q1", ["integers"]), ("5a" * 70, "Berlin / März", ["text", "binary"])]


def mechanism(kind: str, parameters: dict):
    """Return the mechanism of a column of the file."""
    given = dict(parameters)
    if "granularity" in given:
        given["granularity"] = Fraction(given["granularity"])
    return KINDS[kind](**given)


def key_rows(names: list[str]) -> list[tuple]:
    """Return the keys of a release's rows."""
    columns = [[bytes.fromhex(entry) for entry in KEYS[name]] if name == "binary" else KEYS[name] for name in names]
    return list(zip(*columns, strict=True))


def collect() -> dict:
    """Return what the file holds."""
    releases = []
    for secret, release_id, names in RELEASES:
        keys = key_rows(names)
        columns = []
        for number, (kind, parameters) in enumerate(COLUMNS):
            name = f"column {number}"
            made = mechanism(kind, parameters)
            make = keyed_oracle.laplace if kind == "LaplaceMechanism" else keyed_oracle.discrete
            oracle = make(bytes.fromhex(secret), release_id, made, name)
            if kind == "LaplaceMechanism":
                got = [oracle.release(key, x, np.float64).hex() for key, x in zip(keys, VALUES, strict=True)]
            else:
                got = [int(x) + oracle.noise(key, x) for key, x in zip(keys, VALUES, strict=True)]
            columns.append({"name": name, "mechanism": kind, "parameters": parameters, "result": got})
        identities = [[f"{word:016x}" for word in siphash_oracle.identity(oracle.rows, key)] for key in keys]
        releases.append(
            {
                "secret": secret,
                "release_id": release_id,
                "keys": names,
                "identities": identities,
                "columns": columns,
            }
        )
    return {
        "about": ABOUT,
        "stream_version": STREAM_VERSION,
        "key_format": keyed_oracle.KEY_FORMAT,
        "keys": KEYS,
        "values": VALUES,
        "releases": releases,
    }


def main() -> int:
    """Write the file, and return an exit code."""
    versions = STREAM_VERSION, keyed_oracle.KEY_FORMAT
    if GOLDEN.exists():
        held = json.loads(GOLDEN.read_text())
        if (held["stream_version"], held["key_format"]) == versions:
            print(f"{GOLDEN.name} holds these versions, {versions}; draws change with them only", file=sys.stderr)
            return 1
    GOLDEN.write_text(json.dumps(collect(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
