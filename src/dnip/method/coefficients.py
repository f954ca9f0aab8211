"""One coefficient per class: what is deployed. Using them never loads a solver."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.classes import check_classes
from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed
from dnip.base.escaping import html_table
from dnip.base.files import read_named, write_text
from dnip.base.typing import Booleans, Floats, Probabilities, WeightIndices
from dnip.method.defer import Deferral
from dnip.method.prediction import check_columns, decide, reweight
from dnip.method.record import GIVE_ANOTHER, FitRecord, from_text, to_text
from dnip.method.scales import FREE, WeightScale, check_scaled
from dnip.method.solution import Solution
from dnip.priors.estimate import Calibration, PriorEstimate, estimate_prior
from dnip.priors.target import PriorLike, adjust, check_prior

# What coefficients cannot be without what a fit has learned.
_MOVED = "moved to another class mix"


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients:
    """The weights of the classes, and a record of the fit that made them.

    Parameters
    ----------
    classes : sequence of str
        Class names, in the order of the probability columns.
    weight_indices : array-like of shape (N,)
        ξ, whole numbers 1..K; empty for free weights.
    scale : int, str or WeightScale
        K, ``"log:K"``, ``"span:S"``, or ``"continuous"`` for free weights. The attribute holds a
        `WeightScale`.
    objective : dict, optional
        Settings of the objective and its value on the opt set.
    fit : FitRecord or dict, optional
        How they came about; a dictionary as in a file. The attribute holds a `FitRecord`.
    weights : array-like of shape (N,), optional
        ω, above 0 and at most 1: free weights; on a scale the indices give them.
    defer : Deferral, optional
        Which rows to defer.

    Attributes
    ----------
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by before the argmax: ξ on a linear scale, because the
        factor 1/K cancels, and ω on others.

    Raises
    ------
    InvalidInputError
        For indices outside 1..K, bad weights, thresholds of other classes, or bad class names.
        And wherever probabilities break their contract, or are of other classes.

    Examples
    --------
    >>> coefficients = Coefficients(["cat", "dog"], [30, 15], scale=30)
    >>> coefficients
    Coefficients(cat: 1.000, dog: 0.500)
    >>> coefficients.predict([[0.4, 0.6], [0.3, 0.7]]).tolist()
    ['cat', 'dog']
    >>> coefficients.apply([[0.4, 0.6]]).round(3)
    array([[0.571, 0.429]])
    """

    classes: tuple[str, ...]
    weight_indices: WeightIndices
    scale: WeightScale
    objective: dict[str, Any] = field(default_factory=dict)
    fit: FitRecord = field(default_factory=FitRecord)
    weights: Floats = field(default_factory=lambda: np.empty(0))
    defer: Deferral | None = None

    def __init__(
        self,
        classes: Sequence[str],
        weight_indices: ArrayLike,
        scale: int | str | WeightScale,
        objective: dict[str, Any] | None = None,
        fit: FitRecord | Mapping[str, Any] | None = None,
        weights: ArrayLike | None = None,
        defer: Deferral | None = None,
    ) -> None:
        names = check_classes(classes)
        k, indices, omega = check_scaled(scale, weight_indices, weights, len(names))
        for array in (indices, omega):
            array.setflags(write=False)
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "weight_indices", indices)
        object.__setattr__(self, "scale", k)
        object.__setattr__(self, "objective", dict(objective or {}))
        if not isinstance(fit, FitRecord):
            fit = FitRecord.from_dict(fit, len(names)) if fit else FitRecord()
        object.__setattr__(self, "fit", fit)
        object.__setattr__(self, "weights", omega)
        if defer is not None and len(defer.thresholds) != len(names):
            raise InvalidInputError(
                f"{len(defer.thresholds)} thresholds of deferring, but {len(names)} classes"
            )
        object.__setattr__(self, "defer", defer)

    def __reduce__(self) -> tuple[type[Coefficients], tuple[Any, ...]]:
        """Let the constructor make copies too: their arrays are read-only."""
        return type(self), tuple(getattr(self, column.name) for column in fields(self))

    def __repr__(self) -> str:
        return f"Coefficients({listed([f'{name}: {weight:.3f}' for name, weight in self._rows])})"

    def _repr_html_(self) -> str:
        return html_table("Coefficients", ["class", "weight"], self._rows)

    @property
    def _rows(self) -> list[tuple[str, float]]:
        return [*zip(self.classes, self.weights.tolist(), strict=True)]

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        classes: Sequence[str],
        record: FitRecord | None = None,
        defer: Deferral | None = None,
    ) -> Coefficients:
        """Make coefficients of a solution; the record is of the search alone by default.

        Examples
        --------
        >>> from dnip import solve
        >>> solution = solve([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> Coefficients.from_solution(solution, ["no", "yes"]).fit.search["solver"]
        'coordinate'
        """
        return cls(
            classes,
            solution.weight_indices,
            solution.scale,
            {**solution.objective, "value": solution.value, "term_values": solution.terms},
            record or FitRecord(search=solution.search_record(classes)),
            defer=defer,
        )

    @cached_property
    def digest(self) -> str:
        """A hash of the classes and the weights: the mark of what they corrected.

        It is the same on every scale that gives these weights.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).digest
        '202fe88dd43e4192'
        """
        return hashlib.sha256(
            json.dumps([self.classes, self.weights.tolist()]).encode()
        ).hexdigest()[:16]

    @cached_property
    def multipliers(self) -> Floats:
        """What probabilities are multiplied by before the argmax."""
        if self.scale == FREE:
            return self.weights
        return self.scale.multipliers(self.weight_indices)

    def apply(self, probabilities: ArrayLike) -> Probabilities:
        """Reweight class probabilities (equation 6): ω_n·p_mn, normalised to sum 1 per row.

        The result is not calibrated. It ranks the classes as `predict` does, save where two
        products differ by a rounding: quotients may be equal there, so decide by `predict`.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are taken by the names of the classes, if it has them all.

        Returns
        -------
        ndarray of shape (M, N)
        """
        return reweight(check_columns(probabilities, self.classes), self.multipliers)

    def predict(self, probabilities: ArrayLike) -> NDArray[np.object_]:
        """Predict argmax_n ω_n·p_mn (equation 7); a tie goes to the lowest class.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            As for `apply`.

        Returns
        -------
        ndarray of shape (M,)
            Class names, as Python strings.
        """
        chosen = decide(check_columns(probabilities, self.classes), self.multipliers)
        return np.asarray(np.array(self.classes, np.object_)[chosen])

    def deferred(self, probabilities: ArrayLike) -> Booleans:
        """Return which rows to defer, shape (M,), of probabilities as for `apply`.

        Without thresholds no row is deferred.

        Examples
        --------
        >>> some = Coefficients(["cat", "dog"], [30, 15], 30, defer=Deferral([0.9, 0.6], 0.3))
        >>> some.deferred([[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]])
        array([False,  True, False])
        """
        p = check_columns(probabilities, self.classes)
        if self.defer is None:
            return np.zeros(len(p), np.bool_)
        return self.defer.deferred(reweight(p, self.multipliers), decide(p, self.multipliers))

    def adjusted(self, target_prior: PriorLike | PriorEstimate) -> Coefficients:
        """Return coefficients for rows with another class mix.

        The log-weights move from those of the fit toward those of highest accuracy under the target
        mix; how far depends on how much the mix has changed. See "Other class mixes" in the
        documentation. A new fit with this target prior serves the objective better.

        Parameters
        ----------
        target_prior : mapping, sequence, "uniform" or PriorEstimate
            Shares by class name, or in class order. With an estimate, a class whose share in the
            fit is within the interval counts as unchanged.

        Returns
        -------
        Coefficients
            With free weights; the same ones if their mix is the target.

        Raises
        ------
        InvalidInputError
            For shares that are not a class mix, or thresholds: they hold for the mix of the fit.
        CoefficientsFormatError
            For coefficients without class shares or calibration.

        Examples
        --------
        >>> import dnip
        >>> P = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]] * 50
        >>> fitted = dnip.fit(P, ["ham", "spam"] * 100).coefficients
        >>> new = [[0.65, 0.35], [0.85, 0.15]]
        >>> fitted.predict(new).tolist()
        ['spam', 'ham']
        >>> fitted.adjusted({"ham": 0.01, "spam": 0.99}).predict(new).tolist()
        ['spam', 'spam']
        """
        shares, changed = self.class_shares, None
        if isinstance(target_prior, PriorEstimate):
            changed = target_prior.differs_from(shares)
            target_prior = target_prior.shares
        target = check_prior(target_prior, self.classes)
        moved = adjust(self.weights, self.calibration, shares, target, changed)
        if moved.way == 0 and (target > 0).all():
            return self
        if self.defer is not None:
            raise InvalidInputError(
                "thresholds of deferring hold for the class mix of the fit alone",
                hint="Fit for the other mix: dnip fit TABLE --target-prior MIX --defer SHARE",
            )
        # the value, scores and sketch belong to other weights, or to rows of another mix
        objective = {k: v for k, v in self.objective.items() if k not in ("value", "term_values")}
        before = {"weights": self.weights.tolist(), "class_shares": shares.tolist()}
        adjusted = {"part": moved.way, "from": before}
        fit = replace(self.fit, class_shares=target, adjusted=adjusted, scores=None, sketch=None)
        return Coefficients(self.classes, [], FREE, objective, fit, moved.weights)

    def estimate_prior(self, probabilities: ArrayLike) -> PriorEstimate:
        """Estimate the class mix of rows without labels, by the calibration of the fit.

        Raises
        ------
        CoefficientsFormatError
            For coefficients without calibration.
        """
        return estimate_prior(check_columns(probabilities, self.classes), self.calibration)

    @property
    def class_shares(self) -> Floats:
        """Class shares of the rows that the fit is for, shape (N,)."""
        return np.asarray(self.fit.needed("class_shares", _MOVED))

    @property
    def calibration(self) -> Calibration:
        """How to make calibrated log-odds of probabilities, as learned at the fit."""
        calibration: Calibration = self.fit.needed("calibration", _MOVED)
        return calibration

    def logit_bias(self) -> dict[str, float]:
        """Return ln ω by class: as a bias on a single-token label, it has the effect of the weight.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).logit_bias()
        {'no': 0.0, 'yes': -0.6931471805599453}
        """
        return {name: math.log(weight) for name, weight in self._rows}

    def to_json(self) -> str:
        """Return the coefficients as JSON text.

        Examples
        --------
        >>> coefficients = Coefficients(["no", "yes"], [30, 15], scale=30)
        >>> Coefficients.from_json(coefficients.to_json()).weight_indices
        array([30, 15])
        """
        return to_text(
            {
                "classes": list(self.classes),
                "weight_indices": self.weight_indices.tolist() or None,
                **self.scale.to_dict(),
                "weights": self.weights.tolist(),
                "objective": self.objective,
                "fit": self.fit.to_dict(),
                "defer": self.defer and self.defer.to_dict(),
            }
        )

    @classmethod
    def from_json(cls, text: str, *, source: str = "coefficients") -> Coefficients:
        """Read coefficients from JSON text.

        Parameters
        ----------
        text : str
        source : str, default="coefficients"
            Where the text came from, for messages.

        Raises
        ------
        CoefficientsFormatError
            If the text is damaged, of another format, or of an unknown version.
        """
        made: Coefficients = from_text(text, source, cls)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file whole, or raise `OutputError` and leave what was there as it was."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Coefficients:
        """Read coefficients from a JSON file.

        Raises
        ------
        CoefficientsFormatError
            If the file cannot be read, is damaged, or is of an unknown version.
        """
        text = read_named(path, GIVE_ANOTHER, CoefficientsFormatError)
        return cls.from_json(text, source=str(path))


class Fitted(Protocol):
    """What a fit returns, among other things."""

    @property
    def coefficients(self) -> Coefficients:
        """What to use on other rows."""
        ...


#: What stands for coefficients: themselves, a fit, or the path of their file.
CoefficientsLike: TypeAlias = Coefficients | Fitted | str | os.PathLike[str]


def as_coefficients(source: CoefficientsLike) -> Coefficients:
    """Return coefficients, read from their file if a path is given, or those of a fit.

    Raises
    ------
    CoefficientsFormatError
        For a file that `Coefficients.load` refuses.
    InvalidInputError
        For anything else.
    """
    if isinstance(source, str | os.PathLike):
        return Coefficients.load(source)
    coefficients = getattr(source, "coefficients", source)
    if not isinstance(coefficients, Coefficients):
        raise InvalidInputError(
            "coefficients must be Coefficients, a fit, or the path of their file; got a "
            f"{type(source).__name__}"
        )
    return coefficients
