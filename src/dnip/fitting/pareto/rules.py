"""Rules to pick a point of a front."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.base.validation import check_number
from dnip.fitting.pareto.fronts import Front, Point

#: What a rule may look like, for messages and help.
FORMS = (
    "knee, max-accuracy, min-cobias, 'accuracy>=0.7', 'cobias<=0.05', 'loss<=0.01', or the number "
    "of a point"
)

_NAMES = ("knee", "max-accuracy", "min-cobias")
_BOUND = re.compile(r"(accuracy|cobias|loss)\s*(>=|<=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")
_SENSES = {"accuracy": ">=", "cobias": "<=", "loss": "<="}
# Rates are rounded sums: a bound that is reached but for this is reached.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Rule:
    """How to pick a point.

    ``knee``: where the sum of what is gained over both ends is greatest, each as a part of the
    front's span. ``max-accuracy``, ``min-cobias``: the ends. ``accuracy>=A``: the lowest COBias
    with at least that accuracy. ``cobias<=C``: the highest accuracy with at most that COBias.
    ``loss<=L``: the lowest COBias at an accuracy at most L below that of the raw argmax. A number
    counts the points from 1, the most accurate.

    Parameters
    ----------
    kind : str
        One of the names, or ``"accuracy"``, ``"cobias"``, ``"loss"``, ``"number"``.
    bound : float, default=0
        Of the last four.

    Examples
    --------
    >>> Rule.of("accuracy >= 0.7"), str(Rule.of("12"))
    (Rule(kind='accuracy', bound=0.7), '12')
    """

    kind: str
    bound: float = 0.0

    @classmethod
    def of(cls, text: str | int | Rule) -> Rule:
        """Read a rule.

        Raises
        ------
        InvalidInputError
            For a text that is no rule, or a bound out of range.
        """
        if isinstance(text, Rule):
            return text
        name = str(text).strip().lower()
        if name in _NAMES:
            return cls(name)
        if re.fullmatch(r"[0-9]{1,9}", name):
            return cls("number", int(name))
        match = _BOUND.fullmatch(name)
        if match is None:
            hint = f"Give {FORMS}"
            if name in _SENSES:
                hint = (
                    f"Put quotes around it, as in '{name}{_SENSES[name]}0.1': > and < steer files"
                )
            raise InvalidInputError(f"{str(text)!r} is no rule to choose a point by", hint=hint)
        kind, sense, number = match.groups()
        if sense != _SENSES[kind]:
            raise InvalidInputError(
                f"{str(text)!r} is no rule: {kind} takes {_SENSES[kind]}", hint=f"Give {FORMS}"
            )
        least = -1 if kind == "loss" else 0
        return cls(
            kind, check_number(f"the bound of {kind}", float(number), at_least=least, at_most=1)
        )

    def __str__(self) -> str:
        if self.kind in _NAMES:
            return self.kind
        if self.kind == "number":
            return f"{self.bound:g}"
        return f"{self.kind}{_SENSES[self.kind]}{self.bound:g}"

    def choose(self, front: Front) -> int:
        """Return the place of the chosen point among the points of a front, from 0.

        Raises
        ------
        InvalidInputError
            If no point obeys the rule; the message names the nearest.
        """
        points = front.points
        place = self._best(front)
        if place is not None:
            return place
        if self.kind == "number":
            raise InvalidInputError(
                f"there is no point {self}: the front has {len(points)}",
                hint=f"Give a number from 1, the most accurate, to {len(points)}",
            )
        nearest, since = self.nearest(front), ""
        if self.kind == "loss":
            since = f", measured from the raw argmax with accuracy {front.raw.accuracy:.4f}"
        raise InvalidInputError(
            f"no point of the front obeys {self}{since}; the nearest is point {nearest + 1}: "
            f"{points[nearest]}",
            hint=f"Take it with {nearest + 1}, or loosen the bound",
        )

    def nearest(self, front: Front) -> int:
        """Return the place of the chosen point, or of the one nearest to obeying the rule."""
        place = self._best(front)
        if place is not None:
            return place
        return len(front.points) - 1 if self.kind in ("number", "cobias") else 0

    def _best(self, front: Front) -> int | None:
        """Return the place of the point that the rule asks for, if there is one."""
        points = front.points
        if self.kind == "max-accuracy":
            return 0
        if self.kind == "min-cobias":
            return len(points) - 1
        if self.kind == "knee":
            return knee(points)
        if self.kind == "number":
            return int(self.bound) - 1 if 1 <= self.bound <= len(points) else None
        if self.kind == "cobias":
            obeying = [n for n, p in enumerate(points) if p.cobias <= self.bound + _ROUNDING]
            return obeying[0] if obeying else None
        least = front.raw.accuracy - self.bound if self.kind == "loss" else self.bound
        obeying = [n for n, p in enumerate(points) if p.accuracy >= least - _ROUNDING]
        return obeying[-1] if obeying else None


def knee(points: tuple[Point, ...]) -> int:
    """Return the place of the point that gains most over both ends of a front.

    Gains are parts of the front's span in accuracy and in COBias. The point is the one farthest
    from the line between the ends, on the better side; of equal ones that of lower COBias.
    """
    gained = place_on(points).sum(axis=1)
    return int(np.flatnonzero(gained >= gained.max() - _ROUNDING)[-1])


def place_on(points: tuple[Point, ...]) -> Floats:
    """Return where each point stands between the ends of a front, (P, 2).

    The accuracy gained over the last point and the COBias gained over the first, as parts of the
    front's span; 1 for a front of one point.
    """
    accuracy = np.array([point.accuracy for point in points])
    cobias = np.array([point.cobias for point in points])
    if len(points) == 1:
        return np.ones((1, 2))
    return np.column_stack(
        [
            (accuracy - accuracy[-1]) / (accuracy[0] - accuracy[-1]),
            (cobias[0] - cobias) / (cobias[0] - cobias[-1]),
        ]
    )
