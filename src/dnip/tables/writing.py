"""Tables written to a file, block by block; the file appears only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.classes import LABEL, Cells, check_classes, default_classes, read_indices
from dnip.base.columns import CORRECTED, ID, MASS, PREDICTION, Layout, class_columns
from dnip.base.errors import InvalidInputError, listed
from dnip.base.files import atomic_path
from dnip.tables.cells import Block
from dnip.tables.reading import BlockWriter, format_of
from dnip.tables.rows import Rows


class TableWriter:
    """A table that is being written; `open_writer` makes it."""

    def __init__(self, file: BlockWriter, classes: tuple[str, ...]) -> None:
        self._file = file
        self._classes = classes
        self._columns: tuple[str, ...] | None = None
        self._n_rows = 0

    def write(self, rows: Rows, predictions: ArrayLike | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        rows : Rows
            Rows over the classes of the file, with what the first ones had beside probabilities.
            Parquet holds other columns as text.
        predictions : array-like of shape (M,), optional
            Predicted class indices, for a column `prediction`.

        Raises
        ------
        InvalidInputError
            For other classes or other columns than before, or predictions out of range.
        """
        if rows.classes != self._classes:
            raise InvalidInputError(
                f"{rows.source} has the classes {listed(rows.classes)}, but the file is "
                f"written for {listed(self._classes)}",
                hint="Write it to a file of its own",
            )
        block = block_of(rows, predictions)
        columns = block.layout.names
        if self._columns is not None and columns != self._columns:
            raise InvalidInputError(
                f"{rows.source} has the columns {', '.join(columns)}, but the file has "
                f"{', '.join(self._columns)}",
                hint="Give labels, ids and other columns for all rows or for none",
            )
        self._columns = columns
        self._n_rows += len(rows.probabilities)
        self._file.write(block)

    def finish(self) -> None:
        """Complete the file; `open_writer` calls this."""
        self._file.finish()
        if not self._n_rows:
            raise InvalidInputError(
                "there are no rows to write", hint="A table needs one row at least"
            )


@contextmanager
def open_writer(path: str | os.PathLike[str], classes: Sequence[str]) -> Iterator[TableWriter]:
    """Open a table file for writing; the suffix names the format.

    The columns are `id`, `label`, `prediction`, `mass`, for corrected probabilities
    `dnip_corrected_by`, and others of the rows, as far as given. Then come the class columns, by
    the names that they were read with or else those of the classes; `p0`, `p1`, ... where classes
    have no names, or names that could be read as something else. Labels and predictions are
    written as class names, or as class indices where classes have no names; an unlabelled row has
    an empty label. Parquet files also store the class names, so `ProbabilityTable.read` never needs
    them. Floats read back exactly.

    The file appears when the block ends without an error; else an existing file stays as it was.

    Parameters
    ----------
    path : path-like
        Ends in .csv, .csv.gz, .parquet, .jsonl or .jsonl.gz.
    classes : sequence of str
        Class names of all rows to come.

    Yields
    ------
    TableWriter
        Call its `write` once per block.

    Raises
    ------
    InvalidInputError
        For an unknown suffix, or if no row was written.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from dnip.tables import ProbabilityTable
    >>> table = ProbabilityTable(np.array([[0.25, 0.75]]), np.array([1]))
    >>> with TemporaryDirectory() as folder:
    ...     with open_writer(f"{folder}/out.csv", table.classes) as writer:
    ...         writer.write(table.rows, predictions=[1])
    ...     print(open(f"{folder}/out.csv").read(), end="")
    label,prediction,p0,p1
    1,1,0.25,0.75
    """
    names = check_classes(classes)
    table_format = format_of(Path(path), to_write=True)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        writer = TableWriter(table_format.open(file), names)
        try:
            yield writer
            writer.finish()
        except BaseException:
            with suppress(Exception):  # what is written now is thrown away
                writer.finish()
            raise


def block_of(rows: Rows, predictions: ArrayLike | None = None) -> Block:
    """Return rows as columns ready to be written; see `TableWriter.write`."""
    n_rows, n_classes = rows.probabilities.shape
    names: list[object] = [*rows.classes, None]
    if rows.classes == default_classes(n_classes):
        names = [*range(n_classes), None]
    shown = np.array(names, np.object_)  # the last one stands for -1
    columns: dict[str, Cells] = {}
    if rows.ids is not None:
        columns[ID] = rows.ids
    if rows.labels is not None:
        columns[LABEL] = shown[rows.labels]
    if predictions is not None:
        indices = read_indices(predictions, n_rows, n_classes, "predictions")
        columns[PREDICTION] = shown[indices]
    if rows.mass is not None:
        columns[MASS] = rows.mass
    if rows.corrected_by is not None:
        columns[CORRECTED] = [rows.corrected_by] * n_rows
    columns |= rows.others or {}
    probabilities = rows.columns or class_columns(rows.classes)
    columns |= dict(zip(probabilities, rows.probabilities.T, strict=True))
    return Block(Layout(rows.source, rows.classes, probabilities, tuple(columns)), columns)
