"""Proven optima by branch and bound, and how often a default fit ends at them."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Objective, Solution, solve

if TYPE_CHECKING:
    from dnip.base.typing import Labels, Probabilities

#: Of the objectives that are proven on tables of up to six classes.
BETAS = (0.0, 0.5, 2.7, 10.0)
#: Seconds for one proof, and seeds that `coordinate` is tried with.
SECONDS, SEEDS = 60.0, 20
#: Larger tables get this long, and the default β only.
LARGE_SECONDS = 120.0

Rows = tuple["Probabilities", "Labels"]


def run(tables: list[Table]) -> None:
    """Print the tables, as many searches at a time as there are cores."""
    cases = _cases(tables)
    small = [case for case in cases if case[1][0].shape[1] <= 6]
    large = [(table.name, _rows(table)) for table in tables if 6 < table.opt.n_classes <= 20]
    over = f"β ∈ {{{', '.join(f'{beta:g}' for beta in BETAS)}}}, at most {SECONDS:g} s each"
    defaults = [Objective(beta) for beta in BETAS]
    published = [replace(Objective.published(), beta=beta) for beta in BETAS]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        titled = {
            f"Default settings, {over}": [
                crew.submit(_proven, name, *rows, defaults, None) for name, rows in small
            ],
            f"Published settings, {over}": [
                crew.submit(_proven, name, *rows, published, 30) for name, rows in small
            ],
        }
        bounded = [
            crew.submit(_bounded, name, *rows, objective, scale)
            for name, rows in [*large, ("synthetic, 14 classes", _synthetic(14))]
            for objective, scale in ((Objective(), None), (Objective.published(), 30))
        ]
        header = ["table", "N", "M", "proven", "seeds of `coordinate` at the optimum, fewest"]
        for title, proofs in titled.items():
            print_markdown(title, header, [proof.result() for proof in proofs])
        print_markdown(
            f"More classes, at most {LARGE_SECONDS:g} s",
            ["table", "N", "τ", "scale", "status", "raw", "best", "bound", "gap / (raw − best)"],
            [bound.result() for bound in bounded],
        )


def _proven(
    name: str, p: Probabilities, labels: Labels, objectives: list[Objective], scale: int | None
) -> list[str]:
    """Return the line of a table of few classes: proofs, and the searches that end at them."""
    proofs = [
        solve(p, labels, objective, scale=scale, solver="exact", time_limit=SECONDS)
        for objective in objectives
    ]
    return [
        name,
        f"{p.shape[1]}",
        f"{len(labels):,}",
        f"{sum(proof.status == 'optimal' for proof in proofs)} of {len(proofs)}",
        f"{_least_found(p, labels, objectives, proofs, scale)} of {SEEDS}",
    ]


def _bounded(
    name: str, p: Probabilities, labels: Labels, objective: Objective, scale: int | None
) -> list[str]:
    """Return the line of a table of more classes: how far a proof comes."""
    solution = solve(p, labels, objective, scale=scale, solver="exact", time_limit=LARGE_SECONDS)
    raw = solution.trace[0].value
    assert solution.gap is not None
    return [
        name,
        f"{p.shape[1]}",
        f"{objective.tau:g}",
        f"{scale or 'over the spread'}",
        solution.status.value,
        f"{raw:.4f}",
        f"{solution.value:.4f}",
        f"{solution.lower_bound:.4f}",
        f"{solution.gap / (raw - solution.value):.1%}",
    ]


def _least_found(
    p: Probabilities,
    labels: Labels,
    objectives: list[Objective],
    proofs: list[Solution],
    scale: int | None,
) -> int:
    """Return how many seeds reach the proven optimum, for the objective with the fewest."""
    found = [
        sum(
            solve(p, labels, objective, scale=scale, seed=seed).value <= proof.value + 1e-9
            for seed in range(SEEDS)
        )
        for objective, proof in zip(objectives, proofs, strict=True)
        if proof.status == "optimal"
    ]
    return min(found, default=0)


def _cases(tables: list[Table]) -> list[tuple[str, Rows]]:
    """Return the tables themselves, larger ones with classes merged, and synthetic ones."""
    merged = [
        (f"{table.name}, {n} merged", _merged(table, n))
        for table in tables
        if 6 < table.opt.n_classes <= 20
        for n in (5, 6)
    ]
    synthetic = [(f"synthetic, {n} classes", _synthetic(n)) for n in (5, 6)]
    return [*((table.name, _rows(table)) for table in tables), *merged, *synthetic]


def _rows(table: Table) -> Rows:
    labelled = table.opt.labelled()
    assert labelled.labels is not None
    return labelled.probabilities, labelled.labels


def _merged(table: Table, n_groups: int) -> Rows:
    p, labels = _rows(table)
    group = np.arange(p.shape[1]) * n_groups // p.shape[1]
    joined = np.stack([p[:, group == g].sum(axis=1) for g in range(n_groups)], axis=1)
    return joined, group[labels]


def _synthetic(n_classes: int, n_rows: int = 5000) -> Rows:
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n_rows)
    scores = rng.normal(size=(n_rows, n_classes)) + rng.normal(size=n_classes)
    scores[np.arange(n_rows), labels] += 1.2
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True), labels
