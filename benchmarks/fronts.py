"""Fronts: how much of the true one is found, and in what time, beside sweeps one by one."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Objective, ProbabilityTable, solve
from dnip.fitting.pareto import Front, Rule, front, trace_front
from dnip.method.prediction import decide
from dnip.metrics import accuracy, cobias
from dnip.metrics.confusion import count_pairs
from dnip.metrics.expected import expected_cobias

if TYPE_CHECKING:
    from dnip.base.typing import Labels, Probabilities

#: Runs that a time is the median of.
RUNS = 3
#: From this effort on K^(N-1) lines are tried for 4 classes and K = 30: the front is proven.
PROVEN = 7.0
#: Labels to draw, and draws of each table, for what is told of few labels.
LABELS, DRAWS = (50, 100, 300, 1000), 3
#: Of the corner that areas are measured from: beyond the ends, as a part of the true front's span.
BEYOND = 0.1

Points = list[tuple[float, float]]  # accuracy and COBias


def run(tables: list[Table]) -> None:
    """Print the tables."""
    _check_the_truth(tables)
    times, quality, larger, rows = [], [], [], []
    most = 0
    for table in tables:
        p, labels = _rows(table.opt)
        found, seconds = _timed(p, labels)
        times.append([table.name, *_times(p, labels, found, seconds)])
        if p.shape[1] <= 4:
            quality.append([table.name, *_quality(p, labels, found, seconds)])
            if len(found.points) >= most:
                most, ordinary = len(found.points), table
        else:
            larger.append([table.name, *_larger(p, labels)])
        rows.append([table.name, *_unseen(table)])
    halves = [_rows(half) for half in (ordinary.opt, ordinary.test)]
    p, labels = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    times.append([f"{ordinary.name}, both halves", *_times(p, labels, *_timed(p, labels))])
    print_markdown(
        "Fronts at K = 30: time", ["table", "N", "M", "points", "lines", "s", "s / one fit"], times
    )
    print_markdown(
        "The part of the true front that is found, and by sweeps of β one by one in the same time",
        [
            "table",
            "true points",
            "found",
            "area",
            "worst of 5 seeds",
            "fits of a sweep",
            "found",
            "area",
        ],
        quality,
    )
    print_markdown(
        "More classes: the area beaten, as a part of what ten times the effort beats",
        ["table", "points", "least of 3 seeds", "greatest", "points with ten times the effort"],
        larger,
    )
    print_markdown(
        "On the test half: raw argmax, and points chosen on the opt half",
        [
            "table",
            "raw accuracy",
            "COBias",
            "`max-accuracy`",
            "COBias",
            "`loss<=0`",
            "COBias",
            "`knee`",
            "COBias",
            "`min-cobias`",
            "COBias",
        ],
        rows,
    )
    _run_few_labels([table for table in tables if table.opt.n_classes == 4])


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


def _timed(p: Probabilities, labels: Labels) -> tuple[Front, float]:
    found = [front(p, labels) for _ in range(RUNS)]
    return found[0], statistics.median(one.seconds for one in found)


def _times(p: Probabilities, labels: Labels, found: Front, seconds: float) -> list[str]:
    fit = statistics.median(solve(p, labels).seconds for _ in range(RUNS))
    return [
        f"{p.shape[1]}",
        f"{len(labels):,}",
        f"{len(found.points)}",
        f"{found.n_lines:,}",
        f"{seconds:.2f}",
        f"{seconds / fit:.0f}",
    ]


def _larger(p: Probabilities, labels: Labels) -> list[str]:
    best = _points(front(p, labels, effort=10))
    found = [_points(front(p, labels, seed=seed)) for seed in range(3)]
    areas = [_area(points, best) for points in found]
    return [f"{len(found[0])}", f"{min(areas):.1%}", f"{max(areas):.1%}", f"{len(best)}"]


def _rows(table: ProbabilityTable) -> tuple[Probabilities, Labels]:
    labelled = table.labelled()
    assert labelled.labels is not None
    return labelled.probabilities, labelled.labels


def _quality(p: Probabilities, labels: Labels, found: Front, seconds: float) -> list[str]:
    truth = _points(front(p, labels, effort=PROVEN))
    swept, n_fits = _sweep(p, labels, seconds)
    seeds = [front(p, labels, seed=seed) for seed in range(5)]
    worst = min(_area(_points(one), truth) for one in seeds)
    return [
        f"{len(truth)}",
        f"{_hits(_points(found), truth)}",
        f"{_area(_points(found), truth):.2%}",
        f"{worst:.2%}",
        f"{n_fits}",
        f"{_hits(swept, truth)}",
        f"{_area(swept, truth):.2%}",
    ]


def _sweep(p: Probabilities, labels: Labels, seconds: float) -> tuple[Points, int]:
    """Fit for one β after another, each from scratch, until the time is up."""
    end = time.perf_counter() + seconds
    met: Points = []
    n_fits = 0
    steps = 2
    while time.perf_counter() < end:  # a finer sweep after each that is done
        for beta in np.geomspace(0.01, 100, steps):
            solution = solve(p, labels, Objective(float(beta), tau=0.0))
            met.append((1 - solution.terms["error"], solution.terms["cobias"]))
            n_fits += 1
            if time.perf_counter() >= end:
                break
        steps = 2 * steps - 1
    best: Points = []
    for point in sorted(met, key=lambda point: (-point[0], point[1])):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best, n_fits


def _unseen(table: Table) -> list[str]:
    found = trace_front(table.opt, table.test, cross="off")
    assert found.test is not None
    places = [Rule.of(name).nearest(found.front) for name in ("max-accuracy", "loss<=0", "knee")]
    chosen = [found.test.points[place] for place in (*places, -1)]
    return [
        f"{measure(counts):.3f}"
        for counts in (found.test.beside[0], *chosen)
        for measure in (accuracy, cobias)
    ]


def _points(found: Front) -> Points:
    return [(point.accuracy, point.cobias) for point in found.points]


def _hits(found: Points, truth: Points) -> int:
    return sum(any(np.allclose(one, other, atol=1e-10) for one in found) for other in truth)


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


def _check_the_truth(tables: list[Table]) -> None:
    """Try all weights of three classes by the prediction rule itself: the same front is found."""
    table = next(table for table in tables if table.opt.n_classes == 4)
    p, labels = _rows(table.opt)
    p, labels = p[labels < 3, :3], labels[labels < 3]
    p = np.asfortranarray(p / p.sum(axis=1, keepdims=True))
    met: dict[int, float] = {}
    for first in range(1, 31):
        for second in range(1, 31):
            for third in range(1, 31):
                winner = decide(p, np.array([first, second, third]))
                confusion = count_pairs(labels, winner, 3, 3)
                correct, gap = int(np.trace(confusion)), cobias(confusion)
                met[correct] = min(met.get(correct, 1.0), gap)
    truth: Points = []
    for correct in sorted(met, reverse=True):
        if not truth or met[correct] < truth[-1][1] - 1e-12:
            truth.append((correct / len(labels), met[correct]))
    np.testing.assert_allclose(_points(front(p, labels)), truth, atol=1e-10)
    print(f"all {30**3:,} weights of 3 classes tried one by one: the same {len(truth)} points")
