"""Gold labels from a file of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.prompting.answers.files import read_values
from dnip.prompting.answers.places import Places
from dnip.tables.ids import check_ids
from dnip.tables.labels import UNLABELLED, LabelRule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dnip.base.typing import Labels

#: Where ids and labels are looked for unless another column is named.
ID, LABEL = "id", "label"
#: What to join by instead of an id, to join rows in their order.
BY_ROW = "row"


@dataclass(frozen=True)
class Gold:
    """Gold labels, to be joined with answers.

    Attributes
    ----------
    labels : dict of str to int
        Class indices, -1 for an unlabelled row, by id or by the number of the row from 0.
    by_row : bool
    """

    labels: dict[str, int]
    by_row: bool

    def join(
        self, ids: Sequence[str] | None, numbers: Sequence[int], n_answers: int, source: str
    ) -> Labels:
        """Return the class index of each row, -1 where it has no label.

        Parameters
        ----------
        ids : sequence of str or None
            The ids of the rows, None where they have none.
        numbers : sequence of int
            Which of all answers each row is.
        n_answers : int
            Answers in all, refusals and failed requests included.
        source : str
            The answers, for messages.

        Raises
        ------
        InvalidInputError
            If no row has an id of the gold file; by row, for another number of rows.
        """
        if self.by_row:
            if len(self.labels) != n_answers:
                raise InvalidInputError(
                    f"{source}: there are {n_answers:,} answers, but {len(self.labels):,} gold "
                    "labels",
                    hint="Joining by row needs a gold label for each answer, failed ones included",
                )
            ids = [str(number) for number in numbers]
        elif ids is None:
            raise InvalidInputError(
                f"{source}: the answers have no ids to join the gold labels on",
                hint='Write "id" beside each answer, name another key with --on, or give --on row '
                "where the gold file has the same order",
            )
        elif not any(name in self.labels for name in ids):
            raise InvalidInputError(
                f"{source}: no answer's id is in the gold file: the first are {ids[0]!r} and, in "
                f"the gold file, {next(iter(self.labels), '')!r}",
                hint="Name the column of the ids with --on",
            )
        return np.array([self.labels.get(name, UNLABELLED) for name in ids], np.int64)


def read_gold(path: Path, classes: tuple[str, ...], on: str | None, label: str | None) -> Gold:
    """Read gold labels.

    Parameters
    ----------
    path : Path
        CSV, Parquet or JSON lines.
    classes : tuple of str
    on : str or None
        The column of the ids, or ``"row"``; None for ``"id"``.
    label : str or None
        The column of the labels; None for ``"label"``.

    Raises
    ------
    InvalidInputError
        For a missing column, an id that appears twice, and a label that is no class.
    """
    on, label = on or ID, label or LABEL
    by_row = on == BY_ROW
    ids: list[object] = []
    cells: list[object] = []
    places: list[str] = []
    for where, row in read_values(path):
        columns = tuple(row) if isinstance(row, dict) else ()
        for name in (label, *([] if by_row else [on])):
            if name not in columns:
                raise InvalidInputError(
                    f"{where}: there is no column {name}; the columns are "
                    f"{listed(columns) or 'none'}",
                    hint="Name the columns with --on and --label; --on row joins rows in order",
                )
        ids.append(len(ids) if by_row else row[on])
        cells.append(row[label])
        places.append(where)
    location = Places(str(path), (), places=places)
    names = check_ids(ids, n_examples=len(ids), location=location).tolist()
    found = LabelRule(classes).read(cells, location).tolist()
    return Gold(dict(zip(names, found, strict=True)), by_row)
