"""The results of a race."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dnip.studies.benchmarking.arena import TOLERANCE, Improvement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Seconds at which the best so far is reported, as far as the time limit goes.
CHECKPOINTS = (0.01, 0.1, 1.0, 10.0)
#: The solver that contestants on the scale of the race are compared with.
REFERENCE = "coordinate"


@dataclass(frozen=True, eq=False)
class Run:
    """One contestant with one seed.

    Attributes
    ----------
    contestant : str
    reference : str
        The solver that the contestant is compared with; runs that share it search the same weights.
    seed : int
    course : tuple of Improvement
        The raw argmax at 0 seconds, then every new best within the time limit, in order.
    evaluations : int
        Objective values computed.
    lower_bound : float or None
        What was proven.
    """

    contestant: str
    reference: str
    seed: int
    course: tuple[Improvement, ...]
    evaluations: int
    lower_bound: float | None

    @property
    def best(self) -> float:
        """The best value."""
        return self.course[-1].value

    def value_at(self, seconds: float) -> float:
        """Return the best value by then."""
        return min(best.value for best in self.course if best.seconds <= seconds)

    def seconds_to(self, value: float) -> float:
        """Return when a value was reached, infinite if never."""
        for best in self.course:
            if best.value <= value + TOLERANCE:
                return best.seconds
        return math.inf


@dataclass(frozen=True, eq=False)
class ContestantSummary:
    """One contestant: medians over its runs. A time is infinite if the median run never got there.

    Attributes
    ----------
    contestant : str
    at : dict
        Best value by each checkpoint.
    best, worst : float
        The best and the worst final value of a run.
    evaluations : float
        Objective values computed.
    seconds_to_best_known : float
        Time to the best value that any run on the same weights has reached.
    gap : float or None
        Final value minus the lower bound that the contestant proved itself.
    speedup : float or None
        How many times less time the reference needs to reach what a run of this contestant reaches
        in all its time: 0 where the reference does not reach it, infinite where the run found
        nothing better than the raw argmax. None for the reference itself.
    behind : tuple of float
        Checkpoints at which the reference has a worse value.
    """

    contestant: str
    at: dict[float, float]
    best: float
    worst: float
    evaluations: float
    seconds_to_best_known: float
    gap: float | None
    speedup: float | None
    behind: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Race:
    """All runs on one table.

    Attributes
    ----------
    table : str
        Name of the table.
    n_rows, n_classes, scale : int
        M, N and K.
    objective : dict
        Settings of what was minimised.
    time_limit : float
        Seconds of each run.
    runs : tuple of Run
        Those that were finished.
    skipped : dict of str to str
        Contestants that did not run, and why.
    interrupted : bool
        Whether the user stopped the race.
    """

    table: str
    n_rows: int
    n_classes: int
    scale: int
    objective: dict[str, Any]
    time_limit: float
    runs: tuple[Run, ...]
    skipped: dict[str, str]
    interrupted: bool

    @property
    def checkpoints(self) -> tuple[float, ...]:
        """Seconds at which values are reported: powers of ten, then the time limit."""
        return (*(c for c in CHECKPOINTS if c < self.time_limit), self.time_limit)

    @property
    def best_known(self) -> float:
        """The best value of all runs on the scale."""
        return self.best_known_to(REFERENCE)

    def best_known_to(self, reference: str) -> float:
        """Return the best value of all runs that are compared with a solver."""
        return min((run.best for run in self.runs if run.reference == reference), default=math.inf)

    @property
    def lower_bound(self) -> float | None:
        """The highest bound that any run on the scale has proven."""
        return highest_bound(self.runs, REFERENCE)

    @property
    def is_proven(self) -> bool:
        """Whether the best known value is proven optimal."""
        bound = self.lower_bound
        return bound is not None and self.best_known <= bound + TOLERANCE

    def of(self, contestant: str) -> list[Run]:
        """Return the runs of a contestant."""
        return [run for run in self.runs if run.contestant == contestant]

    @cached_property
    def summaries(self) -> list[ContestantSummary]:
        """One line per contestant, in the order in which they ran."""
        return [
            self._summarise(name) for name in dict.fromkeys(run.contestant for run in self.runs)
        ]

    def _summarise(self, name: str) -> ContestantSummary:
        runs = self.of(name)
        peer_of = runs[0].reference
        reference = self.of(peer_of)
        at = self._medians_at(name)
        gaps = [run.best - run.lower_bound for run in runs if run.lower_bound is not None]
        compared = bool(reference) and name != peer_of
        ours = self._medians_at(peer_of)
        return ContestantSummary(
            contestant=name,
            at=at,
            best=min(run.best for run in runs),
            worst=max(run.best for run in runs),
            evaluations=statistics.median(run.evaluations for run in runs),
            seconds_to_best_known=_median(
                run.seconds_to(self.best_known_to(peer_of)) for run in runs
            ),
            gap=_median(gaps) if gaps else None,
            speedup=_median(_speedup(run, reference) for run in runs) if compared else None,
            behind=tuple(c for c in at if compared and ours[c] > at[c] + TOLERANCE),
        )

    def _medians_at(self, contestant: str) -> dict[float, float]:
        return dict(
            zip(self.checkpoints, self.median_course(contestant, self.checkpoints), strict=True)
        )

    def median_course(self, contestant: str, times: Iterable[float]) -> list[float]:
        """Return the median best value of a contestant's runs at each time."""
        runs = self.of(contestant)
        return [_median(run.value_at(time) for run in runs) for time in times]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the courses, as ``--json`` prints it; an infinite time is null."""
        return {
            "table": self.table,
            "n": self.n_rows,
            "n_classes": self.n_classes,
            "scale": self.scale,
            "objective": self.objective,
            "time_limit": self.time_limit,
            "best_known": _finite(self.best_known),
            "lower_bound": self.lower_bound,
            "proven": self.is_proven,
            "interrupted": self.interrupted,
            "skipped": self.skipped,
            "contestants": [self._to_dict(summary) for summary in self.summaries],
        }

    def _to_dict(self, summary: ContestantSummary) -> dict[str, Any]:
        return {
            "name": summary.contestant,
            "compared_with": self.of(summary.contestant)[0].reference,
            "objective_at": {f"{c:g}": value for c, value in summary.at.items()},
            "best": summary.best,
            "worst": summary.worst,
            "evaluations": summary.evaluations,
            "seconds_to_best_known": _finite(summary.seconds_to_best_known),
            "gap": summary.gap,
            "speedup": _finite(summary.speedup),
            "reference_worse_at": list(summary.behind),
            "runs": [
                {
                    "seed": run.seed,
                    "objective": run.best,
                    "seconds": run.course[-1].seconds,
                    "weight_indices": run.course[-1].indices,
                    "evaluations": run.evaluations,
                    "lower_bound": run.lower_bound,
                }
                for run in self.of(summary.contestant)
            ],
        }


def highest_bound(runs: Iterable[Run], reference: str) -> float | None:
    """Return the highest lower bound proven by runs that are compared with a solver."""
    bounds = [
        run.lower_bound
        for run in runs
        if run.reference == reference and run.lower_bound is not None
    ]
    return max(bounds, default=None)


def _speedup(run: Run, reference: Sequence[Run]) -> float:
    """Return the run's time to its best over the reference's median time to the same value."""
    if len(run.course) == 1:
        return math.inf
    return run.course[-1].seconds / _median(ours.seconds_to(run.best) for ours in reference)


def _median(numbers: Iterable[float]) -> float:
    """Return the median; of two middle values the lower, since one may be infinite."""
    return statistics.median_low(list(numbers) or [math.inf])


def _finite(number: float | None) -> float | None:
    return None if number is None or math.isinf(number) else number
