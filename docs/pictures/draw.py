"""Draw the pictures of README and the docs: ``python docs/pictures/draw.py`` from a checkout with the extra plots."""

from pathlib import Path

import lapnoise
from lapnoise.evaluate import plots

HERE = Path(__file__).parent


def main() -> None:
    """Write each picture beside this file."""
    laplace = lapnoise.LaplaceMechanism(epsilon=1, sensitivity=1)
    for name, ax in (
        ("chain", plots.chain()),
        ("lattice", plots.lattice_close_up(mechanism=laplace)),
        ("density", plots.density(laplace, seed=1)),
    ):
        ax.figure.savefig(HERE / f"{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
