"""Noise on columns of a frame that is drawn once, written once and read back."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from lapnoise import _check
from lapnoise._cluster_charge import DrawnCharge
from lapnoise._record_batches import DRAWN, DrawnBatches
from lapnoise.spark._columns import mapped, noised_schema
from lapnoise.spark._place import Place
from lapnoise.spark._session import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lapnoise.ledger import PrivacyLedger

__all__ = ["release", "write_once"]

FORMATS = ("parquet", "orc")


def release(
    df: DataFrame,
    path: str | os.PathLike[str],
    *,
    columns: str | Iterable[str],
    mechanism: Any,
    ledger: PrivacyLedger | None = None,
    label: str = "spark.release",
    data_version: str | None = None,
    format: str = "parquet",
) -> DataFrame:
    """Draw noise on columns once, write the frame, and return it as it is read back.

    Each attempt of a task draws under a key of its own from the operating system. Spark makes the output of one attempt
    visible and drops that of others, in a folder beside ``path`` that this call alone knows, and that folder moves to
    ``path`` when it is complete. What is read afterwards are files: nothing is computed anew.

    Parameters
    ----------
    df : DataFrame
        Not a stream.
    path : str or path-like
        A folder that does not exist yet, in any file system that Spark can write to.
    columns : str or iterable of str
        Columns of byte, short, int, long, float or double. Float stays float; integers become double, and long with a
        mechanism on integers. Nulls and NaN stay, and so do other columns.
    mechanism : mechanism
        Laplace, discrete Laplace, Gaussian, bounded or truncated Laplace. All noised cells form one vector. Where
        ``changed`` is None one job counts the rows first, and the length of the vector is their number times that of
        the columns; what is written must have as many rows.
    ledger : PrivacyLedger, optional
        Charged before a value is read. The charge stands whatever happens then.
    label : str, optional
        Name of the charge.
    data_version : str, optional
        What you call the state of the data.
    format : {"parquet", "orc"}, optional
        Both keep types; columns may be null when they are read.

    Returns
    -------
    DataFrame
        Read from ``path``.

    Raises
    ------
    TypeError, ValueError
        Where an argument or a type breaks a rule, or the path exists; nothing is charged then. Where the frame has
        another number of rows when it is written than when they were counted: nothing stays of what was written.
    OutputError
        If somebody else wrote to the path meanwhile: it keeps what they wrote, and nothing of this release.
    BudgetExhaustedError
        If the charge does not fit.

    Notes
    -----
    A committer that makes files of failed attempts visible would publish several draws for one cell. Spark's own
    committers do not. A store of objects has no folders to move: there files are copied one by one, and two releases to
    one path at the same time may mix.
    """
    frame = frame_of(df)
    kind = _check.output_format(format, FORMATS)
    names = _check.column_names("columns", columns, frame.columns)
    _check.drawn_mechanism(mechanism, DRAWN)
    schema = noised_schema(frame, DrawnBatches(mechanism, names))
    session = frame.sparkSession
    _check.names_apart(frame.columns)
    mapped(frame, DrawnBatches(mechanism, names), schema)  # refuses types that Spark does not hand over
    place = Place(session, path)

    def write(bound: Any, folder: str) -> None:
        noisy = mapped(frame, DrawnBatches(bound, names), schema)
        noisy.write.format(kind).mode("errorifexists").save(folder)

    def read(folder: str) -> DataFrame:
        return session.read.format(kind).load(folder)

    charge = DrawnCharge(ledger, label, data_version)
    write_once(place, mechanism, names, charge, frame.count, write, lambda folder: read(folder).count())
    return read(place.path)


def write_once(
    place: Place,
    mechanism: Any,
    names: tuple[str, ...],
    charge: DrawnCharge,
    count: Callable[[], int],
    write: Callable[[Any, str], None],
    count_written: Callable[[str], int],
) -> None:
    """Charge, bind the mechanism to the number of cells, write, and record; on failure nothing that was written stays.

    ``count`` and ``count_written`` are called where the number of rows is not fixed by the mechanism. ``write`` and
    ``count_written`` get a folder beside the place.
    """
    if getattr(mechanism, "changed", 1) is not None:
        _verify_floats(mechanism)
    place.verify_new()
    charge.make(mechanism, names)
    try:
        rows, bound = None, mechanism
        if getattr(mechanism, "changed", 1) is None:
            rows = count()
            bound = mechanism.for_length(max(1, rows * len(names)))
            _verify_floats(bound)
        with place.attempt() as folder:
            write(bound, folder)
            if rows is not None:
                _check.rows_written(rows, count_written(folder), place.path)
    except BaseException as error:
        charge.note(error)
        raise
    charge.record()


def _verify_floats(mechanism: Any) -> None:
    if hasattr(mechanism, "verify_floats"):
        mechanism.verify_floats()
