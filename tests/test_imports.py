"""What an import brings along, and which module may import which."""

import ast
import importlib
import inspect
import json
import textwrap
import types
from pathlib import Path

import fresh_process
import pytest

import lapnoise

PACKAGE = Path(lapnoise.__file__).parent

# From the bottom up: a module imports only from lines below its own. A name with a star is a whole package, whose
# modules may import one another.
LAYERS = [
    ["errors", "_version", "_numbers", "_threads", "_arrow_metadata", "_arrow_values"],
    ["_containers"],
    ["_canonical"],
    ["_check*"],
    ["_jit", "signed_log", "exact", "lattice", "sensitivity", "budget"],
    ["exact_normal", "exact_conditional", "conditional_law", "planar_lattice"],
    ["exact_gaussian"],
    ["_intrinsics", "exact_selection", "_scores"],
    ["bits", "kernels"],
    ["bits.chacha", "bits.entropy", "bits.fork"],
    ["bits.chacha_lanes", "bits.stream", "kernels.siphash"],
    ["kernels.powers", "kernels.batches", "kernels.bounded_sums", "kernels.cells"],
    ["kernels.shortest", "kernels.cell_numbers"],
    ["kernels.decimals", "kernels.csv_scan"],
    ["kernels.exp", "kernels.log", "kernels.uniform"],
    ["kernels.laplace", "kernels.laplace_float32", "kernels.bounded_laplace"],
    ["kernels.log_laplace", "kernels.refined"],
    ["kernels.discrete_laplace", "kernels.selection"],
    ["kernels.lattice_noise", "kernels.attempts", "kernels.strata", "kernels.chosen_words"],
    ["kernels.lattice_sum", "kernels.discrete_gaussian", "kernels.planar_laplace"],
    ["kernels.conditional_laplace", "kernels.domain", "kernels.keyed_noise"],
    ["_kernel_table", "_exact_noise"],
    ["_lattice_noise"],
    ["_attempts", "_strata_noise"],
    ["_gaussian_noise", "_conditional_noise", "_planar_noise", "_keyed_noise"],
    ["_row_keys"],
    ["_arrow_keys"],
    ["_fill"],
    ["_word_source"],
    ["generator", "_release", "_selection"],
    ["mechanisms*", "postprocess"],
    ["_keyed_release"],
    ["_record_batches"],
    ["queries*"],
    ["ledger*"],
    ["_cluster_charge", "_cluster_queries"],
    ["files*", "spark*", "dask*"],
    ["tables*"],
    ["embed*"],
    ["evaluate*"],
    ["_console", "_doctor"],
    ["_experiment_output"],
    [
        "_audit_command",
        "_compare_command",
        "_experiment_command",
        "_ledger_commands",
        "_noise_options",
        "_report_command",
        "_verify_command",
    ],
    ["cli"],
    ["__main__"],
]

HEAVY = {
    *("numba", "llvmlite", "scipy", "sqlite3", "pandas", "polars", "pyarrow", "pyspark", "dask", "matplotlib"),
    *("click", "tqdm", "torch", "opendp", "diffprivlib", "sklearn"),
}


def modules():
    """Return the syntax trees of all modules by name, the facade under its empty name."""
    trees = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        trees[".".join(parts).removesuffix("__init__").removesuffix(".")] = ast.parse(path.read_text())
    return trees


MODULES = modules()


def imported(tree):
    """Return the modules of the package that a tree imports, anywhere in it but for the eyes of a type checker."""
    found = set()
    for node in _running(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports give the whole path"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner.removeprefix("lapnoise.") in MODULES else node.module)
    return {name.removeprefix("lapnoise.") for name in found if name == "lapnoise" or name.startswith("lapnoise.")}


def _running(node):
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _running(child)


def layer(module):
    """Return the number of a module's line and the name it has there."""
    for number, names in enumerate(LAYERS):
        for name in names:
            if name == module or (name.endswith("*") and (module + ".").startswith(name[:-1] + ".")):
                return number, name
    pytest.fail(f"lapnoise.{module} has no place in LAYERS yet")


@pytest.mark.parametrize("module", [name for name in MODULES if name])
def test_imports_go_down_only(module):
    """A module imports only from the layers below its own, inside functions too; each has its place there."""
    number, home = layer(module)
    for other in imported(MODULES[module]):
        below, group = layer(other)
        assert below < number or (home.endswith("*") and group == home), f"lapnoise.{module} imports lapnoise.{other}"


def test_no_module_imports_in_a_circle():
    """Inside a package of files too no module is reached from itself."""
    graph = {name: imported(tree) - {name} for name, tree in MODULES.items() if name}
    left = dict(graph)
    while left:
        free = [name for name, needed in left.items() if not needed & set(left)]
        assert free, f"a circle among {sorted(left)}"
        for name in free:
            del left[name]


def test_the_facade_only_points():
    """The package itself imports, when it is imported, nothing of its own but the version."""
    assert {name for name in imported(ast.Module(MODULES[""].body[:], [])) if name} == {"_version"}
    assert set(lapnoise._HOMES) | {"__version__", *lapnoise._SUBMODULES} == set(lapnoise.__all__)


@pytest.mark.parametrize("name", lapnoise.__all__)
def test_every_public_name_is_there(name):
    """Each name that the package lists can be had, from the module that owns it, and again."""
    found = getattr(lapnoise, name)
    assert getattr(lapnoise, name) is found
    assert name in dir(lapnoise)
    if name in lapnoise._HOMES:
        assert found is getattr(importlib.import_module(lapnoise._HOMES[name]), name)


def test_other_names_are_not_there():
    """An unknown name is an AttributeError that says so."""
    with pytest.raises(AttributeError, match=r"^module 'lapnoise' has no attribute 'laplace'$"):
        lapnoise.laplace  # noqa: B018


def imported_by(script):
    """Return the modules of a fresh process after a script."""
    return set(json.loads(fresh_process.run(f"{script}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))")))


@pytest.mark.parametrize(
    "script",
    [
        "import lapnoise",
        "import lapnoise; lapnoise.Generator, lapnoise.default_rng, lapnoise.SignedLog, lapnoise.STREAM_VERSION",
        "import lapnoise; r = lapnoise.default_rng(7); r.child('a').spawn(2); r.seek(5); repr(r); r.position",
        "import lapnoise; lapnoise.default_rng()",
        "from lapnoise import *",
        "import pickle, lapnoise; pickle.loads(pickle.dumps(lapnoise.default_rng(7)))",
        "import lapnoise; lapnoise.SignedLog(1, 0.0).add(3.0).to_float()",
        "import lapnoise.files",
        "import lapnoise; lapnoise.tables.add_noise",
        "import lapnoise; lapnoise.ChaChaBits, lapnoise.embed.numpy_bits",
        "import lapnoise.spark",
        "import lapnoise.dask",
        "import lapnoise; e = lapnoise.embed; e.diffprivlib, e.numpy_random, e.opendp, e.tensors",
        "import lapnoise; lapnoise.postprocess.round_to_total([0.5, 0.5], 1)",
        "import lapnoise; lapnoise.ExponentialMechanism(epsilon=1, sensitivity=1).probabilities([1, 2])",
        "import lapnoise; lapnoise.PermuteAndFlipMechanism(epsilon=1, sensitivity=1).probabilities([1, 2])",
        "import lapnoise; lapnoise.queries.private_count, lapnoise.budget.split, lapnoise.sensitivity.count()",
        "import lapnoise; lapnoise.PlanarLaplaceMechanism(epsilon=1, radius=2).epsilon",
        "import lapnoise.errors, lapnoise.bits.stream, lapnoise.bits.entropy, lapnoise.bits.chacha",
    ],
)
def test_imports_are_light(script):
    """Importing, making generators and asking for every name bring in none of the heavy packages."""
    assert not imported_by(script) & HEAVY


def test_refusals_are_light():
    """An argument that is refused is refused without waiting for Numba."""
    script = """
    import lapnoise
    for call in (lambda: lapnoise.default_rng(-1), lambda: lapnoise.default_rng(7).laplace(0.0, -1.0)):
        try:
            call()
        except ValueError:
            pass
    """
    assert not imported_by(textwrap.dedent(script)) & HEAVY


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ["--help"],
            ["--version"],
            ["noise", "--help"],
            ["noise"],
            ["nonsense"],
            ["noise", "a", "b", "--epsilon"],
            [],
        ),
        *(["audit", "--help"], ["audit"], ["audit", "laplace"]),
        *(
            ["experiment", "--help"],
            ["experiment", "--column", "x"],
            ["verify", "--help"],
            ["verify", "--noise", "x.npy"],
            ["report", "--help"],
            ["report"],
            ["report", "x.html", "--column", "y"],
        ),
    ],
    ids=" ".join,
)
def test_help_and_usage_errors_import_no_numba(arguments):
    """The command answers help and usage errors with Click alone."""
    script = f"""
    import json, sys
    import lapnoise.cli
    code = lapnoise.cli.main({arguments!r})
    print()
    print(json.dumps([code, sorted(sys.modules)]))
    """
    code, found = json.loads(fresh_process.run(script).splitlines()[-1])
    assert code == (0 if not arguments or {"--help", "--version"} & set(arguments) else 2)
    assert set(found) & HEAVY == {"click"}
    assert "numpy" not in found


def test_the_package_runs_as_a_program():
    """``python -m lapnoise --help`` prints the help, and imports no Numba."""
    script = """
    import runpy, sys
    sys.argv = ["lapnoise", "--help"]
    try:
        runpy.run_module("lapnoise", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        print(end.code, "numba" in sys.modules)
    """
    printed = fresh_process.run(script)
    assert printed.startswith("Usage: lapnoise")
    assert printed.endswith("0 False\n")


@pytest.mark.parametrize("module", MODULES)
def test_the_global_generator_is_not_touched(module):
    """Of numpy.random the package uses SeedSequence alone, and never the module of the standard library.

    The audit draws from NumPy too, since it finds NumPy's noise and knows its power by drawn counts, and bits for NumPy
    are made here; none of them is the global generator.
    """
    further = {
        "evaluate.auditing.subjects": {"default_rng"},
        "evaluate.auditing.chosen_events": {"default_rng", "Generator"},
        "embed.numpy_bits": {"BitGenerator", "bit_generator"},
    }
    allowed = {"SeedSequence"} | further.get(module, set())
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("np.random", "numpy.random"):
            assert node.attr in allowed
        if isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            assert [alias.name for alias in node.names] == ["SeedSequence"]
        if isinstance(node, ast.Import):
            assert not {"random", "numpy.random"} & {alias.name for alias in node.names}
        assert not (isinstance(node, ast.ImportFrom) and node.module == "random")


@pytest.mark.parametrize("module", MODULES)
def test_nothing_relies_on_assert(module):
    """Checks are statements that ``python -O`` keeps."""
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(MODULES[module]))


@pytest.mark.parametrize("module", MODULES)
def test_only_one_module_names_flags(module):
    """Only `_jit` names a flag of Numba's, and fastmath is false wherever it stands."""
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.keyword):
            assert module == "_jit" or node.arg not in ("nogil", "cache", "error_model", "forceinline", "parallel")
            assert node.arg != "fastmath"
        if isinstance(node, ast.Constant) and module != "_jit":
            assert node.value != "fastmath"
        if isinstance(node, ast.Dict):
            named = {k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)}
            assert ast.unparse(named.get("fastmath", ast.Constant(False))) == "False"
        if isinstance(node, ast.Import) and module != "_jit":
            assert "numba" not in [alias.name for alias in node.names]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__main__"])
def test_modules_say_what_they_are_and_offer(module):
    """Each module has a docstring; unless it is a mere package it lists what it offers, and all of that exists."""
    tree = MODULES[module]
    assert ast.get_docstring(tree)
    if [node for node in tree.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]:
        if module == "_version":
            return
        loaded = importlib.import_module(f"lapnoise.{module}".removesuffix("."))
        assert len(set(loaded.__all__)) == len(loaded.__all__)
        for name in loaded.__all__:
            assert hasattr(loaded, name), name


def test_no_public_name_is_both_a_module_and_a_function():
    """A public function never has the name of a public module, so that an import cannot hide one behind the other."""
    public = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
    stems = {name.rpartition(".")[2] for name in public if name}
    functions = set()
    for name in public:
        loaded = importlib.import_module(f"lapnoise.{name}".removesuffix("."))
        for offered in getattr(loaded, "__all__", []):
            found = getattr(loaded, offered)
            if not isinstance(found, types.ModuleType) and (callable(found) or inspect.isfunction(found)):
                functions.add(offered)
    assert not stems & functions
    assert not {"laplace", "exponential", "words"} & set(lapnoise.__all__)


def test_types_are_told():
    """The package is marked as typed."""
    assert (PACKAGE / "py.typed").is_file()
