"""Hide places on a map: noisy coordinates, and areas about them. Run it with `python examples/cloaking.py`.

What is private here, and what is not:

1. A person's place is private. `PlanarLaplaceMechanism` publishes a noisy one: two places within RADIUS of each other
   give any result with probabilities that differ by a factor of at most exp(epsilon RADIUS). (The noise is 0.4 %
   wider for that to hold on the globe, by a map that reaches 1000 km from the middle of the state.)
2. Airports are public. To draw an area about the noisy place that covers k of them looks at nothing private: it is
   post-processing, and costs nothing.
3. Where other people are is private again. To choose an area that covers about k *people* looks at their places, so it
   takes the exponential mechanism. The score of an area is -abs(people in it - k). One person who is added, removed or
   moved anywhere changes the number of people in an area by 1 at most, and so every score: its sensitivity is 1, by
   the triangle inequality. (It is not monotonic: one person more can raise one score and lower another.)
"""

import csv
import math
from pathlib import Path

import numpy as np

import lapnoise

PLACES = Path(__file__).with_name("california_airports.csv")
SHOWN = ("SFO", "LAX", "FAT", "MRY")

RADIUS = 10_000  # metres within which a place shall be hidden
EPSILON_PER_METRE = "0.0002"
EPSILON_CHOICE = 1

WANTED = 10  # how many places, or people, an area shall cover
AREAS = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000]  # radii in metres, public


def read_places(path: Path = PLACES) -> tuple[list[str], np.ndarray]:
    """Return codes, and latitudes and longitudes in degrees, shape (n, 2)."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["iata"] for row in rows], np.array([(row["latitude"], row["longitude"]) for row in rows], float)


def distances(places: np.ndarray, centre: tuple[float, float]) -> np.ndarray:
    """Return great-circle distances in metres (haversine)."""
    latitude, longitude = np.radians(places).T
    latitude0, longitude0 = np.radians(centre)
    half = np.sin((latitude - latitude0) / 2) ** 2
    half += np.cos(latitude) * math.cos(latitude0) * np.sin((longitude - longitude0) / 2) ** 2
    return 2 * 6_371_008.8 * np.arcsin(np.sqrt(np.minimum(half, 1)))


def scores(people: np.ndarray, centre: tuple[float, float]) -> list[int]:
    """Return -abs(people within the area - WANTED) for each area about the centre."""
    away = distances(people, centre)
    return [-abs(int(np.sum(away <= area)) - WANTED) for area in AREAS]


def main() -> None:
    """Print noisy places, areas and what they cost."""
    codes, airports = read_places()
    # The origin is public and fixed: the middle of the state, whoever is to be hidden.
    hide = lapnoise.PlanarLaplaceMechanism(epsilon=EPSILON_PER_METRE, radius=RADIUS, origin=(37.0, -120.0))

    print(f"Noisy places, {float(hide.epsilon_asked):g} for each within {RADIUS / 1000:g} km, mean error", end=" ")
    print(f"{hide.mean_distance / 1000:.1f} km, 95 % within {hide.interval(0.95) / 1000:.1f} km")
    true = airports[[codes.index(code) for code in SHOWN]]
    noisy = np.stack(hide.add_noise_degrees(*true.T), axis=1)
    for code, place, shown in zip(SHOWN, true, noisy, strict=True):
        moved = distances(place[None], tuple(shown))[0] / 1000
        print(f"  {code}  true {place[0]:9.4f} {place[1]:10.4f}  published {shown[0]:9.4f} {shown[1]:10.4f}", end="")
        print(f"  {moved:5.1f} km away")

    centre = tuple(noisy[0])
    reach = float(np.sort(distances(airports, centre))[WANTED - 1])
    covered = distances(true[:1], centre)[0] <= reach
    print(f"Area about the published {SHOWN[0]} with {WANTED} airports, at no cost: {reach / 1000:.1f} km;", end=" ")
    print(f"the true place is {'inside' if covered else 'outside'}")

    # Let one person be at each airport. Their places are private, so the choice has a price.
    rated = scores(airports, centre)
    choose = lapnoise.ExponentialMechanism(epsilon=EPSILON_CHOICE, sensitivity=1)
    area = choose.select(AREAS, rated)
    counts = [int(np.sum(distances(airports, centre) <= one)) for one in (area, AREAS[int(np.argmax(rated))])]
    print(f"Area with about {WANTED} people: {area / 1000:g} km, which in truth holds {counts[0]};", end=" ")
    print(f"without privacy {AREAS[int(np.argmax(rated))] / 1000:g} km, which holds {counts[1]}")

    spent = hide.epsilon_asked + EPSILON_CHOICE
    print(f"Epsilon spent by each of the four who show a place: {float(spent):g}", end=" ")
    print(f"({float(hide.epsilon_asked):g} for the place, {EPSILON_CHOICE} for the area); by others {EPSILON_CHOICE}")


if __name__ == "__main__":
    main()
