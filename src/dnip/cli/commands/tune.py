"""``dnip tune``: choose settings, then learn coefficients."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dnip.cli.commands.fit import Pairs, SolverName
from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import DEFAULT_SCALE, AsJson, Classes, TablePath, split_classes

if TYPE_CHECKING:
    from dnip.fitting.tuning import Criterion, Grid


class CriterionName(StrEnum):
    """Criteria that ``--criterion`` takes."""

    ACCURACY = "accuracy"
    COBIAS = "cobias"
    WEIGHTED = "weighted"


_WEIGHT = re.compile(r"([a-z0-9_]+)=(.+)")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number") from None


def _numbers(text: str) -> str:
    for part in _split(text):
        _number(part)
    return text


def _weights(text: str) -> str:
    for part in _split(text):
        match = _WEIGHT.fullmatch(part)
        if match is None:
            raise typer.BadParameter(f"{part!r} is no weight; write it like accuracy=1,cobias=2.7")
        _number(match[2])
    return text


def tune(
    opt: TablePath,
    out: Annotated[
        Path, typer.Option(help="Where to write the coefficients.", readable=False)
    ] = Path("coefficients.json"),
    classes: Classes = None,
    betas: Annotated[
        str, typer.Option(parser=_numbers, metavar="A,B,C", help="β, weights of COBias to try.")
    ] = "0.5,1,2.7,5,10",
    taus: Annotated[
        str,
        typer.Option(parser=_numbers, metavar="A,B,C", help="τ, weights of the PMI term to try."),
    ] = "0,0.2",
    scales: Annotated[
        str, typer.Option(metavar="A,B,C", help="Scales to try: K, log:K, continuous.")
    ] = DEFAULT_SCALE,
    smoothings: Annotated[
        str | None,
        typer.Option(
            parser=_numbers,
            metavar="A,B,C",
            help="μ, counts to add inside PMI, to try.  [default: 0.4·M]",
            show_default=False,
        ),
    ] = None,
    robust_modes: Annotated[
        str, typer.Option(metavar="A,B,C", help="Modes of --robust to try.")
    ] = "auto",
    folds: Annotated[
        int | None,
        typer.Option(
            help="Score by cross-validation with so many folds, stratified by class.  [default: "
            "5, or as many as the smallest class has labels]",
            show_default=False,
        ),
    ] = None,
    dev_share: Annotated[
        float | None,
        typer.Option(
            help="Score on this share of every class instead, such as the paper's 0.05.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Score on this table instead; no row of it is fitted.",
            show_default=False,
        ),
    ] = None,
    criterion: Annotated[
        CriterionName,
        typer.Option(
            help="The best candidate: by accuracy then COBias, by COBias then accuracy, or by a "
            "weighted sum."
        ),
    ] = CriterionName.WEIGHTED,
    weights: Annotated[
        str | None,
        typer.Option(
            parser=_weights,
            metavar="METRIC=W,…",
            help="Weights of the sum: of accuracy, balanced_accuracy, worst_class_accuracy, "
            "macro_f1, cobias, cobias_single.  [default: accuracy=1,cobias=1]",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            help="How sure to be before the defaults are left; 0 takes the best candidate."
        ),
    ] = 0.9,
    cobias: Annotated[
        Pairs,
        typer.Option(help="The objective's COBias: all pairs of classes, or odd classes only."),
    ] = Pairs.PAIRWISE,
    solver: Annotated[SolverName, typer.Option(help="How to search.")] = SolverName.COORDINATE,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Rows without labels, from where the coefficients will be used, for robust fits; "
            "rows of OPT with an empty label serve likewise.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of splits, searches and bootstrap.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds in all; candidates that are not finished by then are left out.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Choose β, τ, K, μ and robustness, then learn coefficients from all labels.

    Every combination of the lists is fitted on one part of the labelled rows of OPT and scored on
    another. The defaults are left only where a candidate is better beyond chance; then the one
    nearest to them, within one standard error of the best, is fitted on all labelled rows. Ctrl-C
    chooses among the candidates that are finished.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import check_files
    from dnip.fitting.tuning import tune as tune_table
    from dnip.method.objective import Objective
    from dnip.presenting.text import describe
    from dnip.presenting.tuning import describe_tuning
    from dnip.tables import ProbabilityTable

    grid = _grid(betas, taus, scales, smoothings, robust_modes)
    chosen_by = _criterion(criterion, weights)
    if unlabelled is not None and grid.robust_modes == ("off",):
        raise InvalidInputError(
            "unlabelled rows serve robust fits only, but --robust-modes is off",
            hint="Leave --unlabelled out, or try auto, too",
        )
    check_files({"opt": opt, "dev": dev, "unlabelled": unlabelled}, {"out": out})
    names = split_classes(classes)
    table = ProbabilityTable.read(opt, names)
    with live_progress("tuning") as show:
        tuning = tune_table(
            table,
            grid=grid,
            criterion=chosen_by,
            folds=folds,
            dev_share=dev_share,
            dev=None if dev is None else ProbabilityTable.read(dev, names),
            objective=Objective(gap=cobias.value),
            unlabelled=None if unlabelled is None else ProbabilityTable.read(unlabelled, names),
            confidence=confidence,
            solver=solver.value,
            seed=seed,
            time_limit=time_limit,
            progress=lambda done, total: show(f"{done:,} of {total:,} fits"),
        )
    fitted = tuning.fit
    fitted.coefficients.save(out)
    if tuning.interrupted:
        complain("interrupted", f"chosen among {len(tuning.candidates)} finished candidates")
    if json:
        decision, mass = fitted.decision, fitted.captured_mass
        told = None if decision is None else decision.to_dict()
        if told is not None:
            told = {"mode": tuning.chosen.robust, **told}
        summary = {**fitted.solution.to_dict(), **tuning.to_dict()}
        unused = dict.fromkeys(("constraints", "target_prior", "evidence"))  # keys of `fit`
        counted = None if mass is None else mass.to_dict()
        summary |= {"robust": told, "notes": list(fitted.notes), "out": str(out)}
        print_json({"mass": counted, **unused, **summary})
    else:
        say(describe_tuning(tuning))
        say(f"\nfitted on all labels\n{describe(fitted.evaluation, fitted.coefficients)}")
        if fitted.decision is not None:
            say(f"\n{fitted.decision.sentence}")
        solution = fitted.solution
        say(f"\nobjective {solution.value:.6f}. {solution.status.sentence}")
        say(f"coefficients written to {out}")


def _grid(betas: str, taus: str, scales: str, smoothings: str | None, robust_modes: str) -> Grid:
    from dnip.fitting.tuning import Grid

    return Grid(
        betas=tuple(map(float, _split(betas))),
        taus=tuple(map(float, _split(taus))),
        scales=tuple(_split(scales)),
        smoothings=(None,) if smoothings is None else tuple(map(float, _split(smoothings))),
        robust_modes=tuple(_split(robust_modes)),
    )


def _criterion(name: CriterionName, weights: str | None) -> Criterion:
    from dnip.fitting.tuning import Criterion

    if weights is None:
        return Criterion(name.value)
    pairs = (part.split("=", 1) for part in _split(weights))
    return Criterion(name.value, {metric.strip(): float(weight) for metric, weight in pairs})
