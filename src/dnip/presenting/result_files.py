"""Results as files in a folder: JSON, rows as CSV, and a picture where one can be drawn."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import MissingDependencyError
from dnip.base.files import atomic_path, check_writable, make_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence


class ResultFiles(NamedTuple):
    """The names of what a command writes into its folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> files = ResultFiles("r.json", "r.csv", "r.png")
    >>> with TemporaryDirectory() as folder:
    ...     files.prepare(folder)
    ...     written = files.write(folder, {"n": 1}, [["n"], [1]], lambda path: path.touch())
    ...     [path.name for path in written]
    ['r.json', 'r.csv', 'r.png']
    """

    results: str
    rows: str
    picture: str
    page: str | None = None

    def prepare(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder and see that all files can be written there, before long work.

        Raises
        ------
        OutputError
            If one cannot.
        """
        for path in self.within(make_folder(folder)).values():
            check_writable(path)

    def within(self, folder: Path) -> dict[str, Path]:
        """Return the paths of all files by what they hold."""
        return {kind: folder / name for kind, name in self._asdict().items() if name is not None}

    def write(
        self,
        folder: str | os.PathLike[str],
        content: dict[str, Any],
        rows: Iterable[Sequence[Any]],
        draw: Callable[[Path], None] | None,
        text: str = "",
    ) -> tuple[Path, ...]:
        """Write all files, and return which were written.

        Parameters
        ----------
        folder : path-like
        content : dict
            For the JSON file.
        rows : iterable of sequences
            For the CSV file, its header first.
        draw : callable, optional
            Draws the picture into a file; there is none where matplotlib is not installed.
        text : str
            For the page, which ends with the picture.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        target = Path(folder)
        written = [target / self.results, target / self.rows]
        with atomic_path(target / self.results) as temporary:
            told = json.dumps(content, indent=2, allow_nan=False)
            temporary.write_text(told + "\n", encoding="utf-8")
        with (
            atomic_path(target / self.rows) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows(rows)
        if draw is not None:
            try:
                draw(target / self.picture)
                written.append(target / self.picture)
            except MissingDependencyError:
                pass  # the data goes without its picture
        if self.page is not None:
            drawn = target / self.picture in written
            with atomic_path(target / self.page) as temporary:
                shown = f"\n![picture]({self.picture})\n" if drawn else ""
                temporary.write_text(f"{text}\n{shown}", encoding="utf-8")
            written.append(target / self.page)
        return tuple(written)
