"""The path over β: the same fit at a dozen β, from the most accurate weights to the most even."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from dnip.fitting.fit import MOST_ROWS, PATH, Fit, fit_at, prepare, read_fit_rows
from dnip.fitting.settings import fit_settings
from dnip.method.solution import Status
from dnip.metrics import METRICS
from dnip.tables.table import TableLike


@dataclass(frozen=True, eq=False)
class Point:
    """The fit at one β.

    Attributes
    ----------
    fit : Fit
    """

    fit: Fit

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

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip fit --path --json`` prints."""
        points = []
        for point in self.points:
            weights = point.fit.coefficients.weights.tolist()
            content = {"beta": point.beta, **point.expected, "verdict": point.fit.verdict}
            content["weights"] = dict(zip(self.classes, weights, strict=True))
            points.append(content)
        return {
            "classes": list(self.classes),
            "expected": self.is_expected,
            "raw": self.points[0].raw,
            "points": points,
        }


def trace_path(
    data: TableLike,
    y: ArrayLike | None = None,
    *,
    classes: Sequence[Any] | None = None,
    unlabelled: TableLike | None = None,
    groups: ArrayLike | str | None = None,
    weights: ArrayLike | str | None = None,
    evidence: bool | None = None,
    rows: int | None = MOST_ROWS,
    betas: Sequence[float] = PATH,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - those of `fit_settings`
) -> Path:
    """Fit at every β of a path.

    Parameters
    ----------
    data, y, classes, unlabelled, groups, weights, evidence, rows
        As for :func:`dnip.fit`.
    betas : sequence of float
        Above 0.
    progress : callable, optional
        Called with the number of fits made, and of all.
    **settings
        Of the fits, as for :func:`dnip.fit`: ``costs``, ``seed``, ``target_prior`` and so on.

    Raises
    ------
    InvalidInputError
        As :func:`dnip.fit`, and for an objective without β.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> path = trace_path(bundled_table("opt"), betas=(0.1, 1.0))
    >>> [point.beta for point in path.points]
    [0.1, 1.0]
    """
    asked = fit_settings(**settings)
    opt = read_fit_rows(
        data,
        y,
        classes=classes,
        unlabelled=unlabelled,
        groups=groups,
        weights=weights,
        rows=rows,
        seed=asked.seed,
    )
    prepared = prepare(opt, asked, evidence)
    points: list[Point] = []
    ordered = sorted(set(betas))
    for beta in ordered:
        fit = fit_at(prepared, beta)
        points.append(Point(fit))
        if progress is not None:
            progress(len(points), len(ordered))
        if fit.solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
            break
    return Path(tuple(points))
