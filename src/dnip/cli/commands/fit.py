"""``dnip fit``: learn coefficients."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dnip.cli.console import complain, print_json, say, search_progress
from dnip.cli.constraint_options import (
    AllowSilence,
    CostsFile,
    Freeze,
    MaxAccuracyLoss,
    MinClassAccuracy,
    read_constraints,
)
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_MEMORY,
    DEFAULT_SCALE,
    AsJson,
    Beta,
    Classes,
    Confidence,
    Memory,
    Smoothing,
    TablePath,
    TargetPrior,
    Tau,
    named_file,
    scale_name,
    split_classes,
    tau_of,
)

if TYPE_CHECKING:
    from dnip.fitting.fit import Fit
    from dnip.solvers import Solver


class SolverName(StrEnum):
    """Solvers that ``--solver`` takes."""

    COORDINATE = "coordinate"
    EXACT = "exact"
    ANNEAL = "anneal"
    EXHAUSTIVE = "exhaustive"


class Preset(StrEnum):
    """Bundles of settings that ``--preset`` takes."""

    PAPER = "paper"


class Pairs(StrEnum):
    """Pairs of classes that ``--cobias`` takes."""

    PAIRWISE = "pairwise"
    SINGLE = "single"


class Robust(StrEnum):
    """Modes that ``--robust`` takes."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


def fit(
    opt: TablePath,
    out: Annotated[
        Path, typer.Option(help="Where to write the coefficients.", readable=False)
    ] = Path("coefficients.json"),
    classes: Classes = None,
    beta: Beta = 2.7,
    tau: Tau = None,
    scale: Annotated[
        str | None,
        typer.Option(
            parser=scale_name,
            metavar="K|log:K|continuous",
            help="K: weights are 1/K, 2/K, …, 1. log:K: K geometric steps from 1/K to 1. "
            "continuous: any weights, for the coordinate solver.  [default: log:1000; 30 with "
            "--preset paper]",
            show_default=False,
        ),
    ] = None,
    smoothing: Smoothing = None,
    terms: Annotated[
        str, typer.Option(help="Terms of the objective to keep, comma-separated.")
    ] = "error,cobias,pmi",
    cobias: Annotated[
        Pairs, typer.Option(help="COBias over all pairs of classes, or over odd classes only.")
    ] = Pairs.PAIRWISE,
    costs: CostsFile = None,
    max_accuracy_loss: MaxAccuracyLoss = None,
    min_class_accuracy: MinClassAccuracy = None,
    freeze: Freeze = None,
    allow_silence: AllowSilence = False,
    solver: Annotated[
        SolverName | None,
        typer.Option(
            help="How to search.  [default: coordinate; anneal with --preset paper]",
            show_default=False,
        ),
    ] = None,
    effort: Annotated[
        float | None,
        typer.Option(
            help="Multiplies the work of the coordinate solver.  [default: 1.0]",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            help="The exact solver may stop when the objective is proven to be within this of the "
            "optimum.  [default: 0.0]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds after which the best so far is kept.", show_default=False),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(
            help="paper: the published settings and solver; options given beside it win.",
            show_default=False,
        ),
    ] = None,
    robust: Annotated[
        Robust | None,
        typer.Option(
            help="auto: weights that hold on other rows, however few the labels; the plain optimum "
            "for large tables and other solvers than coordinate. on: never the plain optimum. off: "
            "the plain optimum of the objective.  [default: auto; off with --preset paper]",
            show_default=False,
        ),
    ] = None,
    unlabelled: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Rows without labels, from where the coefficients will be used, for a robust fit; "
            "rows of OPT with an empty label serve likewise.",
            show_default=False,
        ),
    ] = None,
    target_prior: TargetPrior = None,
    evidence: Annotated[
        bool | None,
        typer.Option(
            "--evidence/--no-evidence",
            help="Judge the fit by five refits, each on labels that it has not seen: what to "
            "expect on other rows, and a verdict.  [default: where that is quick]",
            show_default=False,
        ),
    ] = None,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Also write the course of the search as CSV.", show_default=False, readable=False
        ),
    ] = None,
    memory: Memory = DEFAULT_MEMORY,
    json: AsJson = False,
) -> None:
    """Learn coefficients from a labelled table.

    Minimises error + β·COBias - τ·ΣPMI over one weight per class, on the labelled rows of OPT and,
    in expectation, on unlabelled ones. Writes the weights with their provenance to a JSON file.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import check_files, temporary_folder
    from dnip.base.validation import check_level
    from dnip.fitting.fit import fit_file
    from dnip.method.costs import Costs
    from dnip.method.objective import Objective
    from dnip.presenting.trace import write_trace
    from dnip.solvers import FitSettings

    reads = {
        "opt": opt,
        "unlabelled": unlabelled,
        "costs": costs,
        "target prior": named_file(target_prior, ".json"),
    }
    check_files(reads, {"out": out, "trace": trace})
    paper = preset is Preset.PAPER
    if paper:
        smoothing = smoothing or Objective.published().smoothing
    kept = tuple(term.strip() for term in terms.split(","))
    matrix = None if costs is None else Costs.read(costs)
    objective = Objective(beta, tau_of(tau, smoothing), smoothing, kept, cobias.value, matrix)
    constraints = read_constraints(
        max_accuracy_loss, min_class_accuracy, freeze, allow_silence=allow_silence
    )
    name = solver or (SolverName.ANNEAL if paper else SolverName.COORDINATE)
    searcher = _make_solver(name, effort, gap)
    mode = robust or (Robust.OFF if paper else Robust.AUTO)
    if mode is Robust.OFF and unlabelled is not None and target_prior != "estimate":
        raise InvalidInputError(
            "unlabelled rows serve a robust fit only, but it is off",
            hint="Leave --unlabelled out, or give --robust auto",
        )
    check_level("confidence", confidence)
    settings = FitSettings(
        objective,
        robust=mode.value,
        scale=scale or ("30" if paper else DEFAULT_SCALE),
        solver=searcher,
        seed=seed,
        time_limit=time_limit,
        target_prior=target_prior,
        constraints=constraints,
    )
    with search_progress() as progress:
        fitted = fit_file(
            opt,
            settings,
            classes=split_classes(classes),
            memory=memory,
            folder=temporary_folder(out),
            unlabelled=unlabelled,
            evidence=evidence,
            progress=progress,
        )
    fitted.coefficients.save(out)
    if trace is not None:
        write_trace(fitted.solution, trace)
    _complain_of(fitted, unlabelled)
    if evidence is None and fitted.evidence is None:
        complain("note", "no verdict, as refits would take long; --evidence asks for it")
    if json:
        print_json({**_content(fitted, mode, confidence), "out": str(out)})
    else:
        _print_text(fitted, confidence)
        say(f"coefficients written to {out}")


def _complain_of(fitted: Fit, unlabelled: Path | None) -> None:
    decision, mix = fitted.decision, fitted.target
    counted = mix is not None and mix.estimate is not None
    if decision is None and unlabelled is not None and not counted:
        complain("note", f"the fit is plain, {unlabelled} was not used")
    if decision is None and fitted.evaluation.n_unlabelled and not counted:
        complain("note", f"rows without a label, not used: {fitted.evaluation.n_unlabelled:,}")


def _content(fitted: Fit, mode: Robust, confidence: float) -> dict[str, Any]:
    """Return what ``--json`` prints, but for the file that was written."""
    decision, mix, evidence = fitted.decision, fitted.target, fitted.evidence
    mass = fitted.captured_mass
    return {
        "mass": None if mass is None else mass.to_dict(),
        "constraints": None,
        **fitted.solution.to_dict(),
        "robust": None if decision is None else {"mode": mode.value, **decision.to_dict()},
        "target_prior": None if mix is None else mix.to_dict(fitted.coefficients.classes),
        "notes": list(fitted.notes),
        "evidence": None if evidence is None else evidence.to_dict(confidence),
    }


def _print_text(fitted: Fit, confidence: float) -> None:
    from dnip.presenting.evidence import describe_evidence
    from dnip.presenting.text import describe, describe_constraints

    solution, mix = fitted.solution, fitted.target
    say(describe(fitted.evaluation, fitted.coefficients))
    bound = "" if not solution.gap else f", no weights below {solution.lower_bound:.6f}"
    if mix is not None:
        say(f"\n{mix.sentence(fitted.coefficients.classes)}")
        told_rows = f"{mix.effective_rows:,.0f} of {fitted.evaluation.n:,}"
        say(f"accuracy is that of this mix; labels tell it as {told_rows} would")
    if fitted.decision is not None:
        say(f"\n{fitted.decision.sentence}")
    if fitted.notes:
        say("\n" + "\n".join(fitted.notes))
    if fitted.evidence is not None:
        say(f"\n{describe_evidence(fitted.evidence, confidence)}")
    if solution.constraints is not None:
        say(f"\n{describe_constraints(solution.constraints)}")
    say(f"\nobjective {solution.value:.6f}{bound}. {solution.sentence}")


def _make_solver(name: SolverName, effort: float | None, gap: float | None) -> Solver:
    from dnip.base.errors import InvalidInputError
    from dnip.solvers import SOLVERS, Coordinate, Exact

    owners = {"effort": (effort, SolverName.COORDINATE), "gap": (gap, SolverName.EXACT)}
    for setting, (given, owner) in owners.items():
        if given is not None and name is not owner:
            raise InvalidInputError(
                f"{setting} is a setting of the {owner.value} solver; the solver is {name.value}",
                hint=f"Leave --{setting} out, or give --solver {owner.value}",
            )
    if effort is not None:
        return Coordinate(effort)
    if gap is not None:
        return Exact(gap)
    return SOLVERS[name.value]()
