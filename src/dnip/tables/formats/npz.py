"""NPZ: NumPy arrays, one per column, or the class columns as one matrix."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError
from dnip.tables.columns import ID, LABEL, default_classes, probability_columns, resolve_columns
from dnip.tables.rows import Block, as_list

_MATRICES = ("probabilities", "p")
_CLASSES = "classes"
_PLURALS = {"labels": LABEL, "ids": ID}
_DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(
    path: Path, classes: tuple[str, ...] | None, block_rows: int, *, others: bool = False
) -> Iterator[Block]:
    """Stream the rows of an NPZ file; the arrays are loaded whole, pickled objects never."""
    source = str(path)
    arrays = _load(path)
    own = arrays.pop(_CLASSES, None)
    if own is not None and own.ndim != 1:
        raise InvalidInputError(
            f"{source}: array classes has shape {own.shape}",
            hint="Give one axis: one name per class",
        )
    columns = _columns(arrays, source)
    layout = resolve_columns(
        list(columns), classes=classes, source=source, own=None if own is None else own.tolist()
    )
    _check_lengths(columns, layout.probabilities[0], source)
    for start in range(0, len(columns[layout.probabilities[0]]), block_rows):
        rows = slice(start, start + block_rows)
        wanted = layout.wanted(others=others)
        yield Block(layout, {name: columns[name][rows] for name in wanted}, start)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise InvalidInputError(
            f"{path}: this is not an NPZ file, or only a part of one",
            hint="Copy the file again, or write it with numpy.savez",
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: np.asarray(file[name]) for name in file.files}
    except _DAMAGE as error:
        if "allow_pickle" in str(error):
            raise InvalidInputError(
                f"{path}: an array holds Python objects, which are never loaded",
                hint="Save numbers as float arrays and texts as str arrays, not as objects",
            ) from error
        raise InvalidInputError(
            f"{path}: this is not a sound NPZ file ({error})",
            hint="Copy the file again, or write it with numpy.savez",
        ) from error


def _columns(arrays: dict[str, NDArray[Any]], source: str) -> dict[str, NDArray[Any]]:
    """Return the arrays under the column names that all formats have."""
    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if name in _MATRICES:
            if array.ndim != 2:
                raise InvalidInputError(
                    f"{source}: array {name} has shape {array.shape}, but a matrix (examples, "
                    "classes) is needed",
                    hint="Give one row per example and one column per class",
                )
            named = dict(zip(probability_columns(array.shape[1]), array.T, strict=True))
        else:
            named = {_PLURALS.get(name, name): array}
        for column in named:
            if column in columns:
                raise InvalidInputError(
                    f"{source}: column {column} appears twice, once in array {name}",
                    hint="Give the class columns one by one or as one matrix, not both",
                )
        columns.update(named)
    return columns


def _check_lengths(columns: dict[str, NDArray[Any]], probability: str, source: str) -> None:
    shape = columns[probability].shape
    for name, array in columns.items():
        if array.ndim != 1 or array.shape != shape:
            raise InvalidInputError(
                f"{source}: column {name} has shape {array.shape}, but column {probability} has "
                f"shape {shape}",
                hint="Give arrays of one axis, with one entry per row",
            )


class NpzWriter:
    """Gather blocks in memory and write them as arrays at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._blocks: list[Block] = []

    def write(self, block: Block) -> None:
        """Keep the rows of a block."""
        self._blocks.append(block)

    def finish(self) -> None:
        """Write all blocks."""
        first, layout = self._blocks[0], self._blocks[0].layout
        runs = {name: [block.columns[name] for block in self._blocks] for name in first.columns}
        arrays = {
            name: _array([cell for cells in runs[name] for cell in as_list(cells)])
            for name in first.leading
        }
        columns = [np.concatenate(runs[name]) for name in layout.probabilities]
        arrays["probabilities"] = np.column_stack(columns)
        if layout.classes != default_classes(len(layout.classes)):
            arrays[_CLASSES] = np.array(layout.classes)
        # zip counts places, which /dev/null does not keep
        np.savez_compressed(content := io.BytesIO(), **arrays)  # type: ignore[arg-type]
        self._file.write(content.getbuffer())

    def discard(self) -> None:
        """Leave the file as it is."""


def _array(cells: Sequence[object]) -> NDArray[Any]:
    """Return numbers as numbers; texts, and numbers with empty cells among them, as str."""
    if all(isinstance(cell, int) for cell in cells):
        return np.array(cells, dtype=np.int64)
    if all(isinstance(cell, float) for cell in cells):
        return np.array(cells, dtype=np.float64)
    return np.array(["" if cell is None else str(cell) for cell in cells], dtype=np.str_)
