"""Constraints on a fit: accuracy, class accuracies, and classes whose weight stays 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.base.records import complete
from dnip.base.typing import Booleans, Counts, Floats, Integers
from dnip.base.validation import check_number

#: In place of a class: every class that has labels and no floor of its own.
EVERY_CLASS = "all"

# Rates that differ by less count as equal. This is far above the rounding of sums of fractional
# sample weights, and less than one example in a hundred million.
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True)
class Constraints:
    """What weights must satisfy on the labelled rows that they are fitted on.

    Parameters
    ----------
    max_accuracy_loss : float, optional
        How far accuracy may fall below that of the raw argmax, 0..1. :func:`dnip.fit` keeps it on
        other rows, too, as far as the labels can tell; :func:`dnip.solve` and
        :class:`dnip.DNIPClassifier` keep it on these rows alone.
    min_class_accuracies : mapping of class to float, optional
        Least accuracy of classes, 0..1. A class is its name or label, else its index; ``"all"`` is
        every class that has labels and no floor of its own.
    freeze : sequence of classes, optional
        Classes whose weight stays 1. Weights are at most 1, so other classes can only go down.
    allow_silence : bool, default=False
        Whether a class that the raw argmax gets right on some rows may end up right on none. The
        published objective, one with a `smoothing` in examples, always allows it.

    Raises
    ------
    InvalidInputError
        For a rate outside 0..1, or a class that is neither a name nor an index.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.55, 0.45]]
    >>> solve(p, [0, 1, 0, 1], scale=30, constraints=Constraints(freeze=[1])).weight_indices
    array([13, 30])
    """

    max_accuracy_loss: float | None = None
    min_class_accuracies: Mapping[str | int, float] = field(default_factory=dict)
    freeze: Sequence[str | int] = ()
    allow_silence: bool = False

    def __post_init__(self) -> None:
        if self.max_accuracy_loss is not None:
            check_number("max_accuracy_loss", self.max_accuracy_loss, at_least=0, at_most=1)
        if not isinstance(self.min_class_accuracies, Mapping):
            raise InvalidInputError(
                f"min_class_accuracies must map classes to rates; got {self.min_class_accuracies!r}"
            )
        for key, rate in self.min_class_accuracies.items():
            _check_key("min_class_accuracies", key)
            check_number(f"the least accuracy of class {key}", rate, at_least=0, at_most=1)
        if isinstance(self.freeze, str):
            raise InvalidInputError(
                f"freeze must be a sequence of classes; got the single text {self.freeze!r}",
                hint=f"Give a list, such as [{self.freeze!r}]",
            )
        for key in self.freeze:
            _check_key("freeze", key)
        floors = dict(self.min_class_accuracies)
        complete(self, min_class_accuracies=floors, freeze=tuple(self.freeze))

    def __bool__(self) -> bool:
        """Whether anything is asked."""
        return self != Constraints()

    def on(self, classes: Sequence[str], present: Booleans) -> Demands:
        """Return the constraints of one opt set, by class index.

        Parameters
        ----------
        classes : sequence of str
            Class names.
        present : ndarray of shape (N,)
            Whether each class has labels.

        Raises
        ------
        InvalidInputError
            For an unknown class, one that is named twice, a floor for a class without labels, or
            if every class is frozen.
        """
        least = np.zeros(len(classes))
        floors: dict[int, float] = {}
        for key, rate in self.min_class_accuracies.items():
            if key == EVERY_CLASS and key not in classes:
                least[present] = rate
                continue
            c = _find_class(key, classes)
            if c in floors:
                raise InvalidInputError(
                    f"class {classes[c]} has two least accuracies, {floors[c]:g} and {rate:g}",
                    hint="Name every class once",
                )
            if not present[c]:
                raise InvalidInputError(
                    f"class {classes[c]} has no labelled example that counts, so that nothing is "
                    f"known of its accuracy, but it is to be at least {rate:g}",
                    hint="Label examples of it, or leave it out of the constraints",
                )
            floors[c] = float(rate)
        for c, rate in floors.items():
            least[c] = rate
        frozen = tuple(sorted({_find_class(key, classes) for key in self.freeze}))
        if not (present & ~np.isin(np.arange(len(classes)), frozen)).any():
            raise InvalidInputError(
                "every class with labels is frozen, and there is nothing left to fit",
                hint="Freeze fewer classes",
            )
        loss = None if self.max_accuracy_loss is None else float(self.max_accuracy_loss)
        return Demands(tuple(classes), loss, least, frozen, not self.allow_silence)


@dataclass(frozen=True, eq=False)
class Demands:
    """The constraints of one opt set, by class index.

    Attributes
    ----------
    classes : tuple of str
        Class names.
    max_accuracy_loss : float or None
    least : ndarray of shape (N,)
        Least accuracy of each class, 0 where nothing is asked.
    frozen : tuple of int
    no_silence : bool
        Whether every class that the raw argmax gets right on some rows must stay right on one.
    """

    classes: tuple[str, ...]
    max_accuracy_loss: float | None
    least: Floats
    frozen: tuple[int, ...]
    no_silence: bool

    @property
    def has_rates(self) -> bool:
        """Whether an accuracy must be reached."""
        return self.max_accuracy_loss is not None or bool((self.least > 0).any())

    def floors(self, true: Integers, raw: Integers) -> tuple[Integers, int]:
        """Return the correct counts that must be reached: by each class, (N,), and by all together.

        Parameters
        ----------
        true : ndarray of shape (N,)
            Examples of each class.
        raw : ndarray of shape (N,)
            Those that the raw argmax gets right.
        """
        least = [
            # of a rate as written: 0.7, not the nearest float64
            max(0, math.ceil((Fraction(repr(rate)) - _ROUNDING) * n)) if rate else 0
            for rate, n in zip(self.least.tolist(), true.tolist(), strict=True)
        ]
        floors = np.maximum(np.array(least, np.int64), (raw > 0) & self.no_silence)
        if self.max_accuracy_loss is None:
            return floors, 0
        may_be_lost = Fraction(repr(self.max_accuracy_loss)) + _ROUNDING
        return floors, max(0, math.ceil(int(raw.sum()) - may_be_lost * int(true.sum())))

    def missed(self, confusion: Counts, raw: Counts) -> list[str]:
        """Return what is asked and not reached, a clause each, the worst first.

        Parameters
        ----------
        confusion, raw : ndarray of shape (N, N)
            Counts under the weights, and under the raw argmax.
        """
        clauses: list[tuple[float, str]] = []
        if self.max_accuracy_loss is not None:
            loss = float((np.trace(raw) - np.trace(confusion)) / confusion.sum())
            clause = f"accuracy falls by {loss:.4f}, at most {self.max_accuracy_loss:g} is asked"
            clauses.append((loss - self.max_accuracy_loss, clause))
        for c, name in enumerate(self.classes):
            n_rows, right, floor = confusion[c].sum(), confusion[c, c], float(self.least[c])
            if floor > 0:
                rate = float(right / n_rows)
                clause = f"class {name} has an accuracy of {rate:.4f}, at least {floor:g} is asked"
                clauses.append((floor - rate, clause))
            elif self.no_silence and raw[c, c] > 0 and right == 0:
                clauses.append((float(1 / n_rows), f"class {name} is right on no row any more"))
        clauses.sort(reverse=True)
        return [clause for shortfall, clause in clauses if shortfall > _ROUNDING]

    def to_dict(self, confusion: Counts, raw: Counts) -> dict[str, Any] | None:
        """Return what was asked and what was reached, as a coefficients file records it, if it was.

        Parameters
        ----------
        confusion, raw : ndarray of shape (N, N)
            Counts under the weights, and under the raw argmax.
        """
        summary: dict[str, Any] = {}
        total = confusion.sum()
        if self.max_accuracy_loss is not None:
            summary["max_accuracy_loss"] = self.max_accuracy_loss
            summary["accuracy_loss"] = float((np.trace(raw) - np.trace(confusion)) / total)
        floors = np.flatnonzero(self.least > 0).tolist()
        if floors:
            summary["min_class_accuracies"] = {
                self.classes[c]: float(self.least[c]) for c in floors
            }
            summary["class_accuracies"] = {
                self.classes[c]: float(confusion[c, c] / confusion[c].sum()) for c in floors
            }
        if self.frozen:
            summary["freeze"] = [self.classes[c] for c in self.frozen]
        return summary or None


# A class index has no more digits.
_DIGITS = 9


def _find_class(key: str | int, classes: Sequence[str]) -> int:
    """Return the index of a class: of its name, also where that is a number; else it is the index.

    Examples
    --------
    >>> [_find_class(key, ["2", "dog"]) for key in ("dog", 2, 0)]
    [1, 0, 0]
    """
    name = str(key)
    if name in classes:
        return list(classes).index(name)
    if not name.isdecimal() or len(name) > _DIGITS or int(name) >= len(classes):
        raise InvalidInputError(
            f"unknown class {listed([name])!r}; the classes are {listed(classes)}",
            hint=f"Name a class of the table, or give its index, 0..{len(classes) - 1}",
        )
    return int(name)


def _check_key(name: str, key: object) -> None:
    if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
        raise InvalidInputError(
            f"{name}: a class is a name or an index; got {key!r}",
            hint="Give names as text, indices as whole numbers from 0",
        )
