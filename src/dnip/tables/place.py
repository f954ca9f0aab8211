"""Names of cells of a file and values found there, for messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FilePlace:
    """Cells of a run of rows of one file.

    Parameters
    ----------
    source : str
        The file.
    columns : tuple of str
        Names of the class columns, in class order.
    first_row : int, default=0
        Which row of the file, counted from 0, is row 0 of the run.

    Examples
    --------
    >>> place = FilePlace("opt.csv", ("p0", "p1"), first_row=100)
    >>> place.cell(2, 1)
    'opt.csv: row 103, column p1'
    """

    source: str
    columns: tuple[str, ...]
    first_row: int = 0

    def whole(self) -> str:
        """Name the file."""
        return self.source

    def cell(self, row: int, column: int | None = None) -> str:
        """Name a row of the run, and its class column if given; rows are told from 1."""
        name = f"{self.source}: row {self.first_row + row + 1}"
        return name if column is None else f"{name}, column {self.columns[column]}"

    def named(self, row: int, column: str) -> str:
        """Name a cell of a column that is no class column."""
        return f"{self.cell(row)}, column {column}"


def shown(value: object, most: int = 60) -> str:
    """Return a value as it shall stand in a message: quoted if it is a text, cut if it is long.

    Examples
    --------
    >>> shown("abc"), shown("0" * 100, most=10)
    ("'abc'", "'000000000...")
    """
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= most else f"{text[:most]}..."
