"""The results of a comparison, and how they are shown: a table, files and a figure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

from dnip.base.typing import Confusion
from dnip.comparing.material import Method
from dnip.metrics import HEADLINE, METRICS, metric_intervals, scores
from dnip.metrics.intervals import PAIRED, difference_intervals
from dnip.presenting.drawing import BLACK, BLUE, COLOURS, Figure, frame_front, legend_beside
from dnip.presenting.formats import Column, Estimate
from dnip.presenting.results import ResultFiles, Results

# Of a metric without an interval.
_NO_INTERVAL = (math.nan, math.nan)


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """One fit of one method, scored on the test rows.

    Attributes
    ----------
    seed : int
        Of the fit, and of the draw of labels where there is one.
    seconds : float
        Of the fit.
    confusion : ndarray of shape (N, N)
        Of the test rows, rows true.
    agreement : ndarray of shape (N, 2, 2)
        Test rows of each class by whether the raw argmax and whether the method got them right.
    correction : dict
        What was learned.
    """

    seed: int
    seconds: float
    confusion: Confusion
    agreement: Confusion
    correction: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, all metrics among them."""
        values = {"seed": self.seed, "seconds": self.seconds, **scores(self.confusion)}
        return {**values, "correction": self.correction}


@dataclass(frozen=True, eq=False)
class MethodScores:
    """One method: the means over its fits, with intervals.

    Attributes
    ----------
    name, summary : str
    reads : tuple of str
        What it read: labels, unlabelled, batch (the test rows without labels), content-free.
    estimates : mapping of str to Estimate
        By metric, the mean over fits.
    differences : mapping of str to Estimate
        Of accuracy and COBias from those of the raw argmax on the same rows; empty for itself.
    fits : tuple of ScoredFit
    """

    name: str
    summary: str
    reads: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    fits: tuple[ScoredFit, ...]

    @classmethod
    def of(
        cls, method: Method, fits: Sequence[ScoredFit], confidence: float, raw: MethodScores | None
    ) -> MethodScores:
        """Sum up the fits of a method.

        Parameters
        ----------
        method : Method
        fits : sequence of ScoredFit
        confidence : float
            Level of the intervals, between 0 and 1.
        raw : MethodScores or None
            Of the raw argmax; None for itself.
        """
        values = {m: [metric.of(fit.confusion) for fit in fits] for m, metric in METRICS.items()}
        bounds = [metric_intervals(fit.confusion, confidence) for fit in fits]
        estimates = {
            m: Estimate.mean(values[m], [ends.get(m, _NO_INTERVAL) for ends in bounds])
            for m in METRICS
        }
        differences = {}
        if raw is not None:
            changes = [difference_intervals(fit.agreement, confidence) for fit in fits]
            for m in PAIRED:
                gains = [value - raw.estimates[m].value for value in values[m]]
                differences[m] = Estimate.mean(gains, [change[m] for change in changes])
        about = method.name, method.summary, method.reads
        return cls(*about, estimates, differences, tuple(fits))

    @property
    def seconds(self) -> float:
        """Median of the times of the fits."""
        return statistics.median(fit.seconds for fit in self.fits)

    def spread(self, metric: str) -> float:
        """Return the standard deviation of a metric over fits, 0 for one fit."""
        values = [METRICS[metric].of(fit.confusion) for fit in self.fits]
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        metrics = {}
        for metric, estimate in self.estimates.items():
            change = self.differences.get(metric)
            numbers = estimate._asdict().items()
            metrics[metric] = {
                **{name: None if math.isnan(number) else number for name, number in numbers},
                "spread": self.spread(metric),
                "difference": change and change._asdict(),
            }
        return {
            "name": self.name,
            "summary": self.summary,
            "reads": list(self.reads),
            **metrics,
            "seconds": self.seconds,
            "runs": [fit.to_dict() for fit in self.fits],
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on one opt and one test table.

    Attributes
    ----------
    opt, test : str
        Names of the tables.
    classes : tuple of str
    n_opt, n_test, n_unlabelled, n_content_free : int
        Rows: labels that a run learns from, labelled test rows, opt rows without a label, and
        content-free rows.
    seeds : int
        How many runs of each method.
    confidence : float
        Level of the intervals.
    objective : dict
        What DNIP minimises.
    scale : int, str or None
        K that was asked for.
    methods : tuple of MethodScores
        In the order in which the methods ran, the raw argmax first.
    skipped : dict of str to str
        Methods that did not run, with the reason.
    interrupted : bool
        Whether the user stopped it; the methods are those that were finished.
    """

    opt: str
    test: str
    classes: tuple[str, ...]
    n_opt: int
    n_test: int
    n_unlabelled: int
    n_content_free: int
    seeds: int
    confidence: float
    objective: dict[str, Any]
    scale: int | str | None
    methods: tuple[MethodScores, ...]
    skipped: dict[str, str]
    interrupted: bool

    @property
    def title(self) -> str:
        """Name both tables: by their folder where that tells more, as of `name/opt.csv`."""
        opt, test = Path(self.opt), Path(self.test)
        if opt.parent == test.parent and opt.parent.name.strip(".") and opt.stem.startswith("opt"):
            return opt.parent.name
        return f"{opt.name} and {test.name}"

    def of(self, name: str) -> MethodScores:
        """Return the scores of a method.

        Raises
        ------
        KeyError
            If it did not run.
        """
        return {method.name: method for method in self.methods}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip compare --json`` prints."""
        return {
            **vars(self),
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "methods": [method.to_dict() for method in self.methods],
        }


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
    axes, (raw, *others) = figure.subplots(), comparison.methods
    ends: list[tuple[float, float]] = []
    colours = cycle((*COLOURS[1:], BLACK))
    for method in others:
        is_ours = method.name == "dnip"
        colour = BLUE if is_ours else next(colours)
        x, y = method.estimates["cobias"], method.estimates["accuracy"]
        # the ends of an interval need not lie on both sides of the estimate
        for across, up in (((x.low, x.high), (y.value,) * 2), ((x.value,) * 2, (y.low, y.high))):
            axes.plot(across, up, color=colour, alpha=0.45, lw=1.4)
            ends += zip(across, up, strict=True)
        look = {"color": colour, "ms": 15 if is_ours else 7, "mec": "white", "ls": "", "zorder": 3}
        axes.plot(x.value, y.value, "*" if is_ours else "o", label=method.name, **look)
    at = raw.estimates["cobias"].value, raw.estimates["accuracy"].value
    frame_front(axes, ends or [at], at)
    legend_beside(axes)


def _figure(comparison: Comparison) -> Figure:
    title = (
        f"{comparison.title}: {comparison.n_opt:,} labels, {comparison.n_test:,} test rows, "
        f"{comparison.confidence:.0%} intervals"
    )
    return Figure(partial(_draw, comparison=comparison), (9.0, 4.8), title)
