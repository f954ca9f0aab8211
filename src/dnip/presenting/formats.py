"""Values as text."""

from __future__ import annotations

import math

from dnip.presenting.artefacts import Column, Estimate, Value


def show(value: Value, column: Column) -> str:
    """Return a value as a column prints it.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column
    >>> [show(v, Column("accuracy", 3)) for v in (0.5213, 1234, "?", None)]
    ['0.521', '1,234', '?', '-']
    >>> show(Estimate(0.12, 0.1, 0.15), Column("change", 2, signed=True))
    '+0.12 [+0.10, +0.15]'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        shown, low, high = (show(part, column) for part in value)
        return f"{shown} [{low}, {high}]"
    if value is None or not math.isfinite(value):
        return "-"
    sign = "+" if column.signed else ""
    if isinstance(value, int):
        return f"{value:{sign},}"
    return f"{round(value, column.digits) + 0.0:{sign},.{column.digits}f}"  # no minus before 0


def percent(rate: float) -> str:
    """Return a rate in per cent, with the digits that `show` gives it with three.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column
    >>> percent(198 / 260), percent(0.8125), show(0.8125, Column("accuracy", 3))
    ('76.2 %', '81.2 %', '0.812')
    """
    return f"{100 * round(rate, 3):.1f} %"
