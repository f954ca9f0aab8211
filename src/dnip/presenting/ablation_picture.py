"""The picture of an ablation: accuracy and COBias by objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.metrics import METRICS
from dnip.presenting.ablation_text import FORMULAS, minimised, shown_metrics
from dnip.presenting.picture import AFTER, BEFORE

if TYPE_CHECKING:
    import os

    from dnip.base.typing import Floats
    from dnip.fitting.ablation import Ablation, Scored

_DRAWN = ("accuracy", "cobias", "cobias_single")


def draw_ablation(found: Ablation, path: str | os.PathLike[str]) -> None:
    """Draw accuracy and COBias by objective (figure 4 of the paper), on opt and on test.

    Parameters
    ----------
    found : Ablation
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
    metrics = [name for name in shown_metrics(found) if name in _DRAWN]
    figure = figure_module.Figure(figsize=(8.6, 0.8 + 2.2 * len(metrics)), layout="constrained")
    panels = figure.subplots(len(metrics), 1, sharex=True)
    sides = ["opt"] if found.test is None else ["opt", "test"]
    looks = {"opt": BEFORE if len(sides) > 1 else AFTER, "test": AFTER}
    at = np.arange(len(found.rows), dtype=float)
    at[1:] += 0.4  # the plain argmax stands apart
    for axes, metric in zip(panels, metrics, strict=True):
        for place, side in enumerate(sides):
            shift = 0.2 * (2 * place - 1) if len(sides) > 1 else 0.0
            scored = [getattr(row, side) for row in found.rows]
            _draw_bars(axes, at + shift, scored, metric, looks[side], side, len(sides))
        axes.set_ylabel(METRICS[metric].title)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
        axes.set_axisbelow(True)
    labels = [
        f"{FORMULAS.get(row.name, row.name)}\n{_on_lines(minimised(row))}" for row in found.rows
    ]
    panels[-1].set_xticks(at, labels, fontsize=8)
    if len(sides) > 1:
        panels[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1.0), ncols=2)
    for axes, metric in zip(panels, metrics, strict=True):
        better = "higher" if METRICS[metric].higher_is_better else "lower"
        axes.set_title(f"{better} is better", fontsize=9, loc="left", color="#555555")
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160)


def _draw_bars(
    axes: Any,  # noqa: ANN401 - the library's own type
    at: Floats,
    scored: list[Scored],
    metric: str,
    colour: str,
    name: str,
    n_sides: int,
) -> None:
    means = [side.mean(metric) for side in scored]
    spreads = [side.deviation(metric) or np.nan for side in scored]
    bars = axes.bar(
        at,
        means,
        width=0.76 / n_sides,
        color=colour,
        label=name,
        yerr=None if np.isnan(spreads).all() else spreads,
        error_kw={"elinewidth": 1, "ecolor": "#333333", "capsize": 2},
    )
    axes.bar_label(bars, [f"{mean:.3f}" for mean in means], fontsize=7, padding=2, color="#333333")


def _on_lines(words: str) -> str:
    return words.replace(" + ", "\n+ ").replace(" - ", "\n- ")
