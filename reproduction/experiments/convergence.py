"""Appendix C: annealing against the proven optimum, by each reading of what is not printed."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dnip.base.toml_models import Several
from dnip.presenting.artefacts import Column, Table
from reproduction.experiment import Artefact, Claim, Experiment, Text
from reproduction.experiments.annealing_runs import PRESET, measure_convergence
from reproduction.experiments.scale_sizes import judge_scale, measure_scales, scales_table
from reproduction.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reproduction.cell import Cell
    from reproduction.sources import Sources

# The label of cells on all values of K.
_ALL_SCALES = "all"
_Scale = Annotated[int, Field(ge=2)]
# What the readings of a run take, in chains of the paper's preset.
_CHAINS = 10


class Convergence(Experiment):
    """How near annealing comes to the optimum."""

    name = "convergence"
    title = "Annealing against the proven optimum"
    paper = "Appendix C"

    class Options(Experiment.Options):
        """Most classes of a task, values of K, runs of each, seconds for the exact solver.

        ``finer`` are the values of K that are compared on test rows, on tasks of any size.
        """

        max_classes: int = Field(6, ge=0)
        scales: Several[_Scale] = (30,)
        runs: int = Field(3, ge=1)
        time_limit: float = Field(60.0, ge=0)
        finer: Several[_Scale] = (10, 20, 30, 40, 100, 1000)

    options: Options

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source of few classes and each K, and one for all K."""
        options = self.options
        settings = {"n_seeds": options.runs, "time_limit": options.time_limit}
        annealed = [
            self.cell(
                measure_convergence,
                source,
                {"scale": scale},
                {**settings, "scale": scale},
                test=False,
                chains=options.runs * _CHAINS * scale / 30,
            )
            for source in sources.first_seed()
            if len(source.classes) <= options.max_classes
            for scale in options.scales
        ]
        finer = {"scales": sorted(options.finer), "seed": self.plan.seeds[0]}
        scaled = [
            self.cell(measure_scales, source, {"scale": _ALL_SCALES}, finer)
            for source in sources.first_seed()
        ]
        return [*annealed, *scaled]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return gaps, scales, and what the paper says of both."""
        annealed = Results(tuple(r for r in results if r.labels["scale"] != _ALL_SCALES))
        scaled = results.where(scale=_ALL_SCALES)
        found: list[Artefact] = [Text("No task has few enough classes for a proof.")]
        if len(annealed):
            found = [self._gaps(annealed), _judge(annealed)]
        if len(scaled):
            found += [scales_table(scaled), judge_scale(scaled)]
        return found

    def _gaps(self, results: Results) -> Table:
        columns = [Column(title) for title in ("Task", "K", "NK")]
        columns += [Column("Optimum", digits=4), Column("Proven")]
        columns += [Column(n, digits=4, group="Mean gap") for n in results.rows[0].result["gaps"]]
        rows = [
            (
                title,
                row.result["scale"],
                row.result["variable_space"],
                row.result["optimum"],
                "yes" if row.result["proven"] else "no",
                *map(fmean, row.result["gaps"].values()),
            )
            for title, row in results.titled()
        ]
        return Table(
            self.name,
            f"{self.title}: Z with β = 2.7, τ = 0.2, μ = 4000, and the gap that annealing leaves",
            columns,
            rows,
            caption="The paper starts at T = 200,000, cools by 0.95, and ends a temperature by the "
            "moves generated or accepted. The rest is chosen. As chosen: T on the scale of M·Z, "
            "to 20 at 10,000 rows; 3·NK moves generated, or half of them accepted. The next "
            "columns change one choice each. Where a proof is missing, the best value found "
            "stands for the optimum.",
        )


def _judge(results: Results) -> Claim:
    """Judge the runs of ``--preset paper``."""
    gaps = [g for row in results if row.result["proven"] for g in row.result["gaps"][PRESET]]
    return Claim(
        "The probability that annealing ends at a global optimum goes to 1",
        "a proof for endless time, no numbers; a finite run cannot refute it",
        f"at the proven optimum: {gaps.count(0)} of {len(gaps)} runs, at most "
        f"{max(gaps, default=0):.4f} above it",
        True if gaps and not any(gaps) else None,
    )
