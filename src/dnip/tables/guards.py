"""Tables of what is given, and what must hold of them before they are fitted or scored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.classes import (
    UNLABELLED,
    check_classes,
    check_several_classes,
    default_classes,
    labelled_twice,
)
from dnip.base.columns import CONTENT_FREE
from dnip.base.errors import (
    CoefficientsFormatError,
    CorrectedError,
    InvalidInputError,
    listed,
    warn,
)
from dnip.method.coefficients import Coefficients
from dnip.metrics.chance import labels_of_columns
from dnip.tables.rows import read_frame
from dnip.tables.table import AnyRows, ProbabilityTable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


#: What holds probabilities: a table, an array, a data frame, or the path of a table.
TableLike: TypeAlias = "ProbabilityTable | ArrayLike | IntoDataFrame | str | os.PathLike[str]"

# From how many rows on, and in which share of them, labels look like the model's own answers.
_ENOUGH, _ALIKE = 30, 0.97


def check_raw(*tables: AnyRows | None) -> None:
    """Refuse corrected probabilities: weights are learned from those of a model, and used on them.

    Raises
    ------
    CorrectedError
        For the first table with a mark.
    """
    for rows in tables:
        if rows is not None and rows.corrected_by is not None:
            raise CorrectedError.at(rows.source, rows.corrected_by)


def tell_corrected(source: str, by: str | None) -> None:
    """Warn of probabilities that are corrected, where they may be: what looks at them says so."""
    if by is not None:
        warn(
            f"{source}: the probabilities are corrected already, by the coefficients {by}; what is "
            "said of raw ones is said of these"
        )


def tell_own_labels(source: str, n_alike: int, n_labelled: int) -> None:
    """Warn where labels are what the model says itself in nearly every row."""
    if n_labelled >= _ENOUGH and n_alike > _ALIKE * n_labelled:
        warn(
            f"{source}: the label is the most probable class in {n_alike:,} of {n_labelled:,} "
            "rows; make sure that the labels are not the model's own answers"
        )


def check_same_classes(rows: AnyRows, coefficients: Coefficients) -> None:
    """Refuse coefficients that were fitted for other classes than the table's."""
    if rows.classes != coefficients.classes:
        raise CoefficientsFormatError(
            f"{rows.source} has the classes {listed(rows.classes)}, but the coefficients "
            f"were fitted for {listed(coefficients.classes)}",
            hint="Apply coefficients to the task that they were fitted on",
        )


def scored_rows(table: ProbabilityTable, need: str = "a score") -> ProbabilityTable:
    """Return the rows that have a label, of at least two classes; the table where all have one.

    Parameters
    ----------
    table : ProbabilityTable
    need : str, default="a score"
        What the labels are needed for, for the message.

    Raises
    ------
    InvalidInputError
        If no row has a label, or only rows of one class have.
    """
    known = np.empty(0, np.bool_) if table.labels is None else table.labels != UNLABELLED
    if not known.any():
        raise InvalidInputError(
            f"{table.source}: no row has a label, and {need} needs labels",
            hint="Add a column `label` with the class of each row",
        )
    rows = table if known.all() else table.labelled()
    assert rows.labels is not None
    present = np.bincount(rows.labels, minlength=table.n_classes) > 0
    check_several_classes(present, table.classes, table.source)
    return rows


def check_disjoint(opt: ProbabilityTable, other: ProbabilityTable) -> None:
    """Refuse a table to score on that has other classes than the opt table, or rows of it.

    Parameters
    ----------
    opt : ProbabilityTable
        The rows that are fitted.
    other : ProbabilityTable
        The rows that are scored.

    Raises
    ------
    InvalidInputError
        If the classes differ, an id is in both, or both hold the same probabilities. Content-free
        rows may have the same ids.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> opt, copy = ProbabilityTable(p, source="opt.csv"), ProbabilityTable(p, source="copy.csv")
    >>> check_disjoint(opt, copy)
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: opt.csv and copy.csv hold the same rows. Give a test table \
of other rows: scores on rows that were fitted on say nothing
    """
    check_classes_agree(opt, other)
    hint = "Give a test table of other rows: scores on rows that were fitted on say nothing"
    if opt.ids is not None and other.ids is not None:
        known = set(opt.ids.tolist())
        shared = [name for name in other.ids.tolist() if name in known]
        shared = [name for name in shared if not name.startswith(CONTENT_FREE)]
        if shared:
            raise InvalidInputError(
                f"{len(shared):,} ids stand in both {opt.source} and {other.source}, the first is "
                f"{shared[0]!r}",
                hint=hint,
            )
    if np.array_equal(opt.probabilities, other.probabilities):
        raise InvalidInputError(f"{opt.source} and {other.source} hold the same rows", hint=hint)


def check_classes_agree(first: ProbabilityTable, other: ProbabilityTable) -> None:
    """Refuse two tables of different classes, or of the same classes in another order."""
    if other.classes != first.classes:
        raise InvalidInputError(
            f"{other.source} has the classes {listed(other.classes)}, but {first.source} has "
            f"{listed(first.classes)}",
            hint="Give tables of the same classes, in the same order",
        )


def as_table(
    data: TableLike,
    y: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
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
    label : str, optional
        The column of labels in a data frame, if it is not `label`.

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
    is_frame = hasattr(type(data), "columns") and not isinstance(data, ProbabilityTable)
    if label is not None and (y is not None or not is_frame):
        raise InvalidInputError(
            "label names the column of labels in a data frame",
            hint="Give the data frame without y, or leave label out",
        )
    if isinstance(data, str | os.PathLike):
        data = ProbabilityTable.read(data, classes)
    elif is_frame:
        data = ProbabilityTable(read_frame(data, classes, label, y))
    elif not isinstance(data, ProbabilityTable):
        data = ProbabilityTable(data, classes=() if classes is None else check_classes(classes))
    if y is None:
        return data
    if data.labels is not None:
        raise labelled_twice(data.source, "y")
    unnamed = classes is None and data.classes == default_classes(data.n_classes)
    known = None if unnamed else data.classes
    labels, names = labels_of_columns(data.probabilities, y, known, "y")
    return ProbabilityTable(replace(data.rows, labels=labels, classes=names))
