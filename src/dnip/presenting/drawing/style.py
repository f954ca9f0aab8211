"""What all figures share: colours and marks."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The raw argmax is grey, the published method orange, ours blue, in every figure.
FIXED = {
    "raw argmax": "#9aa1ab",
    "DNIP as published": "#E69F00",
    "DNIP, ours": "#0072B2",
    "batch calibration": "#009E73",
    "contextual calibration": "#56B4E9",
    "linear adapter": "#CC79A7",
}

# Okabe and Ito's colours, which colour-blind readers can tell apart. Of their eight, yellow is too
# faint for lines and black hides the whiskers of bars.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_YELLOW, _BLACK = "#F0E442", "#000000"
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)))
#: Marks of lines, beside their colours.
MARKS = ("o", "s", "^", "D", "v", "P", "X")


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: its own where it has one, else the next that is free.

    Examples
    --------
    >>> colours(["raw argmax", "z1"])
    {'raw argmax': '#9aa1ab', 'z1': '#0072B2'}
    """
    listed = list(dict.fromkeys(names))
    taken = {FIXED[name] for name in listed if name in FIXED}
    free = cycle(c for c in (*_COLOURS, _YELLOW) if c not in taken)
    return {name: FIXED[name] if name in FIXED else next(free) for name in listed}


def line_looks(n: int) -> list[tuple[str, Any]]:
    """Return colour and line style for n lines; no two are alike up to 21.

    Examples
    --------
    >>> line_looks(2)
    [('#0072B2', '-'), ('#D55E00', '-')]
    """
    pairs = [(colour, style) for style in _STYLES for colour in (*_COLOURS, _BLACK)]
    return [pairs[i % len(pairs)] for i in range(n)]


def tidy(axes: Any) -> None:  # noqa: ANN401 - the library's own type
    """Take away what carries no information."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)


def legend_below(figure: Any, handles: dict[str, Any], width: float) -> None:  # noqa: ANN401
    """Put one legend below all axes, in as many columns as the figure is wide for.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    handles : dict
        Artists by their names.
    width : float
        Of the figure, in inches.
    """
    longest = max(map(len, handles), default=0)
    columns = max(1, min(len(handles), int(width / (0.6 + 0.08 * longest))))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )
