"""Arguments of noise on clusters, apart from any engine."""

import numpy as np
import pyarrow as pa
import pytest

from lapnoise import _check
from lapnoise._record_batches import sample


@pytest.mark.parametrize("value", [["who"], ("who", "i"), 5, b"who", None])
def test_a_person_is_one_column(value):
    """A list would be taken for its first name, and rows of one person be bounded apart."""
    with pytest.raises(
        TypeError, match=f"^person must be the name of one column .text., got a {type(value).__name__}$"
    ):
        _check.one_column_name("person", value, ["who", "i"])
    assert _check.one_column_name("person", "who", ["who", "i"]) == "who"


@pytest.mark.parametrize("value", [np.array([1.0]), b"x", 5, None, iter(["x"])])
def test_columns_are_named_and_not_given(value):
    """A column of an engine may be iterable, over its values, which no message may show."""
    told = f"^columns must be names of columns .text, or a list of texts., got a {type(value).__name__}$"
    with pytest.raises(TypeError, match=told):
        _check.column_names("columns", value, ["x"])
    assert _check.column_names("columns", ["x"], ["x"]) == ("x",)


@pytest.mark.parametrize("mark", list("*?[]{},\\"))
def test_paths_are_no_patterns(mark):
    """What is written as it stands must not be read as the name of other files."""
    with pytest.raises(ValueError, match=r"^path must not have any of"):
        _check.path_without_patterns(f"/data/a{mark}b")
    _check.path_without_patterns("hdfs://name:8020/data/ä b=1/%20-_~+@c.parquet")


def test_decimals_have_a_sample():
    """A job over such a column is compiled before it starts, on a value of its type."""
    assert sample(pa.decimal128(10, 2), missing=True).to_pylist()[0] == 0


def test_names_that_differ_in_case_alone():
    """Spark refuses them as it writes, which would be after the charge."""
    with pytest.raises(ValueError, match="names differ in more than case, got 'h' and 'H'"):
        _check.names_apart(["a", "h", "H"])
    _check.names_apart(["a", "b"])


@pytest.mark.parametrize(
    ("value", "whole", "kind"),
    [
        (("k", 1.0), False, "tuple"),
        ("x", False, "str"),
        (1.5, True, "float"),
        (True, False, "bool"),
        ([1], False, "list"),
    ],
)
def test_elements_of_another_kind_are_told_before_the_charge(value, whole, kind):
    """The first element shows a mistake that a task would tell in a trace of Java; its value is not shown."""
    wanted = "integers" if whole else "numbers"
    with pytest.raises(TypeError, match=f"^rdd must hold {wanted} where path is given, got a {kind} first"):
        _check.number_element(value, whole=whole)
    for fine in (None, 3, np.int64(3), *([] if whole else [2.5, np.float32(1)])):
        _check.number_element(fine, whole=whole)
