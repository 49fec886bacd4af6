"""From the labels in a column to codes of strata; labels and names are compared as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapnoise._check import noise_terms
from lapnoise.files._cells import BadCellError

__all__ = ["MISSING_STRATUM", "UNKNOWN_STRATUM", "StrataCodes"]

MISSING_STRATUM = "no stratum"
UNKNOWN_STRATUM = "an unknown stratum"

_MOST_INT8 = 1 << 7


class StrataCodes:
    """The code of each stratum: its place among the names, which are public.

    Parameters
    ----------
    names
        Of the strata, text or integers, as `lapnoise.StratifiedLaplaceMechanism.strata` has them.
    """

    def __init__(self, names: Sequence[Any]) -> None:
        texts = noise_terms.strata_names(names)
        self._code_of = {text: code for code, text in enumerate(texts)}
        self._dtype = np.dtype(np.int8 if len(texts) <= _MOST_INT8 else np.int32)
        self.places = list(range(len(texts)))

    def codes(self, labels: Sequence[Any], chosen: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the code of each row's stratum, as int8 or int32.

        Parameters
        ----------
        labels
            The label of each row; or different labels, of which ``chosen`` has an index for each row. None is missing.
        chosen
            Indices into ``labels``, -1 where the label is missing.

        Raises
        ------
        BadCellError
            At the first row without a stratum, or with one that has no name here; a label no row has does no harm.
        """
        found = [-1 if label is None else self._code_of.get(str(label), -2) for label in labels]
        table = np.array([*found, -1], np.int64)  # an index of -1 takes the last
        codes = table[:-1] if chosen is None else table[chosen]
        if codes.size and int(codes.min()) < 0:
            row = int(np.argmax(codes < 0))
            raise BadCellError(row, MISSING_STRATUM if codes[row] == -1 else UNKNOWN_STRATUM)
        return codes.astype(self._dtype)
