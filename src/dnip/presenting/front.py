"""A front as a table, files and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dnip.base.escaping import literal
from dnip.base.typing import Counts
from dnip.fitting.pareto import Front, Rule, TradeOff
from dnip.fitting.pareto.rules import knee, place_on
from dnip.fitting.pareto.trade_off import FEW
from dnip.metrics import HEADLINE, METRICS, accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.expected import expected_cobias
from dnip.presenting.drawing import BLACK, COLOURS, FAINT, FIXED, GREEN, GREY, Figure, tidy
from dnip.presenting.formats import Column, Value
from dnip.presenting.results import ResultFiles, Results

FILES = ResultFiles("pareto.json", "pareto.csv", "pareto.png")

_OPT, _TEST, _CHOSEN = FIXED["opt"], FIXED["test"], BLACK
_LOOKS = {"opt": (_OPT, "-"), "left out": (GREEN, ":"), "test": (_TEST, "-")}
_CLASS_COLOURS = (*COLOURS, GREY)
# Lines of more classes than these would hide one another.
_MOST_NAMED = len(_CLASS_COLOURS)

# Points to print; all are in the files.
_MOST = 12

_ACCURACY, _WORST = ("accuracy", accuracy), ("worst", worst_class_accuracy)
_COBIAS, _EXPECTED = ("COBias", cobias), ("expect", expected_cobias)
#: What is shown of each side. COBias counted on the few rows left out would say too little.
_SHOWN: dict[str, tuple[tuple[str, Callable[[Any], float]], ...]] = {
    "opt": (_ACCURACY, _COBIAS, _EXPECTED, _WORST),
    "test": (_ACCURACY, _COBIAS, _WORST),
    "left out": (_ACCURACY, _EXPECTED, _WORST),
}

#: What a terminal has no room for beside all three sides.
_TOO_MANY = (("opt", "expect"), ("left out", "worst"))


def present_front(found: TradeOff, summary: dict[str, Any], rule: Rule | None = None) -> Results:
    r"""Return points of the front, with the raw argmax and the default optimum above.

    Parameters
    ----------
    found : TradeOff
    summary : dict
        What the JSON file shall hold.
    rule : Rule, optional
        The point that it chooses is marked.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.pareto import trace_front
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> found = trace_front(ProbabilityTable(p, np.array([0, 0, 0, 1])), cross="off")
    >>> text = present_front(found, found.to_dict()).to_text()
    >>> print("\n".join(text.splitlines()[:5]))
                           opt
      point  accuracy  COBias  expect  worst
        raw     0.750   1.000       -  0.000
    default     1.000   0.000   0.246  1.000
     knee 1     1.000   0.000   0.246  1.000
    """
    front = found.front
    chosen = None if rule is None else rule.choose(front)
    best = knee(front.points)
    marks = {best: "knee", **({} if chosen is None else {chosen: "*"})}
    shown = sorted({*spread(front, _MOST), *marks})
    sides = found.sides
    columns = [Column("point", right=True)]
    hidden = _TOO_MANY if len(sides) == len(_SHOWN) else ()
    columns += [
        Column(name, 3, group=side, wide=(side, name) in hidden)
        for side in sides
        for name, _ in _SHOWN[side]
    ]
    rows = []
    for n, name in enumerate(("raw", "default")):
        counts = [side.beside[n] if side.beside else None for side in sides.values()]
        rows.append((name, *_scores(sides, counts, name)))
    for n in shown:
        name = f"{marks.get(n, '')} {n + 1}".strip()
        rows.append((name, *_scores(sides, [side.points[n] for side in sides.values()], name)))
    notes, points = tuple(_remarks(found, len(shown))), _points(found)
    return Results(columns, rows, summary, points, _figure(found, chosen), notes=notes)


def describe_choice(found: TradeOff, rule: Rule) -> str:
    """Return which point a rule chooses, and what the same rule scores on rows left out."""
    place = rule.choose(found.front)
    text = f"chosen by {rule}: point {place + 1}, {found.front.points[place]}."
    counts = found.cross_fitted(rule)
    if counts is not None:
        text += (
            f"\nThe same choice on rows left out: accuracy {accuracy(counts):.4f}, "
            f"COBias to expect {expected_cobias(counts):.4f}."
        )
    return text


def spread(front: Front, most: int) -> list[int]:
    """Return the places of at most so many points, evenly spread over a front, ends included."""
    if len(front.points) <= most:
        return list(range(len(front.points)))
    places = place_on(front.points) @ [-1, 1]
    wanted = np.linspace(places[0], places[-1], most)
    return sorted({int(np.abs(places - place).argmin()) for place in wanted})


def _scores(sides: Iterable[str], counts: Sequence[Counts | None], name: str) -> list[Value]:
    return [
        # the raw argmax follows no labels: what is measured is what to expect
        None if own is None or (name, measure) == ("raw", expected_cobias) else measure(own)
        for side, own in zip(sides, counts, strict=True)
        for _, measure in _SHOWN[side]
    ]


def _remarks(found: TradeOff, n_shown: int) -> list[str]:
    support = found.front.support
    present = support[support > 0]
    least, most = present.min(), present.max()
    each = f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
    n_points = len(found.front.points)
    remarks = [f"{n_shown} of {n_points} points."] if n_shown < n_points else []
    remarks += [
        f"{found.front.sentence} Labelled rows per class: {each}.",
        "'expect' is the COBias that new rows are likely to show: accuracies are measured on few.",
    ]
    if n_points == 1:
        remarks.append("One point beats all others in both: there is nothing to trade here.")
    if found.few is not None:
        remark = (
            f"Few labels: class {found.few} has {least:,.0f}, below {FEW}. Accuracy and COBias on "
            "opt promise too much"
        )
        if found.cross is None:
            remarks.append(f"{remark}, and no rows were left out to check them.")
        else:
            remark += "; 'left out' scores each row under a front found without it."
            remarks.append(remark)
    return remarks


def _points(found: TradeOff) -> Iterator[list[Any]]:
    """Yield a header, then for each point its weights, scores and class accuracies on each side."""
    sides = {name.replace(" ", "_"): side.points for name, side in found.sides.items()}
    header = ["number", *(f"weight_index:{name}" for name in found.classes)]
    for side in sides:
        header += [f"{side}:{name}" for name in (*HEADLINE, *found.classes)]
    hedged = [side for side in ("opt", "left_out") if side in sides]
    header += [f"{side}:expected_cobias" for side in hedged]
    yield header
    for place, point in enumerate(found.front.points):
        numbers = (number for counts in sides.values() for number in _numbers(counts[place]))
        expected = (expected_cobias(sides[side][place]) for side in hedged)
        yield [place + 1, *point.weight_indices.tolist(), *numbers, *expected]


def _numbers(confusion: Counts) -> list[float]:
    rates = class_accuracies(confusion).tolist()
    return [*(METRICS[name].of(confusion) for name in HEADLINE), *rates]


def _figure(found: TradeOff, chosen: int | None) -> Figure:
    """Return accuracy against COBias on the left, and every class along the front on the right."""

    def draw(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
        left, right = figure.subplots(1, 2)
        draw_front(left, found, chosen)
        _draw_classes(right, found, chosen)

    return Figure(draw, (11.0, 4.6))


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
