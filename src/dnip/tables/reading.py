"""From a path to checked rows, the same way for every file format, in bounded blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dnip.base.arrays import EmptyRowError, SumsSeen, check_mass, normalise_rows
from dnip.base.errors import InvalidInputError, listed, warn
from dnip.base.files import open_input
from dnip.base.typing import Floats, Integers
from dnip.base.validation import check_classes, check_integer
from dnip.tables.captured_mass import MassCounts
from dnip.tables.cells import (
    MOST_IDS,
    EmptyCellError,
    IdsSeen,
    LabelRule,
    check_ids,
    check_scalars,
    numbers_of,
)
from dnip.tables.columns import (
    CORRECTED,
    ID,
    LABEL,
    MASS,
    RECORDED,
    ROW,
    CellLocation,
    Layout,
    import_line,
    name_classes,
    read_as_answers,
)
from dnip.tables.formats import Format, format_of
from dnip.tables.formats.text import cannot_read
from dnip.tables.rows import Block, Rows, as_list

Item = TypeVar("Item")
Progress: TypeAlias = Callable[[int], None]

BLOCK_ROWS = 65_536


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
    others : bool, default=False
        Whether rows also carry the columns that mean nothing here.

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
        *,
        others: bool = False,
    ) -> None:
        check_readable(path)
        self.source = str(path)
        self._path = Path(path)
        self._classes = None if classes is None else check_classes(classes)
        self._others = others
        self._checked_whole = self._begun = False

    def __iter__(self) -> Iterator[Rows]:
        """Read the table from its first row; InvalidInputError for a pipe that was read before."""
        if self._begun and self._path.is_fifo():
            raise InvalidInputError(
                f"{self.source} is a pipe, which can be read once only, but is needed twice",
                hint="Write it to a file first",
            )
        self._begun = True
        whole = not self._checked_whole
        yield from ahead(
            read_rows(self._path, self._classes, as_a_whole=whole, others=self._others)
        )
        self._checked_whole = True

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


def counted_rows(blocks: Iterable[Rows], progress: Progress | None) -> Iterator[Rows]:
    """Yield some rows, and tell how many there were so far."""
    n_rows = 0
    for rows in blocks:
        yield rows
        n_rows += len(rows)
        if progress is not None:
            progress(n_rows)


def layout_of(path: str | os.PathLike[str], classes: Sequence[str] | None = None) -> Layout | None:
    """Return what the columns of a table hold, by its first rows; None if it has no rows.

    Parameters
    ----------
    path, classes
        As for `Scan`.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, and for columns that are no classes.
    """
    names = None if classes is None else check_classes(classes)
    blocks = check_readable(path).read(Path(path), names, 1)
    return next((block.layout for block in blocks), None)


def ahead(items: Iterator[Item]) -> Generator[Item]:
    """Yield the items of an iterator while another thread makes the next one.

    In the end, after an error too, the thread has stopped and the iterator is closed.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end = object()
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            coming = pool.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = pool.submit(next, items, end)
                yield item  # type: ignore[misc]
    finally:
        # After a second Ctrl-C the thread may still be using the iterator.
        with suppress(AttributeError, ValueError):
            items.close()  # type: ignore[attr-defined]


def read_rows(
    path: str | os.PathLike[str],
    classes: Sequence[str] | None = None,
    *,
    block_rows: int = BLOCK_ROWS,
    as_a_whole: bool = True,
    others: bool = False,
) -> Iterator[Rows]:
    """Read and check a table block by block.

    The path and the arguments are checked at once, the rows when they are read; see `check_blocks`.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, and for bad input in the file.
    """
    names = None if classes is None else check_classes(classes)
    check_integer("block_rows", block_rows, at_least=1)
    file = Path(path)
    blocks = check_readable(file).read(file, names, block_rows, others=others)
    return check_blocks(blocks, str(file), as_a_whole=as_a_whole)


def check_readable(file: str | os.PathLike[str]) -> Format:
    """Return the format of a table file, or say why it cannot be read.

    Raises
    ------
    InvalidInputError
        For a missing file, a file without read permission, or an unknown suffix.
    """
    path = Path(file)
    try:
        if not (path.is_dir() or path.is_fifo()):  # which can be opened once only
            open_input(path).close()
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{path}: there is no such file", hint=f"Check the path; you are in {Path.cwd()}"
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
    return format_of(path)


def check_blocks(
    blocks: Iterable[Block], source: str, *, as_a_whole: bool = True
) -> Iterator[Rows]:
    """Check and normalise the blocks of one table.

    Parameters
    ----------
    blocks : iterable of Block
        As a reader found them.
    source : str
        The table as a whole, for messages.
    as_a_whole : bool, default=True
        Whether to look for ids that are in two blocks, and to warn of normalised rows and of low
        captured mass.

    Yields
    ------
    Rows
        The same rows. After the last block, warnings say how many rows were normalised, that a
        column is not used, and how many rows have a low captured mass.

    Raises
    ------
    InvalidInputError
        For the first bad cell, an id that appears twice, parts with different columns, or a table
        without rows.
    """
    whole = WholeTable(source)
    for block in blocks:
        rows, seen = check_block(block, source)
        if as_a_whole:
            whole.add(seen)
        yield rows
    if as_a_whole:
        whole.finish()


class Seen(NamedTuple):
    """What the rows of a block tell of their table.

    Attributes
    ----------
    layout : Layout
    location : CellLocation
        Of these rows.
    n_rows : int
    off, sums : ndarray
        Numbers and sums of the rows that did not sum to 1.
    ids, mass : ndarray of shape (M,) or None
    unused : tuple of str
        Columns that are not read.
    """

    layout: Layout
    location: CellLocation
    n_rows: int
    off: Integers
    sums: Floats
    ids: NDArray[np.object_] | None
    mass: Floats | None
    unused: tuple[str, ...]


def check_block(block: Block, source: str) -> tuple[Rows, Seen]:
    """Check and normalise the rows of a block; return them, and what a `WholeTable` looks at."""
    layout, columns, location = block.layout, block.columns, block.location
    n_classes = len(layout.classes)
    labelled, numbers = as_list(columns.get(LABEL, ())), None
    try:
        numbers = numbers_of(block)
        p, off, sums = normalise_rows(numbers[:, :n_classes], location)
        doubt = layout.from_header and not {*layout.classes} <= {str(cell) for cell in labelled}
        if doubt and 2 * len(off) >= len(p):
            raise InvalidInputError(
                f"{location.cell(int(off[0]))}: the columns {listed(layout.probabilities)} were "
                f"taken for the classes, but they sum to {sums[0]:.6g}, and in most rows not to 1"
            )
    except InvalidInputError as error:
        if layout.from_header and not isinstance(error, EmptyCellError | EmptyRowError):
            doubts = _not_all_classes(layout, labelled)
            own = error.hint if numbers is not None or not doubts else None  # of the cell
            error.hint = ". ".join(filter(None, (own, doubts)))
        raise
    labels = ids = mass = None
    if LABEL in columns:
        rule = LabelRule(layout.classes, from_header=layout.from_header)
        labels = rule.read(columns[LABEL], location)
    if ID in columns:
        check_scalars(columns[ID], ID, location)
        ids = check_ids(as_list(columns[ID]), n_examples=len(p), location=location)
    if MASS in columns:
        mass = numbers[:, -1]
        mass = check_mass(mass, n_examples=len(p), location=location, column=n_classes)
    marks = as_list(columns.get(CORRECTED, ()))
    mark = next((str(by) for by in marks if by not in (None, "")), None)
    others = {name: as_list(columns[name]) for name in layout.others if name in columns}
    rows = Rows(
        p, labels, ids, layout.classes, source, mass, others or None, layout.probabilities, mark
    )
    unused = tuple(name for name in layout.others if name not in {*columns, *RECORDED, ROW})
    return rows, Seen(layout, location, len(p), off, sums, ids, mass, unused)


class WholeTable:
    """What must hold of the rows of a table together, and what is to be told of them."""

    def __init__(self, source: str) -> None:
        self._source, self.n_rows = source, 0
        self._first: Seen | None = None
        self._sums, self._masses, self._ids = SumsSeen(), MassCounts(), IdsSeen()

    def add(self, seen: Seen) -> None:
        """Add the next block; InvalidInputError for other columns, and an id of an earlier row."""
        self._first = self._first or seen
        first, other = self._first.layout, seen.layout
        if first.columns != other.columns or first.classes != other.classes:
            raise InvalidInputError(
                f"{other.source}: the columns {', '.join(other.columns)} differ from "
                f"{', '.join(first.columns)} of {first.source}, or the class names do",
                hint="Write all parts from one table",
            )
        self.n_rows += seen.n_rows
        self._sums.add(seen.n_rows, seen.off, seen.sums, seen.location)
        if seen.ids is not None:
            self._ids.add(seen.ids.tolist(), seen.location)
        if seen.mass is not None:
            self._masses.add(seen.mass)

    def finish(self) -> None:
        """Tell what there is to tell of all rows; InvalidInputError if there were none."""
        if self._first is None or not self.n_rows:
            raise InvalidInputError(
                f"{self._source}: there are no rows",
                hint="Give at least one row per class to learn from",
            )
        self._sums.tell(self._source)
        if self._ids.too_many:
            warn(f"{self._source}: ids were compared in the first {MOST_IDS:,} rows only")
        if unused := self._first.unused:
            names = listed([name or "'' (without a name)" for name in unused])
            warn(f"{self._source}: column{'s' if len(unused) > 1 else ''} {names} not used")
        captured = self._masses.summary
        if captured is not None and captured.worth_telling:
            warn(f"{self._source}: {captured.sentence}")


def _not_all_classes(layout: Layout, labels: Sequence[object]) -> str:
    """Return what to do where a column that was taken for a class may be none."""
    told = dict.fromkeys(str(label).strip() for label in labels)
    if hint := read_as_answers(layout.names, layout.source, [*told]):
        return hint
    found = [name for name in layout.probabilities if name in told]
    others = [name for name in layout.probabilities if name not in told]
    if not others:
        return ""
    if len(told) > 1 and all(any(name in c for c in others) for name in told):  # p_ham
        return f"Type: {import_line(layout.source, [*told])}"
    if len(found) < 2:
        return "If a column is no class, name the others with --classes (in Python: classes=[...])"
    return f"No label is {listed(others)}: if that is no class, {name_classes(found)}"
