"""A front as a table and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dnip.base.typing import Counts
from dnip.fitting.pareto import Front, Rule, TradeOff
from dnip.fitting.pareto.rules import FEW, knee, place_on
from dnip.metrics import HEADLINE, METRICS, accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.expected import expected_cobias
from dnip.presenting.artefacts import Column, Table, Value
from dnip.presenting.drawing.front import front_figure
from dnip.presenting.results import ResultFiles, Results

FILES = ResultFiles("pareto.json", "pareto.csv", "pareto.png")

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
    shown = choose_shown(front, {best, *([] if chosen is None else [chosen])})
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
    table = Table("front", "", columns, rows, notes=tuple(_remarks(found, len(shown))))
    return Results(table, summary, _points(found), front_figure(found, chosen))


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


def choose_shown(front: Front, always: set[int]) -> list[int]:
    """Return the places of points spread over a front, its ends and some others among them."""
    places = place_on(front.points) @ [-1, 1]
    wanted = np.linspace(places[0], places[-1], _MOST)
    spread = {int(np.abs(places - place).argmin()) for place in wanted}
    return sorted(spread | always)


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
