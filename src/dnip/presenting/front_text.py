"""A front as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.fitting.pareto.expectation import expected_cobias
from dnip.fitting.pareto.left_out import FEW
from dnip.fitting.pareto.rules import knee, place_on
from dnip.metrics import accuracy, cobias, worst_class_accuracy

if TYPE_CHECKING:
    from dnip.base.typing import Counts
    from dnip.fitting.pareto import Front, Rule, TradeOff

# Points to print; all are in the files.
_MOST = 12

_ACCURACY, _WORST = ("accuracy", accuracy), ("worst", worst_class_accuracy)
_COBIAS, _EXPECTED = ("COBias", cobias), ("expect", expected_cobias)
_OPT = (_ACCURACY, _COBIAS, _EXPECTED, _WORST)
_TEST = (_ACCURACY, _COBIAS, _WORST)
_LEFT_OUT = (_ACCURACY, _EXPECTED, _WORST)  # few: what they count of COBias says too little


def describe_front(found: TradeOff, rule: Rule | None = None) -> str:
    r"""Return a table of points of the front, with the raw argmax and the default optimum above.

    Parameters
    ----------
    found : TradeOff
    rule : Rule, optional
        The point that it chooses is marked.

    Examples
    --------
    >>> from dnip import ProbabilityTable
    >>> from dnip.fitting.pareto import trace_front
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> table = ProbabilityTable(p, np.array([0, 0, 0, 1]))
    >>> text = describe_front(trace_front(table, cross="off"))
    >>> print("\n".join(text.splitlines()[:5]))
                                  opt
           point  accuracy  COBias  expect   worst
             raw    0.7500  1.0000  1.0000  0.0000
         default    1.0000  0.0000  0.4188  1.0000
    knee       1    1.0000  0.0000  0.4188  1.0000
    """
    front = found.front
    chosen = None if rule is None else rule.choose(front)
    best = knee(front.points)
    marks = {best: "knee", **({} if chosen is None else {chosen: "->"})}
    rows = [["", "raw", *_cells(found, "raw")], ["", "default", *_cells(found, "optimum")]]
    shown = choose_shown(front, {best, *([] if chosen is None else [chosen])})
    rows += [[marks.get(place, ""), str(place + 1), *_cells(found, place)] for place in shown]
    groups = {"opt": _OPT, "test": _TEST, "left out": _LEFT_OUT}
    if found.test is None:
        del groups["test"]
    if found.cross is None:
        del groups["left out"]
    header = ["", "point", *(name for measures in groups.values() for name, _ in measures)]
    widths = [
        max(4 if column else 0, *(len(row[column]) for row in [header, *rows]))
        for column in range(len(header))
    ]
    above = " " * (widths[0] + widths[1] + 3)
    first = 2
    for group, measures in groups.items():
        span = len(measures)
        width = sum(widths[first : first + span]) + 2 * (span - 1)
        above += "  " + f"{group:^{width}}"
        first += span
    lines = [above.rstrip()]
    for row in [header, *rows]:
        mark = f"{row[0]:<{widths[0]}} {row[1]:>{widths[1]}}"
        cells = (f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True))
        lines.append("  ".join([mark, *cells]).rstrip())
    if len(shown) < len(front.points):
        lines.append(f"{len(shown)} of {len(front.points)} points.")
    return "\n".join([*lines, "", *_remarks(found)])


def describe_choice(found: TradeOff, rule: Rule) -> str:
    """Return which point a rule chooses, and what it comes to where it chooses on other rows."""
    place = rule.choose(found.front)
    text = f"chosen by {rule}: point {place + 1}, {found.front.points[place]}."
    counts = found.cross_fitted(rule)
    if counts is not None:
        text += (
            f"\nThe same choice on rows left out: accuracy {accuracy(counts):.4f}, "
            f"COBias to expect {expected_cobias(counts):.4f}."
        )
    return text


def choose_shown(front: Front, always: set[int]) -> list[int]:
    """Return the places of points spread over a front, its ends and some others among them."""
    places = place_on(front.points) @ [-1, 1]
    wanted = np.linspace(places[0], places[-1], _MOST)
    spread = {int(np.abs(places - place).argmin()) for place in wanted}
    return sorted(spread | always)


def _cells(found: TradeOff, what: int | str) -> list[str]:
    front, test, cross = found.front, found.test, found.cross
    counts: list[Counts | None]
    if what == "raw":
        counts = [front.raw.confusion, test.raw if test else None, None]
    elif what == "optimum":
        counts = [front.optimum.confusion, test.optimum if test else None, None]
    else:
        assert isinstance(what, int)
        counts = [
            front.points[what].confusion,
            test.points[what] if test else None,
            cross.confusions[what] if cross else None,
        ]
    given = [True, test is not None, cross is not None]
    return [
        "" if confusion is None else f"{measure(confusion):.4f}"
        for confusion, there, measures in zip(counts, given, (_OPT, _TEST, _LEFT_OUT), strict=True)
        if there
        for _, measure in measures
    ]


def _remarks(found: TradeOff) -> list[str]:
    support = found.front.support
    present = support[support > 0]
    least, most = present.min(), present.max()
    each = f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
    remarks = [
        f"{found.front.sentence} Labelled rows per class: {each}.",
        "'expect' is the COBias that new rows are likely to show: accuracies are measured on few.",
    ]
    if len(found.front.points) == 1:
        remarks.append("One point beats all others in both: there is nothing to trade here.")
    if found.few is not None:
        remark = (
            f"Few labels: class {found.few} has {least:,.0f}, below {FEW}. Accuracy and COBias "
        )
        remark += "on opt promise too much"
        if found.cross is not None:
            remark += ";\n'left out' scores each row under a front found without it."
        else:
            remark += ", and no rows were left out to check them."
        remarks.append(remark)
    return remarks
