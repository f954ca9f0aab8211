"""Labelled rows one by one: which belong together, and what a column that cuts them shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Booleans, Confusion, Counts, Floats, Integers, Labels
from dnip.metrics import accuracy, class_accuracies, cobias, metric_intervals
from dnip.metrics.chance import rates_p_value
from dnip.metrics.confusion import count_pairs
from dnip.tables import Rows
from dnip.tables.groups import Grouping, counted_rows_of, is_quick
from dnip.tables.labels import UNLABELLED

# Values with fewer labelled rows go together.
_LEAST_ROWS = 30
# A class starves in a slice below this part of the mean class of the slice.
_STARVING = 0.5
# How probable it may be that chance alone gives a warning, over all slices and classes together.
_CHANCE = 0.05
#: What halves of a table are called where the column is a time.
HALVES = ("first half", "second half")


@dataclass(frozen=True, eq=False)
class Slice:
    """The labelled rows of one value of a column.

    Attributes
    ----------
    name : str
        The value; or how many values go together; or which half of the time it is.
    raw : ndarray of shape (N, N)
        Counts of the raw argmax, rows true, columns predicted.
    reweighted : ndarray of shape (N, N) or None
        Counts under the coefficients.
    counted : ndarray of shape (N,)
        Rows of each class, where rows that belong together count as one.
    starving : tuple of str
        Classes that starve here and not in the whole, beyond chance.
    """

    name: str
    raw: Confusion
    reweighted: Confusion | None
    counted: Floats
    starving: tuple[str, ...] = ()

    @property
    def last(self) -> Confusion:
        """The counts under the coefficients where there are any, else those of the raw argmax."""
        return self.raw if self.reweighted is None else self.reweighted

    def to_dict(self, confidence: float | None = None) -> dict[str, Any]:
        """Return the metrics of each side, with their intervals where a level is given."""
        content: dict[str, Any] = {"name": self.name, "rows": int(self.raw.sum())}
        for name, counts in (("raw", self.raw), ("reweighted", self.reweighted)):
            if counts is None:
                continue
            rates = class_accuracies(counts)
            content[name] = {
                "accuracy": accuracy(counts),
                "cobias": cobias(counts) if np.isfinite(rates).sum() > 1 else None,
                "worst_class_accuracy": float(np.nanmin(rates)),
                "class_accuracies": [None if np.isnan(rate) else float(rate) for rate in rates],
            }
            if confidence is not None and np.isfinite(rates).sum() > 1:
                bounds = metric_intervals(as_counted(counts, self.counted), confidence)
                kept = ("accuracy", "cobias", "worst_class_accuracy", "class_accuracies")
                content[name]["intervals"] = {name: bounds[name] for name in kept}
        return {**content, "starving": list(self.starving)}


@dataclass(frozen=True, eq=False)
class Slices:
    """All rows of a table by the values of a column.

    Attributes
    ----------
    parts : tuple of Slice
        The largest first; of a time, its two halves.
    is_time : bool
    changed : tuple of str
        What differs between the halves of a time, beyond chance: classes, or ``accuracy``.
    """

    parts: tuple[Slice, ...]
    is_time: bool = False
    changed: tuple[str, ...] = ()

    def to_dict(self, confidence: float | None = None) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        parts = [part.to_dict(confidence) for part in self.parts]
        return {"is_time": self.is_time, "changed": list(self.changed), "slices": parts}

    @property
    def warnings(self) -> Iterator[str]:
        """What somebody who reads only the whole would miss, in a sentence each."""
        for part in self.parts:
            if part.starving:
                names = ", ".join(part.starving)
                yield f"in {part.name}, {names}: right less than half as often as the mean class"
        if self.changed:
            yield f"the second half of the time differs from the first in {', '.join(self.changed)}"


class LabelledRows:
    """What is kept of each labelled row: what it belongs to, and what it is compared by.

    Probabilities are kept, too, to find copies, while rows are few and groups are not named.
    """

    def __init__(self) -> None:
        self._parts: list[dict[str, NDArray[Any]]] = []
        self._n_rows, self._is_quick = 0, True

    def add(self, rows: Rows, decided: Mapping[str, NDArray[np.integer]]) -> None:
        """Keep the labelled rows of a block, with the decisions of the raw argmax and others."""
        if rows.labels is None:
            return
        known = rows.labels != UNLABELLED
        named = {"groups": rows.groups, "slices": rows.slices}
        part = {name: cells[known] for name, cells in named.items() if cells is not None}
        part["labels"] = rows.labels[known]
        if "slices" in part:
            part |= {name: chosen[known] for name, chosen in decided.items()}
        if "groups" not in part and self._is_quick:
            part["p"] = rows.probabilities[known]
        self._parts.append(part)
        self._n_rows += len(part["labels"])
        self._drop(len(rows.classes))

    def join(self, other: LabelledRows) -> None:
        """Add the rows of another piece of the table."""
        self._parts += other._parts
        self._n_rows += other._n_rows
        self._is_quick = self._is_quick and other._is_quick

    def _drop(self, n_classes: int) -> None:
        """Forget what is too much to compare."""
        self._is_quick = self._is_quick and is_quick(self._n_rows, n_classes)
        if not self._is_quick:
            for part in self._parts:
                part.pop("p", None)
            self._parts = [part for part in self._parts if len(part) > 1]

    def found(self, classes: Sequence[str]) -> tuple[Grouping | None, Slices | None]:
        """Return which rows belong together, and the counts by the values of a column."""
        self._drop(len(classes))
        if not self._parts:
            return None, None
        whole = {
            name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]
        }
        labels, values = whole.pop("labels"), whole.pop("slices", None)
        named, p = whole.pop("groups", None), whole.pop("p", None)
        grouping, groups = Grouping.of(named, p, labels, len(classes))
        return grouping, None if values is None else slices_of(
            values, labels, whole, groups, classes
        )


def slices_of(
    values: NDArray[np.object_],
    labels: Labels,
    decisions: Mapping[str, NDArray[np.integer]],
    groups: Integers | None,
    classes: Sequence[str],
) -> Slices:
    """Cut labelled rows by a column.

    Parameters
    ----------
    values : array of str or None, shape (M,)
        The cells of the column; times in ISO 8601 make two halves.
    labels : ndarray of shape (M,)
        Class indices.
    decisions : mapping of str to ndarray of shape (M,)
        Of ``raw`` and, with coefficients, ``reweighted``.
    groups : ndarray of shape (M,) or None
        What rows belong together.
    classes : sequence of str

    Examples
    --------
    >>> values, labels = np.array(["en", "de"] * 40, object), np.arange(80) // 2 % 2
    >>> cut = slices_of(values, labels, {"raw": labels}, None, ["no", "yes"])
    >>> [(part.name, int(part.raw.sum())) for part in cut.parts]
    [('de', 40), ('en', 40)]
    """
    halves = _halves(values)
    if halves is not None:
        masks = dict(zip(HALVES, (~halves, halves), strict=True))
    else:
        masks = _masks(values)
    n_classes = len(classes)

    def part(name: str, rows: Booleans) -> Slice:
        sides = {
            side: count_pairs(labels[rows], chosen[rows], n_classes, n_classes)
            for side, chosen in decisions.items()
        }
        counted = counted_rows_of(labels[rows], n_classes, None if groups is None else groups[rows])
        return Slice(name, sides["raw"], sides.get("reweighted"), counted)

    parts = [part(name, rows) for name, rows in masks.items() if rows.any()]
    whole = part("all", np.ones(len(labels), np.bool_))
    level = _CHANCE / (len(parts) * n_classes)
    parts = [
        Slice(one.name, one.raw, one.reweighted, one.counted, _starving(one, whole, classes, level))
        for one in parts
    ]
    changed = () if halves is None or len(parts) < 2 else _changed(parts[0], parts[1], classes)
    return Slices(tuple(parts), halves is not None, changed)


def as_counted(counts: Counts, counted: Floats) -> Counts:
    """Return counts by class, (N, ...), scaled to the rows of each class that count by themselves.

    Examples
    --------
    >>> as_counted(np.array([[8, 2], [1, 9]]), np.array([5.0, 10.0]))
    array([[4., 1.],
           [1., 9.]])
    """
    rows = counts.reshape(len(counts), -1).sum(axis=1)
    if (rows == counted).all():
        return counts
    factors = counted / np.maximum(rows, 1)
    return np.asarray(counts * factors.reshape(-1, *[1] * (counts.ndim - 1)))


def _masks(values: NDArray[np.object_]) -> dict[str, Booleans]:
    """Return which rows are of each value; those of rare values go together."""
    texts = np.array(["(empty)" if value is None else value for value in values])
    names, numbers, sizes = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.lexsort([names, -sizes])
    large = [number for number in order.tolist() if sizes[number] >= _LEAST_ROWS]
    masks = {str(names[number]): numbers == number for number in large}
    if rare := len(names) - len(large):
        masks[f"{rare:,} other values" if rare > 1 else str(names[order[-1]])] = (
            sizes[numbers] < _LEAST_ROWS
        )
    return masks


def _halves(values: NDArray[np.object_]) -> Booleans | None:
    """Return which rows are in the second half of a time; None for a column of other values."""
    known = [value for value in values.tolist() if value is not None]
    try:
        times = {value: datetime.fromisoformat(value).replace(tzinfo=None) for value in {*known}}
    except ValueError:
        return None
    if len(times) < 2:
        return None
    ordered = sorted(times[value] for value in known)
    middle = ordered[len(ordered) // 2]
    late = [value is not None and times[value] >= middle for value in values.tolist()]
    return np.array(late, np.bool_)


def _starving(part: Slice, whole: Slice, classes: Sequence[str], level: float) -> tuple[str, ...]:
    """Return the classes that starve in a part and not in the whole, where chance is improbable."""
    rates, usual = class_accuracies(part.last), class_accuracies(whole.last)
    with np.errstate(invalid="ignore"):
        starves = rates < _STARVING * np.nanmean(rates)
        everywhere = usual < _STARVING * np.nanmean(usual)
    names = []
    for c in np.flatnonzero(starves & ~everywhere).tolist():
        n = round(part.counted[c])
        if n and _binomial_tail(round(n * rates[c]), n, usual[c]) < level:
            names.append(classes[c])
    return tuple(names)


def _binomial_tail(hits: int, n: int, rate: float) -> float:
    """Return how probable at most so many hits are.

    Examples
    --------
    >>> round(_binomial_tail(1, 4, 0.5), 4)
    0.3125
    """
    if rate >= 1:
        return float(hits >= n)
    counts = np.arange(n + 1)
    logs = np.concatenate([[0.0], np.log(np.arange(n, 0, -1) / counts[1:]).cumsum()])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = logs + np.where(counts > 0, counts * np.log(rate), 0.0)
    return float(np.exp(terms + (n - counts) * np.log1p(-rate))[: hits + 1].sum())


def _changed(first: Slice, second: Slice, classes: Sequence[str]) -> tuple[str, ...]:
    """Return which class accuracies differ between two halves, beyond chance."""
    level = _CHANCE / len(classes)
    names = []
    for c, name in enumerate(classes):
        sizes = np.array([first.counted[c], second.counted[c]])
        rates = np.array([class_accuracies(half.last)[c] for half in (first, second)])
        if sizes.min() < 1:
            continue
        if rates_p_value(rates[0], sizes[0], rates[1], sizes[1]) < level:
            names.append(name)
    return tuple(names)
