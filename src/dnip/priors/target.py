"""The class mix that coefficients are for: read, checked and reported."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, first_line, listed, warn
from dnip.base.files import read_text
from dnip.base.typing import Booleans, Floats, Labels
from dnip.base.validation import LEAST_WEIGHT
from dnip.priors.estimate import Calibration, PriorEstimate

#: Equal shares.
UNIFORM = "uniform"
#: To be estimated from rows without labels.
ESTIMATE = "estimate"

#: A mix: shares by class name, shares in the order of the classes, or ``"uniform"``.
PriorLike: TypeAlias = "Mapping[str, float] | ArrayLike | str"

# Shares that were rounded to three digits may sum to a little less or more than 1.
_SUM_TOLERANCE = 2e-3

_FORMS = "Give NAME=SHARE,… for every class, uniform, or a .json file of {NAME: SHARE, …}"


def check_prior(prior: PriorLike, classes: Sequence[str]) -> Floats:
    """Return class shares that sum to 1, shape (N,).

    Parameters
    ----------
    prior : mapping, sequence or "uniform"
        A share for every class, by name or in the order of the classes; 0 for one that does not
        occur. Sums within 0.002 of 1 are taken for rounding and divided out.
    classes : sequence of str
        Class names.

    Raises
    ------
    InvalidInputError
        For another sum, a negative share, a class that is unknown or missing, or a mix of a single
        class.

    Examples
    --------
    >>> check_prior({"spam": 0.1, "ham": 0.9}, ["ham", "spam"])
    array([0.9, 0.1])
    >>> check_prior([0.333, 0.333, 0.333], ["a", "b", "c"]).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    n_classes = len(classes)
    if isinstance(prior, str):
        if prior != UNIFORM:
            raise InvalidInputError(f"target prior: {prior!r} is not a class mix", hint=_FORMS)
        return np.full(n_classes, 1 / n_classes)
    if isinstance(prior, Mapping):
        prior = _in_order(prior, classes)
    try:
        shares = np.array(prior, dtype=np.float64)  # a copy: the caller's array is not ours
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"target prior: not numbers: {error}", hint=_FORMS) from error
    if shares.shape != (n_classes,):
        raise InvalidInputError(
            f"target prior: {shares.size} shares for {n_classes} classes: {listed(classes)}",
            hint="Give one share for every class; a class that does not occur gets 0",
        )
    for name, share in zip(classes, shares.tolist(), strict=True):
        if not 0 <= share < math.inf:
            raise InvalidInputError(
                f"target prior: the share of class {name} is {share:g}",
                hint="Shares are finite numbers of 0 or more that sum to 1",
            )
    total = shares.sum()
    if abs(total - 1) > _SUM_TOLERANCE:
        raise InvalidInputError(
            f"target prior: the shares sum to {total:.6g}, not 1",
            hint="Give the share of every class, as parts of 1",
        )
    if np.count_nonzero(shares) < 2:
        only = classes[int(shares.argmax())]
        raise InvalidInputError(
            f"target prior: all rows are of class {only}",
            hint="Give shares above 0 to two classes at least; with one there is nothing to decide",
        )
    return np.asarray(shares / total)


def is_estimate(prior: PriorLike | None) -> bool:
    """Whether a prior is to be estimated from rows without labels.

    Examples
    --------
    >>> is_estimate("estimate"), is_estimate([0.5, 0.5])
    (True, False)
    """
    return isinstance(prior, str) and prior == ESTIMATE


def shares_of(prior: PriorLike, classes: Sequence[str]) -> Floats:
    """Return the class shares that a text names, as on a command line, or numbers give."""
    return read_prior(prior, classes) if isinstance(prior, str) else check_prior(prior, classes)


def read_prior(text: str, classes: Sequence[str]) -> Floats:
    """Return the class shares that a command line names, shape (N,).

    Parameters
    ----------
    text : str
        ``A=0.5,B=0.3,…``, ``uniform`` or a file ``….json`` of shares by class name.
    classes : sequence of str
        Class names.

    Raises
    ------
    InvalidInputError
        For another form, and as `check_prior`.

    Examples
    --------
    >>> read_prior("spam=0.1,ham=0.9", ["ham", "spam"])
    array([0.9, 0.1])
    """
    if text.lower().endswith(".json"):
        return check_prior(_load(Path(text)), classes)
    if text == UNIFORM:
        return check_prior(text, classes)
    shares: dict[str, float] = {}
    for clause in text.split(","):
        name, _, share = (word.strip() for word in clause.rpartition("="))
        if name in shares:
            raise InvalidInputError(
                f"target prior: class {name} appears twice", hint="Give every class one share"
            )
        try:
            shares[name] = float(share)
        except ValueError:
            name = ""
        if not name:
            raise InvalidInputError(
                f"target prior: {clause.strip()!r} is not NAME=SHARE", hint=_FORMS
            )
    return check_prior(shares, classes)


def _in_order(prior: Mapping[str, float], classes: Sequence[str]) -> list[float]:
    unknown = [str(name) for name in prior if name not in classes]
    if unknown:
        raise InvalidInputError(
            f"target prior: there is no class {listed(unknown)}; the classes are {listed(classes)}",
            hint="Name the classes as the table does",
        )
    missing = [name for name in classes if name not in prior]
    if missing:
        raise InvalidInputError(
            f"target prior: no share is given for class {listed(missing)}",
            hint="Give a share for every class; one that does not occur gets 0",
        )
    return [prior[name] for name in classes]


def _load(path: Path) -> PriorLike:
    try:
        content = json.loads(read_text(path))
        if not isinstance(content, dict):
            raise ValueError(f"it holds {content!r:.80}")
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise InvalidInputError(
            f"target prior: no mix can be read from {path}: {reason}",
            hint='Write {"NAME": SHARE, …}',
        ) from error
    return content


# Classes that a line of text names at most.
_NAMED = 8


@dataclass(frozen=True, eq=False)
class TargetPrior:
    """The class mix that weights are for.

    Attributes
    ----------
    shares : ndarray of shape (N,)
        They sum to 1.
    estimate : PriorEstimate or None
        The estimate that the shares come from; None if they were given.
    effective_rows : float or None
        How many equally weighted rows would give the error rate with the same precision as the
        labelled rows, weighed for the mix (Kish).

    Examples
    --------
    >>> TargetPrior(np.array([0.75, 0.25])).sentence(["ham", "spam"])
    'target prior: ham 0.750, spam 0.250'
    """

    shares: Floats
    estimate: PriorEstimate | None = None
    effective_rows: float | None = None

    def to_dict(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` prints and a coefficients file holds."""
        content: dict[str, Any] = {"source": "given" if self.estimate is None else "estimate"}
        content["shares"] = dict(zip(classes, self.shares.tolist(), strict=True))
        if self.estimate is not None:
            content |= self.estimate.to_dict(classes)
        if self.effective_rows is not None:
            content["effective_rows"] = self.effective_rows
        return content

    def sentence(self, classes: Sequence[str]) -> str:
        """Return the shares as a line of text; of many classes, those of the most frequent."""
        shown = np.arange(len(classes))
        if len(classes) > _NAMED:
            shown = np.argsort(-self.shares, kind="stable")[:_NAMED]
        shares = []
        for c in shown.tolist():
            share = f"{classes[c]} {self.shares[c]:.3f}"
            if self.estimate is not None:
                share += f" ({self.estimate.low[c]:.3f} to {self.estimate.high[c]:.3f})"
            shares.append(share)
        more = "" if len(shown) == len(classes) else f", and {len(classes) - len(shown)} more"
        rows = "" if self.estimate is None else f", estimated from {self.estimate.n_rows:,} rows"
        return f"target prior{rows}: {', '.join(shares)}{more}"


class _Adjustment(NamedTuple):
    """Weights for another mix."""

    weights: Floats  # (N,) the largest is 1
    way: float  # how much of the way to the weights of most accuracy, 0..1


def adjust(
    weights: Floats,
    calibration: Calibration,
    fitted_for: Floats,
    target: Floats,
    changed: Booleans | None = None,
) -> _Adjustment:
    """Return the weights for a target mix.

    By the calibration, weights ω are those that are right most often where the class shares are
    λ_n ∝ (ω_n·exp(-v_n))^s, and for the target π' these are exp(v_n)·π'_n^(1/s). On the straight
    way there in logarithms, d = ln π' - ln λ, no step lowers the accuracy under π'. The part of the
    way that is taken is what the change of mix, δ = ln π' - ln π, accounts for:
    t = ⟨d, δ⟩/⟨d, d⟩, within 0..1.

    So weights do not change if the mix does not. Weights of the highest accuracy under one mix
    become those of the highest accuracy under the other. Weights that are high for rare classes
    already are not raised again when these classes become frequent.

    Parameters
    ----------
    weights : ndarray of shape (N,)
        ω, or any multiple.
    calibration : Calibration
    fitted_for, target : ndarray of shape (N,)
        π and π'. A class without a share in `target` gets 10⁻³⁰⁰ of the largest weight.
    changed : ndarray of shape (N,), optional
        Whether the share of each class is known to have changed; all are, when left out.

    Examples
    --------
    >>> sharp = Calibration(np.zeros(2), 2.0, np.array([50.0, 50.0]))
    >>> half = np.array([0.5, 0.5])
    >>> adjust(np.ones(2), sharp, half, np.array([0.8, 0.2]))
    _Adjustment(weights=array([1. , 0.5]), way=1.0)
    >>> adjust(np.ones(2), sharp, np.array([0.8, 0.2]), half)
    _Adjustment(weights=array([1., 1.]), way=0.0)
    """
    log_weights = np.log(weights)
    occurs = target > 0
    log_target = np.log(target, out=np.zeros_like(log_weights), where=occurs)
    way = log_target - calibration.sharpness * (log_weights - calibration.log_weights)
    compared = occurs & (fitted_for > 0)
    change = log_target - np.log(fitted_for, out=np.zeros_like(log_weights), where=compared)
    if changed is not None:
        change = np.where(changed, change, 0.0)
    d, delta = (some - some.mean() for some in (way[compared], change[compared]))
    squared = float(d @ d)
    taken = min(max(float(d @ delta) / squared, 0.0), 1.0) if squared > 0 else 0.0
    moved = log_weights + taken * way / calibration.sharpness
    moved = np.where(occurs, moved, -np.inf)
    return _Adjustment(np.maximum(np.exp(moved - moved.max()), LEAST_WEIGHT), taken)


def weigh_rows(
    labels: Labels, target: Floats, classes: Sequence[str], sample_weight: Floats | None = None
) -> Floats:
    """Weigh rows by target share over observed share of their class.

    Classes without labels cannot be weighed: those with labels share the rest, with a warning.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    target : ndarray of shape (N,)
        Class shares that sum to 1.
    classes : sequence of str
        Class names.
    sample_weight : ndarray of shape (M,), optional
        Weights of the rows; within each class they keep their proportions.

    Returns
    -------
    ndarray of shape (M,)
        Weights that sum to M, or to the sum of `sample_weight`.

    Raises
    ------
    InvalidInputError
        If fewer than two classes have both labels and a share.

    Warns
    -----
    DNIPWarning
        For classes with a share and without labels.

    Examples
    --------
    >>> weigh_rows(np.array([0, 0, 0, 1]), np.array([0.5, 0.5]), ["a", "b"])
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    weight = np.ones(len(labels)) if sample_weight is None else sample_weight
    mass = np.bincount(labels, weight, len(target))
    counted = (mass > 0) & (target > 0)
    if np.count_nonzero(counted) < 2:
        raise InvalidInputError(
            "target prior: fewer than two classes have both labelled rows and a share above 0",
            hint="Label rows of the classes that occur, or give other shares",
        )
    missing = (mass == 0) & (target > 0)
    if missing.any():
        names = ", ".join(classes[c] for c in np.flatnonzero(missing).tolist())
        warn(
            f"{target[missing].sum():.1%} of the target prior is of class {names}, which has no "
            "labelled row: the other classes count in proportion"
        )
    ratio = np.where(counted, target, 0.0) / np.where(counted, mass, 1.0)
    return np.asarray(weight * ratio[labels] * (weight.sum() / target[counted].sum()))
