"""The picture of a front: accuracy against COBias, and every class along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.fitting.pareto.expectation import expected_cobias
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.presenting.escaping import literal

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dnip.base.typing import Counts
    from dnip.fitting.pareto import Rule, TradeOff

# Okabe and Ito's colours, which colour-blind readers can tell apart.
_OPT, _TEST, _LEFT_OUT, _CHOSEN = "#0072B2", "#D55E00", "#009E73", "#000000"
_CLASS_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
# Beyond so many classes lines by name would hide one another.
_MOST_NAMED = len(_CLASS_COLOURS)


def draw_front(found: TradeOff, path: str | os.PathLike[str], rule: Rule | None = None) -> None:
    """Draw the front on opt and test, with the raw argmax, the default optimum and the choice.

    On the left accuracy against COBias; on the right the accuracy of every class along the front,
    so that a class that starves can be seen.

    Parameters
    ----------
    found : TradeOff
    path : path-like
        A .png, .svg or .pdf file.
    rule : Rule, optional
        The point that it chooses is marked.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    figure_module = load_optional("matplotlib.figure", purpose="draw pictures", extra="plot")
    figure = figure_module.Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    chosen = None if rule is None else rule.choose(found.front)
    _draw_trade_off(left, found, chosen)
    _draw_classes(right, found, chosen)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160)


def _draw_trade_off(axes: Any, found: TradeOff, chosen: int | None) -> None:  # noqa: ANN401
    front, test, cross = found.front, found.test, found.cross
    sides: list[tuple[str, str, Sequence[Counts], Counts | None, Counts | None, str]] = [
        (
            "opt",
            _OPT,
            [point.confusion for point in front.points],
            front.raw.confusion,
            front.optimum.confusion,
            "-",
        )
    ]
    if cross is not None:
        sides.append(("rows left out (expected)", _LEFT_OUT, cross.confusions, None, None, ":"))
    if test is not None:
        sides.append(("test", _TEST, test.points, test.raw, test.optimum, "-"))
    for name, colour, points, raw, optimum, style in sides:
        gap = expected_cobias if colour == _LEFT_OUT else cobias
        at = np.array([(gap(counts), accuracy(counts)) for counts in points])
        axes.plot(*at.T, style, color=colour, lw=1, marker=".", ms=4, label=f"front on {name}")
        for counts, marker, what in ((raw, "X", "raw argmax"), (optimum, "D", "default optimum")):
            if counts is not None:
                place = cobias(counts), accuracy(counts)
                label = what if name == "opt" else None
                axes.plot(*place, marker, color=colour, ms=8, mec="white", ls="", label=label)
        if chosen is not None:
            label = f"chosen: point {chosen + 1}" if name == "opt" else None
            look = {"color": colour, "ms": 15, "mec": _CHOSEN, "ls": "", "label": label}
            axes.plot(*at[chosen], "*", **look, zorder=4)
    axes.set_xlabel("COBias (mean gap between class accuracies)")
    axes.set_ylabel("accuracy")
    axes.set_title(
        f"{len(front.points)} trade-offs of {found.provenance['data']['labelled_rows']:,} rows",
        loc="left",
        fontsize=10,
    )
    legend = axes.legend(frameon=False, fontsize=8, loc="best")
    for handle in legend.legend_handles:
        if handle.get_linestyle() == "None":  # the markers stand for every side
            handle.set_color("#555555")


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
        note = "" if test is None else "; dotted on test"
    else:
        low, middle, high = np.quantile(rates[:, present], [0.0, 0.5, 1.0], axis=1)
        axes.fill_between(at, low, high, color=_OPT, alpha=0.15, label="all classes")
        axes.plot(at, middle, color=_OPT, label="median class")
        axes.plot(at, low, color=_TEST, marker=marker, ms=3, label="worst class")
        axes.plot(front.raw.cobias, np.nanmin(raw), "X", color=_TEST, ms=8, mec="white")
        note = "" if test is None else "; dotted on test"
        if test is not None:
            worst = [worst_class_accuracy(counts) for counts in test.points]
            axes.plot(at, worst, ":", color=_TEST, lw=1.2)
    if chosen is not None:
        axes.axvline(at[chosen], color=_CHOSEN, lw=0.8, ls="--")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("COBias on opt")
    axes.set_ylabel("class accuracy")
    axes.set_title(f"classes along the front (× raw argmax{note})", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="best")
