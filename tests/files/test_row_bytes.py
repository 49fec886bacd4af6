"""Bytes of rows: told by types and by lengths of text and lists, and the sum of what slices have."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from lapnoise.files._row_bytes import bytes_of

COLUMNS = {
    "numbers": (pa.array([1.5, None, 3.0, 4.0]), 4 * 8),
    "bool": (pa.array([True, None, False, True]), 0.5),
    "decimal": (pa.array([decimal.Decimal("1.5")] * 4, pa.decimal128(5, 2)), 4 * 16),
    "text": (pa.array(["a", "bcd", None, ""]), 4 * 8 + 4),
    "long binary": (pa.array([b"a", b"bcd", None, b"e"], pa.large_binary()), 4 * 8 + 5),
    "views": (pa.array(["a", "b" * 20, None, ""], pa.string_view()), 4 * 16 + 21),
    "dictionary": (pa.array(["a", "b" * 99, None, "a"]).dictionary_encode(), 4 * 4),
    "list": (pa.array([["ab"], [], None, ["c", None, "d"]]), 4 * 8 + 4 * 8 + 4),
    "long list": (pa.array([[1], [], None, [2, 3]], pa.large_list(pa.int16())), 4 * 8 + 3 * 2),
    "map": (pa.array([[("k", 1)], [], None, []], pa.map_(pa.string(), pa.int8())), 4 * 8 + 8 + 1 + 1),
    "struct": (pa.array([{"x": 1, "y": "ab"}, {"x": 2, "y": ""}, None, {"x": 3, "y": None}]), 4 * 8 + 4 * 8 + 2),
    "fixed list": (pa.array([[1, 2]] * 4, pa.list_(pa.int8(), 2)), 4 * 2),
    "extension": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 4, pa.binary(16))), 4 * 16),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_bytes_are_the_sum_of_those_of_slices(name):
    column, expected = COLUMNS[name]
    batch = pa.record_batch({"c": column})
    assert bytes_of(batch) == expected
    for cut in range(5):
        assert bytes_of(batch.slice(0, cut)) + bytes_of(batch.slice(cut)) == expected
    assert bytes_of(batch.slice(1, 2).slice(1)) == bytes_of(batch.slice(2, 1))


def test_numbers_and_what_is_missing_of_them_change_nothing():
    plain = pa.array(np.arange(9.0))
    for other in (pa.array([None] * 9, pa.float64()), pa.array([1e300] * 9)):
        assert bytes_of(pa.record_batch({"x": other})) == bytes_of(pa.record_batch({"x": plain})) == 72
