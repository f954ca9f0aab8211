"""Accuracy and COBias of a table, before and after reweighting, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import listed
from dnip.base.escaping import html_table
from dnip.base.typing import Confusion, Counts, Floats, Labels, Probabilities
from dnip.base.validation import check_level
from dnip.method.coefficients import (
    Coefficients,
    CoefficientsLike,
    Deferral,
    as_coefficients,
    served,
)
from dnip.method.prediction import decide, reweight
from dnip.metrics import CLASS_METRICS, accuracy, class_accuracies, cobias, metric_intervals, scores
from dnip.metrics.chance import MOST_CELLS, MOST_ROWS, has_signal
from dnip.metrics.confusion import count_pairs, in_mix, odd_classes
from dnip.metrics.intervals import PAIRED, accuracy_change, difference_intervals, wilson
from dnip.tables import Rows, Scan
from dnip.tables.cells import no_rows
from dnip.tables.files import Progress, counted_rows
from dnip.tables.frames import make_frame
from dnip.tables.groups import Grouping, Overlap
from dnip.tables.labels import UNLABELLED, better_order, check_countable, check_several_classes
from dnip.tables.rows import CapturedMass, MassCounts
from dnip.tables.sampling import RowSample
from dnip.tables.table import TableLike, as_blocks, check_same_classes, tell_corrected
from dnip.using.slices import LabelledRows, Slices, as_counted


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Confusion counts of a table under the raw argmax and under coefficients.

    Attributes
    ----------
    classes : tuple of str
    n : int
        Labelled rows.
    n_unlabelled : int
        Rows without a label; they are not counted.
    raw : ndarray of shape (N, N)
        Counts of the plain argmax, rows true, columns predicted.
    reweighted : ndarray of shape (N, N) or None
        Counts under the coefficients, if any were given.
    agreement : ndarray of shape (N, 2, 2) or None
        Rows of each class, by whether the raw argmax and whether the coefficients got them right.
        Differences on the same rows are computed from these.
    adjusted : ndarray of shape (N, N) or None
        Counts under the coefficients moved to another class mix, if any were given.
    target : ndarray of shape (N,) or None
        Class shares that the scores are for; None for those of the rows.
    captured_mass : CapturedMass or None
        How many of all rows have a low captured mass; None where the table has no such column.
    corrected_by : str or None
        The hash of the coefficients that corrected the probabilities before; None for raw ones.
    defer : Deferral or None
        The thresholds of the coefficients, if they have any.
    routed : ndarray of shape (N, 2·N) or None
        `reweighted` in two parts: rows that remain, and beside them those that are deferred.
    grouping : Grouping or None
        Rows that belong together; ranges count them as one. None where there are none.
    overlap : Overlap or None
        How many of the labelled rows are rows of the fit, where the coefficients tell.
    slices : Slices or None
        The same counts by the values of a column, where one was named.
    signal : bool or None
        Whether probabilities tell anything of the class, as
        :func:`dnip.metrics.chance.has_signal` finds it; None where that is not known.
    cause : str or None
        Why they may tell nothing: a slip in the labels or columns under which they would.
    """

    classes: tuple[str, ...]
    n: int
    n_unlabelled: int
    raw: Confusion
    reweighted: Counts | None = None
    agreement: Counts | None = None
    adjusted: Confusion | None = None
    target: Floats | None = None
    captured_mass: CapturedMass | None = None
    corrected_by: str | None = None
    defer: Deferral | None = None
    routed: Confusion | None = None
    signal: bool | None = None
    cause: str | None = None
    grouping: Grouping | None = None
    overlap: Overlap | None = None
    slices: Slices | None = None

    def __repr__(self) -> str:
        """Name rows, classes, accuracy, COBias and the worst class, before and after."""
        if self.n == 0:
            return f"Evaluation(no labels, {len(self.classes)} classes)"
        sides = [counts for counts in (self.raw, self.reweighted) if counts is not None]
        rates = " -> ".join(f"{accuracy(self.in_population(counts)):.3f}" for counts in sides)
        gaps = " -> ".join(f"{cobias(counts):.3f}" for counts in sides)
        worst = " -> ".join(
            f"{listed([self.classes[np.nanargmin(counts)]])} {np.nanmin(counts):.3f}"
            for counts in map(class_accuracies, sides)
        )
        return (
            f"Evaluation({self.n:,} rows, {len(self.classes)} classes: accuracy {rates}, "
            f"COBias {gaps}, worst {worst})"
        )

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        names = [name.replace("_", " ") for name in self.by_class]
        return html_table(repr(self), names, [*zip(*self.by_class.values(), strict=True)])

    @property
    def by_class(self) -> dict[str, list[Any]]:
        """What is known of each class."""
        odd = [*self.classes, ""]  # no class is -1
        last = [*self.sides.values()][-1]
        weighed = self.in_population(last)
        return {
            "class": list(self.classes),
            "rows": self.raw.sum(axis=1).tolist(),
            **{name: class_accuracies(counts).tolist() for name, counts in self.sides.items()},
            **{title.lower(): of(weighed).tolist() for title, of in CLASS_METRICS.items()},
            "taken_for": [odd[c] for c in odd_classes(last)],
        }

    @property
    def no_signal(self) -> str:
        """What is said of probabilities that tell nothing of the class."""
        return self.cause or (
            "The probabilities say nothing about the class, beyond chance. No weights can mend "
            "that: they only make classes equally wrong.\nChange the prompt or the model."
        )

    @property
    def sides(self) -> dict[str, Counts]:
        """The confusion matrices that are known: before, after and adjusted."""
        sides = {"before": self.raw, "after": self.reweighted, "adjusted": self.adjusted}
        return {name: counts for name, counts in sides.items() if counts is not None}

    @property
    def always(self) -> tuple[str, float] | None:
        """The class of most rows, and the accuracy of always answering it; None without one.

        Examples
        --------
        >>> Evaluation(("a", "b"), 4, 0, np.array([[3, 0], [1, 0]])).always
        ('a', 0.75)
        """
        shares = self.in_population(self.raw).sum(axis=1) / self.n
        most = int(shares.argmax())
        return (self.classes[most], float(shares[most])) if shares[most] > 0.5 else None

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the classes without a labelled row; they have no accuracy."""
        true = self.raw.sum(axis=1)
        return tuple(name for name, size in zip(self.classes, true, strict=True) if size == 0)

    def to_frame(self, library: str = "pandas") -> Any:  # noqa: ANN401 - of an optional library
        """Return a row for each class as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, default="pandas"

        Examples
        --------
        >>> Evaluation(("a", "b"), 4, 0, np.array([[2, 0], [1, 1]])).to_frame().before.tolist()
        [1.0, 0.5]
        """
        return make_frame(self.by_class, library)

    def starving(self, level: float) -> tuple[str, ...]:
        """Return the classes that are right less often than the mean class, weakest first.

        Only those of which that is sure: intervals are as wide as for all classes at once.

        Examples
        --------
        >>> found = Evaluation(("a", "b"), 200, 0, np.array([[90, 10], [45, 55]]), None)
        >>> found.starving(0.9)
        ('b',)
        """
        rates, rows = class_accuracies(self.raw), self.raw.sum(axis=1)
        counts = self._as_counted(self.raw)
        hits, sizes = np.diag(counts), counts.sum(axis=1)
        upper = wilson(hits, sizes, 1 - (1 - level) / len(rows))[:, 1]
        below = np.flatnonzero((rows > 0) & (upper < np.nanmean(rates)))
        return tuple(self.classes[c] for c in below[np.argsort(rates[below], kind="stable")])

    def in_population(self, confusion: Counts) -> Counts:
        """Return counts of the same number of rows in the class mix of `target`, as fractions.

        See :func:`dnip.metrics.confusion.in_mix`.
        """
        return confusion if self.target is None else in_mix(confusion, self.target)

    def to_dict(
        self, confidence: float | None = None, *, with_counts: bool = True
    ) -> dict[str, Any]:
        """Return what ``dnip evaluate --json`` prints; confusion counts are those of the rows.

        Parameters
        ----------
        confidence : float, optional
            Add the intervals of this level, between 0 and 1. They are right for rows that the
            coefficients were not fitted on.
        with_counts : bool, default=True
            Also return the confusion counts, N² numbers.

        Raises
        ------
        InvalidInputError
            For a level outside 0..1.
        """
        summary: dict[str, Any] = {
            "n": self.n,
            "n_unlabelled": self.n_unlabelled,
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "mass": None if self.captured_mass is None else self.captured_mass.to_dict(),
            "corrected_by": self.corrected_by,
            "signal": self.signal,
            **({} if self.cause is None else {"cause": self.cause}),
            "groups": None if self.grouping is None else self.grouping.to_dict(),
            "fitted": None if self.overlap is None else self.overlap.share,
        }
        if self.slices is not None:
            summary["by"] = self.slices.to_dict(confidence)
        if confidence is not None:
            summary["confidence"] = check_level("confidence", confidence)
        if self.defer is not None and self.routed is not None:
            summary["defer"] = served(self.defer, self.in_population(self.routed))
        names = ("raw", "reweighted", "adjusted")
        for name, confusion in zip(names, self.sides.values(), strict=False):
            summary[name] = scores(self.in_population(confusion), with_counts=False)
            if with_counts:
                summary[name]["confusion"] = confusion.tolist()
            if confidence is not None:
                counts = self._as_counted(confusion)
                summary[name]["intervals"] = metric_intervals(counts, confidence, self.target)
        if self.reweighted is not None and self.agreement is not None:
            summary["difference"] = _differences(summary["raw"], summary["reweighted"])
            if confidence is not None:
                agreement = self._as_counted(self.agreement)
                intervals = difference_intervals(agreement, confidence, self.target)
                summary["difference"]["intervals"] = intervals
        return summary

    def accuracy_change(self, level: float) -> list[float]:
        """Return the interval, of a level, of what coefficients change in accuracy in the mix."""
        assert self.agreement is not None
        return accuracy_change(self._as_counted(self.agreement), level, self.target)

    def _as_counted(self, counts: Counts) -> Counts:
        """Return counts by class for ranges, in which rows that belong together count as one."""
        return counts if self.grouping is None else as_counted(counts, self.grouping.counted)


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return after less before."""
    by_class = zip(before["class_accuracies"], after["class_accuracies"], strict=True)
    return {
        **{name: after[name] - before[name] for name in PAIRED},
        "class_accuracies": [None if a is None else b - a for a, b in by_class],
    }


def evaluate(
    data: TableLike | Iterable[Rows],
    y: ArrayLike | None = None,
    coefficients: CoefficientsLike | None = None,
    *,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    groups: ArrayLike | str | None = None,
    by: ArrayLike | str | None = None,
    adjusted: Coefficients | None = None,
    target: Floats | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Say how often each class is right, by the raw argmax and under coefficients.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable, path, or iterable of Rows
        Class probabilities, shape (M, N); or a table with its labels, such as a `Scan`.
    y : array-like of shape (M,), optional
        Labels; None, NaN and "" are rows without one, and so is -1 unless it is one of N labels.
    coefficients : Coefficients, Fit or path, optional
        Fitted for these classes.
    classes : sequence, optional
        The class of each column. By default those of the coefficients or names of a data frame's
        columns; else labels 0..N-1 are numbers of columns, and others are the classes in order.
    label : str, optional
        The column of labels in a data frame, if it is not `label`. Where labels name columns of
        numbers, columns of texts are no classes.
    groups : array-like of shape (M,) or str, optional
        What each row belongs to, such as a user with many texts; of a file or a data frame, the
        name of the column. The rows of a group count as one in intervals; an empty one is a group
        of its own. Without groups, copies are looked for, and count as one.
    by : array-like of shape (M,) or str, optional
        What rows are compared by, or the name of that column: each value is also scored by itself.
    adjusted : Coefficients, optional
        The same coefficients, moved to another class mix.
    target : ndarray of shape (N,), optional
        Class shares that the scores are for.
    progress : callable, optional
        Receives the number of rows done after each block.

    Returns
    -------
    Evaluation

    Raises
    ------
    InvalidInputError
        For bad input, or labelled rows of fewer than two classes that have a share in `target`.
    CoefficientsFormatError
        If the coefficients were fitted for other classes.

    Examples
    --------
    >>> import dnip
    >>> P, y = [[0.9, 0.1], [0.6, 0.4]], ["ham", "spam"]
    >>> dnip.evaluate(P, y)
    Evaluation(2 rows, 2 classes: accuracy 0.500, COBias 1.000, worst spam 0.000)
    """
    if coefficients is not None:
        coefficients = as_coefficients(coefficients)
        classes = coefficients.classes if classes is None else classes
    count = partial(_count, coefficients, adjusted)
    blocks = as_blocks(data, y, classes, label, groups=groups, by=by)
    if isinstance(blocks, Scan):
        pieces = blocks.each(count, progress)
    else:
        pieces = count(counted_rows(blocks, progress))
    counts = next(pieces, None) or TableCounts(coefficients, adjusted)
    for piece in pieces:
        counts.join(piece)
    tell_corrected(counts.source, counts.corrected_by)
    return counts.evaluation(target)


def _count(
    coefficients: Coefficients | None, adjusted: Coefficients | None, rows: Iterable[Rows]
) -> Iterator[TableCounts]:
    """Yield the counts of some rows."""
    counts = TableCounts(coefficients, adjusted)
    for block in rows:
        counts.add(block)
    yield counts


class TableCounts:
    """What is counted of a table, for `evaluate` and `check`; counts of its pieces add up."""

    def __init__(
        self, coefficients: Coefficients | None = None, adjusted: Coefficients | None = None
    ) -> None:
        asked = {"reweighted": coefficients, "adjusted": adjusted}
        self._asked = {name: weights for name, weights in asked.items() if weights is not None}
        # of each side, (N + 1, places): rows without a label come first
        self._counts: dict[str, Confusion] = {}
        self._classes: tuple[str, ...] = ()
        self.source = ""
        self.corrected_by: str | None = None
        self._masses, self._signal, self._rows = MassCounts(), SignalSample(), LabelledRows()
        fitted = None if coefficients is None else coefficients.fit.fitted
        self._overlap = None if fitted is None else Overlap(fitted)

    def add(self, rows: Rows) -> None:
        """Count some rows."""
        for weights in self._asked.values():
            check_same_classes(rows, weights.classes, weights.path)
        p, self._classes, self.source = rows.probabilities, rows.classes, rows.source
        n_classes = check_countable(len(self._classes))
        self.corrected_by = self.corrected_by or rows.corrected_by
        if rows.mass is not None:
            self._masses.add(rows.mass)
        labels = np.full(len(p), UNLABELLED) if rows.labels is None else rows.labels
        decided: dict[str, NDArray[np.integer]] = {"raw": decide(p)}
        decided |= {name: decide(p, weights.multipliers) for name, weights in self._asked.items()}
        for name, chosen in decided.items():
            self._count(name, labels, chosen, n_classes)
        if "reweighted" in decided:
            chosen, weights = decided["reweighted"], self._asked["reweighted"]
            rights = 2 * (decided["raw"] == labels) + (chosen == labels)
            self._count("agreement", labels, rights, 4)
            if weights.defer is not None:
                deferred = weights.defer.deferred(reweight(p, weights.multipliers), chosen)
                self._count("routed", labels, chosen + n_classes * deferred, 2 * n_classes)
        self._signal.add(rows)
        self._rows.add(rows, decided)
        if self._overlap is not None and rows.labels is not None:
            known = labels != UNLABELLED
            self._overlap.add(p[known], None if rows.ids is None else rows.ids[known])

    def join(self, other: TableCounts) -> None:
        """Add the counts of another piece of the table."""
        for name, counts in other._counts.items():
            self._counts[name] = self._counts.get(name, 0) + counts
        self._classes, self.source = other._classes or self._classes, other.source or self.source
        self.corrected_by = self.corrected_by or other.corrected_by
        self._masses.join(other._masses)
        self._signal.join(other._signal)
        self._rows.join(other._rows)
        if self._overlap is not None and other._overlap is not None:
            self._overlap.join(other._overlap)

    def labelled(self, name: str) -> Confusion:
        """Return the counts of the rows with a label, shape (N, places)."""
        return self._counts[name][1:]

    def known(self) -> dict[str, Any]:
        """Return what an evaluation and a check alike say of the rows."""
        grouping, slices = self._rows.found(self._classes)
        return {
            "corrected_by": self.corrected_by,
            "grouping": grouping,
            "slices": slices,
            "overlap": self._overlap,
            **self._signal.signal(self._classes),
        }

    def evaluation(self, target: Floats | None = None) -> Evaluation:
        """Return the evaluation of all rows; `target` and errors as for `evaluate`."""
        if not self._counts:
            raise no_rows(self.source)
        sides: dict[str, Any] = {name: self.labelled(name) for name in self._counts}
        raw = sides["raw"]
        present, known = raw.sum(axis=1) > 0, ""
        if target is not None:
            present, known = present & (target > 0), " and a share in the target prior"
        check_several_classes(present, self._classes, self.source, known)
        if "agreement" in sides:
            sides["agreement"] = sides["agreement"].reshape(-1, 2, 2)
        return Evaluation(
            classes=self._classes,
            n=int(raw.sum()),
            n_unlabelled=int(self._counts["raw"][0].sum()),
            **sides,
            target=target,
            captured_mass=self._masses.summary,
            defer=self._asked["reweighted"].defer if "routed" in sides else None,
            **self.known(),
        )

    def _count(self, name: str, labels: Labels, places: NDArray[np.integer], n_places: int) -> None:
        counts = count_pairs(labels + 1, places, len(self._classes) + 1, n_places)
        self._counts[name] = self._counts.get(name, 0) + counts


_OF_SIGNALS = 0x517
# Smaller probabilities count as this.
_LEAST = 1e-7


class SignalSample:
    """Labelled rows of a stream, enough to say whether probabilities tell anything of the class."""

    def __init__(self) -> None:
        self._parts: list[RowSample] = []

    def add(self, rows: Rows) -> None:
        """Add the labelled rows of a block."""
        if rows.labels is None or not (known := rows.labels != UNLABELLED).any():
            return
        if not self._parts:
            most = min(MOST_ROWS, max(MOST_CELLS // len(rows.classes), 1))
            self._parts = [RowSample(most, _OF_SIGNALS)]
        self._parts[0].add(p=rows.probabilities[known], y=rows.labels[known])

    def join(self, other: SignalSample) -> None:
        """Add the rows of another piece of the table."""
        self._parts += other._parts

    def signal(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return `signal` and `cause` of an :class:`Evaluation` of these rows."""
        if not self._parts:
            return {}
        p, y = (np.concatenate([sample.columns[name] for sample in self._parts]) for name in "py")
        signal = has_signal(p, y)
        return {"signal": signal, "cause": _slip_in(p, y, classes) if signal is False else None}


def _slip_in(p: Probabilities, labels: Labels, classes: Sequence[str]) -> str | None:
    """Return the slip in labels or columns without which probabilities would speak, or None.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 90)
    >>> print(_slip_in(1 - p, p.argmax(axis=1), "abc"))
    Small numbers go with the class, as distances do: the rows are right less often than by chance.
    If they are distances or costs, give probabilities, larger for the class that is more likely.
    """
    order = better_order(p, labels)
    if order is not None and len(classes) == 2:
        return (
            "The labels may be swapped: each class is the more probable on the rows of the other."
        )
    if order is not None:
        named = listed([classes[c] for c in order], 20)
        return f"The columns may be in another order: the labels speak for {named}, in this order."
    if labels.min() > 0 and has_signal(p, labels - 1):
        return (
            f"The labels may be counted from 1, not from 0: no row has the label {classes[0]}, and "
            "less 1 they agree with the columns."
        )
    inverse = 1 / np.maximum(p, _LEAST)
    if has_signal(inverse / inverse.sum(axis=1, keepdims=True), labels):
        return (
            "Small numbers go with the class, as distances do: the rows are right less often than "
            "by chance.\nIf they are distances or costs, give probabilities, larger for the class "
            "that is more likely."
        )
    return None
