"""The picture of a comparison: accuracy against COBias, every method by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.presenting.escaping import literal

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dnip.base.typing import Floats
    from dnip.studies.comparison.results import Comparison, Outcome

# Kinds of methods, by how their names begin, in colours that colour-blind readers can tell apart
# (Okabe and Ito's).
_COLOURS = {
    "raw": "#000000",
    "batch": "#009E73",
    "contextual": "#009E73",
    "prior": "#009E73",
    "temperature": "#0072B2",
    "vector": "#0072B2",
    "matrix": "#0072B2",
    "linear": "#CC79A7",
    "membership": "#E69F00",
    "dnip": "#D55E00",
}
_OTHER = "#777777"
# Inches from one name to the next.
_LABEL = 0.21


def draw_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw where every method stands, with intervals over test rows; up and left is better.

    Names stand in a column beside the axes, one below the other in the order of accuracy, each
    joined to its point by a line, so that none lies over another however close the points are.

    Parameters
    ----------
    comparison : Comparison
        With at least one outcome.
    path : path-like
        A .png, .svg or .pdf file.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    figure_module = load_optional("matplotlib.figure", purpose="draw pictures", extra="plot")
    outcomes = comparison.outcomes
    height = max(4.6, 0.36 * len(outcomes) + 1.2)
    figure = figure_module.Figure(figsize=(10.0, height))
    axes = figure.add_axes((0.08, 0.8 / height, 0.62, 1 - 1.2 / height))
    for outcome in outcomes:
        _draw_point(axes, outcome)
    axes.margins(0.04, 0.06)
    axes.set_xlabel("COBias, the mean gap between class accuracies (lower is better)")
    axes.set_ylabel("accuracy")
    axes.set_title(
        f"{literal(comparison.title)}: {comparison.n_opt:,} labels, "
        f"{comparison.n_test:,} test rows, {comparison.confidence:.0%} intervals",
        fontsize=10,
        loc="left",
    )
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    _draw_names(axes, outcomes)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160)


def _draw_point(axes: Any, outcome: Outcome) -> None:  # noqa: ANN401 - the library's own type
    x, y = outcome.estimates["cobias"], outcome.estimates["accuracy"]
    colour = _colour(outcome.name)
    # the ends of an interval need not lie on both sides of the estimate
    axes.plot([x.low, x.high], [y.value, y.value], color=colour, alpha=0.45, linewidth=1.4)
    axes.plot([x.value, x.value], [y.low, y.high], color=colour, alpha=0.45, linewidth=1.4)
    ours = outcome.name == "dnip"
    axes.plot(
        [x.value],
        [y.value],
        "*" if ours else "o",
        color=colour,
        markersize=15 if ours else 7,
        markeredgecolor="white",
        zorder=3,
    )


def _draw_names(axes: Any, outcomes: Sequence[Outcome]) -> None:  # noqa: ANN401
    """Write the names beside the axes, spread as little as keeps them apart."""
    at = [[outcome.estimates[m].value for m in ("cobias", "accuracy")] for outcome in outcomes]
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    points = (np.array(at) - low) / (high - low)
    inches = axes.figure.get_size_inches()[1] * axes.get_position().height
    heights = spread_out(points[:, 1], _LABEL / inches)
    for outcome, (x, y), level in zip(outcomes, points, heights, strict=True):
        colour = _colour(outcome.name)
        axes.plot(
            [x, 1.02, 1.05],
            [y, level, level],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.6,
            alpha=0.5,
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1.06,
            level,
            outcome.name,
            transform=axes.transAxes,
            color=colour,
            fontsize=9.5,
            fontweight="bold" if outcome.name == "dnip" else "normal",
            va="center",
        )


def spread_out(wanted: Floats, distance: float) -> Floats:
    """Return places in 0..1 near the wanted ones, in their order, at least `distance` apart.

    Places that are too close are merged into a run of equal steps around their common middle, as
    isotonic regression merges neighbours that stand in the wrong order: the sum of squared moves
    is the least there is.

    Examples
    --------
    >>> spread_out(np.array([0.5, 0.5, 0.9]), 0.2).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    order = np.argsort(wanted, kind="stable")
    steps = distance * np.arange(len(wanted))
    runs: list[tuple[float, int]] = []  # mean and length
    for value in wanted[order] - steps:
        mean, length = float(value), 1
        while runs and runs[-1][0] > mean:
            before, n = runs.pop()
            mean, length = (before * n + mean * length) / (n + length), n + length
        runs.append((mean, length))
    placed = np.empty(len(wanted))
    merged = np.concatenate([np.full(n, mean) for mean, n in runs])
    placed[order] = merged.clip(0, max(1 - steps[-1], 0)) + steps
    return placed


def _colour(name: str) -> str:
    return _COLOURS.get(name.partition("-")[0], _OTHER)
