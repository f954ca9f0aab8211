"""``dnip tune``: choose settings, then learn coefficients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from dnip.base.option import CriterionName, Option, SolverName
from dnip.cli import options
from dnip.cli.console import complain, finish, live_progress

_GRID, _SCORES = "Settings to try", "How to choose"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, _split(text)))
    except ValueError:
        raise click.BadParameter(f"{text!r} are not numbers; write them like 1,2.7") from None


def _weights(text: str) -> dict[str, float]:
    pairs = [part.partition("=") for part in _split(text)]
    try:
        return {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        raise click.BadParameter(
            f"{text!r} are not weights; write them like accuracy=1,cobias=2.7"
        ) from None


def tune(
    table: options.OptTable,
    betas: Annotated[str, Option("β, weights of COBias.", _GRID, "A,B,C")] = ("0.5,1,2.7,5,10"),
    taus: Annotated[str, Option("τ, weights of the PMI term.", _GRID, "A,B,C")] = "0,0.2",
    scales: Annotated[str, Option("Scales: K, log:K.", _GRID, "A,B,C")] = options.DEFAULT_SCALE,
    smoothings: Annotated[
        str | None, Option("μ, counts to add inside PMI.  [default: 0.4·M]", _GRID, "A,B,C")
    ] = None,
    robust_modes: Annotated[str, Option("Modes of --robust.", _GRID, "A,B,C")] = "auto",
    folds: Annotated[
        int | None,
        Option(
            "Score by cross-validation with this many folds, stratified by class.  [default: 5, or "
            "as many as the smallest class has labels]",
            _SCORES,
        ),
    ] = None,
    dev_share: Annotated[
        float | None, Option("Score on this share of every class instead, such as 0.05.", _SCORES)
    ] = None,
    dev: Annotated[
        Path | None,
        Option("Score on this table instead; no row of it is fitted.", _SCORES, "TABLE"),
    ] = None,
    criterion: Annotated[
        CriterionName,
        Option(
            "The best candidate: by accuracy then COBias, by COBias then accuracy, or by a "
            "weighted sum.",
            _SCORES,
        ),
    ] = "weighted",
    weights: Annotated[
        str | None,
        Option(
            "Weights of the sum, by the names of metrics that `evaluate --json` prints.  "
            "[default: accuracy=1,cobias=1]",
            _SCORES,
            "METRIC=W,…",
        ),
    ] = None,
    confidence: Annotated[
        float,
        Option("How sure to be before leaving the defaults; 0 takes the best candidate.", _SCORES),
    ] = options.DEFAULT_CONFIDENCE,
    out: options.CoefficientsOut = None,
    classes: options.Classes = None,
    cobias: options.CobiasPairs = "pairwise",
    solver: Annotated[SolverName, Option("How to search.", options.SEARCH)] = "coordinate",
    unlabelled: options.Unlabelled = None,
    seed: Annotated[int, Option("Seed of splits, searches and bootstrap.", options.SEARCH)] = 0,
    time_limit: Annotated[
        float | None,
        Option(
            "Seconds in all; candidates that are not finished by then are left out.", options.SEARCH
        ),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Choose the settings of a fit on labels, then learn coefficients.

    Every combination of the lists is fitted on one part of the labelled rows of TABLE and scored on
    another. If a candidate is better than the defaults beyond chance, the one nearest to them
    within one standard error of the best is chosen; else the defaults are. The choice is then
    fitted on all labelled rows. Ctrl-C chooses among the finished candidates.

    Examples
    --------
    dnip tune opt.csv
    dnip tune opt.csv --betas 0.5,1,2.7 --out coefficients.json
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import check_files
    from dnip.cli.coefficients import check_out, save_coefficients
    from dnip.fitting.tuning import Criterion, Grid, tune as tune_table
    from dnip.method.objective import Objective
    from dnip.presenting.fit import describe_fit, describe_tuning, fit_to_dict

    grid = Grid(
        betas=_numbers(betas),
        taus=_numbers(taus),
        scales=_split(scales),
        smoothings=(None,) if smoothings is None else _numbers(smoothings),
        robust_modes=_split(robust_modes),
    )
    best_by = Criterion(criterion, None if weights is None else _weights(weights))
    if unlabelled is not None and grid.robust_modes == ("off",):
        raise InvalidInputError(
            "unlabelled rows serve robust fits only, but --robust-modes is off",
            hint="Leave --unlabelled out, or try auto, too",
        )
    names = options.split_classes(classes)
    target = check_out(out, table, names)
    check_files({"table": table, "dev": dev, "unlabelled": unlabelled}, {"out": target})
    dev_rows, more = options.read_others(names, dev, unlabelled)
    with live_progress("tuning") as show:
        tuning = tune_table(
            table,
            grid=grid,
            classes=names,
            criterion=best_by,
            folds=folds,
            dev_share=dev_share,
            dev=dev_rows,
            objective=Objective(gap=cobias),
            unlabelled=more,
            confidence=confidence,
            solver=solver,
            seed=seed,
            time_limit=time_limit,
            progress=lambda done, total: show(f"{done:,} of {total:,} fits", done, total),
        )
    save_coefficients(tuning.fit.coefficients, target)
    if tuning.interrupted:
        complain("interrupted", f"chosen among {len(tuning.candidates)} finished candidates")
    level = options.DEFAULT_CONFIDENCE
    content = fit_to_dict(tuning.fit, tuning.chosen.robust, level) if json else {}
    text = (
        f"{describe_tuning(tuning)}\n\nfitted on all labels\n"
        f"{describe_fit(tuning.fit, level)}\ncoefficients written to {target}"
    )
    finish({**content, **tuning.to_dict(), "out": str(target), "holds": "fitted"}, text, json=json)
