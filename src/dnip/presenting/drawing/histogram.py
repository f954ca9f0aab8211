"""Histograms of probabilities, one outline per side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.presenting.drawing.style import FIXED, tidy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


def draw_histogram(axes: Any, sides: Mapping[str, ArrayLike], label: str) -> None:  # noqa: ANN401
    """Draw counts of rows in equal bins from 0 to 1.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    sides : mapping of str to array-like of int
        Counts by "before" and "after".
    label : str
        What the probabilities are.
    """
    for side, counts in sides.items():
        edges = np.linspace(0, 1, len(np.asarray(counts)) + 1)
        axes.stairs(counts, edges, color=FIXED[side], lw=2, label=side)
    axes.set_xlabel(label)
    axes.set_ylabel("rows")
    tidy(axes)
