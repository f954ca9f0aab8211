"""Figures: every kind as a function that returns one, in one palette."""

from dnip.presenting.drawing.bars import Bars, bar_figure
from dnip.presenting.drawing.flows import FlowSide, flow_figure
from dnip.presenting.drawing.points import Point, point_figure
from dnip.presenting.drawing.style import check_picture, save_figure

__all__ = [
    "Bars",
    "FlowSide",
    "Point",
    "bar_figure",
    "check_picture",
    "flow_figure",
    "point_figure",
    "save_figure",
]
