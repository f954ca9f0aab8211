"""Coefficients applied by the workers of a cluster, each to its shares of a table."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import check_writable
from dnip.deploying.application import Application, Applied, AppliedCounts, reweighted
from dnip.method.coefficients import Coefficients
from dnip.tables import Scan, open_writer
from dnip.tables.on_cluster import SharedTable


def apply_on_cluster(
    table: SharedTable,
    coefficients: Coefficients,
    out: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> Application:
    """Write reweighted probabilities and predictions into a folder of Parquet files.

    The rows are those of :func:`dnip.deploying.application.apply_stream`, in the same order. The
    folder appears when it is complete.

    Parameters
    ----------
    table : SharedTable
    coefficients : Coefficients
    out : path-like
        The folder. All nodes must be able to write beside it.
    progress : callable, optional
        Receives the number of rows done.

    Raises
    ------
    InvalidInputError
        For bad rows, or an output that is no Parquet folder.
    OutputError
        If there is something at `out` already, or it cannot be written.
    """
    folder = _check_folder(Path(out)).absolute()
    whole = Scan(table.path.absolute(), table.classes)
    check_ids = table.cluster.start(_read_if_ids, whole)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    counts = AppliedCounts()
    try:
        for done in table.each(_apply, coefficients, unfinished, others=True):
            counts.join(done)
            if progress is not None:
                progress(counts.n_rows)
        table.cluster.get(check_ids)  # also refuses a table without rows
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return counts.application


def _check_folder(folder: Path) -> Path:
    if folder.suffix not in ("", ".parquet"):
        raise InvalidInputError(
            f"{folder}: a cluster writes a folder of Parquet files, not {folder.suffix}",
            hint="Give a name without a suffix, or with .parquet",
        )
    if folder.exists():
        raise OutputError(
            f"{folder} cannot be written: it exists", hint="Give another name, or delete it"
        )
    return check_writable(folder)


def _read_if_ids(scan: Scan) -> None:
    """Read a table with ids as a whole, which refuses an id that appears twice."""
    chunks = iter(scan)
    if next(chunks).ids is not None:
        for _ in chunks:
            pass


def _apply(scan: Scan, coefficients: Coefficients, folder: Path) -> AppliedCounts:
    """Write a file for each run of rows that follow one another; its name is that of the first."""
    counts = AppliedCounts()
    for first_row, run in _runs(reweighted(scan, coefficients)):
        with open_writer(folder / f"part-{first_row:015}.parquet", coefficients.classes) as writer:
            for applied in run:
                writer.write(applied.rows, applied.predictions, others=applied.rows.others)
                counts.add(applied)
    return counts


def _runs(applied: Iterator[Applied]) -> Iterator[tuple[int, Iterator[Applied]]]:
    """Group rows that follow one another in the table, by the first of them."""
    begin = end = -1

    def first_row(each: Applied) -> int:
        nonlocal begin, end
        place = each.rows.first_row or 0
        begin = begin if place == end else place
        end = place + len(each.rows)
        return begin

    return groupby(applied, first_row)
