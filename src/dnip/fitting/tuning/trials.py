"""Every candidate fitted on every split, on all cores."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import groupby
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import DNIPWarning
from dnip.fitting.robust import solve_robustly
from dnip.method.prediction import decide
from dnip.method.solution import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dnip.base.typing import Labels, Probabilities
    from dnip.fitting.tuning.settings import Settings
    from dnip.method.objective import Objective
    from dnip.method.solution import TraceEntry
    from dnip.solvers import Solver

# Seconds between two looks at the clock and at Ctrl-C.
_PATIENCE = 1.0

#: Called after every fit, with the number of fits done and of all.
Progress = Callable[[int, int], None]


class Fold(NamedTuple):
    """The rows of one split: to fit on, with labels, and to score on."""

    probabilities: Probabilities
    labels: Labels
    dev: Probabilities


class Trials(NamedTuple):
    """Predictions on the dev rows of every fold, of the candidates that were finished."""

    predictions: dict[Settings, tuple[Labels, ...]]
    interrupted: bool


class Workbench:
    """Fits candidates; it holds what they have in common.

    Parameters
    ----------
    folds : sequence of Fold
    base : Objective
        Terms and kind of COBias; β, τ and μ are those of the candidate.
    unlabelled : ndarray of shape (U, N) or None
        Rows without a label, for robust fits.
    solver : str or Solver
    seed : int
    """

    def __init__(
        self,
        folds: Sequence[Fold],
        base: Objective,
        unlabelled: Probabilities | None,
        solver: str | Solver,
        seed: int,
    ) -> None:
        self.folds = folds
        self._base = base
        self._unlabelled = unlabelled
        self._solver = solver
        self._seed = seed

    def run(
        self,
        candidates: Sequence[Settings],
        *,
        deadline: float | None = None,
        progress: Progress | None = None,
    ) -> Trials:
        """Fit the candidates in order, one per core at the same time.

        Threads are enough, as the kernels release the interpreter. Ctrl-C ends it, and so does a
        deadline (a reading of ``time.perf_counter``). Candidates that are not fitted on all folds
        by then are left out.
        """
        found: dict[tuple[Settings, int], Labels] = {}
        jobs = iter(_jobs(candidates, len(self.folds)))
        total = len(candidates) * len(self.folds)
        interrupted = False
        stopped = Event()
        fit = partial(self._fit, deadline=deadline, stopped=stopped)
        n_threads = usable_cores()
        with warnings.catch_warnings(), ThreadPoolExecutor(n_threads, "dnip-tune") as pool:
            # Warnings of classes without labels: the final fit gives them once.
            warnings.simplefilter("ignore", DNIPWarning)
            running: set[Future[dict[tuple[Settings, int], Labels]]] = set()
            try:
                while True:
                    for job in _next(jobs, 2 * n_threads - len(running)):
                        running.add(pool.submit(fit, *job))
                    if not running:
                        break
                    done, running = wait(running, _PATIENCE, FIRST_COMPLETED)
                    for future in done:
                        found |= future.result()
                    if progress is not None:
                        progress(len(found), total)
                    if deadline is not None and time.perf_counter() >= deadline:
                        break
            except KeyboardInterrupt:
                interrupted = True
            finally:
                stopped.set()
                for future in running:
                    future.cancel()
        for future in running:
            if not future.cancelled() and future.exception() is None:
                found |= future.result()
        numbers = range(len(self.folds))
        finished = {
            settings: tuple(found[settings, number] for number in numbers)
            for settings in candidates
            if all((settings, number) in found for number in numbers)
        }
        return Trials(finished, interrupted)

    def _fit(
        self,
        group: Sequence[Settings],
        number: int,
        *,
        deadline: float | None = None,
        stopped: Event | None = None,
    ) -> dict[tuple[Settings, int], Labels]:
        """Fit settings on one fold; they differ only in their robust mode."""
        stopped = Event() if stopped is None else stopped

        def heed(_entry: TraceEntry) -> None:  # Ctrl-C itself reaches the main thread only
            if stopped.is_set():
                raise KeyboardInterrupt

        fold = self.folds[number]
        found: dict[tuple[Settings, int], Labels] = {}
        plain: Labels | None = None
        for settings in group:
            if settings.robust == "off" and plain is not None:
                found[settings, number] = plain
                continue
            left = None if deadline is None else deadline - time.perf_counter()
            if stopped.is_set() or (left is not None and left <= 0):
                break
            fitted = solve_robustly(
                fold.probabilities,
                fold.labels,
                settings.of(self._base),
                robust=settings.robust,
                unlabelled=None if settings.robust == "off" else self._unlabelled,
                scale=settings.scale,
                solver=self._solver,
                seed=self._seed,
                time_limit=left,
                progress=heed,
            )
            if fitted.solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                break
            predicted = decide(fold.dev, fitted.solution.multipliers)
            found[settings, number] = predicted.astype(np.int64)
            if fitted.decision is None:  # the plain optimum: no need to fit it again
                plain = found[settings, number]
        return found


def _jobs(
    candidates: Sequence[Settings], n_folds: int
) -> Iterable[tuple[tuple[Settings, ...], int]]:
    """Group candidates that differ only in their robust mode, in their order."""

    def shared(settings: Settings) -> tuple[float, float, str, float | None]:
        return settings.beta, settings.tau, settings.scale, settings.smoothing

    first: dict[tuple[float, float, str, float | None], int] = {}
    for place, settings in enumerate(candidates):
        first.setdefault(shared(settings), place)
    together = sorted(candidates, key=lambda s: (first[shared(s)], s.robust == "off"))
    for _, group in groupby(together, shared):
        members = tuple(group)
        for number in range(n_folds):
            yield members, number


def _next(
    jobs: Iterator[tuple[tuple[Settings, ...], int]], most: int
) -> Iterator[tuple[tuple[Settings, ...], int]]:
    for _, job in zip(range(most), jobs, strict=False):
        yield job


def usable_cores() -> int:
    """Return the number of cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
