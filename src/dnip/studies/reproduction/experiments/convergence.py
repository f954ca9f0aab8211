"""Appendix C: annealing with chains of λNK moves against the proven optimum."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from dnip.base.toml_models import Several
from dnip.presenting.artefacts import Column, Row, Statement, Table, Text
from dnip.presenting.drawing import Curve, Look, Panel, curve_figure
from dnip.studies.reproduction.experiment import Experiment
from dnip.studies.reproduction.experiments.annealing_runs import SCHEDULES, measure_convergence
from dnip.studies.reproduction.experiments.costs import power_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact, Figure
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.results import CellResult, Results
    from dnip.studies.reproduction.sources import Sources

_SHOWN = {"published": "published temperatures", "cold": "cooled on to 0.1"}
# A coarser scale is sufficient if it has this share of the gain of a finer one.
_ENOUGH = 0.95
# An exponent needs as many different sizes.
_LEAST_SIZES = 3
# Below this gap the axis is linear, so that it can show 0.
_LINEAR = 1e-3
_Scale = Annotated[int, Field(ge=2)]
_Factor = Annotated[float, Field(ge=0)]


class Convergence(Experiment):
    """How near annealing comes to the optimum, by length of its chains."""

    name = "convergence"
    title = "Annealing against the proven optimum"
    paper = "Appendix C"

    class Options(Experiment.Options):
        """Most classes of a task, values of K and λ, runs of each, seconds for the exact solver."""

        max_classes: int = Field(6, ge=0)
        scales: Several[_Scale] = (5, 10, 20, 40)
        factors: Several[_Factor] = (0.05, 0.25, 1.0)
        runs: int = Field(3, ge=1)
        time_limit: float = Field(60.0, ge=0)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of few classes and each K."""
        options = self.options
        settings = {
            "factors": list(options.factors),
            "n_seeds": options.runs,
            "time_limit": options.time_limit,
        }
        return [
            self.cell(
                measure_convergence,
                source,
                {"scale": scale},
                {**settings, "scale": scale},
                test=False,
            )
            for source in sources.first_seed()
            if len(source.classes) <= options.max_classes
            for scale in options.scales
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return gaps as table and figure, exponents, and what the paper says of both."""
        if not len(results):
            return [Text("No task has few enough classes for a proof.")]
        factors = self.options.factors
        return [
            self._gaps(results, factors),
            self._curves(results, factors),
            self._exponents(results),
            _ours(results),
            *_judge(results, max(factors)),
            _judge_scale(results),
        ]

    def _gaps(self, results: Results, factors: Sequence[float]) -> Table:
        rows = [
            Row(
                (
                    title,
                    row.result["scale"],
                    row.result["variable_space"],
                    row.result["optimum"],
                    "yes" if row.result["proven"] else "no",
                    *(
                        fmean(_run(row, schedule, factor)["gaps"])
                        for schedule in SCHEDULES
                        for factor in factors
                    ),
                    fmean(row.result["coordinate"]["gaps"]),
                )
            )
            for title, row in results.titled()
        ]
        columns = [Column(title) for title in ("Task", "K", "NK")]
        columns += [Column("Optimum", digits=4), Column("Proven")]
        columns += [
            Column(f"λ = {factor:g}", digits=4, group=f"Mean gap, {_SHOWN[schedule]}")
            for schedule in SCHEDULES
            for factor in factors
        ]
        columns.append(Column("coordinate", digits=4, group="Mean gap, ours"))
        return Table(
            self.name,
            f"{self.title}: Z with β = 2.7, τ = 0.2, μ = 4000, and the gap that chains of λNK "
            "moves leave",
            columns,
            rows,
            caption="Where a proof is missing, the best value found stands for the optimum.",
            paper=self.paper,
        )

    def _curves(self, results: Results, factors: Sequence[float]) -> Figure:
        largest = max(results.values("scale"))
        panels = []
        for schedule in SCHEDULES:
            curves = {}
            for title, row in results.titled():
                if row.labels["scale"] == largest:
                    runs = [_run(row, schedule, factor) for factor in factors]
                    gaps = [fmean(run["gaps"]) for run in runs]
                    curves[title] = Curve([run["evaluations"] for run in runs], gaps)
            panels.append(Panel(_SHOWN[schedule], curves))
        return curve_figure(
            self.name,
            f"{self.title}, K = {largest}: mean gap by objective values computed",
            [panels],
            x_label="objective values",
            y_label="Z above the optimum",
            look=Look(log_x=True, linear_below=_LINEAR, marked=True),
            caption="λ grows along each curve. 0 is the optimum.",
            paper=self.paper,
        )

    def _exponents(self, results: Results) -> Table:
        rows = []
        for (schedule, what), (exponent, correlation, n) in _fits(results).items():
            rows.append(Row((_SHOWN[schedule], what, exponent, correlation, n)))
        columns = [Column("Schedule"), Column("What grows with NK")]
        columns += [Column("Exponent", digits=2), Column("Correlation", digits=2), Column("Points")]
        return Table(
            f"{self.name}-exponents",
            f"{self.title}: exponents in NK at the longest chains, over tasks and K",
            columns,
            rows,
            caption="Lines through logarithms. Objective values until the optimum are medians over "
            "runs, of those tasks and K at which at least half of the runs found it.",
            paper=self.paper,
        )


def _ours(results: Results) -> Text:
    gaps = [gap for row in results for gap in row.result["coordinate"]["gaps"]]
    return Text(
        f"The default solver of `dnip fit`, coordinate search, ended at the optimum in "
        f"{sum(gap == 0 for gap in gaps)} of {len(gaps)} runs."
    )


def _run(row: CellResult, schedule: str, factor: float) -> dict[str, Any]:
    found: dict[str, Any] = next(
        run for run in row.result["runs"] if run["schedule"] == schedule and run["factor"] == factor
    )
    return found


def _longest(row: CellResult, schedule: str) -> dict[str, Any]:
    runs = [run for run in row.result["runs"] if run["schedule"] == schedule]
    found: dict[str, Any] = max(runs, key=lambda run: run["factor"])
    return found


def _fits(results: Results) -> dict[tuple[str, str], tuple[float, float, int]]:
    """Return exponent, correlation and number of points, by schedule and what grows."""
    found = {}
    for schedule in SCHEDULES:
        points: dict[str, list[tuple[float, float]]] = {
            "objective values of a run": [],
            "seconds of a run": [],
            "objective values until the optimum": [],
        }
        for row in results:
            size, run = row.result["variable_space"], _longest(row, schedule)
            reached = [n for n in run["reached_after"] if n is not None]
            costs = [run["evaluations"], run["seconds"], None]
            if 2 * len(reached) >= len(run["reached_after"]):
                costs[2] = median(reached)
            for of_one, cost in zip(points.values(), costs, strict=True):
                if cost is not None:
                    of_one.append((size, cost))
        for what, pairs in points.items():
            sizes, costs = [a for a, _ in pairs], [b for _, b in pairs]
            exponent = correlation = math.nan
            if len(set(sizes)) >= _LEAST_SIZES:
                exponent, correlation = power_law(sizes, costs)
            found[schedule, what] = (exponent, correlation, len(pairs))
    return found


def _judge(results: Results, longest: float) -> list[Statement]:
    proven = [row for row in results if row.result["proven"]]
    shares = {}
    for schedule in SCHEDULES:
        gaps = [gap for row in proven for gap in _longest(row, schedule)["gaps"]]
        shares[schedule] = (sum(gap == 0 for gap in gaps), len(gaps))
    fits = _fits(results)
    of_run = fits["published", "objective values of a run"][0]
    until = {s: fits[s, "objective values until the optimum"] for s in SCHEDULES}
    reached = "; ".join(f"{_SHOWN[s]}: {n} of {of} runs" for s, (n, of) in shares.items())
    known = [exponent for exponent, _, _ in until.values() if not math.isnan(exponent)]
    return [
        Statement(
            "Annealing converges to the global optimum",
            "a proof for endless time, no numbers",
            f"at the proven optimum with chains of {longest:g}·NK: {reached}",
            all(n == of for n, of in shares.values()) if proven else None,
            {"at_optimum": {s: {"runs": of, "at": n} for s, (n, of) in shares.items()}},
        ),
        Statement(
            "A run computes λNK·log_α(T_min/T_max) objective values, a number of order NK",
            "exponent 1",
            f"fitted exponent {of_run:.2f}, which the length of the chains sets",
            None if math.isnan(of_run) else abs(of_run - 1) < 0.05,
        ),
        Statement(
            "Work of order NK suffices to find the optimum",
            "exponent 1",
            "objective values until the optimum grow with exponent "
            + ", ".join(f"{e:.2f} ({_SHOWN[s]}, {n} points)" for s, (e, _, n) in until.items()),
            max(known) <= 1.1 if known else None,
        ),
    ]


def _judge_scale(results: Results) -> Statement:
    """Say how much of the gain of the finest scale the next coarser one has."""
    gains: dict[str, dict[int, float]] = {}
    for title, row in results.titled():
        gain = row.result["raw"] - row.result["optimum"]
        gains.setdefault(title, {})[row.labels["scale"]] = gain
    *_, coarse, fine = (None, *sorted(results.values("scale")))
    shares = [
        of_task[coarse] / of_task[fine]
        for of_task in gains.values()
        if coarse in of_task and of_task.get(fine, 0) > 0
    ]
    return Statement(
        "A scale of 30 points is sufficient on most tasks",
        "no numbers",
        f"of the objective that the optimum at K = {fine} gains over the raw argmax, that at "
        f"K = {coarse} gains {100 * min(shares):.1f} to {100 * max(shares):.1f} %"
        if shares
        else "one scale only",
        sum(share > _ENOUGH for share in shares) > len(shares) / 2 if shares else None,
    )
