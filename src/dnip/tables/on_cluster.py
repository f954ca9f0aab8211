"""A table that the workers of a cluster read in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.tables.formats import format_of
from dnip.tables.reading import BLOCK_ROWS, Item, Progress, Scan, Seen, WholeTable, check_block
from dnip.tables.rows import Rows

if TYPE_CHECKING:
    from dnip.base.cluster import Cluster

# Pieces of a table for each worker, where it has so many row groups: a slow one holds up little.
_PER_WORKER = 4


class ClusterScan(Scan):
    """A table that all nodes of a cluster can read at one path.

    A piece is some row groups of a Parquet table; any other table is one piece.
    """

    def __init__(
        self,
        path: Path,
        cluster: Cluster,
        classes: Sequence[str] | None = None,
        *,
        others: bool = False,
    ) -> None:
        super().__init__(path.absolute(), classes, others=others)  # workers run elsewhere
        self._cluster = cluster

    def each(
        self, work: Callable[[Iterable[Rows]], Iterator[Item]], progress: Progress | None = None
    ) -> Iterator[Item]:
        """As for `Scan`; a worker does the work on each piece."""
        count_groups = format_of(self._path).count_groups
        pieces: list[range | None] = [None]
        if count_groups is not None:
            n_groups = count_groups(self._path)
            most = min(n_groups, _PER_WORKER * self._cluster.workers)
            ends = [n_groups * piece // most for piece in range(most + 1)] if most else []
            pieces = [range(*pair) for pair in pairwise(ends)]
        whole = WholeTable(self.source)
        work_on = partial(_work_on, self._path, self._classes, work, others=self._others)
        for found, all_seen in self._cluster.map(work_on, pieces):
            for seen in all_seen:
                whole.add(seen)
            if progress is not None:
                progress(whole.n_rows)
            yield found
        whole.finish()


def _work_on(
    path: Path,
    classes: Sequence[str] | None,
    work: Callable[[Iterable[Rows]], Iterator[Item]],
    groups: range | None,
    *,
    others: bool,
) -> Iterator[tuple[Item, list[Seen]]]:
    """Yield what the work makes of a piece, with what its rows tell of the table."""
    all_seen: list[Seen] = []
    some = {} if groups is None else {"groups": groups}
    blocks = format_of(path).read(path, classes, BLOCK_ROWS, others=others, **some)

    def checked() -> Iterator[Rows]:
        for block in blocks:
            rows, seen = check_block(block, str(path))
            all_seen.append(seen)
            yield rows

    for found in work(checked()):
        yield found, all_seen[:]
        all_seen.clear()
