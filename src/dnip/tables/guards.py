"""What must hold of tables before they are fitted or scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import (
    CoefficientsFormatError,
    CorrectedError,
    InvalidInputError,
    listed,
    warn,
)
from dnip.base.typing import Labels, Probabilities
from dnip.base.validation import check_several_classes
from dnip.metrics.order import better_order
from dnip.tables.cells import UNLABELLED
from dnip.tables.columns import CONTENT_FREE

if TYPE_CHECKING:
    from dnip.method.coefficients import Coefficients
    from dnip.tables.rows import Rows
    from dnip.tables.table import ProbabilityTable


def check_raw(*tables: Rows | None) -> None:
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


def check_same_classes(rows: Rows, coefficients: Coefficients) -> None:
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


def check_disjoint(opt: ProbabilityTable, other: ProbabilityTable, role: str = "test") -> None:
    """Refuse a table to score on that has other classes than the opt table, or rows of it.

    Parameters
    ----------
    opt : ProbabilityTable
        The rows that are fitted.
    other : ProbabilityTable
        The rows that are scored.
    role : str, default="test"
        What the message calls the second table.

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
    hint = f"Give a {role} table of other rows: scores on rows that were fitted on say nothing"
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


def check_order(probabilities: Probabilities, labels: Labels, classes: Sequence[str]) -> None:
    """Say that columns without names are taken for the sorted labels, or refuse that.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        The sorted labels.

    Raises
    ------
    InvalidInputError
        Where the labels speak overwhelmingly for another order, as `better_order` says.
    """
    told = f"the columns of probabilities are taken for the sorted labels, {listed(classes, 20)}"
    found = better_order(probabilities, labels)
    if found is None:
        warn(f"{told}, as in scikit-learn; classes=[...] gives another order")
        return
    order = [classes[c] for c in found]
    raise InvalidInputError(
        f"{told}, as in scikit-learn, but the labels speak for the order {listed(order, 20)}",
        hint="Give classes=[...], the class of each column in order",
    )


def check_classes_agree(first: ProbabilityTable, other: ProbabilityTable) -> None:
    """Refuse two tables of different classes, or of the same classes in another order."""
    if other.classes != first.classes:
        raise InvalidInputError(
            f"{other.source} has the classes {listed(other.classes)}, but {first.source} has "
            f"{listed(first.classes)}",
            hint="Give tables of the same classes, in the same order",
        )
