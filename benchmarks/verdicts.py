"""What `dnip fit` chooses, and what other choices would have done on other rows: docs/evidence.md.

    python -m benchmarks verdicts stability

Kinds of tables: prompted models in the class mixes of `python -m benchmarks mixes`, without rows
that have no label, and naive Bayes classifiers, which are too sure, on made data with classes as
uneven as they come. All are judged by error + COBias/2. `stability` counts the choices that differ
with another seed, and with the same rows or the same classes in another order.
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
from dnip import Fit, Objective, fit
from dnip.base.errors import DNIPWarning
from dnip.fitting.refits import BETAS

N_CLASSES = 4
#: Made data sets, their classes, and what the share of a class falls to from one to the next.
MADE, CLASSES, FALLS = 12, (3, 4, 6, 8), (0.3, 0.5, 0.7)
#: How much worse than the raw argmax is worth counting.
WORSE = 0.02
#: Labels of the fits that are made again, and how many of them.
AGAIN_SIZES, AGAIN = (100, 300), 40


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


def stability(tables: list[Table]) -> None:
    """Print how many choices differ with another seed, order of rows, or order of classes."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    four = [table for table in shared if table.opt.n_classes == N_CLASSES]
    made = (draw for seed in range(MADE) for draw in made_draws(seed))
    draws = [draw for table in four for draw in draws_of(table, 0)] + [*made]
    draws = [draw for draw in draws if draw.size in AGAIN_SIZES]
    drawn = np.random.default_rng(0).permutation(len(draws))[:AGAIN]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        choices = list(crew.map(_choose_again, [draws[i] for i in drawn]))
    rows = []
    for way, what in enumerate(("another seed", "rows in another order", "classes in another")):
        pairs = [(first, others[way]) for first, *others in choices]
        applied = sum((first == "raw") != (again == "raw") for first, again in pairs)
        differ = sum(first != again for first, again in pairs)
        rows.append([what, f"{applied} of {len(pairs)}", f"{differ} of {len(pairs)}"])
    print_markdown(
        f"Choices that differ, {len(choices)} fits",
        ["with", "apply or not", "the β, or that"],
        rows,
    )


def _choose_again(draw: Draw) -> list[str]:
    """Return the choice, and those with another seed, order of rows and order of classes."""
    p, labels, n = draw.p, draw.labels, draw.p.shape[1]
    rng = np.random.default_rng(draw.size)
    order, moved = rng.permutation(len(labels)), rng.permutation(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        return [
            _choice(fit(rows, y, seed=seed, classes=list(range(n)), evidence=True))
            for rows, y, seed in (
                (p, labels, 0),
                (p, labels, 1),
                (p[order], labels[order], 0),
                (p[:, moved], moved.argsort()[labels], 0),
            )
        ]


def _choice(fitted: Fit) -> str:
    return "raw" if fitted.is_raw else f"{fitted.coefficients.objective['beta']:g}"


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
    return Chosen(
        draw.mix,
        draw.size,
        _choice(fitted),
        score(draw, fitted.weights).z(half),
        values["raw"],
        values[f"{BETAS[0]:g}"],
        min(values.values()),
    )
