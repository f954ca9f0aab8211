"""Rows of a table as columns, ready to be written in any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from dnip.base.arrays import check_labels
from dnip.base.errors import InvalidInputError
from dnip.tables.chunk import Chunk
from dnip.tables.columns import (
    FALLBACK,
    ID,
    LABEL,
    MASS,
    PREDICTION,
    SAMPLES,
    class_columns,
    default_classes,
)
from dnip.tables.labels import UNLABELLED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dnip.base.typing import Probabilities
    from dnip.tables.chunk import Ids, Others, Rows

Numbers = TypeVar("Numbers", bound="NDArray[np.float64] | NDArray[np.int64]")
#: A label as it is written: the class name, or the index of a class that has no other name.
LabelCell: TypeAlias = str | int | None
Cells: TypeAlias = list[str] | list[LabelCell] | list[float] | list[int]

#: Leading columns that hold class indices, -1 for an empty cell.
LABEL_COLUMNS = frozenset({LABEL, PREDICTION})


@dataclass(frozen=True)
class Block:
    """Columns ready to be written: those before the class columns, where present, then these.

    Parameters
    ----------
    leading : dict of str to array
        `id`, `label`, `prediction`, `mass`, `samples` and `fallback`; labels and predictions as
        class indices.
    probabilities : ndarray of shape (M, N)
        The class columns.
    classes : tuple of str
        Class names.
    class_columns : tuple of str
        Names of the class columns: those that the rows came with, or those of the classes.
    """

    leading: dict[str, Ids | NDArray[Any]]
    probabilities: Probabilities
    classes: tuple[str, ...]
    class_columns: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return (*self.leading, *self.class_columns)

    @property
    def named(self) -> bool:
        """Whether the classes have names other than their indices."""
        return self.classes != default_classes(len(self.classes))

    def cells(self, name: str) -> Cells:
        """Return a leading column as Python values, None for an empty label."""
        values: list[Any] = self.leading[name].tolist()
        if name not in LABEL_COLUMNS:
            return values
        names: tuple[LabelCell, ...] = self.classes
        if not self.named:
            names = tuple(range(len(self.classes)))
        return [None if index == UNLABELLED else names[index] for index in values]


def block_of(
    rows: Rows,
    predictions: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    samples: ArrayLike | None = None,
    fallback: ArrayLike | None = None,
    others: Others | None = None,
) -> Block:
    """Return rows as columns, with further columns."""
    n_rows, n_classes = rows.probabilities.shape
    leading: dict[str, Ids | NDArray[Any]] = {}
    if rows.ids is not None:
        leading[ID] = rows.ids
    if rows.labels is not None:
        leading[LABEL] = rows.labels
    if predictions is not None:
        leading[PREDICTION] = check_labels(predictions, n_examples=n_rows, n_classes=n_classes)
    mass = rows.mass if mass is None else mass
    if mass is not None:
        leading[MASS] = _one_per_row(MASS, np.asarray(mass, np.float64), n_rows)
    if samples is not None:
        leading[SAMPLES] = _one_per_row(SAMPLES, np.asarray(samples, np.int64), n_rows)
    if fallback is not None:
        leading[FALLBACK] = _one_per_row(FALLBACK, np.asarray(fallback, np.int64), n_rows)
    for name, cells in (others or {}).items():
        column = np.empty(n_rows, np.object_)
        column[:] = cells
        leading[name] = column
    columns = rows.columns if isinstance(rows, Chunk) else None
    return Block(leading, rows.probabilities, rows.classes, columns or class_columns(rows.classes))


def _one_per_row(name: str, values: Numbers, n_rows: int) -> Numbers:
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}, but {n_rows} rows need ({n_rows},)"
        )
    return values
