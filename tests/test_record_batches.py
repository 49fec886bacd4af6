"""Noise on Arrow record batches, and its charge: what every engine shares, without one."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from lapnoise import (
    BudgetExhaustedError,
    DiscreteLaplaceMechanism,
    LaplaceMechanism,
    PrivacyLedger,
    RequestRefusedError,
)
from lapnoise._cluster_charge import DrawnCharge, KeyedCharge
from lapnoise._keyed_release import KeyedRelease
from lapnoise._record_batches import DrawnBatches, column_kinds, keyed_batches, result_types
from lapnoise._row_keys import from_numpy

SECRET = bytes(range(40))
LAPLACE = LaplaceMechanism(epsilon=1, sensitivity=10, changed=2)
DISCRETE = DiscreteLaplaceMechanism(epsilon=1, sensitivity=10)


def release(secret=SECRET, name="r"):
    """Return a release."""
    return KeyedRelease(secret, name)


def batch():
    """Return a batch with nulls, NaN, metadata and a column that may not be null."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("x", pa.float64(), metadata={"unit": "m"}),
            pa.field("f", pa.float32(), nullable=False),
            pa.field("n", pa.int16()),
            pa.field("rest", pa.list_(pa.int64())),
        ],
        metadata={"made": "here"},
    )
    values = [[1, 2, 3, 4], [0.5, None, math.nan, -7.25], [1, 2, 3, 4], [5, None, 7, -8], [[1], None, [], [2, 3]]]
    return pa.RecordBatch.from_arrays(
        [pa.array(v, field.type, from_pandas=False) for v, field in zip(values, schema, strict=True)], schema=schema
    )


def told(found):
    """Return all entries as text, by which NaN equals itself."""
    return repr(found.to_pydict())


def test_a_batch_keeps_all_but_the_values():
    """Nulls, NaN, names, metadata, other columns and what may be null stay; values are those of arrays."""
    given = batch()
    found = keyed_batches(release(), LAPLACE, ["x", "f", "n"], ["id"]).noised(given)
    identities = release().identities([from_numpy("id", np.array([1, 2, 3, 4]))])
    wanted = release().column(LAPLACE, "x").add_noise([0.5, 0.0, math.nan, -7.25], identities)

    assert found.schema.metadata == given.schema.metadata
    assert found.schema.field("x") == given.schema.field("x")
    assert found.schema.field("x").metadata == {b"unit": b"m"}
    assert found.schema.field("f") == given.schema.field("f")
    assert found.schema.field("n") == pa.field("n", pa.float64())
    assert found.column("rest") == given.column("rest")
    assert found.column("id") == given.column("id")
    assert found.column("x").is_null().to_pylist() == [False, True, False, False]
    assert [v if v is None else v.hex() for v in found.column("x").to_pylist()] == [
        wanted[0].hex(),
        None,
        "nan",
        wanted[3].hex(),
    ]
    assert found.column("n").null_count == 1
    found.validate(full=True)


def test_slices_are_parts():
    """Noise on a part of a batch is that part of the noise on it."""
    batches = keyed_batches(release(), LAPLACE, ["x", "n"], ["id"])
    whole = batches.noised(batch())
    parts = [*batches.run([batch().slice(0, 1), batch().slice(1, 0), batch().slice(1)])]

    assert [part.num_rows for part in parts] == [1, 0, 3]
    assert pa.Table.from_batches(parts).column("n").to_pylist() == whole.column("n").to_pylist()


def test_key_columns_are_taken_by_name():
    """Their order does not matter; which they are does."""
    one, other = (keyed_batches(release(), LAPLACE, ["x"], keys) for keys in (["id", "n"], ["n", "id"]))
    given = batch().slice(2)

    assert told(one.noised(given)) == told(other.noised(given))
    assert (
        one.noised(given).column("x")[1]
        != keyed_batches(release(), LAPLACE, ["x"], ["id"]).noised(given).column("x")[1]
    )


def test_drawn_noise_is_new_for_each_task():
    """Two runs differ, and so do two batches of one run; what is missing stays."""
    batches = DrawnBatches(LAPLACE, ("x", "f"))
    one, two = batches.run([batch(), batch()])
    (three,) = batches.run([batch()])
    values = {found.column(name)[k].as_py() for found in (one, two, three) for name in "xf" for k in (0, 3)}

    assert len(values) == 12
    assert one.column("x").null_count == 1
    assert math.isnan(one.column("x")[2].as_py())


def test_types():
    """Integers become double, or int64 with discrete noise; what is no number or no key is refused by its name."""
    types = {"n": (pa.int16(), "smallint"), "id": (pa.string(), "string")}
    assert result_types(keyed_batches(release(), LAPLACE, ["n"], ["id"]), types) == {"n": pa.float64()}
    assert result_types(keyed_batches(release(), DISCRETE, ["n"], ["id"]), types) == {"n": pa.int64()}
    assert result_types(DrawnBatches(DISCRETE, ("n",)), {"n": types["n"]}) == {"n": pa.int64()}
    with pytest.raises(TypeError, match="got column 'n' of type boolean"):
        result_types(DrawnBatches(LAPLACE, ("n",)), {"n": (pa.bool_(), "boolean")})
    with pytest.raises(TypeError, match=r"key column 'id' must be integers.* got type map<int,int>"):
        result_types(keyed_batches(release(), LAPLACE, ["n"], ["id"]), {**types, "id": (pa.null(), "map<int,int>")})


def test_what_is_pickled():
    """Batches come back equal in effect; rows show no key, and neither secret nor the release's key goes along."""
    batches = keyed_batches(release(), LAPLACE, ["x"], ["id"])
    written = pickle.dumps(batches)

    assert told(pickle.loads(written).noised(batch())) == told(batches.noised(batch()))
    assert SECRET not in written
    assert release()._key not in written
    assert repr(batches.rows) == "KeyedRows()"


def charge(ledger, *, secret=SECRET, version=None, columns=("x",), keys=("id",), number="float64", key="integer"):
    """Charge a release."""
    charged = KeyedCharge(ledger, release(secret), version, None)
    charged.make(LAPLACE, dict.fromkeys(columns, number), dict.fromkeys(keys, key))


def test_a_check_value_tells_no_key():
    """It depends on secret and id alone, and is none of the keys."""
    values = {release().check_value(), release(SECRET + b"x").check_value(), release(name="s").check_value()}
    assert len(values) == 3
    assert release().check_value() == release().check_value()
    assert release().check_value() not in {release().rows()._key.hex(), release()._key.hex()[:32]}


def test_keyed_noise_is_charged_once(tmp_path):
    """Threads that charge one release at once, each through a ledger of its own, charge it once."""
    path = tmp_path / "budget.db"
    ledger = PrivacyLedger(1, path=path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: charge(PrivacyLedger.open(path)), range(16)))

    assert ledger.spent.epsilon == 1
    assert [(entry.request_id, entry.state) for entry in ledger.entries()] == [("r", "released")]
    assert ledger.verify().ok
    charge(ledger, columns=("x",))
    with pytest.raises(RequestRefusedError, match=r"^release_id 'r' .* differs in data_version$"):
        charge(ledger, version="2")
    with pytest.raises(RequestRefusedError, match=r"differs in secret_check$"):
        charge(ledger, secret=SECRET[::-1])
    with pytest.raises(RequestRefusedError, match=r"differs in columns$"):
        charge(ledger, number="float32")
    with pytest.raises(RequestRefusedError, match=r"differs in key_columns$"):
        charge(ledger, key="text")
    with pytest.raises(RequestRefusedError, match=r"differs in inputs$"):
        KeyedCharge(ledger, release(), None, None).make(LAPLACE, {"x": "float64"}, {"id": "integer"}, "pairs")
    with pytest.raises(BudgetExhaustedError):
        KeyedCharge(ledger, release(name="another"), None, None).make(LAPLACE, {"x": "float64"}, {"id": "integer"})
    assert len(ledger.entries()) == 1


def test_kinds_of_columns():
    """Width and layout do not matter to noise; all else that a cast changes has a name of its own."""
    types = {
        "integer": [pa.int8(), pa.int64(), pa.uint64()],
        "bool": [pa.bool_()],
        "date": [pa.date32(), pa.date64()],
        "time": [pa.timestamp("s"), pa.timestamp("us", "UTC")],
        "text": [pa.string(), pa.large_string()],
        "binary": [pa.binary(), pa.large_binary(), pa.binary(3)],
        "float32": [pa.float32()],
        "float64": [pa.float64()],
    }
    for wanted, kinds in types.items():
        named = {str(kind): (kind, str(kind)) for kind in kinds}
        assert column_kinds(named, named) == dict.fromkeys(named, wanted)


def test_the_order_of_names_is_no_difference():
    """The same columns and keys in another order are the same release."""
    ledger = PrivacyLedger(1)
    charge(ledger, columns=("x", "y"), keys=("a", "b"))
    charge(ledger, columns=("y", "x"), keys=("b", "a"))
    assert ledger.spent.epsilon == 1


def test_a_request_of_another_kind_keeps_its_id():
    """An id that an array was released under is none for keyed noise, and the other way round."""
    ledger = PrivacyLedger(3)
    ledger.release(LAPLACE, [1.0], label="one", request_id="r")
    with pytest.raises(RequestRefusedError, match=r"^release_id 'r'"):
        charge(ledger)
    KeyedCharge(ledger, release(name="s"), None, None).make(LAPLACE, {"x": "float64"}, {"id": "integer"})
    with pytest.raises(RequestRefusedError, match=r"^request_id 's'"):
        ledger.release(LAPLACE, [1.0], label="s", request_id="s")


def test_drawn_noise_is_charged_each_time():
    """Two draws are two charges; one that is not recorded stays reserved, and a failure says so."""
    ledger = PrivacyLedger(2)
    first, second = (DrawnCharge(ledger, "a table", "v1") for _ in range(2))
    first.make(LAPLACE, ["x"])
    first.record()
    second.make(LAPLACE, ["x"])
    error = ValueError("lost")
    second.note(error)

    assert [entry.state for entry in ledger.entries()] == ["released", "reserved"]
    assert error.__notes__ == ["this was charged before, as entry 3 of the ledger, and stays so"]
    DrawnCharge(None, "a table", None).make(LAPLACE, ["x"])
    with pytest.raises(TypeError, match=r"^ledger must be a PrivacyLedger"):
        DrawnCharge(object(), "a table", None)
