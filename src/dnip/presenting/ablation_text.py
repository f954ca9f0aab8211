"""An ablation as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.method.objective import smoothing_name
from dnip.metrics import HEADLINE, METRICS
from dnip.presenting.text import align

if TYPE_CHECKING:
    from dnip.fitting.ablation import Ablation, AblationRow, Scored

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


def describe_ablation(found: Ablation) -> str:
    r"""Return the objectives with their scores on opt and test, as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.ablation import ablate
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> print("\n".join(describe_ablation(ablate(table)).splitlines()[:4]))
    objective   minimises         opt accuracy  COBias  worst class
    raw         plain argmax             0.500   1.000        0.000
    z1          error                    1.000   0.000        1.000
    z2          COBias                   1.000   0.000        1.000
    """
    columns = [
        ("objective", [FORMULAS.get(row.name, row.name) for row in found.rows]),
        ("minimises", [minimised(row) for row in found.rows]),
    ]
    for side in ("opt",) if found.test is None else ("opt", "test"):
        for number, metric in enumerate(shown_metrics(found)):
            title = METRICS[metric].title
            head = f"{side} {title}" if number == 0 else title
            columns.append((head, [_told(getattr(row, side), metric) for row in found.rows]))
    table = align(columns, named=frozenset({"objective", "minimises"}))
    return f"{table}\n\n{_settings(found)}"


def shown_metrics(found: Ablation) -> tuple[str, ...]:
    """Return the metrics to show, with COBias_single where it is minimised."""
    if all(row.objective is None or row.objective.gap == "pairwise" for row in found.rows):
        return HEADLINE
    return (*HEADLINE[:2], "cobias_single", *HEADLINE[2:])


def minimised(row: AblationRow) -> str:
    """Return what an objective minimises, in words."""
    single = row.objective is not None and row.objective.gap == "single"
    return TERMS[row.name].replace("COBias", "COBias_single") if single else TERMS[row.name]


def _told(side: Scored, metric: str) -> str:
    spread = f" ±{side.deviation(metric):.3f}" if len(side.confusions) > 1 else ""
    return f"{side.mean(metric):.3f}{spread}"


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
