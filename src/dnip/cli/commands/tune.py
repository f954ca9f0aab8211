"""``dnip tune``: choose settings, then learn coefficients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dnip.base.option import CriterionName, Option, SolverName
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_SCALE,
    AsJson,
    Classes,
    CobiasPairs,
    CoefficientsOut,
    OptTable,
    Unlabelled,
    split_classes,
)

if TYPE_CHECKING:
    from dnip.fitting.tuning import Criterion, Grid

_WEIGHT = re.compile(r"([a-z0-9_]+)=(.+)")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def _numbers(text: str) -> str:
    for part in _split(text):
        _number(part)
    return text


def _weights(text: str) -> str:
    for part in _split(text):
        match = _WEIGHT.fullmatch(part)
        if match is None:
            raise typer.BadParameter(
                f"{part!r} is not a weight; write it like accuracy=1,cobias=2.7"
            )
        _number(match[2])
    return text


@dataclass(frozen=True)
class GridOptions:
    """The settings to try, in every combination."""

    betas: Annotated[
        str, Option("β, weights of COBias to try.", metavar="A,B,C", parser=_numbers)
    ] = "0.5,1,2.7,5,10"
    taus: Annotated[
        str, Option("τ, weights of the PMI term to try.", metavar="A,B,C", parser=_numbers)
    ] = "0,0.2"
    scales: Annotated[str, Option("Scales to try: K, log:K.", metavar="A,B,C")] = DEFAULT_SCALE
    smoothings: Annotated[
        str | None,
        Option(
            "μ, counts to add inside PMI, to try.  [default: 0.4·M]",
            metavar="A,B,C",
            parser=_numbers,
        ),
    ] = None
    robust_modes: Annotated[str, Option("Modes of --robust to try.", metavar="A,B,C")] = "auto"

    def grid(self) -> Grid:
        """Return the grid of settings, checked."""
        from dnip.fitting.tuning import Grid

        smoothings = None if self.smoothings is None else _split(self.smoothings)
        return Grid(
            betas=tuple(map(float, _split(self.betas))),
            taus=tuple(map(float, _split(self.taus))),
            scales=tuple(_split(self.scales)),
            smoothings=(None,) if smoothings is None else tuple(map(float, smoothings)),
            robust_modes=tuple(_split(self.robust_modes)),
        )


@dataclass(frozen=True)
class ScoringOptions:
    """The rows that candidates are scored on, and what makes one better."""

    folds: Annotated[
        int | None,
        Option(
            "Score by cross-validation with this many folds, stratified by class.  [default: 5, or "
            "as many as the smallest class has labels]"
        ),
    ] = None
    dev_share: Annotated[
        float | None,
        Option("Score on this share of every class instead, such as the paper's 0.05."),
    ] = None
    dev: Annotated[
        Path | None,
        Option("Score on this table instead; no row of it is fitted.", metavar="TABLE"),
    ] = None
    criterion: Annotated[
        CriterionName,
        Option(
            "The best candidate: by accuracy then COBias, by COBias then accuracy, or by a "
            "weighted sum."
        ),
    ] = "weighted"
    weights: Annotated[
        str | None,
        Option(
            "Weights of the sum, by the names of metrics that `evaluate --json` prints.  "
            "[default: accuracy=1,cobias=1]",
            metavar="METRIC=W,…",
            parser=_weights,
        ),
    ] = None
    confidence: Annotated[
        float,
        Option("How sure to be before leaving the defaults; 0 takes the best candidate."),
    ] = DEFAULT_CONFIDENCE

    def best_by(self) -> Criterion:
        """Return the criterion, checked."""
        from dnip.fitting.tuning import Criterion

        if self.weights is None:
            return Criterion(self.criterion)
        pairs = (part.split("=", 1) for part in _split(self.weights))
        return Criterion(self.criterion, {name.strip(): float(weight) for name, weight in pairs})


def tune(
    table: OptTable,
    grid: GridOptions,
    scoring: ScoringOptions,
    out: CoefficientsOut = Path("coefficients.json"),
    classes: Classes = None,
    cobias: CobiasPairs = "pairwise",
    solver: Annotated[SolverName, Option("How to search.")] = "coordinate",
    unlabelled: Unlabelled = None,
    seed: Annotated[int, Option("Seed of splits, searches and bootstrap.")] = 0,
    time_limit: Annotated[
        float | None,
        Option("Seconds in all; candidates that are not finished by then are left out."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Choose β, τ, K, μ and robustness, then learn coefficients from all labels.

    Every combination of the lists is fitted on one part of the labelled rows of TABLE and scored on
    another. If a candidate is better than the defaults beyond chance, the one nearest to them
    within one standard error of the best is chosen; else the defaults are. The choice is then
    fitted on all labelled rows. Ctrl-C chooses among the finished candidates.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import check_files
    from dnip.cli.coefficients import save_coefficients
    from dnip.fitting.tuning import tune as tune_table
    from dnip.method.objective import Objective
    from dnip.presenting.fit import describe_fit, describe_tuning, fit_to_dict
    from dnip.tables import ProbabilityTable

    candidates, criterion = grid.grid(), scoring.best_by()
    if unlabelled is not None and candidates.robust_modes == ("off",):
        raise InvalidInputError(
            "unlabelled rows serve robust fits only, but --robust-modes is off",
            hint="Leave --unlabelled out, or try auto, too",
        )
    check_files({"table": table, "dev": scoring.dev, "unlabelled": unlabelled}, {"out": out})
    names = split_classes(classes)
    rows = ProbabilityTable.read(table, names)
    with live_progress("tuning") as show:
        tuning = tune_table(
            rows,
            grid=candidates,
            criterion=criterion,
            folds=scoring.folds,
            dev_share=scoring.dev_share,
            dev=None if scoring.dev is None else ProbabilityTable.read(scoring.dev, names),
            objective=Objective(gap=cobias),
            unlabelled=None if unlabelled is None else ProbabilityTable.read(unlabelled, names),
            confidence=scoring.confidence,
            solver=solver,
            seed=seed,
            time_limit=time_limit,
            progress=lambda done, total: show(f"{done:,} of {total:,} fits", done, total),
        )
    fitted = tuning.fit
    save_coefficients(fitted.coefficients, out)
    if tuning.interrupted:
        complain("interrupted", f"chosen among {len(tuning.candidates)} finished candidates")
    content = fit_to_dict(fitted, tuning.chosen.robust, scoring.confidence)
    text = (
        f"{describe_tuning(tuning)}\n\nfitted on all labels\n"
        f"{describe_fit(fitted, scoring.confidence)}\ncoefficients written to {out}"
    )
    finish({**content, **tuning.to_dict(), "out": str(out)}, text, json=json)
