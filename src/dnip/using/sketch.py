"""What a fit keeps of how its probabilities are distributed: a few numbers of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from dnip.base.typing import Floats, Labels, Probabilities
from dnip.method.coefficients import FitRecord, reading
from dnip.method.prediction import decide
from dnip.metrics.chance import hotelling_p_value, smirnov_p_value
from dnip.priors.estimate import centred, log_probabilities, most_rows
from dnip.tables.sampling import RowSample

#: From fewer rows nothing can be told.
LEAST_ROWS = 30

# Places at which a distribution function is kept: with twice as many, hardly more is noticed.
_KNOTS = 15
# Rows per class that the covariance of the log-probabilities needs. With fewer, the test of the
# means gives false alarms.
_ROWS_PER_CLASS = 10


@dataclass(frozen=True, eq=False)
class _ColumnSketch:
    """Mean and distribution function of one column of numbers.

    Attributes
    ----------
    mean : float
    knots : ndarray of shape (Q,)
        Ascending. Each lies between two values of the column, so that the last digits of a value
        do not matter.
    shares : ndarray of shape (Q,)
        The share of the rows below each knot.

    Examples
    --------
    >>> column = _ColumnSketch.of(np.arange(100) / 100, np.ones(100))
    >>> column.mean, column.knots[:2], column.shares[:2]
    (0.495, array([0.065, 0.125]), array([0.07, 0.13]))
    >>> round(column.distance(np.arange(50) / 100), 2)
    0.5
    """

    mean: float
    knots: Floats
    shares: Floats

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Self:
        """Return the sketch of a column whose rows count by their weight."""
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        below = np.cumsum(weight[order]) / weight.sum()
        wanted = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
        places = np.minimum(np.searchsorted(below, wanted), len(ordered) - 1)
        behind = np.unique(np.searchsorted(ordered, ordered[places], side="right"))
        behind = behind[behind < len(ordered)]
        between = (ordered[behind - 1] + ordered[behind]) / 2
        knots = np.unique([_short(knot) for knot in between.tolist()])
        at = np.searchsorted(ordered, knots, side="right")
        shares = np.concatenate([[0.0], below])[at].tolist()
        mean = _short(np.average(values, weights=weight))
        return cls(mean, knots, np.array([_short(share) for share in shares]))

    def distance(self, values: Floats) -> float:
        """Return the largest difference of the distribution functions at the knots, 0..1."""
        if not len(self.knots):
            return 0.0
        below = np.searchsorted(np.sort(values), self.knots, side="right") / len(values)
        return float(np.abs(below - self.shares).max())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"mean": self.mean, "knots": self.knots.tolist(), "shares": self.shares.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the sketch that `to_dict` wrote; ValueError, TypeError, KeyError for others."""
        mean = float(content["mean"])
        knots, shares = (np.asarray(content[name], np.float64) for name in ("knots", "shares"))
        if not np.isfinite(mean) or knots.ndim != 1 or knots.shape != shares.shape:
            raise ValueError("not a mean, and a share for every knot")
        if not np.isfinite(knots).all() or (np.diff(knots) <= 0).any():
            raise ValueError("knots do not rise")
        if not (np.diff(shares, prepend=0.0, append=1.0) >= 0).all():
            raise ValueError("shares do not rise from 0 to 1")
        return cls(mean, knots, shares)


class Comparison(NamedTuple):
    """How new rows differ from those of a fit.

    Attributes
    ----------
    distances : ndarray of shape (N,)
        The largest difference of the distribution functions of each class, 0..1: at least so many
        of the rows would have to change.
    mass_distance : float or None
        Likewise of captured mass.
    p_value : float
        How probable such differences are by chance.
    """

    distances: Floats
    mass_distance: float | None
    p_value: float


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is kept of the rows of a fit.

    Attributes
    ----------
    rows : float
        How many there were, of a sample if there were many; weighted ones count as (Σw)²/Σw²
        (Kish 1965).
    classes : tuple of _ColumnSketch
        Of the log-probability of each class, less the mean over the classes.
    mass : _ColumnSketch or None
        Of the captured mass, where the table has it.
    changed : float or None
        The share of the rows whose decision the coefficients change; None if it is not known.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([2, 1, 1], 1_000)
    >>> sketch = Sketch.of(p[:500])
    >>> sketch.rows, len(sketch.classes), sketch.classes[0].knots.size
    (500.0, 3, 15)
    >>> sketch.compare(p[500:]).p_value > 0.05, sketch.compare(p[500:, ::-1]).p_value < 1e-9
    (True, True)
    """

    rows: float
    classes: tuple[_ColumnSketch, ...]
    mass: _ColumnSketch | None = None
    changed: float | None = None

    @classmethod
    def of(
        cls,
        probabilities: Floats,
        weight: Floats | None = None,
        mass: Floats | None = None,
        changed: float | None = None,
    ) -> Self:
        """Return the sketch of some rows.

        Parameters
        ----------
        probabilities : ndarray of shape (M, N)
        weight : ndarray of shape (M,), optional
            How much each row counts.
        mass : ndarray of shape (M,), optional
            Captured mass.
        changed : float, optional
            The share of the rows whose decision the coefficients change.
        """
        if weight is None:
            weight = np.ones(len(probabilities))
        columns = centred(log_probabilities(probabilities)).T
        return cls(
            _short(weight.sum() ** 2 / (weight @ weight)),
            tuple(_ColumnSketch.of(column, weight) for column in columns),
            None if mass is None else _ColumnSketch.of(mass, weight),
            None if changed is None else _short(changed),
        )

    def compare(self, probabilities: Floats, mass: Floats | None = None) -> Comparison:
        """Compare new rows with those of the fit.

        Two tests, with half of the level each: Hotelling's of the means of all differences of
        log-probabilities between two classes, and Kolmogorov's and Smirnov's of each class and of
        captured mass, with Bonferroni's correction. The first is left out where a class has fewer
        than ten rows on average.

        Parameters
        ----------
        probabilities : ndarray of shape (M, N)
        mass : ndarray of shape (M,), optional
        """
        n = len(probabilities)
        columns = centred(log_probabilities(probabilities))
        pairs = zip(self.classes, columns.T, strict=True)
        distances = np.array([sketch.distance(column) for sketch, column in pairs])
        mass_distance = None
        if self.mass is not None and mass is not None:
            mass_distance = self.mass.distance(mass)
        tested = [*distances.tolist(), *([] if mass_distance is None else [mass_distance])]
        p_value = len(tested) * smirnov_p_value(max(tested), self.rows, n)
        if min(n, self.rows) >= _ROWS_PER_CLASS * len(distances):
            means = np.array([column.mean for column in self.classes])
            p_value = 2 * min(p_value, hotelling_p_value(means, self.rows, columns))
        return Comparison(distances, mass_distance, min(p_value, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as a coefficients file holds it."""
        return {
            "rows": self.rows,
            "changed_decisions": self.changed,
            "mass": None if self.mass is None else self.mass.to_dict(),
            "classes": [column.to_dict() for column in self.classes],
        }

    @classmethod
    def from_fit(cls, fit: FitRecord, classes: Sequence[str]) -> Self:
        """Return the sketch that the record of a fit holds.

        Raises
        ------
        CoefficientsFormatError
            If there is none, or it is damaged.
        """
        content = fit.needed("sketch", "compared with new rows")
        with reading("sketch"):
            rows, mass = float(content["rows"]), content["mass"]
            changed = content["changed_decisions"]
            columns = tuple(_ColumnSketch.from_dict(column) for column in content["classes"])
            if not 0 < rows < np.inf or len(columns) != len(classes):
                raise ValueError(f"not one column for each of {len(classes)} classes")
            return cls(
                rows,
                columns,
                None if mass is None else _ColumnSketch.from_dict(mass),
                None if changed is None else float(changed),
            )


def _short(value: float) -> float:
    """Return a number with six digits."""
    return float(f"{value:.6g}")


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
