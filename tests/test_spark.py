"""Noise and statistics on two executors: the same bytes whatever Spark does, or drawn and written once."""

import concurrent.futures
import math
import os
import pickle
import sys
import textwrap
from pathlib import Path

import fresh_process
import numpy as np
import pytest
import spark_cluster
from spark_cluster import told

from lapnoise import (
    BoundedLaplaceMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    OutputError,
    PrivacyLedger,
    RequestRefusedError,
    SeededNoiseWarning,
    TruncatedLaplaceMechanism,
    _check,
    default_rng,
    queries,
    spark,
)
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import keyed_batches
from lapnoise._row_keys import from_numpy
from lapnoise.spark._place import Place

pytestmark = spark_cluster.java

SECRET = bytes(range(7, 47))
ID = "2024-q1"
ROWS = 2_000
LAPLACE = LaplaceMechanism(epsilon=1, sensitivity=10, changed=3)
DISCRETE = DiscreteLaplaceMechanism(epsilon=1, sensitivity=10)


@pytest.fixture(scope="module")
def session():
    """Start a cluster for all tests of this module."""
    found = spark_cluster.session()
    yield found
    found.stop()


def table(session, rows=ROWS, partitions=3, first=0):
    """Return a frame of a key, a text, and numbers of several types of which some are missing."""
    return session.range(first, first + rows, 1, partitions).selectExpr(
        "id",
        "concat('row ', id) as name",
        "case when id % 7 = 0 then null when id % 11 = 0 then double('nan') else id * 0.37D end as x",
        "case when id % 5 = 0 then null else cast(id % 50 as int) end as n",
        "cast(id * 0.25D as float) as f",
        "array(id) as others",
    )


def noisy(frame, columns=("x", "n", "f"), **changes):
    """Return a frame with keyed noise."""
    options = {"mechanism": LAPLACE, "release_id": ID, "key_columns": "id", "secret": SECRET, **changes}
    return spark.add_noise(frame, list(columns), **options)


def expected(rows=ROWS, first=0, mechanism=LAPLACE):
    """Return what noise on `table` is, made from arrays, without Spark and Arrow."""
    ids = np.arange(first, first + rows)
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("id", ids)])
    x, gone = ids * 0.37, ids % 7 == 0
    x[ids % 11 == 0] = math.nan
    n, lost = ids % 50, ids % 5 == 0
    columns = {"x": (x, gone), "n": (n, lost), "f": ((ids * 0.25).astype(np.float32), None)}
    found = {
        name: release.column(mechanism, name).add_noise(values, identities, mask).tolist()
        for name, (values, mask) in columns.items()
    }
    return [
        (
            *(int(i), f"row {i}"),
            *(None if gone[k] else found["x"][k].hex(), None if lost[k] else found["n"][k].hex(), found["f"][k].hex()),
            [int(i)],
        )
        for k, i in enumerate(ids)
    ]


@pytest.fixture(scope="module")
def wanted():
    """Return what noise on the table is."""
    return expected()


# Keyed noise: the same bytes.


def test_tasks_run_the_python_of_the_driver(session):
    """Not whatever is first on the path: what tasks need is installed for this one."""
    assert session.sparkContext.pythonExec == sys.executable
    ran = session.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert [Path(python).resolve() for python in ran] == [Path(sys.executable).resolve()]


def test_a_frame_has_the_noise_of_arrays(session, wanted):
    """Types, nulls, NaN and other columns are kept, and every number has the bits that arrays get without Spark."""
    frame = table(session)
    found = noisy(frame)
    types = {field.name: (field.dataType.simpleString(), field.nullable) for field in found.schema}

    assert types == {
        "id": ("bigint", False),
        "name": ("string", False),
        "x": ("double", True),
        "n": ("double", True),
        "f": ("float", False),
        "others": ("array<bigint>", False),
    }
    assert told(found) == wanted


@pytest.mark.parametrize("partitions", [1, 4, 13, 200])
def test_partitions_do_not_matter(session, wanted, partitions):
    """Any number of partitions gives the same bytes."""
    frame = noisy(table(session, partitions=partitions), assume_unique=True)
    assert frame.rdd.getNumPartitions() == partitions
    assert told(frame) == wanted


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_batches_do_not_matter(session, wanted, size):
    """Any number of rows in an Arrow batch gives the same bytes."""
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(setting)
    session.conf.set(setting, size)
    try:
        frame = table(session)
        lengths = [row.n for row in frame.mapInArrow(spark_cluster.batch_lengths, "n long").collect()]
        found = told(noisy(frame, assume_unique=True))
    finally:
        session.conf.set(setting, before)
    assert max(lengths) == min(size, 667)
    assert found == wanted


def test_actions_agree(session, wanted):
    """Two actions on one lazy frame, and rows that were chosen by their noisy value, show the same numbers."""
    frame = noisy(table(session))
    above = told(frame.where("x > 300"))

    assert told(frame) == told(frame) == wanted
    # In Spark NaN is more than any number.
    assert above == [row for row in wanted if row[2] is not None and not float.fromhex(row[2]) <= 300]
    assert 1_000 < len(above) < ROWS


def test_shuffled_rows_keep_their_noise(session, wanted):
    """Rows in another order, moved to other partitions before and after the noise, keep it."""
    shuffled = table(session).repartition(5, "n").orderBy("f", ascending=False)
    assert told(noisy(shuffled).repartition(7)) == wanted


def test_a_union_is_the_whole(session, wanted):
    """Noise on two frames, put together, is that on the two put together; rows that are in both are refused."""
    one, other = table(session, rows=1_200), table(session, rows=ROWS - 1_200, first=1_200)

    assert told(noisy(one).union(noisy(other))) == wanted
    assert told(noisy(one.union(other))) == wanted
    with pytest.raises(ValueError, match=r"^key_columns must tell every row .* but several rows share one key"):
        noisy(one.union(one))


def test_a_failed_attempt_leaves_no_trace(session, wanted, tmp_path):
    """Every task fails once after all of its rows were noised; the second attempt makes the same."""
    frame = noisy(table(session, partitions=2))
    found = told(frame.mapInArrow(spark_cluster.fail_once(tmp_path), frame.schema))

    assert len(list(tmp_path.iterdir())) == 2
    assert found == wanted


def test_a_killed_executor_leaves_no_trace(session, wanted, tmp_path):
    """An executor is killed while it reads noisy rows that were kept and shuffled, and so lost with it."""
    frame = noisy(table(session, partitions=4)).persist()
    assert told(frame) == wanted
    moved = frame.repartition(4, "id")
    found = told(moved.mapInArrow(spark_cluster.kill_executor_once(tmp_path), moved.schema))
    frame.unpersist()

    assert (tmp_path / "killed").exists()
    assert found == wanted


SPECULATION = """
import sys
import spark_cluster
import test_spark
from pyspark.sql import SparkSession

folder, written = sys.argv[1:]
with spark_cluster.separate_hosts() as master:
    options = {
        **spark_cluster.OPTIONS,
        "spark.pyspark.python": sys.executable,
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "50ms",
    }
    builder = SparkSession.builder.master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.pythonExec = sys.executable
    frame = test_spark.table(session, partitions=4)
    slow = frame.mapInArrow(spark_cluster.linger_once(folder, 30), frame.schema)
    keyed = spark_cluster.told(test_spark.noisy(slow, assume_unique=True))
    (spark_cluster.Path(folder) / "lingered").unlink()
    mechanism = test_spark.LAPLACE
    released = test_spark.spark.release(slow, written, columns="x", mechanism=mechanism)
    ids = [row.id for row in released.select("id").collect()]
    session.stop()
print(keyed == test_spark.expected(), sorted(ids) == list(range(test_spark.ROWS)))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux answers under every address 127.0.0.x")
def test_speculation_leaves_no_trace(tmp_path):
    """A task takes long, so that Spark runs it again elsewhere: keyed noise is the same, drawn noise there once."""
    marks = tmp_path / "marks"
    marks.mkdir()
    path = os.pathsep.join([str(fresh_process.SOURCE), str(spark_cluster.HERE)])
    printed = fresh_process.run(SPECULATION, marks, tmp_path / "out", PYTHONPATH=path, timeout=120)

    assert (marks / "attempt 0 1").exists(), "no second attempt was made"
    assert printed.splitlines()[-1] == "True True"


def test_changed_data_under_one_id(session, wanted):
    """Cells whose value changed have another noise; the others repeat, and so do those of the row's other columns."""
    changed = table(session).selectExpr(
        "id", "name", "case when id = 1234 then x + 5 else x end as x", "n", "f", "others"
    )
    found = told(noisy(changed))
    differing = [i for i in range(ROWS) if found[i] != wanted[i]]
    shift = float.fromhex(found[1234][2]) - float.fromhex(wanted[1234][2])

    assert differing == [1234]
    assert [a == b for a, b in zip(found[1234], wanted[1234], strict=True)] == [True, True, False, True, True, True]
    assert shift != 5


def test_columns_have_noise_of_their_own(session):
    """Two columns of equal values get different noise, and neither depends on which others are noised."""
    frame = session.range(500).selectExpr("id", "id * 0.5D as a", "id * 0.5D as b", "id * 0.5D as c")
    both = told(noisy(frame, ["a", "b"]).select("id", "a", "b"))
    alone = told(noisy(frame, ["b"]).select("id", "b"))

    assert sum(a == b for _, a, b in both) == 0
    assert [(i, b) for i, _, b in both] == alone
    assert len({float.fromhex(a) - i * 0.5 for i, a, _ in both}) == 500


def test_the_order_of_key_columns_does_not_matter(session):
    """Keys of two columns are taken by name; other columns make other keys."""
    frame = table(session, rows=300)
    one = told(noisy(frame, key_columns=["id", "name"]))

    assert told(noisy(frame, key_columns=("name", "id"))) == one
    assert told(noisy(frame, key_columns="name")) != one


def test_integers_with_discrete_noise(session):
    """Integers of every width become long, exactly; keys of every type that is taken have a place."""
    frame = session.range(300).selectExpr(
        "id",
        *("cast(id % 100 as byte) as a", "cast(id as short) as b", "cast(id as int) as c"),
        "9007199254740993 + id as d",
        *("id % 2 = 0 as flag", "date_add(date'2000-01-01', cast(id as int)) as day"),
        *("timestamp_micros(id * 1000001) as moment", "timestamp_ntz'2000-01-01 00:00:00.5' as zoneless"),
        "cast(cast(id as string) as binary) as bytes",
    )
    keys = ["id", "flag", "day", "moment", "zoneless", "bytes"]
    found = noisy(frame, "abcd", mechanism=DISCRETE, key_columns=keys)
    ids = np.arange(300)
    release = KeyedRelease(SECRET, ID)
    start, second = np.datetime64("2000-01-01", "D"), 1_000_001
    columns = {
        "bytes": [str(i).encode() for i in ids],
        "day": start + ids,
        "flag": ids % 2 == 0,
        "id": ids,
        "moment": (ids * second).astype("datetime64[us]"),
        "zoneless": np.full(300, np.datetime64("2000-01-01T00:00:00.5", "us")),
    }
    identities = release.identities([from_numpy(name, np.asarray(values)) for name, values in columns.items()])
    given = {"a": ids % 100, "b": ids, "c": ids, "d": 2**53 + 1 + ids}
    rows = found.orderBy("id").collect()

    assert {field.dataType.simpleString() for field in found.schema if field.name in given} == {"bigint"}
    for name, values in given.items():
        wanted = release.column(DISCRETE, name).add_noise(values, identities)
        assert [row[name] for row in rows] == wanted.tolist()


def test_names_that_mean_something_to_spark(session):
    """Dots, backticks, stars and a name that another column has but for its case are names like others."""
    frame = session.range(100).toDF("a.b").selectExpr("`a.b`", "`a.b` * 0.5D as `*`", "1 as X", "2 as x")
    found = spark.add_noise(frame, "*", mechanism=LAPLACE, release_id=ID, key_columns=["a.b", "X"], secret=SECRET)
    assert found.columns == ["a.b", "*", "X", "x"]
    assert len({row[1] - row[0] * 0.5 for row in found.collect()}) == 100


def test_what_is_shipped_holds_no_secret(session):
    """A task has the keys of rows and columns, and neither the secret nor what they are derived from."""
    release = KeyedRelease(SECRET, ID)
    batches = keyed_batches(release, LAPLACE, ["x"], ["id"])
    from pyspark import cloudpickle

    shipped = cloudpickle.dumps(batches.run)
    assert batches.rows._key in shipped
    assert SECRET not in shipped
    assert release._key not in shipped
    assert batches.rows._key.hex() not in repr(batches)
    assert pickle.loads(shipped).__self__.names == ("x",)


def test_no_job_runs_where_keys_are_trusted(session):
    """With ``assume_unique`` the call computes nothing; a key that is missing then fails with its row."""
    broken = table(session, rows=50).selectExpr("x", "nullif(id, 7) as id")
    tracker = session.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    lazy = noisy(broken, ["x"], assume_unique=True)

    assert len(tracker.getJobIdsForGroup(None)) == before
    with pytest.raises(Exception, match="key column 'id' must not have missing entries, got one in row"):
        lazy.collect()


def test_an_infinite_value_fails_by_name(session):
    """An infinity names its column and not its neighbours, and nothing is released."""
    frame = session.range(10).selectExpr("id", "id / 2 as good", "double('infinity') as bad")
    with pytest.raises(Exception, match=r"column 'bad': values\[0\] must be finite or NaN, got an infinity"):
        noisy(frame, ["good", "bad"]).collect()


# The ledger.


def test_a_release_id_is_charged_once(session, tmp_path):
    """The same release costs nothing more, from another opening of the ledger either; another one is refused."""
    ledger = PrivacyLedger(3, path=tmp_path / "budget.db")
    frame = table(session, rows=50)
    one = noisy(frame, ledger=ledger)
    other = noisy(frame, ["f", "n", "x"], ledger=PrivacyLedger.open(tmp_path / "budget.db"))

    assert told(one) == told(other)
    assert ledger.spent.epsilon == 1
    (entry,) = ledger.entries()
    assert (entry.state, entry.request_id, entry.label, entry.private) == ("released", ID, ID, True)
    assert SECRET.hex() not in str(entry)
    changes = {
        "data_version": {"data_version": "2"},
        "columns": {"columns": ["x"]},
        "key_columns": {"key_columns": ["id", "name"]},
        "secret_check": {"secret": SECRET + b"x"},
        "label": {"label": "another"},
        "parameters": {"mechanism": LaplaceMechanism(epsilon=1, sensitivity=11, changed=3)},
        "parameters, cost": {"mechanism": LaplaceMechanism(epsilon=2, sensitivity=10, changed=3)},
    }
    for told_apart, change in changes.items():
        message = rf"^release_id '2024-q1' was charged before .* as entry 1, which differs in {told_apart}$"
        with pytest.raises(RequestRefusedError, match=message):
            noisy(frame, ledger=ledger, **{"assume_unique": True, **change})
    assert ledger.spent.epsilon == 1
    noisy(frame, ledger=ledger, release_id="2024-q2", assume_unique=True)
    assert ledger.spent.epsilon == 2
    assert ledger.verify().ok


def test_a_cast_is_another_release(session):
    """The ledger refuses keys and values of another kind, and pairs for a frame; another width is the same noise."""
    ledger = PrivacyLedger(1)
    frame = session.range(20).selectExpr("id", "cast(id as double) as value")
    trusted = {"columns": ["value"], "ledger": ledger, "assume_unique": True}
    noisy(frame, **trusted)
    noisy(frame.selectExpr("cast(id as int) as id", "value"), **trusted)
    for expressions, message in [
        (["cast(id as string) as id", "value"], "key_columns"),
        (["date_add(date'1970-01-01', cast(id as int)) as id", "value"], "key_columns"),
        (["id", "cast(value as float) as value"], "columns"),
        (["id", "cast(value as int) as value"], "columns"),
    ]:
        with pytest.raises(RequestRefusedError, match=rf"as entry 1, which differs in {message}$"):
            noisy(frame.selectExpr(*expressions), **trusted)

    def paired(pairs, **changes):
        options = {"mechanism": LAPLACE, "release_id": "pairs", "secret": SECRET, "ledger": PrivacyLedger(1), **changes}
        return spark.parallel_noise(session.sparkContext.parallelize(pairs, 2), **options)

    with pytest.raises(RequestRefusedError, match=r"as entry 1, which differs in columns, inputs, key_columns$"):
        paired([(1, 1.0)], release_id=ID, ledger=ledger)
    ledger = PrivacyLedger(1)
    paired([(1, 1.0), (2, 2.0)], ledger=ledger)
    paired([(3, 1.0)], ledger=ledger)
    for key in ("1", (1, 0), b"1"):
        with pytest.raises(RequestRefusedError, match=r"differs in key_columns$"):
            paired([(key, 1.0)], ledger=ledger)
    with pytest.raises(RequestRefusedError, match=r"differs in key_columns$"):
        paired([(1, 1.0), ("1", 1.0)], ledger=ledger)
    assert ledger.spent.epsilon == 1


def test_nothing_is_charged_for_what_is_refused(session):
    """Bad arguments and repeated keys are refused before the charge."""
    ledger = PrivacyLedger(1)
    frame = table(session, rows=50)
    for change in ({"key_columns": "n"}, {"secret": b"short"}, {"columns": ["name"]}):
        with pytest.raises((TypeError, ValueError)):
            noisy(frame, ledger=ledger, **change)
    assert ledger.spent.epsilon == 0


# What is refused.

BAD = {
    "columns must name columns that are there once, got 'y': there is none": {"columns": ["y"]},
    "columns must name at least one column": {"columns": []},
    "columns must name each column once, got 'x' twice": {"columns": ["x", "x"]},
    "columns must hold integers, float or double, got column 'name' of type string": {"columns": ["name"]},
    "columns must hold integers, float or double, got column 'others' of type array<bigint>": {"columns": ["others"]},
    "columns must hold integers, float or double, got column 'flag' of type boolean": {"columns": ["flag"]},
    r"columns must hold integers, float or double, got column 'money' of type decimal\(10,2\)": {"columns": ["money"]},
    "columns must hold integers, for discrete noise, got column 'f' of type float": {
        "columns": ["f"],
        "mechanism": DISCRETE,
    },
    "columns must be names of columns": {"columns": [3]},
    "key_columns must name columns that are there once, got 'y'": {"key_columns": ["y"]},
    "key_columns must name at least one": {"key_columns": []},
    "key_columns must not be noised, got 'x' in columns too": {"key_columns": ["id", "x"]},
    "key column 'f' must be integers, bool, dates, times, text or binary, got Arrow type float": {
        "columns": ["x"],
        "key_columns": ["f"],
    },
    "key column 'others' must be integers, bool, dates, .* got type array": {"key_columns": ["others"]},
    "key column 'money' must be integers, bool, dates, .* got Arrow type decimal": {"key_columns": ["money"]},
    "key column 'maybe' must not have missing entries, got at least one": {"key_columns": ["id", "maybe"]},
    r"key_columns must tell every row from all others, got \['flag'\], but several rows share one key": {
        "key_columns": ["flag"]
    },
    "secret must have at least 32 bytes, got 31": {"secret": bytes(31)},
    "secret must be bytes, got str": {"secret": "x" * 40},
    "release_id must not be empty": {"release_id": ""},
    "release_id must be a str, got 7": {"release_id": 7},
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
def test_bad_input(session, message):
    """Each is refused at the call, by name."""
    frame = table(session, rows=50).selectExpr(
        *("*", "id % 2 = 0 as flag", "cast(id as decimal(10, 2)) as money", "nullif(name, 'row 7') as maybe")
    )
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        noisy(frame, **BAD[message])


def test_keys_that_spark_gives_out(session):
    """Keys that are made anew each time are refused, without a job; a random column that is no key is not."""
    frame = table(session, rows=50).selectExpr(
        "*", "uuid() as own", "monotonically_increasing_id() as i", "rand() as r"
    )
    for key in ("own", "i", "r > 2"):
        with pytest.raises(ValueError, match=r"^key_columns and columns must be the same each time .* got"):
            noisy(frame.withColumn("r > 2", frame.r > 2), ["x"], key_columns=["id", key], assume_unique=True)
    plain = noisy(frame, ["x"], assume_unique=True)
    assert [row[2] for row in told(plain)] == [row[2] for row in expected(50)]


def test_values_that_spark_draws(session):
    """A noised column that is random is refused like a key, behind a cache too; one that stays beside is not."""
    frame = table(session, rows=50).selectExpr("id", "x", "uuid() as own", "x + rand() as moving")
    cached = frame.cache()
    assert cached.count() == 50
    try:
        for given in (frame, cached):
            for columns, key in ((["moving"], "id"), (["x"], "own")):
                with pytest.raises(ValueError, match=r"^key_columns and columns must be the same each time .* got"):
                    noisy(given, columns, key_columns=key, assume_unique=True, assume_repeatable=True)
        assert noisy(cached, ["x"]).count() == 50
    finally:
        cached.unpersist()


ORDERED = {
    "Sum of double": "select id, sum(x) as x from numbers group by id",
    "Average of double": "select id, avg(n) as x from numbers group by id",
    "StddevSamp": "select id, stddev(x) as x from numbers group by id",
    "First": "select id, first(x) as x from numbers group by id",
    "MaxBy": "select id, max_by(x, n) as x from numbers group by id",
    "CollectList": "select id, cast(size(collect_list(x)) as double) as x from numbers group by id",
    "Window": "select row_number() over (order by n) as id, x from numbers",
    "GlobalLimit, LocalLimit": "select id, x from numbers limit 5",
    "Offset": "select id, x from numbers offset 5",
    "Sample": "select id, x from numbers tablesample (50 percent) repeatable (7)",
}


@pytest.mark.parametrize("found", [*ORDERED, "of a subquery", "behind a cache", "FlatMapGroupsInArrow"])
def test_values_that_depend_on_order(session, found):
    """What the order of rows may change is refused by its name, unless the caller knows better."""
    table(session, rows=50).createOrReplaceTempView("numbers")
    told_apart = found
    if found == "of a subquery":
        told_apart = "Sum of double"
        frame = session.sql("select id, x + (select sum(x) from numbers) as x from numbers")
    elif found == "behind a cache":
        frame, told_apart = session.sql(ORDERED["First"]).cache(), "First"
    elif found == "FlatMapGroupsInArrow":
        frame = session.table("numbers").select("id", "x").groupBy("id")
        frame = frame.applyInArrow(lambda group: group, "id long, x double")
    else:
        frame = session.sql(ORDERED[found])
    message = rf"^key_columns and columns must be identical .*, got \['id', 'x'\], whose plan has {told_apart}, which"
    with pytest.raises(ValueError, match=message):
        noisy(frame, ["x"], assume_unique=True)
    trusted = noisy(frame, ["x"], assume_unique=True, assume_repeatable=True)
    assert trusted.columns == ["id", "x"]
    frame.unpersist()


def test_values_that_do_not_depend_on_order(session):
    """Sums of integers and decimals, counts, extremes and medians are taken, and what is ordered beside them."""
    table(session, rows=50).createOrReplaceTempView("numbers")
    exact = "sum(n) as s, cast(sum(cast(f as decimal(10, 2))) as double) as d, count(*) as c, max(f) as m"
    exact = f"{exact}, median(n) as e, first(x) as beside"
    frame = session.sql(f"select id % 5 as id, {exact} from numbers group by id % 5")
    assert noisy(frame, ["s", "d", "c", "m", "e"]).count() == 5
    with pytest.raises(TypeError, match=r"^assume_repeatable must be"):
        noisy(frame, ["s"], assume_repeatable=1)


def test_what_is_no_frame(session):
    """Pandas frames, RDDs and streams are refused."""
    for value in ([1], session.range(3).rdd):
        with pytest.raises(TypeError, match=r"^df must be a pyspark.sql.DataFrame, got"):
            noisy(value)
    with pytest.raises(ValueError, match=r"^df must not be a stream"):
        noisy(session.readStream.format("rate").load(), ["value"], key_columns="timestamp")


def test_missing_packages_and_java(tmp_path):
    """Without pyspark, and without Java, one message says what to install."""
    script = """
    import sys
    {before}
    from lapnoise import spark
    try:
        spark.local_session()
    except {error} as error:
        print(error)
    """
    without = textwrap.dedent(script).format(before="sys.modules['pyspark'] = None", error="ImportError")
    assert "pip install 'lapnoise[spark]'" in fresh_process.run(without)
    plain = textwrap.dedent(script).format(before="", error="RuntimeError")
    printed = fresh_process.run(plain, PATH=tmp_path, JAVA_HOME=None)
    assert printed.startswith("Spark runs on Java, which was not found: there is no java on the PATH and JAVA_HOME")
    assert "openjdk-17-jre-headless" in printed
    printed = fresh_process.run(plain, JAVA_HOME=tmp_path)
    assert f"JAVA_HOME is '{tmp_path}', where there is no bin/java" in printed
    with pytest.raises(ValueError, match=r"^master must be 'local"):
        spark.local_session("yarn")


# Drawn once, written once.


def test_a_release_is_written_once(session, tmp_path):
    """What comes back is what was written, read twice; a null, NaN and other columns stay; another draw differs."""
    ledger = PrivacyLedger(2)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    frame = table(session)
    found = spark.release(frame, tmp_path / "out", columns=["x", "n", "f"], mechanism=mechanism, ledger=ledger)
    again = spark.release(frame, tmp_path / "more", columns=["x", "n", "f"], mechanism=mechanism, ledger=ledger)
    one, two = told(found), told(again)
    given = told(frame)

    assert told(session.read.parquet(str(tmp_path / "out"))) == told(found) == one
    assert {field.name: field.dataType.simpleString() for field in found.schema}["f"] == "float"
    for k in (0, 1, 5):
        assert [row[k] for row in one] == [row[k] for row in given]
    for k in (2, 3, 4):
        assert [row[k] is None for row in one] == [row[k] is None for row in given]
        assert [row[k] == "nan" for row in one] == [row[k] == "nan" for row in given]
    noise = [
        float.fromhex(a[2]) - float.fromhex(b[2]) for a, b in zip(one, given, strict=True) if b[2] and a[2] != "nan"
    ]
    assert len(set(noise)) == len(noise) > 1_500  # a seed that two tasks or batches shared would repeat
    # P(the mean magnitude of 1,500 draws is off by a quarter) < 1e-9, by Chernoff's bound.
    assert 7.5 < np.abs(noise).mean() < 12.5
    assert sum(a[2] == b[2] for a, b in zip(one, two, strict=True) if a[2] not in (None, "nan")) == 0
    assert [(entry.label, entry.state) for entry in ledger.entries()] == [("spark.release", "released")] * 2


def test_attempts_that_fail_are_not_seen(session, tmp_path):
    """Each task fails once after its rows were noised and handed to the writer: every row is there once."""
    ledger = PrivacyLedger(1)
    frame = table(session, partitions=2)
    marks = tmp_path / "marks"
    marks.mkdir()
    failing = frame.mapInArrow(spark_cluster.fail_once(marks), frame.schema)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10, changed=1)
    found = spark.release(failing, tmp_path / "out", columns="x", mechanism=mechanism, ledger=ledger, format="orc")

    assert len(list(marks.iterdir())) == 2
    assert [row.id for row in found.select("id").orderBy("id").collect()] == list(range(ROWS))
    assert ledger.spent.epsilon == 1


@pytest.mark.parametrize(
    ("mechanism", "column", "kind"),
    [
        (DISCRETE, "n", "bigint"),
        (GaussianMechanism(epsilon=1, delta="1e-6", sensitivity=1), "n", "double"),
        (TruncatedLaplaceMechanism(epsilon=1, delta="1e-6", sensitivity=1), "f", "float"),
        (BoundedLaplaceMechanism(epsilon=1, sensitivity=1, low=0, high=10), "x", "double"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "epsilon") else None,
)
def test_mechanisms_of_a_release(session, tmp_path, mechanism, column, kind):
    """Each mechanism on columns gives its type."""
    found = spark.release(table(session, rows=40, partitions=1), tmp_path / "out", columns=column, mechanism=mechanism)
    assert dict(found.dtypes)[column] == kind
    assert found.count() == 40


def test_a_path_that_exists(session, tmp_path):
    """It is refused before the charge, and what lies there stays."""
    ledger = PrivacyLedger(1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").touch()
    with pytest.raises(ValueError, match=r"^path must not exist yet, got"):
        spark.release(table(session), tmp_path / "out", columns="x", mechanism=LAPLACE, ledger=ledger)
    assert (tmp_path / "out" / "kept").exists()
    assert ledger.spent.epsilon == 0


@pytest.mark.parametrize("mechanism", [LAPLACE, LaplaceMechanism(epsilon=1, sensitivity=10)], ids=["bound", "free"])
def test_releases_to_one_path(session, tmp_path, mechanism):
    """Of three at once one is published, each row once; the others fail by name, and nothing of them stays."""
    ledger = PrivacyLedger(3)
    frame = session.range(40).selectExpr("id", "100D as x")

    def publish(_):
        try:
            return told(spark.release(frame, tmp_path / "out", columns="x", mechanism=mechanism, ledger=ledger))
        except (OutputError, ValueError) as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        found = list(pool.map(publish, range(3)))
    (published,) = [rows for rows in found if isinstance(rows, list)]
    errors = [error for error in found if isinstance(error, str)]

    assert [row[0] for row in published] == list(range(40))
    assert told(session.read.parquet(str(tmp_path / "out"))) == published
    assert len(errors) == 2
    assert all(error.startswith("path must not exist") for error in errors)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_path_that_is_taken_meanwhile(session, tmp_path):
    """What somebody else writes while the release is written stays, and the release does not."""
    ledger = PrivacyLedger(1)
    out = tmp_path / "out"
    frame = session.range(10).selectExpr("id", "100D as x")
    taken = frame.mapInArrow(spark_cluster.take(out), frame.schema)
    with pytest.raises(OutputError, match=r"^path must not exist when a release is published, got") as caught:
        spark.release(taken, out, columns="x", mechanism=LAPLACE, ledger=ledger)
    assert "as entry 1 of the ledger, and stays so" in caught.value.__notes__[0]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in out.iterdir()] == ["kept"]


def test_moving_to_a_place(session, tmp_path, monkeypatch):
    """A folder moves to where nothing is, through Hadoop too, and never over or into what appeared in between."""
    for scheme in ("file", "other"):
        folder = tmp_path / scheme
        place = Place(session, folder / "out")
        monkeypatch.setattr(place, "_local", lambda scheme=scheme: scheme == "file")
        with place.attempt() as beside:
            Path(beside.removeprefix("file:")).mkdir(parents=True)
            (Path(beside.removeprefix("file:")) / "part").touch()
        assert [path.name for path in folder.rglob("*")] == ["out", "part"]
        late = Place(session, folder / "late")
        monkeypatch.setattr(late, "_local", lambda scheme=scheme: scheme == "file")
        attempt = late.attempt()
        Path(attempt.__enter__().removeprefix("file:")).mkdir()
        (folder / "late").mkdir()
        (folder / "late" / "kept").touch()
        monkeypatch.setattr(late, "_there", lambda: False)
        with pytest.raises(OutputError, match="somebody else"):
            attempt.__exit__(None, None, None)
        assert sorted(path.name for path in folder.rglob("*")) == ["kept", "late", "out", "part"]


def test_a_release_that_is_interrupted(session, tmp_path, monkeypatch):
    """An interrupt after the files were written leaves none of them."""
    given = _check.rows_written

    def interrupted(*arguments):
        given(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(_check, "rows_written", interrupted)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    with pytest.raises(KeyboardInterrupt):
        spark.release(table(session, rows=10), tmp_path / "out", columns="x", mechanism=mechanism)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_come_and_go(session, tmp_path):
    """A frame with more rows when it is written than when they were counted is refused, and nothing stays."""
    ledger = PrivacyLedger(1)
    marks = tmp_path / "marks"
    marks.mkdir()
    frame = table(session, rows=100, partitions=1)
    moving = frame.mapInArrow(spark_cluster.another_row_later(marks), frame.schema)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=10)
    with pytest.raises(ValueError, match=r"^the frame must have the same rows each time .* got 100 rows and then 200"):
        spark.release(moving, tmp_path / "out", columns="x", mechanism=mechanism, ledger=ledger)
    assert not (tmp_path / "out").exists()
    assert [entry.state for entry in ledger.entries()] == ["reserved"]


def test_a_release_that_fails_leaves_nothing(session, tmp_path):
    """An infinite value ends the job; the charge stands and the error says so."""
    ledger = PrivacyLedger(1)
    frame = session.range(100).selectExpr("id", "if(id = 99, double('infinity'), 1.5D) as x")
    with pytest.raises(Exception, match="column 'x': values") as caught:
        spark.release(frame, tmp_path / "out", columns="x", mechanism=LAPLACE, ledger=ledger)
    assert "as entry 1 of the ledger, and stays so" in caught.value.__notes__[0]
    assert not (tmp_path / "out").exists()


def test_bad_releases(session, tmp_path):
    """Formats that lose types, mechanisms that choose and columns that are not there are refused."""
    frame = table(session, rows=10)
    for change, message in [
        ({"format": "csv"}, "format must be one of 'parquet', 'orc', got 'csv'"),
        ({"mechanism": 3}, "mechanism must be one of LaplaceMechanism, .* got int"),
        ({"columns": "y"}, "columns must name columns that are there once"),
        ({"columns": "name"}, "columns must hold integers, float or double"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            spark.release(frame, tmp_path / "out", **{"columns": "x", "mechanism": LAPLACE, **change})
    assert not (tmp_path / "out").exists()


# RDDs.


def test_pairs_have_the_noise_of_a_frame(session):
    """Keyed noise on pairs is that on a column ``value``, in any number of partitions; mixed types are told apart."""
    values = [2**60 + 129 if i % 3 == 0 else None if i % 5 == 0 else i * 0.5 for i in range(25_000)]
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("id", np.arange(25_000))])
    column = release.column(LAPLACE, "value")
    floats = np.array([math.nan if v is None or isinstance(v, int) else v for v in values])
    wanted = column.add_noise(floats, identities)
    whole = np.array([isinstance(v, int) for v in values])
    wanted[whole] = column.add_noise(np.full(whole.sum(), 2**60 + 129), np.ascontiguousarray(identities[whole]))
    for partitions in (1, 5):
        pairs = session.sparkContext.parallelize(list(enumerate(values)), partitions)
        found = spark.parallel_noise(pairs, mechanism=LAPLACE, release_id=ID, secret=SECRET).collect()
        assert [(i, v.hex()) for i, v in found] == [(i, v.hex()) for i, v in enumerate(wanted.tolist())]


def test_keys_of_pairs(session):
    """Text, bytes and tuples are keys; repeated ones, numbers that are no integers and mixtures are refused."""

    def noised(pairs, parts=2):
        rdd = session.sparkContext.parallelize(pairs, parts)
        return spark.parallel_noise(rdd, mechanism=DISCRETE, release_id=ID, secret=SECRET).collect()

    found = noised([(("a", 1), 5), (("a", 2), 5), (("b", 1), 5)])
    release = KeyedRelease(SECRET, ID)
    identities = release.identities([from_numpy("t", np.array(["a", "a", "b"])), from_numpy("i", np.array([1, 2, 1]))])
    assert [value for _, value in found] == release.column(DISCRETE, "value").add_noise([5, 5, 5], identities).tolist()
    with pytest.raises(ValueError, match=r"^key_columns must tell every row .* several rows share one key"):
        noised([("a", 1), ("b", 2), ("a", 3), ("a", 4)])
    for pairs, message in [
        ([(0.5, 1)], "must be integers, bool, dates"),
        ([(True, 1)], "must be integers, bool, dates"),
        ([(1, 1), (True, 1)], "must be integers, bool, dates"),
        ([(1, 1), ("1", 1)], "must be integers, bool, dates"),
        ([(None, 1)], "must not have missing entries"),
        ([3], "elements must be pairs"),
    ]:
        with pytest.raises(Exception, match=message):
            noised(pairs, parts=1)
    for pairs, message in [
        ([(1, None)], "elements must be integers for discrete noise, got a missing one"),
        ([(1, 0.5)], "values must be integers for discrete noise"),
        ([(1, "a")], "values must be real numbers"),
    ]:
        with pytest.raises(Exception, match=message):
            noised(pairs)


def test_numbers_are_written_once(session, tmp_path):
    """Noise on an RDD of numbers is read back as it was written, in order, and charged once."""
    ledger = PrivacyLedger(2)
    mechanism = LaplaceMechanism(epsilon=1, sensitivity=1)
    numbers = [0.0, 10**6, None, 2.5, True] * 5_000
    rdd = session.sparkContext.parallelize(numbers, 3)
    found = spark.parallel_noise(rdd, mechanism=mechanism, path=tmp_path / "out", ledger=ledger)
    values = found.collect()
    near = np.array([math.nan if v is None else float(v) for v in numbers])
    noise = np.array(values) - near

    assert [v.hex() for v in found.collect()] == [v.hex() for v in values]
    assert (np.isnan(noise) == np.isnan(near)).all()
    assert 0.9 < np.nanmean(np.abs(noise)) < 1.1  # twelve standard errors
    assert len(set(noise[::5])) == 5_000
    assert ledger.spent.epsilon == 1
    counts = spark.parallel_noise(
        session.sparkContext.parallelize(range(9), 2), mechanism=DISCRETE, path=tmp_path / "n"
    )
    assert [type(v) for v in counts.collect()] == [int] * 9
    with pytest.raises(ValueError, match=r"^path must not exist yet"):
        spark.parallel_noise(rdd, mechanism=mechanism, path=tmp_path / "out", ledger=ledger)
    for change in ({}, {"path": "x", "secret": SECRET}, {"secret": SECRET}, {"release_id": ID}):
        with pytest.raises(TypeError, match=r"^path must be given"):
            spark.parallel_noise(rdd, mechanism=mechanism, **change)
    with pytest.raises(TypeError, match=r"^rdd must be a pyspark.RDD, got list"):
        spark.parallel_noise([1], mechanism=mechanism, path="x")


# Statistics.

QUERIES = {
    "count of rows": ("private_count", (), {}),
    "count": ("private_count", ("x",), {"max_contributions": 2}),
    "sum": ("private_sum", ("x", -3, 200.5), {}),
    "sum, replace": ("private_sum", ("x", 3, 200.5), {"neighbours": "replace"}),
    "sum of float": ("private_sum", ("f", 0, 100), {}),
    "mean": ("private_mean", ("n", 0, 50), {}),
    "mean of n": ("private_mean", ("n", 0, 50), {"n": 1_600}),
    "edges": ("private_histogram", ("x",), {"edges": [0, 0.37, 100, math.inf]}),
    "categories": ("private_histogram", ("name",), {"categories": ["row 1", "row 1999", "row 2000"]}),
    "unknown": ("private_histogram", ("n",), {"delta": "1e-6"}),
}


BOUNDED = [*((name, person) for name in QUERIES for person in (None, "n")), ("sum", "name"), ("edges", "name")]


@pytest.mark.parametrize(("name", "person"), BOUNDED)
@pytest.mark.filterwarnings("ignore::lapnoise.errors.SeededNoiseWarning")
def test_statistics_are_those_of_arrays(session, name, person):
    """From one generator the result is that of `queries` on the same rows, for any partitioning."""
    query, given, options = QUERIES[name]
    options = {"epsilon": 1, "max_contributions": 7 if person else 1, **options}
    rows = table(session).toArrow()
    ids = None if person is None else rows[person]
    values = rows[given[0]] if given else np.ones(ROWS)
    wanted = getattr(queries, query)(values, *given[1:], rng=default_rng(5), person=ids, **options)
    for partitions in (1, 13) if person is None else (4,):
        frame = table(session, partitions=partitions)
        found = getattr(spark, query)(frame, *given, rng=default_rng(5), person=person, **options)
        assert type(found) is type(wanted)
        assert np.array_equal(found.value, wanted.value) if name == "edges" else found.value == wanted.value
        assert repr(found) == repr(wanted)


def test_statistics_are_charged_first(session):
    """A query charges once; from the operating system's randomness two answers differ; a seed warns by its line."""
    ledger = PrivacyLedger(1)
    frame = table(session, rows=100)
    one = spark.private_sum(frame, "f", 0, 10, epsilon="0.25", ledger=ledger, label="a sum")
    two = spark.private_sum(frame, "f", 0, 10, epsilon="0.25", ledger=ledger)

    assert one.value != two.value
    assert [(entry.label, float(entry.epsilon)) for entry in ledger.entries()] == [
        ("a sum", 0.25),
        ("private_sum", 0.25),
    ]
    with pytest.warns(SeededNoiseWarning) as caught:
        spark.private_count(frame, epsilon=1, rng=default_rng(1))
    assert caught[0].filename == __file__


def test_a_frame_without_rows(session):
    """Nothing is counted of nothing, with one empty partition and with three."""
    for partitions in (1, 3):
        frame = table(session, partitions=partitions).where("id < 0")
        assert abs(spark.private_count(frame, epsilon=40).value) <= 1  # but for a chance of exp(-80)
        histogram = spark.private_histogram(frame, "n", epsilon=40, delta="1e-9")
        assert histogram.value == {}
        assert told(noisy(frame)) == []


def test_bad_queries(session):
    """Columns that hold no numbers and ids that name nobody exactly are refused."""
    frame = table(session, rows=10).withColumnRenamed("f", "g")
    with pytest.raises(TypeError, match=r"^column must hold numbers, got column 'name' of type string"):
        spark.private_sum(frame, "name", 0, 1, epsilon=1)
    with pytest.raises(ValueError, match=r"^column must name columns that are there once, got 'f'"):
        spark.private_mean(frame, "f", 0, 1, epsilon=1)
    with pytest.raises(TypeError, match=r"^person must be a column of integers or text, got column 'x' of type double"):
        spark.private_count(frame, epsilon=1, person="x")
    with pytest.raises(TypeError, match=r"^values must be the rows to count, got dtype bool"):
        spark.private_count(frame.selectExpr("id > 3 as big"), "big", epsilon=1)
    with pytest.raises(ValueError, match=r"^edges, categories or delta"):
        spark.private_histogram(frame, "n", epsilon=1)
