"""What the labels of a fit say about other rows: cross-validation, and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from dnip.base.errors import listed, unwarned
from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.method.prediction import decide
from dnip.metrics import class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.cobias import cobias_of
from dnip.metrics.confusion import count_pairs
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5

#: Takes the numbers of the rows to fit on, returns what probabilities are multiplied by.
Refit = Callable[["Integers"], "Floats"]

#: How sure it must be that error + β·COBias falls.
NEEDED = 0.9
#: Labels that each class needs, so that one can be left out.
FEWEST = 2

# No sample leaves no doubt at all.
_SUREST = 0.99
# The least standard deviation of error + β·COBias that chance is given.
_LEAST_DEVIATION = 0.02
_DRAWS, _SEED = 1_000, 0


@dataclass(frozen=True, eq=False)
class FitEvidence:
    """What cross-validation says about a fit.

    Attributes
    ----------
    evaluation : Evaluation
        Of the labelled rows. In `reweighted`, refits predict the rows that they have not seen.
    before, after : float
        error + β·COBias of the raw argmax and of the refits.
    sure : float
        How sure it is that the latter is lower, 0.01..0.99.
    ranges : ndarray of shape (N, 2)
        Least and greatest weight of each class over the refits, the largest of each being 1.
    objections : tuple of str
        Reasons not to apply the coefficients; empty if they should be applied.
    """

    evaluation: Evaluation
    before: float
    after: float
    sure: float
    ranges: Floats
    objections: tuple[str, ...]

    @property
    def apply(self) -> bool:
        """The verdict."""
        return not self.objections

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "apply" if self.apply else "keep the raw argmax"

    @property
    def reason(self) -> str:
        """The reason of the verdict: objections, and the numbers."""
        assert self.evaluation.reweighted is not None
        counts = [self.evaluation.in_population(self.evaluation.raw)]
        counts.append(self.evaluation.in_population(self.evaluation.reweighted))
        accuracy = [np.trace(c) / c.sum() for c in counts]
        gaps, worst = ([f(c) for c in counts] for f in (cobias, worst_class_accuracy))
        numbers = (
            f"On other rows: error + β·COBias {self.before:.3f} -> {self.after:.3f}, "
            f"{self.sure:.0%} sure that it falls\n(needed: {NEEDED:.0%}); "
            f"accuracy {accuracy[0]:.3f} -> {accuracy[1]:.3f}, COBias {gaps[0]:.3f} -> "
            f"{gaps[1]:.3f},\nworst class {worst[0]:.3f} -> {worst[1]:.3f}"
        )
        return "\n".join([*self.objections, numbers])

    def to_dict(self, confidence: float) -> dict[str, Any]:
        """Return everything, ready for JSON, with intervals of a level between 0 and 1."""
        return {
            "verdict": "apply" if self.apply else "keep",
            "objections": list(self.objections),
            "sure": self.sure,
            "needed": NEEDED,
            "objective": {"before": self.before, "after": self.after},
            "folds": USUAL_FOLDS,
            "weight_ranges": self.ranges.tolist(),
            **self.evaluation.to_dict(confidence),
        }


def gather(
    probabilities: Probabilities,
    labels: Labels,
    refit: Refit,
    *,
    classes: tuple[str, ...],
    beta: float,
    target: Floats | None = None,
    captured_mass: CapturedMass | None = None,
    seed: int = 0,
) -> FitEvidence:
    """Judge a fit on labelled rows that it has not seen.

    The labelled rows are divided into five parts, class by class. A refit on the other parts
    predicts each part. Raw argmax and refits predict the same rows, so the uncertainty of their
    difference comes from drawing rows again (bootstrap), class by class.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    refit : callable
        Repeats the fit on some of the rows.
    classes : tuple of str
        Class names.
    beta : float
        β, the weight of COBias.
    target : ndarray of shape (N,), optional
        The class mix where the coefficients will be used; that of the labels by default.
    captured_mass : CapturedMass, optional
        How many rows have a low captured mass, which is a fault of the prompt.
    seed : int
        Of the division into parts.

    Examples
    --------
    >>> from dnip import solve
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> p = np.clip(0.7 + 0.15 * rng.normal(size=200) - 0.3 * y, 0.01, 0.99)
    >>> p = np.stack([p, 1 - p], axis=1)
    >>> found = gather(p, y, lambda rows: solve(p[rows], y[rows]).weights, classes=("no", "yes"),
    ...                beta=2.7)
    >>> found.verdict, found.after < found.before
    ('apply', True)
    """
    n = len(classes)
    fold = deal_folds(labels, USUAL_FOLDS, seed)
    raw, fitted = decide(probabilities), decide(probabilities)
    weights = []
    with unwarned():
        parts = [p for p in range(USUAL_FOLDS) if len(np.unique(labels[fold != p])) >= 2]
        for part in parts:
            left_out = fold == part
            multipliers = refit(np.flatnonzero(~left_out))
            weights.append(multipliers / multipliers.max())
            fitted[left_out] = decide(probabilities[left_out], multipliers)
    rights = 2 * (raw == labels) + (fitted == labels)
    evaluation = Evaluation(
        classes,
        len(labels),
        0,
        count_pairs(labels, raw, n, n),
        count_pairs(labels, fitted, n, n),
        count_pairs(labels, rights, n, 4).reshape(n, 2, 2),
        target=target,
        captured_mass=captured_mass,
    )
    before, after, sure = _compare(evaluation, beta)
    spread = np.array(weights) if weights else np.ones((1, n))
    return FitEvidence(
        evaluation,
        before,
        after,
        sure,
        np.stack([spread.min(axis=0), spread.max(axis=0)], axis=1),
        _object(evaluation, sure),
    )


def _compare(evaluation: Evaluation, beta: float) -> tuple[float, float, float]:
    """Return error + β·COBias before and after, and how sure it is that it falls."""
    assert evaluation.agreement is not None
    cells = evaluation.agreement.reshape(-1, 4)
    sizes = cells.sum(axis=1)
    present = sizes > 0
    cells, sizes = cells[present], sizes[present]
    shares = sizes / sizes.sum() if evaluation.target is None else evaluation.target[present]
    shares = shares / shares.sum()

    def z(rows: Confusion, right: list[int]) -> Floats:
        rates = rows[..., right].sum(axis=-1) / sizes
        return np.asarray(1 - rates @ shares + beta * cobias_of(rates))

    rng = np.random.default_rng(_SEED)
    drawn = np.stack(
        [rng.multinomial(n, c / n, _DRAWS) for n, c in zip(sizes, cells, strict=True)], axis=1
    )
    before, after = (float(z(cells[None], right)[0]) for right in ([2, 3], [1, 3]))
    deviation = float((z(drawn, [1, 3]) - z(drawn, [2, 3])).std())
    sure = NormalDist().cdf((before - after) / max(deviation, _LEAST_DEVIATION))
    return before, after, min(max(sure, 1 - _SUREST), _SUREST)


def _object(evaluation: Evaluation, sure: float) -> tuple[str, ...]:
    """Return the reasons not to apply the coefficients."""
    raw, fitted, names = evaluation.raw, evaluation.reweighted, evaluation.classes
    assert fitted is not None
    objections = []
    mass = evaluation.captured_mass
    if mass is not None and mass.at_fault:
        objections.append("The prompt is at fault: the labels capture little of the probability.")
    rows = raw.sum(axis=1)
    few = [names[c] for c in np.flatnonzero(rows < FEWEST).tolist()]
    if few:
        objections.append(
            f"Too few labels to judge by, fewer than {FEWEST}, of class {listed(few)}."
        )
    silenced = (np.diag(raw) > 0) & (np.diag(fitted) == 0) & (rows >= FEWEST)
    if silenced.any():
        named = listed([names[c] for c in np.flatnonzero(silenced).tolist()])
        objections.append(f"On other rows nothing may be left right of class {named}.")
    worst = [float(np.nanmin(class_accuracies(c))) for c in (raw, fitted)]
    if worst[1] < worst[0]:
        objections.append(f"The worst class falls from {worst[0]:.3f} to {worst[1]:.3f}.")
    if sure < NEEDED:
        objections.append("It is not sure enough that other rows gain; more labels would tell.")
    return tuple(objections)


def deal_folds(labels: Labels, n_folds: int, seed: int) -> Integers:
    """Return the fold of each row; every fold gets an even share of each class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
    seed : int

    Returns
    -------
    ndarray of shape (M,)
        Fold numbers from 0. A fold lacks a class only if the class has fewer rows than folds.

    Examples
    --------
    >>> deal_folds(np.array([0, 0, 1, 1, 1, 1]), 2, seed=0)
    array([1, 0, 1, 0, 0, 1])
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        fold[rows] = (rng.permutation(len(rows)) + rng.integers(n_folds)) % n_folds
    return fold
