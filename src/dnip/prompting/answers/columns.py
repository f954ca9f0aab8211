"""Rows that hold the probability of each class in a column: CSV, Parquet, JSON lines."""

from __future__ import annotations

from typing import Any

from dnip.base.errors import InvalidInputError, listed
from dnip.prompting.answers.source import Row, Source, Wanted, as_number, in_class_order
from dnip.tables.columns import MASS


def _recognises(content: Any) -> bool:  # noqa: ANN401
    return isinstance(content, dict) and not any(
        isinstance(value, dict | list) for value in content.values()
    )


def _read(content: Any, wanted: Wanted) -> Row:  # noqa: ANN401
    missing = [name for name in wanted.names if name not in content]
    if missing:
        raise InvalidInputError(
            f"there is no column {missing[0]}; the columns are {listed(tuple(content))}",
            hint="Name the column of a class with --map CLASS=COLUMN",
        )
    scores = in_class_order({name: content[name] for name in wanted.names}, wanted)
    mass = content.get(MASS)
    others = {name: cell for name, cell in content.items() if name not in (*wanted.names, MASS)}
    return Row(scores, mass=None if mass in (None, "") else as_number(mass, MASS), others=others)


COLUMNS = Source("a column for each class", _recognises, _read)
