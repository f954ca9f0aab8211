"""Every candidate fitted on every split of the labelled rows, on all cores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import product
from threading import Event
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError, unwarned
from dnip.base.typing import Floats, Integers, Labels, Probabilities
from dnip.base.validation import check_integer, check_number
from dnip.fitting.refits import USUAL_FOLDS, deal_folds
from dnip.fitting.robust import fit_robustly
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning.settings import Settings
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.method.solution import Status, TraceEntry
from dnip.solvers.passes import n_cores

# Seconds between two looks at Ctrl-C.
_PATIENCE = 1.0

#: Called after every fit, with the number of fits done and of all.
Progress = Callable[[int, int], None]


class Fold(NamedTuple):
    """The rows of one split: to fit on, and to score on."""

    probabilities: Probabilities
    labels: Labels
    dev: Probabilities
    dev_labels: Labels
    weight: Floats | None = None  # (M,) how many rows each row to fit on stands for


def cut(
    probabilities: Probabilities,
    labels: Labels,
    dev_rows: Sequence[Integers],
    weight: Floats | None = None,
) -> tuple[Fold, ...]:
    """Return a fold for each set of rows to score on; the others are fitted."""
    return tuple(
        Fold(
            np.delete(probabilities, dev, axis=0),
            np.delete(labels, dev),
            probabilities[dev],
            labels[dev],
            None if weight is None else np.delete(weight, dev),
        )
        for dev in dev_rows
    )


class Trials(NamedTuple):
    """Predictions on the dev rows of every fold, of the candidates that were finished."""

    predictions: dict[Settings, tuple[Labels, ...]]
    interrupted: bool


def run_trials(
    candidates: Sequence[Settings],
    folds: Sequence[Fold],
    base: FitSettings,
    unlabelled: Probabilities,
    *,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Fit candidates on folds, in order, one per core at the same time.

    Threads are enough, as the kernels release the interpreter. Ctrl-C ends it, and so does a
    deadline (a reading of ``time.perf_counter``). Candidates that are not fitted on all folds
    by then are left out.

    Parameters
    ----------
    candidates : sequence of Settings
    folds : sequence of Fold
    base : FitSettings
        What all candidates have in common.
    unlabelled : ndarray of shape (U, N)
        Rows without a label, for robust fits.
    deadline, progress : optional
    """
    stopped = Event()
    found: dict[tuple[Settings, int], Labels] = {}

    def heed(_entry: TraceEntry) -> None:  # Ctrl-C itself reaches the main thread only
        if stopped.is_set():
            raise KeyboardInterrupt

    def fit(settings: Settings, number: int) -> None:
        fold, robust = folds[number], settings.robust != "off"
        plain = replace(settings, robust="off"), number
        if not robust and plain in optima:  # no need to fit it again
            found[plain] = optima[plain]
            return
        left = None if deadline is None else deadline - time.perf_counter()
        if stopped.is_set() or (left is not None and left <= 0):
            return
        problem = Problem.trusted(fold.probabilities, fold.labels, classes, fold.weight)
        chosen = replace(settings.of(base), time_limit=left)
        fitted = fit_robustly(problem, chosen, unlabelled, progress=heed)
        if fitted.solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            return
        predicted = decide(fold.dev, fitted.solution.multipliers).astype(np.int64)
        found[settings, number] = predicted
        if fitted.decision is None:
            optima[plain] = predicted

    classes = [str(c) for c in range(folds[0].probabilities.shape[1])]
    numbers, optima = range(len(folds)), dict[tuple[Settings, int], Labels]()
    jobs = sorted(product(candidates, numbers), key=lambda job: job[0].robust == "off")
    interrupted = False
    # Warnings of classes without labels: the final fit gives them once.
    with unwarned(), ThreadPoolExecutor(n_cores(), "dnip-tune") as pool:
        try:
            running = {pool.submit(fit, *job) for job in jobs}
            while running:
                done, running = wait(running, _PATIENCE, FIRST_COMPLETED)
                for future in done:
                    future.result()
                if progress is not None:
                    progress(len(found), len(jobs))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stopped.set()
    finished = {
        settings: tuple(found[settings, number] for number in numbers)
        for settings in candidates
        if all((settings, number) in found for number in numbers)
    }
    return Trials(finished, interrupted)


def choose_dev_rows(
    labels: Labels,
    classes: Sequence[str],
    seed: int,
    *,
    n_folds: int | None = None,
    share: float | None = None,
) -> list[Integers]:
    """Return the rows to score on: folds of the rows, or a share of every class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        Names for messages.
    seed : int
        Seed of the shuffle.
    n_folds : int, optional
        At least 2, and no class may have fewer labels. By default 5, or as many as the smallest
        class has labels.
    share : float, optional
        Above 0 and below 1. At least one row of every class is on either side.

    Raises
    ------
    InvalidInputError
        If a class has fewer labels than folds, or only one.

    Examples
    --------
    >>> [rows.tolist() for rows in choose_dev_rows(np.array([0, 0, 1, 1, 1]), "ny", 0, n_folds=2)]
    [[1, 2, 3], [0, 4]]
    >>> len(choose_dev_rows(np.repeat([0, 1], [10, 20]), "ny", 0, share=0.1)[0])
    3
    """
    check_integer("seed", seed, at_least=0)
    support = np.bincount(labels)
    scarce = int(np.where(support > 0, support, len(labels) + 1).argmin())
    fewest = int(support[scarce])
    if fewest < 2:
        raise InvalidInputError(
            f"class {classes[scarce]} has 1 labelled row, which cannot be both fitted and scored",
            hint="Label more rows of it, or give a dev table of its own",
        )
    if share is not None:
        if check_number("dev_share", share, above=0) >= 1:
            raise InvalidInputError(
                f"dev_share is {share:g}, which leaves no row to fit on", hint="Give less than 1"
            )
        rng, dev = np.random.default_rng(seed), []
        for c in np.flatnonzero(support):
            own = rng.permutation(np.flatnonzero(labels == c))
            n_dev = math.floor(share * len(own) + 0.5)
            dev.append(own[: min(max(n_dev, 1), len(own) - 1)])
        return [np.sort(np.concatenate(dev))]
    if n_folds is None:
        n_folds = min(USUAL_FOLDS, fewest)
    check_integer("folds", n_folds, at_least=2)
    if fewest < n_folds:
        raise InvalidInputError(
            f"class {classes[scarce]} has {fewest} labelled rows, too few for {n_folds} folds",
            hint=f"Give {fewest} folds at most, or label more rows of it",
        )
    fold = deal_folds(labels, n_folds, seed)
    return [np.flatnonzero(fold == number) for number in range(n_folds)]
