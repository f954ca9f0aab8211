"""Arrays of NumPy on disk: `p` and `y` of an .npz file, or a pair of .npy files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError, first_line, listed
from dnip.tables.cells import Cells, check_numbers, check_vector
from dnip.tables.columns import NOTHING, Asked, probability_columns, resolve_columns
from dnip.tables.labels import LABEL
from dnip.tables.rows import Block, rows_per_block

_HINT = (
    "Save probabilities p, shape (M, N), and labels y: np.savez('opt.npz', p=p, y=y), or p.npy and "
    "y.npy in one folder"
)


def read_arrays(
    path: Path, classes: tuple[str, ...] | None, block_rows: int, asked: Asked = NOTHING
) -> Iterator[Block]:
    """Stream the rows of two arrays: probabilities, and labels where there are any.

    An .npz file holds `p` and `y`. The labels of ``p….npy`` are ``y….npy`` in the same folder, as
    ``y_test.npy`` are those of ``p_test.npy``.
    """
    source, arrays = str(path), _arrays(path)
    p, y = arrays["p"], arrays.get("y")
    if p.ndim != 2 or p.dtype.kind not in "fiu":
        p = check_numbers(p, source)
    n_rows, n_classes = p.shape
    names = probability_columns(n_classes)
    labels: dict[str, Cells] = {}
    if y is not None:
        labels[LABEL] = check_vector(f"{source}: y", y, n_rows)
    layout = resolve_columns([*labels, *names], classes=classes, source=source, asked=asked)
    step = rows_per_block(block_rows, n_classes)
    for first in range(0, n_rows, step):
        rows = slice(first, first + step)
        columns = {name: cells[rows] for name, cells in labels.items()}
        yield Block(layout, columns | dict(zip(names, p[rows].T, strict=True)), first)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return `p`, and `y` where it is there."""
    try:
        if path.suffix.lower() == ".npz":
            with np.load(path) as held:
                arrays = {name: held[name] for name in held.files}
        else:
            labels = path.with_name(f"y{path.name[1:]}")
            arrays = {"p": np.load(path, mmap_mode="r")}
            if path.name[0] in "pP" and labels.is_file():
                arrays["y"] = np.load(labels)
    except Exception as error:  # of damaged bytes NumPy raises anything
        message = f"{path}: arrays cannot be read: {first_line(error)}"
        raise InvalidInputError(message, hint=_HINT) from error
    if "p" not in arrays:
        raise InvalidInputError(
            f"{path}: there is no array p; the arrays are {listed([*arrays]) or 'none'}", hint=_HINT
        )
    return arrays
