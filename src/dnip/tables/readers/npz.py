"""NPZ: NumPy arrays, one per column, or the class columns as one matrix."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import matrix_from_numbers
from dnip.tables.chunk import RawChunk
from dnip.tables.columns import ID, LABEL, probability_columns, resolve_columns
from dnip.tables.place import FilePlace
from dnip.tables.readers.named import check_own_classes, reconcile_classes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

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


def read_npz(path: Path, classes: tuple[str, ...] | None, chunk_rows: int) -> Iterator[RawChunk]:
    """Stream the rows of an NPZ file; the arrays are loaded whole, pickled objects never."""
    source = str(path)
    arrays = _load(path)
    own = _own_classes(arrays.pop(_CLASSES, None), source)
    columns = _columns(arrays, source)
    layout = resolve_columns(
        list(columns), classes=reconcile_classes(own, classes, source), source=source
    )
    _check_lengths(columns, layout.probabilities[0], source)
    numbers = matrix_from_numbers(
        [columns[name] for name in layout.numbers],
        FilePlace(source, layout.numbers),
    )
    for start in range(0, len(numbers), chunk_rows):
        rows = slice(start, start + chunk_rows)
        yield RawChunk(
            layout=layout,
            numbers=numbers[rows],
            labels=columns[LABEL][rows].tolist() if layout.has_labels else None,
            ids=columns[ID][rows].tolist() if layout.has_ids else None,
            first_row=start,
        )


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


def _own_classes(names: NDArray[Any] | None, source: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    if names.ndim != 1:
        raise InvalidInputError(
            f"{source}: array classes has shape {names.shape}",
            hint="Give one axis: one name per class",
        )
    return check_own_classes(names.tolist(), source)


def _columns(arrays: dict[str, NDArray[Any]], source: str) -> dict[str, NDArray[Any]]:
    """Bring the arrays to the column names that every format has."""
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
                    f"{source}: column {column} stands twice, once in array {name}",
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
