"""What noise on tables in pieces takes: the names of columns, their types, and what a release is called."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

from lapnoise._check._rules import shown
from lapnoise.errors import OutputError

__all__ = [
    "classic_session",
    "clustered",
    "column_names",
    "drawn_mechanism",
    "java_home",
    "keys_of_one_kind",
    "local_master",
    "names_apart",
    "new_path",
    "no_keys_noised",
    "no_missing_numbers",
    "no_null_key",
    "no_repeated_keys",
    "noised_type",
    "number_element",
    "number_type",
    "one_column_name",
    "one_mode",
    "orderless_plan",
    "output_format",
    "pairs",
    "path_without_patterns",
    "person_type",
    "place_not_taken",
    "plain_type",
    "repeatable_columns",
    "rows_written",
    "spark_frame",
    "spark_rdd",
]


def column_names(parameter: str, value: Any, present: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns, each once, each of one column that is there; a single text is one name."""
    # A column itself may be iterable, over its values.
    if not isinstance(value, str | list | tuple | set | frozenset):
        raise TypeError(
            f"{parameter} must be names of columns (text, or a list of texts), got a {type(value).__name__}"
        )
    names: list[Any] = [value] if isinstance(value, str) else list(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{parameter} must be names of columns (text), got a {type(name).__name__}")
    if not names:
        raise ValueError(f"{parameter} must name at least one column, got none")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{parameter} must name each column once, got {name!r} twice")
        if present.count(name) != 1:
            told = "there are two" if name in present else f"there is none among {shown(list(present))}"
            raise ValueError(f"{parameter} must name columns that are there once, got {name!r}: {told}")
    return tuple(names)


def one_column_name(parameter: str, value: Any, present: Sequence[str]) -> str:
    """Return the name of one column that is there."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter} must be the name of one column (text), got a {type(value).__name__}")
    return column_names(parameter, value, present)[0]


def names_apart(names: Sequence[str]) -> None:
    """Refuse names of columns that differ in their case alone, which files and Spark do not tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise ValueError(f"df must have columns whose names differ in more than case, got {other!r} and {name!r}")


def number_element(value: Any, *, whole: bool) -> None:
    """Refuse an RDD whose first element is no number; the element is not shown."""
    if value is None or (isinstance(value, Integral) and not isinstance(value, bool)):
        return
    if whole or not isinstance(value, Real) or isinstance(value, bool):
        wanted = "integers" if whole else "numbers"
        raise TypeError(
            f"rdd must hold {wanted} where path is given, got a {type(value).__name__} first "
            "(pairs of a key and a number go with release_id and secret)"
        )


def path_without_patterns(value: str) -> None:
    """Refuse a path that would be written as it stands and read as a pattern: of other files, which are not noised."""
    if found := sorted(set("*?[]{},\\") & set(value)):
        raise ValueError(f"path must not have any of * ? [ ] {{ }} , \\ in it, got {found[0]!r} in {shown(value)}")


def no_keys_noised(columns: Sequence[str], key_columns: Sequence[str]) -> None:
    """Refuse to put noise on a key: rows could then not be told from one another."""
    for name in columns:
        if name in key_columns:
            raise ValueError(f"key_columns must not be noised, got {name!r} in columns too")


def noised_type(column: str, told: str, whole: bool) -> NoReturn:
    """Refuse a column by its type."""
    wanted = "integers, for discrete noise" if whole else "integers, float or double"
    raise TypeError(f"columns must hold {wanted}, got column {column!r} of type {told}: cast it first")


def number_type(column: str, told: str) -> NoReturn:
    """Refuse a column that holds no numbers where these are to be added."""
    raise TypeError(f"column must hold numbers, got column {column!r} of type {told}")


def plain_type(column: str, told: str) -> NoReturn:
    """Refuse a column of nested or other uncommon values."""
    raise TypeError(
        f"column must hold numbers, booleans, text, binary, dates or timestamps, got column {column!r} of type {told}"
    )


def person_type(column: str, told: str) -> NoReturn:
    """Refuse a column that does not name persons exactly."""
    raise TypeError(f"person must be a column of integers or text, got column {column!r} of type {told}")


def drawn_mechanism(mechanism: Any, kinds: tuple[type, ...]) -> None:
    """Refuse a mechanism that puts no noise on single numbers."""
    if type(mechanism) not in kinds:
        told = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"mechanism must be one of {told}, got {type(mechanism).__name__}")


def no_repeated_keys(repeated: bool, key_columns: Sequence[str]) -> None:
    """Refuse keys that several rows have: equal values in these would get equal noise.

    How many they are is told by no message: it is a value of the data.
    """
    if repeated:
        raise ValueError(
            f"key_columns must tell every row from all others, got {list(key_columns)}, but several rows "
            "share one key; name further columns of the data"
        )


def no_null_key(column: str, found: bool) -> None:
    """Refuse keys that are missing."""
    if found:
        raise ValueError(f"key column {column!r} must not have missing entries, got at least one")


def no_missing_numbers(complete: bool) -> None:
    """Refuse missing numbers where there is no integer that would say so."""
    if not complete:
        raise ValueError("elements must be integers for discrete noise, got a missing one")


def classic_session(classic: bool) -> None:
    """Refuse a session that cannot say whether a path exists."""
    if not classic:
        raise TypeError("df must belong to a session in this process, got one of Spark Connect: use keyed noise there")


def repeatable_columns(repeatable: bool, names: Sequence[str]) -> None:
    """Refuse keys and values that are others each time, and rows that are chosen at random."""
    if not repeatable:
        raise ValueError(
            f"key_columns and columns must be the same each time they are computed, got {list(names)}, which come from "
            "random or given-out numbers such as uuid, rand or monotonically_increasing_id, so that noise would be "
            "drawn anew: take columns of the data, or write the frame first and read it back"
        )


def orderless_plan(found: Sequence[str], names: Sequence[str]) -> None:
    """Refuse keys and values that may depend on the order in which rows come."""
    if found:
        raise ValueError(
            f"key_columns and columns must be identical whenever they are computed, got {list(names)}, whose plan has "
            f"{', '.join(found)}, which may depend on the order of rows, so that noise would be drawn anew: write the "
            "frame first and read it back, or sum integers or decimals; or pass assume_repeatable=True where you know "
            "better"
        )


def new_path(path: str, exists: bool) -> None:
    """Refuse to write over something."""
    if exists:
        raise ValueError(f"path must not exist yet, got {path!r}: a release is written once")


def place_not_taken(path: str, free: bool) -> None:
    """Refuse to publish where somebody else was first."""
    if not free:
        raise OutputError(
            f"path must not exist when a release is published, got {path!r}, which somebody else wrote meanwhile: "
            "nothing of this release was kept"
        )


def output_format(value: Any, known: Sequence[str]) -> str:
    """Return a format that keeps types."""
    if value not in known:
        raise ValueError(f"format must be one of {', '.join(map(repr, known))}, got {shown(value)}")
    return str(value)


def rows_written(counted: int, written: int, path: str) -> None:
    """Refuse a result of another number of rows than the one that the noise was made for."""
    if counted != written:
        raise ValueError(
            f"the frame must have the same rows each time it is computed, got {counted} rows and then {written}, so "
            f"that nothing was written to {path!r}: give mechanism a changed that does not depend on their number"
        )


def one_mode(path: Any, release_id: Any, secret: Any) -> bool:
    """Return whether noise is keyed and not drawn; refuse what is neither or both."""
    keyed = release_id is not None and secret is not None
    if (path is None) != keyed or (path is not None and (release_id is not None or secret is not None)):
        raise TypeError(
            "path must be given, to draw noise once and write it, or else release_id and secret, for keyed noise"
        )
    return keyed


def pairs(fits: bool) -> None:
    """Refuse elements that are no pairs."""
    if not fits:
        raise TypeError("elements must be pairs (key, number) for keyed noise, got another one")


def keys_of_one_kind(widths: set[int]) -> None:
    """Refuse keys that are tuples of different length."""
    if len(widths) > 1:
        raise ValueError(f"keys must have the same number of parts each, got {sorted(widths)}")


def clustered(name: str, error: ImportError) -> NoReturn:
    """Say how to get the packages that an engine needs."""
    raise ImportError(
        f"lapnoise.{name} needs packages of the extra {name!r}, of which one could not be imported ({error}); "
        f"install them: pip install 'lapnoise[{name}]'"
    ) from error


def java_home(home: str | None, found: str | None) -> None:
    """Say how to get the Java that Spark runs on."""
    if found is None:
        told = "there is no java on the PATH and JAVA_HOME is not set"
        told = told if home is None else f"JAVA_HOME is {home!r}, where there is no bin/java"
        raise RuntimeError(
            f"Spark runs on Java, which was not found: {told}; install a Java runtime of version 17 or later, for "
            "instance with apt install openjdk-17-jre-headless, or set JAVA_HOME to the folder of one"
        )


def local_master(value: Any) -> str:
    """Return the address of a cluster on this machine."""
    if not isinstance(value, str) or not value.startswith("local"):
        raise ValueError(
            f"master must be 'local[...]' or 'local-cluster[...]', got {shown(value)}: sessions on a real cluster are "
            "made by spark-submit or by the platform"
        )
    return value


def spark_frame(value: Any, kind: type) -> None:
    """Refuse what is no frame, and a stream, in which no key can be known to be the only one."""
    if not isinstance(value, kind):
        raise TypeError(f"df must be a pyspark.sql.DataFrame, got {type(value).__name__}")
    if value.isStreaming:  # type: ignore[attr-defined]
        raise ValueError("df must not be a stream")


def spark_rdd(value: Any, kind: type) -> None:
    """Refuse what is no RDD."""
    if not isinstance(value, kind):
        raise TypeError(f"rdd must be a pyspark.RDD, got {type(value).__name__}")
