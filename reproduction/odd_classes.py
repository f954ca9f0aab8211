"""The picture of odd classes: how accurate each class is, and which class its errors go to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle, product
from typing import Any, NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers
from dnip.metrics import class_accuracies, odd_classes
from dnip.presenting.pictures import COLOURS, FAINT, GREY, INK, short_name

#: Of more classes than these, the least accurate are drawn: more could not be read.
MOST_CLASSES = 30
# The background of a bar.
_TRACK = "#eef0f3"
# Okabe and Ito's colours, the strongest first, then some of Tol's.
_COLOURS = (*(COLOURS[1], COLOURS[0], *COLOURS[2:]), *("#882255", "#332288", "#999933", "#8C564B"))
# From left to right in each panel: bar, its value, share of errors, arrow.
_BAR_END, _VALUE, _SHARE, _TAIL, _HEAD = 0.34, 0.36, 0.60, 0.62, 0.985
# Widths of arrows in points, and how much of them may end within one row.
_THICKEST, _THINNEST, _ROOM = 14.0, 0.9, 20.0
_ROW_INCHES = 0.36
# Wide enough that no text meets another one; names are on either side.
_PANEL_INCHES, _LETTER_INCHES = 4.6, 0.085


class _Flow(NamedTuple):
    """Where the errors of a class go.

    Attributes
    ----------
    rate : float
        Its accuracy; NaN without rows.
    odd : int
        The wrong class that it is taken for most often; -1 where it has no error.
    of_errors, of_rows : float
        The part of its errors, and of all its rows, that go there.
    """

    rate: float
    odd: int
    of_errors: float
    of_rows: float


def _flows(confusion: Confusion) -> list[_Flow]:
    """Return where the errors of each class go.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true.

    Examples
    --------
    >>> _flows(np.array([[6, 3, 1], [0, 8, 0], [0, 0, 0]]))[0]
    _Flow(rate=0.6, odd=1, of_errors=0.75, of_rows=0.3)
    """
    rates, odd = class_accuracies(confusion).tolist(), odd_classes(confusion).tolist()
    result = []
    for c, counts in enumerate(confusion):
        rows, errors = int(counts.sum()), int(counts.sum() - counts[c])
        going = int(counts[odd[c]]) if odd[c] >= 0 else 0
        result.append(_Flow(rates[c], odd[c], going / max(errors, 1), going / max(rows, 1)))
    return result


def size_of(classes: Sequence[str], n_panels: int) -> tuple[float, float]:
    """Return how wide panels in a row are, and how high, in inches."""
    longest = max(len(short_name(name)) for name in classes)
    width = (_PANEL_INCHES + 2 * _LETTER_INCHES * longest) * n_panels
    return width, 1.35 + _ROW_INCHES * max(min(len(classes), MOST_CLASSES), 2)


def draw_odd_classes(
    panels: Sequence[Any], classes: Sequence[str], sides: Mapping[str, Any]
) -> None:
    """Draw every class, its accuracy, and an arrow to its odd class (figure 6 of the paper).

    Next to the arrow is the share of the class's errors that go there. The arrow is as thick as the
    share of all its rows. The first panel says which of many classes are shown.

    Parameters
    ----------
    panels : sequence of matplotlib.axes.Axes
        One for each side.
    classes : sequence of str
    sides : mapping
        Counts of shape (N, N), rows true, by what stands above their panel.
    """
    rates = np.nan_to_num(class_accuracies(next(iter(sides.values()))), nan=2.0)
    shown = np.sort(np.argsort(rates, kind="stable")[:MOST_CLASSES])
    going = [_flows(counts) for counts in sides.values()]
    looks = _looks([[flow[c] for c in shown] for flow in going])
    colours = GREY, *COLOURS
    for axes, flow, title, colour in zip(panels, going, sides, colours, strict=False):
        _draw_side(axes, flow, classes, shown, colour, looks)
        axes.set_title(title, fontsize=10.5, loc="left", pad=24)
    if len(shown) < len(classes):
        note = f"The {len(shown)} least accurate of {len(classes)} classes"
        panels[0].set_xlabel(note, fontsize=9, color=FAINT, loc="left")


def _looks(sides: Sequence[Sequence[_Flow]]) -> tuple[dict[int, str], float]:
    """Return the colour of each class that arrows end at, and how thick arrows are, in points.

    All arrows to one class fit side by side.
    """
    popular = Counter(flow.odd for side in sides for flow in side if flow.odd >= 0).most_common()
    points = _THICKEST - _THINNEST
    for side, (goal, _) in product(sides, popular):
        arriving = [flow.of_rows for flow in side if flow.odd == goal]
        room = _ROOM - _THINNEST * len(arriving)
        points = min(points, max(room, 0.0) / max(sum(arriving), 1e-9))
    return {c: colour for (c, _), colour in zip(popular, cycle(_COLOURS), strict=False)}, points


def _draw_side(
    axes: Any,
    going: Sequence[_Flow],
    classes: Sequence[str],
    shown: Integers,
    colour: str,
    looks: tuple[dict[int, str], float],
) -> None:
    sources = [int(c) for c in shown]
    goals = sources
    if len(sources) < len(classes):
        goals = sorted({going[c].odd for c in sources} - {-1})
    at = np.arange(len(sources), dtype=float)
    ends = dict(zip(goals, np.linspace(0, max(at[-1], 1), len(goals)), strict=True))
    for y, c in zip(at, sources, strict=True):
        _draw_accuracy(axes, y, going[c], colour)
    _draw_arrows(axes, [(y, going[c]) for y, c in zip(at, sources, strict=True)], ends, looks)
    axes.set_xlim(0, 1)
    axes.set_ylim(max(at[-1], 1) + 0.55, -0.55)
    axes.set_yticks(at, [short_name(classes[c]) for c in sources])
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(list(ends.values()), [short_name(classes[c]) for c in goals])
    taken = {going[c].odd for c in sources}
    for label, c in zip(right.get_yticklabels(), goals, strict=True):
        label.set_color(INK if c in taken else FAINT)
    axes.set_xticks([])
    for both in (axes, right):
        both.tick_params(length=0, labelsize=9.5)
        both.spines[:].set_visible(False)
    look = {"textcoords": "offset points", "fontsize": 8.5, "color": FAINT, "va": "bottom"}
    headings = ((0.0, 0, "accuracy"), (_SHARE, 0, "of its errors"), (1.0, 4, "go to"))
    for (x, shift, heading), side in zip(headings, ("left", "right", "left"), strict=True):
        axes.annotate(heading, (x, 1.0), (shift, 6), "axes fraction", ha=side, **look)


def _draw_accuracy(axes: Any, y: float, flow: _Flow, colour: str) -> None:
    axes.barh(y, _BAR_END, height=0.56, color=_TRACK)
    texts = [(0.01, "no rows", "left")]
    if not np.isnan(flow.rate):
        axes.barh(y, _BAR_END * flow.rate, height=0.56, color=colour)
        going = "no errors" if flow.odd < 0 else f"{flow.of_errors:.0%}"
        texts = [(_VALUE, f"{flow.rate:.2f}", "left"), (_SHARE, going, "right")]
    for x, text, side in texts:
        ink = FAINT if text.startswith("no ") else INK
        axes.text(x, y, text, ha=side, va="center_baseline", fontsize=9, color=ink)


def _draw_arrows(
    axes: Any,
    starts: Sequence[tuple[float, _Flow]],
    ends: dict[int, float],
    looks: tuple[dict[int, str], float],
) -> None:
    """Draw curved arrows; those to one class end side by side, in the order of their starts."""
    from matplotlib import patches, path, patheffects  # noqa: PLC0415 - slow to load

    colours, thickness = looks
    codes = [path.Path.MOVETO, *[path.Path.CURVE4] * 3]
    middle = (_TAIL + _HEAD) / 2
    for goal, end in ends.items():
        arrows = [(y, flow) for y, flow in starts if flow.odd == goal]
        widths = [_THINNEST + thickness * flow.of_rows for _, flow in arrows]
        for (y, _), width, shift in zip(arrows, widths, _side_by_side(widths), strict=True):
            points = [(_TAIL, y), (middle, y), (middle - 0.05, end + shift), (_HEAD, end + shift)]
            axes.add_patch(
                patches.FancyArrowPatch(
                    path=path.Path(points, codes),
                    arrowstyle="-|>",
                    mutation_scale=6 + width,
                    linewidth=width,
                    color=colours[goal],
                    shrinkA=0,
                    shrinkB=0,
                    joinstyle="miter",
                    capstyle="butt",
                    path_effects=[
                        patheffects.withStroke(linewidth=width + 1.4, foreground="white")
                    ],
                )
            )


def _side_by_side(widths: Sequence[float]) -> Floats:
    """Return where lines of these widths (in points) run side by side, in rows from the middle."""
    gap = min(4.0, _ROOM / max(len(widths), 1) / 3)
    ends = np.cumsum(np.asarray(widths) + gap)
    middles = ends - (np.asarray(widths) + gap) / 2
    return np.asarray((middles - ends[-1:] / 2) / (72 * _ROW_INCHES))
