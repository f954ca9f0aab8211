"""Confusion matrices as heat maps, side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.style import INK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

# Above this share of a row the ink is white.
_DARK = 0.55


def confusion_figure(
    name: str,
    title: str,
    matrices: Mapping[str, ArrayLike],
    classes: Sequence[str],
    *,
    caption: str = "",
) -> Figure:
    """Return confusion counts, each on a shade for its share of the true class.

    Rows are true classes, columns predicted ones. Below each column stands how often the class is
    predicted relative to how often it is true.

    Parameters
    ----------
    name, title, caption : str
        As for :class:`~dnip.presenting.artefacts.Figure`.
    matrices : mapping of str to array-like of shape (N, N)
        By the heading of the panel.
    classes : sequence of str
    """
    side = max(2.9, 0.55 * len(classes))
    size = (0.9 + side * len(matrices), 1.2 + side)
    draw = partial(_draw, matrices=matrices, classes=classes)
    return Figure(name, title, draw, size, caption)


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    matrices: Mapping[str, ArrayLike],
    classes: Sequence[str],
) -> None:
    n = len(classes)
    classes = [literal(name) for name in classes]
    panels = figure.subplots(1, len(matrices), sharey=True, squeeze=False)[0]
    for axes, (heading, matrix) in zip(panels, matrices.items(), strict=True):
        counts = np.asarray(matrix)
        true = counts.sum(axis=1)
        shares = counts / np.maximum(true, 1)[:, None]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (i, j), count in np.ndenumerate(counts):
            ink = "white" if shares[i, j] > _DARK else INK
            axes.text(j, i, f"{count:,}", ha="center", va="center", fontsize=8, color=ink)
        ratios = counts.sum(axis=0) / np.maximum(true, 1)
        ticks = [f"{name}\n{ratio:.2f}×" for name, ratio in zip(classes, ratios, strict=True)]
        axes.set_xticks(range(n), ticks, fontsize=8, rotation=0 if n <= 6 else 90)
        axes.set_yticks(range(n), classes, fontsize=8)
        axes.set_xlabel("predicted, and how often relative to true")
        axes.set_title(literal(heading), fontsize=9.5, loc="left")
    panels[0].set_ylabel("true")
