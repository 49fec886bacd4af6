"""The numbers to reach: ratios within one run where two things can be compared, so that a machine's speed cancels."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """One number to reach.

    Attributes
    ----------
    bound : float
        What must be reached.
    stretch : float or None
        What is aimed at beyond that.
    at_least : bool
        Whether more is better: True for "so many times faster", False for "at most so much".
    unit : str
        ``"x"`` for a ratio, else the unit of the value: "s" or "B".
    """

    bound: float
    stretch: float | None
    at_least: bool
    unit: str = "x"

    def verdict(self, value: float) -> str:
        """Return "stretch met", "met" or "missed"."""

        def reached(limit: float) -> bool:
            return value >= limit if self.at_least else value <= limit

        if self.stretch is not None and reached(self.stretch):
            return "stretch met"
        return "met" if reached(self.bound) else "missed"


def _faster(bound: float, stretch: float | None) -> Target:
    return Target(bound, stretch, at_least=True)


def _within(bound: float, stretch: float | None, unit: str = "x") -> Target:
    return Target(bound, stretch, at_least=False, unit=unit)


TARGETS = {
    "r8": _faster(8.0, 10.0),
    "r12": _faster(6.0, 8.0),
    "r12 all cores": _faster(9.0, 12.0),
    "float32": _faster(12.0, 16.0),
    "mkl_random": _faster(1.6, 2.0),
    "in place": _within(4.5, 3.0),
    "extra memory": _within(8 * 2.0**20, 2.0**20, "B"),
    "scalar call": _within(4.0, 2.0),
    "import": _within(0.050, 0.010, "s"),
    "first draw, warm": _within(0.2, 0.05, "s"),
    "first draw, cold": _within(6.0, 3.0, "s"),
    "flat in n": _within(1.3, None),
    "flat in scale": _within(1.3, None),
    "lattice": _faster(3.5, 4.7),
    "lattice in place": _within(9.0, 6.0),
    "OpenDP": _faster(3_000.0, 8_000.0),
    "PyDP": _faster(400.0, 1_000.0),
    "peers": _faster(20.0, None),
    "stratified": _within(1.5, None),
    "selection": _within(50.0, 10.0, "ns"),
    "query": _within(3.0, None),
    "discrete": _faster(4.0, 8.0),
    "flat in t": _within(1.3, None),
    "flat in t to 2^40": _within(2.0, None),
    "array against scalar loop": _faster(50.0, 50.0),
    "durable spend": _within(2.0, None),
    "memory spend": _within(20e-6, None, "s"),
    "large ledger": _within(0.050, None, "s"),
    "bulk npy": _within(2.5, None),
    "bulk parquet": _within(2.0, 1.3),
    "bulk csv": _within(1.5, None),
    "spark identity": _within(1.5, None),
    "spark per element": _faster(8.0, None),
    "spark release stage": _faster(4.0, None),
    "spark keyed stage": _within(60.0, 35.0, "ns"),
    "experiment": _within(1.5, None),
    "bulk memory": _within(400 * 2.0**20, None, "B"),
    "audit": _within(10.0, None, "s"),
    "audit bound": _faster(0.97, None),
}
"""By the name that a row of the report gives."""
