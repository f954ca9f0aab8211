"""Rows on their way from a file to a table, and how messages name their cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Integers, Labels, Probabilities
    from dnip.tables.columns import Layout


@dataclass(frozen=True)
class CellLocation:
    """Cells of a run of rows of one file.

    Parameters
    ----------
    source : str
        The file.
    columns : tuple of str
        Names of the class columns, in class order.
    first_row : int, default=0
        Which row of the file, counted from 0, is row 0 of the run.
    remedy : str, default=""
        What to do about a cell that holds no number, where a number is not all that may be missing.

    Examples
    --------
    >>> location = CellLocation("opt.csv", ("p0", "p1"), first_row=100)
    >>> location.cell(2, 1)
    'opt.csv: row 103, column p1'
    """

    source: str
    columns: tuple[str, ...]
    first_row: int = 0
    remedy: str = ""

    def whole(self) -> str:
        """Name the file."""
        return self.source

    def cell(self, row: int, column: int | None = None) -> str:
        """Name a row of the run, and its class column if given; rows count from 1."""
        name = f"{self.source}: row {self.first_row + row + 1}"
        return name if column is None else f"{name}, column {self.columns[column]}"

    def named(self, row: int, column: str) -> str:
        """Name a cell of a column that is no class column."""
        return f"{self.cell(row)}, column {column}"


def shown(value: object, most: int = 60) -> str:
    """Return a value for a message: quoted if it is a text, cut if it is long.

    Examples
    --------
    >>> shown("abc"), shown("0" * 100, most=10)
    ("'abc'", "'000000000...")
    """
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= most else f"{text[:most]}..."


#: Cells that are held at once: rows of many classes come in shorter chunks.
_MAX_CELLS = 1 << 20


def rows_per_chunk(chunk_rows: int, n_columns: int) -> int:
    """Return how many rows to hold at once, `chunk_rows` at most.

    Examples
    --------
    >>> rows_per_chunk(65_536, 5), rows_per_chunk(65_536, 1_000)
    (65536, 1048)
    """
    return max(1, min(chunk_rows, _MAX_CELLS // max(1, n_columns)))


#: Row ids: Python texts, or where they come from Parquet a pyarrow array of texts.
Ids: TypeAlias = "NDArray[np.object_] | pa.Array"


#: Columns that mean nothing here: a cell per row.
Others: TypeAlias = "Mapping[str, Sequence[object]]"


class Codes(NamedTuple):
    """A column of few distinct cells: cell i is ``values[codes[i]]``."""

    values: Sequence[object]
    codes: Integers

    def cells(self) -> list[object]:
        """Return the cells one by one."""
        return [self.values[code] for code in self.codes.tolist()]


@dataclass(frozen=True)
class RawChunk:
    """Rows as a reader found them: numbers are numbers, nothing else is checked.

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
    others : mapping of str to sequence of length M, or None
        Cells of the columns that mean nothing here, where they are asked for.
    rows_before : int
        Rows of the table in the files before this one.
    """

    layout: Layout
    numbers: Floats
    labels: Sequence[object] | Codes | None
    ids: Sequence[object] | pa.Array | None
    first_row: int = 0
    others: Others | None = None
    rows_before: int = 0

    @property
    def table_row(self) -> int:
        """Which row of the table is the first of these."""
        return self.rows_before + self.first_row

    @property
    def probabilities(self) -> Probabilities:
        """The class columns, shape (M, N)."""
        return self.numbers[:, : len(self.layout.probabilities)]

    @property
    def mass(self) -> Floats | None:
        """The column `mass`, shape (M,); None where there is no such column."""
        return self.numbers[:, -1] if self.layout.has_mass else None

    @property
    def location(self) -> CellLocation:
        """How to name the chunk's cells in a message."""
        return self.layout.location(self.first_row)


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
        """Captured mass of each row, None where it is not known."""
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
    others : mapping of str to sequence of length M, or None
        Cells of the columns that mean nothing here, where they are asked for.
    columns : tuple of str or None
        Names of the class columns in the file; None for rows that were not read from a file.
    first_row : int or None
        Which row of the table, counted from 0, is the first of these; None for rows that were not
        read from a file.
    """

    probabilities: Probabilities
    labels: Labels | None
    ids: Ids | None
    classes: tuple[str, ...]
    source: str
    mass: Floats | None = None
    others: Others | None = None
    columns: tuple[str, ...] | None = None
    first_row: int | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.probabilities)


def joined(chunks: Iterable[Chunk]) -> Chunk:
    """Return all rows as one chunk, whose probabilities are contiguous row by row."""
    parts = list(chunks)
    labels = [part.labels for part in parts if part.labels is not None]
    ids = [np.array(part.ids.tolist(), np.object_) for part in parts if part.ids is not None]
    mass = [part.mass for part in parts if part.mass is not None]
    return Chunk(
        np.ascontiguousarray(np.concatenate([part.probabilities for part in parts])),
        np.concatenate(labels) if labels else None,
        np.concatenate(ids) if ids else None,
        parts[0].classes,
        parts[0].source,
        np.concatenate(mass) if mass else None,
    )
