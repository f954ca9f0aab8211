"""From labels to the settings of a fit, and the fit itself."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import DNIPWarning, InvalidInputError, listed
from dnip.base.typing import Counts, Floats, Labels
from dnip.base.validation import check_number
from dnip.fitting.fit import fit_sample, unlabelled_rows
from dnip.fitting.record import Fit
from dnip.fitting.sampled import sample_of
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning.choice import Choice, Criterion, Standing, choose
from dnip.fitting.tuning.settings import Grid, Settings
from dnip.fitting.tuning.trials import Fold, Progress, choose_dev_rows, cut, run_trials
from dnip.method.coefficients import Coefficients
from dnip.method.objective import Objective
from dnip.metrics import METRICS, accuracy, cobias
from dnip.metrics.confusion import count_pairs
from dnip.solvers import Solver
from dnip.tables import ProbabilityTable
from dnip.tables.given import TableLike
from dnip.tables.guards import check_disjoint, scored_rows
from dnip.tables.sampling import Sample

# Part of the time limit in which candidates are tried; the rest is for the final fit.
_TRIAL_SHARE = 0.8


@dataclass(frozen=True, eq=False)
class Candidate:
    """One combination of settings, and its results on rows that its fits have not seen.

    Attributes
    ----------
    settings : Settings
    folds : tuple of ndarray of shape (N, N)
        Counts on the dev rows of each fold, rows true.
    standing : Standing
        Against the defaults.
    """

    settings: Settings
    folds: tuple[Counts, ...]
    standing: Standing

    @property
    def scores(self) -> dict[str, float]:
        """Every metric, the mean over folds by their rows."""
        rows = [fold.sum() for fold in self.folds]
        return {
            name: float(np.average([metric.of(fold) for fold in self.folds], weights=rows))
            for name, metric in METRICS.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return settings, scores and standing, as ``dnip tune --json`` prints them."""
        return {
            **self.settings.to_dict(),
            **self.scores,
            **self.standing._asdict(),
            "folds": [{"accuracy": accuracy(fold), "cobias": cobias(fold)} for fold in self.folds],
        }


@dataclass(frozen=True, eq=False)
class Tuning:
    """The chosen settings, the evidence for them, and the fit with them.

    Attributes
    ----------
    fit : Fit
        With the chosen settings, on all labelled rows of the opt set.
    candidates : tuple of Candidate
        All that were fitted on every fold, the best first.
    choice : Choice
        How all candidates compare with the defaults.
    criterion : Criterion
    scheme : str
        How the dev rows were chosen, such as "5 folds".
    n_planned : int
        Candidates in the grid.
    interrupted : bool
        Whether Ctrl-C stopped the trials.
    seconds : float
        Wall time of trials and fit.
    """

    fit: Fit
    candidates: tuple[Candidate, ...]
    choice: Choice
    criterion: Criterion
    scheme: str
    n_planned: int
    interrupted: bool
    seconds: float

    @property
    def chosen(self) -> Settings:
        """The settings of the fit."""
        return self.choice.chosen

    @property
    def coefficients(self) -> Coefficients:
        """The artefact of the final fit."""
        return self.fit.coefficients

    @property
    def reason(self) -> str:
        """Why these settings, in a sentence or two."""
        if not self.candidates:
            return "No candidate was finished in the time; these are the nearest to the defaults."
        kept = "the defaults"
        if self.choice.reference != Settings():
            kept = "what is nearest to the defaults"
        best, chosen = self.candidates[0].standing, self.choice.standings[self.chosen]
        if self.chosen == self.choice.reference:
            if best.ahead <= 0:
                return f"No candidate is better than {kept}."
            return (
                f"No candidate is better than {kept} beyond chance: the best is ahead by "
                f"{best.ahead:.4f} ± {best.standard_error:.4f}, and it would take "
                f"{self.choice.bar:.1f} standard errors."
            )
        said = f"Ahead of {kept} by {chosen.ahead:.4f} ± {chosen.standard_error:.4f}"
        others = len(self.choice.alike) - 1
        if others:
            said += f"; of {others + 1} within one standard error the nearest to them"
        return f"{said}."

    def to_dict(self) -> dict[str, Any]:
        """Return `chosen`, `candidates` and what they rest on, as ``dnip tune --json`` prints."""
        return {
            "chosen": {**self.chosen.to_dict(), "reason": self.reason},
            "criterion": self.criterion.to_dict(),
            "scheme": self.scheme,
            "planned": self.n_planned,
            "interrupted": self.interrupted,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }


def tune(
    data: TableLike,
    y: ArrayLike | None = None,
    grid: Grid | None = None,
    *,
    classes: Sequence[str] | None = None,
    criterion: Criterion | str = "weighted",
    folds: int | None = None,
    dev_share: float | None = None,
    dev: ProbabilityTable | None = None,
    objective: Objective | None = None,
    unlabelled: ProbabilityTable | None = None,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    time_limit: float | None = None,
    confidence: float = 0.9,
    progress: Progress | None = None,
) -> Tuning:
    """Choose β, τ, K, μ and robustness on labels that the fit has not seen, then fit on all.

    Every candidate is fitted on a part of the labelled rows and scored on others: by
    cross-validation, on a share set aside, or on a dev table. The defaults are left only where a
    candidate is better beyond chance; see :func:`dnip.fitting.tuning.choice.choose`.

    Parameters
    ----------
    data, y, classes
        The opt set, as for :func:`dnip.fit`.
    grid : Grid, optional
        The candidates; ``Grid()`` by default.
    criterion : Criterion or str, default="weighted"
        What makes a candidate better.
    folds : int, optional
        Cross-validation with so many folds, stratified by class. By default 5, or as many as the
        smallest class has labels.
    dev_share : float, optional
        Score on this share of every class instead.
    dev : ProbabilityTable, optional
        Score on this table instead; no row of it is fitted.
    objective : Objective, optional
        Terms, and COBias or COBias_single; its β, τ and μ are replaced by those of the candidates.
    unlabelled, solver, seed
        As for :func:`dnip.fit`.
    time_limit : float, optional
        Seconds in all. Candidates that are not finished after four fifths of it are left out.
    confidence : float, default=0.9
        How sure to be before the defaults are left, from 0 (take the best candidate) to 1.
    progress : callable, optional
        Receives how many fits are done, and how many there are.

    Returns
    -------
    Tuning
        After Ctrl-C, on the candidates that were finished.

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract: a class with too few labels for the
        split, opt and dev rows that share ids.

    Warns
    -----
    DNIPWarning
        For classes without labels in the opt set or the dev table.

    Examples
    --------
    >>> import dnip
    >>> from dnip.fitting.tuning import Grid
    >>> P, y = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]] * 25, ["ham", "spam"] * 50
    >>> found = dnip.tune(P, y, Grid(betas=(1.0, 2.7), scales=(30,)))
    >>> len(found.candidates), found.scheme, found.coefficients.scale
    (4, '5 folds', 30)
    """
    began = time.perf_counter()
    grid = Grid() if grid is None else grid
    criterion = Criterion(criterion) if isinstance(criterion, str) else criterion
    check_number("confidence", confidence, at_least=0, at_most=1)
    if time_limit is not None:
        check_number("time_limit", time_limit, at_least=0)
    sample, count = sample_of(data, y, classes, seed=seed)
    opt = sample.table
    scheme, trial_folds = _set_apart(sample, folds, dev_share, dev, seed)
    dev_labels = [fold.dev_labels for fold in trial_folds]
    weight = None if dev is not None else sample.class_weights
    base = FitSettings(objective, solver=solver, seed=seed)
    more = unlabelled_rows(opt, unlabelled)
    planned = grid.candidates()
    deadline = None if time_limit is None else began + _TRIAL_SHARE * time_limit
    trials = run_trials(planned, trial_folds, base, more, deadline=deadline, progress=progress)
    if not trials.predictions and trials.interrupted:
        raise KeyboardInterrupt
    choice = Choice(planned[0], planned[0], {}, 0.0, ())
    if trials.predictions:
        choice = choose(
            dev_labels,
            trials.predictions,
            criterion,
            opt.n_classes,
            seed=seed,
            confidence=confidence,
            weight=weight,
        )
    chosen = choice.chosen
    left = None if time_limit is None else max(0.0, began + time_limit - time.perf_counter())
    fitted = fit_sample(
        sample,
        replace(chosen.of(base), time_limit=left),
        count,
        unlabelled=None if chosen.robust == "off" else unlabelled,
        evidence=None,
    )
    candidates = _ranked(trials.predictions, choice, dev_labels, opt.n_classes, weight)
    tuning = {
        "criterion": criterion.to_dict(),
        "scheme": scheme,
        "seed": seed,
        "candidates": len(candidates),
        "planned": len(planned),
        "chosen": chosen.to_dict(),
    }
    coefficients = fitted.coefficients.with_fit({**fitted.coefficients.fit, "tuning": tuning})
    return Tuning(
        fit=replace(fitted, coefficients=coefficients),
        candidates=candidates,
        choice=choice,
        criterion=criterion,
        scheme=scheme,
        n_planned=len(planned),
        interrupted=trials.interrupted,
        seconds=time.perf_counter() - began,
    )


def _set_apart(
    sample: Sample,
    folds: int | None,
    dev_share: float | None,
    dev: ProbabilityTable | None,
    seed: int,
) -> tuple[str, tuple[Fold, ...]]:
    """Return how dev rows are chosen, and the rows of each fold."""
    ways = {"folds": folds, "a dev share": dev_share, "a dev table": dev}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) > 1:
        raise InvalidInputError(
            f"{' and '.join(given)} are given, but candidates are scored in one way",
            hint="Keep one of them",
        )
    known = scored_rows(sample.table, "a fit")
    p, y, weight = known.probabilities, known.labels, sample.weights
    assert y is not None
    if dev is not None:
        scored = _check_dev(sample.table, dev)
        assert scored.labels is not None
        fold = Fold(p, y, scored.probabilities, scored.labels, weight)
        return f"dev table {dev.source}", (fold,)
    rows = choose_dev_rows(y, known.classes, seed, n_folds=folds, share=dev_share)
    scheme = f"{len(rows)} folds" if dev_share is None else f"dev share {dev_share:g}"
    return scheme, cut(p, y, rows, weight)


def _check_dev(opt: ProbabilityTable, dev: ProbabilityTable) -> ProbabilityTable:
    """Return the labelled rows of a dev table, or say why it cannot score fits on the opt set."""
    check_disjoint(opt, dev, "dev")
    scored = scored_rows(dev)
    missing = [name for c, name in enumerate(dev.classes) if c not in np.asarray(scored.labels)]
    if missing:
        warnings.warn(
            f"{dev.source}: no labelled row of class {listed(missing)}, which has no say in "
            "the choice",
            DNIPWarning,
            stacklevel=4,
        )
    return scored


def _ranked(
    predictions: Mapping[Settings, Sequence[Labels]],
    choice: Choice,
    labels: Sequence[Labels],
    n_classes: int,
    weight: Floats | None,
) -> tuple[Candidate, ...]:
    """Return the candidates with their counts, the best first."""
    candidates = []
    for settings, standing in choice.standings.items():
        folds: list[Counts] = [
            count_pairs(true, predicted, n_classes, n_classes)
            for true, predicted in zip(labels, predictions[settings], strict=True)
        ]
        if weight is not None:
            folds = [fold * weight[:, None] for fold in folds]
        candidates.append(Candidate(settings, tuple(folds), standing))
    return tuple(sorted(candidates, key=lambda found: -found.standing.score))
