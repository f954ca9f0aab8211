"""An opt set that is read once: settled rows are counted, open rows are kept in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.method.problem import check_present
from dnip.solvers.blocks import Blocks
from dnip.solvers.kernels.rows import copy_rows, prefers_dense, survey
from dnip.solvers.kernels.threads import Threads
from dnip.solvers.levels import levels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import Self

    from dnip.base.typing import Booleans, Integers, Labels, Probabilities
    from dnip.method.scales import WeightScale

_ONE = np.ones(1, np.int64)  # how many examples each row counts as

# Cells per block: small beside any memory, large beside the cost of a call.
_BLOCK_CELLS = 1 << 20


class CountedRows:
    """What is known of rows that are not in memory: each counts as one example of its class.

    Attributes
    ----------
    classes : tuple of str
        Class names.
    class_mass : ndarray of shape (N,)
        Rows of each class.
    """

    unit = 1.0
    classes: tuple[str, ...]
    class_mass: Integers

    @property
    def n_classes(self) -> int:
        """N."""
        return len(self.classes)

    @property
    def n_examples(self) -> float:
        """M."""
        return float(self.class_mass.sum())

    @property
    def n_cells(self) -> int:
        """M·N."""
        return int(self.class_mass.sum()) * self.n_classes

    @property
    def present(self) -> Booleans:
        """Whether each class has examples, shape (N,)."""
        return self.class_mass > 0


class StreamedProblem(CountedRows):
    """An opt set that need not fit into memory, ready for a search.

    A search takes the same steps as on a :class:`~dnip.method.problem.Problem` of the same rows,
    and ends at the same solution.

    Parameters
    ----------
    chunks : iterable of (probabilities, labels)
        Checked rows, all with labels; read once.
    classes : sequence of str
        Class names.
    scale : int, str or WeightScale
        Linear or geometric; its span decides which rows are settled.
    memory : int
        Bytes of open rows to hold in memory; the others go to a temporary file.
    folder : path-like, optional
        Where to put that file.
    whole : bool, default=True
        Whether these are all rows, which then must be of two classes at least.

    Raises
    ------
    InvalidInputError
        For labels of fewer than two classes.
    OutputError
        If the temporary file cannot be written.

    Examples
    --------
    >>> chunks = [(np.array([[0.9, 0.1]]), np.array([0])), (np.array([[0.6, 0.4]]), np.array([1]))]
    >>> with StreamedProblem(chunks, ["no", "yes"], scale=30, memory=0) as problem:
    ...     problem.n_examples, problem.blocks.spilled_bytes > 0
    (2.0, True)
    """

    def __init__(
        self,
        chunks: Iterable[tuple[Probabilities, Labels]],
        classes: Sequence[str],
        *,
        scale: int | str | WeightScale,
        memory: int,
        folder: Path | None = None,
        whole: bool = True,
    ) -> None:
        self.classes = tuple(classes)
        self.span = levels_of(scale).span
        n_classes = len(self.classes)
        self.class_mass = np.zeros(n_classes, np.int64)
        self.settled = np.zeros((n_classes, n_classes), np.int64)
        self.blocks = Blocks(memory, folder)
        self.dense = True  # whether the blocks are columns, or lists of candidates
        self.n_open = 0
        self.largest_list = 0  # rows that a line search visits in one block, at most
        self._threads = Threads()
        self._n_pending = 0
        n_rows = max(_BLOCK_CELLS // n_classes, 1)
        self._pending_p = np.empty((n_rows, n_classes))
        self._pending_labels = np.empty(n_rows, np.int64)
        try:
            for p, labels in chunks:
                self._take(np.ascontiguousarray(p), labels)
            if self._n_pending or not len(self.blocks):
                self._keep_pending()
            if whole:
                check_present(self.present, self.classes)
        except BaseException:
            self.close()
            raise
        del self._pending_p, self._pending_labels

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the rows and remove the temporary file."""
        self.blocks.close()

    def _take(self, p: Probabilities, labels: Labels) -> None:
        """Count the settled rows of a chunk and keep the others."""
        self.class_mass += np.bincount(labels, minlength=self.n_classes)
        surveyed = survey(p, labels, _ONE, self.span, self._threads)
        self.settled += surveyed.settled
        is_open = np.flatnonzero(surveyed.is_open)
        n_most = len(self._pending_labels)
        while len(is_open):
            taken = is_open[: n_most - self._n_pending]
            there = slice(self._n_pending, self._n_pending + len(taken))
            self._pending_p[there] = p[taken]
            self._pending_labels[there] = labels[taken]
            self._n_pending += len(taken)
            is_open = is_open[len(taken) :]
            if self._n_pending == n_most:
                self._keep_pending()

    def _keep_pending(self) -> None:
        """Make a block of the open rows collected so far."""
        p, labels = self._pending_p[: self._n_pending], self._pending_labels[: self._n_pending]
        surveyed = survey(p, labels, _ONE, self.span, self._threads)
        if not self.n_open:  # the first block decides for all
            self.dense = prefers_dense(surveyed)
        rows = copy_rows(p, labels, _ONE, self.span, surveyed, dense=self.dense)
        self.blocks.add(rows)
        self.n_open += self._n_pending
        most = self._n_pending if self.dense else int(surveyed.class_size.max())
        self.largest_list = max(self.largest_list, most)
        self._n_pending = 0
