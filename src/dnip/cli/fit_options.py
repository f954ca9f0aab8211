"""Options of a fit: the objective, what the weights must keep, and how to search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from dnip.base.option import Option, SolverName, Switch
from dnip.cli.options import (
    CobiasPairs,
    ObjectiveOptions,
    TargetPrior,
    scale_option,
)

if TYPE_CHECKING:
    from dnip.fitting.settings import FitSettings
    from dnip.method.constraints import Constraints
    from dnip.solvers import Solver

_CONSTRAINTS = "Constraints, kept on the labelled rows of TABLE"
# Settings of a solver, and the solver that has them.
_OWNERS: dict[str, SolverName] = {"effort": "coordinate", "gap": "exact"}


@dataclass(frozen=True)
class ConstraintOptions:
    """What the weights must keep on the labelled rows."""

    max_accuracy_loss: Annotated[
        float | None,
        Option(
            "How far accuracy may fall below that of the most probable class, such as 0.01.",
            _CONSTRAINTS,
            "RATE",
        ),
    ] = None
    min_class_accuracy: Annotated[
        list[str] | None,
        Option(
            "Least accuracy of a class, by name or index, such as Tech=0.6; all=0.5 is for every "
            "class that is not named. May be given several times.",
            _CONSTRAINTS,
            "CLASS=RATE",
        ),
    ] = None
    freeze: Annotated[
        list[str] | None,
        Option(
            "Classes whose weight stays 1, the largest. May be given several times.",
            _CONSTRAINTS,
            "A,B,C",
        ),
    ] = None
    allow_silence: Annotated[
        bool,
        Option(
            "Let the fit lose every right prediction of a class. By default it keeps at least one "
            "if the most probable class has one.",
            _CONSTRAINTS,
        ),
    ] = False

    def constraints(self) -> Constraints:
        """Return the constraints, checked.

        Raises
        ------
        InvalidInputError
            For a rate that is not CLASS=RATE, or a class with two rates.
        """
        from dnip.base.errors import InvalidInputError
        from dnip.method.constraints import Constraints

        rates: dict[str | int, float] = {}
        for text in self.min_class_accuracy or ():
            name, sign, number = text.rpartition("=")
            name = name.strip()
            try:
                rate = float(number)
            except ValueError:
                rate = -1.0
            if not sign or not name or not 0 <= rate <= 1:
                raise InvalidInputError(
                    f"--min-class-accuracy is {text!r}, not CLASS=RATE with a rate from 0 to 1",
                    hint="Write it like Tech=0.6",
                )
            if rates.setdefault(name, rate) != rate:
                raise InvalidInputError(
                    f"--min-class-accuracy asks class {name} for {rates[name]:g} and for {rate:g}",
                    hint="Give each class once",
                )
        names = [name.strip() for text in self.freeze or () for name in text.split(",")]
        return Constraints(self.max_accuracy_loss, rates, names, self.allow_silence)


@dataclass(frozen=True)
class FitOptions(ConstraintOptions, ObjectiveOptions):
    """All settings of a fit, as they were given; a preset fills in what was not."""

    scale: Annotated[str | None, scale_option("  [default: log:1000; 30 with --preset]")] = None
    terms: Annotated[
        str, Option("Terms of the objective to keep, comma-separated.", metavar="A,B,C")
    ] = "error,cobias,pmi"
    cobias: CobiasPairs = "pairwise"
    costs: Annotated[
        Path | None,
        Option(
            "What each prediction costs, as CSV or JSON: a row per true class, a column per "
            "predicted class, with or without names. The mean cost replaces the error.",
            metavar="FILE",
        ),
    ] = None
    solver: Annotated[
        SolverName | None,
        Option("How to search.  [default: coordinate; anneal with --preset]"),
    ] = None
    effort: Annotated[
        float | None, Option("Multiplies the work of the coordinate solver.  [default: 1.0]")
    ] = None
    gap: Annotated[
        float | None,
        Option(
            "The exact solver may stop when the objective is proven to be within this of the "
            "optimum.  [default: 0.0]"
        ),
    ] = None
    seed: Annotated[int, Option("Seed of the search.")] = 0
    time_limit: Annotated[float | None, Option("Seconds after which the best so far is kept.")] = (
        None
    )
    preset: Annotated[
        Literal["paper", "authors"] | None,
        Option(
            "paper: the settings and the annealing of the paper. authors: the few moves of the "
            "authors' code. Other options override it."
        ),
    ] = None
    robust: Annotated[
        Switch | None,
        Option(
            "on: weights that hold on other rows, however few the labels. off: the plain optimum "
            "of the objective. auto: on, but off for large tables and for solvers other than "
            "coordinate.  [default: auto; off with --preset]"
        ),
    ] = None
    target_prior: TargetPrior = None

    def settings(self) -> FitSettings:
        """Return the settings, checked."""
        from dnip.fitting.settings import OURS, PRESETS, FitSettings
        from dnip.method.costs import Costs

        preset = PRESETS[self.preset] if self.preset else OURS
        chosen = self
        if self.smoothing is None:
            chosen = replace(self, smoothing=preset.objective.smoothing)
        objective = chosen.objective(
            terms=tuple(term.strip() for term in self.terms.split(",")),
            gap=self.cobias,
            costs=None if self.costs is None else Costs.read(self.costs),
        )
        return FitSettings(
            objective,
            robust=self.robust or preset.robust,
            scale=self.scale or preset.scale,
            solver=self._solver(preset.solver),
            seed=self.seed,
            time_limit=self.time_limit,
            target_prior=self.target_prior,
            constraints=self.constraints(),
        )

    def _solver(self, preset: str | Solver) -> Solver:
        from dnip.base.errors import InvalidInputError
        from dnip.solvers import SOLVERS, solver_of

        usual = solver_of(preset)
        name = self.solver or usual.name
        values = {setting: getattr(self, setting) for setting in _OWNERS}
        given = {setting: value for setting, value in values.items() if value is not None}
        for setting in given:
            owner = _OWNERS[setting]
            if owner != name:
                raise InvalidInputError(
                    f"{setting} is a setting of the {owner} solver; the solver is {name}",
                    hint=f"Leave --{setting} out, or give --solver {owner}",
                )
        return SOLVERS[name](**given) if given or name != usual.name else usual
