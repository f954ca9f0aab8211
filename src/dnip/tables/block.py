"""Rows of a table in the form in which every format writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from dnip.errors import InvalidInputError
from dnip.tables.columns import (
    ID,
    LABEL,
    MASS,
    PREDICTION,
    SAMPLES,
    default_classes,
    probability_columns,
)
from dnip.tables.labels import UNLABELLED
from dnip.validation import check_labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dnip.tables.table import ProbabilityTable
    from dnip.typing import Labels, Probabilities

Numbers = TypeVar("Numbers", bound="NDArray[np.float64] | NDArray[np.int64]")
#: A label as it is written: the class name, or the index of a class that has no other name.
LabelCell: TypeAlias = str | int | None
Leading: TypeAlias = dict[str, list[str] | list[LabelCell] | list[float] | list[int]]


@dataclass(frozen=True)
class Block:
    """Columns ready to be written: those before the class columns, where present, then p0...

    Parameters
    ----------
    leading : dict of str to list
        `id`, `label`, `prediction`, `mass` and `samples`; None marks an empty label.
    probabilities : ndarray of shape (M, N)
        The class columns.
    classes : tuple of str
        Class names.
    """

    leading: Leading
    probabilities: Probabilities
    classes: tuple[str, ...]

    @property
    def class_columns(self) -> tuple[str, ...]:
        """Names of the class columns."""
        return probability_columns(len(self.classes))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return (*self.leading, *self.class_columns)

    @property
    def named(self) -> bool:
        """Whether the classes have names other than their indices."""
        return self.classes != default_classes(len(self.classes))


def block_of(
    table: ProbabilityTable,
    predictions: ArrayLike | None = None,
    mass: ArrayLike | None = None,
    samples: ArrayLike | None = None,
) -> Block:
    """Return the columns of a table, with those that are given beside it."""
    names: tuple[LabelCell, ...] = table.classes
    if table.classes == default_classes(table.n_classes):
        names = tuple(range(table.n_classes))
    leading: Leading = {}
    if table.ids is not None:
        leading[ID] = table.ids.tolist()
    if table.labels is not None:
        leading[LABEL] = _cells(table.labels, names)
    if predictions is not None:
        checked = check_labels(predictions, n_examples=len(table), n_classes=table.n_classes)
        leading[PREDICTION] = _cells(checked, names)
    if mass is not None:
        leading[MASS] = _one_per_row(MASS, np.asarray(mass, np.float64), len(table)).tolist()
    if samples is not None:
        leading[SAMPLES] = _one_per_row(SAMPLES, np.asarray(samples, np.int64), len(table)).tolist()
    return Block(leading, table.probabilities, table.classes)


def _one_per_row(name: str, values: Numbers, n_rows: int) -> Numbers:
    if values.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}, but {n_rows} rows need ({n_rows},)"
        )
    return values


def _cells(indices: Labels, names: tuple[LabelCell, ...]) -> list[LabelCell]:
    return [None if index == UNLABELLED else names[index] for index in indices.tolist()]
