"""A comparison as a table, files and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from dnip.comparing.results import Comparison
from dnip.metrics import HEADLINE, METRICS, scores
from dnip.metrics.intervals import PAIRED
from dnip.presenting.drawing import Figure, tidy
from dnip.presenting.formats import Column
from dnip.presenting.results import ResultFiles, Results

FILES = ResultFiles("results.json", "comparison.png", "runs.csv")

_TRANSDUCTIVE = " *"


def present_comparison(comparison: Comparison) -> Results:
    """Return a line per method, with notes; a figure where a method was finished."""
    columns = [Column("method"), *(Column(METRICS[name].title, 3) for name in HEADLINE)]
    rows = []
    for method in comparison.methods:
        estimates = [(name, method.estimates[name]) for name in HEADLINE]
        shown = [estimate if name in PAIRED else estimate.value for name, estimate in estimates]
        rows.append((method.name + (_TRANSDUCTIVE if "batch" in method.reads else ""), *shown))
    title = (
        f"{comparison.title}: {comparison.n_opt:,} labels of {len(comparison.classes)} classes, "
        f"{comparison.n_test:,} test rows"
    )
    skipped = (f"Left out, {name}: {reason}." for name, reason in comparison.skipped.items())
    figure = _figure(comparison) if comparison.methods else None
    notes = (_caption(comparison), *skipped)
    return Results(
        columns, rows, comparison.to_dict(), figure, _fits(comparison), title=title, notes=notes
    )


def _caption(comparison: Comparison) -> str:
    seeds = comparison.seeds
    runs = "one run" if seeds == 1 else f"means of {seeds} runs"
    note = f"Figures are {runs}; in brackets, their {comparison.confidence:.0%} intervals."
    if comparison.n_unlabelled:
        note += f" Unlabelled rows at hand: {comparison.n_unlabelled:,}."
    if any("batch" in method.reads for method in comparison.methods):
        note += " * reads the probabilities of all test rows, without labels, before it decides."
    return note


def _fits(comparison: Comparison) -> Iterator[list[Any]]:
    """Yield a header, then the scores of every fit."""
    yield ["method", "seed", "seconds", *METRICS]
    for method in comparison.methods:
        for fit in method.fits:
            scored = scores(fit.confusion)
            values = [scored[metric] for metric in METRICS]
            yield [method.name, fit.seed, f"{fit.seconds:.6f}", *values]


def _draw(figure: Any, comparison: Comparison) -> None:  # noqa: ANN401 - matplotlib's
    """Draw accuracy against COBias, with intervals over test rows; up and left is better."""
    axes = figure.subplots()
    for place, method in enumerate(comparison.methods):
        colour = f"C{place}"
        x, y = method.estimates["cobias"], method.estimates["accuracy"]
        # the ends of an interval need not lie on both sides of the estimate
        for across, up in (((x.low, x.high), (y.value,) * 2), ((x.value,) * 2, (y.low, y.high))):
            axes.plot(across, up, color=colour, alpha=0.45, lw=1.4)
        marker, size = ("*", 15) if method.name == "dnip" else ("o", 7)
        look = {"color": colour, "ms": size, "mec": "white", "ls": "", "zorder": 3}
        axes.plot(x.value, y.value, marker, label=method.name, **look)
    axes.set_xlabel("COBias, the mean gap between class accuracies (lower is better)")
    axes.set_ylabel("accuracy")
    figure.legend(loc="outside right upper", frameon=False)
    tidy(axes, grid="both")


def _figure(comparison: Comparison) -> Figure:
    title = (
        f"{comparison.title}: {comparison.n_opt:,} labels, {comparison.n_test:,} test rows, "
        f"{comparison.confidence:.0%} intervals"
    )
    return Figure(partial(_draw, comparison=comparison), (9.0, 4.8), title)
