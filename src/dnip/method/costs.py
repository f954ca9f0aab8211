"""What wrong predictions cost: a matrix, from an array or a file."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.classes import check_classes, is_number
from dnip.base.errors import InvalidInputError, listed
from dnip.base.files import read_named

_FORMS = (
    "Give one row per true class and one number per predicted class, as CSV or JSON, with or "
    "without class names in the first row and column"
)


@dataclass(frozen=True)
class Costs:
    """Costs of predictions, rows true classes, columns predicted ones.

    Attributes
    ----------
    values : tuple of tuple of float
        N × N, each at least 0. Right predictions may have costs, too.
    classes : tuple of str or None
        The class of each row and column; None if they are in the order of the task.

    Examples
    --------
    >>> Costs.of([[0, 5], [1, 0]]).values
    ((0.0, 5.0), (1.0, 0.0))
    """

    values: tuple[tuple[float, ...], ...]
    classes: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        costs: ArrayLike | Costs,
        classes: Sequence[str] | None = None,
        *,
        source: str = "costs",
    ) -> Costs:
        """Check a matrix of costs.

        Parameters
        ----------
        costs : array-like of shape (N, N)
        classes : sequence of str, optional
            The class of each row and column.
        source : str, default="costs"
            Where the numbers came from, for messages.

        Raises
        ------
        InvalidInputError
            For anything but a square matrix of finite numbers of at least 0, with a name for each
            class if there are names.
        """
        if isinstance(costs, Costs):
            return costs
        try:
            matrix = np.asarray(costs, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise _no_costs(f"{source} is not a matrix of numbers: {error}") from error
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise _no_costs(
                f"{source} has shape {matrix.shape}, but it needs as many rows as columns, one of "
                "each per class"
            )
        bad = ~np.isfinite(matrix) | (matrix < 0)
        if bad.any():
            i, j = (int(n) for n in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"{source}: the cost in row {i + 1}, column {j + 1} is {matrix[i, j]}, but costs "
                "are finite and at least 0",
                hint="Give 0 where a prediction costs nothing",
            )
        names = None if classes is None else check_classes(classes)
        if names is not None and len(names) != len(matrix):
            raise _no_costs(
                f"{source} has {len(matrix)} rows, but {len(names)} class names: {listed(names)}"
            )
        return cls(tuple(tuple(row) for row in matrix.tolist()), names)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Costs:
        r"""Read costs from a CSV or JSON file.

        CSV: the plain matrix, or with the predicted classes in the first row and the true class at
        the start of every other. JSON: the plain matrix, an object of objects by class name, or a
        file of coefficients that were fitted with costs.

        Parameters
        ----------
        path : path-like
            ``.json``, or CSV under any other suffix.

        Raises
        ------
        InvalidInputError
            For a file that cannot be read, or that holds something else.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "costs.csv")
        ...     _ = file.write_text("true,ham,spam\nspam,1,0\nham,0,5\n")
        ...     Costs.read(file).in_order(["ham", "spam"]).values
        ((0.0, 5.0), (1.0, 0.0))
        """
        source, text = str(path), read_named(path, _FORMS)
        if source.lower().endswith(".json"):
            return _from_json(text, source)
        return _from_csv(text, source)

    def in_order(self, classes: Sequence[str]) -> Costs:
        """Return the costs in the class order of a task.

        Raises
        ------
        InvalidInputError
            If the costs are of other classes, or of another number of them.
        """
        if self.classes is None:
            if len(self.values) != len(classes):
                raise InvalidInputError(
                    f"costs has {len(self.values)} rows and columns, but there are {len(classes)} "
                    f"classes: {listed(classes)}",
                    hint="Give the cost of every class taken for every class",
                )
            return self
        if set(self.classes) != set(classes):
            raise InvalidInputError(
                f"costs is of the classes {listed(self.classes)}, but the classes are "
                f"{listed(classes)}",
                hint="Name the classes in the costs as in the table",
            )
        order = [self.classes.index(name) for name in classes]
        return Costs(tuple(tuple(self.values[i][j] for j in order) for i in order))


def _no_costs(why: str) -> InvalidInputError:
    return InvalidInputError(why, hint=_FORMS)


def _from_csv(text: str, source: str) -> Costs:
    rows = [row for row in csv.reader(StringIO(text)) if any(cell.strip() for cell in row)]
    if not rows:
        raise _no_costs(f"{source} is empty")
    if all(is_number(cell) for cell in rows[0]):
        return Costs.of(rows, source=source)
    columns = [cell.strip() for cell in rows[0][1:]]
    by_name = {row[0].strip(): row[1:] for row in rows[1:]}
    if len(by_name) < len(rows) - 1:
        raise _no_costs(f"{source}: a true class appears twice")
    if set(columns) != set(by_name):
        raise _no_costs(
            f"{source} has rows for {', '.join(by_name) or 'no class'}, but columns for "
            f"{', '.join(columns) or 'no class'}"
        )
    return Costs.of([by_name[name] for name in columns], columns, source=source)


def _from_json(text: str, source: str) -> Costs:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_costs(f"{source} is not valid JSON: {error}") from error
    if isinstance(content, list):
        return Costs.of(content, source=source)
    if isinstance(content, dict) and "format" in content and "objective" in content:
        stored = content["objective"].get("costs") if isinstance(content["objective"], dict) else 0
        if not isinstance(stored, list):
            raise _no_costs(f"{source} holds coefficients that were fitted without costs")
        return Costs.of(stored, content.get("classes"), source=source)
    if not isinstance(content, dict) or not all(isinstance(row, dict) for row in content.values()):
        raise _no_costs(f"{source} holds neither rows of numbers nor an object of objects")
    names = list(content)
    for name, row in content.items():
        if set(row) != set(names):
            raise _no_costs(
                f"{source}: {name!r} has costs for {', '.join(row) or 'no class'}, but the true "
                f"classes are {listed(names)}"
            )
    return Costs.of([[content[i][j] for j in names] for i in names], names or None, source=source)
