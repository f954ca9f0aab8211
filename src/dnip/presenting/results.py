"""Results of a command: printed on a terminal, and written as files into a folder."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import printable
from dnip.base.files import atomic_path, check_writable, new_folder, write_text
from dnip.presenting.formats import Column, Row, to_text, wrapped
from dnip.presenting.pictures import Figure, save_figure


@dataclass(frozen=True)
class Results:
    """What a command found, in the forms in which people and programs get it.

    Attributes
    ----------
    columns : sequence of Column
    rows : sequence of Row
        The table that people read first.
    content : dict
        For programs: everything, as plain JSON values.
    figure : Figure or None
        None where nothing can be drawn.
    lines : iterable of sequences
        For spreadsheets: one line per measurement, the header first.
    title : str
    notes : tuple of str
        Lines below the table.
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    content: dict[str, Any]
    figure: Figure | None
    lines: Iterable[Sequence[Any]] = ()
    title: str = ""
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return title, table and notes for a terminal."""
        table, notes = to_text(self.columns, self.rows), "\n".join(self.notes)
        parts = (wrapped(self.title), table, wrapped(notes))
        return "\n\n".join(printable(text) for text in parts if text)


class ResultFiles(NamedTuple):
    """The names of the files that a command writes into its folder.

    Attributes
    ----------
    results, picture : str
        JSON and PNG.
    rows : str or None
        CSV; None where there are no lines.
    """

    results: str
    picture: str
    rows: str | None = None

    def prepare(self, folder: str | os.PathLike[str]) -> None:
        """Check that the folder can be made and all files written there, before long work.

        Raises
        ------
        OutputError
            If one cannot.
        """
        with new_folder(folder) as target:
            for path in self.within(target).values():
                check_writable(path)

    def within(self, folder: Path) -> dict[str, Path]:
        """Return the paths of all files by what they hold."""
        return {kind: folder / name for kind, name in self._asdict().items() if name is not None}

    def write(self, folder: str | os.PathLike[str], results: Results) -> tuple[Path, ...]:
        """Write all files, and return which were written.

        The picture is left out where there is no figure or matplotlib is not installed.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        content = json.dumps(results.content, indent=2, allow_nan=False) + "\n"
        with new_folder(folder) as target:
            written = [write_text(target / self.results, content)]
            if self.rows is not None:
                written.append(write_rows(target / self.rows, results.lines))
            if results.figure is not None:
                with suppress(MissingDependencyError):  # the data goes without its picture
                    written.append(save_figure(results.figure, target / self.picture))
        return tuple(written)


def write_rows(path: Path, rows: Iterable[Sequence[Any]]) -> Path:
    """Write rows as a CSV file, whole or not at all."""
    with atomic_path(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path
