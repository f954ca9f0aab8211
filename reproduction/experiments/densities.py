"""Figures 1 and 2: densities of the probability that each class's own examples give it."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.fitting.settings import PAPER_SCALE
from dnip.presenting.artefacts import Column, Table
from dnip.tables import ProbabilityTable
from reproduction.comparison import ALL, VariantComparison
from reproduction.curves import Curve, Look, Panel, curve_figure
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
    from collections.abc import Sequence

    from dnip.base.typing import Floats
    from dnip.presenting.artefacts import Figure, Row
    from reproduction.cell import Cell
    from reproduction.results import CellResult
    from reproduction.sources import Sources


# Where densities are drawn, and the least bandwidth: a step of it.
GRID = np.linspace(-0.25, 1.25, 301)
_LEAST_BANDWIDTH = 0.005
# Curves of more classes cannot be read.
_MOST_CLASSES = 6
#: As many as in figure 1 of the paper.
SIMULATED = 5000
_HOW_SIMULATED = (
    "The paper does not say how it simulates. Ours: classes as frequent as in the opt rows, and "
    "log-probabilities normal, with mean and covariance of each class's opt rows."
)
# The two ways to draw, and their headings.
DRAWN = {"product": "p* = ω·p", "normalised": "p* normalised (ours)"}
_SHOWN = {way: f"Distance, {title}" for way, title in DRAWN.items()}
_SHOWN |= {"gap": "Gap of medians, normalised", "worst_class_accuracy": "Worst class"}


def measure_densities(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int, simulated: int
) -> dict[str, Any]:
    """Return densities and accuracies by class: of the raw argmax and every method.

    ``product`` is ω·p of the true class, equation 6's; ``normalised`` is that part of the row's
    sum, with what a kernel would put beyond 0 or 1 mirrored back. Densities are at `GRID`.

    Parameters
    ----------
    opt, test : ProbabilityTable
    dev_share : float
    seed : int
    simulated : int
        So many instances of `simulate` stand for `test`; 0 for test itself.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_densities(opt, test, dev_share=0.05, seed=0, simulated=50)
    >>> found["n"], [len(curve) for curve in found["raw"]["densities"]["product"]]
    (50, [301, 301, 301, 301])
    """
    fitted_on, _ = cut(opt, dev_share)
    rows = simulate(fitted_on.labelled(), simulated, seed) if simulated else test.labelled()
    raw = {**raw_scores(rows), **_by_class(rows, np.ones(rows.n_classes))}
    found: dict[str, Any] = {"classes": list(rows.classes), "n": len(rows), RAW: raw}
    for method in METHODS:
        fitted = fit_by(method, fitted_on, seed)
        of_class = _by_class(rows, fitted.coefficients.weights)
        found[method] = {**scores_after(fitted, rows), **of_class}
    return found


def simulate(rows: ProbabilityTable, n: int, seed: int) -> ProbabilityTable:
    """Draw instances like some rows.

    Classes are as frequent as among the rows; the log-probabilities of a class are normal, with the
    mean and covariance that its rows have.
    """
    assert rows.labels is not None
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.choice(rows.labels, n))
    logs = np.log(np.maximum(rows.probabilities, 1e-9))
    drawn = []
    for c, count in zip(*np.unique(labels, return_counts=True), strict=True):
        own = logs[rows.labels == c]
        spread = np.cov(own, rowvar=False) if len(own) > 1 else np.zeros(2 * [rows.n_classes])
        drawn.append(rng.multivariate_normal(own.mean(axis=0), spread, count))
    p = np.exp(np.concatenate(drawn))
    return ProbabilityTable(p / p.sum(axis=1, keepdims=True), labels, classes=rows.classes)


def _by_class(rows: ProbabilityTable, weights: Floats) -> dict[str, Any]:
    """Return densities of the true class's probability by way to draw, and how far they differ."""
    assert rows.labels is not None
    product = rows.probabilities * weights
    of_true = product[np.arange(len(rows)), rows.labels]
    found: dict[str, Any] = {"densities": {}}
    for way, p in zip(DRAWN, (of_true, of_true / product.sum(axis=1)), strict=True):
        of_class = [p[rows.labels == c] for c in range(rows.n_classes)]
        curves = [density(one, mirrored=way == "normalised") for one in of_class]
        known = [curve / curve.sum() for curve, p in zip(curves, of_class, strict=True) if len(p)]
        found[way] = fmean(float(np.abs(a - b).sum() / 2) for a, b in combinations(known, 2))
        found["densities"][way] = [curve.round(4).tolist() for curve in curves]
    medians = [float(np.median(one)) for one in of_class if len(one)]  # of what is normalised
    found["gap"] = fmean(abs(a - b) for a, b in combinations(medians, 2))
    return found


def density(samples: Floats, *, mirrored: bool) -> Floats:
    """Return the density of samples at `GRID`: Gaussians, Scott's bandwidth.

    Mirrored at 0 and 1, the curve holds all of the mass between them. It is 0 without samples.

    Examples
    --------
    >>> curve = density(np.array([0.2, 0.4, 0.9]), mirrored=True)
    >>> round(float(np.trapezoid(curve[50:251], GRID[50:251])), 2)
    1.0
    """
    n = len(samples)
    spread = float(np.std(samples, ddof=1)) if n > 1 else 0.0
    bandwidth = max(spread * max(n, 1) ** -0.2, _LEAST_BANDWIDTH)
    curve = np.zeros(len(GRID))
    for images in (samples, -samples, 2 - samples) if mirrored else (samples,):
        distances = (GRID[:, None] - images) / bandwidth
        curve += np.exp(-(distances**2) / 2).sum(axis=1)
    inside = (GRID >= 0) & (GRID <= 1) if mirrored else True
    return np.asarray(np.where(inside, curve, 0) / (max(n, 1) * bandwidth * np.sqrt(2 * np.pi)))


class Densities(Experiment):
    """How sure the model is of the true class, class by class, before and after."""

    name = "kde"
    title = "Probability of the true class"
    paper = "Figures 1 and 2"

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of the first seed that has few classes; first figure 1's.

        Figure 1 is of simulated instances, here of the paper's task, where it is among the sources.
        """
        few = [one for one in sources.first_seed() if len(one.classes) <= _MOST_CLASSES]
        of_paper = [one for one in few if one.task == published(self.name).numbers["task"]]
        rows = [(one, SIMULATED) for one in (of_paper or few)[:1]] + [(one, 0) for one in few]
        return [
            self.cell(
                measure_densities,
                source,
                {"simulated": simulated},
                {"seed": self.plan.seeds[0], "simulated": simulated},
                chains=1,
            )
            for source, simulated in rows
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return figure 1, then a figure for each source, what they show, and the statement."""
        found: list[Artefact] = [
            self._figure(
                f"{self.name}-simulated", f"{SIMULATED:,} simulated instances of {task}", row
            )
            for task, row in results.where(simulated=SIMULATED).titled()
        ]
        results = results.where(simulated=0)
        if not len(results):
            return found
        found += [
            self._figure(f"{self.name}-{number}", task, row)
            for number, (task, row) in enumerate(results.titled(), start=1)
        ]
        columns = [
            Column(t, percent=True, group=g) for g in _SHOWN.values() for t in PICTURED.values()
        ]
        table = Table(
            self.name,
            f"{self.title} (%)",
            [Column("Task"), *columns],
            [
                [task, *(row.result[way][metric] for metric in _SHOWN for way in PICTURED)]
                for task, row in results.titled()
            ],
            caption="Distance: the part of two classes' densities that does not overlap, mean over "
            "pairs. Worst class: its accuracy. p* = ω·p is equation 6's: each curve is squeezed by "
            "the weight of its class, though predictions depend on ratios of weights alone. "
            "Normalised by the row's sum, and mirrored at 0 and 1, curves stand on the scale of "
            "the raw ones; that is ours, and the better picture.",
        )
        return [table, _indices(results), *found, *_judge(results)]

    def _figure(self, name: str, task: str, row: CellResult) -> Figure:
        panels = []
        drawn = {"raw argmax": (RAW, "product")}
        drawn |= {f"{TITLES[PAPER]}, {title}": (PAPER, way) for way, title in DRAWN.items()}
        for title, (method, way) in drawn.items():
            found = row.result[method]
            curves, notes = {}, {}
            for label, curve, rate in zip(
                row.result["classes"],
                found["densities"][way],
                found["class_accuracies"],
                strict=True,
            ):
                if rate is not None:
                    curves[str(label)] = Curve(GRID.tolist(), curve)
                    notes[str(label)] = f"accuracy {rate:.2f}"
            panels.append(Panel(title, curves, notes))
        return curve_figure(
            name,
            f"{self.title}: {task}",
            panels,
            x_label="probability of the true class",
            y_label="density",
            look=Look(share_y=False),
            caption=_HOW_SIMULATED if row.labels["simulated"] else "",
        )


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
        caption="The paper's are those of AG News, seed 0; that they are of Llama-2-13B with "
        "1-shot prompts is inferred from table 1. Only their ratios matter: another model needs "
        "other ones. DNIP, ours has a finer scale; its weights are shown.",
    )


def _judge(results: Results) -> list[Claim]:
    results = Results(tuple(row for row in results if not is_constant(row.result[PAPER])))
    if not len(results):
        return []
    compared = VariantComparison.of(results, {way: (way,) for way in PICTURED})

    def words(metric: str) -> str:
        return in_percent({way: compared.mean(way, ALL, metric) for way in PICTURED})

    return [
        Claim(
            "After DNIP, probabilities of the ground-truth class are significantly more balanced",
            "figures 1 and 2, no numbers",
            "; ".join(f"distance of densities, {DRAWN[way]} (%): {words(way)}" for way in DRAWN)
            + f"; gap of medians, normalised (%): {words('gap')}; judged on what is normalised",
            all(compared.is_lower(PAPER, RAW, metric) for metric in ("normalised", "gap")),
        ),
        Claim(
            "Class accuracy becomes fairer, above all for the starved class",
            "Tech of AG News 19 % to 84 %",
            f"accuracy of the class that is then the worst (%): {words('worst_class_accuracy')}",
            compared.direction(PAPER, RAW, "worst_class_accuracy") > 0,
        ),
    ]
