"""The kernels that CSV files take. Importing it imports Numba, so it is imported at the first header that is read."""

from __future__ import annotations

from lapnoise import _jit  # noqa: F401 # before what imports Numba itself: only it explains why Numba is missing
from lapnoise.kernels.cell_numbers import (
    MISSING,
    OPEN,
    READ,
    READ_ROOM,
    check_decimals,
    check_integers,
    find_number,
    read_integers,
)
from lapnoise.kernels.csv_scan import BARE_RETURN, CELL_ROOM, OPEN_QUOTE, TEXT_ROOM, scan_rows, write_numbers
from lapnoise.kernels.decimals import float_powers, read_points
from lapnoise.kernels.shortest import powers_of_ten

__all__ = [
    "BARE_RETURN",
    "CELL_ROOM",
    "MISSING",
    "OPEN",
    "OPEN_QUOTE",
    "READ",
    "READ_ROOM",
    "TEXT_ROOM",
    "check_decimals",
    "check_integers",
    "find_number",
    "float_powers",
    "powers_of_ten",
    "read_integers",
    "read_points",
    "scan_rows",
    "write_numbers",
]
