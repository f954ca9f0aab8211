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
from dnip.metrics import METRICS

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
    evidence = _Evidence(labels, [predictions[c] for c in candidates], n_classes, seed, weight)
    steps = [evidence.scores(weights) for weights in criterion.steps]
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
        steps = np.divide(
            chance,
            self.errors[:, None],
            out=np.zeros_like(chance),
            where=self.errors[:, None] > _ROUNDING,
        )
        return float(np.quantile(steps.max(axis=0), confidence))


def _against(scores: Floats, reference: int) -> _Differences:
    differences = scores - scores[reference]
    resampled = differences[:, 1:]
    return _Differences(differences[:, 0], resampled.std(axis=1), resampled)


class _Evidence:
    """Scores of all candidates, on the dev rows and on bootstrap samples.

    A sample draws folds, then rows within fold and class. Rows of a class that all candidates
    predict in the same way are interchangeable, so the counts of such patterns are drawn.
    """

    def __init__(
        self,
        labels: Sequence[Labels],
        predictions: Sequence[Sequence[Labels]],
        n_classes: int,
        seed: int,
        weight: Floats | None,
    ) -> None:
        rng = np.random.default_rng(seed)
        n_folds = len(labels)
        self._folds = [
            _FoldEvidence(true, [parts[number] for parts in predictions], n_classes, rng, weight)
            for number, true in enumerate(labels)
        ]
        drawn = rng.multinomial(n_folds, np.full(n_folds, 1 / n_folds), SAMPLES)
        shares = np.vstack([np.ones(n_folds), drawn]) * [len(true) for true in labels]
        self._shares = shares / shares.sum(axis=1, keepdims=True)

    def scores(self, weights: Mapping[str, float]) -> Floats:
        """Return scores, candidates × (1 + samples), the dev rows themselves first."""
        total = 0.0
        for number, fold in enumerate(self._folds):
            for metric, weight in weights.items():
                part = fold.metric(metric) * self._shares[:, number]
                total = total + weight * METRICS[metric].sign * part
        return np.asarray(total)


class _FoldEvidence:
    """The dev rows of one fold."""

    def __init__(
        self,
        labels: Labels,
        predictions: Sequence[Labels],
        n_classes: int,
        rng: np.random.Generator,
        weight: Floats | None,
    ) -> None:
        self._n_classes, self._weight = n_classes, weight
        rows = np.column_stack([labels, *predictions])
        patterns, counts = np.unique(rows, axis=0, return_counts=True)
        self._true, self._predicted = patterns[:, 0], patterns[:, 1:]
        self._counts = _resample(self._true, counts, rng)

    def metric(self, name: str) -> Floats:
        """Return a metric, candidates × (1 + samples)."""
        metric = METRICS[name]
        if metric.of_class_accuracies is not None:
            return metric.of_class_accuracies(*self._class_accuracies())
        candidates = map(self._confusions, range(self._predicted.shape[1]))
        return np.array([[metric.of(one) for one in confusions] for confusions in candidates])

    def _class_accuracies(self) -> tuple[Floats, Integers]:
        """Return class accuracies, candidates × samples × classes, and the rows of each class.

        Classes without rows are left out.
        """
        right = (self._predicted == self._true[:, None]).astype(np.float64)
        rates, sizes = [], []
        for c in np.unique(self._true):
            own = self._true == c
            size = self._counts[0, own].sum()
            rates.append((self._counts[:, own] @ right[own]).T / size)
            sizes.append(size if self._weight is None else size * self._weight[c])
        return np.stack(rates, axis=-1), np.array(sizes)

    def _confusions(self, candidate: int) -> list[Floats]:
        n = self._n_classes
        cells = self._true * n + self._predicted[:, candidate]
        weight = np.ones(n) if self._weight is None else self._weight
        return [
            np.bincount(cells, counts, n * n).reshape(n, n) * weight[:, None]
            for counts in self._counts
        ]


def _resample(true: Labels, counts: Integers, rng: np.random.Generator) -> Integers:
    """Return the counts of each pattern, then those of samples with the same class sizes."""
    drawn = np.empty((1 + SAMPLES, len(counts)), np.int64)
    drawn[0] = counts
    for c in np.unique(true):
        own = np.flatnonzero(true == c)
        n = int(counts[own].sum())
        drawn[1:, own] = rng.multinomial(n, counts[own] / n, SAMPLES)
    return drawn
