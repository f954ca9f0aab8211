"""What each term of the objective does: its seven subsets, fitted and scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.files import path_text
from dnip.base.repeats import repeat
from dnip.base.validation import check_integer, check_number
from dnip.fitting.fit import fit_table
from dnip.method.objective import Objective
from dnip.method.solution import Status
from dnip.metrics import METRICS, class_accuracies
from dnip.tables.evaluation import evaluate
from dnip.tables.guards import check_disjoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.base.repeats import Progress
    from dnip.base.typing import Confusion
    from dnip.fitting.record import Fit
    from dnip.solvers import Solver
    from dnip.tables import ProbabilityTable

#: What the objectives are compared by.
COMPARED = ("accuracy", "cobias", "cobias_single", "worst_class_accuracy")


@dataclass(frozen=True, eq=False)
class Scored:
    """Confusion matrices of one side, opt or test, one per seed.

    Attributes
    ----------
    confusions : tuple of ndarray of shape (N, N)
        Counts, rows true.
    """

    confusions: tuple[Confusion, ...]

    def mean(self, metric: str) -> float:
        """Return the mean of a metric of :data:`dnip.metrics.METRICS` over seeds."""
        return float(np.mean(self._values(metric)))

    def deviation(self, metric: str) -> float:
        """Return the standard deviation over seeds; 0 for one."""
        return float(np.std(self._values(metric), ddof=1)) if len(self.confusions) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard deviations by metric, and mean class accuracies."""
        rates = np.mean([class_accuracies(confusion) for confusion in self.confusions], axis=0)
        return {
            **{name: self.mean(name) for name in COMPARED},
            "standard_deviations": {name: self.deviation(name) for name in COMPARED},
            "class_accuracies": [None if np.isnan(rate) else rate for rate in rates.tolist()],
        }

    def _values(self, metric: str) -> list[float]:
        return [METRICS[metric].of(confusion) for confusion in self.confusions]


@dataclass(frozen=True, eq=False)
class AblationRow:
    """One objective: its fits, and how they score.

    Attributes
    ----------
    name : str
        Such as ``"z1+z2"``; ``"raw"`` for the plain argmax.
    objective : Objective or None
        None for the plain argmax.
    fits : tuple of Fit
        One per seed.
    opt : Scored
    test : Scored or None
    """

    name: str
    objective: Objective | None
    fits: tuple[Fit, ...]
    opt: Scored
    test: Scored | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the traces of the searches, ready for JSON."""
        return {
            "name": self.name,
            "objective": None if self.objective is None else self.objective.to_dict(),
            "opt": self.opt.to_dict(),
            "test": None if self.test is None else self.test.to_dict(),
            "fits": [fit.solution.to_dict() for fit in self.fits],
        }


@dataclass(frozen=True, eq=False)
class Ablation:
    """The plain argmax and the objectives that were fitted, in the paper's order.

    Attributes
    ----------
    rows : tuple of AblationRow
        The plain argmax first.
    opt, test : str or None
        Where the rows come from.
    classes : tuple of str
    scale : str
    solver : str
    seeds : tuple of int
    interrupted : bool
        Whether Ctrl-C stopped it; unfinished fits are left out.
    """

    rows: tuple[AblationRow, ...]
    opt: str
    test: str | None
    classes: tuple[str, ...]
    scale: str
    solver: str
    seeds: tuple[int, ...]
    interrupted: bool

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip ablate --json`` prints."""
        return {
            "opt": path_text(self.opt),
            "test": None if self.test is None else path_text(self.test),
            "classes": list(self.classes),
            "scale": self.scale,
            "solver": self.solver,
            "seeds": list(self.seeds),
            "interrupted": self.interrupted,
            "rows": [row.to_dict() for row in self.rows],
        }


def ablate(
    opt: ProbabilityTable,
    test: ProbabilityTable | None = None,
    objective: Objective | None = None,
    *,
    scale: int | str = 30,
    solver: str | Solver = "coordinate",
    seeds: Sequence[int] = (0,),
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Ablation:
    """Fit the paper's seven objectives (section 5.5) on an opt set, and score them.

    The fits are plain optima: robust fits would hide the differences between the objectives.

    Parameters
    ----------
    opt : ProbabilityTable
        Rows without a label are not used.
    test : ProbabilityTable, optional
        Other rows of the same classes.
    objective : Objective, optional
        β, τ, μ, and COBias or COBias_single, with all three terms. The published settings by
        default.
    scale : int or str, default=30
        The paper's K; as for :func:`dnip.solve`.
    solver
        As for :func:`dnip.solve`.
    seeds : sequence of int, default=(0,)
        One fit of each objective per seed.
    time_limit : float, optional
        Seconds of each fit.
    progress : callable, optional
        Called before every fit with the objective, the number of the fit, and the number of all.

    Returns
    -------
    Ablation

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract, test rows that are among the opt rows, or
        an objective that lacks a term already.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> found = ablate(bundled_table("opt"), bundled_table("test"))
    >>> [row.name for row in found.rows]
    ['raw', 'z1', 'z2', 'z3', 'z1+z2', 'z1-z3', 'z2-z3', 'z1+z2-z3']
    >>> raw, full = found.rows[0].test, found.rows[-1].test
    >>> full.mean("cobias") < raw.mean("cobias")
    True
    """
    base = Objective.published() if objective is None else objective
    if base.terms != Objective.TERMS:
        raise InvalidInputError(
            f"the objective keeps {', '.join(base.terms)} only, and all three terms are ablated",
            hint="Leave its terms out",
        )
    for seed in seeds:
        check_integer("seed", seed, at_least=0)
    if not seeds:
        raise InvalidInputError("seeds is empty: nothing would be fitted", hint="Give 0, say")
    if time_limit is not None:
        check_number("time_limit", time_limit, at_least=0)
    if test is not None:
        check_disjoint(opt, test)

    def fitting(variant: Objective) -> Callable[[int], Fit]:
        def fit(seed: int) -> Fit:
            fitted = fit_table(
                opt,
                variant,
                robust="off",
                scale=scale,
                solver=solver,
                seed=seed,
                time_limit=time_limit,
            )
            if fitted.solution.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return fitted

        return fit

    variants = base.ablations()
    fits = repeat(
        {name: fitting(variant) for name, variant in variants.items()}, seeds, progress, strict=True
    )
    rows = [_row(name, variants[name], found, test) for name, found in fits.complete.items()]
    return Ablation(
        rows=(_raw(opt, test), *rows),
        opt=opt.source,
        test=None if test is None else test.source,
        classes=opt.classes,
        scale=str(scale),
        solver=solver if isinstance(solver, str) else solver.name,
        seeds=tuple(seeds),
        interrupted=fits.interrupted,
    )


def _raw(opt: ProbabilityTable, test: ProbabilityTable | None) -> AblationRow:
    held_out = None if test is None else Scored((evaluate([test]).raw,))
    return AblationRow("raw", None, (), Scored((evaluate([opt]).raw,)), held_out)


def _row(
    name: str, objective: Objective, fits: Sequence[Fit], test: ProbabilityTable | None
) -> AblationRow:
    return AblationRow(
        name,
        objective,
        tuple(fits),
        Scored(tuple(_after(fit.evaluation.reweighted) for fit in fits)),
        None
        if test is None
        else Scored(tuple(_after(evaluate([test], f.coefficients).reweighted) for f in fits)),
    )


def _after(reweighted: Confusion | None) -> Confusion:
    assert reweighted is not None
    return reweighted
