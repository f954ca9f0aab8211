"""DNIPClassifier beside what scikit-learn's users do about a skewed set of several classes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from benchmarks.tables import Table, print_markdown
from dnip import DNIPClassifier, Objective
from dnip.metrics import scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

METRICS = {
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "COBias": "cobias",
    "worst class": "worst_class_accuracy",
}
SILENCED = "silenced classes"  # those that no row is taken for
SKEWED_SETS = 4
NOISE = 6.0


class Data(NamedTuple):
    """A set of examples."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


Way: TypeAlias = Callable[[BaseEstimator, Data], BaseEstimator]


def run(_tables: list[Table]) -> None:
    """Print the scores of every way on the test halves; the saved tables are not read."""
    classifiers = {
        "logistic regression": LogisticRegression(max_iter=2000),
        "random forest": RandomForestClassifier(100, random_state=0),
    }
    runs = {
        f"{name}, {kind}": [_scores(way, classifier, data) for way in WAYS.values()]
        for name, data in _sets()
        for kind, classifier in classifiers.items()
    }
    columns = [*METRICS, SILENCED]
    rows = [
        [name, *[" / ".join(_shown(one[column]) for one in told) for column in columns]]
        for name, told in runs.items()
    ]
    means = [
        [statistics.fmean(told[way][column] for told in runs.values()) for way in range(len(WAYS))]
        for column in columns
    ]
    rows.append(["mean", *[" / ".join(f"{value:.3f}" for value in way) for way in means]])
    print_markdown(" / ".join(WAYS), ["test half", *columns], rows)


def _sets() -> Iterator[tuple[str, Data]]:
    for seed in range(SKEWED_SETS):
        skewed = make_classification(
            4000,
            20,
            n_informative=6,
            n_classes=4,
            weights=[0.8, 0.12, 0.06, 0.02],
            class_sep=0.8,
            random_state=seed,
        )
        yield f"skewed {seed}", Data(*skewed)
    X, y = load_digits(return_X_y=True)
    noisy = Data(X + np.random.default_rng(0).normal(0, NOISE, X.shape), y)
    yield "noisy digits", noisy
    kept = [np.flatnonzero(y == k)[: max(14, int(170 * 0.7**k))] for k in range(10)]
    rows = np.concatenate(kept)
    yield "long-tailed digits", Data(noisy.X[rows], y[rows])


def _plain(classifier: BaseEstimator, train: Data) -> BaseEstimator:
    return classifier.fit(*train)


def _weighted(classifier: BaseEstimator, train: Data) -> BaseEstimator:
    return classifier.set_params(class_weight="balanced").fit(*train)


def _over_sampled(classifier: BaseEstimator, train: Data) -> BaseEstimator:
    """Draw rows of each class again until it has as many as the largest."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(train.y == label) for label in np.unique(train.y)]
    most = max(map(len, classes))
    rows = np.concatenate([[*rows, *rng.choice(rows, most - len(rows))] for rows in classes])
    return classifier.fit(train.X[rows], train.y[rows])


def _reweighted(classifier: BaseEstimator, train: Data, beta: float) -> BaseEstimator:
    return DNIPClassifier(classifier, beta=beta).fit(*train)


WAYS: dict[str, Way] = {
    "plain": _plain,
    "class_weight": _weighted,
    "over-sampling": _over_sampled,
    "DNIPClassifier": partial(_reweighted, beta=Objective().beta),
    "DNIPClassifier, β = 2.7": partial(_reweighted, beta=2.7),
}


def _scores(way: Way, classifier: BaseEstimator, data: Data) -> dict[str, float]:
    X, X_test, y, y_test = train_test_split(*data, test_size=0.5, stratify=data.y, random_state=0)
    fitted = way(clone(classifier), Data(X, y))
    confusion = confusion_matrix(y_test, fitted.predict(X_test))
    told = scores(confusion)
    silenced = int(np.count_nonzero(confusion.sum(axis=0) == 0))
    return {name: told[metric] for name, metric in METRICS.items()} | {SILENCED: silenced}


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
