"""Contenders of the benches: who is left out, and how one's own is entered."""

import functools

import numpy as np
import pytest
from bench import contender, contenders, quality, samplers
from bench.contenders import CONTENDERS
from bench.sections_peers import compared, too_much

MODULE = """
import numpy as np
rng = np.random.default_rng(5)

def right(n):
    return rng.laplace(1.0, 2.0, n)

def single(n):
    return right(n).astype(np.float32)

def wide(n):
    return rng.laplace(1.0, 2.1, n)

def centred(n):
    return rng.laplace(0.0, 2.0, n)

def short(n):
    return np.zeros(3)

def whole(n):
    return np.zeros(n, int)

def failing(n):
    raise RuntimeError("no luck")

number = 7
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Let a module with samplers be found, and take what was entered out again."""
    (tmp_path / "own_samplers.py").write_text(MODULE)
    (tmp_path / "broken_samplers.py").write_text("import nothing_of_that_name")
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(CONTENDERS)
    yield
    CONTENDERS.clear()
    CONTENDERS.update(before)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(("function", "dtype"), [("right", "float64"), ("single", "float32")])
def test_one_line(function, dtype):
    """A sampler named on the command line stands among the contenders of its dtype, with one scale and one thread."""
    name = f"own_samplers:{function}"
    samplers.enter_named(name)
    entry = CONTENDERS[name]
    assert (entry.dtype, entry.threads, entry.origin, entry.array) == (dtype, 1, name, False)
    assert contenders.entered(dtype) == [name]
    assert name in compared(dtype, "scalar", 1)
    assert name not in compared(dtype, "array", 1) + compared(dtype, "scalar", None)
    assert contenders.available(name)
    assert np.asarray(entry.make(12)()).shape == (12,)


@pytest.mark.usefixtures("own")
def test_in_code():
    """`enter` takes a name and a function; a name that is taken is refused, and so is another dtype."""
    rng = np.random.default_rng(1)
    contenders.enter("mine", lambda n: rng.laplace(1, 2, n))
    assert contenders.correct("mine")
    assert CONTENDERS["mine"].origin == "code"
    assert quality.look("mine", 50_000, 60.0).draws == 50_000
    with pytest.raises(ValueError, match="name must be a new one, got 'torch'"):
        contenders.enter("torch", lambda n: np.zeros(n))
    with pytest.raises(ValueError, match="dtype must be float64 or float32, got 'float16'"):
        contenders.enter("half", lambda n: np.zeros(n, np.float16), "float16")
    assert "half" not in CONTENDERS


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("own_samplers", "must be given as module:function, got 'own_samplers'"),
        (":right", "must be given as module:function"),
        ("no_such_module:right", "'no_such_module:right' cannot be imported: ModuleNotFoundError"),
        ("broken_samplers:right", "cannot be imported: ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("own_samplers:nobody", "module 'own_samplers' has no function 'nobody'"),
        ("own_samplers:number", "module 'own_samplers' has no function 'number'"),
        ("own_samplers:failing", "failed at n=1000: RuntimeError: no luck"),
        ("own_samplers:short", r"must return an array of n draws, of shape \(1000,\), got \(3,\)"),
        ("own_samplers:whole", "must return float64 or float32, got int64"),
        ("own_samplers:wide", r"must draw Laplace\(1, 2\)"),
        ("own_samplers:centred", r"must draw Laplace\(1, 2\)"),
    ],
)
def test_refused(named, message):
    """What is no sampler of Laplace(1, 2) is refused, and the message says why."""
    with pytest.raises(ValueError, match=message):
        samplers.enter_named(named)


@pytest.mark.usefixtures("own")
def test_where_it_appears():
    """Parts of which none would show a sampler are refused; its dtype decides which do."""
    double, single = "own_samplers:right", "own_samplers:single"
    samplers.enter_named(double)
    samplers.enter_named(single)
    for parts in ([], ["quality"], ["gaussian", "peers"]):
        samplers.verify_shown(double, parts)
        samplers.verify_shown(single, parts)
    samplers.verify_shown(double, ["start_of_peers"])
    samplers.verify_shown(single, ["float32"])
    message = "draws float64 and appears in float64, peers, start_of_peers, quality: name one, or give --all"
    with pytest.raises(ValueError, match=message):
        samplers.verify_shown(double, ["gaussian", "float32"])
    with pytest.raises(ValueError, match="draws float32 and appears in float32, peers, quality"):
        samplers.verify_shown(single, ["start_of_peers", "float64"])


def test_absent_peers(tmp_path, monkeypatch):
    """A peer that is absent has a line, and so has one that cannot be imported once somebody tried."""
    (tmp_path / "too_new.py").write_text("raise ImportError('needs an older one')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(contender, "TROUBLES", {})
    monkeypatch.setattr(contenders, "TROUBLES", contender.TROUBLES)
    monkeypatch.setattr(contenders, "PEERS", {"no_such_peer": "no-such-peer", "too_new": "too-new"})
    monkeypatch.setitem(CONTENDERS, "a", contender.Contender(lambda n: None, module="no_such_peer"))
    monkeypatch.setitem(CONTENDERS, "b", contender.Contender(lambda n: None, module="too_new"))
    monkeypatch.setitem(CONTENDERS, "c", contender.Contender(lambda n: None, module="no_such.part"))
    assert contenders.skipped() == ["no-such-peer is not installed"]
    assert not any(map(contenders.available, "abc"))
    assert contenders.skipped() == [
        "no-such-peer is not installed",
        "too_new cannot be imported (ImportError: needs an older one)",
        "no_such.part is not installed",
    ]
    assert contenders.available("numpy legacy")


def test_compared():
    """NumPy's Generator comes first in each comparison, and nobody who writes to the same array takes part."""
    for kind, first in (("float64", "numpy Generator(PCG64)"), ("float32", "numpy Generator(PCG64), astype(float32)")):
        for scale in ("scalar", "array"):
            for threads in (1, None):
                names = compared(kind, scale, threads)
                assert names[0] == first
                assert len(names) == len(set(names))
                assert all(CONTENDERS[name].allocates and CONTENDERS[name].dtype == kind for name in names)
                assert all(CONTENDERS[name].threads == threads for name in names[1:])
    assert {"OpenDP", "diffprivlib", "numba np.random"} < set(compared("float64", "scalar", 1))
    assert "OpenDP" not in compared("float64", "array", 1)


@pytest.mark.parametrize("name", ["numpy Generator(PCG64)", "numpy legacy", "numpy formula", "numba np.random"])
def test_scale_for_each_draw(name):
    """With an array of scales each draw has its own, and the location stays one."""
    n = 4_000
    scales = np.where(np.arange(n) % 2, 1e-9, 1e9)
    draws = np.asarray(CONTENDERS[name].make(n, 3.0, scales)())
    assert np.abs(draws[1::2] - 3.0).max() < 1e-6
    assert np.abs(draws[::2]).min() > 1e3


def test_wrong_draws_are_found(monkeypatch):
    """The check before the clock sees a scale that is 3 % off, a wrong shape, a wrong dtype and an infinity."""
    rng = np.random.default_rng(2)

    def enter(draw):
        monkeypatch.setitem(CONTENDERS, "x", contender.Contender(lambda n: functools.partial(draw, n)))
        return contenders.correct("x")

    assert enter(lambda n: rng.laplace(1, 2, n))
    assert not enter(lambda n: rng.laplace(1, 2.06, n))
    assert not enter(lambda n: rng.laplace(1.05, 2, n))
    assert not enter(lambda n: rng.laplace(1, 2, n - 1))
    assert not enter(lambda n: rng.laplace(1, 2, n).astype(np.float32))
    assert not enter(lambda n: np.append(rng.laplace(1, 2, n - 1), np.inf))


def test_too_much():
    """Calls that take too long or more memory than there is are not made; memory that is not known stops nobody."""
    assert too_much(10, 8, 9.9, 10.0, 10**6) == ""
    assert too_much(10, 8, 10.1, 10.0, 10**6) == "a call would take over 10 s"
    assert too_much(10**6, 8, 0.1, 10.0, 64 * 10**6) == ""
    assert too_much(10**6, 8, 0.1, 10.0, 64 * 10**6 - 1) == "memory is short"
    assert too_much(10**6, 8, 0.1, 10.0, 0) == ""
