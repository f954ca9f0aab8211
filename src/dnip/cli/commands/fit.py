"""``dnip fit``: learn coefficients."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from dnip.base import MetricName, Pairs, SolverName, Switch
from dnip.base.errors import InvalidInputError
from dnip.cli import options
from dnip.cli.console import finish, search_progress

if TYPE_CHECKING:
    from dnip.fitting.result import Fit
    from dnip.fitting.settings import FitSettings
    from dnip.solvers import Solver


def _rate_of_class(text: str) -> tuple[str | int, float]:
    """Return the class and the rate of CLASS=RATE."""
    name, sign, number = text.rpartition("=")
    try:
        rate = float(number)
    except ValueError:
        rate = -1.0
    if not sign or not name.strip() or not 0 <= rate <= 1:
        raise click.BadParameter(f"{text!r} is not CLASS=RATE with a rate from 0 to 1")
    return name.strip(), rate


def _rows(text: str) -> int | None:
    """Return a number of rows; None for all."""
    if text == "all":
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise click.BadParameter(f"{text!r} is neither a number of rows nor all")
    return int(text)


#: Text, for the parser of the option reads defaults, too.
_MOST_ROWS: Any = "1000000"


@dataclass(frozen=True)
class FitOptions(options.ObjectiveOptions):
    """All settings of a fit, as they were given; a preset fills in what was not.

    Parameters
    ----------
    max_accuracy_loss : RATE
        How far accuracy may fall below that of the most probable class, such as 0.01: on the
        labelled rows and, as far as they can tell, on others.
    defer : SHARE
        The share of rows to leave to a person or a larger model, such as 0.3. Learns a threshold
        for each predicted class.
    preset
        paper: β = 2.7, τ = 0.2, K = 30 and annealing as in the paper, μ of the authors' code, on
        the labelled rows alone. authors: the few moves of that code, too. Other options override
        it.

    Objective
    ---------
    objective : METRIC
        Maximise this instead: balanced-accuracy, the mean recall of the classes, or macro-f1, their
        mean F1. Without β, terms or costs.
    terms : A,B,C
        Terms of the objective to keep. [default: error,cobias,pmi]
    cobias
        COBias over all pairs of classes, or over each class and the one that it is taken for most.
    costs : FILE
        What each prediction costs, as CSV or JSON: a row per true class, a column per predicted
        class, with or without names. The mean cost replaces the error.

    Constraints, kept on the labelled rows of TABLE
    -----------------------------------------------
    min_class_accuracy : CLASS=RATE
        Least accuracy of a class, by name or index, such as Tech=0.6; all=0.5 is for all others.
        May be given several times.
    freeze : A,B,C
        Classes whose weight stays 1, the largest.
    allow_silence
        Let the fit lose every right prediction of a class. By default it keeps at least one if the
        most probable class has one.

    Search
    ------
    solver
        How to search. [default: coordinate]
    effort
        Multiplies the work of the coordinate solver. [default: 1.0]
    gap
        Let the exact solver stop when it is proven to be within this of the optimum. [default: 0.0]
    time_limit
        Seconds after which the best so far is kept.
    robust
        on: weights that hold on other rows, too, however few the labels. off: the best on the
        labelled rows alone. auto: on, but off for large tables and for solvers other than
        coordinate. [default: auto]

    Deferring
    ---------
    defer_below : RATE
        Instead of a share: of each predicted class, serve only rows that are right at least this
        often, such as 0.95, with 95 % confidence.
    helper_accuracy : RATE|none
        How often that person or model is right. none: not known, so serve the rows of which the
        model is surest. [default: 0.9]
    """

    max_accuracy_loss: float | None = None
    min_class_accuracy: Annotated[list[tuple[str | int, float]] | None, _rate_of_class] = None
    freeze: options.Names = None
    allow_silence: bool = False
    scale: str | None = None
    objective: MetricName | None = None
    terms: options.Names = None
    cobias: Pairs = "pairwise"
    costs: Path | None = None
    solver: SolverName | None = None
    effort: float | None = None
    gap: float | None = None
    seed: int = 0
    time_limit: float | None = None
    preset: Literal["paper", "authors"] | None = None
    robust: Switch | None = None
    target_prior: str | None = None
    defer: float | None = None
    defer_below: float | None = None
    helper_accuracy: str | None = None

    def settings(self) -> FitSettings:
        """Return the settings, checked."""
        from dnip.fitting.settings import FitSettings
        from dnip.method.constraints import Constraints
        from dnip.method.objective import Costs, MetricObjective, Objective
        from dnip.method.scales import WeightScale

        if self.objective is not None:
            self._check_alone()
        preset = FitSettings.preset(self.preset)
        assert isinstance(preset.objective, Objective)
        costs = None if self.costs is None else Costs.read(self.costs)
        goal = self.weighted(preset.objective, terms=self.terms, gap=self.cobias, costs=costs)
        floors = options.by_name("--min-class-accuracy", self.min_class_accuracy)
        return replace(
            preset,
            objective=goal if self.objective is None else MetricObjective(self.objective),
            robust=self.robust or preset.robust,
            scale=WeightScale.of(self.scale) if self.scale else preset.scale,
            solver=self._solver(preset.solver),
            seed=self.seed,
            time_limit=self.time_limit,
            target_prior=self.target_prior,
            constraints=Constraints(
                self.max_accuracy_loss, floors, self.freeze or (), self.allow_silence
            ),
            defer=self.defer,
            defer_below=self.defer_below,
            helper_accuracy=self._helper_accuracy(),
        )

    def _check_alone(self) -> None:
        """Refuse what says anything of error + β·COBias beside a metric."""
        for name in ("beta", "tau", "smoothing", "terms", "cobias", "costs", "preset"):
            if getattr(self, name) != getattr(FitOptions, name):
                raise InvalidInputError(
                    f"--{name} sets error + β·COBias, but --objective {self.objective} replaces it",
                    hint="Leave one of the two out",
                )

    def _helper_accuracy(self) -> float | None:
        from dnip.tables.cells import is_number

        text, unused = self.helper_accuracy or "0.9", self.helper_accuracy and self.defer is None
        if unused or not (text == "none" or is_number(text)):
            raise InvalidInputError(
                f"--helper-accuracy is {text!r}; it is a rate or none, beside --defer SHARE"
            )
        return None if text == "none" else float(text)

    def _solver(self, preset: Solver) -> Solver:
        from dnip.solvers import SOLVERS

        name = self.solver or preset.name
        settings = {"effort": self.effort, "gap": self.gap}
        named = {setting: value for setting, value in settings.items() if value is not None}
        if name == preset.name and not named:
            return preset
        for setting in named:
            if not hasattr(SOLVERS[name], setting):
                raise InvalidInputError(f"--{setting} is not a setting of the {name} solver")
        return SOLVERS[name](**named)


def fit(
    table: Path,
    /,
    chosen: FitOptions,
    out: Path | None = None,
    classes: options.Names = None,
    unlabelled: Path | None = None,
    group: str | None = None,
    evidence: bool | None = None,
    only_if_better: bool = False,
    confidence: options.Level = 0.9,
    trace: Path | None = None,
    rows: Annotated[int | None, _rows] = _MOST_ROWS,
    json: bool = False,
) -> None:
    """Learn coefficients from a labelled table.

    Finds one weight per class that makes the mean error and the gap between classes small. Writes
    the weights, and how they were found, to a JSON file.

    Parameters
    ----------
    table
        Labelled probabilities to fit on: a column for each class, and label; .csv, .jsonl,
        .parquet, or a folder of it.
    out : FILE
        Where to write the coefficients. [default: coefficients.json]
    unlabelled : TABLE
        Rows without labels to learn from, too, such as those to be corrected. Rows of TABLE with an
        empty label serve likewise.
    group : COLUMN
        What rows belong to, such as a prompt with several answers. Rows of one group are judged
        together, and count as one label.
    only_if_better
        Unless the verdict is to apply them, write coefficients of 1, which leave the most probable
        class in force.

    Details
    -------
    evidence
        Fit five times more, each time without a fifth of the labels, for a verdict and what to
        expect on other rows. [default: if that is quick]
    rows : N|all
        Rows to fit on at most; of a larger table, a sample is drawn.

    Search
    ------
    trace : FILE
        Also write the course of the search, as CSV.

    Examples
    --------
    dnip fit opt.csv
    dnip fit opt.csv --max-accuracy-loss 0.01 --out coefficients.json
    """
    from dnip.base.files import check_files
    from dnip.cli.coefficients import check_out, save_coefficients
    from dnip.fitting.fit import fit as fit_table
    from dnip.presenting.fit import describe_fit, fit_to_dict, notes_on_fit, write_trace

    mix = options.named_file(chosen.target_prior, ".json")
    reads = {"table": table, "unlabelled": unlabelled, "costs": chosen.costs, "target prior": mix}
    target = check_out(out, table, classes)
    check_files(reads, {"out": target, "trace": trace})
    if evidence is False and (only_if_better or chosen.defer_below is not None):
        asked = "--only-if-better" if only_if_better else "--defer-below"
        raise InvalidInputError(
            f"{asked} learns from refits, but evidence is off", hint="Leave --no-evidence out"
        )
    settings = chosen.settings()
    if settings.robust == "off" and unlabelled is not None and chosen.target_prior != "estimate":
        raise InvalidInputError(
            "unlabelled rows serve a robust fit only, but it is off",
            hint="Leave --unlabelled out, or give --robust auto",
        )
    with search_progress(chosen.time_limit) as progress:
        fitted = fit_table(
            table,
            settings=settings,
            classes=classes,
            rows=rows,
            unlabelled=unlabelled,
            groups=group,
            evidence=True if only_if_better else evidence,
            progress=progress,
        )
    raw = only_if_better and fitted.verdict != "apply"
    save_coefficients(fitted.unweighted() if raw else fitted.coefficients, target)
    if trace is not None:
        write_trace(fitted.solution, trace)
    content = fit_to_dict(fitted, settings.robust, confidence) if json else {}
    text = describe_fit(fitted, confidence, str(table), str(target))
    text += f"\n{_written(fitted, target, raw=raw)}"
    content |= {"out": str(target), "holds": "raw" if raw else "fitted"}
    finish(content, text, json=json, notes=notes_on_fit(fitted, unlabelled))


def _written(fitted: Fit, target: Path, *, raw: bool) -> str:
    """Return what the file holds, by the verdict."""
    defers = fitted.coefficients.defer is not None
    if raw:
        text = f"coefficients of 1 written to {target}: the raw argmax stays in force"
        return f"{text}, and no row is deferred" if defers else text
    text = f"coefficients{' and thresholds' if defers else ''} written to {target}"
    if fitted.verdict in ("apply", "not judged"):
        return text
    return (
        f"{text}: it holds the fit all the same;\n"
        "--only-if-better would write 1 for every class, the raw argmax"
    )
