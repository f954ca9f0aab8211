"""The two forms of a run of rows on its way from a file to a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dnip.tables.place import FilePlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from dnip.tables.columns import Layout
    from dnip.typing import Labels, Probabilities


@dataclass(frozen=True)
class RawChunk:
    """Rows as a reader found them: probabilities are numbers, nothing more is checked.

    Parameters
    ----------
    layout : Layout
        The columns of the file.
    probabilities : ndarray of shape (M, N)
        Class columns in class order.
    labels, ids : sequence of length M, or None
        Cells of the columns `label` and `id`; None where there is no such column.
    first_row : int
        Which row of the file, counted from 0, is the first of these.
    """

    layout: Layout
    probabilities: Probabilities
    labels: Sequence[object] | None
    ids: Sequence[object] | None
    first_row: int = 0

    @property
    def place(self) -> FilePlace:
        """How to name the chunk's cells in a message."""
        return FilePlace(self.layout.source, self.layout.probabilities, self.first_row)


class Chunk(NamedTuple):
    """Rows after all checks, as the arguments of a `ProbabilityTable`."""

    probabilities: Probabilities
    labels: Labels | None
    ids: NDArray[np.object_] | None
    classes: tuple[str, ...]
