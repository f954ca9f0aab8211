"""An ablation as a table, files and a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.fitting.ablation import COMPARED
from dnip.method.objective import smoothing_name
from dnip.metrics import HEADLINE, METRICS
from dnip.presenting.artefacts import Column, Spread, Table
from dnip.presenting.drawing import Bars, bar_figure
from dnip.presenting.results import ResultFiles, Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.fitting.ablation import Ablation, AblationRow, Scored
    from dnip.presenting.artefacts import Figure, Row

FILES = ResultFiles("ablation.json", "ablation.csv", "ablation.png")

#: What the objectives minimise, in the paper's notation.
TERMS = {
    "raw": "plain argmax",
    "z1": "error",
    "z2": "COBias",
    "z3": "-PMI",
    "z1+z2": "error + β·COBias",
    "z1-z3": "error - τ·PMI",
    "z2-z3": "β·COBias - τ·PMI",
    "z1+z2-z3": "all three",
}
#: The objectives as formulas, where they have weights.
FORMULAS = {"z1+z2": "z1+βz2", "z1-z3": "z1-τz3", "z2-z3": "βz2-τz3", "z1+z2-z3": "z1+βz2-τz3"}


def present_ablation(found: Ablation) -> Results:
    r"""Return the objectives with their scores on opt and test.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.ablation import ablate
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> print("\n".join(present_ablation(ablate(table)).to_text().splitlines()[:4]))
                                            opt
    objective   minimises         accuracy  COBias  worst
    raw         plain argmax         0.500   1.000  0.000
    z1          error                1.000   0.000  1.000
    """
    columns = [Column("objective"), Column("minimises")]
    columns += [
        Column(METRICS[metric].short, 3, group=side)
        for side in _sides(found)
        for metric in _shown_metrics(found)
    ]
    rows: list[Row] = [
        (
            FORMULAS.get(row.name, row.name),
            _minimised(row),
            *(
                _spread(getattr(row, side), metric)
                for side in _sides(found)
                for metric in _shown_metrics(found)
            ),
        )
        for row in found.rows
    ]
    table = Table("ablation", "", columns, rows, caption=_settings(found))
    return Results(table, found.to_dict(), _fits(found), _figure(found))


def _sides(found: Ablation) -> tuple[str, ...]:
    return ("opt",) if found.test is None else ("opt", "test")


def _shown_metrics(found: Ablation) -> tuple[str, ...]:
    """Return the metrics to show, with COBias_single where it is minimised."""
    if all(row.objective is None or row.objective.gap == "pairwise" for row in found.rows):
        return HEADLINE
    return (*HEADLINE[:2], "cobias_single", *HEADLINE[2:])


def _minimised(row: AblationRow) -> str:
    """Return what an objective minimises, in words."""
    single = row.objective is not None and row.objective.gap == "single"
    return TERMS[row.name].replace("COBias", "COBias_single") if single else TERMS[row.name]


def _spread(side: Scored, metric: str) -> Spread:
    several = len(side.confusions) > 1
    return Spread(side.mean(metric), side.deviation(metric) if several else None)


def _settings(found: Ablation) -> str:
    seeds = ", ".join(map(str, found.seeds))
    spread = "; means and standard deviations over them" if len(found.seeds) > 1 else ""
    plural = "s" if len(found.seeds) > 1 else ""
    base = next((row.objective for row in found.rows if row.objective is not None), None)
    weights = (
        ""
        if base is None
        else f"β = {base.beta:g}, τ = {base.tau:g}, {smoothing_name(base.smoothing)}, "
    )
    return f"{weights}scale {found.scale}, {found.solver}, seed{plural} {seeds}{spread}"


def _fits(found: Ablation) -> Iterator[list[Any]]:
    """Yield a header, then the scores of every fit on every side."""
    yield ["objective", "rows", "seed", *COMPARED]
    for row in found.rows:
        for name, side in (("opt", row.opt), ("test", row.test)):
            for place, confusion in enumerate(() if side is None else side.confusions):
                seed = found.seeds[place] if row.fits else ""
                scored = [METRICS[metric].of(confusion) for metric in COMPARED]
                yield [row.name, name, seed, *scored]


def _figure(found: Ablation) -> Figure:
    """Return accuracy and COBias by objective (figure 4 of the paper)."""
    panels = []
    for metric in _shown_metrics(found):
        if metric in HEADLINE[2:]:
            continue
        better = "higher" if METRICS[metric].higher_is_better else "lower"
        series = {
            side: [_spread(getattr(row, side), metric) for row in found.rows]
            for side in _sides(found)
        }
        panels.append(Bars(f"{METRICS[metric].title} ({better} is better)", series))
    names = [f"{FORMULAS.get(row.name, row.name)}\n{_on_lines(row)}" for row in found.rows]
    return bar_figure("ablation", "", panels, names)


def _on_lines(row: AblationRow) -> str:
    return _minimised(row).replace(" + ", "\n+ ").replace(" - ", "\n- ")
