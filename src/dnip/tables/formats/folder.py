"""A folder of JSON lines, which is one table: programs may still append to it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import DNIPWarning, counted
from dnip.tables.cells import MOST_IDS
from dnip.tables.columns import ID
from dnip.tables.formats.text import json_blocks, json_rows
from dnip.tables.rows import Block


class FolderRow(NamedTuple):
    """A row of a folder: its file, which row of the file it is, from 1, and its cells."""

    part: Path
    number: int
    cells: dict[str, Any]


def holds_lines(path: Path) -> bool:
    """Tell whether a path is a folder of JSON lines; where there is Parquet, too, that is read."""
    return path.is_dir() and any(path.glob("*.jsonl")) and not any(path.glob("*.parquet"))


def rows_of_folder(path: Path) -> Iterator[FolderRow]:
    """Yield the rows of all files in the order of their names.

    A last line that is cut off is left out, and so are rows with the id of an earlier row: requests
    that were sent again. Warnings say so. A file that is removed meanwhile is passed over.

    Raises
    ------
    InvalidInputError
        For a line that is no object.
    """
    seen: set[str] = set()
    n_twice = 0
    for part in sorted(path.glob("*.jsonl")):
        if not part.exists():
            continue
        for number, cells in enumerate(json_rows(part, may_grow=True), 1):
            name = cells.get(ID)
            if isinstance(name, str) and name in seen:
                n_twice += 1
                continue
            if isinstance(name, str) and len(seen) < MOST_IDS:
                seen.add(name)
            yield FolderRow(part, number, cells)
    if n_twice:
        text = f"{path}: {counted(n_twice, 'row')} left out, with the id of an earlier row"
        warnings.warn(text, DNIPWarning, stacklevel=2)


def read_folder(
    path: Path, classes: tuple[str, ...] | None, block_rows: int, *, others: bool = False
) -> Iterator[Block]:
    """Stream the rows of a folder of JSON lines."""
    before = 0
    for part, found in groupby(rows_of_folder(path), key=lambda row: row.part):
        n_rows, rows = 0, (row.cells for row in found)
        for block in json_blocks(rows, str(part), classes, block_rows, others=others):
            yield replace(block, rows_before=before)
            n_rows = block.first_row + len(next(iter(block.columns.values())))
        before += n_rows
