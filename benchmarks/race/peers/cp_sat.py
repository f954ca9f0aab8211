"""OR-tools CP-SAT on the problem as an integer program, exact tie rule and PMI included.

Who wins a row depends on ratios of indices alone, and 30 indices have but 555 different ratios. For
each pair of classes i < j the model holds the rank of ξ_i/ξ_j among all ratios; "i beats j in row
m" is "the rank is at least t", with t from the row's probabilities. A class wins a row where it
beats all others that can win it; rows that ask the same are one variable with a weight. Counts are
sums of these, COBias is made of absolute differences, logarithms of PMI are read from tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, product
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from benchmarks.race.arena import Stop
from benchmarks.race.evaluations import plain_evaluation
from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from types import ModuleType

    from benchmarks.race.arena import Arena
    from dnip.base.typing import Integers

#: A variable, or a literal, of the library.
_Variable: TypeAlias = Any

# Class accuracies and logarithms are whole numbers of these units.
_ACCURACY, _LOG = 10**9, 10**7
# What rounding to these, and the solver's own scaling of the objective, may add to a bound.
_ALLOWANCE = 1e-5


def search(arena: Arena, seed: int) -> None:
    """Build the model and solve it on all cores; the clock runs for both."""
    cp_model = load_optional("ortools.sat.python.cp_model", purpose="run CP-SAT", extra="bench")
    model = _Model(arena, cp_model)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = arena.remaining
    solver.parameters.random_seed = seed % 2**31
    # by default it probes thousands of literals for longer than most time limits
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_presolve_iterations = 1
    solver.parameters.catch_sigint_signal = False
    evaluate = plain_evaluation(arena.probabilities, arena.labels, arena.objective)

    class Report(cp_model.CpSolverSolutionCallback):  # type: ignore[name-defined, misc]
        def on_solution_callback(self) -> None:
            indices = [self.value(variable) for variable in model.indices]
            try:
                arena.note(indices, evaluate(np.array(indices)))
            except Stop:
                self.stop_search()

    # A thread of its own, since the solver hears of Ctrl-C late: what is finished can be written at
    # once, and the process ends when the solver does.
    solved: Queue[Any] = Queue()
    Thread(target=lambda: solved.put(solver.solve(model.model, Report()))).start()
    try:
        status = solved.get()
    except KeyboardInterrupt:
        solver.stop_search()
        raise
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        arena.prove(solver.best_objective_bound - _ALLOWANCE)
    raise Stop


class _Model:
    """The integer program of an arena's problem; the search begins at the raw argmax."""

    def __init__(self, arena: Arena, cp_model: ModuleType) -> None:
        self._arena = arena
        self._scale, self._n = arena.scale, arena.n_classes
        self.model: Any = cp_model.CpModel()
        self._sum = cp_model.LinearExpr.weighted_sum
        self.indices = [self._whole(1, arena.scale) for _ in range(arena.n_classes)]
        for index in self.indices:
            self.model.add_hint(index, arena.scale)
        self._ratios = _ratios(arena.scale)
        place = {(int(a), int(b)): r for r, (a, b) in enumerate(zip(*self._ratios, strict=True))}
        self._ranked = [
            (a, b, place[a // math.gcd(a, b), b // math.gcd(a, b)])
            for a, b in product(range(1, arena.scale + 1), repeat=2)
        ]
        self._ranks = [self._rank(i, j) for i, j in combinations(range(self._n), 2)]
        self._beats: dict[tuple[int, int], Any] = {}
        self._wins: dict[tuple[int, ...], Any] = {}
        self._minimise(*self._count())

    def _whole(self, low: int, high: int) -> _Variable:
        return self.model.new_int_var(low, high, "")

    def _rank(self, i: int, j: int) -> _Variable:
        """Return the rank of ξ_i/ξ_j among all ratios."""
        self._arena.check_time()
        rank = self._whole(0, len(self._ratios[0]) - 1)
        self.model.add_allowed_assignments([self.indices[i], self.indices[j], rank], self._ranked)
        return rank

    def _count(self) -> tuple[list[_Variable], list[_Variable]]:
        """Return the correct and the predicted counts of every class."""
        weights: dict[tuple[int, int, tuple[int, ...]], int] = defaultdict(int)
        for label, winners in zip(self._arena.labels.tolist(), self._questions(), strict=True):
            for c, question in winners:
                weights[label, c, question] += 1
        correct, predicted = (
            [
                self._add(
                    {
                        (label, question): weight
                        for (label, winner, question), weight in weights.items()
                        if winner == c and (label == c or not only_correct)
                    }
                )
                for c in range(self._n)
            ]
            for only_correct in (True, False)
        )
        return correct, predicted

    def _add(self, weights: dict[tuple[int, tuple[int, ...]], int]) -> _Variable:
        """Return how many rows have their question answered yes."""
        fixed = sum(weight for (_, question), weight in weights.items() if not question)
        asked = {key: weight for key, weight in weights.items() if key[1]}
        wins = [self._win(question) for _, question in asked]
        return self._sum(wins, list(asked.values())) + fixed

    def _questions(self) -> list[list[tuple[int, tuple[int, ...]]]]:
        """Return for every row the classes that can win it, and what each must be asked.

        A question is a set of literals, by number: 2·(pair·(ratios + 1) + t) for "i beats j", one
        more for its opposite. A class that wins whatever the weights is asked nothing.
        """
        p = self._arena.probabilities
        n_ratios = len(self._ratios[0])
        asked: dict[tuple[int, int], list[int]] = defaultdict(list)  # by row and class
        lost: set[tuple[int, int]] = set()
        can_win = self._scale * p >= p.max(axis=1, keepdims=True)
        for pair, (i, j) in enumerate(combinations(range(self._n), 2)):
            self._arena.check_time()
            rows = np.flatnonzero(can_win[:, i] & can_win[:, j])
            for m, t in zip(rows.tolist(), self._thresholds(rows, i, j).tolist(), strict=True):
                if t == 0:
                    lost.add((m, j))
                elif t == n_ratios:
                    lost.add((m, i))
                else:
                    literal = 2 * (pair * (n_ratios + 1) + t)
                    asked[m, i].append(literal)
                    asked[m, j].append(literal + 1)
        return [
            [(c, tuple(asked[m, c])) for c in np.flatnonzero(row).tolist() if (m, c) not in lost]
            for m, row in enumerate(can_win)
        ]

    def _thresholds(self, rows: Integers, i: int, j: int) -> Integers:
        """Return for each row the lowest rank of ξ_i/ξ_j at which i < j beats j, by bisection.

        The products are compared as the prediction rule compares them; a tie goes to i.
        """
        numerators, denominators = self._ratios
        p_i, p_j = self._arena.probabilities[rows, i], self._arena.probabilities[rows, j]
        low = np.zeros(len(rows), np.int64)
        high = np.full(len(rows), len(numerators))
        while (low < high).any():
            middle = (low + high) // 2
            at = np.minimum(middle, len(numerators) - 1)
            wins = numerators[at] * p_i >= denominators[at] * p_j
            is_open = low < high
            high = np.where(is_open & wins, middle, high)
            low = np.where(is_open & ~wins, middle + 1, low)
        return low

    def _win(self, question: tuple[int, ...]) -> _Variable:
        """Return the variable that is true where all literals of a question are."""
        if question not in self._wins:
            self._arena.check_time()
            literals = [self._literal(number) for number in question]
            if len(literals) == 1:
                self._wins[question] = literals[0]
            else:
                win = self.model.new_bool_var("")
                self.model.add_bool_and(literals).only_enforce_if(win)
                self.model.add_bool_or([win, *(~literal for literal in literals)])
                self._wins[question] = win
        return self._wins[question]

    def _literal(self, number: int) -> _Variable:
        pair, t = divmod(number // 2, len(self._ratios[0]) + 1)
        if (pair, t) not in self._beats:
            literal = self.model.new_bool_var("")
            self.model.add(self._ranks[pair] >= t).only_enforce_if(literal)
            self.model.add(self._ranks[pair] < t).only_enforce_if(~literal)
            self._beats[pair, t] = literal
        return ~self._beats[pair, t] if number % 2 else self._beats[pair, t]

    def _minimise(self, correct: list[_Variable], predicted: list[_Variable]) -> None:
        """Add error + β·COBias - τ·ΣPMI."""
        objective = self._arena.objective
        m = len(self._arena.labels)
        sizes = np.bincount(self._arena.labels, minlength=self._n).tolist()
        self.model.add(sum(predicted) == m)
        goal = 1.0 - sum(correct) * (1 / m)
        if objective.beta > 0:
            units = [round(_ACCURACY / size) for size in sizes]
            pairs = list(combinations(zip(correct, units, strict=True), 2))
            for (one, unit), (other, other_unit) in pairs:
                gap = self._whole(0, 2 * _ACCURACY)
                difference = one * unit - other * other_unit
                self.model.add(gap >= difference)
                self.model.add(gap >= -difference)
                goal += gap * (objective.beta / len(pairs) / _ACCURACY)
        if objective.tau > 0:
            mu = objective.smoothing_over(m)
            goal += objective.tau * self._n * _pmi_shift(m, self._n, mu)
            for c, size in enumerate(sizes):
                goal += objective.tau * math.log(size + mu)
                goal += self._log(predicted[c], m) * (objective.tau / _LOG)
                goal -= self._log(correct[c], size) * (objective.tau / _LOG)
        self.model.minimize(goal)

    def _log(self, count: _Variable, largest: int) -> _Variable:
        """Return ln(count + μ) in whole units, from a table."""
        mu = self._arena.objective.smoothing_over(len(self._arena.labels))
        table = np.log(np.arange(largest + 1) + mu) * _LOG
        logarithms = np.rint(table).astype(int).tolist()
        index = self._whole(0, largest)
        value = self._whole(logarithms[0], logarithms[-1])
        self.model.add(index == count)
        self.model.add_element(index, logarithms, value)
        return value


def _ratios(scale: int) -> tuple[Integers, Integers]:
    """Return numerators and denominators of all ratios of two indices, ascending."""
    a, b = np.meshgrid(np.arange(1, scale + 1), np.arange(1, scale + 1))
    reduced = np.gcd(a, b) == 1
    a, b = a[reduced], b[reduced]
    order = np.argsort(a / b)
    return a[order], b[order]


def _pmi_shift(m: int, n: int, mu: float) -> float:
    """Return minus the part of PMI_j that depends on the numbers of examples and classes alone."""
    return math.log(m + mu * n * n) - 2 * math.log(m + mu * n)
