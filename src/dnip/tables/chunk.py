"""The two forms of a run of rows on its way from a file to a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from dnip.tables.place import FilePlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Integers, Labels, Probabilities
    from dnip.tables.columns import Layout

#: Row ids: Python texts, or where they come from Parquet a pyarrow array of texts.
Ids: TypeAlias = "NDArray[np.object_] | pa.Array"


class Codes(NamedTuple):
    """A column of few distinct cells: cell i is ``values[codes[i]]``."""

    values: Sequence[object]
    codes: Integers

    def cells(self) -> list[object]:
        """Return the cells one by one."""
        return [self.values[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class RawChunk:
    """Rows as a reader found them: cells of numbers are numbers, nothing more is checked.

    Parameters
    ----------
    layout : Layout
        The columns of the file.
    numbers : ndarray of shape (M, N) or (M, N + 1)
        Class columns in class order and `mass` where present, each contiguous.
    labels : sequence of length M, Codes, or None
        Cells of the column `label`; None where there is no such column.
    ids : sequence of length M, pyarrow array of texts, or None
        Cells of the column `id`; None where there is no such column.
    first_row : int
        Which row of the file, counted from 0, is the first of these.
    """

    layout: Layout
    numbers: Floats
    labels: Sequence[object] | Codes | None
    ids: Sequence[object] | pa.Array | None
    first_row: int = 0

    @property
    def probabilities(self) -> Probabilities:
        """The class columns, shape (M, N)."""
        return self.numbers[:, : len(self.layout.probabilities)]

    @property
    def mass(self) -> Floats | None:
        """The column `mass`, shape (M,); None where there is no such column."""
        return self.numbers[:, -1] if self.layout.has_mass else None

    @property
    def place(self) -> FilePlace:
        """How to name the chunk's cells in a message."""
        return FilePlace(self.layout.source, self.layout.numbers, self.first_row)


class Rows(Protocol):
    """What a `ProbabilityTable` and a `Chunk` have in common: checked rows."""

    @property
    def probabilities(self) -> Probabilities:
        """Class probabilities, shape (M, N)."""
        ...

    @property
    def labels(self) -> Labels | None:
        """Class indices, -1 for an unlabelled row; None where there is no label column."""
        ...

    @property
    def ids(self) -> Ids | None:
        """A text for each row, None where there is no id column."""
        ...

    @property
    def mass(self) -> Floats | None:
        """What a language model put on all labels together, None where that is not known."""
        ...

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names."""
        ...

    @property
    def source(self) -> str:
        """Where the rows come from, for messages."""
        ...


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows after all checks.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Rows sum to 1. In chunks from a file each column is contiguous.
    labels : ndarray of shape (M,) or None
        Class indices, -1 for an unlabelled row; None where there is no label column.
    ids : array of str, pyarrow array of texts, or None
        A text for each row; None where there is no id column.
    classes : tuple of str
        Class names.
    source : str
        The table that the rows belong to, for messages.
    mass : ndarray of shape (M,) or None
        Captured mass of each row; None where there is no such column.
    """

    probabilities: Probabilities
    labels: Labels | None
    ids: Ids | None
    classes: tuple[str, ...]
    source: str
    mass: Floats | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.probabilities)
