"""Rows on their way from a file or a data frame to a table, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.typing import Floats, Labels, Probabilities
from dnip.tables.columns import CellLocation, Layout, resolve_columns

# What messages call a data frame.
_SOURCE = "frame"

#: Cells of a column: of one type as an array, else one by one.
Cells: TypeAlias = "Sequence[Any] | NDArray[Any]"

# Cells that are held at once: rows of many classes come in shorter blocks.
_MAX_CELLS = 1 << 20


def rows_per_block(most: int, n_columns: int) -> int:
    """Return how many rows to hold at once.

    Examples
    --------
    >>> rows_per_block(65_536, 5), rows_per_block(65_536, 1_000)
    (65536, 1048)
    """
    return max(1, min(most, _MAX_CELLS // max(1, n_columns)))


def as_list(cells: Cells) -> Sequence[Any]:
    """Return cells as values of Python."""
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


@dataclass(frozen=True)
class Block:
    """Some rows of a file as columns: as a reader found them, or ready to be written.

    Parameters
    ----------
    layout : Layout
        What each column holds.
    columns : mapping of str to sequence of length M
        The cells of the columns that are read or written, in the order of the file.
    first_row : int, default=0
        Which row of the file, counted from 0, is the first of these.
    as_text : bool, default=False
        Whether numbers are texts.
    """

    layout: Layout
    columns: Mapping[str, Cells]
    first_row: int = 0
    as_text: bool = False

    @property
    def location(self) -> CellLocation:
        """How to name a cell in a message."""
        return self.layout.location(self.first_row)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows after all checks: some of a file, or as a `ProbabilityTable` a set of examples.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Rows sum to 1. In rows from a file each column is contiguous.
    labels : ndarray of shape (M,) or None
        Class indices, -1 for an unlabelled row; None where there is no label column.
    ids : array of str, shape (M,), or None
        A name for each row; None where there is no id column.
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
    corrected_by : str or None
        The hash of the coefficients that corrected the probabilities; None for those of a model.
    """

    probabilities: Probabilities
    labels: Labels | None
    ids: NDArray[np.object_] | None
    classes: tuple[str, ...]
    source: str
    mass: Floats | None = None
    others: Mapping[str, Sequence[object]] | None = None
    columns: tuple[str, ...] | None = None
    corrected_by: str | None = None

    def __len__(self) -> int:
        """Return the number of rows, M."""
        return len(self.probabilities)

    def corrected(self, probabilities: Probabilities, by: str) -> Rows:
        """Return the same rows with corrected probabilities, shape (M, N), and their mark."""
        return Rows(**{**vars(self), "probabilities": probabilities, "corrected_by": by})


def joined(blocks: Iterable[Rows]) -> Rows:
    """Return all rows together, their probabilities contiguous row by row."""
    parts = list(blocks)

    def whole(name: str) -> Any:  # noqa: ANN401 - an array or None
        known = [own for part in parts if (own := getattr(part, name)) is not None]
        return np.concatenate(known) if known else None

    return Rows(
        np.ascontiguousarray(whole("probabilities")),
        whole("labels"),
        whole("ids"),
        parts[0].classes,
        parts[0].source,
        whole("mass"),
        corrected_by=next((part.corrected_by for part in parts if part.corrected_by), None),
    )


def read_frame(frame: Any, classes: tuple[str, ...] | None) -> Block:  # noqa: ANN401
    """Return the rows of a data frame; an index is ignored.

    Raises
    ------
    InvalidInputError
        For anything but a data frame whose rows are in memory, and for columns that are missing.
    """
    narwhals = load_optional("narwhals", purpose="read data frames", extra="pandas")
    try:
        found: list[Any] = list(narwhals.from_native(frame, eager_only=True).iter_columns())
    except TypeError as error:
        kind = type(frame)
        raise InvalidInputError(
            f"a data frame is needed; got {kind.__module__.partition('.')[0]}.{kind.__name__}",
            hint="Collect a lazy frame first; for arrays use ProbabilityTable(probabilities, ...)",
        ) from error
    except narwhals.exceptions.DuplicateError as error:
        raise InvalidInputError(
            f"{_SOURCE}: two columns have the same name", hint="Give every column a name of its own"
        ) from error
    names = [str(one.name) for one in found]
    series = dict(zip(names, found, strict=True))
    if classes is None and len(names) > 1 and all(name.isdigit() for name in names):
        classes = tuple(names)  # no row of a file without a header, but numbers of classes
    layout = resolve_columns(names, classes=classes, source=_SOURCE)
    return Block(layout, {name: _cells(series[name]) for name in layout.columns})


def _cells(series: Any) -> NDArray[np.generic] | Sequence[object]:  # noqa: ANN401
    """Return an array where the column has no empty cells, Python values where it has."""
    if series.dtype.is_numeric() and not series.null_count():
        return np.asarray(series.to_numpy())
    empty = series.is_null()
    return [None if missing else cell for cell, missing in zip(series, empty, strict=True)]
