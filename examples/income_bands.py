"""Households by state and income, with more noise for the rich: five bands, each with an epsilon of its own.

A household is counted once, in one band, so that it spends the epsilon of its band and nobody more than the largest. In
many states the top band is small and its households easy to know, so theirs is the strongest protection.
"""

import csv
from pathlib import Path

import numpy as np

import lapnoise

EPSILONS = {
    "under 25,000": 1,
    "25,000 to 49,999": 1,
    "50,000 to 99,999": 1,
    "100,000 to 199,999": "0.5",
    "200,000 and over": "0.05",
}


def main() -> None:
    """Print what is released beside the truth."""
    with (Path(__file__).parent / "us_income_2013.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    truth = np.array([int(row["households"]) for row in rows])
    bands = np.array([row["band"] for row in rows])

    # One household more or less changes one count by one.
    mechanism = lapnoise.StratifiedLaplaceMechanism(epsilon=EPSILONS, sensitivity=1, changed=1, strata_per_person=1)
    noisy = mechanism.add_noise(truth, bands)

    print(f"{'Vermont':24}{'truth':>12}{'released':>14}{'95 % within':>14}")
    within = mechanism.interval("0.95")
    for row, count, with_noise in zip(rows, truth, noisy, strict=True):
        if row["state"] == "Vermont":
            print(f"{row['band']:24}{count:12,}{with_noise:14,.1f}{within[row['band']]:14.1f}")
    print(f"\n{'all states':24}{'epsilon':>12}{'scale':>14}{'mean error':>14}")
    for band, epsilon in mechanism.epsilon.items():
        error = np.abs(noisy - truth)[bands == band].mean()
        print(f"{band:24}{float(epsilon):12g}{mechanism.scale[band]:14.1f}{error:14.1f}")
    print(f"\nA household spends the epsilon of its band; charged: {float(mechanism.epsilon_asked):g}")


if __name__ == "__main__":
    main()
