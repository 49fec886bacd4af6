"""What a draw is worth, beside what it costs: how far it reaches, how fine it is, and what it is made from.

What is claimed of a contender follows from its algorithm, and `Claim.how` says from which numbers; what was seen in its
draws stands beside, and a draw that a claim rules out makes the run fail. Magnitudes are in units of the scale b.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.contender import LOC, SCALE
from bench.contenders import CONTENDERS, lapnoise_name, mkl_name
from bench.contenders_libraries import MECHANISM
from bench.timing import cores

__all__ = [
    "CLAIMS",
    "NEAR",
    "Claim",
    "Seen",
    "as_json",
    "contradictions",
    "look",
    "quality_table",
    "seen_in",
    "with_claims",
]

LN2 = math.log(2.0)

NEAR = 2.0**-10
"""Magnitudes below this, in units of b, are near the centre: one draw in 1,024."""

CLOSE = 1e-6
"""Relative room for the rounding of a logarithm, in float32 too, where draws are held against claims."""


@dataclass(frozen=True)
class Claim:
    """What an algorithm can and cannot give.

    Attributes
    ----------
    largest : float
        The largest magnitude that it reaches, in b; infinite where there is no end but that of floats.
    smallest : float
        The smallest magnitude but 0, in b: the resolution at the centre.
    cryptographic : bool
        Whether the words are those of a cipher or of the operating system, so that draws that were seen do not give
        away the next ones. With a seed that is known nothing is secret, whoever makes the words.
    exact : bool
        Whether the distribution on what can be reached is Laplace's with no error at all, but for the words.
    how : str
        The numbers that this follows from.
    beyond : str
        What happens beside that, with the probability named. Empty for nothing.
    largest_beyond : float
        The magnitude that happens so, in b, which is no contradiction; 0 for none.
    """

    largest: float
    smallest: float
    cryptographic: bool
    exact: bool
    how: str
    beyond: str = ""
    largest_beyond: float = 0.0


def _numpy(cryptographic: bool) -> Claim:
    how = "log(2u) below 0, to 36.04 b, and log(2 - u - u) above, rounded; u = k 2^-53, 0 drawn again"
    return Claim(53 * LN2, 2.0**-53, cryptographic, False, how)


_FORMULA = Claim(52 * LN2, 2.0**-52, False, False, "log1p(-2|u|), u = k 2^-53 - 1/2", "infinite once in 2^53", math.inf)
_NUMBA = Claim(
    53 * LN2,
    2.0**-53,
    False,
    False,
    "log(2u) below 0, to 36.04 b, and log(2 - u - u) above, rounded; u = k 2^-53",
    "infinite once in 2^53",
    math.inf,
)
_MKL32 = Claim(
    32 * LN2,
    2.0**-32,
    False,
    False,
    "log(u), u = k 2^-32, and a word for the sign",
    "744 once in 2^32",
    1074 * LN2,  # log of the smallest float, in the place of 0
)
_MCG59 = Claim(59 * LN2, 2.0**-53, False, False, "log(u), u = k 2^-59 rounded to 53 bits, and a word for the sign")
_OURS = Claim(64 * LN2, 2.0**-64, True, False, "log(u), u = (2j + 1) 2^-64, and a bit for the sign")
_OURS32 = Claim(32 * LN2, 2.0**-32, True, False, "log(u), u = (2j + 1) 2^-32, and a bit for the sign")
_MECHANISM = Claim(math.inf, 2.0**-24, True, True, "multiples of 2^-24 b; more words where those do not decide")

CLAIMS: dict[str, Claim] = {
    "numpy Generator(PCG64)": _numpy(False),
    "numpy legacy": _numpy(False),
    "numpy formula": _FORMULA,
    "numpy Generator(PCG64), astype(float32)": _numpy(False),
    "numba np.random": _NUMBA,
    "numba Generator(PCG64)": _numpy(False),
    mkl_name("MCG59"): _MCG59,
    mkl_name("SFMT19937"): _MKL32,
    mkl_name("ARS5"): _MKL32,
    "torch": Claim(52 * LN2, 2.0**-53, False, False, "log1p(-|u|), u = k 2^-53 (2 - 2^-52) - 1 + 2^-52, rounded"),
    "torch, float32": Claim(23 * LN2, 2.0**-24, False, False, "log1p(-|u|), u = k 2^-24 (2 - 2^-23) - 1 + 2^-23"),
    "jax": Claim(
        53 * LN2, 2.0**-53, False, False, "log1p(-|u|), u = k 2^-52 (2 - 2^-53) - 1 + 2^-53, rounded; above 0 to 35.6"
    ),
    "jax, float32": Claim(
        24 * LN2, 2.0**-24, False, False, "log1p(-|u|), u = k 2^-23 (2 - 2^-24) - 1 + 2^-24, rounded; above 0 to 15.5"
    ),
    "randomgen ChaCha8": _numpy(True),
    "randomgen ChaCha20": _numpy(True),
    "randomgen AESCounter": _numpy(True),
    "numpy Generator(lapnoise ChaChaBits)": _numpy(True),
    "OpenDP": Claim(math.inf, 2.0**-1074, True, True, "multiples of 2^-1074, in rational numbers; rounded once"),
    "OpenDP, float32": Claim(math.inf, 2.0**-149, True, True, "multiples of 2^-149, in rational numbers; rounded once"),
    "PyDP (Google)": Claim(2.0**23, 2.0**-40, True, False, "multiples of 2^-40, 63 bits of them; bisection in floats"),
    "diffprivlib": Claim(
        2 * 53 * LN2, 2.0**-107, True, False, "log(1 - u) cos(pi u') twice, u = k 2^-53; differences can be finer still"
    ),
    lapnoise_name(8): _OURS,
    lapnoise_name(12): _OURS,
    lapnoise_name(20): _OURS,
    lapnoise_name(8, kind="float32"): _OURS32,
    lapnoise_name(12, kind="float32"): _OURS32,
    lapnoise_name(20, kind="float32"): _OURS32,
    MECHANISM: _MECHANISM,
    f"{MECHANISM}, float32": _MECHANISM,
}
"""By the name of the contender; threads change nothing."""


@dataclass(frozen=True)
class Seen:
    """What was seen in draws.

    Attributes
    ----------
    draws : int
        How many were looked at.
    largest, smallest : float
        The largest magnitude, and the smallest but 0, in b.
    near : int
        Draws near the centre, below `NEAR`.
    distinct : int
        Different values among those.
    """

    draws: int
    largest: float
    smallest: float
    near: int
    distinct: int


def seen_in(parts: Iterable[NDArray[Any]]) -> Seen:
    """Return what is seen in draws of Laplace(0, 1), given part by part."""
    draws, largest, smallest, centre = 0, 0.0, math.inf, [np.empty(0)]
    for part in parts:
        magnitudes = np.abs(part)
        draws += part.size
        largest = max(largest, float(magnitudes.max()))
        smallest = min(smallest, float(magnitudes[magnitudes > 0].min(initial=math.inf)))
        centre.append(np.asarray(part[magnitudes < NEAR], np.float64))
    near = np.concatenate(centre)
    return Seen(draws, largest, smallest, near.size, np.unique(near).size)


def look(name: str, draws: int, seconds: float) -> Seen:
    """Look at so many draws of a contender, or at what it gives in that time.

    A sampler that was entered draws Laplace(1, 2), from which location and scale are taken again: what is finer than a
    float near 1 is lost then.
    """
    contender = CONTENDERS[name]
    n = min(draws, 10_000 if contender.slow else 1_000_000)
    with cores(contender.threads):
        call = contender.make(n) if contender.origin else contender.make(n, 0.0, 1.0)

        def parts() -> Iterable[NDArray[Any]]:
            taken, started = 0, math.inf
            while taken < draws and time.monotonic() - started < seconds:
                given = np.asarray(call())
                taken += given.size
                started = min(started, time.monotonic())  # the first call may compile
                yield (given.astype(np.float64) - LOC) / SCALE if contender.origin else given

        return seen_in(parts())


def with_claims() -> list[str]:
    """Return whom a look is taken at: who has a claim, and samplers that were entered."""
    return [name for name, contender in CONTENDERS.items() if name in CLAIMS or contender.origin]


def contradictions(found: dict[str, Seen]) -> list[str]:
    """Return the contenders of which draws were seen that their claim rules out."""
    return [name for name, seen in found.items() if name in CLAIMS and not _possible(CLAIMS[name], seen)]


def _possible(claim: Claim, seen: Seen) -> bool:
    rare = bool(claim.beyond) and math.isclose(seen.largest, claim.largest_beyond, rel_tol=CLOSE)
    reached = rare or seen.largest <= claim.largest * (1 + CLOSE)
    return reached and seen.smallest >= claim.smallest * (1 - CLOSE)


_HEADINGS = (
    *("what", "largest, b", "smallest, b", "cryptographic", "exact", "from"),
    *("draws seen", "largest seen", "smallest seen", "distinct near 0"),
)


def quality_table(found: dict[str, Seen]) -> str:
    """Return one Markdown line for each contender; what nobody claims stays empty."""
    lines: list[Sequence[str]] = [_HEADINGS, ["---"] * len(_HEADINGS)]
    for name, seen in found.items():
        claim = CLAIMS.get(name)
        cells = ["", "", "", "", ""]
        if claim is not None:
            largest = "no end" if math.isinf(claim.largest) else f"{claim.largest:,.2f}"
            cells = [
                largest + (f"; {claim.beyond}" if claim.beyond else ""),
                f"2^{math.log2(claim.smallest):.0f}",
                "yes" if claim.cryptographic else "no",
                "yes" if claim.exact else "no",
                claim.how.replace("|", r"\|"),
            ]
        smallest = f"2^{math.log2(seen.smallest):.1f}" if math.isfinite(seen.smallest) else "0"
        near = f"{seen.distinct:,} of {seen.near:,}"
        lines.append([name, *cells, f"{seen.draws:,}", f"{seen.largest:.2f}", smallest, near])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def as_json(found: dict[str, Seen]) -> list[dict[str, Any]]:
    """Return the same for a file; what is infinite is null, since JSON has no infinity."""
    listed = []
    for name, seen in found.items():
        claim = _finite(asdict(CLAIMS[name])) if name in CLAIMS else None
        listed.append({"what": name, "claim": claim, "seen": _finite(asdict(seen))})
    return listed


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value == math.inf else value for key, value in fields.items()}
