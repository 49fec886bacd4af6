"""Golden exact noise: integers and sums that references made, drawn here and on a machine without fma.

The file was written without the code under test (data/make_golden_exact.py), so it is an oracle as well as a memory.
"""

import importlib.util
import json
from pathlib import Path

import fresh_process
import numpy as np

import lapnoise
from lapnoise import _release, default_rng
from lapnoise.lattice import Lattice

FILE = Path(__file__).parent / "data" / "golden_exact.json"
GOLDEN = json.loads(FILE.read_text())

# Draws what the file holds, then says whether a kernel that drew it has fma and wide registers in it.
SHOW = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("test_exact_golden", sys.argv[1])
test = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test)
from lapnoise.kernels.discrete_laplace import fill_discrete_laplace
found = [test.drawn(), test.summed()]
code = "".join(fill_discrete_laplace.inspect_asm().values())
json.dump([found, "vfmadd" in code or "fmla" in code, "ymm" in code], sys.stdout)
"""


def generator():
    """Return the generator of the file's stream."""
    return default_rng(GOLDEN["seed"], rounds=GOLDEN["rounds"])


def drawn() -> dict:
    """Return what this machine draws at the file's places."""
    rng = generator()
    found: dict = {}
    for scale, places in GOLDEN["draws"].items():
        for place in places:
            rng.seek(int(place))
            found.setdefault(scale, {})[place] = rng.discrete_laplace(float.fromhex(scale))
    return found


def summed() -> list:
    """Return the sums of the file's values with noise, as this machine makes them."""
    found = []
    for case in GOLDEN["sums"]:
        values = [float.fromhex(x) if isinstance(x, str) else x for x in case["values"]]
        array = np.array(values, case["dtype"])
        out = np.empty(array.shape, np.float32 if case["dtype"] == "float32" else np.float64)
        _release.add_lattice_noise(generator(), array, out, Lattice(case["exponent"], 1, float.fromhex(case["t"])))
        found.append([x.hex() for x in out.tolist()])
    return found


def test_golden_draws():
    """Integers at known places are those of STREAM_VERSION, open ones among them."""
    assert GOLDEN["stream_version"] == lapnoise.STREAM_VERSION
    assert drawn() == GOLDEN["draws"]
    assert len(GOLDEN["draws"][(2.0**50).hex()]) == 20 + 3 + 3


def test_golden_sums():
    """Sums of floats of both widths and of integers with noise are those of the file, bit for bit."""
    assert summed() == [case["sums"] for case in GOLDEN["sums"]]


def test_golden_without_fma_and_wide_registers(tmp_path):
    """A process that compiles for a generic processor, with fma in software, makes the same integers and sums."""
    changes = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": tmp_path}
    path = Path(__file__)
    helpers = f"{fresh_process.SOURCE}:{path.parent}"
    found, fma, ymm = json.loads(fresh_process.run(SHOW, path, timeout=300, source=helpers, **changes))

    assert found == [GOLDEN["draws"], [case["sums"] for case in GOLDEN["sums"]]]
    assert not fma
    assert not ymm


def test_file_is_what_references_make(capsys):
    """The file can be made again from its references, and is not overwritten while draws stay as they are."""
    spec = importlib.util.spec_from_file_location("make_golden_exact", FILE.with_name("make_golden_exact.py"))
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)

    assert made.collect() == GOLDEN
    assert made.main() == 1
    assert "draws change with it only" in capsys.readouterr().err


def test_a_change_is_seen():
    """A mutant of the file, one step in one draw, is told from what is drawn."""
    changed = json.loads(FILE.read_text())
    changed["draws"][(3.0).hex()]["7"] += 1
    assert drawn() != changed["draws"]
