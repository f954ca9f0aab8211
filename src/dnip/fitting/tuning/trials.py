"""Every candidate fitted on every split of the labelled rows, on all cores."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import groupby
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
#: What candidates predict on the dev rows of a fold, by candidate and number of the fold.
Predictions = dict[tuple[Settings, int], Labels]


class Fold(NamedTuple):
    """The rows of one split: to fit on, with labels, and to score on."""

    probabilities: Probabilities
    labels: Labels
    dev: Probabilities
    weight: Floats | None = None  # (M,) how many rows each row to fit on stands for


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

    def heed(_entry: TraceEntry) -> None:  # Ctrl-C itself reaches the main thread only
        if stopped.is_set():
            raise KeyboardInterrupt

    def fit(group: Sequence[Settings], number: int) -> Predictions:
        """Fit settings on one fold; they differ only in their robust mode."""
        fold = folds[number]
        problem = Problem.trusted(fold.probabilities, fold.labels, classes, fold.weight)
        found: Predictions = {}
        plain: Labels | None = None
        for settings in group:
            if settings.robust == "off" and plain is not None:
                found[settings, number] = plain
                continue
            left = None if deadline is None else deadline - time.perf_counter()
            if stopped.is_set() or (left is not None and left <= 0):
                break
            chosen = replace(settings.of(base), time_limit=left)
            fitted = fit_robustly(problem, chosen, unlabelled, progress=heed)
            if fitted.solution.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                break
            predicted = decide(fold.dev, fitted.solution.multipliers)
            found[settings, number] = predicted.astype(np.int64)
            if fitted.decision is None:  # the plain optimum: no need to fit it again
                plain = found[settings, number]
        return found

    classes = [str(c) for c in range(folds[0].probabilities.shape[1])]
    numbers, total = range(len(folds)), len(candidates) * len(folds)
    found: Predictions = {}
    interrupted = False
    # Warnings of classes without labels: the final fit gives them once.
    with unwarned(), ThreadPoolExecutor(n_cores(), "dnip-tune") as pool:
        started = []
        try:
            for group in _alike_but_robust(candidates):
                started += [pool.submit(fit, group, number) for number in numbers]
            running = set(started)
            while running:
                done, running = wait(running, _PATIENCE, FIRST_COMPLETED)
                for future in done:
                    found |= future.result()
                if progress is not None:
                    progress(len(found), total)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stopped.set()
    for future in started:
        if future.exception() is None:  # a search that was stopped at its very start raises
            found |= future.result()
    finished = {
        settings: tuple(found[settings, number] for number in numbers)
        for settings in candidates
        if all((settings, number) in found for number in numbers)
    }
    return Trials(finished, interrupted)


def _alike_but_robust(candidates: Sequence[Settings]) -> list[tuple[Settings, ...]]:
    """Group candidates that differ only in their robust mode, in their order, "off" last."""

    def shared(settings: Settings) -> Settings:
        return replace(settings, robust="auto")

    place = {shared(settings): number for number, settings in reversed([*enumerate(candidates)])}
    together = sorted(candidates, key=lambda s: (place[shared(s)], s.robust == "off"))
    return [tuple(group) for _, group in groupby(together, shared)]


class Split(NamedTuple):
    """Ascending row numbers to fit on and to score on; no row is in both."""

    opt: Integers
    dev: Integers


def fold_rows(
    labels: Labels, classes: Sequence[str], n_folds: int | None, seed: int
) -> tuple[Split, ...]:
    """Divide the rows of every class into folds; each is scored by fits on the others.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    classes : sequence of str
        Names for messages.
    n_folds : int or None
        At least 2, and no class may have fewer labels. None: 5, or as many as the smallest class
        has labels.
    seed : int
        Seed of the shuffle.

    Raises
    ------
    InvalidInputError
        If a class has fewer labels than folds.

    Examples
    --------
    >>> splits = fold_rows(np.array([0, 0, 1, 1, 1]), ["no", "yes"], 2, seed=0)
    >>> [(split.opt.tolist(), split.dev.tolist()) for split in splits]
    [([0, 4], [1, 2, 3]), ([1, 2, 3], [0, 4])]
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
    if n_folds is None:
        n_folds = min(USUAL_FOLDS, fewest)
    check_integer("folds", n_folds, at_least=2)
    if fewest < n_folds:
        raise InvalidInputError(
            f"class {classes[scarce]} has {fewest} labelled rows, too few for {n_folds} folds",
            hint=f"Give {fewest} folds at most, or label more rows of it",
        )
    fold = deal_folds(labels, n_folds, seed)
    return tuple(
        Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number))
        for number in range(n_folds)
    )


def share_rows(
    labels: Labels, classes: Sequence[str], share: float, seed: int
) -> tuple[Split, ...]:
    """Set a share of every class aside to score on.

    Parameters
    ----------
    labels, classes, seed
        As for :func:`fold_rows`.
    share : float
        Above 0 and below 1; every class needs a row on both sides.

    Raises
    ------
    InvalidInputError
        If a class would have no row on one side.

    Examples
    --------
    >>> (split,) = share_rows(np.repeat([0, 1], [10, 20]), ["no", "yes"], 0.1, seed=0)
    >>> len(split.opt), len(split.dev)
    (27, 3)
    """
    check_number("dev_share", share, above=0)
    if share >= 1:
        raise InvalidInputError(
            f"dev_share is {share:g}, which leaves no row to fit on", hint="Give less than 1"
        )
    rng = np.random.default_rng(check_integer("seed", seed, at_least=0))
    taken = []
    for c in np.unique(labels).tolist():
        own = rng.permutation(np.flatnonzero(labels == c))
        n_dev = math.floor(share * len(own) + 0.5)
        if not 0 < n_dev < len(own):
            raise _bad_share(classes[c], len(own), share, n_dev)
        taken.append(own[:n_dev])
    dev = np.zeros(len(labels), bool)
    dev[np.concatenate(taken)] = True
    return (Split(np.flatnonzero(~dev), np.flatnonzero(dev)),)


def _bad_share(name: str, n: int, share: float, n_dev: int) -> InvalidInputError:
    rows = f"{n} labelled row" + ("s" if n > 1 else "")
    if n == 1:
        return InvalidInputError(
            f"class {name} has 1 labelled row, which cannot be both fitted and scored",
            hint="Label more rows of it, or give a dev table of its own",
        )
    side = "score on" if n_dev == 0 else "fit on"
    least = 0.5 / n
    more = math.ceil(least * 1000) / 1000
    remedy = f"Give {more:g} or more" if n_dev == 0 else f"Give less than {1 - least:.3g}"
    return InvalidInputError(
        f"class {name} has {rows}: a dev share of {share:g} leaves none of them to {side}",
        hint=f"{remedy}, take folds instead, or label more rows of it",
    )
