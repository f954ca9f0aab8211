"""Results of cells, one file each, named by the hash of the work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dnip.presenting.results import write_json
from reproduction.results import Computed

if TYPE_CHECKING:
    from pathlib import Path

    from reproduction.cell import Cell


class Store:
    """A folder of results.

    Parameters
    ----------
    folder : Path
        It must exist before a result is put into it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, cell: Cell) -> Computed | None:
        """Return what a cell returned; None if it has not been computed, or the file is damaged."""
        try:
            content = json.loads(self._path(cell).read_text(encoding="utf-8"))
            return Computed(dict(content["result"]), float(content["seconds"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, cell: Cell, computed: Computed) -> None:
        """Keep what a cell returned.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        content = {
            "cell": cell.name,
            "function": cell.function_name,
            "tables": {name: table.name for name, table in cell.tables.items()},
            "settings": dict(cell.settings),
            "seconds": computed.seconds,
            "result": computed.result,
        }
        write_json(self._path(cell), content)

    def _path(self, cell: Cell) -> Path:
        return self._folder / f"{cell.key[:32]}.json"
