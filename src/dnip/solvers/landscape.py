"""A problem seen through one objective: what every solver walks on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.errors import InvalidInputError
from dnip.kernels.counting import count
from dnip.kernels.flips import find_flips, new_workspace, walk
from dnip.kernels.line_search import line_search
from dnip.kernels.rows import lay_out
from dnip.kernels.values import Terms, new_memo, value
from dnip.objective import Objective

if TYPE_CHECKING:
    from dnip.objective import ObjectiveLike
    from dnip.problem import Problem
    from dnip.typing import Confusion, Counts, Floats, Integers, WeightIndices


@dataclass
class Position:
    """Where a search stands: indices, the counts there and their value, changed in place."""

    indices: Floats  # (N,) whole numbers 1..K, as float64 because they multiply probabilities
    confusion: Confusion  # (N, N) in units of mass
    predicted: Integers  # (N,) its column sums
    value: float


class Landscape:
    """The objective over all weight indices of one problem.

    Parameters
    ----------
    problem : Problem
        The opt set.
    objective : ObjectiveLike
        What to minimise. An :class:`Objective` is evaluated by compiled code, any other one by
        calling it.
    scale : int
        K.
    held : dict of int to int
        Classes that stay at a given index.
    """

    def __init__(
        self, problem: Problem, objective: ObjectiveLike, scale: int, held: dict[int, int]
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.scale = scale
        self.held = held
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.evaluations = 0
        self._rows = lay_out(problem.probabilities, problem.labels, problem.mass, scale)
        self._workspace = new_workspace(self._rows, scale)
        if isinstance(objective, Objective):
            smoothing = objective.smoothing / problem.unit
            self._terms = _compile_terms(objective, smoothing)
            self._memo = new_memo(problem.class_mass, smoothing)

    @property
    def n_classes(self) -> int:
        """N."""
        return self.problem.n_classes

    def stand(self, indices: WeightIndices | Floats) -> Position:
        """Count and evaluate at weight indices of shape (N,); held classes keep theirs."""
        here = np.array(indices, np.float64)
        for c, index in self.held.items():
            here[c] = index
        confusion = count(self._rows, here)
        predicted = confusion.sum(axis=0)
        return Position(here, confusion, predicted, self._evaluate(confusion, predicted))

    def line_search(self, position: Position, c: int) -> bool:
        """Move class `c` to its best index and say whether it moved.

        A class that stands at one of its best indices stays; otherwise it goes to the lowest.
        """
        before = position.indices[c]
        if isinstance(self.objective, Objective):
            self.evaluations += self.scale
            position.value = line_search(
                self._rows,
                self._workspace,
                self._terms,
                self._memo,
                position.indices,
                position.confusion,
                position.predicted,
                c,
                self.scale,
            )
        else:
            self._line_search_by_calling(position, c)
        return bool(position.indices[c] != before)

    def _line_search_by_calling(self, position: Position, c: int) -> None:
        find_flips(self._rows, position.indices, c, self.scale, self._workspace)
        flips = self._workspace.flips
        now = int(position.indices[c])
        counts = (position.confusion, position.predicted)
        values = np.empty(self.scale + 1)
        values[0] = np.inf
        stands = now
        for k in range(1, self.scale + 1):
            if k == 1 or flips.start[k] < flips.start[k + 1]:
                walk(flips, c, stands, k, *counts)
                stands = k
                values[k] = self._evaluate(*counts)
            else:
                values[k] = values[k - 1]
        best = now if values[now] <= values.min() else int(values.argmin())
        walk(flips, c, stands, best, *counts)
        position.indices[c] = best
        position.value = float(values[best])

    def _evaluate(self, confusion: Confusion, predicted: Integers) -> float:
        self.evaluations += 1
        if isinstance(self.objective, Objective):
            return float(value(confusion, predicted, self._terms, self._memo))
        z = self.objective(self.in_examples(confusion))
        if math.isnan(z):
            raise InvalidInputError(
                f"objective {self.objective.to_dict()} is not a number at the confusion matrix "
                f"{self.in_examples(confusion).tolist()}",
                hint="Return a number for every confusion matrix, such as inf where undefined",
            )
        return z

    def in_examples(self, confusion: Confusion) -> Counts:
        """Return counts of mass as counts of examples: a copy, safe to hand out."""
        if self.problem.unit == 1.0:
            return confusion.copy()
        return confusion.astype(np.float64) * self.problem.unit


def _compile_terms(objective: Objective, smoothing: float) -> Terms:
    gap = objective.beta if "cobias" in objective.terms else 0.0
    return Terms(
        error=1.0 if "error" in objective.terms else 0.0,
        cobias=gap if objective.gap == "pairwise" else 0.0,
        single=gap if objective.gap == "single" else 0.0,
        tau=objective.tau if "pmi" in objective.terms else 0.0,
        smoothing=smoothing,
    )
