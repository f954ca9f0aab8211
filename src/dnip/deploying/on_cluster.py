"""Apply, evaluate and check on a cluster: piece by piece, with counts that add up."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import check_writable
from dnip.deploying.application import AppliedCounts, reweighted
from dnip.deploying.checking.check import SeenRows, judge
from dnip.tables import Scan, open_writer
from dnip.tables.evaluation import EvaluationCounts
from dnip.tables.share import Share
from dnip.tables.streaming import count_pieces

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dnip.base.cluster import Cluster
    from dnip.base.typing import Floats
    from dnip.deploying.application import Application, Applied
    from dnip.deploying.checking.check import Check
    from dnip.method.coefficients import Coefficients
    from dnip.tables.evaluation import Evaluation


@dataclass(frozen=True)
class ClusterTable:
    """A table that all nodes of a cluster can read at one path.

    Attributes
    ----------
    path : Path
    classes : sequence of str or None
        Class names.
    memory : int
        Bytes of memory for each worker.
    cluster : Cluster
    """

    path: Path
    classes: Sequence[str] | None
    memory: int
    cluster: Cluster

    def apply(
        self,
        coefficients: Coefficients,
        out: str | os.PathLike[str],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Application:
        """Write reweighted probabilities and predictions into a folder of Parquet files.

        The rows are those of :func:`dnip.deploying.application.apply_stream`, in the same order.
        The folder appears when it is complete.

        Parameters
        ----------
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
        folder = check_folder(out).absolute()
        check_ids = self.cluster.start(_read_whole, self.path.absolute(), self.classes, self.memory)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        counts = AppliedCounts()
        try:
            for done in self._each(_apply, coefficients, unfinished, others=True):
                counts.join(done)
                if progress is not None:
                    progress(counts.n_rows)
            self.cluster.get(check_ids)  # also refuses a table without rows
            unfinished.chmod(0o755)
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return counts.application

    def evaluate(
        self,
        coefficients: Coefficients | None = None,
        *,
        adjusted: Coefficients | None = None,
        target: Floats | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Evaluation:
        """Evaluate the table; parameters, result and errors as :func:`dnip.evaluate`."""
        counts = EvaluationCounts(coefficients, adjusted)
        for done in self._each(_evaluate, coefficients, adjusted):
            counts.join(done)
            if progress is not None:
                progress(counts.n_rows)
        return counts.evaluation(target)

    def check(
        self,
        coefficients: Coefficients,
        *,
        alpha: float = 0.05,
        origin: Mapping[str, str | None] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Check:
        """Check coefficients; as :func:`dnip.deploying.checking.check.check`."""
        shares = []
        for done in self._each(_see, coefficients):
            shares.append(done)
            if progress is not None:
                progress(sum(len(share.sample) for share in shares))
        return judge(SeenRows.joined(shares), alpha=alpha, origin=origin)

    def _each(
        self, work: Callable[..., Any], *arguments: object, others: bool = False
    ) -> Iterator[Any]:
        """Yield the result of some work on each piece of the table."""
        pieces = count_pieces(self.path, self.cluster.workers)
        scans = [
            partial(
                Scan,
                self.path.absolute(),
                self.classes,
                memory=self.memory,
                others=others,
                share=Share(number, pieces),
            )
            for number in range(pieces)
        ]
        return self.cluster.map(partial(_on, work, arguments), scans)


def check_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder to write, or say why it cannot be written.

    Raises
    ------
    InvalidInputError
        For the suffix of another format than Parquet.
    OutputError
        If there is something at the path, or it cannot be written.
    """
    folder = Path(out)
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


def _on(work: Callable[..., Any], arguments: tuple[Any, ...], scan: Callable[[], Scan]) -> Any:  # noqa: ANN401
    return work(scan(), *arguments)


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


def _evaluate(
    scan: Scan, coefficients: Coefficients | None, adjusted: Coefficients | None
) -> EvaluationCounts:
    counts = EvaluationCounts(coefficients, adjusted)
    for chunk in scan:
        counts.add(chunk)
    return counts


def _see(scan: Scan, coefficients: Coefficients) -> SeenRows:
    seen = SeenRows(coefficients)
    for chunk in scan:
        seen.add(chunk)
    return seen


def _read_whole(path: Path, classes: Sequence[str] | None, memory: int) -> None:
    """Check a table as a whole, where that can find more than the shares do: ids."""
    chunks = iter(Scan(path, classes, memory=memory))
    if next(chunks).ids is not None:
        for _ in chunks:
            pass
