"""Grouped bars with their scatter, methods side by side; and histograms of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Figure, Spread
from dnip.presenting.drawing.style import FIXED, INK, colours, legend_below, tidy

# Bars in a panel above which their values are not written.
_MOST_LABELLED = 24


class Bars(NamedTuple):
    """One panel: a metric, and for each method what it has on each task, None for nothing."""

    metric: str
    series: Mapping[str, Sequence[Spread | None]]


def bar_figure(name: str, title: str, panels: Sequence[Bars], tasks: Sequence[str]) -> Figure:
    """Return a figure with one panel per metric, one below the other, over the same tasks.

    Parameters
    ----------
    name, title : str
        As for :class:`~dnip.presenting.artefacts.Figure`.
    panels : sequence of Bars
        Every series is as long as `tasks`. Rates are drawn in percent.
    tasks : sequence of str
        Each may have several lines.
    """
    methods = list(dict.fromkeys(method for panel in panels for method in panel.series))
    width = min(15.0, max(7.0, 2.0 + len(tasks) * (0.35 + 0.13 * len(methods))))
    size = (width, 1.3 + 2.3 * len(panels))
    draw = partial(_draw, panels=panels, tasks=tasks, methods=methods)
    return Figure(name, title, draw, size)


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    panels: Sequence[Bars],
    tasks: Sequence[str],
    methods: list[str],
) -> None:
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels, strict=True):
        draw_bars(axes, panel, methods, len(tasks))
    name_tasks(all_axes[-1], tasks)
    if len(methods) > 1:
        handles, labels = all_axes[0].get_legend_handles_labels()
        legend_below(figure, dict(zip(labels, handles, strict=True)), figure.get_figwidth())


def draw_bars(axes: Any, panel: Bars, methods: Sequence[str], n_tasks: int) -> None:  # noqa: ANN401
    """Draw one panel; a method has the same colour and place in all panels of `methods`."""
    looks = colours(methods)
    at = np.arange(n_tasks, dtype=float)
    share = 0.84 / len(methods)
    for method, spreads in panel.series.items():
        shift = (methods.index(method) - (len(methods) - 1) / 2) * share
        means = [np.nan if s is None else 100 * s.mean for s in spreads]
        deviations = [0.0 if s is None else 100 * (s.deviation or 0.0) for s in spreads]
        bars = axes.bar(
            at + shift,
            means,
            width=share * 0.92,
            color=looks[method],
            label=literal(method),
            yerr=deviations if any(deviations) else None,
            error_kw={"elinewidth": 1, "ecolor": INK, "capsize": 2},
        )
        if len(methods) * n_tasks <= _MOST_LABELLED:
            shown = ["" if np.isnan(mean) else f"{mean:.1f}" for mean in means]
            axes.bar_label(bars, shown, fontsize=7, padding=2, color=INK)
            axes.margins(y=0.12)
    axes.set_ylabel(f"{panel.metric}, %")
    tidy(axes)


def name_tasks(axes: Any, tasks: Sequence[str]) -> None:  # noqa: ANN401
    """Write the names of the tasks below the bars, upright where they would not fit."""
    names = [literal(task).replace("__", "\n", 2) for task in tasks]
    longest = max(len(line) for name in names for line in name.split("\n"))
    is_crowded = 0.06 * longest * len(tasks) > axes.figure.get_figwidth()
    axes.set_xticks(np.arange(len(tasks)), names, fontsize=7.5, rotation=90 if is_crowded else 0)
    axes.set_xlim(-0.6, len(tasks) - 0.4)


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
