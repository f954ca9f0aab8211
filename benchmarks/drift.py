"""Drift: how often `dnip check` says that coefficients no longer fit, rightly and wrongly.

    python -m benchmarks drift

The sketch of one part of a table is compared with other rows (`docs/monitoring.md`).
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.typing import Floats, Integers, Labels
from dnip.method.kept import Sketch

ALPHA = 0.05
DRAWS = 60
#: Rows of the fit, and new ones; None for all there are, halved.
SIZES = ((100, 100), (500, 100), (500, 500), (1_000, 500), None)
NEW_ROWS = 500
MOVED = 0.2


def run(tables: list[Table]) -> None:
    """Print false alarms, and how often changes are noticed."""
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        header = ["table", *["halves" if n is None else f"{n[0]:,} → {n[1]:,}" for n in SIZES]]
        rows = crew.map(_false_alarms, tables)
        print_markdown(f"False alarms without labels, {DRAWS} draws", header, list(rows))
        header = ["table", "one class gains 20 points", "20 points go from few to one"]
        rows = crew.map(_mixes, tables)
        print_markdown(f"Other class mixes noticed at {NEW_ROWS} rows", header, list(rows))


def _p(table: ProbabilityTable) -> Floats:
    return table.labelled().probabilities


def _noticed(old: Floats, new: Floats) -> bool:
    return Sketch.of(old).compare(new).p_value <= ALPHA


def _parts(n_rows: int, sizes: tuple[int, int] | None, seed: int) -> tuple[Integers, Integers]:
    """Return the rows of a fit and new ones, none in both."""
    first, second = sizes or (n_rows // 2, n_rows // 2)
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[:first], order[first : first + second]


def _false_alarms(table: Table) -> list[str]:
    p = _p(table.opt)
    cells = []
    for sizes in SIZES:
        parts = (_parts(len(p), sizes, seed) for seed in range(DRAWS))
        cells.append(_rate([_noticed(p[old], p[new]) for old, new in parts]))
    return [table.name, *cells]


def _mixes(table: Table) -> list[str]:
    opt = table.opt.labelled()
    assert opt.labels is not None
    p, labels = opt.probabilities, opt.labels
    cells = []
    for change in (_gained, _moved):
        noticed = []
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            old, rest = _parts(len(p), None, seed)
            mix = change(np.bincount(labels, minlength=opt.n_classes) / len(p), rng)
            new = rest[_draw(labels[rest], mix, NEW_ROWS, rng)]
            noticed.append(_noticed(p[old], p[new]))
        cells.append(_rate(noticed))
    return [table.name, *cells]


def _gained(shares: Floats, rng: np.random.Generator) -> Floats:
    """Give one class 20 points more, from all others in proportion."""
    c = rng.integers(len(shares))
    mix: Floats = shares * (1 - MOVED / (1 - shares[c]))
    mix[c] = shares[c] + MOVED
    return mix


def _moved(shares: Floats, rng: np.random.Generator) -> Floats:
    """Move 20 points to one class, from as few others as have them."""
    goal, *others = rng.permutation(len(shares)).tolist()
    mix, left = shares.copy(), MOVED
    for c in others:
        taken = min(left, mix[c])
        mix[c] -= taken
        mix[goal] += taken
        left -= taken
    return mix


def _draw(labels: Labels, mix: Floats, size: int, rng: np.random.Generator) -> Integers:
    """Draw rows of a class mix; a row is drawn twice only where a class has too few."""
    drawn = []
    for c, n in enumerate(rng.multinomial(size, mix)):
        rows = np.flatnonzero(labels == c)
        drawn.append(rng.choice(rows, n, replace=n > len(rows)))
    return np.concatenate(drawn)


def _rate(noticed: list[bool]) -> str:
    return f"{np.mean(noticed):.1%}"
