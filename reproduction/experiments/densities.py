"""Figures 1 and 2: densities of the probability that each class's own examples give it."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from benchmarks.race.curves import Curve, Look, Panel, curve_figure
from dnip.fitting.settings import PAPER_SCALE
from dnip.presenting.artefacts import Column, Table
from reproduction.comparison import standard_error
from reproduction.degenerate import is_constant
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import (
    METHODS,
    OURS,
    PAPER,
    PICTURED,
    RAW,
    TITLES,
    cut,
    fit_by,
    in_percent,
    raw_scores,
    scores_after,
)
from reproduction.published import published
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.base.typing import Floats, Probabilities
    from dnip.presenting.artefacts import Figure, Row, Value
    from dnip.tables import ProbabilityTable
    from reproduction.cell import Cell
    from reproduction.results import CellResult
    from reproduction.sources import Sources


# Points of a density, and the least bandwidth.
POINTS, _LEAST_BANDWIDTH = 201, 0.005


def measure_densities(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return a density, a median and an accuracy per class: of the raw argmax and every method.

    Reweighted probabilities are normalised to sum 1 per row. A density has 201 even points from 0
    to 1.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_densities(opt, test, dev_share=0.05, seed=0)
    >>> [len(curve) for curve in found["raw"]["densities"]]
    [201, 201, 201, 201]
    """
    fitted_on, _ = cut(opt, dev_share)
    found: dict[str, Any] = {"classes": list(test.classes)}
    found[RAW] = {**raw_scores(test), **_by_class(test.labelled(), test.labelled().probabilities)}
    for method in METHODS:
        fitted = fit_by(method, fitted_on, seed)
        after = fitted.coefficients.apply(test.labelled().probabilities)
        found[method] = {**scores_after(fitted, test), **_by_class(test.labelled(), after)}
    return found


def _by_class(rows: ProbabilityTable, probabilities: Probabilities) -> dict[str, Any]:
    """Return density and median of the probability of the true class, for each class."""
    assert rows.labels is not None
    true = probabilities[np.arange(len(rows)), rows.labels]
    of_class = [true[rows.labels == c] for c in range(rows.n_classes)]
    return {
        "densities": [density(p).round(4).tolist() if len(p) else None for p in of_class],
        "medians": [float(np.median(p)) if len(p) else None for p in of_class],
    }


def density(samples: Floats) -> Floats:
    """Return the density of samples in 0..1 at 201 even points: Gaussians, Scott's bandwidth.

    What a kernel would put beyond 0 or 1 is mirrored back, so the curve holds all of the mass.

    Examples
    --------
    >>> curve = density(np.array([0.2, 0.4, 0.9]))
    >>> round(float(np.trapezoid(curve, dx=1 / 200)), 2)
    1.0
    """
    spread = float(np.std(samples, ddof=1)) if len(samples) > 1 else 0.0
    bandwidth = max(spread * len(samples) ** -0.2, _LEAST_BANDWIDTH)
    curve = np.zeros(POINTS)
    for images in (samples, -samples, 2 - samples):
        distances = (np.linspace(0, 1, POINTS)[:, None] - images) / bandwidth
        curve += np.exp(-(distances**2) / 2).mean(axis=1)
    return np.asarray(curve / (bandwidth * np.sqrt(2 * np.pi)))


class Densities(Experiment):
    """How sure the model is of the true class, class by class, before and after."""

    name = "kde"
    title = "Probability of the true class"
    paper = "Figures 1 and 2"

    class Options(Experiment.Options):
        """The most classes of a task that is shown."""

        max_classes: int = Field(6, ge=0)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of the first seed that has few classes."""
        return [
            self.cell(measure_densities, source, {}, {"seed": self.plan.seeds[0]}, chains=1)
            for source in sources.first_seed()
            if len(source.classes) <= self.options.max_classes
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return a figure for each source, a table of what it shows, and the statement."""
        if not len(results):
            return []
        figures = [
            self._figure(f"{self.name}-{number}", task, row)
            for number, (task, row) in enumerate(results.titled(), start=1)
        ]
        shown = {"Gap of medians": _gaps, "Distance of densities": _distances}
        shown["Worst class accuracy"] = _worst
        columns = [
            Column(TITLES[way], percent=True, group=group) for group in shown for way in TITLES
        ]
        rows: list[list[Value]] = [
            [task, *(value for numbers in shown.values() for value in numbers(row))]
            for task, row in results.titled()
        ]
        table = Table(
            self.name,
            f"{self.title} (%)",
            [Column("Task"), *columns],
            rows,
            caption="Means over pairs of classes: the gap between the medians, and the part of the "
            "densities that does not overlap.",
        )
        return [table, _indices(results), *figures, *_judge(results)]

    def _figure(self, name: str, task: str, row: CellResult) -> Figure:
        grid = np.linspace(0, 1, POINTS).tolist()
        panels, highest = [], 0.0
        for way in PICTURED:
            found = row.result[way]
            curves, notes = {}, {}
            for label, curve, rate in zip(
                row.result["classes"], found["densities"], found["class_accuracies"], strict=True
            ):
                if curve is not None:
                    curves[str(label)] = Curve(grid, curve)
                    notes[str(label)] = f"accuracy {rate:.2f}"
                    highest = max(highest, float(np.quantile(curve, 0.99)))
            panels.append(Panel(TITLES[way], curves, notes))
        return curve_figure(
            name,
            f"{self.title}: {task}",
            panels,
            x_label="probability of the true class",
            y_label="density",
            look=Look(top=1.1 * highest),
        )


def _gaps(row: CellResult) -> list[float]:
    """Return the mean gap between the medians of two classes, raw and by method."""
    gaps = []
    for way in TITLES:
        known = [median for median in row.result[way]["medians"] if median is not None]
        gaps.append(fmean(abs(a - b) for a, b in combinations(known, 2)))
    return gaps


def _distances(row: CellResult) -> list[float]:
    """Return the part of two classes' densities that does not overlap, mean over pairs."""
    found = []
    for way in TITLES:
        curves = [np.array(one) for one in row.result[way]["densities"] if one is not None]
        shares = [curve / curve.sum() for curve in curves]
        found.append(fmean(float(np.abs(a - b).sum() / 2) for a, b in combinations(shares, 2)))
    return found


def _worst(row: CellResult) -> list[float]:
    """Return the accuracy of the worst class, raw and by method."""
    return [row.result[way]["worst_class_accuracy"] for way in TITLES]


def _indices(results: Results) -> Table:
    """Return the weight indices of each class, to stand beside the paper's."""
    on_scale = [method for method in METHODS if method != OURS]
    paper = published("kde").numbers
    rows: list[Row] = []
    for task, row in results.titled():
        is_paper = row.labels["task"] == paper["task"] and len(row.result["classes"]) == 4
        for c, name in enumerate(row.result["classes"]):
            found = [round(PAPER_SCALE * row.result[m]["weights"][c]) for m in on_scale]
            theirs = paper["weight_indices"][c] if is_paper else None
            rows.append((task, name, theirs, *found, row.result[OURS]["weights"][c]))
    return Table(
        "kde-weights",
        f"Weight index of each class, of {PAPER_SCALE}",
        [
            Column("Task"),
            Column("Class"),
            Column("The paper's"),
            *(Column(TITLES[method]) for method in on_scale),
            Column(f"{TITLES[OURS]} (weight)", digits=3),
        ],
        rows,
        caption="The paper's are those of Llama-2-13B on AG News, seed 0. Only their ratios "
        "matter: another model needs other ones. DNIP, ours has a finer scale; its weights are "
        "shown.",
    )


def _judge(results: Results) -> list[Claim]:
    results = Results(tuple(row for row in results if not is_constant(row.result[PAPER])))
    if not len(results):
        return []

    def judged(numbers: Callable[[CellResult], list[float]], sign: int) -> tuple[str, bool]:
        """Return means in words, and whether DNIP changes them that way by more than chance."""
        by_way = dict(zip(TITLES, zip(*map(numbers, results), strict=True), strict=True))
        change = results.over_datasets(np.subtract(by_way[PAPER], by_way[RAW]).tolist())
        means = {way: fmean(results.over_datasets(by_way[way])) for way in TITLES}
        return in_percent(means), sign * fmean(change) > standard_error(change)

    (gaps, nearer), (distances, together), (worst, fairer) = (
        judged(_gaps, -1),
        judged(_distances, -1),
        judged(_worst, 1),
    )
    return [
        Claim(
            "After DNIP, probabilities of the ground-truth class are significantly more balanced",
            "figures 1 and 2, no numbers",
            f"gap of class medians (%): {gaps}; distance of densities (%): {distances}",
            nearer and together,
        ),
        Claim(
            "Class accuracy becomes fairer, above all for the starved class",
            "Tech of AG News 19 % to 84 %",
            f"accuracy of the class that is then the worst (%): {worst}",
            fairer,
        ),
    ]
