"""Other class mixes: how well a mix is estimated, and what coefficients moved to it do.

Tables of at most 20 classes. Opt halves are drawn to a mix; accuracy in another mix is computed
from the class accuracies on the whole test half, and unlabelled rows are drawn from it.
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.base.typing import Floats, Integers, Labels, Probabilities
from dnip.fitting.estimate import calibrate
from dnip.fitting.fit import fit
from dnip.method.prediction import decide
from dnip.metrics import class_accuracies, cobias, confusion_matrix, worst_class_accuracy
from dnip.priors import estimate_prior, maximise_shares

MOST_CLASSES = 20
FREQUENT = 0.85
UNLABELLED = 2_000
SIZES = (10, 30, 100, 500, 0)  # labels, class-balanced; 0: all of the opt half
DRAWS = 5

Scores = tuple[float, float, float]


def run(tables: list[Table]) -> None:
    """Print both parts."""
    few = [table for table in tables if table.opt.n_classes <= MOST_CLASSES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        _estimates(few)
        _moves(few)


def _estimates(tables: list[Table]) -> None:
    """Print the total variation between a mix and what is estimated of it."""
    far: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    covered: dict[int, list[float]] = defaultdict(list)
    for table in tables:
        opt, test = table.opt.labelled(), table.test.labelled()
        assert opt.labels is not None
        assert test.labels is not None
        n_classes = opt.n_classes
        for size in SIZES:
            for seed in range(DRAWS):
                rng = np.random.default_rng(seed)
                rows = np.arange(len(opt)) if size == 0 else _balanced(opt.labels, size, rng)
                p, labels = opt.probabilities[rows], opt.labels[rows]
                for mix in _mixes(n_classes)[: 1 + min(n_classes, 4)]:
                    drawn = _draw(test.labels, mix, UNLABELLED, rng)
                    truth = np.bincount(test.labels[drawn], minlength=n_classes) / len(drawn)
                    unlabelled = test.probabilities[drawn]
                    ours = estimate_prior(unlabelled, calibrate(p, labels))
                    guesses = {
                        "equal shares": np.full(n_classes, 1 / n_classes),
                        "predicted classes, counted": np.bincount(
                            unlabelled.argmax(axis=1), minlength=n_classes
                        )
                        / len(drawn),
                        "EM on raw probabilities": _em(unlabelled),
                        "moments (BBSE, soft)": _moments(p, labels, unlabelled),
                        "EM, calibrated (`estimate`)": ours.shares,
                    }
                    for name, shares in guesses.items():
                        far[name][size].append(float(np.abs(shares - truth).sum() / 2))
                    within = (ours.low <= truth) & (truth <= ours.high)
                    covered[size].append(float(within.mean()))
    header = ["total variation", *[_name(size) for size in SIZES]]
    rows_ = [[name, *[f"{np.mean(by[s]):.3f}" for s in SIZES]] for name, by in far.items()]
    rows_.append(["shares within their interval", *[f"{np.mean(covered[s]):.0%}" for s in SIZES]])
    print_markdown(f"Class mixes estimated from {UNLABELLED:,} unlabelled rows", header, rows_)


def _moves(tables: list[Table]) -> None:
    """Print accuracy and COBias in other mixes, and how often the move helped."""
    found: dict[str, dict[str, list[Scores]]] = defaultdict(lambda: defaultdict(list))
    for table in tables:
        opt, test = table.opt.labelled(), table.test.labelled()
        assert opt.labels is not None
        assert test.labels is not None
        rng = np.random.default_rng(0)
        mixes = _mixes(opt.n_classes)
        for i, ours in enumerate(mixes):
            rows = opt.take(_resampled(opt.labels, ours, rng))
            fitted = fit(rows, evidence=False).coefficients
            for j, mix in enumerate(mixes):
                kind = f"{_kind(i)} → {_kind(j)}"
                drawn = test.probabilities[_draw(test.labels, mix, UNLABELLED, rng)]
                estimate = fitted.estimate_prior(drawn)
                refitted = fit(rows, target_prior=mix, evidence=False).coefficients
                ways: dict[str, Floats] = {
                    "raw argmax": np.ones(opt.n_classes),
                    "left as they are": fitted.weights,
                    "times target / fitted share": fitted.weights * mix / fitted.class_shares,
                    "`apply --target-prior MIX`": fitted.adjusted(mix).weights,
                    "`apply --target-prior estimate`": fitted.adjusted(estimate).weights,
                    "`fit --target-prior MIX`": refitted.weights,
                }
                for name, weights in ways.items():
                    score = _score(weights, test, mix)
                    found[name][kind if i != j else "the same mix"].append(score)
                    if i != j:
                        found[name]["all changes"].append(score)
    kinds = ["the same mix", "equal → 85%", "85% → equal", "85% → 85%", "all changes"]
    rows_ = []
    for name, by in found.items():
        rows_.append([name, *[_shown(by[kind]) for kind in kinds]])
    counts = [len(found["raw argmax"][kind]) for kind in kinds]
    header = [
        "accuracy / COBias / worst class",
        *[f"{k} ({n})" for k, n in zip(kinds, counts, strict=True)],
    ]
    print_markdown("Coefficients of the robust fit in other class mixes", header, rows_)
    before, after = (
        np.array(found[name]["all changes"])[:, 0]
        for name in ("left as they are", "`apply --target-prior MIX`")
    )
    print(f"\nMore often right in {np.mean(after > before):.0%} of the changes of mix, ", end="")
    print(f"less often in {np.mean(after < before):.0%}; worst {np.min(after - before):+.3f}.")


def _score(weights: Floats, test: ProbabilityTable, mix: Floats) -> Scores:
    """Return accuracy in a mix, COBias and the accuracy of the worst class."""
    assert test.labels is not None
    predicted = decide(test.probabilities, weights).astype(np.int64)
    counts = confusion_matrix(test.labels, predicted, test.n_classes)
    return float(mix @ class_accuracies(counts)), cobias(counts), worst_class_accuracy(counts)


def _shown(scores: list[Scores]) -> str:
    return " / ".join(f"{value:.3f}" for value in np.mean(scores, axis=0))


def _mixes(n_classes: int) -> list[Floats]:
    """Return equal shares, and one class frequent: each of few classes, or every fourth."""
    mixes = [np.full(n_classes, 1 / n_classes)]
    for c in range(0, n_classes, 1 if n_classes <= 4 else 4):
        mix = np.full(n_classes, (1 - FREQUENT) / (n_classes - 1))
        mix[c] = FREQUENT
        mixes.append(mix)
    return mixes


def _kind(number: int) -> str:
    return "equal" if number == 0 else "85%"


def _name(size: int) -> str:
    return "all labels" if size == 0 else f"{size} labels"


def _balanced(labels: Labels, size: int, rng: np.random.Generator) -> Integers:
    n_classes = int(labels.max()) + 1
    each = max(1, size // n_classes)
    return np.concatenate([rng.choice(np.flatnonzero(labels == c), each) for c in range(n_classes)])


def _draw(labels: Labels, mix: Floats, size: int, rng: np.random.Generator) -> Integers:
    """Draw rows with replacement, so that classes have the shares of a mix."""
    counts = np.floor(mix * size).astype(int)
    return np.concatenate(
        [rng.choice(np.flatnonzero(labels == c), n) for c, n in enumerate(counts)]
    )


def _resampled(labels: Labels, mix: Floats, rng: np.random.Generator) -> Integers:
    """Leave out rows until the classes have the shares of a mix, five of each at least."""
    sizes = np.bincount(labels, minlength=len(mix))
    quotas = np.clip((mix * (sizes / mix).min()).astype(int), 5, sizes)
    return np.concatenate(
        [rng.choice(np.flatnonzero(labels == c), n, replace=False) for c, n in enumerate(quotas)]
    )


def _em(p: Probabilities) -> Floats:
    n_classes = p.shape[1]
    equal = np.full(n_classes, 1 / n_classes)
    return maximise_shares(p, equal, np.full(n_classes, 0.5), rounds=1_000, tolerance=1e-7)


def _moments(p: Probabilities, labels: Labels, unlabelled: Probabilities) -> Floats:
    """Solve mean probabilities = Σ share · mean probabilities of the class (Lipton et al. 2018)."""
    means = np.stack([p[labels == c].mean(axis=0) for c in range(p.shape[1])], axis=1)
    shares = np.maximum(np.linalg.lstsq(means, unlabelled.mean(axis=0), rcond=None)[0], 0)
    return np.asarray(shares / shares.sum())
