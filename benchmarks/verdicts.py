"""What `dnip fit` chooses, and what other choices would have done on other rows: docs/evidence.md.

    python -m benchmarks verdicts

Kinds of tables: prompted models in the class mixes of `python -m benchmarks mixes`, without rows
that have no label, and naive Bayes classifiers, which are too sure, on made data with classes as
uneven as they come. All are judged by error + COBias/2.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from statistics import fmean
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from benchmarks.mixes import DRAWS, SIZES, Draw, draws_of, raw, score
from benchmarks.tables import Table, print_markdown
from dnip import Objective, fit
from dnip.base.errors import DNIPWarning
from dnip.fitting.choosing import BETAS

N_CLASSES = 4
#: Made data sets, their classes, and what the share of a class falls to from one to the next.
MADE, CLASSES, FALLS = 12, (3, 4, 6, 8), (0.3, 0.5, 0.7)
#: How much worse than the raw argmax is worth counting.
WORSE = 0.02


class Chosen(NamedTuple):
    """The choice on one draw, and error + COBias/2 on other rows."""

    kind: str
    size: int
    choice: str
    chosen: float
    raw: float
    usual: float  # always β = 0.5
    best: float  # of all that could be chosen


def run(tables: list[Table]) -> None:
    """Print what was chosen next to always β = 0.5, always the raw argmax, and the best."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    four = [table for table in shared if table.opt.n_classes == N_CLASSES]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        work = [crew.submit(_of_table, table, seed) for table in four for seed in range(DRAWS)]
        work += [crew.submit(_of_made, seed) for seed in range(MADE)]
        chosen = [one for done in work for one in done.result()]
    rows = []
    for kind in dict.fromkeys(one.kind for one in chosen):
        for size in SIZES:
            here = [one for one in chosen if (one.kind, one.size) == (kind, size)]
            if not here:
                continue
            means = (
                f"{fmean(getattr(one, name) for one in here):.3f}"
                for name in ("raw", "usual", "chosen", "best")
            )
            worse = sum(one.chosen > one.raw + WORSE for one in here)
            counts = (
                sum(one.choice == name for one in here)
                for name in ("raw", *(f"{beta:g}" for beta in BETAS))
            )
            rows.append(
                [kind, f"{size:,}", *means, f"{worse} of {len(here)}", " / ".join(map(str, counts))]
            )
    header = [
        "kind of table",
        "labels",
        "always the raw argmax",
        f"always β = {BETAS[0]:g}",
        "chosen",
        "best of all",
        f"worse than raw by {WORSE:g}",
        "chosen: raw / " + " / ".join(f"{beta:g}" for beta in BETAS),
    ]
    print_markdown("error + COBias/2 on other rows", header, rows)


def _of_table(table: Table, seed: int) -> list[Chosen]:
    return [_choose(draw) for draw in draws_of(table, seed)]


def _of_made(seed: int) -> list[Chosen]:
    return [_choose(draw) for draw in made_draws(seed)]


def made_draws(seed: int) -> Iterator[Draw]:
    """Yield draws of each size from a naive Bayes classifier on data of its own."""
    n_classes = CLASSES[seed % len(CLASSES)]
    shares = FALLS[seed % len(FALLS)] ** np.arange(n_classes)
    features, labels = make_classification(
        8_000,
        20,
        n_informative=8,
        n_redundant=6,
        n_classes=n_classes,
        n_clusters_per_class=2,
        weights=(shares / shares.sum()).tolist(),
        class_sep=0.8,
        random_state=seed,
    )
    p = np.zeros((5_000, n_classes))
    model = GaussianNB().fit(features[:3_000], labels[:3_000])
    p[:, model.classes_] = model.predict_proba(features[3_000:])
    labels = labels[3_000:]
    order = np.random.default_rng(seed).permutation(len(labels))
    for size in SIZES:
        rows, others = order[:size], order[max(SIZES) :]
        kind, none = "naive Bayes, uneven", p[:0]
        yield Draw(kind, size, p[rows], labels[rows], none, p[others], labels[others])


def _choose(draw: Draw) -> Chosen:
    half, classes = Objective().beta, list(range(draw.p.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        fitted = fit(draw.p, draw.labels, classes=classes, evidence=True)
        at = {
            beta: fit(draw.p, draw.labels, beta=beta, classes=classes, evidence=False)
            for beta in BETAS
        }
    values = {f"{beta:g}": score(draw, each.weights).z(half) for beta, each in at.items()}
    values["raw"] = score(draw, raw(draw)).z(half)
    choice = "raw" if fitted.is_raw else f"{fitted.coefficients.objective['beta']:g}"
    return Chosen(
        draw.mix,
        draw.size,
        choice,
        score(draw, fitted.weights).z(half),
        values["raw"],
        values[f"{BETAS[0]:g}"],
        min(values.values()),
    )
