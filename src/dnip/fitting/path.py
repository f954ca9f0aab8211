"""The path over β: the same fit at a dozen β, from the most accurate weights to the most even."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, listed, unwarned
from dnip.base.validation import check_number
from dnip.fitting.fit import MOST_ROWS, other_rows, sample_of
from dnip.fitting.fitter import PATH, Fitter
from dnip.fitting.result import Fit
from dnip.fitting.settings import FitSettings
from dnip.method.solution import Status
from dnip.metrics import METRICS
from dnip.tables import ProbabilityTable
from dnip.tables.table import TableLike, check_disjoint, scored_rows
from dnip.using.evaluation import Evaluation, evaluate

#: What picks the point between the ends.
KNEE = "knee"


@dataclass(frozen=True, eq=False)
class Point:
    """The fit at one β.

    Attributes
    ----------
    fit : Fit
    test : Evaluation or None
        Of a test table under its coefficients.
    """

    fit: Fit
    test: Evaluation | None = None

    @property
    def beta(self) -> float:
        """β of the fit."""
        return float(self.fit.coefficients.objective["beta"])

    @property
    def expected(self) -> dict[str, float]:
        """Every metric as refits expect it on other rows; without refits, on the fitted ones."""
        scores = (self.fit.evidence or self.fit.evaluation).to_dict()["reweighted"]
        return {name: scores[name] for name in METRICS}

    @property
    def raw(self) -> dict[str, float]:
        """The same of the raw argmax."""
        scores = (self.fit.evidence or self.fit.evaluation).to_dict()["raw"]
        return {name: scores[name] for name in METRICS}


@dataclass(frozen=True, eq=False)
class Path:
    """What every β of the path gives.

    Attributes
    ----------
    points : tuple of Point
        In order of β.
    """

    points: tuple[Point, ...]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names."""
        return self.points[0].fit.coefficients.classes

    @property
    def is_expected(self) -> bool:
        """Whether scores are those expected on other rows, rather than of the fitted ones."""
        return self.points[0].fit.evidence is not None

    @cached_property
    def knee(self) -> int:
        """The number of the point where accuracy and evenness gained over both ends are most.

        Each gain counts as a part of the path's span.
        """
        scores = [point.expected for point in self.points]
        gains = np.zeros(len(scores))
        for name, sign in (("accuracy", 1), ("cobias", -1)):
            values = sign * np.array([point[name] for point in scores])
            span = np.ptp(values)
            gains += (values - values.min()) / span if span > 0 else 0.0
        return int(gains.argmax())

    def choose(self, choice: str | float) -> int:
        """Return the number of the point that ``"knee"`` or a β names.

        Raises
        ------
        InvalidInputError
            If the path does not hold the β.
        """
        if choice == KNEE:
            return self.knee
        betas = [point.beta for point in self.points]
        if choice not in betas:
            raise InvalidInputError(
                f"β {choice} is not on the path", hint=f"It holds {listed([*map(str, betas)], 20)}"
            )
        return betas.index(float(choice))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip pareto --json`` prints of the path."""
        points = []
        for point in self.points:
            weights = point.fit.coefficients.weights.tolist()
            content = {"beta": point.beta, **point.expected, "verdict": point.fit.verdict}
            content["weights"] = dict(zip(self.classes, weights, strict=True))
            if point.test is not None:
                assert point.test.reweighted is not None
                content["test"] = {n: METRICS[n].of(point.test.reweighted) for n in METRICS}
            points.append(content)
        return {
            "classes": list(self.classes),
            "expected": self.is_expected,
            "raw": self.points[0].raw,
            "points": points,
            "knee": self.points[self.knee].beta,
        }


def check_choice_of(choice: str) -> str | float:
    """Return ``"knee"``, or the β that a text names.

    Raises
    ------
    InvalidInputError
        For another text.

    Examples
    --------
    >>> check_choice_of("knee"), check_choice_of("0.7")
    ('knee', 0.7)
    """
    if choice == KNEE:
        return choice
    try:
        return check_number("beta", float(choice), above=0)
    except ValueError:
        raise InvalidInputError(
            f"a point is chosen by {KNEE} or by a β above 0; got {choice!r}",
            hint="Give --choose knee, or --choose 0.5",
        ) from None


def trace_path(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    test: ProbabilityTable | None = None,
    classes: Sequence[Any] | None = None,
    unlabelled: TableLike | None = None,
    evidence: bool | None = None,
    settings: FitSettings | None = None,
    betas: Sequence[float] = PATH,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Fit at every β of a path.

    Parameters
    ----------
    data, y, classes, unlabelled, evidence, settings
        As for :func:`dnip.fit`.
    test : ProbabilityTable, optional
        Other rows of the same classes. They have no influence on the path.
    betas : sequence of float
        Above 0.
    progress : callable, optional
        Called with the number of fits made, and of all.

    Raises
    ------
    InvalidInputError
        If a table has fewer than two classes with labelled rows, or the two tables differ in
        their classes or share rows.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> path = trace_path(bundled_table("opt"), betas=(0.1, 1.0))
    >>> [point.beta for point in path.points]
    [0.1, 1.0]
    """
    settings = settings or FitSettings()
    sample, count = sample_of(data, y, classes, MOST_ROWS, settings.seed)
    more = None
    if unlabelled is not None:
        more = other_rows(sample.table, unlabelled, classes, MOST_ROWS, settings.seed)
    held_out = None
    if test is not None:
        held_out = scored_rows(test)
        check_disjoint(sample.table, test)
    fitter = Fitter(sample, count, settings, more=more, evidence=evidence)
    points: list[Point] = []
    ordered = sorted(set(betas))
    for fit in fitter.path(settings, ordered):
        with unwarned():  # the first evaluation has told it
            seen = None if held_out is None else evaluate(held_out, coefficients=fit.coefficients)
        points.append(Point(fit, seen))
        if progress is not None:
            progress(len(points), len(ordered))
        if fit.solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            break
    return Path(tuple(points))
