"""The figures of the experiments, in colours that colour-blind readers can tell apart."""

from dnip.presenting.drawing.bars import Bars, bar_figure
from dnip.presenting.drawing.confusion import confusion_figure
from dnip.presenting.drawing.curves import Curve, Look, Panel, curve_figure

__all__ = [
    "Bars",
    "Curve",
    "Look",
    "Panel",
    "bar_figure",
    "confusion_figure",
    "curve_figure",
]
