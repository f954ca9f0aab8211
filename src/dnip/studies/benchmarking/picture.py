"""The picture of a race: objective against time."""

from __future__ import annotations

from itertools import cycle, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.presenting.escaping import literal
from dnip.studies.benchmarking.contestants import ON_KERNELS
from dnip.studies.benchmarking.results import REFERENCE

if TYPE_CHECKING:
    import os

    from dnip.base.typing import Floats
    from dnip.studies.benchmarking.results import Race, Run

#: A line style as matplotlib takes it: a word, or an offset and the lengths of dashes and gaps.
_Style: TypeAlias = str | tuple[int, tuple[float, float]]

# Okabe and Ito's colours, which colour-blind readers can tell apart, each in two styles; peers on
# the compiled evaluation have the colour of their twin, dotted.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES: tuple[_Style, ...] = ("-", (0, (5, 2)))
_DOTTED: _Style = (0, (1, 1.2))
_POINTS = 400
# Below this distance from the best known value the vertical axis is linear, so that 0 has a place.
_LINEAR = 1e-4


def draw_race(race: Race, path: str | os.PathLike[str]) -> None:
    """Draw how far each contestant is from the best known value, against time; medians of seeds.

    Contestants with finer weights than the scale's have a panel and a best known value of their
    own.

    Parameters
    ----------
    race : Race
        With at least one run.
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
    references = list(dict.fromkeys(run.reference for run in race.runs))
    references.sort(key=lambda reference: -len({r.contestant for r in _runs(race, reference)}))
    figure = figure_module.Figure(figsize=(10.5, 4.8), layout="constrained")
    panels = figure.subplots(
        1,
        len(references),
        sharey=True,
        squeeze=False,
        width_ratios=[2 if place == 0 else 1 for place in range(len(references))],
    )[0]
    first = min((run.course[1].seconds for run in race.runs if len(run.course) > 1), default=1.0)
    times = np.geomspace(min(first, race.time_limit) / 2, race.time_limit, _POINTS)
    looks = _looks([standing.contestant for standing in race.standings])
    for axes, reference in zip(panels, references, strict=True):
        _draw(axes, race, reference, times, looks)
    panels[0].set_ylabel("objective above the best known (0: reached)")
    figure.suptitle(
        f"{literal(race.table)}: {race.n_rows:,} rows, {race.n_classes} classes",
        fontsize=11,
        x=0.01,
        ha="left",
    )
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160)


def _draw(
    axes: Any,  # noqa: ANN401 - the library's own type
    race: Race,
    reference: str,
    times: Floats,
    looks: dict[str, tuple[str, _Style]],
) -> None:
    """Draw the contestants that are compared with one solver."""
    runs = _runs(race, reference)
    for name in dict.fromkeys(run.contestant for run in runs):
        colour, style = looks[name]
        is_reference = name == reference
        axes.step(
            times,
            _median_course(race.of(name), times) - race.best_known_to(reference),
            where="post",
            label=name,
            color=colour,
            linestyle=style,
            linewidth=3.4 if is_reference else 1.6,
            zorder=3 if is_reference else 2,
        )
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=_LINEAR)
    axes.set_xlim(times[0], times[-1])
    axes.set_ylim(bottom=-_LINEAR / 5)
    axes.set_xlabel("seconds")
    kind = "weights on the scale" if reference == REFERENCE else "finer weights"
    axes.set_title(f"{kind} (best known {race.best_known_to(reference):.5f})", fontsize=9)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _looks(names: list[str]) -> dict[str, tuple[str, _Style]]:
    """Return colour and line style of each contestant."""
    endless = cycle((colour, style) for style, colour in product(_STYLES, _COLOURS))
    looks = dict(zip(names, endless, strict=False))
    for name in names:
        twin = name.removesuffix(ON_KERNELS)
        if twin != name and twin in looks:
            looks[name] = (looks[twin][0], _DOTTED)
    return looks


def _runs(race: Race, reference: str) -> list[Run]:
    return [run for run in race.runs if run.reference == reference]


def _median_course(runs: list[Run], times: Floats) -> Floats:
    """Return the median best value at each time."""
    values = np.array([[run.value_at(t) for t in times] for run in runs])
    median: Floats = np.quantile(values, 0.5, axis=0, method="lower")
    return median
