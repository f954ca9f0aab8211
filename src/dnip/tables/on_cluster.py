"""A table that the workers of a cluster read in shares, and counts that add up over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from dnip.tables.reading import Scan, count_pieces
from dnip.tables.rows import Rows, Share

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster


@dataclass(frozen=True)
class SharedTable:
    """A table that all nodes of a cluster can read at one path.

    Attributes
    ----------
    path : Path
    cluster : Cluster
    classes : sequence of str or None
        Class names.
    """

    path: Path
    cluster: Cluster
    classes: Sequence[str] | None = None

    def each(
        self, work: Callable[..., Any], *arguments: object, others: bool = False
    ) -> Iterator[Any]:
        """Yield ``work(scan, *arguments)`` of each share, as they come; `others` as for `Scan`."""
        pieces = count_pieces(self.path, self.cluster.workers)
        scan = partial(
            Scan,
            self.path.absolute(),  # workers may run in another folder
            self.classes,
            others=others,
        )
        shares = [Share(number, pieces) for number in range(pieces)]
        return self.cluster.map(partial(_on, work, arguments, scan), shares)


class Counts(Protocol):
    """What is counted of rows; counts of the shares of a table can be joined."""

    n_rows: int

    def add(self, rows: Rows) -> None:
        """Count some rows."""

    def join(self, other: Self) -> None:
        """Add the counts of another share."""


AnyCounts = TypeVar("AnyCounts", bound=Counts)


def add_up(
    counts: AnyCounts,
    rows: Iterable[Rows] | SharedTable,
    progress: Callable[[int], None] | None = None,
) -> AnyCounts:
    """Count all rows of a table, here or by the workers of a cluster.

    Parameters
    ----------
    counts : Counts
        Empty ones; they are changed, and returned.
    rows : iterable of ProbabilityTable or Rows, or SharedTable
    progress : callable, optional
        Receives the number of rows done, again and again.
    """
    if isinstance(rows, SharedTable):
        steps: Iterator[None] = map(counts.join, rows.each(_count, counts))
    else:
        steps = map(counts.add, rows)
    for _ in steps:
        if progress is not None:
            progress(counts.n_rows)
    return counts


def _on(
    work: Callable[..., Any], arguments: tuple[Any, ...], scan: Callable[..., Scan], share: Share
) -> Any:  # noqa: ANN401
    return work(scan(share=share), *arguments)


def _count(scan: Scan, counts: AnyCounts) -> AnyCounts:
    return add_up(counts, scan)
