"""Tables as people hold them: arrays and labels, data frames, files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.arrays import check_vector
from dnip.base.errors import InvalidInputError, listed
from dnip.base.validation import check_classes
from dnip.tables.cells import UNLABELLED, LabelRule, check_scalars, is_missing
from dnip.tables.columns import LABEL, CellLocation, default_classes
from dnip.tables.guards import check_order
from dnip.tables.rows import Rows
from dnip.tables.table import ProbabilityTable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

#: What holds probabilities: a table, an array, a data frame, or the path of a table.
TableLike: TypeAlias = "ProbabilityTable | ArrayLike | IntoDataFrame | str | os.PathLike[str]"


def as_table(
    data: TableLike, y: ArrayLike | None = None, classes: Sequence[Any] | None = None
) -> ProbabilityTable:
    """Make a table of what a user has: probabilities with their labels, or a whole table.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable or path
        Class probabilities, shape (M, N); or a table, which may hold its labels.
    y : array-like of shape (M,), optional
        Labels; None, NaN and "" are rows without one, and so is -1 unless it is one of N labels.
    classes : sequence, optional
        The class of each column, in order. By default the names of a data frame's columns. Else
        labels 0..N-1 are the numbers of columns, and others are the classes in sorted order, as in
        scikit-learn.

    Raises
    ------
    InvalidInputError
        For arrays of other lengths, labels that are no classes, columns that could be any, and
        columns for whose order the labels do not speak at all.

    Warns
    -----
    DNIPWarning
        Where columns without names are taken for labels that are names.

    Examples
    --------
    >>> table = as_table([[0.75, 0.25], [0.5, 0.5]], ["spam", "ham"])
    >>> table.classes, table.labels
    (('ham', 'spam'), array([1, 0]))
    """
    if isinstance(data, str | os.PathLike):
        data = ProbabilityTable.read(data, classes)
    elif hasattr(type(data), "columns") and not isinstance(data, ProbabilityTable):
        data = ProbabilityTable.from_frame(data, classes)
    elif not isinstance(data, ProbabilityTable):
        data = ProbabilityTable(data, classes=() if classes is None else check_classes(classes))
    if y is None:
        return data
    if data.labels is not None:
        raise InvalidInputError(
            f"{data.source} holds labels of its own, but y was given too",
            hint="Leave y out; coefficients are given by their name: coefficients=...",
        )
    # a list may hold None beside texts, which numpy would make a text
    array = check_vector("y", y, len(data), None if hasattr(y, "dtype") else np.object_)
    labels, location = [_plain(label) for label in array.tolist()], _Labels("y", ())
    check_scalars(labels, LABEL, location)
    names = data.classes
    if unnamed := classes is None and names == default_classes(data.n_classes):
        names = _sorted_labels(labels, data.n_classes)
    if str(UNLABELLED) not in names:
        labels = [None if label == UNLABELLED else label for label in labels]
    read = LabelRule(names).read(labels, location)
    if unnamed and any(isinstance(label, str) for label in labels):
        known = read != UNLABELLED
        check_order(data.probabilities[known], read[known], names)
    return ProbabilityTable.trusted(Rows(**{**vars(data), "labels": read, "classes": names}))


class _Labels(CellLocation):
    """The labels of an array."""

    def named(self, row: int, column: str) -> str:
        """Name a label."""
        return f"{self.source}[{row}]"


def _plain(label: object) -> object:
    """Return a label as a user would write it: numbers of a column with gaps are floats."""
    if is_missing(label) or str(label) in ("", "<NA>"):  # the latter is of pandas
        return None
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _number_or_text(label: object) -> tuple[float, str]:
    return (label, "") if isinstance(label, int | float) else (math.inf, str(label))


def _sorted_labels(labels: Sequence[object], n_classes: int) -> tuple[str, ...]:
    """Return the classes of columns without a name: their numbers, or the sorted labels."""
    found = dict.fromkeys(label for label in labels if label is not None)
    known = sorted(found, key=_number_or_text)
    if UNLABELLED in known and len(known) != n_classes:
        known.remove(UNLABELLED)
    if all(label in range(n_classes) and not isinstance(label, bool) for label in known):
        return default_classes(n_classes)
    if len(known) != n_classes:
        raise InvalidInputError(
            f"there are {n_classes} columns of probabilities, but y holds the labels "
            f"{listed(list(map(str, known)))}",
            hint="Give classes=[...], the class of each column in order, also those that y lacks",
        )
    return check_classes(list(map(str, known)))
