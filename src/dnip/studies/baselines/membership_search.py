"""The search over choices of every class: exact line searches, kicked on."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_number, check_scale
from dnip.method.objective import Objective
from dnip.solvers import solve
from dnip.studies.baselines.base import Method
from dnip.studies.baselines.dnip import quiet_about_classes
from dnip.studies.baselines.membership import Choices, MembershipCorrection

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers, Labels, Probabilities
    from dnip.studies.baselines.base import OptSet

# Line searches: a base, and so many per class.
_BASE, _PER_CLASS = 120, 12
_RANDOM_STARTS = 4
# Kicks in a row that lead to no line not searched before: the search has seen it all.
_FRUITLESS = 64
# Choices × rows × classes that are computed once and kept.
_KEPT_CELLS = 30_000_000
# Rows that are counted at a time.
_BLOCK = 1 << 14
# What an objective must be lower by to count as lower: sums of rates are rounded.
_TOLERANCE = 1e-12


class Position(NamedTuple):
    """A choice for each class, and the objective there."""

    chosen: Integers
    value: float


@dataclass(frozen=True)
class Membership(Method):
    """The authors' follow-up, DCS: every class takes a weight or a triangular function.

    Searched by coordinates, like DNIP: with all classes but one fixed, one pass over the rows
    counts the confusion of every choice of that class. Descents start from the optimum of weights
    alone, the raw argmax and random choices; the best is kicked, a few classes choosing at random,
    and descends again. So the objective is never above that of weights alone.

    A class without labels keeps the weight that DNIP gives it.

    Parameters
    ----------
    objective : Objective
        With COBias over pairs.
    scale : int, default=30
        K of the weights.
    effort : float, default=1.0
        Multiplies the number of line searches, 120 + 12·N.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]] * 10  # the second class wins between two others
    >>> fitted = Membership().fit(OptSet.of(p, [0, 0, 1] * 10))
    >>> fitted.predict(np.array(p[:3])), fitted.notes["terms"]["error"]
    (array([0, 0, 1]), 0.0)
    """

    objective: Objective = field(default_factory=Objective)
    scale: int = 30
    effort: float = 1.0

    name = "membership"
    summary = "a weight or one of 19 triangular functions for each class"
    seeded = True

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_number("effort", self.effort, above=0)
        if self.objective.gap != "pairwise":
            raise InvalidInputError(
                "membership functions are searched with COBias over pairs; got the objective "
                f"{self.objective.to_dict()}"
            )

    def fit(self, opt: OptSet, seed: int = 0) -> MembershipCorrection:
        """Search the choices of all classes."""
        with quiet_about_classes():
            weights = solve(
                opt.probabilities,
                opt.labels,
                self.objective,
                scale=self.scale,
                seed=seed,
                classes=opt.classes,
            ).weight_indices
        lines = Lines(opt.probabilities, opt.labels, Choices(self.scale), self.objective)
        rng = np.random.default_rng(seed)
        free = np.flatnonzero(opt.present)
        enough = int(self.effort * (_BASE + _PER_CLASS * opt.n_classes))

        best = lines.descend(weights - 1, rng.permutation(free))
        starts = [np.full(opt.n_classes, self.scale - 1)]
        starts += [lines.draw(rng) for _ in range(_RANDOM_STARTS)]
        for start in starts:
            start[~opt.present] = weights[~opt.present] - 1
            reached = lines.descend(start, rng.permutation(free))
            best = min(best, reached, key=lambda position: position.value)

        fruitless = 0
        while lines.searched < enough and fruitless < _FRUITLESS:
            before = lines.searched
            kicked = _kick(best.chosen, lines.draw(rng), free, rng)
            reached = lines.descend(kicked, rng.permutation(free))
            best = reached if reached.value <= best.value else best
            fruitless = 0 if lines.searched > before else fruitless + 1

        confusion = lines.count(best.chosen)
        notes = {
            "objective": self.objective(confusion),
            "terms": self.objective.terms_of(confusion),
            "line_searches": lines.searched,
        }
        return MembershipCorrection(lines.choices, best.chosen, notes)


class Lines:
    """All lines through choices: one class varies, the others stand.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    choices : Choices
    objective : Objective
        With COBias over pairs.

    Attributes
    ----------
    searched : int
        Lines searched; one that was searched before is remembered and costs nothing.
    """

    def __init__(
        self, probabilities: Probabilities, labels: Labels, choices: Choices, objective: Objective
    ) -> None:
        self.choices = choices
        self.searched = 0
        self._p, self._labels, self._objective = probabilities, labels, objective
        self._n = probabilities.shape[1]
        self._raw = probabilities.argmax(axis=1)
        self._remembered: dict[tuple[int, bytes], Floats] = {}
        kept = len(choices) * probabilities.size <= _KEPT_CELLS
        self._heights = [choices.values(column) for column in probabilities.T] if kept else None

    def draw(self, rng: np.random.Generator) -> Integers:
        """Draw a choice for each class: a weight or a function, equally likely."""
        weights = rng.integers(self.choices.scale, size=self._n)
        functions = rng.integers(self.choices.scale, len(self.choices), size=self._n)
        return np.where(rng.random(self._n) < 0.5, weights, functions)

    def descend(self, chosen: Integers, order: Integers) -> Position:
        """Search the classes of `order` round and round until none can do better by itself.

        A class stays where no other choice is better, and otherwise goes to the first of the best:
        every move lowers the objective, so the descent ends.
        """
        here = chosen.copy()
        scores = self.choices.scores(self._p, here)
        at_rest = 0
        value = np.inf
        for c in cycle(order.tolist()):
            values = self._line(here, scores, c)
            best = int(values.argmin())
            at_rest += 1
            if values[here[c]] > values[best] + _TOLERANCE:
                at_rest = 1
                here[c] = best
                scores[:, c] = self.choices.height(self._p[:, c], best)
            value = float(values[here[c]])
            if at_rest == len(order):
                break
        return Position(here, value)

    def _line(self, here: Integers, scores: Floats, c: int) -> Floats:
        others = here.copy()
        others[c] = -1
        key = c, others.tobytes()
        if key not in self._remembered:
            self.searched += 1
            self._remembered[key] = objective_values(self.along(scores, c), self._objective)
        return self._remembered[key]

    def along(self, scores: Floats, c: int) -> Integers:
        """Count examples by true and predicted class for every choice of one class.

        Parameters
        ----------
        scores : ndarray of shape (M, N)
            Of the choices of all classes, 0 where a function says so; class `c`'s is not read.
        c : int

        Returns
        -------
        ndarray of shape (choices, N, N)
        """
        n, n_choices = self._n, len(self.choices)
        # choice, label and prediction of a row make one cell of a flat tally
        tally = np.zeros(n_choices * n**2, np.int64)
        first_cells = np.arange(n_choices)[:, None] * n**2
        for first in range(0, len(scores), _BLOCK):
            rows = slice(first, first + _BLOCK)
            others = scores[rows].copy()
            others[:, c] = -1.0
            rival = others.argmax(axis=1)
            height = others[np.arange(len(others)), rival]
            own = self._own(c, rows)
            wins = (own > height) | ((own == height) & (c < rival))
            winner = np.where(wins, c, rival)
            if not height.all():  # a row in which every score is 0 keeps its raw argmax
                winner = np.where((own == 0) & (height == 0), self._raw[rows], winner)
            cells = first_cells + self._labels[rows] * n + winner
            tally += np.bincount(cells.ravel(), minlength=len(tally))
        return tally.reshape(n_choices, n, n)

    def count(self, chosen: Integers) -> Integers:
        """Count examples by true and predicted class under the choices of all classes."""
        counts = self.along(self.choices.scores(self._p, chosen), 0)
        return np.asarray(counts[chosen[0]])

    def _own(self, c: int, rows: slice) -> Floats:
        """Return the scores of a class under every choice, shape (choices, rows)."""
        if self._heights is None:
            return self.choices.values(self._p[rows, c])
        return self._heights[c][:, rows]


def objective_values(confusions: Integers, objective: Objective) -> Floats:
    """Return Z of many confusion matrices over the same examples.

    Parameters
    ----------
    confusions : ndarray of shape (R, N, N)
    objective : Objective
        With COBias over pairs.

    Returns
    -------
    ndarray of shape (R,)

    Examples
    --------
    >>> objective = Objective(beta=1.0, tau=0.0)
    >>> objective_values(np.array([[[8, 2], [4, 6]], [[10, 0], [0, 10]]]), objective).round(6)
    array([0.5, 0. ])
    """
    n = confusions.shape[1]
    correct = np.diagonal(confusions, axis1=1, axis2=2)
    true = confusions[0].sum(axis=1)
    total = true.sum()
    z = np.zeros(len(confusions))
    if "error" in objective.terms:
        z += 1 - correct.sum(axis=1) / total
    if "cobias" in objective.terms:
        rates = np.sort(correct[:, true > 0] / true[true > 0], axis=1)
        seen = rates.shape[1]
        z += objective.beta * (rates @ (2 * np.arange(seen) - seen + 1)) / (seen * (seen - 1) / 2)
    if "pmi" in objective.terms:
        mu = objective.smoothing_over(total)
        joint = (correct + mu) / (total + mu * n**2)
        predicted = (confusions.sum(axis=1) + mu) / (total + mu * n)
        chance = predicted * (true + mu) / (total + mu * n)
        z -= objective.tau * np.log(joint / chance).sum(axis=1)
    return z


def _kick(chosen: Integers, drawn: Integers, free: Integers, rng: np.random.Generator) -> Integers:
    """Return choices of which one, two or a third of the free classes take what was drawn."""
    n_touched = int(rng.choice([1, 2, max(1, len(free) // 3)]))
    touched = rng.choice(free, min(n_touched, len(free)), replace=False)
    kicked = chosen.copy()
    kicked[touched] = drawn[touched]
    return kicked
