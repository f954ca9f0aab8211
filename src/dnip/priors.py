"""How frequent classes are where weights are used: given, or estimated from unlabelled rows."""

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
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.base.validation import LEAST_WEIGHT
from dnip.tables.cells import check_probabilities, no_rows

# --- Calibrated log-odds, and the class shares of rows without labels that they show ---
# A calibration does not distinguish probabilities below this.
_LEAST_PROBABILITY = 1e-7


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrated log-odds s·(ln p + v) of classes that are equally frequent.

    Their exponentials are proportional to how probable a row is within each class, whatever the
    class mix: bias-corrected temperature scaling (Alexandari, Kundaje and Shrikumar 2020).

    Attributes
    ----------
    log_weights : ndarray of shape (N,)
        v.
    sharpness : float
        s, the inverse temperature.
    labels : ndarray of shape (N,)
        How many labels of each class they were learned from.

    Examples
    --------
    >>> calibration = Calibration(np.log([1.0, 4.0]), 1.0, np.array([50.0, 50.0]))
    >>> calibration.posterior(np.log([[0.8, 0.2]]))
    array([[0.5, 0.5]])
    """

    log_weights: Floats
    sharpness: float
    labels: Floats

    def __post_init__(self) -> None:
        if self.log_weights.shape != self.labels.shape:
            raise ValueError("log_weights and labels are not of the same classes")
        if not (0 < self.sharpness < np.inf) or (self.labels < 0).any():
            raise ValueError("a sharpness that is not above 0, or labels below 0")

    def posterior(self, log_p: Floats) -> Probabilities:
        """Return class probabilities of rows, were all classes equally frequent, (M, N)."""
        return softmax(self.sharpness * (log_p + self.log_weights))


def log_probabilities(probabilities: Probabilities) -> Floats:
    """Return ln p, where p below 10⁻⁷ counts as that.

    Examples
    --------
    >>> log_probabilities(np.array([[1.0, 0.0]])).round(1)
    array([[  0. , -16.1]])
    """
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)), np.float64)


def to_power(probabilities: Probabilities, exponent: float) -> Probabilities:
    """Return p to a power, normalised to sum 1 per row; zeros stay zeros.

    Examples
    --------
    >>> to_power(np.array([[0.8, 0.2], [1.0, 0.0]]), 0.5).round(3)
    array([[0.667, 0.333],
           [1.   , 0.   ]])
    """
    if exponent == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        return softmax(exponent * np.log(probabilities))


def centred(log_p: Floats) -> Floats:
    """Return log-probabilities less their mean over the classes, shape (M, N).

    Examples
    --------
    >>> centred(np.array([[-1.0, -3.0]]))
    array([[ 1., -1.]])
    """
    return np.asarray(log_p - log_p.mean(axis=1, keepdims=True))


def softmax(scores: Floats) -> Probabilities:
    """Return exp(scores) normalised to sum 1 per row, shape (M, N).

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


#: Rows and cells that are used at most; of larger tables, a sample.
MOST_ROWS, MOST_CELLS = 20_000, 500_000

# Jeffreys' prior: half a row of each class, so that none is ruled out.
_HALF_A_ROW = 0.5
# Standard deviations on either side of 95% of a normal distribution.
_NORMAL_95 = 1.96

_MAX_ROUNDS = 1_000
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Class shares of rows without labels.

    Attributes
    ----------
    shares : ndarray of shape (N,)
        They sum to 1.
    low, high : ndarray of shape (N,)
        95% interval, from the noise of the rows and of the labels of the calibration; it assumes
        that the calibration has no other error.
    n_rows : int
        Rows that were used.
    """

    shares: Floats
    low: Floats
    high: Floats
    n_rows: int

    def differs_from(self, shares: Floats) -> Booleans:
        """Whether other shares are outside the interval, shape (N,)."""
        return np.asarray((shares < self.low) | (shares > self.high))

    def shrunk_to(self, shares: Floats) -> Floats:
        """Return the shares, moved toward others by the part of the way that is chance.

        The chance is that of James and Stein (1961): squared standard errors over the squared
        distance. No error is above √(s(1 - s)), as if the share were 0 or 1 and nothing known but
        its mean s. An estimate that tells nothing leaves the other shares as they are.

        Examples
        --------
        >>> estimated, half = np.array([0.7, 0.3]), np.array([0.5, 0.5])
        >>> for error in (0.1, 0.28, 0.5):
        ...     PriorEstimate(estimated, estimated - error, estimated + error, 80).shrunk_to(half)
        array([0.68698459, 0.31301541])
        array([0.59795918, 0.40204082])
        array([0.5, 0.5])
        """
        errors = np.maximum(self.shares - self.low, self.high - self.shares) / _NORMAL_95
        errors = np.minimum(errors, np.sqrt(self.shares * (1 - self.shares)))
        way = self.shares - shares
        distance, chance = float(way @ way), float(errors @ errors)
        return np.asarray(shares + way * (1 - chance / distance) if chance < distance else shares)

    def to_dict(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` prints and a coefficients file holds.

        Examples
        --------
        >>> shares = np.array([0.5, 0.5])
        >>> PriorEstimate(shares, shares - 0.1, shares + 0.1, 80).to_dict(["a", "b"])["high"]
        {'a': 0.6, 'b': 0.6}
        """
        named = {
            name: dict(zip(classes, values.tolist(), strict=True))
            for name, values in (("shares", self.shares), ("low", self.low), ("high", self.high))
        }
        return {**named, "rows": self.n_rows}


def most_rows(n_classes: int) -> int:
    """Return how many rows an estimate uses at most.

    Examples
    --------
    >>> most_rows(4), most_rows(100)
    (20000, 5000)
    """
    return min(MOST_ROWS, MOST_CELLS // n_classes)


def estimate_prior(probabilities: ArrayLike, calibration: Calibration) -> PriorEstimate:
    """Estimate how frequent the classes are among rows without labels.

    Expectation maximisation (Saerens, Latinne and Decaestecker 2002) on calibrated probabilities
    (Alexandari, Kundaje and Shrikumar 2020), with half a row of each class added.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        As the model gives them; nothing is sampled here.
    calibration : Calibration
        What a fit has learned of the same model and prompt.

    Returns
    -------
    PriorEstimate

    Raises
    ------
    InvalidInputError
        For probabilities that break their contract, of other classes, or no row.

    Examples
    --------
    >>> p = [[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20
    >>> sharp = Calibration(np.zeros(2), 2.0, np.array([500.0, 500.0]))
    >>> estimate = estimate_prior(p, sharp)
    >>> estimate.shares.round(2), estimate.low.round(2), estimate.n_rows
    (array([0.8, 0.2]), array([0.72, 0.11]), 100)
    """
    p = check_probabilities(probabilities)
    n_rows, n_classes = p.shape
    if n_classes != len(calibration.log_weights):
        raise InvalidInputError(
            f"probabilities has {n_classes} columns, but the calibration has "
            f"{len(calibration.log_weights)} classes",
            hint="Give rows of the same task",
        )
    if n_rows == 0:
        raise no_rows("probabilities")
    posterior = calibration.posterior(log_probabilities(p))
    shares = likely_shares(posterior)
    error = _NORMAL_95 * _standard_errors(posterior, shares, calibration.labels)
    low, high = np.maximum(shares - error, 0.0), np.minimum(shares + error, 1.0)
    return PriorEstimate(shares, low, high, n_rows)


def _standard_errors(posterior: Probabilities, shares: Floats, labels: Floats) -> Floats:
    """Return the standard error of each share by the sandwich of a method of moments.

    The score of the likelihood is the mean of u = f/(π·f), f being the calibrated likelihoods of a
    row within the classes. Its noise is that of the rows, and that of the labels which tell what u
    is like within a class: as much as if class means of u had been taken from so many labels.
    """
    n_rows, n_classes = posterior.shape
    u = posterior / (posterior @ shares)[:, None]
    information = u.T @ u / n_rows
    centred = u - u.mean(axis=0)
    noise = centred.T @ centred / n_rows**2
    membership = u * shares
    mass = membership.sum(axis=0)
    chance = shares**2 / np.maximum(labels, _HALF_A_ROW)
    means = membership.T @ u / mass[:, None]
    noise += (u * (membership @ (chance / mass))[:, None]).T @ u - (
        means * chance[:, None]
    ).T @ means
    # Shares sum to 1: they move within the plane that is orthogonal to (1, …, 1).
    plane = np.linalg.svd(np.ones((1, n_classes)))[2][1:].T
    inverse = np.linalg.pinv(plane.T @ information @ plane)
    covariance = plane @ inverse @ (plane.T @ noise @ plane) @ inverse @ plane.T
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def likely_shares(posterior: Probabilities) -> Floats:
    """Return the likely class shares of rows, (N,), beside half a row of each class.

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        As for :func:`maximise_shares`.
    """
    n_classes = posterior.shape[1]
    even, extra = np.full(n_classes, 1 / n_classes), np.full(n_classes, _HALF_A_ROW)
    return maximise_shares(posterior, even, extra, rounds=_MAX_ROUNDS, tolerance=_TOLERANCE)


def maximise_shares(
    posterior: Probabilities,
    start: Floats,
    extra: Floats,
    weight: Floats | None = None,
    *,
    rounds: int,
    tolerance: float,
) -> Floats:
    """Return the class shares under which rows are most probable (Saerens et al. 2002).

    The likelihood is concave in the shares, so it does not matter where the search starts, but no
    share that starts at 0 ever leaves it.

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        Class probabilities of the rows as if all classes were equally frequent.
    start : ndarray of shape (N,)
        Shares to start from.
    extra : ndarray of shape (N,)
        Rows of each class to be counted beside those given: a Dirichlet prior.
    weight : ndarray of shape (M,), optional
        How often each row counts.
    rounds : int
        At most so many.
    tolerance : float
        The end comes when no share moves more than this in a round.

    Examples
    --------
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> half = np.array([0.5, 0.5])
    >>> maximise_shares(posterior, half, np.zeros(2), rounds=200, tolerance=1e-6).round(2)
    array([0.81, 0.19])
    """
    shares = start
    for _ in range(rounds):
        joint = posterior * shares
        joint /= joint.sum(axis=1, keepdims=True)
        counts = (joint.sum(axis=0) if weight is None else weight @ joint) + extra
        updated = counts / counts.sum()
        moved = np.abs(updated - shares).max()
        shares = updated
        if moved < tolerance:
            break
    return shares


# Labels per class at which unlabelled rows count as much as the labels' own shares.
_HALFWAY = 30.0
# When expectation maximisation ends.
_EM_ROUNDS, _EM_TOLERANCE = 200, 1e-6


def label_shares(support: Floats) -> Floats:
    """Return the class shares that labels alone suggest, shape (N,).

    A class-balanced draw (numbers that differ by 1 at most) says nothing about the shares: then all
    are equal. Otherwise they are the posterior mean under Jeffreys' prior, (n_i + ½) / (n + N/2),
    so that no class is ruled out.

    Examples
    --------
    >>> label_shares(np.array([8.0, 1.0, 0.0])).round(2)
    array([0.81, 0.14, 0.05])
    """
    n_classes = len(support)
    if support.max() - support.min() <= 1:
        return np.full(n_classes, 1 / n_classes)
    return np.asarray((support + 0.5) / (support.sum() + n_classes / 2))


def update_shares(
    posterior: Probabilities, prior: Floats, support: Floats, weight: Floats | None = None
) -> Floats:
    """Return the class shares of unlabelled rows by expectation maximisation (Saerens et al. 2002).

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        Class probabilities of the rows as if all classes were equally frequent.
    prior : ndarray of shape (N,)
        Shares to start from, and the mean of a Dirichlet prior on the shares. The prior weighs as
        much as the rows if a class has 30 labels on average. With fewer labels it weighs more,
        because the posterior is then too uncertain to give shares.
    support : ndarray of shape (N,)
        Labels of each class.
    weight : ndarray of shape (M,), optional
        How often each row counts.

    Examples
    --------
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> update_shares(posterior, np.array([0.5, 0.5]), np.array([3e3, 3e3])).round(2)
    array([0.8, 0.2])
    """
    n_rows = len(posterior) if weight is None else weight.sum()
    extra = n_rows * _HALFWAY / support.mean() * prior
    return maximise_shares(
        posterior, prior, extra, weight, rounds=_EM_ROUNDS, tolerance=_EM_TOLERANCE
    )


# --- The class mix that coefficients are for ---
#: Equal shares.
UNIFORM = "uniform"
#: To be estimated from rows without labels.
ESTIMATE = "estimate"

#: A mix: shares by class name, shares in the order of the classes, or a text that names it.
PriorLike: TypeAlias = "Mapping[str, float] | ArrayLike | str"

# Shares that were rounded to three digits may sum to a little less or more than 1.
_SUM_TOLERANCE = 2e-3

# What a mix must be.
_FORMS = (
    "Give every class a share, as parts of 1, and 0 where it does not occur: NAME=SHARE,…, or a "
    ".json file of {NAME: SHARE, …}; or uniform"
)


def check_prior(prior: PriorLike, classes: Sequence[str]) -> Floats:
    """Return class shares that sum to 1, shape (N,).

    Parameters
    ----------
    prior : mapping, sequence or str
        A share for every class, by name or in the order of the classes; 0 for one that does not
        occur. Sums within 0.002 of 1 are taken for rounding and divided out. A text is
        ``"uniform"``, ``"A=0.5,B=0.3,…"`` or a file ``….json`` of shares by class name.
    classes : sequence of str
        Class names.

    Raises
    ------
    InvalidInputError
        For another form or sum, a negative share, a class that is unknown or missing, or a mix of a
        single class.

    Examples
    --------
    >>> check_prior({"spam": 0.1, "ham": 0.9}, ["ham", "spam"])
    array([0.9, 0.1])
    >>> check_prior("spam=0.1,ham=0.9", ["ham", "spam"])
    array([0.9, 0.1])
    >>> check_prior([0.333, 0.333, 0.333], ["a", "b", "c"]).round(4)
    array([0.3333, 0.3333, 0.3333])
    """
    if isinstance(prior, str):
        if prior == UNIFORM:
            return np.full(len(classes), 1 / len(classes))
        is_file = prior.lower().endswith(".json")
        prior = _load(Path(prior)) if is_file else _named_shares(prior)
    if isinstance(prior, Mapping):
        if {*prior} != {*classes}:
            names = listed([str(name) for name in prior])
            raise _no_mix(f"the shares are of {names}, but the classes are {listed(classes)}")
        prior = [prior[name] for name in classes]
    try:
        shares = np.array(prior, dtype=np.float64)  # a copy: the caller's array is not ours
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_mix(f"not numbers: {error}") from error
    if shares.shape != (len(classes),):
        raise _no_mix(f"{shares.size} shares for {len(classes)} classes: {listed(classes)}")
    for name, share in zip(classes, shares.tolist(), strict=True):
        if not 0 <= share < math.inf:
            raise _no_mix(f"the share of class {name} is {share:g}")
    total = shares.sum()
    if abs(total - 1) > _SUM_TOLERANCE:
        raise _no_mix(f"the shares sum to {total:.6g}, not 1")
    if np.count_nonzero(shares) < 2:
        raise _no_mix(f"all rows are of class {classes[int(shares.argmax())]}")
    return np.asarray(shares / total)


def _no_mix(why: str) -> InvalidInputError:
    return InvalidInputError(f"target prior: {why}", hint=_FORMS)


def _named_shares(text: str) -> dict[str, float]:
    """Return the shares that a text names, such as one on a command line."""
    shares: dict[str, float] = {}
    for clause in text.split(","):
        name, _, share = (word.strip() for word in clause.rpartition("="))
        try:
            number = float(share)
        except ValueError:
            name, number = "", 0.0
        if not name:
            raise _no_mix(f"{clause.strip()!r} is not NAME=SHARE")
        if name in shares:
            raise _no_mix(f"class {name} appears twice")
        shares[name] = number
    return shares


def _load(path: Path) -> dict[str, float]:
    try:
        content = json.loads(read_text(path))
        if not isinstance(content, dict):
            raise ValueError(f"it holds {content!r:.80}")
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else first_line(error)
        raise _no_mix(f"no mix can be read from {path}: {reason}") from error
    return content


def is_estimate(prior: PriorLike | None) -> bool:
    """Whether a prior is to be estimated from rows without labels.

    Examples
    --------
    >>> is_estimate("estimate"), is_estimate([0.5, 0.5])
    (True, False)
    """
    return isinstance(prior, str) and prior == ESTIMATE


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
