"""Gold labels from a file of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnip.base.errors import InvalidInputError, listed
from dnip.prompting.answers.files import read_values
from dnip.prompting.answers.places import Places
from dnip.tables.ids import check_ids
from dnip.tables.labels import LabelRule

if TYPE_CHECKING:
    from pathlib import Path

#: Where ids and labels are looked for unless another column is named.
ID, LABEL = "id", "label"
#: What to join by instead of an id, to join rows in their order.
BY_ROW = "row"


class Gold(NamedTuple):
    """Class indices, -1 for an unlabelled row, by id or by the number of the row from 0."""

    labels: dict[str, int]
    by_row: bool


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
