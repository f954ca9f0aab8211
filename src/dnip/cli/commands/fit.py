"""``dnip fit``: learn coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from dnip.base.errors import InvalidInputError
from dnip.base.option import MetricName, Pairs, SolverName, Switch
from dnip.cli import options
from dnip.cli.console import complain, finish, search_progress

if TYPE_CHECKING:
    from dnip.fitting.result import Fit
    from dnip.fitting.settings import FitSettings
    from dnip.method.constraints import Constraints
    from dnip.solvers import Solver

# Settings of a solver, and the solver that has them.
_OWNERS: dict[str, SolverName] = {"effort": "coordinate", "gap": "exact"}


@dataclass(frozen=True)
class ConstraintOptions:
    """What the weights must keep on the labelled rows.

    Constraints, kept on the labelled rows of TABLE
    -----------------------------------------------
    max_accuracy_loss : RATE
        How far accuracy may fall below that of the most probable class, such as 0.01. A robust fit
        keeps it on other rows, too, as far as the labels can tell.
    min_class_accuracy : CLASS=RATE
        Least accuracy of a class, by name or index, such as Tech=0.6; all=0.5 is for every class
        that is not named. May be given several times.
    freeze : A,B,C
        Classes whose weight stays 1, the largest. May be given several times.
    allow_silence
        Let the fit lose every right prediction of a class. By default it keeps at least one if the
        most probable class has one.
    """

    max_accuracy_loss: float | None = None
    min_class_accuracy: list[str] | None = None
    freeze: list[str] | None = None
    allow_silence: bool = False

    def constraints(self) -> Constraints:
        """Return the constraints, checked.

        Raises
        ------
        InvalidInputError
            For a rate that is not CLASS=RATE, or a class with two rates.
        """
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
class FitOptions(ConstraintOptions, options.ObjectiveOptions):
    """All settings of a fit, as they were given; a preset fills in what was not.

    Objective
    ---------
    scale : K|log:K|span:S
        K: weights are 1/K, 2/K, …, 1; the paper has K = 30. log:K: K geometric steps from 1/K to 1.
        span:S: 10,000 geometric steps from e^-S to 1.
        [default: the spread of the probabilities; 30 with --preset]
    objective
        Make this metric as large as possible, instead of Z: the mean recall (class accuracy), or
        the mean F1. It has no β, and no terms or costs beside it.
    terms : A,B,C
        Terms of the objective to keep, comma-separated.
    cobias
        COBias over all pairs of classes, or over odd classes only.
    costs : FILE
        What each prediction costs, as CSV or JSON: a row per true class, a column per predicted
        class, with or without names. The mean cost replaces the error.

    Search
    ------
    solver
        How to search. [default: coordinate; anneal with --preset]
    effort
        Multiplies the work of the coordinate solver. [default: 1.0]
    gap
        The exact solver may stop when the objective is proven to be within this of the optimum.
        [default: 0.0]
    seed
        Seed of the search.
    time_limit
        Seconds after which the best so far is kept.
    preset
        paper: the settings and the annealing of the paper, with μ of the authors' code. authors:
        the few moves of that code, too. Other options override it.
    robust
        on: weights that hold on other rows, however few the labels. off: the plain optimum of the
        objective. auto: on, but off for large tables and for solvers other than coordinate.
        [default: auto; off with --preset]

    Deferring
    ---------
    defer : SHARE
        The share of rows to defer to a person or a larger model, such as 0.3. One threshold per
        predicted class is learned beside the weights, for the sake of the whole system.
    defer_below : RATE
        Instead of a share: serve of each predicted class only rows that are right at least this
        often, such as 0.95, with 95 % confidence. The others are deferred.
    helper_accuracy : RATE|none
        How often that person or model is right, in every class; none: serve the rows that remain
        best. [default: 0.9]
    """

    scale: Annotated[str | None, options.scale_name] = None
    objective: MetricName | None = None
    terms: str = "error,cobias,pmi"
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
        from dnip.method.costs import Costs
        from dnip.method.objective import MetricObjective, Objective
        from dnip.method.scales import WeightScale

        if self.objective is not None:
            self._check_alone()
        preset = FitSettings.preset(self.preset)
        usual = preset.objective
        assert isinstance(usual, Objective)
        chosen = replace(
            self,
            beta=usual.beta if self.beta is None else self.beta,
            smoothing=usual.smoothing if self.smoothing is None else self.smoothing,
        )
        objective = chosen.weighted(
            terms=tuple(term.strip() for term in self.terms.split(",")),
            gap=self.cobias,
            costs=None if self.costs is None else Costs.read(self.costs),
        )
        return replace(
            preset,
            objective=objective if self.objective is None else MetricObjective(self.objective),
            robust=self.robust or preset.robust,
            scale=WeightScale.of(self.scale) if self.scale else preset.scale,
            solver=self._solver(preset.solver),
            seed=self.seed,
            time_limit=self.time_limit,
            target_prior=self.target_prior,
            constraints=self.constraints(),
            defer=self.defer,
            defer_below=self.defer_below,
            helper_accuracy=self._helper_accuracy(),
        )

    def _check_alone(self) -> None:
        """Refuse settings of Z beside a metric."""
        for name in ("beta", "tau", "smoothing", "terms", "cobias", "costs", "preset"):
            if getattr(self, name) != getattr(FitOptions, name):
                raise InvalidInputError(
                    f"--{name} sets error + β·COBias - τ·ΣPMI, but --objective {self.objective} "
                    "replaces it as a whole",
                    hint="Leave one of the two out",
                )

    def _helper_accuracy(self) -> float | None:
        from dnip.base.classes import is_number

        text, unused = self.helper_accuracy or "0.9", self.helper_accuracy and self.defer is None
        if unused or not (text == "none" or is_number(text)):
            raise InvalidInputError(
                f"--helper-accuracy is {text!r}; it is a rate or none, beside --defer SHARE"
            )
        return None if text == "none" else float(text)

    def _solver(self, preset: str | Solver) -> Solver:
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


def fit(
    table: Path,
    /,
    chosen: FitOptions,
    out: Path | None = None,
    classes: str | None = None,
    unlabelled: Path | None = None,
    group: str | None = None,
    evidence: bool | None = None,
    only_if_better: bool = False,
    confidence: float = options.DEFAULT_CONFIDENCE,
    trace: Path | None = None,
    rows: Annotated[int | None, options.parse_rows] = options.DEFAULT_ROWS,
    json: bool = False,
) -> None:
    """Learn coefficients from a labelled table.

    Finds one weight per class that minimises error + β·COBias - τ·ΣPMI: on the labelled rows, and
    as expected on unlabelled rows. Writes the weights, and how they were found, to a JSON file.

    Parameters
    ----------
    table
        Labelled probabilities to fit on: a column for each class, and label; .csv, .jsonl,
        .parquet, or a folder of it.
    out : FILE
        Where to write the coefficients. [default: coefficients.json]
    unlabelled : TABLE
        Rows without labels, for a robust fit to learn from, as from those of TABLE without.
    group : COLUMN
        What rows belong to, such as the prompt that several answers are to. Rows of one group
        are judged together, and count as one label.
    evidence
        Judge the fit by five refits, each on labels that it has not seen: what to expect on other
        rows, and a verdict. [default: if that is quick]
    only_if_better
        Unless the verdict is to apply them, write coefficients of 1 instead, which leave the raw
        argmax in force.

    Search
    ------
    trace : FILE
        Also write the course of the search, as CSV.
    rows : N|all
        Rows to fit on at most; of a larger table, a sample is drawn. all: no sample.

    Examples
    --------
    dnip fit opt.csv
    dnip fit opt.csv --max-accuracy-loss 0.01 --out coefficients.json
    """
    from dnip.base.files import check_files
    from dnip.base.validation import check_level
    from dnip.cli.coefficients import check_out, save_coefficients
    from dnip.fitting.fit import fit as fit_table
    from dnip.presenting.fit import describe_fit, fit_to_dict, notes_on_fit, write_trace

    mix = options.named_file(chosen.target_prior, ".json")
    reads = {"table": table, "unlabelled": unlabelled, "costs": chosen.costs, "target prior": mix}
    names = options.split_classes(classes)
    target = check_out(out, table, names)
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
    check_level("confidence", confidence)
    with search_progress(chosen.time_limit) as progress:
        fitted = fit_table(
            table,
            settings=settings,
            classes=names,
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
    for note in notes_on_fit(fitted, unlabelled):
        complain("note", note)
    content = fit_to_dict(fitted, settings.robust, confidence) if json else {}
    told = describe_fit(fitted, confidence, str(table), str(target))
    text = f"{told}\n{_written(fitted, target, raw=raw)}"
    content |= {"out": str(target), "holds": "raw" if raw else "fitted"}
    finish(content, text, json=json)


def _written(fitted: Fit, target: Path, *, raw: bool) -> str:
    """Return what the file holds, by the verdict."""
    deferring = fitted.coefficients.defer is not None
    if raw:
        told = f"coefficients of 1 written to {target}: the raw argmax stays in force"
        return f"{told}, and no row is deferred" if deferring else told
    told = f"coefficients{' and thresholds' if deferring else ''} written to {target}"
    if fitted.verdict in ("apply", "not judged"):
        return told
    return (
        f"{told}: it holds the fit all the same;\n"
        "--only-if-better would write 1 for every class, the raw argmax"
    )
