"""Tables on disk: from a path to checked rows and back, in bounded blocks, in every format."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dnip.base import COEFFICIENTS
from dnip.base.errors import InvalidInputError
from dnip.base.files import atomic_path, cannot_read, open_input
from dnip.tables.cells import Cells
from dnip.tables.columns import (
    CORRECTED,
    ID,
    MASS,
    NOTHING,
    PREDICTION,
    Asked,
    Layout,
    class_columns,
)
from dnip.tables.formats import BlockWriter, Format, format_of
from dnip.tables.labels import LABEL, check_classes, default_classes, read_indices
from dnip.tables.rows import Block, Rows, Seen, WholeTable, check_block, check_blocks

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster

Item = TypeVar("Item")
Some = TypeVar("Some", bound=Sized)
Progress: TypeAlias = Callable[[int], None]
BLOCK_ROWS = 65_536

# So many bytes of a file say whether it holds coefficients.
_START = 64

# Pieces of a table for each worker, where it has so many row groups: a slow one holds up little.
_PER_WORKER = 4


class Scan:
    """A table on disk, read in bounded blocks of rows each time it is iterated over.

    While the caller works on one block, another thread reads and checks the next. All cells are
    checked in every pass. The first pass also checks the table as a whole: it refuses ids that
    appear twice, and warns of normalised rows after the last block.

    Memory holds a few blocks of up to a million cells, and the ids of up to two million rows; ids
    beyond are not compared.

    Parameters
    ----------
    path : path-like
        As for `ProbabilityTable.read`.
    classes : sequence of str, optional
        Class names.
    asked : Asked, optional
        Columns to carry, next to those that mean the same in every table.
    block_rows : int
        Rows of a block at most.
    as_a_whole : bool, default=True
        Whether the first pass checks the table as a whole, too.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read; for bad rows when they are reached.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from dnip.tables import ProbabilityTable
    >>> with TemporaryDirectory() as folder:
    ...     ProbabilityTable(np.full((5, 2), 0.5)).write(f"{folder}/opt.csv")
    ...     scan = Scan(f"{folder}/opt.csv")
    ...     [sum(len(rows) for rows in scan) for _ in range(2)]
    [5, 5]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        classes: Sequence[str] | None = None,
        asked: Asked = NOTHING,
        *,
        block_rows: int = BLOCK_ROWS,
        as_a_whole: bool = True,
    ) -> None:
        self._format = _check_readable(path)
        self.source = str(path)
        self._path = Path(path)
        self._classes = None if classes is None else check_classes(classes)
        self._asked = asked
        self._block_rows, self._as_a_whole = block_rows, as_a_whole
        self._begun = False

    def __iter__(self) -> Iterator[Rows]:
        """Read the table from its first row; InvalidInputError for a pipe that was read before."""
        if self._begun and self._path.is_fifo():
            raise InvalidInputError(
                f"{self.source} is a pipe, which can be read once only, but is needed twice",
                hint="Write it to a file first",
            )
        self._begun = True
        blocks = self._format.read(self._path, self._classes, self._block_rows, self._asked)
        yield from ahead(check_blocks(blocks, self.source, as_a_whole=self._as_a_whole))
        self._as_a_whole = False

    @property
    def layout(self) -> Layout | None:
        """What the columns hold, by the first row; None if there are no rows."""
        blocks = self._format.read(self._path, self._classes, 1)
        return next((block.layout for block in blocks), None)

    def each(
        self, work: Callable[[Iterable[Rows]], Iterator[Item]], progress: Progress | None = None
    ) -> Iterator[Item]:
        """Yield what some work makes of the rows, in their order.

        Parameters
        ----------
        work : callable
            Yields what it makes of a run of rows; what it yields of several runs must add up.
        progress : callable, optional
            Receives the number of rows read, again and again.
        """
        return work(counted_rows(self, progress))

    def on(self, cluster: Cluster) -> ClusterScan:
        """Return the same table, read by the workers of a cluster."""
        return ClusterScan(self._path, cluster, self._classes, self._asked)


def counted_rows(blocks: Iterable[Some], progress: Progress | None) -> Iterator[Some]:
    """Yield some rows, and tell how many there were so far."""
    n_rows = 0
    for rows in blocks:
        yield rows
        n_rows += len(rows)
        if progress is not None:
            progress(n_rows)


def ahead(items: Iterator[Item]) -> Generator[Item]:
    """Yield the items of an iterator while another thread makes the next one.

    In the end, after an error too, the thread has stopped and the iterator is closed. Where the
    rest is not wanted, nobody waits for the thread: the garbage collector may be what ends this.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end, pool, is_wanted = object(), ThreadPoolExecutor(max_workers=1), True
    try:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
    except GeneratorExit:
        is_wanted = False
        raise
    finally:
        pool.shutdown(wait=is_wanted)
        # The thread may still be using the iterator then, as after a second Ctrl-C.
        with suppress(AttributeError, ValueError):
            items.close()  # type: ignore[attr-defined]


def _check_readable(file: str | os.PathLike[str]) -> Format:
    """Return the format of a table file, or say why it cannot be read.

    Raises
    ------
    InvalidInputError
        For a missing file, a file without read permission, coefficients, or an unknown suffix.
    """
    path = Path(file)
    try:
        if not (path.is_dir() or path.is_fifo()):  # which can be opened once only
            with open_input(path) as opened:
                start = opened.read(_START)
            if f'"{COEFFICIENTS}"'.encode() in start:
                raise InvalidInputError(
                    f"{path} is a file of coefficients, but a table is needed",
                    hint="Give the probabilities of rows as .csv, .jsonl or .parquet",
                )
    except OSError as error:
        raise cannot_read(path, error) from error
    return format_of(path)


class ClusterScan(Scan):
    """A table that all nodes of a cluster can read at one path.

    A piece is some row groups of a Parquet table; any other table is one piece.
    """

    def __init__(
        self,
        path: Path,
        cluster: Cluster,
        classes: Sequence[str] | None = None,
        asked: Asked = NOTHING,
    ) -> None:
        super().__init__(path.absolute(), classes, asked)  # workers run elsewhere
        self._cluster = cluster

    def each(
        self, work: Callable[[Iterable[Rows]], Iterator[Item]], progress: Progress | None = None
    ) -> Iterator[Item]:
        """As for `Scan`; a worker does the work on each piece."""
        count_groups = self._format.count_groups
        pieces: list[range | None] = [None]
        if count_groups is not None:
            n_groups = count_groups(self._path)
            most = min(n_groups, _PER_WORKER * self._cluster.workers)
            ends = [n_groups * piece // most for piece in range(most + 1)] if most else []
            pieces = [range(*pair) for pair in pairwise(ends)]
        whole = WholeTable(self.source)
        work_on = partial(_work_on, self._path, self._classes, self._asked, work)
        for item, all_seen in self._cluster.map(work_on, pieces):
            for seen in all_seen:
                whole.add(seen)
            if progress is not None:
                progress(whole.n_rows)
            yield item
        whole.finish()


def _work_on(
    path: Path,
    classes: Sequence[str] | None,
    asked: Asked,
    work: Callable[[Iterable[Rows]], Iterator[Item]],
    groups: range | None,
) -> Iterator[tuple[Item, list[Seen]]]:
    """Yield what the work makes of a piece, with what its rows tell of the table."""
    all_seen: list[Seen] = []
    some = {} if groups is None else {"groups": groups}
    blocks = format_of(path).read(path, classes, BLOCK_ROWS, asked, **some)

    def checked() -> Iterator[Rows]:
        for block in blocks:
            rows, seen = check_block(block, str(path))
            all_seen.append(seen)
            yield rows

    for item in work(checked()):
        yield item, all_seen[:]
        all_seen.clear()


class TableWriter:
    """A table that is being written; `open_writer` makes it."""

    def __init__(self, file: BlockWriter) -> None:
        self._file = file
        self._columns: tuple[str, ...] | None = None
        self._n_rows = 0

    def write(self, rows: Rows, predictions: ArrayLike | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        rows : Rows
            With the columns of the first ones. Parquet holds other columns as text.
        predictions : array-like of shape (M,), optional
            Predicted class indices, for a column `prediction`.

        Raises
        ------
        InvalidInputError
            For other columns than before, or predictions out of range.
        """
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
def open_writer(path: str | os.PathLike[str]) -> Iterator[TableWriter]:
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
    ...     with open_writer(f"{folder}/out.csv") as writer:
    ...         writer.write(table, predictions=[1])
    ...     print(open(f"{folder}/out.csv").read(), end="")
    label,prediction,p0,p1
    1,1,0.25,0.75
    """
    opened = format_of(Path(path), to_write=True).open
    assert opened is not None
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        writer = TableWriter(opened(file))
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
