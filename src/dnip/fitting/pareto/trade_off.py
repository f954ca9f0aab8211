"""The front of an opt table, scored on a test table, and the coefficients of one point of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.option import Switch
from dnip.base.typing import Confusion, Counts
from dnip.base.validation import check_choice
from dnip.fitting.pareto.cross_fits import CrossFit, cross_fit
from dnip.fitting.pareto.fronts import Front, FrontProgress, front
from dnip.fitting.pareto.rules import Rule
from dnip.fitting.record import provenance_of
from dnip.fitting.robust.calibrating import calibrate_sample
from dnip.fitting.sampled import sample_of
from dnip.method.coefficients import Coefficients
from dnip.method.problem import Problem
from dnip.method.solution import Status
from dnip.metrics import HEADLINE, scores
from dnip.metrics.expected import expected_cobias
from dnip.tables import ProbabilityTable
from dnip.tables.guards import check_disjoint, scored_rows
from dnip.using.sketch import TableSample

#: A front over-fits where some class has fewer labelled examples than this: its accuracy is then
#: known to 0.05 at best.
FEW = 100


class Side(NamedTuple):
    """Counts of the front on some rows."""

    points: tuple[Counts, ...]
    beside: tuple[Counts, ...] = ()  # of the plain argmax and of the default optimum, if known


@dataclass(frozen=True, eq=False)
class TradeOff:
    """The trade-off of accuracy and COBias on one task.

    Attributes
    ----------
    classes : tuple of str
    front : Front
        Found on the opt table.
    provenance : dict
        The package and the opt table, as they stand in a coefficients file.
    test : Side or None
        On the labelled rows of a test table.
    cross : CrossFit or None
        Scores on rows of the opt table that were left out.
    """

    classes: tuple[str, ...]
    front: Front
    provenance: dict[str, Any]
    test: Side | None = None
    cross: CrossFit | None = None

    @property
    def sides(self) -> dict[str, Side]:
        """The front on all rows that it is scored on, by "opt", "test" and "left out"."""
        front = self.front
        points = tuple(point.confusion for point in front.points)
        sides = {"opt": Side(points, (front.raw.confusion, front.optimum.confusion))}
        if self.test is not None:
            sides["test"] = self.test
        if self.cross is not None:
            sides["left out"] = Side(self.cross.confusions)
        return sides

    @property
    def few(self) -> str | None:
        """The class with the fewest labels, if they are too few to trust the front; else None."""
        support = self.front.support
        least = int(np.argmin(np.where(support > 0, support, np.inf)))
        return self.classes[least] if support[least] < FEW else None

    def coefficients(self, rule: Rule) -> Coefficients:
        """Return the coefficients of the point that a rule chooses, on the opt table alone.

        Raises
        ------
        InvalidInputError
            If no point obeys the rule.
        """
        found = self.front
        place = rule.choose(found)
        point = found.points[place]
        return Coefficients(
            self.classes,
            point.weight_indices,
            found.scale,
            objective={
                "chosen_by": str(rule),
                "terms": ["error", "cobias"],
                "term_values": point.terms,
            },
            fit={
                **self.provenance,
                "solver": "pareto",
                "point": place + 1,
                "points": len(found.points),
                "status": found.status.value,
                "evaluations": found.evaluations,
                "seconds": found.seconds,
                "seed": found.seed,
                "unfitted": [self.classes[c] for c in found.unfitted],
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip pareto --json`` prints of the front."""
        found, test, cross = self.front, self.test, self.cross
        support = found.support
        summary: dict[str, Any] = {
            "classes": list(self.classes),
            "n": float(support.sum()) if support.dtype.kind == "f" else int(support.sum()),
            "support": support.tolist(),
            "scale": found.scale.size,
            "spacing": found.scale.spacing.value,
            "raw": {"opt": _summary(found.raw.confusion)},
            "optimum": {
                "weight_indices": found.optimum.weight_indices.tolist(),
                "opt": _summary(found.optimum.confusion),
            },
            "points": [
                {
                    "number": place + 1,
                    "weight_indices": point.weight_indices.tolist(),
                    "weights": found.scale.weights(point.weight_indices).tolist(),
                    "accuracy": point.accuracy,
                    "cobias": point.cobias,
                    "terms": point.terms,
                    **self._scores(place, None if cross is None else cross.confusions[place]),
                }
                for place, point in enumerate(found.points)
            ],
            "few_labels": self.few is not None,
            "status": found.status.value,
            "evaluations": found.evaluations,
            "seconds": found.seconds,
            "seed": found.seed,
            "unfitted": list(found.unfitted),
            "data": self.provenance["data"],
        }
        if test is not None:
            summary["raw"]["test"], summary["optimum"]["test"] = map(_summary, test.beside)
            summary["test_rows"] = int(test.points[0].sum())
        return summary

    def choice(self, rule: Rule) -> dict[str, Any]:
        """Return what ``dnip pareto --json`` prints of the chosen point."""
        place = rule.choose(self.front)
        return {
            "rule": str(rule),
            "number": place + 1,
            "weight_indices": self.front.points[place].weight_indices.tolist(),
            **self._scores(place, self.cross_fitted(rule)),
        }

    def _scores(self, place: int, left_out: Confusion | None) -> dict[str, Any]:
        return {
            "opt": _hedged_summary(self.front.points[place].confusion),
            "test": None if self.test is None else _summary(self.test.points[place]),
            "cross_fitted": None if left_out is None else _hedged_summary(left_out),
        }

    def cross_fitted(self, rule: Rule) -> Confusion | None:
        """Return the counts of rows left out when a rule chooses without them, if there are any.

        For a rule that is a number, the point at the same place of each fold's front is taken.
        """
        if self.cross is None:
            return None
        if rule.kind == "number":
            return self.cross.confusions[rule.choose(self.front)]
        return self.cross.score(rule)


def _summary(confusion: Counts) -> dict[str, Any]:
    found = scores(confusion, with_counts=False)
    return {name: found[name] for name in (*HEADLINE, "class_accuracies")}


def _hedged_summary(confusion: Counts) -> dict[str, Any]:
    return {**_summary(confusion), "expected_cobias": expected_cobias(confusion)}


def trace_front(
    table: ProbabilityTable | Path,
    test: ProbabilityTable | None = None,
    *,
    classes: Sequence[str] | None = None,
    scale: int | str | None = None,
    smoothing: float | None = None,
    effort: float = 1.0,
    seed: int = 0,
    time_limit: float | None = None,
    cross: str = "auto",
    progress: FrontProgress | None = None,
    cross_progress: Callable[[int, int], None] | None = None,
) -> TradeOff:
    """Find the front of an opt table, and score it on a test table.

    Parameters
    ----------
    table : ProbabilityTable or Path
        The opt set; rows without a label are not used. Of a file of more than 1,000,000 rows, a
        sample is used, whose rows count by the exact class sizes.
    test : ProbabilityTable, optional
        Other rows of the same classes. It has no influence on the front.
    classes : sequence of str, optional
        Class names of a file.
    scale, smoothing, effort, seed, time_limit, progress
        As for :func:`front`.
    cross : {"auto", "on", "off"}, default="auto"
        Whether to score the front on rows of the opt set that were left out. ``"auto"``: where some
        class has fewer than 100 labels, and each has two.
    cross_progress : callable, optional
        As `progress` of :func:`cross_fit`.

    Returns
    -------
    TradeOff

    Raises
    ------
    InvalidInputError
        If a table has fewer than two classes with labelled rows, or the two tables differ in
        their classes or share rows.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> found = trace_front(bundled_table("opt"), bundled_table("test"), effort=0.1)
    >>> found.front.points[0].accuracy > found.front.raw.accuracy
    True
    """
    check_choice("cross_fit", cross, get_args(Switch))
    sample, count = sample_of(table, None, classes, seed=seed)
    opt, weight = sample.table, sample.weights
    labelled = scored_rows(opt, "a fit")
    held_out = None
    if test is not None:
        held_out = scored_rows(test)
        check_disjoint(opt, test)
    if cross == "on" and weight is not None:
        raise InvalidInputError(
            f"{opt.source} is so large that the front is that of a sample, which is not refitted",
            hint="Give a test table instead",
        )
    p, labels = labelled.probabilities, labelled.labels
    assert labels is not None
    sizes = np.bincount(labels)
    fewest = sizes[sizes > 0].min()
    wanted = cross == "on" or (cross == "auto" and 2 <= fewest < FEW and weight is None)
    share = time_limit / 2 if wanted and time_limit is not None else time_limit
    settings: dict[str, Any] = {"smoothing": smoothing, "effort": effort}
    found = front(
        p,
        labels,
        scale=scale,
        seed=seed,
        sample_weight=weight,
        time_limit=share,
        classes=opt.classes,
        progress=progress,
        **settings,
    )
    _, data_hash = count(Coefficients(opt.classes, found.raw.weight_indices, found.scale), None)
    provenance = provenance_of(sample, data_hash, calibrate_sample(p, labels), seed)
    like = TableSample.of(p, labels, mass=labelled.mass, weight=weight)
    provenance["sketch"] = like.sketch().to_dict()
    trade_off = TradeOff(
        opt.classes, found, provenance, None if held_out is None else _score(held_out, found)
    )
    if not wanted or found.status is Status.INTERRUPTED:
        return trade_off
    try:
        checked = cross_fit(
            p,
            labels,
            found,
            time_limit=None if time_limit is None else max(time_limit - found.seconds, 0.0),
            progress=cross_progress,
            **settings,
        )
    except KeyboardInterrupt:
        checked = None
    return replace(trade_off, cross=checked)


def _score(table: ProbabilityTable, found: Front) -> Side:
    assert table.labels is not None
    p = np.asfortranarray(table.probabilities)
    problem = Problem.trusted(p, table.labels, table.classes)
    points = [*found.points, found.raw, found.optimum]
    counts = [problem.confusion(found.scale.multipliers(point.weight_indices)) for point in points]
    return Side(tuple(counts[:-2]), tuple(counts[-2:]))
