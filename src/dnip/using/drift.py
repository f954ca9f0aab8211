"""Whether coefficients still fit new rows, with labels or without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.base.validation import check_level
from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients
from dnip.method.kept import ClassScores, Comparison, Score, Sketch
from dnip.method.prediction import decide
from dnip.priors import PriorEstimate, most_rows
from dnip.tables import Rows
from dnip.tables.files import counted_rows
from dnip.tables.groups import Grouping, Overlap, first_of_groups
from dnip.tables.origin import changes_of_origin, origin_of, tell_left_out
from dnip.tables.sampling import RowSample
from dnip.tables.table import TableLike, as_blocks, tell_corrected
from dnip.using.evaluation import TableCounts
from dnip.using.slices import Slices

# A class is of no row any more where chance is less probable than this; a column of these numbers
# says that the model does not know the class.
_ABSENT_BY_CHANCE, _NEVER = 1e-3, 1e-7

# From these distances on, a difference is called moderate or large.
_MODERATE, _LARGE = 0.1, 0.25

#: With labels, these share alpha: the distribution, accuracy and COBias.
QUESTIONS = 3

#: From fewer rows nothing can be told.
LEAST_ROWS = 30


@dataclass(frozen=True, eq=False)
class Check:
    """Whether coefficients fit new rows, and what was compared.

    Attributes
    ----------
    classes : tuple of str
    alpha : float
        The probability of a false alarm that is accepted.
    n_rows, n_labelled : int
        New rows.
    rows_at_fit : float
        Rows that the sketch of the fit was made of.
    comparison : Comparison
        Of the probabilities, and of captured mass where both sides have it.
    mass_at_fit, mass : float or None
        Captured mass on average.
    changed_at_fit, changed : float
        Share of the rows whose decision the coefficients change. The former may be None: not known.
    shares : ndarray of shape (N,)
        The class mix that the fit is for.
    mix : PriorEstimate
        The class mix of the new rows: that of the labels, of which it is exact, or estimated where
        none has one.
    accuracy, cobias : Score or None
        Under the coefficients; None without labels.
    origin : tuple of str
        What of the model and the prompt has changed since the fit, one sentence each.
    corrected_by : str or None
        The hash of the coefficients that corrected the new rows; None for raw ones.
    deferred : tuple of two floats, or None
        The share of the rows that the coefficients defer, and the one that was asked for.
    signal : bool or None
        Whether probabilities of the new rows tell anything of their labels.
    cause : str or None
        Why they may not, as in :class:`dnip.Evaluation`.
    absent : tuple of str
        Classes of the fit that no new row is of any more.
    grouping : Grouping or None
        Labelled rows that belong together; they count as one.
    slices : Slices or None
        The labelled rows by the values of a column, where one was named.
    overlap : Overlap or None
        How many of the labelled rows are rows of the fit, where the coefficients tell.
    """

    classes: tuple[str, ...]
    alpha: float
    n_rows: int
    n_labelled: int
    rows_at_fit: float
    comparison: Comparison
    mass_at_fit: float | None
    mass: float | None
    changed_at_fit: float | None
    changed: float
    shares: Floats
    mix: PriorEstimate
    accuracy: Score | None
    cobias: Score | None
    origin: tuple[str, ...] = ()
    corrected_by: str | None = None
    deferred: tuple[float, float] | None = None
    signal: bool | None = None
    cause: str | None = None
    absent: tuple[str, ...] = ()
    grouping: Grouping | None = None
    slices: Slices | None = None
    overlap: Overlap | None = None

    @property
    def level(self) -> float:
        """Level of the intervals: each question that is asked gets its part of `alpha`."""
        return 1 - self.alpha / (QUESTIONS if self.compared else 1)

    @property
    def same_distribution(self) -> bool:
        """Whether the probabilities, and the captured mass, are distributed as at the fit."""
        return self.comparison.p_value > 1 - self.level

    @property
    def worse(self) -> tuple[str, ...]:
        """Which scores are worse than at the fit, beyond chance."""
        accuracy = self.accuracy is not None and self.accuracy.now < self.accuracy.low
        cobias = self.cobias is not None and self.cobias.now > self.cobias.high
        return ("accuracy",) * accuracy + ("COBias",) * cobias

    @property
    def compared(self) -> bool:
        """Whether accuracy or COBias were compared with those of the fit."""
        return (self.accuracy, self.cobias) != (None, None)

    @property
    def holds(self) -> bool:
        """The verdict; False, too, where labels carry no signal, or none could be compared."""
        labels_hold = not self.n_labelled or (self.compared and self.signal is not False)
        return self.same_distribution and labels_hold and not self.worse

    @property
    def farthest(self) -> tuple[str, float]:
        """The class whose distribution differs most, and by how much."""
        c = int(np.argmax(self.comparison.distances))
        return self.classes[c], float(self.comparison.distances[c])

    @property
    def effect(self) -> str:
        """How large the largest difference is, in a word."""
        distance = max(self.farthest[1], self.comparison.mass_distance or 0.0)
        return "large" if distance >= _LARGE else "moderate" if distance >= _MODERATE else "small"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip check --json`` prints."""
        mass = None
        if self.mass is not None or self.mass_at_fit is not None:
            distance = self.comparison.mass_distance
            mass = {"at_fit": self.mass_at_fit, "now": self.mass, "distance": distance}
        return {
            "holds": self.holds,
            "alpha": self.alpha,
            "rows": self.n_rows,
            "rows_at_fit": self.rows_at_fit,
            "distribution": {
                "same": self.same_distribution,
                "p_value": self.comparison.p_value,
                "effect": self.effect,
                "distances": self._by_class(self.comparison.distances),
            },
            "mass": mass,
            "changed_decisions": {"at_fit": self.changed_at_fit, "now": self.changed},
            "class_mix": {
                "at_fit": self._by_class(self.shares),
                "now": self.mix.to_dict(self.classes),
            },
            "labelled_rows": self.n_labelled,
            "level": self.level,
            "worse": list(self.worse),
            "accuracy": None if self.accuracy is None else self.accuracy._asdict(),
            "cobias": None if self.cobias is None else self.cobias._asdict(),
            "origin": list(self.origin),
            "corrected_by": self.corrected_by,
            "deferred": self.deferred,
            "signal": self.signal,
            **({} if self.cause is None else {"cause": self.cause}),
            "absent": list(self.absent),
            "groups": None if self.grouping is None else self.grouping.to_dict(),
            **({} if self.slices is None else {"by": self.slices.to_dict(self.level)}),
        }

    def _by_class(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.classes, values.tolist(), strict=True))


def check(
    data: TableLike | Iterable[Rows],
    coefficients: CoefficientsLike,
    y: ArrayLike | None = None,
    *,
    classes: Sequence[Any] | None = None,
    label: str | None = None,
    groups: ArrayLike | str | None = None,
    by: ArrayLike | str | None = None,
    alpha: float = 0.05,
    origin: Mapping[str, str | None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Check:
    """Compare new rows with what the record of a fit keeps of its rows.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable, path, or iterable of Rows
        The new rows, with labels or without.
    coefficients : Coefficients, Fit or path
        Fitted for the table's classes.
    y, label, groups, by
        Labels, what rows belong to, and what they are compared by, as for :func:`dnip.evaluate`. Of
        each group, the first row stands for all where distributions are compared.
    classes : sequence, optional
        The class of each column; by default those of the coefficients.
    alpha : float, default=0.05
        The probability of a false alarm that is accepted.
    origin : mapping, optional
        The model and the prompt of the new rows; by default as the table's file says.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    Check

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes, or keep nothing of their rows.
    InvalidInputError
        For bad rows, or fewer than `LEAST_ROWS`.

    Examples
    --------
    >>> from dnip import fit
    >>> from dnip.comparing.demonstration import bundled_table
    >>> fitted = fit(bundled_table("opt"), evidence=False)
    >>> result = check(bundled_table("test"), fitted)
    >>> result.holds, result.effect
    (True, 'small')
    """
    alpha, coefficients = check_level("alpha", alpha), as_coefficients(coefficients)
    fit, defer = coefficients.fit, coefficients.defer
    sketch: Sketch = fit.needed("sketch", "compared with new rows")
    if origin is None and isinstance(data, str | os.PathLike):
        origin = origin_of(Path(data))
        tell_left_out(data)
    names = coefficients.classes if classes is None else classes
    n_classes = len(coefficients.classes)
    counted, sample = TableCounts(coefficients), TableSample(n_classes)
    seen, highest = set[str](), np.zeros(n_classes)
    blocks = as_blocks(data, y, names, label, groups=groups, by=by)
    for block in counted_rows(blocks, progress):
        counted.add(block)
        p, mass, first = block.probabilities, block.mass, first_of_groups(block.groups, seen)
        sample.add(probabilities=p[first], mass=None if mass is None else mass[first])
        highest = np.maximum(highest, p.max(axis=0, initial=0))
    tell_corrected("new rows", counted.corrected_by)
    if sample.n_rows < LEAST_ROWS:
        raise InvalidInputError(
            f"new rows: {sample.n_rows}, too few to compare",
            hint=f"Give {LEAST_ROWS} rows at least, better some hundred",
        )
    known, confusion = counted.known(), counted.labelled("reweighted")
    rows, n_labelled = confusion.sum(axis=1), int(confusion.sum())
    p, mass = sample.probabilities, sample.mass
    mix = coefficients.estimate_prior(p)
    if n_labelled:
        now = rows / n_labelled
        mix = PriorEstimate(now, now, now, n_labelled)
    accuracy, cobias = _compared(fit.scores, confusion, alpha, known["grouping"])
    return Check(
        classes=coefficients.classes,
        alpha=alpha,
        n_rows=sample.n_rows,
        n_labelled=n_labelled,
        rows_at_fit=sketch.rows,
        comparison=sketch.compare(p, mass),
        mass_at_fit=None if sketch.mass is None else sketch.mass.mean,
        mass=None if mass is None else float(mass.mean()),
        changed_at_fit=sketch.changed_decisions,
        changed=sample.changed(coefficients.multipliers),
        shares=coefficients.class_shares,
        mix=mix,
        accuracy=accuracy,
        cobias=cobias,
        origin=changes_of_origin(None if fit.data is None else fit.data.origin, origin),
        deferred=None if defer is None else (coefficients.deferred(p).mean().item(), defer.share),
        absent=_absent(coefficients, rows, highest),
        **known,
    )


def _compared(
    before: ClassScores | None, confusion: Confusion, alpha: float, grouping: Grouping | None
) -> tuple[Score | None, Score | None]:
    """Return accuracy and COBias of labelled rows, as far as they can be compared with the fit."""
    rows = confusion.sum(axis=1)
    if before is None or not rows[before.rows > 0].any():
        return None, None
    counted = None if grouping is None else grouping.counted
    now = ClassScores(rows, np.diag(confusion))
    accuracy, cobias = before.compare(now, 1 - alpha / QUESTIONS, counted)
    # scores of the fitted rows themselves flatter
    return None if before.expected is None else accuracy, cobias


def _absent(coefficients: Coefficients, rows: Integers, highest: Floats) -> tuple[str, ...]:
    """Return the classes of the fit that are of no new row: by their labels, or by their columns.

    Parameters
    ----------
    coefficients : Coefficients
    rows : ndarray of shape (N,)
        Labelled new rows of each class.
    highest : ndarray of shape (N,)
        The highest probability of each class in any new row.
    """
    shares = coefficients.class_shares
    by_chance = (1 - shares) ** rows.sum() > _ABSENT_BY_CHANCE
    gone = (shares > 0) & ((highest <= _NEVER) | ((rows == 0) & ~by_chance))
    return tuple(name for name, is_gone in zip(coefficients.classes, gone, strict=True) if is_gone)


class TableSample(RowSample):
    """A uniform sample of the rows of a stream: 20,000, or half a million cells if that is less.

    Parameters
    ----------
    n_classes : int

    Examples
    --------
    >>> sample = TableSample(2)
    >>> p, mass = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0.5, 1.0])
    >>> sample.add(probabilities=p, mass=mass)
    >>> sample.probabilities.shape, sample.mass
    ((2, 2), array([0.5, 1. ]))
    >>> sample.changed(np.array([1.0, 2.0]))
    0.5
    """

    def __init__(self, n_classes: int) -> None:
        super().__init__(most_rows(n_classes))

    @classmethod
    def of(
        cls,
        probabilities: Probabilities,
        labels: Labels,
        *,
        mass: Floats | None = None,
        weight: Floats | None = None,
        target: Floats | None = None,
    ) -> Self:
        """Return a sample of labelled rows, weighed to the class mix `target`, (N,), if given."""
        n_classes = probabilities.shape[1]
        if target is not None:
            counts = np.ones(len(labels)) if weight is None else weight
            support = np.bincount(labels, counts, n_classes)
            weight = counts * (target / np.where(support > 0, support, 1.0))[labels]
        sample = cls(n_classes)
        sample.add(probabilities=probabilities, mass=mass, weight=weight)
        return sample

    @property
    def probabilities(self) -> Probabilities:
        """Of the rows of the sample, (M, N)."""
        return np.asarray(self.columns["probabilities"], np.float64)

    @property
    def mass(self) -> Floats | None:
        """Captured mass of the rows of the sample, (M,); None where it is not known."""
        return self.columns.get("mass")

    def sketch(self, multipliers: Floats | None = None) -> Sketch:
        """Return what a fit keeps of the rows.

        Parameters
        ----------
        multipliers : ndarray of shape (N,), optional
            The coefficients, if they are known.
        """
        changed = None if multipliers is None else self.changed(multipliers)
        return Sketch.of(self.probabilities, self.columns.get("weight"), self.mass, changed)

    def changed(self, multipliers: Floats) -> float:
        """Return the share of the rows whose decision the coefficients change."""
        p, weight = self.probabilities, self.columns.get("weight")
        return float(np.average(decide(p) != decide(p, multipliers), weights=weight))
