"""Noise written into tensors where they lie: the same draws as in arrays, in the same memory, or a clear refusal."""

import gc
import sys
import types
import weakref

import numpy as np
import pytest
from bitwise import same

from lapnoise import (
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    PlanarLaplaceMechanism,
    TruncatedLaplaceMechanism,
    default_rng,
)
from lapnoise.embed import tensors

pytestmark = pytest.mark.filterwarnings("ignore::lapnoise.SeededNoiseWarning")

SEED = 7
SHAPE = (5, 6)
KINDS = [np.float32, np.float64]
BY_DLPACK = pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="DLPack is read-only before 2.1")


class ByInterface:
    """An exporter of ``__array_interface__``, which is all that it has."""

    def __init__(self, array):
        self.array = array

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class ByDlpack:
    """An exporter of DLPack, which is all that it has; the device can be another one."""

    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()


class Device(str):
    """A device of PyTorch, which prints as its type and number."""

    __slots__ = ()

    @property
    def type(self):
        return self.partition(":")[0]


class StubTensor:
    """What is asked of a tensor of PyTorch, by a NumPy array."""

    def __init__(self, array, device="cpu", requires_grad=False):
        self.array, self.requires_grad, self.written = array, requires_grad, 0
        self.device = Device(device)
        self.dtype = f"torch.{array.dtype}"

    def numpy(self):
        return self.array

    def data_ptr(self):
        return self.array.ctypes.data


def as_torch(array):
    """Return a tensor of PyTorch that shares the memory of an array."""
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array)


@pytest.fixture
def stub(monkeypatch):
    """Let there be a PyTorch, of which there is no more than is asked of it."""

    def increment(tensor):
        tensor.written += 1

    graph = types.SimpleNamespace(increment_version=increment)
    torch = types.SimpleNamespace(Tensor=StubTensor, autograd=types.SimpleNamespace(graph=graph))
    monkeypatch.setitem(sys.modules, "torch", torch)


EXPORTERS = [
    pytest.param(lambda array: array, id="ndarray"),
    pytest.param(ByInterface, id="interface"),
    pytest.param(ByDlpack, id="dlpack", marks=BY_DLPACK),
    pytest.param(as_torch, id="torch"),
]
LAYOUTS = [
    pytest.param(lambda kind: np.ones(SHAPE, kind), id="contiguous"),
    pytest.param(lambda kind: np.ones((5, 12), kind)[:, ::2], id="strided"),
    pytest.param(lambda kind: np.ones((6, 5), kind).T, id="transposed"),
    pytest.param(lambda kind: np.ones((), kind), id="no-dimension"),
    pytest.param(lambda kind: np.ones((0, 3), kind), id="empty"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("export", EXPORTERS)
def test_noise_is_written_where_the_tensor_lies(export, layout, kind):
    """Each function writes into the tensor's own memory, bit for bit what arrays get, and returns the tensor."""
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=2)
    ones = np.ones(layout(kind).shape, kind)
    for write, expected in (
        (
            lambda tensor: tensors.laplace_(tensor, 3.0, 2.0, rng=default_rng(SEED)),
            default_rng(SEED).laplace(3.0, 2.0, ones.shape, dtype=kind),
        ),
        (
            lambda tensor: tensors.add_laplace_(tensor, 2.0, rng=default_rng(SEED)),
            default_rng(SEED).add_laplace(ones, 2.0),
        ),
        (
            lambda tensor: tensors.add_noise_(tensor, mechanism, rng=default_rng(SEED)),
            mechanism.add_noise(ones, rng=default_rng(SEED)),
        ),
    ):
        array = layout(kind)
        tensor = export(array)
        assert write(tensor) is tensor
        assert same(array, expected)


@pytest.mark.parametrize("export", EXPORTERS)
def test_the_array_is_the_memory(export):
    """`as_array` has the tensor's address, shape and strides, and what is written to one stands in the other."""
    array = (
        np.zeros((4, 6), np.float32)[::-1, 1::2] if export is not as_torch else np.zeros((4, 6), np.float32)[:, 1::2]
    )
    tensor = export(array)
    shared = tensors.as_array(tensor)
    assert type(shared) is np.ndarray
    assert shared.__array_interface__["data"] == array.__array_interface__["data"]
    assert (shared.shape, shared.strides, shared.dtype) == (array.shape, array.strides, array.dtype)
    shared[1, 2] = 5.0
    assert array[1, 2] == 5.0


@pytest.mark.parametrize("export", EXPORTERS)
def test_the_array_keeps_the_memory(export):
    """The memory outlives the tensor as long as the array is there."""
    owner = np.arange(1000.0)
    alive = weakref.ref(owner)
    shared = tensors.as_array(export(owner))
    del owner
    gc.collect()
    assert alive() is not None
    assert shared[999] == 999.0


def test_mechanisms_on_integers_take_int64():
    """Integers get the noise of the discrete mechanism, and of the Gaussian one on integers, in place."""
    for mechanism in (
        DiscreteLaplaceMechanism(epsilon="0.1", sensitivity=1),
        GaussianMechanism(epsilon=1, delta="1e-5", sensitivity=1, integers=True),
    ):
        counts = np.arange(100)
        expected = mechanism.add_noise(counts, rng=default_rng(SEED))
        tensors.add_noise_(ByInterface(counts), mechanism, rng=default_rng(SEED))
        assert same(counts, expected)
        assert (counts != np.arange(100)).any()


def test_private_noise_needs_no_generator():
    """Without a generator noise is keyed by the operating system: twice the same call gives other noise."""
    first, second = (tensors.add_noise_(np.zeros(50), LaplaceMechanism(epsilon=1, sensitivity=1)) for _ in range(2))
    assert (first != second).all()


def test_pieces_share_a_lattice():
    """Tensors of one release that take the mechanism for the whole length lie on its lattice."""
    whole = LaplaceMechanism(epsilon=1, sensitivity=1).for_length(1 << 20)
    piece = tensors.add_noise_(np.zeros(1000), whole)
    steps = piece / whole.granularity
    assert whole.granularity < LaplaceMechanism(epsilon=1, sensitivity=1).for_length(1000).granularity
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert (steps % 2 != 0).any()


@pytest.mark.parametrize("device", [(2, 0), (10, 1), (8, 0), (99, 3)])
def test_other_devices_are_refused_by_their_name(device):
    """A tensor elsewhere than in CPU memory is refused, and the message tells the device."""
    named = {2: "cuda:0", 10: "rocm:1", 8: "metal:0", 99: "DLPack device 99:3"}[device[0]]
    with pytest.raises(ValueError, match=rf"^tensor must lie in CPU memory, got one on {named}: move it there"):
        tensors.as_array(ByDlpack(np.zeros(3), device))


def test_cuda_arrays_are_refused():
    """So is what exports its memory by ``__cuda_array_interface__`` alone."""
    with pytest.raises(ValueError, match=r"^tensor must lie in CPU memory, got one on cuda"):
        tensors.as_array(types.SimpleNamespace(__cuda_array_interface__={}))


def read_only():
    """Return an array that may not be written."""
    array = np.zeros(3)
    array.flags.writeable = False
    return array


class Moving:
    """An exporter whose interface names another part of its memory each time."""

    def __init__(self):
        self.memory, self.calls = np.zeros(1000), 0

    @property
    def __array_interface__(self):
        self.calls += 1
        return self.memory[self.calls : self.calls + 3].__array_interface__


class Refusing(ByDlpack):
    """An exporter that does not export."""

    def __dlpack__(self, **options):
        raise BufferError("no memory of mine")


REFUSED = [
    (lambda: read_only(), ValueError, "tensor must be writeable, got a read-only array"),
    (lambda: ByInterface(read_only()), ValueError, "tensor must be writeable, got a read-only array"),
    (lambda: ByDlpack(read_only()), (ValueError, BufferError), "tensor must "),
    (lambda: np.zeros(3, np.float16), TypeError, "tensor must hold float32, float64 or int64, got float16: convert it"),
    (lambda: np.zeros(3, np.int32), TypeError, "tensor must hold float32, float64 or int64, got int32"),
    (lambda: np.zeros(3, ">f8"), TypeError, "tensor must hold float32, float64 or int64, got >f8"),
    (lambda: np.broadcast_to(np.zeros(1), 5), ValueError, "tensor must be writeable"),
    (
        lambda: np.lib.stride_tricks.as_strided(np.zeros(1), (5,), (0,), writeable=True),
        ValueError,
        r"tensor must not repeat its own memory, got strides \(0,\) for shape \(5,\)",
    ),
    (lambda: np.ma.masked_array([1.0, 2.0], [True, False]), TypeError, "tensor must not be masked"),
    (lambda: Moving(), ValueError, "tensor must share its memory with NumPy, got a copy of it"),
    (lambda: Refusing(np.zeros(3)), ValueError, "tensor must share its memory with NumPy, got: no memory of mine"),
    (
        lambda: [1.0],
        TypeError,
        "tensor must be a torch.Tensor, a numpy array, or have __dlpack__ or",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_cannot_be_shared_is_refused(make, error, message):
    """What may not be written, holds other numbers or shares no memory is refused before a word is drawn."""
    rng = default_rng(SEED)
    for write in (
        lambda tensor: tensors.laplace_(tensor, rng=rng),
        lambda tensor: tensors.add_laplace_(tensor, 1.0, rng=rng),
        lambda tensor: tensors.add_noise_(tensor, LaplaceMechanism(epsilon=1, sensitivity=1), rng=rng),
        tensors.as_array,
    ):
        with pytest.raises(error, match=f"^{message}"):
            write(make())
    assert rng.position == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tensors.laplace_(x, rng=None), TypeError, "rng must be a lapnoise Generator, got None"),
        (
            lambda x: tensors.laplace_(x, rng=np.random.default_rng(1)),
            TypeError,
            r"rng must be a lapnoise Generator, got numpy\.random",
        ),
        (
            lambda x: tensors.add_laplace_(x, 1.0, rng=np.random.default_rng(1)),
            TypeError,
            r"rng must be a lapnoise Generator, got numpy\.random",
        ),
        (lambda x: tensors.laplace_(x, 0.0, -1.0, rng=default_rng(SEED)), ValueError, "scale must be finite and >= 0"),
        (lambda x: tensors.add_noise_(x, "laplace"), TypeError, "mechanism must be a lapnoise mechanism .* got str"),
        (
            lambda x: tensors.add_noise_(x, PlanarLaplaceMechanism(epsilon=1, radius=1)),
            TypeError,
            "mechanism must be a lapnoise mechanism that adds noise to numbers, got PlanarLaplaceMechanism",
        ),
        (
            lambda x: tensors.add_noise_(x, DiscreteLaplaceMechanism(epsilon=1, sensitivity=1)),
            TypeError,
            "tensor must hold int64 for this noise, got float64",
        ),
        (
            lambda x: tensors.laplace_(np.zeros(3, np.int64), rng=default_rng(SEED)),
            TypeError,
            "tensor must hold float32 or float64 for this noise, got int64",
        ),
        (
            lambda x: tensors.add_noise_(np.array([1, 2]), LaplaceMechanism(epsilon=1, sensitivity=1)),
            TypeError,
            "tensor must hold float32 or float64 for this noise, got int64",
        ),
    ],
)
def test_arguments_that_do_not_fit_change_nothing(call, error, message):
    """What is refused leaves the tensor as it was."""
    x = np.arange(3.0)
    with pytest.raises(error, match=f"^{message}"):
        call(x)
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0])


def test_an_infinite_value_is_refused_before_anything_is_written():
    """An infinity in the last place leaves all places as they were."""
    x = np.array([1.0, 2.0, np.inf])
    with pytest.raises(ValueError, match=r"^values\[2\] must be finite or NaN"):
        tensors.add_noise_(ByInterface(x), TruncatedLaplaceMechanism(epsilon=1, delta=0.01, sensitivity=1))
    np.testing.assert_array_equal(x, [1.0, 2.0, np.inf])


@pytest.mark.usefixtures("stub")
def test_autograd_is_told_once_of_each_write():
    """A tensor of PyTorch gets the draws of an array, and its version is counted on once a call, at success alone."""
    tensor = StubTensor(np.zeros(4))
    tensors.laplace_(tensor, rng=default_rng(SEED))
    assert tensor.written == 1
    assert same(tensor.array, default_rng(SEED).laplace(size=4))
    tensors.add_laplace_(tensor, 1.0, rng=default_rng(SEED))
    tensors.add_noise_(tensor, LaplaceMechanism(epsilon=1, sensitivity=1))
    assert tensor.written == 3
    with pytest.raises(ValueError, match=r"^scale must"):
        tensors.laplace_(tensor, 0.0, -1.0, rng=default_rng(SEED))
    tensors.as_array(tensor)
    assert tensor.written == 3


class Pending(StubTensor):
    """A tensor with a sign that is still to be taken."""

    def numpy(self):
        raise RuntimeError("Can't call numpy() on Tensor that has negative bit set")


class Cloning(StubTensor):
    """A tensor that hands out a copy."""

    def numpy(self):
        return self.array.copy()


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("tensor", "error", "message"),
    [
        (
            StubTensor(np.zeros(3), requires_grad=True),
            ValueError,
            r"tensor must not require a gradient, .*\.detach",
        ),
        (StubTensor(np.zeros(3), device="cuda:1"), ValueError, "tensor must lie in CPU memory, got one on cuda:1"),
        (StubTensor(np.zeros(3, np.float16)), TypeError, "tensor must hold .* got torch.float16"),
        (Pending(np.zeros(3)), ValueError, "tensor must share its memory with NumPy, got: Can't call numpy"),
        (Cloning(np.zeros(3)), ValueError, "tensor must share its memory with NumPy, got a copy of it"),
    ],
)
def test_tensors_that_cannot_be_written_are_refused(tensor, error, message):
    """A tensor that requires a gradient, lies elsewhere or does not share its memory is refused, with advice."""
    with pytest.raises(error, match=f"^{message}"):
        tensors.laplace_(tensor, rng=default_rng(SEED))
    assert tensor.written == 0


@pytest.mark.usefixtures("stub")
def test_parameters_may_be_tensors():
    """A tensor as loc or scale counts as the array that it is."""
    loc, scale = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 2.0])
    got = tensors.laplace_(np.zeros(3), StubTensor(loc), StubTensor(scale), rng=default_rng(SEED))
    assert same(got, default_rng(SEED).laplace(loc, scale))
    got = tensors.add_laplace_(np.ones(3), StubTensor(scale), rng=default_rng(SEED))
    assert same(got, default_rng(SEED).add_laplace(np.ones(3), scale))


def refused_parameters(make):
    """Assert that what ``make`` returns for each refusal is refused by the name of the parameter, before a draw."""
    x, rng = np.arange(3.0), default_rng(SEED)
    for name, write in (
        ("loc", lambda parameter: tensors.laplace_(x, parameter, rng=rng)),
        ("scale", lambda parameter: tensors.laplace_(x, 0.0, parameter, rng=rng)),
        ("scale", lambda parameter: tensors.add_laplace_(x, parameter, rng=rng)),
    ):
        for parameter, error, message in make():
            with pytest.raises(error, match=f"^{name} must {message}"):
                write(parameter)
    assert rng.position == 0
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0])


@pytest.mark.usefixtures("stub")
def test_parameters_that_cannot_be_read_are_named():
    """A tensor as loc or scale that requires a gradient, or that NumPy cannot read, is refused by its name."""
    refused_parameters(
        lambda: (
            (StubTensor(np.ones(3), requires_grad=True), ValueError, r"not require a gradient, .*\.detach"),
            (Pending(np.ones(3)), TypeError, "be numbers that NumPy reads, got: Can't call numpy"),
            (StubTensor(np.ones(3, np.float16)), TypeError, "be real numbers .* got dtype float16"),
        )
    )


def test_parameters_of_pytorch_as_it_is():
    """So are real tensors, and those that can be read are."""
    torch = pytest.importorskip("torch")
    refused_parameters(
        lambda: (
            (torch.ones(3, requires_grad=True), ValueError, "not require a gradient"),
            (torch.ones(3, dtype=torch.bfloat16), TypeError, "be numbers that NumPy reads, got: .*BFloat16"),
            (torch.ones(3, device="meta"), TypeError, "be numbers that NumPy reads, got: "),
            (torch.ones(3, dtype=torch.float16), TypeError, "be real numbers .* got dtype float16"),
        )
    )
    scale = torch.tensor([0.5, 0.0, 2.0])
    got = tensors.laplace_(torch.zeros(3), torch.tensor(1.0), scale, rng=default_rng(SEED))
    assert same(got.numpy(), default_rng(SEED).laplace(1.0, scale.numpy(), dtype=np.float32))


def test_pytorch_as_it_is():
    """Real tensors: the address is theirs; those that cannot be written in place are refused, and nothing is copied."""
    torch = pytest.importorskip("torch")
    base, leaf = torch.zeros(4, 6), torch.ones(3, requires_grad=True)
    for tensor in (base, base[:, ::2], base.T, base[1, 2], torch.zeros(3, dtype=torch.float64)):
        assert tensors.as_array(tensor).ctypes.data == tensor.data_ptr()
    refused = {
        r"^tensor must not require a gradient": (
            leaf,
            leaf * 2,
        ),
        r"got torch\.bfloat16: convert": (torch.zeros(3, dtype=torch.bfloat16),),
        r"got torch\.float16: convert": (torch.zeros(3, dtype=torch.float16),),
        r"got one on meta": (torch.zeros(3, device="meta"),),
        r"^tensor must not repeat its own memory": (torch.zeros(1).expand(5),),
        r"^tensor must share its memory with NumPy": (
            torch.eye(3).to_sparse(),
            torch.conj(torch.ones(3, dtype=torch.complex64)).imag,
        ),
    }
    for message, given in refused.items():
        for tensor in given:
            with pytest.raises((TypeError, ValueError), match=message):
                tensors.laplace_(tensor, rng=default_rng(SEED))


def test_a_backward_pass_knows_of_the_noise():
    """What autograd has kept of a tensor is stale once noise was written to it, and the backward pass says so."""
    torch = pytest.importorskip("torch")
    x = torch.ones(3, requires_grad=True)
    kept = (x * x).sum()
    tensors.add_laplace_(x.detach(), 1.0, rng=default_rng(SEED))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.backward()
    (x * x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    assert tensors.add_noise_(x.grad, LaplaceMechanism(epsilon=1, sensitivity=1)) is x.grad


def test_arrays_of_jax_are_refused():
    """JAX's arrays never change, and say so."""
    jax = pytest.importorskip("jax")
    with pytest.raises(ValueError, match=r"^tensor must be writeable, got a read-only array$"):
        tensors.laplace_(jax.numpy.zeros(3), rng=default_rng(SEED))
