"""Which rows were fitted: a few of their hashes, which know them again in another table."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Probabilities
from dnip.tables.cells import row_hashes

# Hashes of rows that are kept.
_MOST_HASHES = 500
# Where more rows than this part are equal to others by chance, ids tell rows apart.
_BY_CHANCE = 0.02
# Standard deviations beyond chance from which an overlap is one.
_SURE = 4.0
_LARGEST = 1 << 64


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The rows of a fit, as the lowest of their hashes: what share of a table was fitted.

    A hash is that of the probabilities; of the id, too, where rounding makes many rows equal. No
    row can be read from it.

    Attributes
    ----------
    hashes : ndarray of uint64
        Ascending, without repeats.
    below : int
        Every row of the fit whose hash is below this is among them.
    by_id : bool
        Whether ids are hashed, too.
    chance : float
        How probably a row that was not fitted is equal to one that was.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    >>> fitted = FittedRows.of(p[:200], None)
    >>> overlap = Overlap(fitted)
    >>> overlap.add(p[100:], None)
    >>> overlap.share
    0.5
    """

    hashes: NDArray[np.uint64]
    below: int
    by_id: bool
    chance: float

    @classmethod
    def of(cls, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> Self:
        """Return the sketch of some rows, with their ids if they have any."""
        found = row_hashes(probabilities)
        chance = _repeated(found)
        by_id = chance > _BY_CHANCE and ids is not None
        if by_id:
            found = _with_ids(found, ids)
            chance = 0.0
        found = np.unique(found)
        below = int(found[_MOST_HASHES]) if len(found) > _MOST_HASHES else _LARGEST
        return cls(found[:_MOST_HASHES], below, by_id, float(f"{chance:.3g}"))

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as a coefficients file holds it."""
        return {
            "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode(),
            "below": f"{self.below:x}",
            "by_id": self.by_id,
            "chance": self.chance,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the sketch that `to_dict` wrote; ValueError, TypeError, KeyError for others."""
        hashes = np.frombuffer(base64.b64decode(content["hashes"], validate=True), "<u8")
        below, chance = int(content["below"], 16), float(content["chance"])
        if not 0 <= chance <= 1 or not len(hashes) or not int(hashes.max()) < below <= _LARGEST:
            raise ValueError("not hashes below a number")
        return cls(hashes.astype(np.uint64), below, bool(content["by_id"]), chance)


class Overlap:
    """Counts the rows of a stream that were fitted, as far as a sketch tells.

    Parameters
    ----------
    fitted : FittedRows
    """

    def __init__(self, fitted: FittedRows) -> None:
        self._fitted = fitted
        self.compared = self.found = 0

    def add(self, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> None:
        """Compare some rows; where ids are hashed, rows without ids are not compared."""
        if self._fitted.by_id and ids is None:
            return
        found = row_hashes(probabilities)
        if self._fitted.by_id:
            found = _with_ids(found, ids)
        if self._fitted.below < _LARGEST:
            found = found[found < np.uint64(self._fitted.below)]
        self.compared += len(found)
        self.found += int(np.isin(found, self._fitted.hashes).sum())

    def join(self, other: Overlap) -> None:
        """Add the counts of other rows."""
        self.compared += other.compared
        self.found += other.found

    @property
    def share(self) -> float:
        """The share of the rows that were fitted, less what is equal by chance; 0 for none."""
        chance, n = self._fitted.chance, self.compared
        if self.found <= chance * n + _SURE * math.sqrt(chance * n):
            return 0.0
        return max(0.0, (self.found / n - chance) / (1 - chance))

    @property
    def sentence(self) -> str:
        """What share of the rows was fitted; empty where none was."""
        if not self.share:
            return ""
        about = "" if self._fitted.below == _LARGEST else "about "
        return (
            f"{about}{self.share:.0%} of these rows ({self.found:,} of {self.compared:,} compared) "
            "are rows of the fit: they say little of other rows"
        )


def _with_ids(hashes: NDArray[np.uint64], ids: NDArray[np.object_] | None) -> NDArray[np.uint64]:
    """Return hashes that also depend on the ids."""
    assert ids is not None
    digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist())
    return hashes ^ np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _repeated(hashes: NDArray[np.uint64]) -> float:
    """Return the share of the rows that are equal to another."""
    counts = np.unique(hashes, return_counts=True)[1]
    return float(counts[counts > 1].sum() / max(len(hashes), 1))
