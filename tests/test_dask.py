"""Noise and statistics on dask: the same bytes whatever the scheduler does, or drawn and written once."""

import datetime
import decimal
import math
import pickle
import tempfile
import textwrap

import dask_cluster
import fresh_process
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask import array, config, dataframe

from lapnoise import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    PrivacyLedger,
    RequestRefusedError,
    SeededNoiseWarning,
    TruncatedLaplaceMechanism,
    dask,
    default_rng,
    queries,
)
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import keyed_batches
from lapnoise._row_keys import from_numpy
from lapnoise.dask._place import Place

SECRET = bytes(range(7, 47))
ID = "2024-q1"
ROWS = 2_000
LAPLACE = LaplaceMechanism(epsilon=1, sensitivity=10, changed=3)
DISCRETE = DiscreteLaplaceMechanism(epsilon=1, sensitivity=10)


@pytest.fixture(autouse=True)
def scheduler(request):
    """Compute on threads, and on the cluster where a test asks for its client."""
    with config.set(scheduler=None if "client" in request.fixturenames else "threads"):
        yield


def given(rows=ROWS, first=0):
    """Return a frame of a key, a text, and numbers of several types of which some are missing."""
    ids = np.arange(first, first + rows)
    frame = pd.DataFrame({"id": ids, "name": [f"row {i}" for i in ids], "x": ids * 0.37})
    frame.loc[ids % 11 == 0, "x"] = math.nan
    frame["n"] = pd.Series(ids % 50, dtype="Int32").mask(ids % 5 == 0)
    frame["f"] = (ids * 0.25).astype(np.float32)
    frame["a"] = pd.Series(pa.array(ids * 0.5, mask=ids % 7 == 0), dtype=pd.ArrowDtype(pa.float64()))
    frame["whole"] = (ids % 90).astype(np.int16)
    frame.index = pd.Index(ids * 2, name="place")
    return frame


NOISED = ("x", "n", "f", "a", "whole")


def table(partitions=4, **changes):
    """Return it as a dask frame."""
    return dataframe.from_pandas(given(**changes), npartitions=partitions)


def noisy(frame, columns=NOISED, **changes):
    """Return a frame with keyed noise."""
    options = {"mechanism": LAPLACE, "release_id": ID, "key_columns": "id", "secret": SECRET, **changes}
    return dask.add_noise(frame, list(columns), **options)


def told(frame):
    """Return all rows in the order of their key, floats by their bits."""
    found = frame.compute() if hasattr(frame, "compute") else frame
    found = found.sort_values("id")
    columns = [found.index.tolist(), *(pa.array(found[name], from_pandas=False).to_pylist() for name in found.columns)]
    return [tuple(v.hex() if isinstance(v, float) else v for v in row) for row in zip(*columns, strict=True)]


@pytest.fixture(scope="module")
def wanted():
    """Return what noise on the table is, made from one Arrow batch without dask."""
    frame = given()
    arrays = {name: pa.array(frame[name], from_pandas=False) for name in frame.columns}
    whole = pa.record_batch([v.combine_chunks() if hasattr(v, "chunks") else v for v in arrays.values()], list(arrays))
    batches = keyed_batches(KeyedRelease(SECRET, ID), LAPLACE, NOISED, ["id"])
    noised = batches.noised(whole).to_pydict()
    columns = [frame.index.tolist(), *noised.values()]
    return [tuple(v.hex() if isinstance(v, float) else v for v in row) for row in zip(*columns, strict=True)]


# Keyed noise: the same bytes.


def test_a_frame_has_the_noise_of_one_batch(wanted):
    """Every number has the bits that Arrow gets without dask; types keep their family, the index its divisions."""
    frame = table()
    found = noisy(frame)
    types = {name: str(kind) for name, kind in found.compute().dtypes.items()}

    assert types == {name: str(kind) for name, kind in found.dtypes.items()}
    assert types == {
        "id": "int64",
        "name": str(frame.dtypes["name"]),
        "x": "float64",
        "n": "Float64",
        "f": "float32",
        "a": "double[pyarrow]",
        "whole": "float64",
    }
    assert found.divisions == frame.divisions
    assert told(found) == wanted
    assert sum(row[4] is None for row in wanted) == 400
    assert sum(row[3] == "nan" for row in wanted) == 182
    assert told(frame) == told(given())  # what was given did not change


@pytest.mark.parametrize("partitions", [1, 4, 13])
def test_partitions_do_not_matter(wanted, partitions):
    """Any number of partitions gives the same bytes, and another one afterwards too."""
    frame = noisy(table(partitions), assume_unique=True)
    assert frame.npartitions == partitions
    assert told(frame) == told(frame.repartition(npartitions=3)) == wanted


def test_processes_give_the_same(wanted):
    """So do processes that are made for it, where a worker compiles or finds the kernels by itself."""
    with config.set(scheduler="processes", num_workers=2):
        assert told(noisy(table(), assume_unique=True)) == wanted


def test_computations_agree(wanted):
    """Rows that were chosen by their noisy value, and rows in another order, show the same numbers."""
    frame = noisy(table())
    above = told(frame[frame.x > 300])
    assert above == [row for row in wanted if row[3] != "nan" and float.fromhex(row[3]) > 300]
    assert 1_000 < len(above) < ROWS
    shuffled = table().shuffle(on="whole", npartitions=5)
    assert told(noisy(shuffled)) == wanted


def test_two_frames_put_together(wanted):
    """Noise on two frames, put together, is that on the two put together; rows that are in both are refused."""
    one, other = table(rows=1_200), table(rows=ROWS - 1_200, first=1_200)
    assert told(dataframe.concat([noisy(one), noisy(other)])) == wanted
    assert told(noisy(dataframe.concat([one, other]))) == wanted
    with pytest.raises(ValueError, match=r"^key_columns must tell every row .* but several rows share one key"):
        noisy(dataframe.concat([one, one]))


def test_releases_do_not_share_tasks(wanted):
    """The same release has the same tasks, any other one tasks of its own: dask keeps results by their names."""
    frame = table()
    one = noisy(frame)
    others = [
        noisy(frame, **change)
        for change in (
            {"secret": bytes(40)},
            {"release_id": "another"},
            {"mechanism": LaplaceMechanism(epsilon=1, sensitivity=11, changed=3)},
            {"columns": ["x"]},
            {"key_columns": ["id", "name"]},
        )
    ]
    assert noisy(frame)._name == one._name
    assert len({one._name, *(other._name for other in others)}) == 6
    assert told(others[0]) != wanted


def test_keys_of_every_kind():
    """Keys are what they are to Arrow and Spark, whatever pandas holds them as."""
    ids = np.arange(300)
    moments = pd.to_datetime(ids * 1_000_001, unit="us")
    frame = pd.DataFrame(
        {
            "n": ids % 100,
            "flag": ids % 2 == 0,
            "id": ids.astype(np.int32),
            "day": [datetime.date(2000, 1, 1) + datetime.timedelta(int(i)) for i in ids],
            "moment": moments.tz_localize("UTC").tz_convert("Europe/Paris"),
            "zoneless": moments.astype("datetime64[ns]"),
            "bytes": [str(i).encode() for i in ids],
            "text": pd.Series([f"row {i % 3}" for i in ids], dtype="category"),
            "object": pd.Series([f"ö{i}" for i in ids], dtype=object),
        }
    )
    keys = [name for name in frame.columns if name != "n"]
    with config.set({"dataframe.convert-string": False}):
        found = noisy(dataframe.from_pandas(frame, npartitions=3), ["n"], mechanism=DISCRETE, key_columns=keys)
    days = np.datetime64("2000-01-01", "D") + ids
    times = (ids * 1_000_001).astype("datetime64[us]")
    plain = {"day": days, "moment": times, "zoneless": times, "id": ids, "text": frame.text.to_numpy(object)}
    release = KeyedRelease(SECRET, ID)
    columns = [from_numpy(name, np.asarray(plain.get(name, frame[name]))) for name in sorted(keys)]
    expected = release.column(DISCRETE, "n").add_noise(ids % 100, release.identities(columns))

    assert found.dtypes["n"] == np.int64
    assert found.compute()["n"].tolist() == expected.tolist()


DAY, NEXT = datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)
MORNING, EVENING = datetime.datetime(2020, 1, 3, 1), datetime.datetime(2020, 1, 3, 21)
FIVE = datetime.timezone(datetime.timedelta(hours=5))
STAMP = pd.Timestamp("2020-01-04 00:00:00.000001")
OBJECTS = {
    "text": (["a", "ö", "c", np.str_("d")], "U1"),
    "binary": ([b"a", b"b\0", b"", b"d"], object),
    "integers": ([1, np.int8(-2), 2**63 - 1, np.uint64(7)], "i8"),
    "bool": ([True, np.True_, False, np.False_], bool),
    "dates": ([DAY, NEXT, MORNING.date(), datetime.date(1, 1, 1)], "M8[D]"),
    "times": ([MORNING, EVENING, STAMP, datetime.datetime(1, 1, 1)], "M8[us]"),
}


def objects(entries, partitions, **changes):
    """Return the noise on equal numbers whose keys are objects."""
    frame = pd.DataFrame({"k": pd.Series(entries, dtype=object), "v": [100.0] * len(entries)})
    with config.set({"dataframe.convert-string": False}):
        lazy = dataframe.from_pandas(frame, npartitions=partitions, sort=False)
    assert lazy.npartitions == partitions
    found = noisy(lazy, ["v"], **{"key_columns": "k", **changes}).compute()["v"].tolist()
    return [value - 100 for value in found]


@pytest.mark.parametrize("partitions", [1, 2, 4])
@pytest.mark.parametrize("kind", OBJECTS)
def test_keys_that_are_objects(kind, partitions):
    """Objects of one type are what arrays of that type are, however the rows are divided."""
    entries, dtype = OBJECTS[kind]
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("k", np.array(entries, dtype))])
    expected = release.column(LAPLACE, "v").add_noise(np.full(4, 100.0), identities) - 100

    assert objects(entries, partitions, assume_unique=True) == expected.tolist()
    assert len(set(expected)) == (2 if kind == "bool" else 4)
    if kind != "bool":
        assert objects(entries, partitions) == expected.tolist()


def test_moments_of_zones():
    """Times with zones are those of UTC, whatever their zones; no two moments share noise."""
    moments = [MORNING.replace(tzinfo=FIVE), EVENING.replace(tzinfo=datetime.UTC), STAMP.tz_localize("Europe/Paris")]
    plain = [MORNING - datetime.timedelta(hours=5), EVENING, STAMP - pd.Timedelta(hours=1)]
    found = objects(moments, 1)
    assert found == objects(moments, 3) == objects(plain, 1) == objects(plain, 2)
    assert len(set(found)) == 3


MIXED = {
    "str in row 0 and bytes in row 2": ["a", "b", b"c", b"d"],
    "datetime.date in row 0 and datetime.datetime without a time zone in row 2": [DAY, NEXT, MORNING, EVENING],
    "datetime.datetime without a time zone in row 0 and datetime.date in row 2": [MORNING, EVENING, DAY, NEXT],
    "datetime.datetime with a time zone in row 0 and datetime.datetime without a time zone in row 1": [
        MORNING.replace(tzinfo=FIVE),
        *(EVENING, MORNING, STAMP),
    ],
    "int in row 0 and bool in row 2": [5, 6, True, False],
    "int in row 0 and str in row 3": [1, 2, 3, "a"],
    "int in row 0 and int beyond int64 in row 3": [1, -2, 3, 2**63],
    "type Decimal in row 0": [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(3), decimal.Decimal(4)],
    "int in row 0 and type float in row 2": [1, 2, 3.0, 4.0],
    "type float in row 0 and int in row 2": [1.0, 2.0, 3, 4],
    "type datetime64 in row 0": [np.datetime64("2020-01-01") + i for i in range(4)],
}


@pytest.mark.parametrize("told", MIXED)
def test_keys_of_two_types(told):
    """They are refused, in the same words however the rows are divided; trusted, where a partition has both."""
    wanted = rf"^key column 'k' must hold entries of one type, .*, got {told}; a key"
    for partitions in (1, 2, 3, 4):
        with pytest.raises(TypeError, match=wanted):
            objects(MIXED[told], partitions)
    each = " of a partition and".join(told.split(" and"))
    with pytest.raises(TypeError, match=f"got {each} of a partition; a key"):
        objects(MIXED[told], 1, assume_unique=True)


def test_trusted_types_of_partitions():
    """Equal words of several types have noise of their own where every partition is of one type."""
    entries = ["1", b"1", 1, True, datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)]
    found = objects(entries, 6, assume_unique=True)
    assert len(set(found)) == 6
    assert found == [objects([entry], 1)[0] for entry in entries]


def test_categories_that_are_objects():
    """Categories are told apart as objects are."""
    for entries in ([DAY, NEXT], [1, True + 1.0], [MORNING, DAY]):
        frame = pd.DataFrame({"k": pd.Categorical(pd.Series(entries, dtype=object)), "v": [100.0] * len(entries)})
        frame["k"] = frame["k"].cat.set_categories(pd.Index(entries, dtype=object))
        lazy = dataframe.from_pandas(frame, npartitions=1)
        if entries == [DAY, NEXT]:
            assert [v - 100 for v in noisy(lazy, ["v"], key_columns="k").compute()["v"]] == objects(entries, 2)
        else:
            with pytest.raises(TypeError, match=r"^key column 'k' must "):
                noisy(lazy, ["v"], key_columns="k")


@pytest.mark.parametrize("partitions", [1, 2])
def test_objects_that_name_no_row(partitions):
    """A missing key is refused before its type is, a time that would be cut and text that is none by their rows."""
    with pytest.raises(ValueError, match=r"^key column 'k' must not have missing entries, got at least one$"):
        objects([DAY, MORNING, None, NEXT], partitions)
    with pytest.raises(ValueError, match=r"^key column 'k' must hold times of whole microseconds .* in row 0$"):
        objects([pd.Timestamp(1), STAMP], partitions)
    with pytest.raises(ValueError, match=r"^key column 'k' must be text that UTF-8 can write.* in row 0$") as caught:
        objects(["private\ud800", "b"], partitions)
    assert "private" not in f"{caught.value} {caught.value.__context__}"


def test_keys_are_read_once(tmp_path):
    """Types and repeats are found by one computation."""
    frame = dataframe.from_map(counted, [str(tmp_path)] * 2, [0, 50], meta=given(1).iloc[:0])
    noisy(frame, ["x"], key_columns=["id", "name"])
    assert len(list(tmp_path.iterdir())) == 2


def counted(folder, first):
    """Return rows, and leave a file for each time that they are read."""
    tempfile.mkstemp(dir=folder)
    return given(50, first)


def test_what_is_in_the_graph_holds_no_secret():
    """Tasks have the keys of rows and columns, and neither the secret nor what they are derived from."""
    release = KeyedRelease(SECRET, ID)
    numbers = array.ones((4, 6), chunks=2)
    for found in (
        noisy(table()),
        noisy(table(), assume_unique=True).optimize(),
        dask.add_noise(numbers, mechanism=LAPLACE, release_id=ID, secret=SECRET),
    ):
        shipped = pickle.dumps(dict(found.__dask_graph__()))
        assert release.rows()._key in shipped
        assert SECRET not in shipped
        assert release._key not in shipped
        assert release.rows()._key.hex() not in repr(dict(found.__dask_graph__()))


def test_nothing_is_computed_where_keys_are_trusted(tmp_path):
    """With ``assume_unique`` the call computes nothing; a key that is missing then fails with its row."""
    frame = table().map_partitions(dask_cluster.fail_once, tmp_path, meta=given(0))
    noisy(frame, assume_unique=True)
    assert not list(tmp_path.iterdir())
    broken = given(50)
    broken["id"] = broken["id"].astype("Int64").mask(broken["id"] == 7)
    lazy = noisy(dataframe.from_pandas(broken, npartitions=1), ["x"], assume_unique=True)
    with pytest.raises(ValueError, match="key column 'id' must not have missing entries, got one in row 7"):
        lazy.compute()


def test_an_infinite_value_fails_by_name():
    """An infinity names its column and not its neighbours."""
    frame = given(10)
    frame["bad"] = np.where(frame.id == 3, math.inf, 1.5)
    with pytest.raises(ValueError, match=r"^column 'bad': values\[3\] must be finite or NaN, got an infinity"):
        noisy(dataframe.from_pandas(frame, npartitions=1), ["x", "bad"]).compute()


# Keyed noise on arrays.

SHAPES = [((24,), [(24,), (5,), (1,)]), ((4, 6), [(4, 6), (2, 3), (3, 4), (1, 5)]), ((2, 3, 4), [(2, 3, 4), (1, 2, 3)])]


@pytest.mark.parametrize(("shape", "chunks"), SHAPES, ids=lambda v: str(v))
def test_chunks_do_not_matter(shape, chunks):
    """Elements are called by their place in C order, whatever the chunks and the shape: a column with that key."""
    values = np.arange(24) * 0.5
    values[5] = math.nan
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("index", np.arange(24))])
    expected = release.column(LAPLACE, "value").add_noise(values, identities).reshape(shape)
    for size in chunks:
        lazy = array.from_array(values.reshape(shape), chunks=size)
        found = dask.add_noise(lazy, mechanism=LAPLACE, release_id=ID, secret=SECRET)
        assert found.chunks == lazy.chunks
        assert found.compute().tobytes() == expected.tobytes()
        assert found.rechunk(2)[1:].compute().tobytes() == expected[1:].tobytes()


@pytest.mark.parametrize(
    ("kind", "mechanism", "result"),
    [
        (np.float32, LAPLACE, np.float32),
        (np.int16, LAPLACE, np.float64),
        (np.uint64, DISCRETE, np.int64),
        (">f8", LAPLACE, np.float64),
    ],
)
def test_types_of_arrays(kind, mechanism, result):
    """Types are those of columns; an array without elements, one without axes and one in Fortran order too."""
    release = KeyedRelease(SECRET, ID)
    column = release.column(mechanism, "value")
    identities = release.identities([from_numpy("index", np.arange(6))])
    for values in (np.asfortranarray(np.arange(6).reshape(2, 3)), np.empty((0, 3)), np.array(3)):
        lazy = array.from_array(values.astype(kind), chunks=2)
        found = dask.add_noise(lazy, mechanism=mechanism, release_id=ID, secret=SECRET)
        expected = column.add_noise(np.ravel(values).astype(kind), identities[: values.size])
        assert found.dtype == found.compute().dtype == result
        assert found.compute().shape == values.shape
        assert np.ravel(found.compute()).tobytes() == expected.tobytes()


def test_a_large_block_has_one_noise():
    """A block of more elements than are taken at a time has the noise of small ones."""
    whole = array.zeros(600_000, chunks=-1)
    options = {"mechanism": LAPLACE, "release_id": ID, "secret": SECRET}
    one = dask.add_noise(whole, **options).compute()
    two = dask.add_noise(whole.rechunk(70_000), **options).compute()
    assert one.tobytes() == two.tobytes()
    assert len(set(one.tolist())) > 590_000  # 2,000 meet on the lattice


# The ledger.


def test_a_release_id_is_charged_once(tmp_path):
    """The same release costs nothing more, from another opening of the ledger either; another one is refused."""
    ledger = PrivacyLedger(3, path=tmp_path / "budget.db")
    frame = table(rows=50)
    one = noisy(frame, ledger=ledger)
    other = noisy(frame, NOISED[::-1], ledger=PrivacyLedger.open(tmp_path / "budget.db"))

    assert told(one) == told(other)
    assert ledger.spent.epsilon == 1
    for part, change in {
        "data_version": {"data_version": "2"},
        "columns": {"columns": ["x"]},
        "secret_check": {"secret": SECRET + b"x"},
        "parameters": {"mechanism": LaplaceMechanism(epsilon=1, sensitivity=11, changed=3)},
    }.items():
        message = rf"^release_id '2024-q1' was charged before .* as entry 1, which differs in {part}$"
        with pytest.raises(RequestRefusedError, match=message):
            noisy(frame, ledger=ledger, **{"assume_unique": True, **change})
    noisy(frame.assign(id=frame.id.astype("int32")), ledger=ledger, assume_unique=True)
    for part, cast in (("key_columns", {"id": "string"}), ("columns", {"f": "float64"})):
        with pytest.raises(RequestRefusedError, match=rf"as entry 1, which differs in {part}$"):
            noisy(frame.astype(cast), ledger=ledger, assume_unique=True)
    numbers = array.arange(24, chunks=5)
    for _ in range(2):
        dask.add_noise(numbers, mechanism=DISCRETE, release_id="array", secret=SECRET, ledger=ledger)
    assert ledger.spent.epsilon == 2
    assert [entry.request_id for entry in ledger.entries()] == [ID, "array"]
    with pytest.raises(RequestRefusedError, match=r"^release_id 'array' was charged .* differs in key_columns$"):
        dask.add_noise(numbers[1:], mechanism=DISCRETE, release_id="array", secret=SECRET, ledger=ledger)


def test_nothing_is_charged_for_what_is_refused():
    """Bad arguments and repeated keys are refused before the charge."""
    ledger = PrivacyLedger(1)
    for change in ({"key_columns": "whole"}, {"secret": b"short"}, {"columns": ["name"]}):
        with pytest.raises((TypeError, ValueError)):
            noisy(table(), ledger=ledger, **change)
    assert ledger.spent.epsilon == 0


# What is refused.

BAD = {
    "columns must name columns that are there once, got 'y': there is none": {"columns": ["y"]},
    "columns must name at least one column": {"columns": []},
    "columns must name each column once, got 'x' twice": {"columns": ["x", "x"]},
    "columns must hold integers, float or double, got column 'name' of type (str|object)": {"columns": ["name"]},
    "columns must hold integers, float or double, got column 'flag' of type bool": {"columns": ["flag"]},
    "columns must hold integers, float or double, got column 'others' of type object": {"columns": ["others"]},
    "columns must hold integers, float or double, got column 'half' of type float16": {"columns": ["half"]},
    "columns must hold integers, float or double, got column 'kind' of type category": {"columns": ["kind"]},
    "columns must hold integers, float or double, got column 'z' of type complex128": {"columns": ["z"]},
    "columns must hold integers, for discrete noise, got column 'f' of type float32": {
        "columns": ["f"],
        "mechanism": DISCRETE,
    },
    "columns must be names of columns": {"columns": [3]},
    "key_columns must name columns that are there once, got 'place'": {"key_columns": ["place"]},
    "key_columns must name at least one": {"key_columns": []},
    "key_columns must be names of columns": {"key_columns": None},
    "key_columns must not be noised, got 'x' in columns too": {"key_columns": ["id", "x"]},
    "key column 'f' must be integers, bool, dates, times, text or binary, got Arrow type float": {
        "columns": ["x"],
        "key_columns": ["f"],
    },
    "key column 'others' must hold entries of one type, .* got type list in row 0;": {"key_columns": ["others"]},
    "key column 'mixed' must hold entries of one type, .* got int in row 0 and str in row 1;": {
        "key_columns": ["mixed"]
    },
    "key column 'z' must be integers, bool, dates, .* got type complex128": {"key_columns": ["z"]},
    "key column 'maybe' must not have missing entries, got at least one": {"key_columns": ["id", "maybe"]},
    r"key_columns must tell every row from all others, got \['flag'\], but several rows share one key": {
        "key_columns": ["flag"]
    },
    "secret must have at least 32 bytes, got 31": {"secret": bytes(31)},
    "secret must be bytes, got str": {"secret": "x" * 40},
    "release_id must not be empty": {"release_id": ""},
    "mechanism must have changed set for keyed noise.*for_length": {
        "mechanism": LaplaceMechanism(epsilon=1, sensitivity=1)
    },
    "mechanism must be a LaplaceMechanism or DiscreteLaplaceMechanism for keyed noise, got GaussianMechanism": {
        "mechanism": GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1)
    },
    "ledger must be a PrivacyLedger": {"ledger": "budget.db"},
    "data_version must be text": {"data_version": 7},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    """Each is refused at the call, by name, and shows no entry."""
    frame = given(50).assign(
        flag=lambda f: f.id % 2 == 0,
        half=lambda f: f.x.astype(np.float16),
        kind=lambda f: f.id.astype("category"),
        z=lambda f: f.x * 1j,
        maybe=lambda f: f.name.mask(f.id == 7),
    )
    frame["others"] = [[i] for i in range(50)]
    frame["mixed"] = pd.Series(["private" if i % 2 else i for i in range(50)], index=frame.index, dtype=object)
    with config.set({"dataframe.convert-string": False}):
        lazy = dataframe.from_pandas(frame, npartitions=3)
    with pytest.raises((TypeError, ValueError), match=f"^{message}") as caught:
        noisy(lazy, **{"columns": ["x"], **BAD[message]})
    assert "private" not in str(caught.value)
    assert caught.value.__context__ is None or "private" not in str(caught.value.__context__)


def test_bad_arrays(tmp_path):
    """Other collections, arrays of unknown shape, with masks or of other types are refused, with the remedy."""
    options = {"mechanism": LAPLACE, "release_id": ID, "secret": SECRET}
    numbers = array.arange(10, chunks=3) * 0.5
    for value in (given(), np.ones(3), [1.0]):
        with pytest.raises(TypeError, match=r"^data must be a dask.dataframe.DataFrame or a dask.array.Array, got"):
            dask.add_noise(value, "x", key_columns="id", **options)
    for value, message in [
        (numbers[numbers > 2], r"data must have chunks of known size: call its compute_chunk_sizes\(\) first"),
        (array.ma.masked_greater(numbers, 2), "data must have blocks of plain NumPy arrays, got MaskedArray"),
        (numbers > 2, "data must hold integers, float32 or float64, got dtype bool"),
        (numbers.astype(np.float16), "data must hold integers, float32 or float64, got dtype float16"),
        (numbers.astype("U3"), "data must hold integers, float32 or float64, got dtype"),
    ]:
        for call in (
            lambda v: dask.add_noise(v, **options),
            lambda v: dask.release(v, tmp_path / "out", mechanism=LAPLACE),
        ):
            with pytest.raises((TypeError, ValueError), match=f"^{message}"):
                call(value)
    with pytest.raises(TypeError, match=r"^data must hold integers, for discrete noise, got dtype float64"):
        dask.add_noise(numbers, **{**options, "mechanism": DISCRETE})
    with pytest.raises(TypeError, match=r"^columns must be left out for an array, got 'x'"):
        dask.add_noise(numbers, "x", **options)
    with pytest.raises(TypeError, match=r"^key_columns must be left out for an array"):
        dask.add_noise(numbers, key_columns="id", **options)
    with pytest.raises(ValueError, match=r"^data must have at least one dimension"):
        dask.release(numbers.sum(), tmp_path / "out", mechanism=LAPLACE)
    assert dask.add_noise(numbers[numbers > 2].compute_chunk_sizes(), **options).compute().shape == (5,)
    assert not list(tmp_path.iterdir())


def test_a_missing_package():
    """Without dask one message says what to install."""
    script = """
    import sys
    sys.modules["dask"] = None
    from lapnoise import LaplaceMechanism, dask
    try:
        dask.release(None, "x", mechanism=LaplaceMechanism(epsilon=1, sensitivity=1))
    except ImportError as error:
        print(error)
    """
    assert "pip install 'lapnoise[dask]'" in fresh_process.run(textwrap.dedent(script))


# Drawn once, written once.


def test_a_release_is_written_once(tmp_path):
    """What comes back is what was written, read twice; missing numbers and other columns stay; another draw differs."""
    ledger = PrivacyLedger(2)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    frame = table()
    found = dask.release(frame, tmp_path / "out", columns=NOISED, mechanism=mechanism, ledger=ledger)
    again = dask.release(frame, str(tmp_path / "more"), columns=NOISED, mechanism=mechanism, ledger=ledger)
    one, two, before = told(found), told(again), told(frame)

    assert told(found) == one == told(pd.read_parquet(tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"part-{i:06d}.parquet" for i in range(4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more", "out"]
    assert found.divisions == frame.divisions
    assert [str(found.dtypes[name]) for name in ("x", "n", "f")] == ["float64", "Float64", "float32"]
    for k in (0, 1, 2):
        assert [row[k] for row in one] == [row[k] for row in before]
    for k in (3, 4, 5, 6, 7):
        assert [row[k] in (None, "nan") for row in one] == [row[k] in (None, "nan") for row in before]
    noise = [float.fromhex(a[3]) - float.fromhex(b[3]) for a, b in zip(one, before, strict=True) if a[3] != "nan"]
    assert len(set(noise)) == len(noise) > 1_800  # a key that two tasks shared would repeat
    # P(the mean magnitude of 1,800 draws is off by a quarter) < 1e-9, by Chernoff's bound.
    assert 7.5 < np.abs(noise).mean() < 12.5
    assert sum(a[3] == b[3] for a, b in zip(one, two, strict=True) if a[3] != "nan") == 0
    assert [(entry.label, entry.state) for entry in ledger.entries()] == [("dask.release", "released")] * 2


def test_an_array_is_written_once(tmp_path):
    """So is an array: what is read has the numbers of the files, in its shape."""
    ledger = PrivacyLedger(1)
    lazy = array.zeros((300, 20), chunks=(70, 7))
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    found = dask.release(lazy, tmp_path / "out", mechanism=mechanism, ledger=ledger, label="an array")
    values = found.compute()

    assert values.tobytes() == found.compute().tobytes()
    assert values.tobytes() == array.from_npy_stack(tmp_path / "out").compute().tobytes()
    assert (found.shape, found.dtype, found.chunks[0]) == ((300, 20), np.float64, lazy.chunks[0])
    assert len(set(values.ravel().tolist())) == 6_000
    assert 9 < np.abs(values).mean() < 11  # seven standard errors
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [(entry.label, entry.state) for entry in ledger.entries()] == [("an array", "released")]
    counts = dask.release(array.arange(9, chunks=2), tmp_path / "n", mechanism=DISCRETE)
    assert counts.compute().dtype == np.int64
    swapped = dask.release(array.zeros(50, chunks=20, dtype=">f8"), tmp_path / "swapped", mechanism=mechanism)
    assert len(set(swapped.compute().tolist())) == 50
    empty = dask.release(array.zeros((0, 3), chunks=2), tmp_path / "empty", mechanism=mechanism)
    assert empty.compute().shape == (0, 3)


@pytest.mark.parametrize(
    ("mechanism", "column", "kind"),
    [
        (DISCRETE, "n", "Int64"),
        (DISCRETE, "whole", "int64"),
        (GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1), "n", "Float64"),
        (TruncatedLaplaceMechanism(epsilon=1, delta="1e-6", sensitivity=1), "f", "float32"),
        (BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=10), "x", "float64"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "epsilon") else None,
)
def test_mechanisms_of_a_release(tmp_path, mechanism, column, kind):
    """Each mechanism on columns gives its type."""
    found = dask.release(table(1, rows=40), tmp_path / "out", columns=column, mechanism=mechanism)
    assert str(found.dtypes[column]) == str(found.compute().dtypes[column]) == kind
    assert len(found) == 40


def test_parts_of_a_frame_that_differ(tmp_path):
    """A partition without rows, and one in which a column of objects has no entry, are read with the others."""
    frame = given(40)
    frame["day"] = [None] * 20 + [datetime.date(2000, 1, 1)] * 20
    with config.set({"dataframe.convert-string": False}):
        lazy = dataframe.from_pandas(frame, npartitions=4)
    lazy = lazy[(lazy.id < 10) | (lazy.id > 19)]
    found = dask.release(lazy, tmp_path / "out", columns="x", mechanism=LAPLACE).compute()
    assert found.id.tolist() == [*range(10), *range(20, 40)]
    assert found.day.isna().sum() == 10
    assert found.day.iloc[-1] == datetime.date(2000, 1, 1)


def test_a_path_that_exists(tmp_path):
    """It is refused before the charge, and what lies there stays; so are other paths that nothing can move to."""
    ledger = PrivacyLedger(1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").touch()
    for path, message in [
        (tmp_path / "out", "path must not exist yet, got"),
        (tmp_path / "none" / "out", "path must lie in a folder that exists, got one in"),
        ("s3://bucket/out", "path must be a folder that client and workers share, got the address 's3://bucket/out'"),
        (7, "path must be a str, got 7"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"^{message}"):
            dask.release(table(), path, columns="x", mechanism=LAPLACE, ledger=ledger)
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "kept"]
    assert ledger.spent.epsilon == 0


def test_attempts_that_are_not_seen(tmp_path):
    """Of two attempts the one that is named is published; one that comes too late finds no folder, and leaves none."""
    place = Place(tmp_path / "out")
    with place.attempts() as folder:
        for name in ("first", "second", "other part"):
            (folder / name).write_text(name)
        place.publish(["second", "other part"], "{}.txt".format)
    with pytest.raises(FileNotFoundError):
        (folder / "late").write_text("late")
    found = {path.name: path.read_text() for path in tmp_path.rglob("*.txt")}
    assert found == {"0.txt": "second", "1.txt": "other part"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_rows_that_come_and_go(tmp_path):
    """A frame with more rows when it is written than when they were counted is refused, and nothing stays."""
    ledger = PrivacyLedger(1)
    marks = tmp_path / "marks"
    marks.mkdir()
    moving = table(1, rows=100).map_partitions(dask_cluster.another_row_later, marks, meta=given(0))
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    with pytest.raises(ValueError, match=r"^the frame must have the same rows each time .* got 100 rows and then 101"):
        dask.release(moving, tmp_path / "out", columns="x", mechanism=mechanism, ledger=ledger)
    assert [path.name for path in tmp_path.iterdir()] == ["marks"]
    assert [entry.state for entry in ledger.entries()] == ["reserved"]


def test_a_release_that_fails_leaves_nothing(tmp_path):
    """An infinite value ends the computation; the charge stands and the error says so."""
    ledger = PrivacyLedger(1)
    frame = given(100)
    frame["x"] = np.where(frame.id == 99, math.inf, 1.5)
    with pytest.raises(ValueError, match="column 'x': values") as caught:
        dask.release(
            dataframe.from_pandas(frame, npartitions=4),
            tmp_path / "out",
            columns="x",
            mechanism=LAPLACE,
            ledger=ledger,
        )
    assert "as entry 1 of the ledger, and stays so" in caught.value.__notes__[0]
    assert not list(tmp_path.iterdir())


def test_bad_releases(tmp_path):
    """Mechanisms that choose and columns that are not there are refused."""
    for change, message in [
        ({"mechanism": 3}, "mechanism must be one of LaplaceMechanism, .* got int"),
        ({"columns": "y"}, "columns must name columns that are there once"),
        ({"columns": "name"}, "columns must hold integers, float or double"),
        ({"columns": None}, "columns must be names of columns"),
        ({"ledger": 3}, "ledger must be a PrivacyLedger"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"^{message}"):
            dask.release(table(), tmp_path / "out", **{"columns": "x", "mechanism": LAPLACE, **change})
    ledger = PrivacyLedger(1)
    numbered = table().rename(columns={"name": 7})
    with pytest.raises(TypeError, match=r"^data must have columns whose names are text, to be written, got 7$"):
        dask.release(numbered, tmp_path / "out", columns="x", mechanism=LAPLACE, ledger=ledger)
    with pytest.raises(pa.ArrowException):
        dask.release(table().assign(z=1j), tmp_path / "out", columns="x", mechanism=LAPLACE, ledger=ledger)
    assert ledger.spent.epsilon == 0
    assert not list(tmp_path.iterdir())


# Statistics.

QUERIES = {
    "count of rows": ("private_count", (), {}),
    "count": ("private_count", ("x",), {"max_contributions": 2}),
    "sum": ("private_sum", ("x", -3, 200.5), {}),
    "sum of float": ("private_sum", ("f", 0, 100), {"neighbours": "replace"}),
    "sum of Arrow": ("private_sum", ("a", 0, 100), {}),
    "mean": ("private_mean", ("n", 0, 50), {}),
    "mean of n": ("private_mean", ("n", 0, 50), {"n": 1_600}),
    "edges": ("private_histogram", ("x",), {"edges": [0, 0.37, 100, math.inf]}),
    "categories": ("private_histogram", ("name",), {"categories": ["row 1", "row 1999", "row 2000"]}),
    "unknown": ("private_histogram", ("n",), {"delta": "1e-6"}),
}


@pytest.mark.parametrize(
    ("name", "person"), [*((name, person) for name in QUERIES for person in (None, "n")), ("sum", "name")]
)
@pytest.mark.filterwarnings("ignore::lapnoise.errors.SeededNoiseWarning")
def test_statistics_are_those_of_arrays(name, person):
    """From one generator the result is that of `queries` on the same rows, for any partitioning."""
    query, arguments, options = QUERIES[name]
    options = {"epsilon": 1, "max_contributions": 7 if person else 1, **options}
    frame = given()
    ids = None if person is None else pa.array(frame[person])
    values = pa.array(frame[arguments[0]], from_pandas=False) if arguments else np.ones(ROWS)
    expected = getattr(queries, query)(values, *arguments[1:], rng=default_rng(5), person=ids, **options)
    for partitions in (1, 13) if person is None else (4,):
        found = getattr(dask, query)(table(partitions), *arguments, rng=default_rng(5), person=person, **options)
        assert type(found) is type(expected)
        assert np.array_equal(found.value, expected.value) if name == "edges" else found.value == expected.value
        assert repr(found) == repr(expected)


def test_statistics_are_charged_first():
    """A query charges once; from the operating system's randomness two answers differ; a seed warns by its line."""
    ledger = PrivacyLedger(1)
    frame = table(rows=100)
    one = dask.private_sum(frame, "f", 0, 10, epsilon="0.25", ledger=ledger, label="a sum")
    two = dask.private_sum(frame, "f", 0, 10, epsilon="0.25", ledger=ledger)

    assert one.value != two.value
    assert [(entry.label, float(entry.epsilon)) for entry in ledger.entries()] == [
        ("a sum", 0.25),
        ("private_sum", 0.25),
    ]
    with pytest.warns(SeededNoiseWarning) as caught:
        dask.private_count(frame, epsilon=1, rng=default_rng(1))
    assert caught[0].filename == __file__


def test_columns_of_objects():
    """Objects that are text are counted as such, others only where they are not missing."""
    frame = given(50)
    frame["text"] = pd.Series(["a" if i % 2 else None for i in range(50)], index=frame.index, dtype=object)
    frame["others"] = [[i] if i % 5 else None for i in range(50)]
    with config.set({"dataframe.convert-string": False}):
        lazy = dataframe.from_pandas(frame, npartitions=3)
    # Each is off by more than one for a chance of exp(-80).
    assert abs(dask.private_histogram(lazy, "text", epsilon=40, categories=["a"]).value["a"] - 25) <= 1
    assert abs(dask.private_count(lazy, "others", epsilon=40).value - 40) <= 1
    assert abs(dask.private_count(lazy[lazy.id < 0], epsilon=40).value) <= 1
    with pytest.raises(TypeError, match=r"^column must hold numbers, .* got column 'others' of type object$") as caught:
        dask.private_histogram(lazy, "others", epsilon=1, delta="1e-6")
    assert caught.value.__context__ is None


def test_bad_queries():
    """Columns that hold no numbers and ids that name nobody exactly are refused."""
    frame = table(rows=10).rename(columns={"f": "g"})
    with pytest.raises(TypeError, match=r"^column must hold numbers, got column 'name' of type str"):
        dask.private_sum(frame, "name", 0, 1, epsilon=1)
    with pytest.raises(ValueError, match=r"^column must name columns that are there once, got 'f'"):
        dask.private_mean(frame, "f", 0, 1, epsilon=1)
    with pytest.raises(TypeError, match=r"^person must be a column of integers or text, got column 'x' of type float"):
        dask.private_count(frame, epsilon=1, person="x")
    with pytest.raises(TypeError, match=r"^values must be the rows to count, got dtype bool"):
        dask.private_count(frame.assign(big=frame.id > 3), "big", epsilon=1)
    with pytest.raises(ValueError, match=r"^edges, categories or delta"):
        dask.private_histogram(frame, "n", epsilon=1)
    with pytest.raises(TypeError, match=r"^data must be a dask.dataframe.DataFrame"):
        dask.private_count(array.ones(3), epsilon=1)


# On a cluster, whose client is the default from here on.


@pytest.fixture(scope="module")
def client():
    """Start two workers for the tests that follow."""
    with dask_cluster.started() as found:
        yield found


def test_workers_give_the_same(client, wanted):
    """Processes give the same bytes, kept and computed twice; repeated keys and null ones are found there."""
    frame = noisy(table(13))
    kept = frame.persist()
    assert told(kept) == told(frame) == wanted
    del kept
    assert told(frame) == wanted
    with pytest.raises(ValueError, match=r"^key_columns must tell every row .* but several rows share one key"):
        noisy(table(), key_columns="whole", columns=["x"])


def test_a_failed_attempt_leaves_no_trace(client, wanted, tmp_path):
    """Every task fails once after its rows were noised; the second attempt makes the same."""
    failing = noisy(table()).map_partitions(dask_cluster.fail_once, tmp_path, meta=given(0))
    found = client.compute(failing, retries=1).result()
    assert len(list(tmp_path.iterdir())) == 4
    assert [row[:3] for row in told(found)] == [row[:3] for row in wanted]
    assert told(found) == wanted


def test_a_killed_worker_leaves_no_trace(client, wanted, tmp_path):
    """A worker is killed while it holds noisy partitions that were kept: what is made anew is the same."""
    kept = noisy(table(8)).persist()
    assert told(kept) == wanted
    found = told(kept.map_partitions(dask_cluster.kill_worker_once, tmp_path, meta=kept._meta))
    assert (tmp_path / "killed").exists()
    assert found == wanted


def test_a_worker_killed_in_a_release(client, tmp_path):
    """Partitions that were written are written again elsewhere: every row is there once, from one attempt."""
    ledger = PrivacyLedger(1)
    marks = tmp_path / "marks"
    marks.mkdir()
    frame = table(8).map_partitions(dask_cluster.kill_worker_once, marks, meta=given(0))
    found = dask.release(frame, tmp_path / "out", columns="x", mechanism=LAPLACE, ledger=ledger)

    assert (marks / "killed").exists()
    assert len(list(marks.glob("call *"))) > 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["marks", "out"]
    assert len(list((tmp_path / "out").iterdir())) == 8
    assert [row[1] for row in told(found)] == list(range(ROWS))
    assert told(found) == told(found)
    assert ledger.spent.epsilon == 1


def test_an_array_on_workers(client, tmp_path):
    """So do arrays; a release is drawn once there too."""
    numbers = array.arange(1_000, chunks=70) * 0.5
    found = dask.add_noise(numbers, mechanism=LAPLACE, release_id=ID, secret=SECRET)
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("index", np.arange(1_000))])
    expected = release.column(LAPLACE, "value").add_noise(np.arange(1_000) * 0.5, identities)
    assert found.persist().compute().tobytes() == found.compute().tobytes() == expected.tobytes()
    written = dask.release(numbers, tmp_path / "out", mechanism=LAPLACE)
    assert written.compute().tobytes() == written.compute().tobytes()
    assert abs(dask.private_sum(table(rows=100), "f", 0, 30, epsilon=40, person="id").value - 1237.5) < 60
