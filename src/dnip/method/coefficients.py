"""One coefficient per class: what is deployed, and its file. Using them never loads a solver.

A file is JSON, never pickle, with a version; it also records the fit.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import CoefficientsFormatError, InvalidInputError, listed
from dnip.base.escaping import html_table
from dnip.base.files import atomic_path, read_text
from dnip.base.typing import Booleans, Floats, Probabilities, WeightIndices
from dnip.base.validation import check_classes, check_scale
from dnip.method.defer import Deferral, check_defer, refuse_other_mix
from dnip.method.prediction import check_columns, decide, reweight
from dnip.method.scales import Spacing, WeightScale, check_scaled
from dnip.method.solution import Solution
from dnip.priors.calibration import Calibration, adjust
from dnip.priors.estimate import PriorEstimate, estimate_prior
from dnip.priors.target import PriorLike, check_prior

FORMAT = "dnip-coefficients"
#: Of files with weights ξ/K; every version of the package reads it.
VERSION = 1
#: Of files with other weights; a reader that knows linear scales alone refuses it.
SPACED_VERSION = 2
#: Of files with thresholds of deferring; a reader that would defer nothing refuses it.
DEFER_VERSION = 3

#: What to do about a file that is no good.
REFIT = "Give the coefficients.json that `dnip fit` wrote, or fit again"


# What coefficients without what a fit has learned cannot be.
_PURPOSE = "moved to another class mix"

# What the parts of a file are in JSON.
_KINDS = {
    "classes": list,
    "weights": list,
    "weight_indices": list,
    "objective": dict,
    "fit": dict,
    "defer": dict,
}


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients:
    """The weights of the classes, and a record of the fit that made them.

    Parameters
    ----------
    classes : sequence of str
        Class names, in the order of the probability columns.
    weight_indices : array-like of shape (N,)
        ξ, whole numbers 1..K; empty for free weights.
    scale : int or str
        K, ``"log:K"``, or ``"continuous"`` for free weights. The attribute holds K, 0 for free
        weights.
    objective : dict, optional
        Settings of the objective and its value on the opt set.
    fit : dict, optional
        Provenance: data hash, rows, solver, seed, package version.
    weights : array-like of shape (N,), optional
        Free weights ω, above 0 and at most 1; on a scale the indices give them.
    defer : Deferral, optional
        Which rows go to somebody better.

    Attributes
    ----------
    spacing : Spacing
        How the weights of the scale are spaced.
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by before the argmax: ξ on a linear scale, because the
        factor 1/K cancels, and ω on others.

    Raises
    ------
    InvalidInputError
        For indices outside 1..K, bad weights, thresholds of other classes, or bad class names.

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
    scale: int
    objective: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)
    spacing: Spacing = Spacing.LINEAR
    multipliers: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    defer: Deferral | None = None

    def __init__(
        self,
        classes: Sequence[str],
        weight_indices: ArrayLike,
        scale: int | str | WeightScale,
        objective: dict[str, Any] | None = None,
        fit: dict[str, Any] | None = None,
        weights: ArrayLike | None = None,
        defer: Deferral | None = None,
    ) -> None:
        names = check_classes(classes)
        k, indices, multipliers = check_scaled(scale, weight_indices, weights, len(names))
        self.__setstate__(
            {
                "classes": names,
                "weight_indices": indices,
                "scale": k.size,
                "objective": dict(objective or {}),
                "fit": dict(fit or {}),
                "spacing": k.spacing,
                "multipliers": multipliers,
                "defer": check_defer(defer, len(names)),
            }
        )

    def __repr__(self) -> str:
        return f"Coefficients({listed([f'{name}: {weight:.3f}' for name, weight in self._rows])})"

    def _repr_html_(self) -> str:
        return html_table("Coefficients", ["class", "weight"], self._rows)

    @property
    def _rows(self) -> list[tuple[str, float]]:
        return [*zip(self.classes, self.weights.tolist(), strict=True)]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take attributes, of a copy too; arrays become read-only."""
        vars(self).update(state)
        self.weight_indices.setflags(write=False)
        self.multipliers.setflags(write=False)

    @classmethod
    def from_solution(
        cls, solution: Solution, classes: Sequence[str], *, provenance: dict[str, Any] | None = None
    ) -> Coefficients:
        """Make coefficients of a solution.

        Parameters
        ----------
        solution : Solution
        classes : sequence of str
            Class names, in the order of the probability columns.
        provenance : dict, optional
            What to record of the data, such as its hash; a summary of the search is added.

        Examples
        --------
        >>> from dnip import solve
        >>> solution = solve([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> Coefficients.from_solution(solution, ["no", "yes"]).fit["solver"]
        'coordinate'
        """
        fit = {
            **(provenance or {}),
            **solution.search_summary,
            "unfitted": [str(classes[c]) for c in solution.unfitted],
        }
        if solution.constraints is not None:
            fit["constraints"] = solution.constraints
        return cls(
            classes,
            solution.weight_indices,
            WeightScale(solution.spacing, solution.scale),
            {**solution.objective, "value": solution.value, "term_values": solution.terms},
            fit,
        )

    def with_fit(self, fit: dict[str, Any]) -> Coefficients:
        """Return the same coefficients with another record of their fit."""
        other = copy(self)
        vars(other)["fit"] = dict(fit)
        return other

    def with_defer(self, defer: Deferral | None) -> Coefficients:
        """Return the same coefficients with other thresholds of deferring, or without any."""
        other = copy(self)
        vars(other)["defer"] = check_defer(defer, len(self.classes))
        return other

    @cached_property
    def digest(self) -> str:
        """A hash of the classes and the weights: the mark of what they corrected.

        It is the same on every scale that gives these weights.

        Examples
        --------
        >>> Coefficients(["no", "yes"], [30, 15], scale=30).digest
        '202fe88dd43e4192'
        """
        content = json.dumps([self.classes, self.weights.tolist()])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def weights(self) -> Floats:
        """ω, the weight of each class, shape (N,): ξ / K on a linear scale."""
        if self.spacing is Spacing.CONTINUOUS:
            return self.multipliers
        return WeightScale(self.spacing, self.scale).weights(self.weight_indices)

    def apply(self, probabilities: ArrayLike) -> Probabilities:
        """Reweight class probabilities (equation 6): ω_n·p_mn, normalised to sum 1 per row.

        The result ranks the classes as `predict` does; it is not calibrated.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are taken by the names of the classes, if it has them all.

        Returns
        -------
        ndarray of shape (M, N)

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of other classes.
        """
        return reweight(check_columns(probabilities, self.classes), self.multipliers)

    def predict(self, probabilities: ArrayLike) -> NDArray[np.object_]:
        """Predict argmax_n ω_n·p_mn (equation 7); a tie goes to the lowest class.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Columns of a data frame are taken by the names of the classes, if it has them all.

        Returns
        -------
        ndarray of shape (M,)
            Class names, as Python strings.

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of other classes.
        """
        p = check_columns(probabilities, self.classes)
        return np.asarray(np.array(self.classes, np.object_)[decide(p, self.multipliers)])

    def deferred(self, probabilities: ArrayLike) -> Booleans:
        """Return which rows go to somebody better, shape (M,); none without thresholds.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            As the model gives them, before reweighting.

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract, or of other classes.

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
            With free weights; the same coefficients if their mix is the target.

        Raises
        ------
        InvalidInputError
            For shares that are not a class mix, or thresholds: they hold for the mix of the fit.
        CoefficientsFormatError
            For coefficients of an older version, without class shares or calibration.

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
        if moved.part == 0 and (target > 0).all():
            return self
        refuse_other_mix(self.defer)
        # what belongs to other weights, or to rows of another mix
        gone = ("value", "term_values", "scores", "sketch")
        objective, fit = (
            {k: v for k, v in record.items() if k not in gone}
            for record in (self.objective, self.fit)
        )
        before = {"weights": self.weights.tolist(), "class_shares": shares.tolist()}
        fit["class_shares"], fit["adjusted"] = target.tolist(), {"part": moved.part, "from": before}
        return Coefficients(self.classes, [], "continuous", objective, fit, moved.weights)

    def estimate_prior(self, probabilities: ArrayLike) -> PriorEstimate:
        """Estimate the class mix of rows without labels, by the calibration of the fit.

        Parameters
        ----------
        probabilities : array-like of shape (M, N)
            As the model gives them, before reweighting.

        Raises
        ------
        InvalidInputError
            For probabilities that break their contract.
        CoefficientsFormatError
            For coefficients of an older version, without calibration.
        """
        return estimate_prior(check_columns(probabilities, self.classes), self.calibration)

    @property
    def class_shares(self) -> Floats:
        """Class shares of the rows that the fit is for, shape (N,)."""
        shares = recorded(self.fit, "class_shares", _PURPOSE)
        try:
            found = np.asarray(shares, np.float64)
            sound = found.shape == (len(self.classes),) and bool((found >= 0).all())
            if not sound or not 0 < found.sum() < np.inf:
                raise ValueError("not one share for each class")
        except (TypeError, ValueError, OverflowError) as error:
            raise _broken("coefficients", f"fit.class_shares is {shares!r}: {error}") from error
        return np.asarray(found / found.sum())

    @property
    def calibration(self) -> Calibration:
        """How to make calibrated log-odds of probabilities, as learned at the fit."""
        learned = recorded(self.fit, "calibration", _PURPOSE)
        try:
            return Calibration.from_dict(learned, len(self.classes))
        except ValueError as error:
            raise _broken("coefficients", f"fit.calibration: {error}") from error

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
        needless = [] if self.defer else ["defer"]
        if needless and self.spacing is Spacing.LINEAR:
            needless.append("spacing")
        content = {
            "format": FORMAT,
            # the lowest that can hold it
            "version": (DEFER_VERSION, SPACED_VERSION, VERSION)[len(needless)],
            "classes": list(self.classes),
            "weight_indices": self.weight_indices.tolist() or None,
            "scale": self.scale or None,
            "spacing": self.spacing.value,
            "weights": self.weights.tolist(),
            "objective": self.objective,
            "fit": self.fit,
            "defer": self.defer and self.defer.to_dict(),
        }
        kept = {name: value for name, value in content.items() if name not in needless}
        return json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, source: str = "coefficients") -> Coefficients:
        """Read coefficients from JSON text.

        Parameters
        ----------
        text : str
            What `to_json` returned.
        source : str, default="coefficients"
            Where the text came from, for messages.

        Raises
        ------
        CoefficientsFormatError
            If the text is damaged, of another format, or of an unknown version.
        """
        content = _read_content(text, source)
        continuous = content["spacing"] == Spacing.CONTINUOUS
        try:
            spacing, size = Spacing(content["spacing"]), 0
            if not continuous:
                size = check_scale(content["scale"])
            made = cls(
                content["classes"],
                [] if continuous else content["weight_indices"],
                WeightScale(spacing, size),
                content.get("objective"),
                content.get("fit"),
                content["weights"] if continuous else None,
                Deferral(**content["defer"]) if "defer" in content else None,
            )
        except (ValueError, TypeError) as error:
            raise _broken(source, str(error)) from error
        if "weights" in content and not _are_close(content["weights"], made.weights):
            raise _broken(source, "weights do not equal those of weight_indices")
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the coefficients to a JSON file, whole or not at all.

        Raises
        ------
        OutputError
            If the file cannot be written; an existing file is then left as it was.
        """
        with atomic_path(path) as temporary:
            temporary.write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Coefficients:
        """Read coefficients from a JSON file.

        Raises
        ------
        CoefficientsFormatError
            If the file cannot be read, is damaged, or is of an unknown version.
        """
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise CoefficientsFormatError(
                f"{path}: cannot be read: {reason}",
                hint="Give the coefficients.json that `dnip fit` wrote",
            ) from error
        return cls.from_json(text, source=str(path))


def as_coefficients(given: Coefficients | str | os.PathLike[str] | None) -> Coefficients | None:
    """Return coefficients, read from their file if a path is given.

    Raises
    ------
    CoefficientsFormatError
        As :meth:`Coefficients.load`.
    InvalidInputError
        For anything else.

    Examples
    --------
    >>> as_coefficients([1, 2])
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: coefficients must be Coefficients or the path of their file; got a list
    """
    if isinstance(given, str | os.PathLike):
        return Coefficients.load(given)
    if given is not None and not isinstance(given, Coefficients):
        raise InvalidInputError(
            f"coefficients must be Coefficients or the path of their file; got a "
            f"{type(given).__name__}"
        )
    return given


def _broken(source: str, what: str) -> CoefficientsFormatError:
    return CoefficientsFormatError(f"{source}: {what}", hint=REFIT)


def _read_content(text: str, source: str) -> dict[str, Any]:
    """Return the content of a file; one with something missing, or of another kind, is refused."""
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=once
        )
    except (ValueError, RecursionError) as error:  # RecursionError: brackets without end
        raise _broken(source, f"not valid JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _broken(source, f'"format" is not "{FORMAT}"')
    version = content.get("version")
    if version not in (VERSION, SPACED_VERSION, DEFER_VERSION):
        raise CoefficientsFormatError(
            f"{source}: version {version!r} is unknown; this package reads "
            f"versions {VERSION} to {DEFER_VERSION}",
            hint="Install the newer package that wrote the file",
        )
    needed = ["classes", "weight_indices", "scale"]
    needed += [] if version == VERSION else ["spacing", "weights"]
    needed += ["defer"] if version == DEFER_VERSION else []
    missing = [key for key in needed if key not in content]
    if missing:
        raise _broken(source, f"{', '.join(missing)} missing")
    if version == VERSION:
        content["spacing"] = Spacing.LINEAR.value
    spacing, known = content["spacing"], [each.value for each in Spacing]
    known = known[version == SPACED_VERSION :]
    if spacing not in known:
        said = " or ".join(map(json.dumps, known))
        raise _broken(source, f'"spacing" is {spacing!r}, not {said}')
    unread = "weight_indices" if spacing == Spacing.CONTINUOUS else "weights"
    for key, kind in _KINDS.items():
        if key != unread and not isinstance(content.get(key, kind()), kind):
            name = "array" if kind is list else "object"
            raise _broken(source, f'"{key}" is {content[key]!r}, not a JSON {name}')
    if not all(isinstance(name, str) for name in content["classes"]):
        raise _broken(source, f'"classes" holds other things than names: {content["classes"]!r}')
    return content


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.60} is too large a number")
    return number


def recorded(fit: Mapping[str, Any], name: str, purpose: str) -> Any:  # noqa: ANN401 - JSON
    """Return an entry of the record of a fit.

    Parameters
    ----------
    fit : mapping
    name : str
    purpose : str
        What coefficients without it cannot be, for the message.

    Raises
    ------
    CoefficientsFormatError
        If it is not there.
    """
    if name not in fit:
        raise CoefficientsFormatError(
            f"coefficients: fit.{name} is missing, so they cannot be {purpose}: an older version "
            "wrote them, or they were made by hand",
            hint="Fit again with `dnip fit`",
        )
    return fit[name]


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; one with a key twice, which readers take in two ways, is refused.

    Raises
    ------
    TwiceError
        If there is one.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise TwiceError("a key stands there twice")
    return found


class TwiceError(ValueError):
    """A JSON object that has a key twice."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _are_close(stated: object, weights: Floats) -> bool:
    """Whether weights that a file states are these, of shape (N,)."""
    values = np.asarray(stated)
    return (
        values.shape == weights.shape
        and values.dtype.kind in "iuf"
        and np.allclose(values, weights, rtol=0, atol=1e-9)
    )
