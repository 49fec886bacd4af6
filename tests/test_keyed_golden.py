"""Golden keyed noise: identities and releases that references made, made here and on a machine without fma."""

import importlib.util
import json
from pathlib import Path

import fresh_process
import numpy as np

import lapnoise
from lapnoise._keyed_release import KeyedRelease
from lapnoise._row_keys import KEY_FORMAT, from_numpy

FILE = Path(__file__).parent / "data" / "golden_keyed.json"
GOLDEN = json.loads(FILE.read_text(encoding="utf-8"))

# Makes what the file holds, then says whether a kernel that made it has fma and wide registers in it.
SHOW = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("test_keyed_golden", sys.argv[1])
test = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test)
from lapnoise.kernels.keyed_noise import fill_keyed_laplace
found = test.made()
code = "".join(fill_keyed_laplace.inspect_asm().values())
json.dump([found, "vfmadd" in code or "fmla" in code, "ymm" in code], sys.stdout)
"""


def maker():
    """Return the module that writes the file."""
    spec = importlib.util.spec_from_file_location("make_golden_keyed", FILE.with_name("make_golden_keyed.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns_of_keys(names: list[str]) -> list:
    """Return columns of keys of the file."""
    found = []
    for name in names:
        entries = [bytes.fromhex(e) for e in GOLDEN["keys"][name]] if name == "binary" else GOLDEN["keys"][name]
        found.append(from_numpy(name, np.array(entries, np.int64 if name == "integers" else object)))
    return found


def made() -> list:
    """Return identities and results of the file's releases, as this machine makes them."""
    make = maker().mechanism
    found = []
    for case in GOLDEN["releases"]:
        release = KeyedRelease(bytes.fromhex(case["secret"]), case["release_id"])
        ids = release.identities(columns_of_keys(case["keys"]))
        results = []
        for column in case["columns"]:
            values = np.array(GOLDEN["values"])
            if column["mechanism"] == "DiscreteLaplaceMechanism":
                values = values.astype(np.int64)
            noisy = release.column(make(column["mechanism"], column["parameters"]), column["name"])
            got = noisy.add_noise(values, ids).tolist()
            results.append([x.hex() if isinstance(x, float) else x for x in got])
        found.append([[[f"{word:016x}" for word in row] for row in ids.tolist()], results])
    return found


def held() -> list:
    """Return the same of the file."""
    return [[case["identities"], [column["result"] for column in case["columns"]]] for case in GOLDEN["releases"]]


def test_golden():
    """Identities and noisy values are those of the versions that the file names."""
    assert (GOLDEN["stream_version"], GOLDEN["key_format"]) == (lapnoise.STREAM_VERSION, KEY_FORMAT)
    assert made() == held()


def test_golden_without_fma_and_wide_registers(tmp_path):
    """A process that compiles for a generic processor, with fma in software, makes the same bytes."""
    changes = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": tmp_path}
    path = Path(__file__)
    helpers = f"{fresh_process.SOURCE}:{path.parent}"
    found, fma, ymm = json.loads(fresh_process.run(SHOW, path, timeout=300, source=helpers, **changes))

    assert found == held()
    assert not fma
    assert not ymm


def test_file_is_what_references_make(capsys):
    """The file can be made again from its references, and is not overwritten while versions stay as they are."""
    script = maker()

    assert script.collect() == GOLDEN
    assert script.main() == 1
    assert "draws change with them only" in capsys.readouterr().err


def test_a_change_is_seen(monkeypatch):
    """One byte of a secret, of an id, or one value more changes what is made."""
    for change in ({"secret": "01" * 32}, {"release_id": "2024-q2"}):
        changed = json.loads(FILE.read_text(encoding="utf-8"))
        changed["releases"][0].update(change)
        monkeypatch.setitem(GOLDEN, "releases", changed["releases"])
        first, second = made()
        monkeypatch.undo()
        assert first[0] != held()[0][0]
        assert second == held()[1]
