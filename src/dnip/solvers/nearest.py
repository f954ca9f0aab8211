"""Constraints that cannot be kept: which ones, and how near weights come to them.

An error names three numbers for each constraint that is missed:

- what it reaches where all constraints together are missed by least;
- what it can reach while the others hold;
- what it can reach alone. This takes no search: a class is right most often if its weight is the
  highest and all other weights are the lowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.base.errors import InfeasibleError
from dnip.method.objective import Objective
from dnip.metrics import accuracy, class_accuracies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Counts, Floats
    from dnip.method.constraints import Demands
    from dnip.solvers.landscape import Landscape

# How many missed constraints are looked at, the worst first; each takes a search.
_MOST = 5
# The accuracy that every class can reach is found to this precision.
_RESOLUTION = 0.0005
# Digits of rates in messages. Floors are rounded down and losses up, so that they can be kept.
_DIGITS = 3

_ERROR = Objective(beta=0.0, tau=0.0, terms=("error",))


class Attempt(NamedTuple):
    """The result of a search under other demands."""

    point: Floats  # (N,)
    confusion: Counts
    kept: bool  # whether these demands are kept
    proven: bool  # whether no point does better


#: A search for the lowest value of an objective under demands.
Try = Callable[[Objective, "Demands"], Attempt]


@dataclass(frozen=True)
class Reach:
    """What one constraint can reach. A loss of accuracy is a negative number.

    Attributes
    ----------
    name : str
    asked : float
    together : float
        What it reaches where all constraints together are missed by least.
    with_others : float or None
        The most it can reach while the others hold; None if no weights were found that keep them.
    alone : float or None
        The most it can reach if the others are ignored; None for the loss of accuracy, which the
        raw argmax does not have.
    proven : bool
        Whether `with_others` is proven; if that is None, whether no weights keep the others.
    searched : bool
        Whether there was time to search.
    """

    name: str
    asked: float
    together: float
    with_others: float | None
    alone: float | None
    proven: bool
    searched: bool = True

    def sentence(self, *, only: bool) -> str:
        """How near weights come to the constraint; `only` if there is no other one."""
        sign = "at most" if self.asked <= 0 else "at least"
        near = self.together if self.with_others is None else self.with_others
        if self.with_others is None and self.searched:
            others = "keep the others" if self.proven else "were found that keep the others"
            said = f"even without it no weights {others}"
        else:
            how = ", as is proven" if self.proven else " that was found"
            said = f"{_shown(near)} is the nearest{how}"
            if self.with_others is not None and not only:
                said += ", while the others hold"
        if self.alone is not None and near < self.alone < self.asked:
            said += f"; no weights at all reach more than {_shown(self.alone)}"
        return f"{self.name} {sign} {abs(self.asked):g}: {said}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers; a loss is positive here."""
        sign = -1.0 if self.asked <= 0 else 1.0
        return {
            "asked": abs(self.asked),
            "together": sign * self.together,
            "with_others": None if self.with_others is None else sign * self.with_others,
            "alone": self.alone,
            "proven": self.proven,
        }


@dataclass(frozen=True)
class _Part:
    """One constraint: a floor of classes, or, without classes, the most accuracy to lose."""

    name: str
    asked: float
    members: list[int]
    others: Demands  # all constraints but this one

    def reached(self, confusion: Counts, raw: Counts) -> float:
        """Return what counts reach, compared with those of the raw argmax."""
        if not self.members:
            return accuracy(confusion) - accuracy(raw)
        return float(class_accuracies(confusion)[self.members].min())

    def alone(self, landscape: Landscape) -> float | None:
        """Return the most that it can reach if the others are ignored."""
        return min((_most(landscape, self.others.frozen, c) for c in self.members), default=None)

    def best(self, raw: Counts, attempt: Try) -> Attempt:
        """Search for the most that it can reach while the others hold."""
        if len(self.members) == 1:
            costs = np.zeros(raw.shape)
            costs[self.members] = 1.0
            np.fill_diagonal(costs, 0.0)
            return attempt(replace(_ERROR, costs=costs), self.others)
        found = attempt(_ERROR, self.others)
        if not self.members or not found.kept:
            return found
        # halve the interval between a floor that can be kept and one that was not
        high, proven = self.asked, True
        while high - self.reached(found.confusion, raw) > _RESOLUTION:
            middle = (high + self.reached(found.confusion, raw)) / 2
            tried = attempt(_ERROR, _with_floor(self.others, self.members, middle))
            if tried.kept:
                found = tried
            else:
                high, proven = middle, proven and tried.proven
        return found._replace(proven=proven)


def _with_floor(demands: Demands, members: Sequence[int], rate: float) -> Demands:
    least = demands.least.copy()
    least[members] = rate
    return replace(demands, least=least)


def explain(
    landscape: Landscape, demands: Demands, nearest: Floats, proven: bool, attempt: Try | None
) -> InfeasibleError | Floats:
    """Return the error for demands that were missed, or a point that keeps them after all.

    Parameters
    ----------
    landscape : Landscape
        Of the search that found no point without a shortfall.
    demands : Demands
    nearest : ndarray of shape (N,)
        The point with the least shortfall that was found.
    proven : bool
        Whether no point has less.
    attempt : callable, optional
        Searches under other demands; None if there is no time for it.
    """
    raw = landscape.confusion(landscape.equal_weights())
    together = landscape.confusion(nearest)
    parts = _parts(demands)
    missed = [part for part in parts if part.reached(together, raw) < part.asked - 1e-9]
    missed.sort(key=lambda part: part.reached(together, raw) - part.asked)
    reaches = []
    for part in missed[:_MOST]:
        with_others, alone, sure = None, part.alone(landscape), False
        if attempt is not None:
            found = part.best(raw, attempt)
            if landscape.keeps_floors(found.point):
                return found.point
            sure = found.proven
            if found.kept:
                with_others = part.reached(found.confusion, raw)
                sure = sure or with_others == alone
        near = part.reached(together, raw)
        searched = attempt is not None
        reaches.append(Reach(part.name, part.asked, near, with_others, alone, sure, searched))
    return _error(reaches, len(missed) - len(reaches), len(parts), proven)


def _parts(demands: Demands) -> list[_Part]:
    parts = []
    if demands.max_accuracy_loss is not None:
        others = replace(demands, max_accuracy_loss=None)
        parts.append(_Part("accuracy loss", -demands.max_accuracy_loss, [], others))
    floors = [
        (f"class {demands.classes[c]}", float(demands.least[c]), [int(c)])
        for c in demands.named
        if demands.least[c] > 0
    ]
    if demands.every and len(demands.members):
        floors.append(("every class", demands.every, np.asarray(demands.members).tolist()))
    return parts + [
        _Part(name, rate, members, _with_floor(demands, members, 0.0))
        for name, rate, members in floors
    ]


def _most(landscape: Landscape, frozen: Sequence[int], c: int) -> float:
    """Return the accuracy of a class if its weight is the highest and all others are the lowest."""
    point = landscape.lowest_weights()
    highest = [c, *frozen]
    point[highest] = landscape.equal_weights()[highest]
    return float(class_accuracies(landscape.confusion(point))[c])


def _error(reaches: list[Reach], n_more: int, n_parts: int, proven: bool) -> InfeasibleError:
    clauses = "; ".join(reach.sentence(only=n_parts == 1) for reach in reaches)
    more = f"; and {n_more} more" if n_more else ""
    known = "no weights on this scale satisfy" if proven else "no weights were found that satisfy"
    what = "the constraint" if n_parts == 1 else "all constraints"
    message = f"{known} {what} on the labelled rows: {clauses}{more}"
    if len(reaches) > 1 and not n_more:
        all_of = ", ".join(f"{reach.name} {_shown(reach.together)}" for reach in reaches)
        message += f". All together they come nearest with {all_of}"
    hint = "Ask for what can be reached"
    if not proven:
        hint += ", or take the exact solver to know for sure"
    return InfeasibleError(
        message, hint=hint, nearest={reach.name: reach.to_dict() for reach in reaches}
    )


def _shown(reached: float) -> str:
    """Return a rate that can be asked for: rounded down, or up if it is a loss."""
    return f"{abs(math.floor(reached * 10**_DIGITS + 1e-9) / 10**_DIGITS):.{_DIGITS}f}"
