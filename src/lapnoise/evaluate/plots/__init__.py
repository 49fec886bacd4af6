"""Pictures of noise, of errors, of what floats give away, of benches and of the way to a release.

Every function takes ``ax``, the Axes of matplotlib to draw on, and returns it; None makes a Figure of its own, which
is ``ax.figure``: ``ax.figure.savefig("picture.png")``. Nothing here knows pyplot, so no state and no window is
touched. Colours are those of Okabe and Ito, which the colour-blind tell apart; markers, lines and hatches differ too,
so that prints in grey can be read.
"""

from __future__ import annotations

from lapnoise.evaluate.plots._bars import bench
from lapnoise.evaluate.plots._diagram import chain
from lapnoise.evaluate.plots._holes import lattice_close_up
from lapnoise.evaluate.plots._noise import density, quantiles
from lapnoise.evaluate.plots._sweeps import sweep

__all__ = ["bench", "chain", "density", "lattice_close_up", "quantiles", "sweep"]
