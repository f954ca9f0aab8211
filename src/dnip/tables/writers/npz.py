"""NPZ: the class columns as one matrix, written when all rows are there."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dnip.tables.block import Block, LabelCell


class NpzWriter:
    """Gather blocks in memory and write them as arrays in the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._blocks: list[Block] = []

    def write(self, block: Block) -> None:
        """Keep the rows of a block."""
        self._blocks.append(block)

    def finish(self) -> None:
        """Write all blocks."""
        first = self._blocks[0]
        arrays: dict[str, NDArray[np.generic]] = {
            name: _array([cell for block in self._blocks for cell in block.cells(name)])
            for name in first.leading
        }
        arrays["probabilities"] = np.concatenate([block.probabilities for block in self._blocks])
        if first.named:
            arrays["classes"] = np.array(first.classes)
        np.savez_compressed(self._file, **arrays)  # type: ignore[arg-type]

    def discard(self) -> None:
        """Leave the file as it is."""


def _array(cells: Sequence[LabelCell | float]) -> NDArray[np.generic]:
    """Return numbers as numbers; texts, and numbers with empty cells among them, as str."""
    if all(isinstance(cell, int) for cell in cells):
        return np.array(cells, dtype=np.int64)
    if all(isinstance(cell, float) for cell in cells):
        return np.array(cells, dtype=np.float64)
    return np.array(["" if cell is None else str(cell) for cell in cells], dtype=np.str_)
