"""The probability table: what is known of a set of examples, and what must hold of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import (
    CoefficientsFormatError,
    CorrectedError,
    InvalidInputError,
    listed,
    shown,
    warn,
)
from dnip.base.typing import Integers
from dnip.base.validation import check_integer
from dnip.tables.cells import (
    Location,
    as_list,
    check_ids,
    check_mass,
    check_numbers,
    check_probabilities,
    check_row_weights,
    check_vector,
    texts_of,
)
from dnip.tables.columns import CONTENT_FREE, NOTHING, Asked
from dnip.tables.files import Scan, block_of, open_writer
from dnip.tables.frames import check_same_order, make_frame, read_frame
from dnip.tables.groups import FittedRows, Overlap
from dnip.tables.labels import (
    UNLABELLED,
    check_classes,
    check_several_classes,
    default_classes,
    labelled_twice,
    labels_of_columns,
    names_of,
)
from dnip.tables.origin import DataHash
from dnip.tables.rows import CapturedMass, Rows, joined

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

#: Draws of up to this many rows are class-balanced, larger ones uniform. The paper only says that
#: its smallest sets cover all classes.
BALANCED_UP_TO = 100

# From how many rows on, and in which share of them, labels look like the model's own answers.
_ENOUGH, _ALIKE = 30, 0.97


class ProbabilityTable(Rows):
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
            known = vars(probabilities.changed(others=None, columns=None))
        else:
            numbers = check_numbers(probabilities, "probabilities")
            p = check_probabilities(numbers)
            ids = None if ids is None else check_ids(ids, n_examples=len(p))
            mass = None if mass is None else check_mass(mass, n_examples=len(p))
            names = names_of(p.shape[1], classes or None)
            if labels is not None:
                labels, _ = labels_of_columns(p, labels, names)
            known = {"probabilities": p, "labels": labels, "ids": ids, "classes": names}
            known |= {"source": source, "mass": mass, "sums_to_one": p is numbers}
        super().__init__(**known)

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
        cls,
        path: str | os.PathLike[str],
        classes: Sequence[str] | None = None,
        asked: Asked = NOTHING,
    ) -> ProbabilityTable:
        r"""Read a table from CSV, Parquet or JSON lines, by suffix.

        The class columns are `p0`, `p1`, ... or carry the names of `classes`, alone or after `p_`.
        Where there are neither, all columns are classes that mean nothing else, and labels must be
        class names. `label`, `id` and `mass` may be absent; an unlabelled row has an empty label.

        Parameters
        ----------
        path : path-like
            Ends in .csv, .csv.gz, .parquet, .jsonl or .jsonl.gz; or a folder of Parquet files; or
            arrays, .npz with p and y, or p.npy and y.npy next to it.
        classes : sequence of str, optional
            Class names, where neither columns nor the file tell them.
        asked : Asked, optional
            Columns that say what rows belong to, how much they count, or what they are compared by.

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
        return cls(joined(Scan(path, classes, asked)))

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
        block = block_of(self)
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
        with open_writer(path) as writer:
            writer.write(self)

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
        taken = self.changed(**{name: cells[chosen] for name, cells in self.of_each.items()})
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
        return ProbabilityTable(self.take(self.labels == UNLABELLED).changed(labels=None))

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


def row_numbers(rows: ArrayLike, n_rows: int, source: str) -> Integers:
    """Return the numbers of the rows that are asked for, as NumPy takes them.

    Raises
    ------
    InvalidInputError
        For what is no row number, and for a row that is not there.

    Examples
    --------
    >>> row_numbers([False, True, True], 3, "opt.csv"), row_numbers([2, 0], 3, "opt.csv")
    (array([1, 2]), array([2, 0]))
    """
    asked = np.asarray(rows)
    try:
        taken = np.arange(n_rows)[asked if asked.size else asked.astype(np.int64)]
    except IndexError as error:
        raise InvalidInputError(
            f"{source}: rows {shown(asked.tolist())}: {error}",
            hint="Give row numbers, counted from 0, or one truth value per row",
        ) from error
    return np.asarray(taken.ravel(), np.int64)


def draw_rows(labels: Integers, n_classes: int, n: int, seed: int, *, balanced: bool) -> Integers:
    """Draw rows without replacement.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class index of each row; only read for a balanced draw.
    n_classes : int
        Number of classes.
    n : int
        Rows to draw, from 1 to M.
    seed : int
        Seed of the draw.
    balanced : bool
        Draw as equally many of each class as there are; what a small class lacks is shared by
        the others. Otherwise every row is as likely as any other.

    Returns
    -------
    ndarray of shape (n,)
        Ascending row numbers.

    Raises
    ------
    InvalidInputError
        If there are fewer than `n` rows.

    Examples
    --------
    >>> rows = draw_rows(np.array([0, 0, 0, 0, 0, 1]), 2, 4, seed=0, balanced=True)
    >>> int((rows == 5).sum()), len(rows)
    (1, 4)
    """
    check_integer("seed", seed, at_least=0)
    check_integer("n", n, at_least=1)
    if n > len(labels):
        raise InvalidInputError(
            f"n is {n}, but there are only {len(labels)} rows to draw from",
            hint="Draw fewer rows; a table with labels gives only its labelled rows",
        )
    rng = np.random.default_rng(seed)
    if not balanced:
        return np.sort(rng.choice(len(labels), size=n, replace=False).astype(np.int64))
    quotas = _balanced_quotas(np.bincount(labels, minlength=n_classes), n, rng)
    drawn = [
        rng.choice(np.flatnonzero(labels == index), size=quota, replace=False)
        for index, quota in enumerate(quotas)
    ]
    return np.sort(np.concatenate(drawn).astype(np.int64))


def _balanced_quotas(available: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Share `n` rows out among the classes as equally as their sizes allow."""
    quotas = np.zeros_like(available)
    while (left := n - int(quotas.sum())) > 0:
        open_classes = np.flatnonzero(quotas < available)
        share = left // len(open_classes)
        if share == 0:
            quotas[rng.choice(open_classes, size=left, replace=False)] += 1
        else:
            room = available[open_classes] - quotas[open_classes]
            quotas[open_classes] += np.minimum(share, room)
    return quotas


#: What holds probabilities: a table, an array, a data frame, or the path of a table.
TableLike: TypeAlias = "ProbabilityTable | ArrayLike | IntoDataFrame | str | os.PathLike[str]"


def as_table(
    data: TableLike,
    y: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    *,
    groups: ArrayLike | str | None = None,
    weights: ArrayLike | str | None = None,
    by: ArrayLike | str | None = None,
) -> ProbabilityTable:
    """Make a table of what a user has: probabilities with their labels, or a whole table.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable or path
        Class probabilities, shape (M, N); or a table, which may hold its labels.
    y : array-like of shape (M,), optional
        Labels; None, NaN and "" are rows without one, and so is -1 unless it is one of N labels.
    classes : sequence, optional
        The class of each column, in order. By default the names of a data frame's columns. Else
        labels 0..N-1 are the numbers of columns, and others are the classes in sorted order, as in
        scikit-learn.
    label : str, optional
        The column of labels in a data frame, if it is not `label`.
    groups : array-like of shape (M,) or str, optional
        What each row belongs to; of a file or a data frame, the name of the column.
    weights : array-like of shape (M,) or str, optional
        How much each row counts, or the name of that column.
    by : array-like of shape (M,) or str, optional
        What rows are compared by, or the name of that column.

    Raises
    ------
    InvalidInputError
        For arrays of other lengths, labels that are no classes, columns that could be any, and
        columns for whose order the labels do not speak at all.

    Warns
    -----
    DNIPWarning
        Where columns without names are taken for labels that are names.

    Examples
    --------
    >>> table = as_table([[0.75, 0.25], [0.5, 0.5]], ["spam", "ham"])
    >>> table.classes, table.labels
    (('ham', 'spam'), array([1, 0]))
    """
    is_frame = hasattr(type(data), "columns") and not isinstance(data, ProbabilityTable)
    if label is not None and (y is not None or not is_frame):
        raise InvalidInputError(
            "label names the column of labels in a data frame",
            hint="Give the data frame without y, or leave label out",
        )
    if is_frame:
        given = {"y": y, "groups": groups, "weights": weights, "by": by}
        for name, values in given.items():
            check_same_order(data, name, values)
    group, weight, key = (v if isinstance(v, str) else None for v in (groups, weights, by))
    asked = Asked(group, weight, key)
    if isinstance(data, str | os.PathLike):
        data = ProbabilityTable.read(data, classes, asked)
    elif is_frame:
        data = ProbabilityTable(read_frame(data, classes, label, y, asked))
    elif asked.names:
        raise InvalidInputError(
            f"{asked.names[0]!r} names a column, but columns have names in a file or a data frame",
            hint="Give one value for each row",
        )
    elif not isinstance(data, ProbabilityTable):
        data = ProbabilityTable(data, classes=() if classes is None else check_classes(classes))
    data = ProbabilityTable(_with_given(data, groups, weights, by))
    if y is None:
        return data
    if data.labels is not None:
        raise labelled_twice(data.source, "y")
    unnamed = classes is None and data.classes == default_classes(data.n_classes)
    known = None if unnamed else data.classes
    labels, names = labels_of_columns(data.probabilities, y, known, "y")
    return ProbabilityTable(data.changed(labels=labels, classes=names))


def _with_given(
    rows: Rows, group: ArrayLike | None, weight: ArrayLike | None, by: ArrayLike | None
) -> Rows:
    """Return the same rows with what is given of each, where it is no name of a column."""
    n_rows = len(rows)
    if group is not None and not isinstance(group, str):
        rows = rows.changed(groups=texts_of(check_vector("groups", group, n_rows, np.object_)))
    if weight is not None and not isinstance(weight, str):
        cells = check_vector("weights", weight, n_rows)
        rows = rows.changed(weights=check_row_weights(cells, "weights", Location("weights")))
    if by is not None and not isinstance(by, str):
        rows = rows.changed(slices=texts_of(check_vector("by", by, n_rows, np.object_)))
    return rows


def check_raw(*tables: Rows | None) -> None:
    """Refuse corrected probabilities: weights are learned from those of a model, and used on them.

    Raises
    ------
    CorrectedError
        For the first table with a mark.
    """
    for rows in tables:
        if rows is not None and rows.corrected_by is not None:
            raise CorrectedError.at(rows.source, rows.corrected_by)


def tell_corrected(source: str, by: str | None) -> None:
    """Warn of probabilities that are corrected, where they may be: what looks at them says so."""
    if by is not None:
        warn(
            f"{source}: the probabilities are corrected already, by the coefficients {by}; what is "
            "said of raw ones is said of these"
        )


def tell_own_labels(source: str, n_alike: int, n_labelled: int) -> None:
    """Warn where labels are what the model says itself in nearly every row."""
    if n_labelled >= _ENOUGH and n_alike > _ALIKE * n_labelled:
        warn(
            f"{source}: the label is the most probable class in {n_alike:,} of {n_labelled:,} "
            "rows; make sure that the labels are not the model's own answers"
        )


def check_same_classes(rows: Rows, classes: Sequence[str], path: str = "") -> None:
    """Refuse coefficients, of a file, that were fitted for other classes than the table's."""
    if rows.classes != classes:
        raise CoefficientsFormatError(
            f"{rows.source} has the classes {listed(rows.classes)}, but the coefficients "
            f"{f'of {path} ' if path else ''}were fitted for {listed(classes)}",
            hint="Apply coefficients to the task that they were fitted on",
        )


def scored_rows(table: ProbabilityTable) -> ProbabilityTable:
    """Return the rows that have a label, of at least two classes; the table where all have one.

    Raises
    ------
    InvalidInputError
        If no row has a label, or only rows of one class have.
    """
    labels = np.empty(0, np.int64) if table.labels is None else table.labels
    known = labels != UNLABELLED
    present = np.bincount(labels[known], minlength=table.n_classes) > 0
    check_several_classes(present, table.classes, table.source)
    return table if known.all() else table.labelled()


def check_disjoint(opt: ProbabilityTable, other: ProbabilityTable) -> None:
    """Refuse a table to score on that has other classes than the opt table, or rows of it.

    Parameters
    ----------
    opt : ProbabilityTable
        The rows that are fitted.
    other : ProbabilityTable
        The rows that are scored.

    Raises
    ------
    InvalidInputError
        If the classes differ, an id is in both, or both hold the same probabilities. Content-free
        rows may have the same ids.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> opt, copy = ProbabilityTable(p, source="opt.csv"), ProbabilityTable(p, source="copy.csv")
    >>> check_disjoint(opt, copy)
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: opt.csv and copy.csv hold the same rows. Give a test table \
of other rows: scores on rows that were fitted on say nothing
    """
    check_classes_agree(opt, other)
    hint = "Give a test table of other rows: scores on rows that were fitted on say nothing"
    if opt.ids is not None and other.ids is not None:
        known = set(opt.ids.tolist())
        shared = [name for name in other.ids.tolist() if name in known]
        shared = [name for name in shared if not name.startswith(CONTENT_FREE)]
        if shared:
            raise InvalidInputError(
                f"{len(shared):,} ids are in both {opt.source} and {other.source}, the first is "
                f"{shared[0]!r}",
                hint=hint,
            )
    if np.array_equal(opt.probabilities, other.probabilities):
        raise InvalidInputError(f"{opt.source} and {other.source} hold the same rows", hint=hint)
    overlap = Overlap(FittedRows.of(opt.probabilities, opt.ids))
    overlap.add(other.probabilities, other.ids)
    if overlap.share:
        warn(f"{other.source}: {overlap.sentence}")


def check_classes_agree(first: ProbabilityTable, other: ProbabilityTable) -> None:
    """Refuse two tables of different classes, or of the same classes in another order."""
    if other.classes != first.classes:
        raise InvalidInputError(
            f"{other.source} has the classes {listed(other.classes)}, but {first.source} has "
            f"{listed(first.classes)}",
            hint="Give tables of the same classes, in the same order",
        )


def as_blocks(
    data: TableLike | Iterable[Rows],
    y: ArrayLike | None = None,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    *,
    groups: ArrayLike | str | None = None,
    by: ArrayLike | str | None = None,
    others: bool = False,
) -> Iterable[Rows]:
    """Return checked rows block by block: a path is read as it goes, anything else is one block.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable, path, or iterable of Rows
        As for :func:`as_table`; rows that are checked already come back as they are.
    y, classes, label, groups, by
        As for :func:`as_table`.
    others : bool, default=False
        Whether the columns of a path that are no probabilities are kept.

    Examples
    --------
    >>> [len(block) for block in as_blocks([[0.75, 0.25], [0.5, 0.5]])]
    [2]
    """
    no_arrays = y is None and label is None and isinstance(groups, str | None)
    if isinstance(data, str | os.PathLike) and no_arrays and isinstance(by, str | None):
        return Scan(data, classes, Asked(cast("str | None", groups), by=by, others=others))
    if any(value is not None for value in (y, label, groups, by)):
        return [as_table(data, y, classes, label, groups=groups, by=by)]
    if isinstance(data, Scan | Iterator):
        return data
    if isinstance(data, list | tuple) and all(isinstance(block, Rows) for block in data):
        return data
    return [as_table(data, None, classes)]
