"""The results of a race."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from benchmarks.race.arena import TOLERANCE, Improvement

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Seconds at which the best so far is reported, as far as the time limit goes.
CHECKPOINTS = (0.01, 0.1, 1.0, 10.0)
#: The solver that contestants are compared with.
REFERENCE = "coordinate"


@dataclass(frozen=True, eq=False)
class Run:
    """One contestant with one seed.

    Attributes
    ----------
    contestant : str
    seed : int
    course : tuple of Improvement
        The raw argmax at 0 seconds, then every new best within the time limit, in order.
    evaluations : int
        Objective values computed.
    lower_bound : float or None
        What was proven.
    """

    contestant: str
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "seed": self.seed,
            "objective": self.best,
            "seconds": self.course[-1].seconds,
            "weight_indices": self.course[-1].indices,
            "evaluations": self.evaluations,
            "lower_bound": self.lower_bound,
        }


@dataclass(frozen=True, eq=False)
class ContestantSummary:
    """One contestant: medians over its runs. A time is infinite if the median run never got there.

    Attributes
    ----------
    name : str
    objective_at : dict
        Best value by each checkpoint.
    best, worst : float
        The best and the worst final value of a run.
    evaluations : float
        Objective values computed.
    seconds_to_best_known : float
        Time to the best value that any run has reached.
    gap : float or None
        Final value minus the lower bound that the contestant proved itself.
    speedup : float or None
        How many times less time the reference needs to reach what a run of this contestant reaches
        in all its time: 0 where the reference does not reach it, infinite where the run found
        nothing better than the raw argmax. None for the reference itself.
    reference_worse_at : tuple of float
        Checkpoints at which the reference has a worse value.
    """

    name: str
    objective_at: dict[float, float]
    best: float
    worst: float
    evaluations: float
    seconds_to_best_known: float
    gap: float | None
    speedup: float | None
    reference_worse_at: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Race:
    """All runs on one table.

    Attributes
    ----------
    table : str
        Name of the table.
    n_rows, scale : int
        M and K.
    classes : tuple of str
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
    classes: tuple[str, ...]
    scale: int
    objective: dict[str, Any]
    time_limit: float
    runs: tuple[Run, ...]
    skipped: dict[str, str]
    interrupted: bool

    @property
    def n_classes(self) -> int:
        """Number of classes, N."""
        return len(self.classes)

    @property
    def checkpoints(self) -> tuple[float, ...]:
        """Seconds at which values are reported: powers of ten, then the time limit."""
        return (*(c for c in CHECKPOINTS if c < self.time_limit), self.time_limit)

    @property
    def best_known(self) -> float:
        """The best value of all runs."""
        return min((run.best for run in self.runs), default=math.inf)

    @property
    def lower_bound(self) -> float | None:
        """The highest bound that any run has proven."""
        return highest_bound(self.runs)

    @property
    def is_proven(self) -> bool:
        """Whether the best known value is proven optimal."""
        bound = self.lower_bound
        return bound is not None and bool(self.best_known <= bound + TOLERANCE)

    def of(self, contestant: str) -> list[Run]:
        """Return the runs of a contestant."""
        return [run for run in self.runs if run.contestant == contestant]

    def median_course(self, contestant: str, times: Iterable[float]) -> list[float]:
        """Return the median best value of a contestant's runs at each time."""
        runs = self.of(contestant)
        return [_median(run.value_at(time) for run in runs) for time in times]

    @cached_property
    def summaries(self) -> list[ContestantSummary]:
        """One line per contestant, in the order in which they ran."""
        return [
            self._summarise(name) for name in dict.fromkeys(run.contestant for run in self.runs)
        ]

    def _summarise(self, name: str) -> ContestantSummary:
        runs = self.of(name)
        values = self.median_course(name, self.checkpoints)
        gaps = [run.best - run.lower_bound for run in runs if run.lower_bound is not None]
        speedup: float | None = None
        behind: tuple[float, ...] = ()
        if name != REFERENCE and self.of(REFERENCE):
            ours = self.median_course(REFERENCE, self.checkpoints)
            points = zip(self.checkpoints, ours, values, strict=True)
            behind = tuple(at for at, our, their in points if our > their + TOLERANCE)
            speedup = _median(self._speedup(run) for run in runs)
        return ContestantSummary(
            name,
            objective_at=dict(zip(self.checkpoints, values, strict=True)),
            best=min(run.best for run in runs),
            worst=max(run.best for run in runs),
            evaluations=statistics.median(run.evaluations for run in runs),
            seconds_to_best_known=_median(run.seconds_to(self.best_known) for run in runs),
            gap=_median(gaps) if gaps else None,
            speedup=speedup,
            reference_worse_at=behind,
        )

    def _speedup(self, run: Run) -> float:
        """Return the run's time to its best over the reference's median time to the same value."""
        if len(run.course) == 1:
            return math.inf
        ours = _median(own.seconds_to(run.best) for own in self.of(REFERENCE))
        return run.course[-1].seconds / ours

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the courses, as ``--json`` prints it; an infinite time is null."""
        return {
            "table": self.table,
            "n": self.n_rows,
            "n_classes": self.n_classes,
            "classes": list(self.classes),
            "scale": self.scale,
            "objective": self.objective,
            "time_limit": self.time_limit,
            "best_known": _finite(self.best_known),
            "lower_bound": self.lower_bound,
            "proven": self.is_proven,
            "interrupted": self.interrupted,
            "skipped": self.skipped,
            "contestants": [
                {
                    **{key: _finite(value) for key, value in vars(summary).items()},
                    "objective_at": {f"{c:g}": z for c, z in summary.objective_at.items()},
                    "runs": [run.to_dict() for run in self.of(summary.name)],
                }
                for summary in self.summaries
            ],
        }


def highest_bound(runs: Iterable[Run]) -> float | None:
    """Return the highest lower bound that any run has proven."""
    return max((run.lower_bound for run in runs if run.lower_bound is not None), default=None)


def _median(numbers: Iterable[float]) -> float:
    """Return the median; of two middle values the lower, since one may be infinite."""
    return statistics.median_low(list(numbers) or [math.inf])


def _finite(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    return None if value == math.inf else value
