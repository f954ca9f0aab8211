"""Places in answer files, for messages of checks that see all rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dnip.tables.chunk import CellLocation

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Places(CellLocation):
    """Rows that lie anywhere: in several files, on any line.

    Examples
    --------
    >>> Places("2 files", ("ham", "spam"), places=["a.jsonl: line 3"]).cell(0, 1)
    'a.jsonl: line 3, spam'
    """

    places: Sequence[str] = field(default=())

    def cell(self, row: int, column: int | None = None) -> str:
        """Name a row, and its class if given."""
        name = self.places[row]
        return name if column is None else f"{name}, {self.columns[column]}"
