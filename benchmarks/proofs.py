"""Proven optima: branch and bound beside one run of the loops of the authors' code."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.race.peers import published
from benchmarks.tables import Table, print_markdown
from dnip import Objective, Solution, solve
from dnip.method.scales import DEFAULT_SCALE

if TYPE_CHECKING:
    from dnip.base.typing import Labels, Probabilities

#: Every combination of these is proven on tables of up to six classes, at K = 30.
SMOOTHINGS, BETAS, TAUS = (1.0, 4000.0), (0.0, 1.0, 2.7, 10.0), (0.0, 0.2, 1.0)
PUBLISHED = [
    Objective(beta, tau, smoothing) for smoothing, beta, tau in product(SMOOTHINGS, BETAS, TAUS)
]
#: And these on the default scale.
DEFAULTS = [Objective(beta) for beta in BETAS]
#: Seconds for one proof, and seeds that `coordinate` is tried with.
SECONDS, SEEDS = 120.0, 20
#: Larger tables get this long, and the default objective only.
LARGE_SECONDS = 600.0

Rows = tuple["Probabilities", "Labels"]


def run(tables: list[Table]) -> None:
    """Print the tables."""
    small = [case for case in _cases(tables) if case[1][0].shape[1] <= 6]
    over = f"β ∈ {{{', '.join(f'{beta:g}' for beta in BETAS)}}}"
    _run_small(small, DEFAULTS, DEFAULT_SCALE, f"Proofs with default settings, over {over}")
    title = f"Proofs at K = 30, over μ ∈ {{1, 4000}}, {over}, τ ∈ {{0, 0.2, 1}}"
    _run_small(small, PUBLISHED, 30, title)
    _run_large([(table.name, _rows(table)) for table in tables if 6 < table.opt.n_classes <= 20])


def _run_small(
    small: list[tuple[str, Rows]], objectives: list[Objective], scale: int | str, title: str
) -> None:
    rows = []
    for name, (p, labels) in small:
        loops = _time_of_loops(p, labels)
        proofs = [
            solve(p, labels, objective, scale=scale, solver="exact", time_limit=SECONDS)
            for objective in objectives
        ]
        seconds = [proof.seconds for proof in proofs]
        proven = [proof for proof in proofs if proof.status == "optimal"]
        rows.append(
            [
                name,
                f"{p.shape[1]}",
                f"{len(labels):,}",
                f"{len(proven)} of {len(proofs)}",
                f"{np.median(seconds):.2f}",
                f"{max(seconds):.2f}",
                f"{loops:.1f}",
                f"{max(seconds) / loops:.2f}",
                f"{_least_found(p, labels, objectives, proofs, scale)} of {SEEDS}",
            ]
        )
    print_markdown(
        title,
        [
            "table",
            "N",
            "M",
            "proven",
            "median s",
            "slowest s",
            "authors' loops s",
            "slowest / loops",
            "seeds of `coordinate` at the optimum, fewest",
        ],
        rows,
    )


def _run_large(cases: list[tuple[str, Rows]]) -> None:
    rows = []
    for name, (p, labels) in [*cases, ("synthetic, 14 classes", _synthetic(14))]:
        for objective, scale in ((Objective(), DEFAULT_SCALE), (Objective.published(), 30)):
            solution = solve(
                p, labels, objective, scale=scale, solver="exact", time_limit=LARGE_SECONDS
            )
            raw = solution.trace[0].value
            assert solution.gap is not None
            rows.append(
                [
                    name,
                    f"{p.shape[1]}",
                    f"{objective.tau:g}",
                    f"{scale}",
                    solution.status.value,
                    f"{raw:.4f}",
                    f"{solution.value:.4f}",
                    f"{solution.lower_bound:.4f}",
                    f"{solution.gap / (raw - solution.value):.1%}",
                    f"{solution.seconds:.0f}",
                ]
            )
    print_markdown(
        f"More classes, at most {LARGE_SECONDS:g} s",
        ["table", "N", "τ", "scale", "status", "raw", "best", "bound", "gap / (raw − best)", "s"],
        rows,
    )


def _least_found(
    p: Probabilities,
    labels: Labels,
    objectives: list[Objective],
    proofs: list[Solution],
    scale: int | str,
) -> int:
    """Return how many seeds reach the proven optimum, for the objective with the fewest."""
    return min(
        sum(
            solve(p, labels, objective, scale=scale, seed=seed).value <= proof.value + 1e-9
            for seed in range(SEEDS)
        )
        for objective, proof in zip(objectives, proofs, strict=True)
        if proof.status == "optimal"
    )


def _time_of_loops(p: Probabilities, labels: Labels) -> float:
    began = time.perf_counter()
    published.anneal(p.tolist(), labels.tolist())
    return time.perf_counter() - began


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
