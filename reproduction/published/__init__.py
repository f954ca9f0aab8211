"""The paper's own numbers, as data: every number of its tables, and those its text states.

One JSON file per experiment. ``place`` says where in the paper the numbers stand, ``rows`` are
those of its table, ``claims`` what its text says of them, and ``remarks`` what does not fit
together there, or that a figure is a picture without numbers. ``note`` is ours: what to know of the
table that we put beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any


def published(experiment: str) -> dict[str, Any]:
    """Return what the paper reports of an experiment.

    Examples
    --------
    >>> published("time")["place"]
    'table 3; section 5.2; appendix C'
    """
    text = files(__name__).joinpath(f"{experiment}.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def paper_rows(experiment: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the paper's table of an experiment; no rows of a mere picture.

    Examples
    --------
    >>> header, rows = paper_rows("time")
    >>> header, rows[0]
    (['task', 'seconds', 'variable space'], ['agnews', '2278', '120'])
    """
    numbers = published(experiment)
    names = numbers.get("classes", numbers.get("tasks", []))
    rows: list[dict[str, str]] = []
    for row in numbers.get("rows", []):
        cells: dict[str, str] = {}
        for key, value in row.items():
            title = key.replace("_", " ")
            if isinstance(value, list) and len(value) == len(names):
                cells |= {f"{title} {n}": _text(v) for n, v in zip(names, value, strict=True)}
            elif key != "footnote":
                cells[title] = _text(value)
        rows.append(cells)
    header = list(dict.fromkeys(title for row in rows for title in row))
    return header, [[row.get(title, "") for title in header] for row in rows]


def table_2(method: str, metric: str, tasks: Sequence[str]) -> float:
    """Return the mean over the seven rows of table 2 and over some tasks, in rates.

    Examples
    --------
    >>> tasks = published("main")["tasks"]
    >>> [round(table_2("dnip", metric, tasks), 3) for metric in ("accuracy", "cobias")]
    [0.676, 0.147]
    """
    numbers = published("main")
    at = [numbers["tasks"].index(task) for task in tasks]
    rows = [r for r in numbers["rows"] if (r["method"], r["metric"]) == (method, metric)]
    values = [row["tasks"][place][0] / 100 for row in rows for place in at]
    return float(sum(values) / len(values))


def _text(value: Any) -> str:
    """Return a value as it is shown: a pair is a mean and its standard deviation."""
    if value is None:
        return ""
    if isinstance(value, list):
        mean, spread = value
        return f"{mean}" if spread is None else f"{mean} ± {spread}"
    return str(value)
