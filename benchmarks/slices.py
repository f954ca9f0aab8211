"""Slices: how often `--by` warns, where nothing differs and where a class starves in one slice.

    python -m benchmarks slices

Values of a column are dealt to the rows of a table by chance (`docs/tables.md`).
"""

from __future__ import annotations

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip.method.prediction import decide
from dnip.tables.labels import default_classes
from dnip.using.slices import Slices, slices_of

DRAWS = 200
#: How many values the column has, and rows of each.
SIZES = ((4, 100), (10, 60), (20, 200))
#: What part of its accuracy a class keeps in the slice where it starves.
KEPT = 0.05


def run(tables: list[Table]) -> None:
    """Print how often there is a warning."""
    header = ["table", *(f"{values} × {rows} rows" for values, rows in SIZES)]
    titles = {
        "alike": "Warnings where no slice differs",
        "halves": "Warnings where halves of a time do not differ",
        "starving": f"Slices noticed where a class keeps {KEPT:.0%} of its accuracy",
    }
    for kind, title in titles.items():
        rows = [[table.name, *(_rate(table, kind, *size) for size in SIZES)] for table in tables]
        print_markdown(f"{title}, {DRAWS} draws", header, rows)


def _rate(table: Table, kind: str, values: int, rows: int) -> str:
    warned = [_is_warned(table, kind, values, rows, seed) for seed in range(DRAWS)]
    return f"{np.mean(warned):.1%}"


def _is_warned(table: Table, kind: str, values: int, rows: int, seed: int) -> bool:
    test, rng = table.test.labelled(), np.random.default_rng(seed)
    chosen = rng.integers(len(test), size=values * rows)
    assert test.labels is not None
    labels, decided = test.labels[chosen], decide(test.probabilities[chosen])
    names = np.array([f"v{value}" for value in range(values)], object)
    if kind == "halves":
        names = np.array([f"2026-01-{day:02}" for day in range(1, values + 1)], object)
    column = names[rng.permutation(len(chosen)) % values]
    if kind == "starving":
        rates = np.bincount(labels[decided == labels], minlength=test.n_classes)
        best, here = int(rates.argmax()), column == names[0]
        lost = here & (labels == best) & (decided == labels) & (rng.random(len(labels)) > KEPT)
        decided = np.where(lost, (labels + 1) % test.n_classes, decided)
    cut: Slices = slices_of(column, labels, {"raw": decided}, None, default_classes(test.n_classes))
    if kind == "starving":
        return any(part.starving for part in cut.parts if part.name == names[0])
    return bool([*cut.warnings])
