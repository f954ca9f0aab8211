"""The probability table: class probabilities, labels and ids of a set of examples."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.arrays import check_mass, check_probabilities
from dnip.base.classes import UNLABELLED, names_of
from dnip.base.errors import InvalidInputError
from dnip.base.frames import make_frame
from dnip.metrics.chance import labels_of_columns
from dnip.tables.cells import CapturedMass, as_list, check_ids
from dnip.tables.provenance import DataHash
from dnip.tables.reading import read_rows
from dnip.tables.rows import Rows, joined, read_frame
from dnip.tables.splitting import BALANCED_UP_TO, draw_rows, row_numbers, split_rows
from dnip.tables.writing import block_of, open_writer

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


# Of each row.
_COLUMNS = ("probabilities", "labels", "ids", "mass")


class ProbabilityTable:
    """Class probabilities of M examples over N classes, with labels and ids if known.

    Parameters
    ----------
    probabilities : array-like of shape (M, N), or Rows that are checked already
        One row per example. Rows that do not sum to 1 are normalised, with a warning.
    labels : array-like of shape (M,), optional
        Class names or indices, None or -1 for an unlabelled row; None without a label column.
    ids : array of str, shape (M,), optional
        A name of its own for each row.
    classes : tuple of str, default=()
        Class names; when left out, the indices "0", "1", ...
    source : str, default="table"
        Where the rows come from, for messages.
    mass : ndarray of shape (M,), optional
        Captured mass: the probability that a language model gave to all labels of a row together;
        None where it is not known.

    Attributes
    ----------
    rows : Rows
        All of the below together.
    probabilities : ndarray of shape (M, N)
        Rows sum to 1.
    labels : ndarray of shape (M,) or None
        Class indices, -1 for an unlabelled row; None without a label column.
    ids : ndarray of shape (M,) or None
    classes : tuple of str
    n_classes : int
        N.
    source : str
    mass : ndarray of shape (M,) or None
    corrected_by : str or None
        The hash of the coefficients that corrected the probabilities; None for raw ones.

    Raises
    ------
    InvalidInputError
        For input that breaks the contract above.

    Examples
    --------
    >>> import numpy as np
    >>> table = ProbabilityTable(
    ...     np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]),
    ...     labels=np.array([0, 1, -1]),
    ...     classes=("negative", "positive"),
    ... )
    >>> table
    <ProbabilityTable: 3 rows, 2 classes, 2 labelled, from table>
    >>> table.labelled().labels
    array([0, 1])
    """

    def __init__(
        self,
        probabilities: ArrayLike | Rows,
        labels: ArrayLike | None = None,
        ids: Sequence[object] | NDArray[np.object_] | None = None,
        classes: Sequence[str] = (),
        source: str = "table",
        mass: ArrayLike | None = None,
    ) -> None:
        if isinstance(probabilities, Rows):  # checked already
            rows = replace(probabilities, others=None, columns=None)
        else:
            p = check_probabilities(probabilities)
            ids = None if ids is None else check_ids(ids, n_examples=len(p))
            mass = None if mass is None else check_mass(mass, n_examples=len(p))
            names = names_of(p.shape[1], classes or None)
            if labels is not None:
                labels, _ = labels_of_columns(p, labels, names)
            rows = Rows(p, labels, ids, names, source, mass)
        self.rows, self.n_classes = rows, len(rows.classes)
        self.probabilities, self.labels, self.ids = rows.probabilities, rows.labels, rows.ids
        self.classes, self.source, self.mass = rows.classes, rows.source, rows.mass
        self.corrected_by = rows.corrected_by

    def __len__(self) -> int:
        """Return the number of rows, M."""
        return len(self.probabilities)

    def __repr__(self) -> str:
        """Describe the table in one line."""
        labelled = "no label column"
        if self.labels is not None:
            labelled = f"{np.count_nonzero(self.labels != UNLABELLED)} labelled"
        mark = "" if self.corrected_by is None else f", corrected by {self.corrected_by}"
        return (
            f"<ProbabilityTable: {len(self)} rows, {self.n_classes} classes, {labelled}{mark}, "
            f"from {self.source}>"
        )

    @property
    def captured_mass(self) -> CapturedMass | None:
        """How many rows have a low captured mass; None where it is not known."""
        return None if self.mass is None else CapturedMass.of(self.mass)

    @property
    def data_hash(self) -> str:
        """SHA-256 of probabilities, labels and class names, the same in every file format."""
        data_hash = DataHash(self.classes, labelled=self.labels is not None, n_rows=len(self))
        data_hash.add(self.probabilities, self.labels)
        return data_hash.hexdigest()

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], classes: Sequence[str] | None = None
    ) -> ProbabilityTable:
        r"""Read a table from CSV, Parquet or JSON lines, by suffix.

        The class columns are `p0`, `p1`, ... or carry the names of `classes`, alone or after `p_`.
        Where there are neither, all columns are classes that mean nothing else, and labels must be
        class names. `label`, `id` and `mass` may be absent; an unlabelled row has an empty label.

        Parameters
        ----------
        path : path-like
            Ends in .csv, .csv.gz, .parquet, .jsonl or .jsonl.gz; or a folder of Parquet files.
        classes : sequence of str, optional
            Class names, where neither columns nor the file tell them.

        Raises
        ------
        InvalidInputError
            For bad input; the message names the file, the row, the column, and what to do.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "opt.csv")
        ...     _ = path.write_text("label,p0,p1\npositive,0.25,0.75\n")
        ...     table = ProbabilityTable.read(path, classes=["negative", "positive"])
        >>> table.labels, table.probabilities
        (array([1]), array([[0.25, 0.75]]))
        """
        return cls(joined(read_rows(path, classes)))

    @classmethod
    def from_frame(
        cls, frame: IntoDataFrame, classes: Sequence[str] | None = None, label: str | None = None
    ) -> ProbabilityTable:
        """Take a table from a data frame of pandas, polars, Arrow or another library.

        Parameters
        ----------
        frame : data frame
            Columns as `read` expects them; an index is ignored. The rows are in memory: collect a
            lazy frame first.
        classes : sequence of str, optional
            Class names.
        label : str, optional
            The column of labels, if it is not `label`.

        Raises
        ------
        InvalidInputError
            For bad input, as `read`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"label": ["ham"], "spam": [0.25], "ham": [0.75]})
        >>> ProbabilityTable.from_frame(frame, classes=["spam", "ham"]).probabilities
        array([[0.25, 0.75]])
        """
        return cls(read_frame(frame, classes, label))

    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"]) -> IntoDataFrame:
        """Return the table as a data frame with the columns that `write` writes.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}

        Raises
        ------
        MissingDependencyError
            If the library is not installed.

        Examples
        --------
        >>> ProbabilityTable(np.array([[0.25, 0.75]]), np.array([1])).to_frame("pandas")
           label    p0    p1
        0      1  0.25  0.75
        """
        block = block_of(self.rows)
        columns = {
            name: cells if name in block.layout.probabilities else as_list(cells)
            for name, cells in block.columns.items()
        }
        return make_frame(columns, library)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file whose suffix names the format; see `open_writer`.

        Parameters
        ----------
        path : path-like
            Ends in .csv, .csv.gz, .parquet, .jsonl or .jsonl.gz.

        Raises
        ------
        InvalidInputError, OutputError
            As `open_writer`; an existing file then stays as it was.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> table = ProbabilityTable(np.array([[0.1, 0.9]]), classes=("ham", "spam"))
        >>> with TemporaryDirectory() as folder:
        ...     table.write(f"{folder}/opt.parquet")
        ...     ProbabilityTable.read(f"{folder}/opt.parquet").classes
        ('ham', 'spam')
        """
        with open_writer(path, self.classes) as writer:
            writer.write(self.rows)

    def take(self, rows: ArrayLike) -> ProbabilityTable:
        """Return the table of some rows, in the order given.

        Parameters
        ----------
        rows : array-like
            Row numbers from 0, or one truth value per row. A table with ids refuses to take a row
            twice.

        Raises
        ------
        InvalidInputError
            For a row that is not there.

        Examples
        --------
        >>> table = ProbabilityTable(np.array([[0.5, 0.5], [0.25, 0.75]]))
        >>> table.take([1]).probabilities
        array([[0.25, 0.75]])
        """
        chosen = row_numbers(rows, len(self), self.source)
        columns = {name: getattr(self.rows, name) for name in _COLUMNS}
        held = {name: cells[chosen] for name, cells in columns.items() if cells is not None}
        taken = replace(self.rows, **held)
        if taken.ids is not None and len(np.unique(chosen)) < len(chosen):
            check_ids(taken.ids, n_examples=len(taken))
        return ProbabilityTable(taken)

    def labelled(self) -> ProbabilityTable:
        """Return the rows that have a label; none where there is no label column."""
        if self.labels is None:
            return self.take([])
        return self.take(self.labels != UNLABELLED)

    def unlabelled(self) -> ProbabilityTable:
        """Return the rows that have no label, as a table without a label column."""
        if self.labels is None:
            return self
        rows = self.take(self.labels == UNLABELLED)
        return ProbabilityTable(replace(rows.rows, labels=None))

    def split(
        self, fractions: Mapping[str, float], seed: int, *, stratify: bool = True
    ) -> dict[str, ProbabilityTable]:
        """Divide the rows into named parts; the same seed gives the same parts.

        Parameters
        ----------
        fractions : mapping of str to float
            Fraction of the rows in each part, above 0; at most 1 in all. Rows that are left over
            are in no part.
        seed : int
            Seed of the shuffle.
        stratify : bool, default=True
            Divide each class, and the unlabelled rows, in these fractions.

        Returns
        -------
        dict of str to ProbabilityTable
            No row is in two parts; each part keeps the order of the rows.

        Raises
        ------
        InvalidInputError
            For fractions out of range, or a part that would be empty.

        Examples
        --------
        >>> table = ProbabilityTable(np.full((20, 2), 0.5), np.repeat([0, 1], 10))
        >>> parts = table.split({"opt": 0.8, "dev": 0.2}, seed=0)
        >>> parts["dev"].labels
        array([0, 0, 1, 1])
        """
        strata = np.zeros(len(self), dtype=np.int64)
        if stratify and self.labels is not None:
            strata = self.labels
        parts = split_rows(strata, fractions, seed)
        return {name: self.take(rows) for name, rows in parts.items()}

    def draw(self, n: int, seed: int, *, balanced: bool | None = None) -> ProbabilityTable:
        """Draw a few rows without replacement; the same seed gives the same rows.

        A table with a label column gives labelled rows only; draw unlabelled ones from
        `unlabelled()`.

        Parameters
        ----------
        n : int
            Rows to draw.
        seed : int
            Seed of the draw.
        balanced : bool, optional
            Draw the same number of each class, more of the others where a class has too few. By
            default up to 100 rows are balanced and more are drawn uniformly.

        Raises
        ------
        InvalidInputError
            If there are fewer than `n` rows, or no labels to balance by.

        Examples
        --------
        >>> table = ProbabilityTable(np.full((100, 2), 0.5), np.repeat([0, 1], [90, 10]))
        >>> np.bincount(table.draw(10, seed=0).labels)
        array([5, 5])
        """
        labels = np.zeros(len(self), np.int64) if self.labels is None else self.labels
        if balanced and self.labels is None:
            raise InvalidInputError(
                f"{self.source}: a balanced draw needs labels, and there is no label column",
                hint="Draw with balanced=False",
            )
        if balanced is None:
            balanced = self.labels is not None and n <= BALANCED_UP_TO
        labelled = np.flatnonzero(labels != UNLABELLED)
        drawn = draw_rows(labels[labelled], self.n_classes, n, seed, balanced=balanced)
        return self.take(labelled[drawn])


#: Rows that are checked: a whole table of them, or some on their way.
AnyRows: TypeAlias = Rows | ProbabilityTable
