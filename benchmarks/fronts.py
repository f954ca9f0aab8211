"""Fronts: how much of the true one is found, and what its points come to on other rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.fitting.pareto import Front, Rule, front, trace_front
from dnip.metrics import accuracy, cobias
from dnip.metrics.expected import expected_cobias

if TYPE_CHECKING:
    from dnip.base.typing import Labels, Probabilities

#: Rules whose points are scored on the test half.
CHOSEN = ("max-accuracy", "loss<=0", "knee", "min-cobias")
#: Labels to draw, and draws of each table, for what is told of few labels.
LABELS, DRAWS = (50, 100, 300, 1000), 3
#: Of the corner that areas are measured from: beyond the ends, as a part of the true front's span.
BEYOND = 0.1

Points = list[tuple[float, float]]  # accuracy and COBias


def run(tables: list[Table]) -> None:
    """Print how much more effort would find, and what points come to on other rows."""
    print_markdown(
        "The area beaten, as a part of what ten times the effort beats",
        ["table", "points", "least of 3 seeds", "greatest", "points with ten times the effort"],
        [[table.name, *_larger(*_rows(table.opt))] for table in tables],
    )
    chosen = [part for name in CHOSEN for part in (f"`{name}`", "COBias")]
    print_markdown(
        "On the test half: raw argmax, and points chosen on the opt half",
        ["table", "raw accuracy", "COBias", *chosen],
        [[table.name, *_unseen(table)] for table in tables],
    )
    four = [table for table in tables if table.opt.n_classes == 4]
    _run_few_labels([table for table in four if len(table.opt) >= LABELS[-1]])


def _run_few_labels(tables: list[Table]) -> None:
    """Print what opt set, rows left out and test half say of points chosen on few labels."""
    rows = []
    for n in LABELS:
        measured: dict[str, list[list[float]]] = {"max-accuracy": [], "knee": [], "min-cobias": []}
        for table in tables:
            for seed in range(DRAWS):
                found = trace_front(table.opt.draw(n, seed), table.test, cross="on")
                assert found.cross is not None
                assert found.test is not None
                for name, numbers in measured.items():
                    place = Rule.of(name).choose(found.front)
                    point, left_out = found.front.points[place], found.cross.confusions[place]
                    test = found.test.points[place]
                    numbers.append(
                        [
                            point.accuracy,
                            accuracy(left_out),
                            accuracy(test),
                            point.cobias,
                            cobias(left_out),
                            expected_cobias(left_out),
                            cobias(test),
                        ]
                    )
        for name, numbers in measured.items():
            rows.append([f"{n:,}", f"`{name}`", *(f"{mean:.3f}" for mean in np.mean(numbers, 0))])
    print_markdown(
        f"Few labels: means over {len(tables)} tables of 4 classes, {DRAWS} draws each",
        [
            "labels",
            "rule",
            "accuracy on opt",
            "left out",
            "test",
            "COBias on opt",
            "left out, counted",
            "left out, expected",
            "test",
        ],
        rows,
    )


def _larger(p: Probabilities, labels: Labels) -> list[str]:
    best = _points(front(p, labels, effort=10))
    found = [_points(front(p, labels, seed=seed)) for seed in range(3)]
    areas = [_area(points, best) for points in found]
    return [f"{len(found[0])}", f"{min(areas):.1%}", f"{max(areas):.1%}", f"{len(best)}"]


def _rows(table: ProbabilityTable) -> tuple[Probabilities, Labels]:
    labelled = table.labelled()
    assert labelled.labels is not None
    return labelled.probabilities, labelled.labels


def _unseen(table: Table) -> list[str]:
    found = trace_front(table.opt, table.test, cross="off")
    assert found.test is not None
    chosen = [found.test.points[Rule.of(name).nearest(found.front)] for name in CHOSEN]
    return [
        f"{measure(counts):.3f}"
        for counts in (found.test.beside[0], *chosen)
        for measure in (accuracy, cobias)
    ]


def _points(found: Front) -> Points:
    return [(point.accuracy, point.cobias) for point in found.points]


def _area(found: Points, truth: Points) -> float:
    """Return the area that a front beats, as a part of what the true one beats."""
    (high, most), (low, least) = truth[0], truth[-1]
    corner = low - BEYOND * (high - low or 1), most + BEYOND * (most - least or 1)

    def beaten(points: Points) -> float:
        area, above = 0.0, corner[1]
        for right, gap in points:
            if right > corner[0] and gap < above:
                area += (right - corner[0]) * (above - gap)
                above = gap
        return area

    return beaten(found) / beaten(truth)
