"""A path over β as a table, JSON and a picture."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from dnip.fitting.path import Path
from dnip.metrics import HEADLINE, METRICS, class_accuracies
from dnip.presenting.drawing import (
    BLACK,
    COLOURS,
    FIXED,
    GREY,
    Figure,
    frame_front,
    legend_beside,
    short_name,
    tidy,
)
from dnip.presenting.formats import Column, Row
from dnip.presenting.results import ResultFiles, Results

FILES = ResultFiles("pareto.json", "pareto.png")

_SIDES = {"expected": FIXED["opt"], "test": FIXED["test"]}
_CLASS_COLOURS = (*COLOURS, GREY)
# Lines of more classes than these would hide one another.
_MOST_NAMED = len(_CLASS_COLOURS)


def present_path(path: Path, summary: dict[str, Any], chosen: int | None = None) -> Results:
    r"""Return the points of a path, with the raw argmax above.

    Parameters
    ----------
    path : Path
    summary : dict
        What the JSON file shall hold.
    chosen : int, optional
        The place of the point to mark.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.path import trace_path
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]] * 20)
    >>> path = trace_path(ProbabilityTable(p, np.array([0, 0, 0, 1] * 20)), betas=(0.5,))
    >>> print("\n".join(present_path(path, {}).to_text().splitlines()[:4]))
                      on other rows
           β  accuracy  COBias  worst class
         raw     0.750   0.954        0.035
    knee 0.5     1.000   0.020        0.974
    """
    side = "on other rows" if path.is_expected else "on the fitted rows"
    columns = [Column("β", right=True), *_metric_columns(side)]
    has_test = path.points[0].test is not None
    columns += _metric_columns("on the test table") if has_test else []
    marks = {path.knee: "knee", **({} if chosen is None else {chosen: "*"})}
    rows: list[Row] = [("raw", *_numbers(path, None))]
    rows += [
        (f"{marks.get(number, '')} {point.beta:g}".strip(), *_numbers(path, number))
        for number, point in enumerate(path.points)
    ]
    return Results(columns, rows, summary, _figure(path, chosen), notes=_notes(path))


def _metric_columns(group: str) -> list[Column]:
    return [Column(METRICS[name].title, 3, group=group) for name in HEADLINE]


def _numbers(path: Path, number: int | None) -> list[float]:
    """Return the headline metrics of a point, None: of the raw argmax, on every side."""
    point = path.points[number or 0]
    scores = point.raw if number is None else point.expected
    numbers = [scores[name] for name in HEADLINE]
    if point.test is not None:
        counts = point.test.raw if number is None else point.test.reweighted
        assert counts is not None
        numbers += [METRICS[name].of(counts) for name in HEADLINE]
    return numbers


def _notes(path: Path) -> tuple[str, ...]:
    knee = path.points[path.knee].beta
    notes = [
        "β weighs COBias beside the error: the larger it is, the more even the classes.",
        f"At the knee, β = {knee:g}, accuracy and evenness gained over both ends are most.",
    ]
    if path.is_expected:
        notes.insert(0, "On other rows: as refits expect that left these rows out.")
    return tuple(notes)


def describe_choice(path: Path, number: int) -> str:
    """Return which point was chosen, and what is expected of it."""
    point = path.points[number]
    scores = ", ".join(f"{METRICS[n].title} {point.expected[n]:.3f}" for n in HEADLINE)
    return f"chosen: β = {point.beta:g}, {scores}\nverdict: {point.fit.verdict}"


def _figure(path: Path, chosen: int | None) -> Figure:
    """Return accuracy against COBias on the left, and every class along the path on the right."""

    def draw(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
        left, right = figure.subplots(1, 2)
        draw_path(left, path, chosen)
        _draw_classes(right, path, chosen)

    return Figure(draw, (12.4, 4.4))


def draw_path(axes: Any, path: Path, chosen: int | None = None) -> None:  # noqa: ANN401
    """Draw accuracy against COBias into one set of axes, which end where the path does."""
    sides = {"expected": [(p.expected["cobias"], p.expected["accuracy"]) for p in path.points]}
    if path.points[0].test is not None:
        sides["test"] = [_on_test(path, number) for number in range(len(path.points))]
    for name, points in sides.items():
        label = "on a test table" if name == "test" else "on other rows, expected"
        if name == "expected" and not path.is_expected:
            label = "on the fitted rows"
        axes.plot(*np.array(points).T, "-o", color=_SIDES[name], lw=1, ms=4, label=label)
    first = np.array(sides["expected"])
    knee = first[path.knee]
    look = {"mec": _SIDES["expected"], "mfc": "none", "mew": 1.5, "ls": "", "zorder": 5}
    axes.plot(*knee, "D", ms=10, **look, label="knee")
    if chosen is not None:
        beta = path.points[chosen].beta
        look = {"color": BLACK, "ms": 15, "mec": "white", "ls": "", "zorder": 4}
        axes.plot(*first[chosen], "*", **look, label=f"chosen: β = {beta:g}")
    for end in (0, -1):
        look = {"textcoords": "offset points", "fontsize": 8, "color": BLACK, "ha": "center"}
        axes.annotate(f"β = {path.points[end].beta:g}", first[end], (0, -14), **look)
    raw = path.points[0].raw
    frame_front(axes, [*chain.from_iterable(sides.values())], (raw["cobias"], raw["accuracy"]))
    legend_beside(axes)


def _on_test(path: Path, number: int) -> tuple[float, float]:
    counts = path.points[number].test
    assert counts is not None
    assert counts.reweighted is not None
    return METRICS["cobias"].of(counts.reweighted), METRICS["accuracy"].of(counts.reweighted)


def _draw_classes(axes: Any, path: Path, chosen: int | None) -> None:  # noqa: ANN401
    """Draw how often every class is right, by β; of many classes the worst and the median."""
    betas = [point.beta for point in path.points]
    sides = [(p.fit.evidence or p.fit).evaluation.reweighted for p in path.points]
    rates = np.array([class_accuracies(side) for side in sides if side is not None])
    present = np.flatnonzero(~np.isnan(rates[0]))
    if len(present) <= _MOST_NAMED:
        for c, colour in zip(present, _CLASS_COLOURS, strict=False):
            axes.plot(
                betas, rates[:, c], "-o", color=colour, ms=3, label=short_name(path.classes[c])
            )
    else:
        low, middle, high = np.quantile(rates[:, present], [0.0, 0.5, 1.0], axis=1)
        axes.fill_between(betas, low, high, color=_SIDES["expected"], alpha=0.15)
        axes.plot(betas, middle, color=_SIDES["expected"], label="median class")
        axes.plot(betas, low, "-o", color=_SIDES["test"], ms=3, label="worst class")
    if chosen is not None:
        axes.axvline(betas[chosen], color=BLACK, lw=0.8, ls="--")
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("β (weight of COBias)")
    axes.set_ylabel("class accuracy")
    axes.set_title("classes along the path", loc="left", fontsize=10)
    legend_beside(axes)
    tidy(axes, grid="both")
