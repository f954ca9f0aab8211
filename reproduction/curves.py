"""Curves in panels side by side: densities, and values against effort or time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dnip.base.escaping import literal
from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.style import BLACK, COLOURS, legend_below, load_matplotlib, tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

#: A line style as matplotlib takes it: a word, or an offset and the lengths of dashes and gaps.
LineStyle: TypeAlias = str | tuple[int, tuple[float, float]]
DASHED: LineStyle = (0, (5, 2))
DOTTED: LineStyle = (0, (1, 1.5))
#: Marks of lines, beside their colours.
MARKS = ("o", "s", "^", "D", "v", "P", "X")


def line_looks(names: Iterable[str]) -> dict[str, tuple[str, LineStyle]]:
    """Return colour and line style for each name; no two are alike up to 21.

    Examples
    --------
    >>> line_looks(["z1", "z2"])
    {'z1': ('#0072B2', '-'), 'z2': ('#D55E00', '-')}
    """
    styles: tuple[LineStyle, ...] = ("-", DASHED, DOTTED)
    looks = cycle((colour, style) for style in styles for colour in (*COLOURS, BLACK))
    return dict(zip(dict.fromkeys(names), looks, strict=False))


class Curve(NamedTuple):
    """A line through points."""

    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One set of axes.

    Parameters
    ----------
    title : str
    curves : mapping of str to Curve
        By the name that stands in the legend; the same name has the same look in every panel.
    notes : mapping of str to str, optional
        More words for the legend, by curve; every panel then has a legend of its own.
    """

    title: str
    curves: Mapping[str, Curve]
    notes: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Look:
    """How curves are drawn.

    Parameters
    ----------
    log_x : bool
        Logarithmic horizontal axis.
    linear_below : float, optional
        Below this the vertical axis is linear, so that 0 has a place, and logarithmic above.
    top : float, optional
        Where the vertical axis ends; it then begins at 0.
    marked : bool
        Marks at the points.
    steps : bool
        Whether a value holds until the next point.
    share_y : bool, default=True
        Whether the panels share their vertical axis.
    lines : mapping of str to (str, line style), optional
        Colour and line style by curve; `line_looks` by default.
    bold : tuple of str
        Curves to stress.
    """

    log_x: bool = False
    linear_below: float | None = None
    top: float | None = None
    marked: bool = False
    steps: bool = False
    share_y: bool = True
    lines: Mapping[str, tuple[str, LineStyle]] | None = None
    bold: tuple[str, ...] = ()


def curve_figure(
    name: str,
    title: str,
    panels: Sequence[Panel],
    *,
    x_label: str,
    y_label: str,
    look: Look,
    caption: str = "",
) -> Figure:
    """Return panels side by side.

    Parameters
    ----------
    name, title, caption : str
        As for :class:`~dnip.presenting.artefacts.Figure`.
    panels : sequence of Panel
    x_label, y_label : str
    look : Look
    """
    size = (1.0 + 3.4 * len(panels), 3.7)
    draw = partial(_draw, panels=panels, x_label=x_label, y_label=y_label, look=look)
    return Figure(name, title, draw, size, caption)


def _draw(
    figure: Any,  # noqa: ANN401 - the library's own type
    panels: Sequence[Panel],
    x_label: str,
    y_label: str,
    look: Look,
) -> None:
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    lines = look.lines or line_looks(names)
    highest = max(max(curve.y) for panel in panels for curve in panel.curves.values())
    grid = figure.subplots(1, len(panels), sharex=True, sharey=look.share_y, squeeze=False)[0]
    handles: dict[str, Any] = {}
    for axes, panel in zip(grid, panels, strict=True):
        _draw_panel(axes, panel, lines, look, highest)
        axes.set_xlabel(x_label)
        artists, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, artists, strict=True))
    grid[0].set_ylabel(y_label)
    if not any(panel.notes for panel in panels):
        legend_below(figure, handles, figure.get_figwidth())


def _draw_panel(
    axes: Any,  # noqa: ANN401 - the library's own type
    panel: Panel,
    lines: Mapping[str, tuple[str, LineStyle]],
    look: Look,
    highest: float,
) -> None:
    for name, curve in panel.curves.items():
        colour, style = lines[name]
        note = (panel.notes or {}).get(name)
        axes.plot(
            curve.x,
            curve.y,
            color=colour,
            linestyle=style,
            linewidth=3.4 if name in look.bold else 1.8,
            zorder=3 if name in look.bold else 2,
            drawstyle="steps-post" if look.steps else "default",
            marker=MARKS[list(lines).index(name) % len(MARKS)] if look.marked else None,
            markersize=5,
            label=literal(f"{name}: {note}" if note else name),
        )
    if look.log_x:
        axes.set_xscale("log")
        ticker = load_matplotlib("ticker")
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.9g}"))
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    if look.linear_below is not None:
        axes.set_yscale("symlog", linthresh=look.linear_below)
        axes.set_ylim(-look.linear_below / 4, 2 * max(highest, look.linear_below))
    if look.top is not None:
        axes.set_ylim(0, look.top)
    axes.set_title(literal(panel.title), fontsize=9.5, loc="left")
    if panel.notes:
        axes.legend(frameon=False, fontsize=7.5)
    tidy(axes)
