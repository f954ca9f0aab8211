"""Labels that were chosen by what the model answered: `docs/choosing.md`.

    python -m benchmarks chosen

Of 1,200 rows of each opt half, 200 are labelled, in four ways; the fit is scored on the whole test
half. The other rows are left out, or used as rows without labels, which moves the labelled ones
where they differ; or they only tell how probably a row is labelled, and each labelled one counts
by the inverse.
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable, fit
from dnip.base.errors import DNIPWarning
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.method.prediction import decide
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.priors import centred, log_probabilities

MOST_CLASSES, ROWS, LABELLED, DRAWS = 20, 1_200, 200, 2
RARELY = 0.05
# How much more than others a row may count.
MOST = 10.0


def run(tables: list[Table]) -> None:
    """Print error + COBias/2 of what is done with the rows without a label, and what is noticed."""
    few = [table for table in tables if table.opt.n_classes <= MOST_CLASSES]
    z: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    noticed: dict[str, list[bool]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        for table in few:
            opt = table.opt.labelled()
            of_table: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
            for seed in range(DRAWS):
                rng = np.random.default_rng(seed)
                rows = opt.take(rng.permutation(len(opt))[:ROWS])
                assert rows.labels is not None
                size = min(LABELLED, len(rows) // 2)
                for way, rate in _rates(rows.probabilities, rows.labels, rng).items():
                    drawn = rng.choice(len(rows), size, replace=False, p=rate / rate.sum())
                    is_labelled = np.zeros(len(rows), np.bool_)
                    is_labelled[drawn] = True
                    noticed[way].append(_is_noticed(rows, is_labelled))
                    for what, weights in _fits(rows, is_labelled).items():
                        of_table[way][what].append(_z(table.test, weights))
            for way, fits in of_table.items():
                for what, values in fits.items():
                    z[way][what].append(values)
    lines = []
    for way, by in z.items():
        means = {what: np.array(rows).mean(axis=1) for what, rows in by.items()}
        shown = [f"{np.mean(noticed[way]):.0%}", f"{means['raw argmax'].mean():.3f}"]
        shown.append(f"{means['left out'].mean():.3f}")
        for what in ("used", "weighed"):
            more = means[what] - means["left out"]
            error = more.std(ddof=1) / np.sqrt(len(more))
            shown.append(f"{more.mean():+.3f} ± {error:.3f}, at most {more.max():+.3f}")
        lines.append([way, *shown])
    print_markdown(
        f"{LABELLED} labels of {ROWS:,} rows, by how they are chosen: {len(few)} tables, error + "
        "COBias/2",
        [
            "labelled",
            "noticed",
            "raw argmax",
            "unlabelled rows left out",
            "used, more than that",
            "1/P(labelled), more than that",
        ],
        lines,
    )


def _rates(p: Probabilities, labels: Labels, rng: np.random.Generator) -> dict[str, Floats]:
    """Return how readily each row is labelled, in each way."""
    n_classes, predicted, top = p.shape[1], p.argmax(axis=1), p.max(axis=1)
    wanted = rng.permutation(n_classes)[: max(1, n_classes // 2)]
    rank = top.argsort().argsort() / len(top)
    of_rows = {
        "at random": np.ones(len(p), np.bool_),
        "by predicted class": np.isin(predicted, wanted),
        "least sure": rank < 1 / 3,
        "most sure": rank > 2 / 3,
        "errors reported": predicted != labels,
    }
    return {way: np.where(rows, 1.0, RARELY) for way, rows in of_rows.items()}


def _with(rows: ProbabilityTable, is_labelled: Booleans) -> ProbabilityTable:
    assert rows.labels is not None
    return ProbabilityTable(
        rows.probabilities, np.where(is_labelled, rows.labels, -1), classes=rows.classes
    )


def _is_noticed(rows: ProbabilityTable, is_labelled: Booleans) -> bool:
    return fit(_with(rows, is_labelled), evidence=False).chosen is not None


def _fits(rows: ProbabilityTable, is_labelled: Booleans) -> dict[str, Floats]:
    """Return the weights of each use of the unlabelled rows."""
    labelled, others = (rows.take(np.flatnonzero(which)) for which in (is_labelled, ~is_labelled))
    counts = 1 / _propensity(rows.probabilities, is_labelled)[is_labelled]
    counts = np.minimum(counts, MOST * np.median(counts))
    p = labelled.probabilities
    return {
        "raw argmax": np.ones(p.shape[1]),
        "left out": fit(labelled, evidence=False).weights,
        "used": fit(labelled, unlabelled=others.probabilities, evidence=False).weights,
        "weighed": fit(labelled, weights=counts, evidence=False).weights,
    }


def _propensity(p: Probabilities, is_labelled: Booleans) -> Floats:
    """Return how probably each row is labelled, by its log-probabilities, answer and sureness."""
    ordered = np.sort(log_probabilities(p), axis=1)
    lead = ordered[:, -1:] - ordered[:, -2:-1]
    numbers = np.column_stack([centred(log_probabilities(p)), lead, lead**2])
    numbers /= numbers.std(axis=0) + 1e-9
    features = np.column_stack([numbers, np.eye(p.shape[1])[p.argmax(axis=1)]])
    model = LogisticRegression(max_iter=500).fit(features, is_labelled)
    return np.asarray(model.predict_proba(features)[:, 1])


def _z(test: ProbabilityTable, weights: Floats) -> float:
    rows = test.labelled()
    assert rows.labels is not None
    predicted = decide(rows.probabilities, weights).astype(np.int64)
    counts = confusion_matrix(rows.labels, predicted, rows.n_classes)
    return 1 - accuracy(counts) + cobias(counts) / 2
