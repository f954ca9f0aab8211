"""All corrections on all tables, with all labels and with few: what `dnip compare` prints.

``python -m benchmarks together`` has DNIP beside balanced matrix scaling, and after it.
"""

from __future__ import annotations

import statistics
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from benchmarks.tables import Table, print_markdown
from dnip import DNIPClassifier
from dnip.base.errors import DNIPWarning
from dnip.comparing import Comparison, compare
from dnip.comparing.methods import log
from dnip.metrics import accuracy, cobias, confusion_matrix, worst_class_accuracy

METRICS = ("accuracy", "cobias", "worst_class_accuracy")
SIZES = (10, 100)
SEEDS, DRAWS = 3, 3
TOGETHER_SIZES, TOGETHER_DRAWS = (100, 1_000), 10


def run(tables: list[Table]) -> None:
    """Print a table per group of tables, then the mean over 4-class ones by number of labels."""
    whole = {table.name: _compare(table, SEEDS) for table in tables}
    names = list(whole)
    for first in range(0, len(names), 4):
        _print_side_by_side({name: whole[name] for name in names[first : first + 4]})
    _print_against_raw(whole)
    few = [table for table in tables if table.opt.n_classes == 4 and "bundled" not in table.name]
    if few:
        _print_by_size(_few_labels(few, whole), len(few))


def _compare(table: Table, n_seeds: int, n_labels: int | None = None) -> Comparison:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # small draws lack classes
        return compare(table.opt, table.test, n_labels=n_labels, n_seeds=n_seeds)


def _print_side_by_side(comparisons: dict[str, Comparison]) -> None:
    rows = []
    first = next(iter(comparisons.values()))
    for method in first.methods:
        cells = [_means([comparison], method.name) for comparison in comparisons.values()]
        rows.append([method.name, *cells])
    header = ["accuracy / COBias / worst class", *comparisons]
    print_markdown("All corrections, all labels", header, rows)


def _means(comparisons: list[Comparison], name: str) -> str:
    means = (
        statistics.fmean(one.of(name).estimates[metric].value for one in comparisons)
        for metric in METRICS
    )
    return " / ".join(f"{mean:.3f}" for mean in means)


def _print_against_raw(comparisons: dict[str, Comparison]) -> None:
    """Count tables on which the interval of the difference lies on one side of 0."""
    rows = []
    for method in next(iter(comparisons.values())).methods[1:]:
        all_of_it = [comparison.of(method.name) for comparison in comparisons.values()]
        cells = []
        for metric, better in (("accuracy", 1), ("cobias", -1)):
            ends = [
                sorted(
                    (better * one.differences[metric].low, better * one.differences[metric].high)
                )
                for one in all_of_it
            ]
            cells.append(f"{sum(low > 0 for low, _ in ends)} / {sum(high < 0 for _, high in ends)}")
        for metric in METRICS:
            mean = statistics.fmean(
                one.of(method.name).estimates[metric].value - one.of("raw").estimates[metric].value
                for one in comparisons.values()
            )
            cells.append(f"{mean:+.3f}")
        rows.append([method.name, *cells])
    header = [
        "against the raw argmax",
        "accuracy better / worse",
        "COBias better / worse",
        "accuracy, mean",
        "COBias, mean",
        "worst class, mean",
    ]
    print_markdown(f"Clearly better and clearly worse, of {len(comparisons)} tables", header, rows)


def _few_labels(tables: list[Table], whole: dict[str, Comparison]) -> dict[str, list[Comparison]]:
    by_size = {
        f"{size} labels": [_compare(table, DRAWS, size) for table in tables] for size in SIZES
    }
    by_size["all labels"] = [whole[table.name] for table in tables]
    return by_size


def _print_by_size(by_size: dict[str, list[Comparison]], n_tables: int) -> None:
    rows = []
    for method in next(iter(by_size.values()))[0].methods:
        cells = [_means(comparisons, method.name) for comparisons in by_size.values()]
        rows.append([method.name, *cells])
    title = f"Few labels: {n_tables} tables of 4 classes, {DRAWS} draws of each"
    print_markdown(title, ["accuracy / COBias / worst class", *by_size], rows)


def together(tables: list[Table]) -> None:
    """Print DNIP, balanced matrix scaling, and both, on balanced draws of the emotion tables."""
    chosen = [table for table in tables if "emotion" in table.name]
    ways = {
        "raw argmax": None,
        "matrix scaling": _scaling(),
        "DNIP": DNIPClassifier(),
        "DNIP on matrix scaling": DNIPClassifier(_scaling()),
    }
    rows = [
        [f"{size:,} balanced labels", *(_together(chosen, size, way) for way in ways.values())]
        for size in TOGETHER_SIZES
    ]
    title = f"DNIP and matrix scaling: {len(chosen)} tables, {TOGETHER_DRAWS} draws of each"
    print_markdown(title, ["accuracy / COBias / worst class", *ways], rows)


def _scaling() -> Pipeline:
    return make_pipeline(
        FunctionTransformer(log), LogisticRegression(class_weight="balanced", max_iter=1000)
    )


def _together(tables: list[Table], size: int, way: Pipeline | DNIPClassifier | None) -> str:
    found = []
    for table in tables:
        for seed in range(TOGETHER_DRAWS):
            opt = table.opt.draw(size, seed, balanced=True)
            fitted = way and way.fit(opt.probabilities, np.asarray(opt.labels))
            p, labels = table.test.probabilities, np.asarray(table.test.labels)
            predicted = fitted.predict(p) if fitted else p.argmax(axis=1)
            counts = confusion_matrix(labels, predicted, table.opt.n_classes)
            found.append((accuracy(counts), cobias(counts), worst_class_accuracy(counts)))
    return " / ".join(f"{value:.3f}" for value in np.mean(found, axis=0))
