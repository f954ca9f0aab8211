"""The picture of a front: accuracy against COBias, and every class along it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dnip.base.escaping import literal
from dnip.fitting.pareto import TradeOff
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.expected import expected_cobias
from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.style import BLACK, COLOURS, FAINT, FIXED, GREEN, GREY, tidy

_OPT, _TEST, _CHOSEN = FIXED["opt"], FIXED["test"], BLACK
_LOOKS = {"opt": (_OPT, "-"), "left out": (GREEN, ":"), "test": (_TEST, "-")}
_CLASS_COLOURS = (*COLOURS, GREY)
# Lines of more classes than these would hide one another.
_MOST_NAMED = len(_CLASS_COLOURS)


def front_figure(found: TradeOff, chosen: int | None = None) -> Figure:
    """Return the front on opt and test, with the raw argmax, the default optimum and the choice.

    On the left is accuracy against COBias; on the right the accuracy of every class along the
    front, so that a class that starves can be seen.

    Parameters
    ----------
    found : TradeOff
    chosen : int, optional
        The place of a point to mark.
    """
    return Figure("front", "", partial(_draw, found=found, chosen=chosen), (11.0, 4.6))


def _draw(figure: Any, found: TradeOff, chosen: int | None) -> None:  # noqa: ANN401 - matplotlib's
    left, right = figure.subplots(1, 2)
    draw_front(left, found, chosen)
    _draw_classes(right, found, chosen)


def draw_front(axes: Any, found: TradeOff, chosen: int | None = None) -> None:  # noqa: ANN401
    """Draw accuracy against COBias into one set of axes."""
    for name, side in found.sides.items():
        colour, style = _LOOKS[name]
        gap = expected_cobias if name == "left out" else cobias
        about = "rows left out (expected)" if name == "left out" else name
        at = np.array([(gap(counts), accuracy(counts)) for counts in side.points])
        axes.plot(*at.T, style, color=colour, lw=1, marker=".", ms=4, label=f"front on {about}")
        beside = zip(side.beside, "XD", ("raw argmax", "default optimum"), strict=False)
        for counts, marker, what in beside:
            place = cobias(counts), accuracy(counts)
            label = what if name == "opt" else None
            axes.plot(*place, marker, color=colour, ms=8, mec="white", ls="", label=label)
        if chosen is not None:
            label = f"chosen: point {chosen + 1}" if name == "opt" else None
            look = {"color": colour, "ms": 15, "mec": _CHOSEN, "ls": "", "label": label}
            axes.plot(*at[chosen], "*", **look, zorder=4)
    axes.set_xlabel("COBias (mean gap between class accuracies)")
    axes.set_ylabel("accuracy")
    n_points, n_rows = len(found.front.points), found.provenance["data"]["labelled_rows"]
    axes.set_title(f"{n_points} trade-offs of {n_rows:,} rows", loc="left", fontsize=10)
    legend = axes.legend(frameon=False, fontsize=8, loc="best")
    for handle in legend.legend_handles:
        if handle.get_linestyle() == "None":  # the markers stand for every side
            handle.set_color(FAINT)
    tidy(axes, grid="both")


def _draw_classes(axes: Any, found: TradeOff, chosen: int | None) -> None:  # noqa: ANN401
    front, test = found.front, found.test
    present = np.flatnonzero(front.support > 0)
    at = np.array([point.cobias for point in front.points])
    rates = np.array([point.class_accuracies for point in front.points])
    raw = front.raw.class_accuracies
    marker = "." if len(at) > 1 else "o"
    if len(present) <= _MOST_NAMED:
        on_test = None if test is None else np.array([class_accuracies(c) for c in test.points])
        for c, colour in zip(present, _CLASS_COLOURS, strict=False):
            axes.plot(
                at, rates[:, c], color=colour, marker=marker, ms=3, label=literal(found.classes[c])
            )
            axes.plot(front.raw.cobias, raw[c], "X", color=colour, ms=8, mec="white")
            if on_test is not None:
                axes.plot(at, on_test[:, c], ":", color=colour, lw=1.2)
    else:
        low, middle, high = np.quantile(rates[:, present], [0.0, 0.5, 1.0], axis=1)
        axes.fill_between(at, low, high, color=_OPT, alpha=0.15, label="all classes")
        axes.plot(at, middle, color=_OPT, label="median class")
        axes.plot(at, low, color=_TEST, marker=marker, ms=3, label="worst class")
        axes.plot(front.raw.cobias, np.nanmin(raw), "X", color=_TEST, ms=8, mec="white")
        if test is not None:
            worst = [worst_class_accuracy(counts) for counts in test.points]
            axes.plot(at, worst, ":", color=_TEST, lw=1.2)
    note = "" if test is None else "; dotted on test"
    if chosen is not None:
        axes.axvline(at[chosen], color=_CHOSEN, lw=0.8, ls="--")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("COBias on opt")
    axes.set_ylabel("class accuracy")
    axes.set_title(f"classes along the front (× raw argmax{note})", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="best")
    tidy(axes, grid="both")
