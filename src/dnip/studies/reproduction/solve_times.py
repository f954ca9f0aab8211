"""Table 3: what it takes to optimise, by the published loops and by every solver here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.presenting.artefacts import Column, Row, Statement, Table
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.comparison import task_titles
from dnip.studies.reproduction.convergence import power_law
from dnip.studies.reproduction.measures.solve_times import measure_solve_times
from dnip.studies.reproduction.measures.variants import SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources

_WAYS = {
    "loops": "published loops",
    "anneal": "annealing, compiled",
    "coordinate": "coordinate",
    "exact": "exact",
}


class SolveTimes:
    """Seconds and objective of the published loops, of annealing, coordinate search and proof."""

    name: ClassVar[str] = "time"
    title: ClassVar[str] = "Time of optimisation"
    paper: ClassVar[str] = "Table 3"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {"time_limit": 60.0}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of the first seed."""
        seed = plan.seeds[0]
        return [
            Cell(
                self.name,
                source.labels,
                measure_solve_times,
                {"opt": source.opt},
                {
                    "dev_share": plan.dev_share,
                    "seed": seed if source.seed is None else source.seed,
                    "time_limit": plan.of(self)["time_limit"],
                },
            )
            for source in sources.first_seed()
        ]

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return seconds, objectives, and what the paper says of them."""
        if not len(results):
            return []
        titles = task_titles(results)
        limit = plan.of(self)["time_limit"]
        ratios = ("anneal", "coordinate", "exact", "fit")
        seconds = Table(
            self.name,
            f"{self.title} at K = {SCALE}: seconds, and how many times less than the published "
            "loops",
            [
                *(Column(title) for title in ("Task", "Rows", "NK")),
                *(Column(title, digits=3, group="Seconds") for title in _WAYS.values()),
                Column("dnip fit", digits=3, group="Seconds"),
                *(
                    Column(_WAYS.get(way, "dnip fit"), digits=0, group="Loops / this")
                    for way in ratios
                ),
            ],
            [
                Row(
                    (
                        title,
                        row.result["rows"],
                        row.result["variable_space"],
                        *(_number(row, way, "seconds") for way in (*_WAYS, "fit")),
                        *(_ratio(row, way) for way in ratios),
                    )
                )
                for title, row in zip(titles, results, strict=True)
            ],
            caption="The loops and the compiled annealing end by their schedule and prove nothing; "
            f"the exact solver had {limit:g} s. dnip fit is the whole default fit, with its own "
            "objective. Times suffer where other work runs beside them: --jobs 1 on a quiet "
            "machine gives clean ones.",
            paper=self.paper,
        )
        objectives = Table(
            f"{self.name}-objectives",
            f"{self.title}: the published objective that each reaches (lower is better)",
            [
                Column("Task"),
                *(Column(title, digits=5) for title in _WAYS.values()),
                Column("Lower bound", digits=5),
                Column("Certificate"),
            ],
            [
                Row(
                    (
                        title,
                        *(_number(row, way, "objective") for way in _WAYS),
                        row.result["ways"]["exact"]["lower_bound"],
                        _certificate(row),
                    )
                )
                for title, row in zip(titles, results, strict=True)
            ],
            paper=self.paper,
        )
        return [seconds, objectives, *_judge(results)]


def _number(row: CellResult, way: str, what: str) -> float | None:
    """Return seconds or objective; None for loops that could not run for want of a class."""
    found = row.result["ways"].get(way)
    return None if found is None else float(found[what])


def _ratio(row: CellResult, way: str) -> float | None:
    loops, this = _number(row, "loops", "seconds"), _number(row, way, "seconds")
    return None if loops is None or this is None else loops / this


def _certificate(row: CellResult) -> str:
    found = row.result["ways"]["exact"]
    if found["status"] == "optimal":
        return "proven optimal"
    return "none" if found["gap"] is None else f"within {found['gap']:.3g}"


def _judge(results: Results) -> list[Statement]:
    rows = [row for row in results if "loops" in row.result["ways"]]
    if not rows:
        return []
    taken = {way: [row.result["ways"][way]["seconds"] for row in rows] for way in (*_WAYS, "fit")}
    told = ", ".join(
        f"{_WAYS.get(way, 'dnip fit')} {min(seconds):.3g} to {max(seconds):.3g} s"
        for way, seconds in taken.items()
        if way != "exact"
    )
    spaces = [float(row.result["variable_space"]) for row in rows]
    cells = [float(row.result["rows"] * row.result["n_classes"]) for row in rows]
    evaluations = [float(row.result["ways"]["loops"]["evaluations"]) for row in rows]
    in_space, in_cells = power_law(spaces, taken["loops"])[1], power_law(cells, taken["loops"])[1]
    statements = [
        Statement(
            "Optimisation ends within minutes on every task",
            "203 to 2,584 s, machine unknown",
            told,
            max(taken["loops"]) < 3600,
        )
    ]
    if len(set(spaces)) > 1:
        statements.append(
            Statement(
                "The published schedule's cost is of order NK",
                "correlation of log time with log NK 0.68, with log rows 0.99 (from table 3 and "
                "appendix D)",
                f"objective values {min(evaluations):,.0f} to {max(evaluations):,.0f} whatever NK; "
                f"correlation of log time with log NK {in_space:.2f}, with log(M·N) {in_cells:.2f}",
                in_space > in_cells and max(evaluations) / min(evaluations) > 2,
            )
        )
    return statements
