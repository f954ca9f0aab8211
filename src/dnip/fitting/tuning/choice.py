"""The choice of settings, from predictions on dev rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_args

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.option import CriterionName
from dnip.base.typing import Floats, Integers, Labels
from dnip.base.validation import check_choice, check_number
from dnip.fitting.tuning.settings import Settings
from dnip.metrics import METRICS, Metric

#: Which of two candidates is better: by accuracy then COBias, the other way round, or by a sum.
CRITERIA: tuple[str, ...] = get_args(CriterionName)

#: Bootstrap samples of the dev rows: the standard error of a difference is then known to 5 %.
SAMPLES = 200

# Differences of scores below this are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Criterion:
    """What makes a candidate better than another one.

    Parameters
    ----------
    name : {"accuracy", "cobias", "weighted"}, default="weighted"
        ``"accuracy"``: the highest accuracy, and among equals the lowest COBias. ``"cobias"``: the
        other way round. ``"weighted"``: the weighted sum of
        metrics by `weights`.
    weights : mapping of str to float, optional
        For ``"weighted"`` only: how much each metric of :data:`dnip.metrics.METRICS` counts, at
        least 0. Gaps count against a candidate. By default accuracy and COBias have weight 1.

    Examples
    --------
    >>> Criterion("weighted", {"accuracy": 1, "cobias": 2.7}).steps
    ({'accuracy': 1.0, 'cobias': 2.7},)
    """

    name: str = "weighted"
    weights: Mapping[str, float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        check_choice("criterion", self.name, CRITERIA)
        if self.weights is None:
            return
        if self.name != "weighted":
            raise InvalidInputError(
                f"weights belong to the criterion weighted; the criterion is {self.name}",
                hint="Leave the weights out, or take the criterion weighted",
            )
        for metric, weight in self.weights.items():
            check_choice("a weighted metric", metric, list(METRICS))
            check_number(f"weight of {metric}", weight, at_least=0)
        if not any(self.weights.values()):
            raise InvalidInputError(
                "weights has no weight above 0: all candidates would be alike",
                hint="Weigh at least one metric, such as accuracy=1,cobias=1",
            )

    @property
    def steps(self) -> tuple[dict[str, float], ...]:
        """What to compare by: weights by metric. A second step decides among near-equals."""
        if self.name == "accuracy":
            return {"accuracy": 1.0}, {"cobias": 1.0}
        if self.name == "cobias":
            return {"cobias": 1.0}, {"accuracy": 1.0}
        given = self.weights or {"accuracy": 1.0, "cobias": 1.0}
        return ({metric: float(weight) for metric, weight in given.items()},)

    def to_dict(self) -> dict[str, Any]:
        """Return the criterion as a coefficients file holds it."""
        weights = self.steps[0] if self.name == "weighted" else None
        return {"name": self.name, "weights": weights}


class Standing(NamedTuple):
    """How one candidate compares with the defaults by the first step of the criterion."""

    score: float  # higher is better
    ahead: float  # this score less that of the defaults
    standard_error: float  # of `ahead`


class Choice(NamedTuple):
    """The chosen candidate, and why.

    Attributes
    ----------
    chosen : Settings
    reference : Settings
        The defaults, or the candidate nearest to them.
    standings : dict of Settings to Standing
    bar : float
        How many standard errors a candidate must be ahead of the reference.
    alike : tuple of Settings
        The candidates over the bar that are within one standard error of the best; empty where the
        reference was kept.
    """

    chosen: Settings
    reference: Settings
    standings: dict[Settings, Standing]
    bar: float
    alike: tuple[Settings, ...]


def choose(
    labels: Sequence[Labels],
    predictions: Mapping[Settings, Sequence[Labels]],
    criterion: Criterion,
    n_classes: int,
    *,
    seed: int,
    confidence: float = 0.9,
    weight: Floats | None = None,
) -> Choice:
    """Choose the settings that are better beyond chance, or else the defaults.

    The score of a candidate is the mean over folds, weighted by their rows. Counts of all folds
    together would flatter settings whose fits err in a different direction each time. A candidate
    is better than the defaults where it is ahead by more standard errors than the best of that
    many equal candidates would be by chance. Among those within one standard error of the best, the
    nearest to the defaults is chosen. Under the criteria accuracy and cobias, near-equals are
    first compared by the other metric. If none is better than the defaults by the first metric,
    one that is no worse by it and better by the other may be chosen.

    All candidates predict the same rows, so differences are known much better than scores.
    Standard errors come from a paired bootstrap of folds, and of rows within fold and class.

    Parameters
    ----------
    labels : sequence of ndarray
        True classes of the dev rows of each fold.
    predictions : mapping of Settings to sequence of ndarray
        What each candidate predicts there; at least one candidate.
    criterion : Criterion
    n_classes : int
        N.
    seed : int
        Seed of the bootstrap.
    confidence : float, default=0.9
        Probability of keeping the defaults where all candidates are equal; 0 takes the best one.
    weight : ndarray of shape (N,), optional
        How many rows a dev row of each class stands for.

    Returns
    -------
    Choice

    Examples
    --------
    >>> from dnip.fitting.tuning.settings import Settings
    >>> y = np.repeat([0, 1], 40)
    >>> good, bad = y.copy(), np.zeros_like(y)
    >>> found = choose([y], {Settings(): [bad], Settings(beta=5): [good]}, Criterion(), 2, seed=0)
    >>> found.chosen.beta
    5
    """
    candidates = sorted(predictions, key=lambda settings: settings.distance)
    worth = np.ones(n_classes) if weight is None else weight
    told = [predictions[one] for one in candidates]
    steps = _scores(labels, told, criterion.steps, n_classes, seed, worth)
    first = _against(steps[0], 0)
    numbers = np.stack([steps[0][:, 0], first.ahead, first.errors], axis=1).tolist()
    standings = {one: Standing(*own) for one, own in zip(candidates, numbers, strict=True)}
    bar = first.bar(confidence)
    over = np.flatnonzero(first.ahead > bar * first.errors + _ROUNDING)
    if len(over) == 0 and len(steps) > 1:
        second = _against(steps[1], 0)
        better = second.ahead > second.bar(confidence) * second.errors + _ROUNDING
        over = np.flatnonzero(better & (first.ahead >= -_ROUNDING))
        steps = steps[1:]
    if len(over) == 0:
        return Choice(candidates[0], candidates[0], standings, bar, ())
    near = 1.0 if confidence > 0 else 0.0
    for scores in steps:
        best = over[int(scores[over, 0].argmax())]
        behind = _against(scores, best)
        over = over[(-behind.ahead <= near * behind.errors + _ROUNDING)[over]]
    alike = tuple(candidates[place] for place in over)
    return Choice(alike[0], candidates[0], standings, bar, alike)


class _Differences(NamedTuple):
    """Scores minus that of one candidate, on the dev rows and on bootstrap samples."""

    ahead: Floats  # (C,)
    errors: Floats  # (C,)
    resampled: Floats  # (C, S)

    def bar(self, confidence: float) -> float:
        """Return how many standard errors the best of equal candidates is ahead by chance."""
        if confidence == 0:
            return 0.0
        chance = self.resampled - self.resampled.mean(axis=1, keepdims=True)
        known = self.errors > _ROUNDING
        steps = chance[known] / self.errors[known, None]
        return float(np.quantile(steps.max(axis=0, initial=0.0), confidence))


def _against(scores: Floats, reference: int) -> _Differences:
    differences = scores - scores[reference]
    resampled = differences[:, 1:]
    return _Differences(differences[:, 0], resampled.std(axis=1), resampled)


def _scores(
    labels: Sequence[Labels],
    predictions: Sequence[Sequence[Labels]],
    steps: Sequence[Mapping[str, float]],
    n_classes: int,
    seed: int,
    weight: Floats,
) -> list[Floats]:
    """Return scores by each step, candidates × (1 + samples), those of the dev rows first.

    A sample draws folds, then rows within fold and class.
    """
    rng = np.random.default_rng(seed)
    n_folds = len(labels)
    patterns = [
        _patterns(np.column_stack([true, *parts]), rng)
        for true, *parts in zip(labels, *predictions, strict=True)
    ]
    drawn = rng.multinomial(n_folds, np.full(n_folds, 1 / n_folds), SAMPLES)
    shares = np.vstack([np.ones(n_folds), drawn]) * [len(true) for true in labels]
    shares /= shares.sum(axis=1, keepdims=True)
    found = np.zeros((len(steps), len(predictions), 1 + SAMPLES))
    for (rows, counts), share in zip(patterns, shares.T, strict=True):
        for number, step in enumerate(steps):
            for name, worth in step.items():
                values = _values(METRICS[name], rows, counts, n_classes, weight)
                found[number] += worth * METRICS[name].sign * values * share
    return list(found)


def _patterns(rows: Integers, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Return the different rows, and how many there are of each, here and in the samples.

    A row is a true class and what the candidates predict. Rows that are the same are
    interchangeable, so their numbers are drawn. Samples have the same class sizes.
    """
    patterns, here = np.unique(rows, axis=0, return_counts=True)
    counts = np.tile(here, (1 + SAMPLES, 1))
    for c in np.unique(patterns[:, 0]):
        own = np.flatnonzero(patterns[:, 0] == c)
        n = int(here[own].sum())
        counts[1:, own] = rng.multinomial(n, here[own] / n, SAMPLES)
    return patterns, counts


def _values(
    metric: Metric, rows: Integers, counts: Integers, n_classes: int, weight: Floats
) -> Floats:
    """Return a metric of patterns, candidates × (1 + samples)."""
    true, predicted = rows[:, 0], rows[:, 1:]
    if metric.of_class_accuracies is not None:
        present, rates = np.unique(true), []
        sizes = np.bincount(true, counts[0], n_classes)[present]
        for c, size in zip(present, sizes, strict=True):
            own = true == c
            right = (predicted[own] == c).astype(np.float64)
            rates.append((counts[:, own] @ right).T / size)
        return metric.of_class_accuracies(np.stack(rates, axis=-1), sizes * weight[present])
    cells = true[:, None] * n_classes + predicted
    confusions = (
        np.bincount(own, sample, n_classes**2).reshape(n_classes, n_classes) * weight[:, None]
        for own in cells.T
        for sample in counts
    )
    return np.reshape([metric.of(one) for one in confusions], (-1, 1 + SAMPLES))
