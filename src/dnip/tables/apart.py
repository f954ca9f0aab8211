"""Two tables that must not share rows: one to fit on, one to score on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError, listed

if TYPE_CHECKING:
    from dnip.tables.table import ProbabilityTable


def check_apart(opt: ProbabilityTable, other: ProbabilityTable, role: str = "test") -> None:
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
        If the classes differ, an id stands in both, or both hold the same data.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> check_apart(ProbabilityTable(p, source="opt.csv"), ProbabilityTable(p, source="copy.csv"))
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: opt.csv and copy.csv hold the same rows. Give a test table \
of other rows: scores on rows that were fitted on say nothing
    """
    if other.classes != opt.classes:
        raise InvalidInputError(
            f"{other.source} has the classes {listed(other.classes)}, but {opt.source} has "
            f"{listed(opt.classes)}",
            hint="Give two tables of the same classes, in the same order",
        )
    hint = f"Give a {role} table of other rows: scores on rows that were fitted on say nothing"
    if opt.ids is not None and other.ids is not None:
        shared = set(opt.ids.tolist()).intersection(other.ids.tolist())
        if shared:
            first = next(name for name in other.ids.tolist() if name in shared)
            raise InvalidInputError(
                f"{len(shared):,} ids stand in both {opt.source} and {other.source}, the first is "
                f"{first!r}",
                hint=hint,
            )
    if len(opt) == len(other) and opt.data_hash == other.data_hash:
        raise InvalidInputError(f"{opt.source} and {other.source} hold the same rows", hint=hint)
