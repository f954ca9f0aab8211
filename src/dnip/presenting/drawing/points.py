"""Points with intervals, every one by its name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Estimate, Figure
from dnip.presenting.drawing.style import tidy


class Point(NamedTuple):
    """Where something stands; a strong point is drawn as a star."""

    name: str
    x: Estimate
    y: Estimate
    colour: str
    strong: bool = False


def point_figure(
    name: str, title: str, points: Sequence[Point], *, x_label: str, y_label: str
) -> Figure:
    """Return points with intervals in both directions.

    Names stand in a column beside the axes, in the order of height, each joined to its point by a
    line. So no name covers another, however close the points are.

    Parameters
    ----------
    name, title : str
        As for :class:`~dnip.presenting.artefacts.Figure`.
    points : sequence of Point
        At least one.
    x_label, y_label : str
    """
    size = (10.0, max(4.6, 0.36 * len(points) + 1.2))
    draw = partial(_draw, points=points, x_label=x_label, y_label=y_label, height=size[1])
    return Figure(name, title, draw, size)


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    points: Sequence[Point],
    x_label: str,
    y_label: str,
    height: float,
) -> None:
    figure.set_layout_engine("none")  # the names need a place of their own
    axes = figure.add_axes((0.08, 0.8 / height, 0.62, 1 - 1.3 / height))
    for point in points:
        _draw_point(axes, point)
    axes.margins(0.04, 0.06)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    tidy(axes, grid="both")
    _draw_names(axes, points)


def _draw_point(axes: Any, point: Point) -> None:  # noqa: ANN401 - the library's own type
    x, y = point.x, point.y
    # the ends of an interval need not lie on both sides of the estimate
    for across, up in (((x.low, x.high), (y.value,) * 2), ((x.value,) * 2, (y.low, y.high))):
        axes.plot(across, up, color=point.colour, alpha=0.45, lw=1.4)
    marker, size = ("*", 15) if point.strong else ("o", 7)
    axes.plot(x.value, y.value, marker, color=point.colour, ms=size, mec="white", zorder=3)


def _draw_names(axes: Any, points: Sequence[Point]) -> None:  # noqa: ANN401
    """Write the names beside the axes at equal distances, each joined to its point."""
    at = np.array([(point.x.value, point.y.value) for point in points])
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    places = (at - low) / (high - low)
    # the order of the points, from 0 to 1
    heights = (places[:, 1].argsort(kind="stable").argsort() + 0.5) / len(points)
    for point, (x, y), level in zip(points, places, heights, strict=True):
        look = {"transform": axes.transAxes, "color": point.colour}
        line = {**look, "lw": 0.6, "alpha": 0.5, "clip_on": False, "zorder": 1}
        axes.plot([x, 1.02, 1.05], [y, level, level], **line)
        weight = "bold" if point.strong else "normal"
        name = literal(point.name)
        axes.text(1.06, level, name, fontsize=9.5, fontweight=weight, va="center", **look)
