"""The paper's own numbers, as data: every number of its tables, and those its text states.

One JSON file per experiment. ``place`` says where in the paper the numbers stand, ``rows``
are those of its table, and ``remarks`` say what does not fit together there, or that a figure is a
picture without numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dnip.presenting.artefacts import Column, Spread, Table
from dnip.prompting.plan import BALANCED
from reproduction.methods import PAPER, RAW
from reproduction.naming import short_task
from reproduction.results import CellResult, Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Value


@dataclass(frozen=True)
class Published:
    """What the paper reports of one experiment.

    Attributes
    ----------
    experiment : str
    place : str
        Where in the paper the numbers stand.
    numbers : dict
        The rest of the file.
    remarks : tuple of str
        What does not fit together, is missing, or was taken as printed.
    """

    experiment: str
    place: str
    numbers: dict[str, Any]
    remarks: tuple[str, ...]


@cache
def published(experiment: str) -> Published:
    """Return what the paper reports of an experiment.

    Examples
    --------
    >>> published("time").place
    'table 3; section 5.2; appendix C'
    """
    content = _read(experiment)
    place, remarks = content.pop("place"), content.pop("remarks")
    return Published(experiment, place, content, tuple(remarks))


def paper_table(experiment: str) -> Table | None:
    """Return the paper's numbers of an experiment as a table; None where it has pictures alone.

    Examples
    --------
    >>> table = paper_table("time")
    >>> [column.title for column in table.columns], table.rows[0]
    (['Task', 'Seconds', 'Variable space'], ['AGN', 2278, 120])
    """
    found = published(experiment)
    numbers = found.numbers
    if "rows" not in numbers:
        return None
    digits = numbers.get("digits", 1)
    names = [short_task(name) for name in numbers.get("classes", numbers.get("tasks", ()))]
    rows = [_values(row, names) for row in numbers["rows"]]
    columns = [
        Column(title, digits, group=group)
        for group, title in dict.fromkeys(place for row in rows for place in row)
    ]
    return Table(
        f"paper-{experiment}",
        "The paper's numbers",
        columns,
        [[row.get((column.group, column.title)) for column in columns] for row in rows],
    )


def _values(row: dict[str, Any], names: Sequence[str]) -> dict[tuple[str, str], Value]:
    """Return the values of a row by group and title of their columns."""
    found: dict[tuple[str, str], Value] = {}
    for key, value in row.items():
        title = key[0].upper() + key[1:].replace("_", " ")
        if isinstance(value, list) and len(value) == len(names):
            parts = zip(names, map(_value, value), strict=True)
            found |= {(title, name): part for name, part in parts}
        else:
            found["", title] = short_task(value) if key == "task" else _value(value)
    return found


def _value(value: Any) -> Value:  # noqa: ANN401 - a JSON value
    """Return a value as a table holds it: a pair is a mean and its standard deviation."""
    shown: Value = Spread(*value) if isinstance(value, list) else value
    return shown


@cache
def table_2() -> Results:
    """Return table 2 as results: a cell for each model, setting and task, in rates.

    Examples
    --------
    >>> [round(table_2().over_rows("paper", metric), 3) for metric in ("accuracy", "cobias")]
    [0.676, 0.147]
    """
    numbers = published("main").numbers
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in numbers["rows"]:
        shots = int(row["shots"]) if row["shots"].isdigit() else BALANCED
        way = {"raw": RAW, "dnip": PAPER}[row["method"]]
        for task, (mean, _) in zip(numbers["tasks"], row["tasks"], strict=True):
            found = cells.setdefault((row["model"], shots, task), {})
            found.setdefault(way, {})[row["metric"]] = mean / 100
    names = ("model", "shots", "task")
    return Results(
        tuple(CellResult(dict(zip(names, key, strict=True)), one) for key, one in cells.items())
    )


def citation() -> str:
    """Return authors and title of the paper.

    Examples
    --------
    >>> citation().startswith("Ruixi Lin and Yang You")
    True
    """
    paper = _read("paper")
    return f"{paper['authors']}, “{paper['title']}”"


def _read(name: str) -> dict[str, Any]:
    text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
