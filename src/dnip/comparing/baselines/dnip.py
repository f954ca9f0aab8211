"""DNIP itself, as in the paper and as this package fits it, behind the same interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from dnip.base.errors import unwarned
from dnip.comparing.baselines.base import ClassWeights, Method, OptSet
from dnip.fitting.robust import fit_robustly
from dnip.fitting.settings import AUTHORS, PAPER, FitSettings, Preset
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.method.scales import DEFAULT_SCALE
from dnip.method.solution import Solution
from dnip.solvers import solve


@dataclass(frozen=True)
class PaperDNIP(Method):
    """The paper's method: its annealing, β = 2.7, τ = 0.2, K = 30, and μ of the authors' code.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> PaperDNIP().fit(opt, seed=1).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "dnip-paper"
    summary = "DNIP as in the paper: its annealing, β = 2.7, τ = 0.2, K = 30; μ = 4000"
    seeded = True
    preset: ClassVar[Preset] = PAPER

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Anneal with the published settings."""
        with unwarned():  # of classes without labels: the comparison warns once for all methods
            found = solve(
                opt.probabilities,
                opt.labels,
                self.preset.objective,
                scale=self.preset.scale,
                solver=self.preset.solver,
                seed=seed,
                classes=opt.classes,
            )
        return _as_weights(found)


@dataclass(frozen=True)
class AuthorsDNIP(PaperDNIP):
    """The same with the schedule of the authors' public code: at most 6 moves a temperature."""

    name = "dnip-authors"
    summary = "DNIP as in the authors' code: 6 moves a temperature, the same settings"
    preset = AUTHORS


@dataclass(frozen=True)
class OurDNIP(Method):
    """What ``dnip fit`` does: robust where labels are few.

    Parameters
    ----------
    objective : Objective
    scale : int or str, default="log:1000"

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> PlainDNIP().fit(opt).to_dict()["terms"]["error"]
    0.0
    """

    objective: Objective = field(default_factory=Objective)
    scale: int | str = DEFAULT_SCALE

    name = "dnip"
    summary = "dnip fit, robust where labels are few"
    reads: ClassVar[tuple[str, ...]] = ("labels", "unlabelled")
    seeded = True
    robust: ClassVar[str] = "auto"

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Fit as ``dnip fit`` does."""
        with unwarned():
            problem = Problem.of(opt.probabilities, opt.labels, classes=opt.classes)
            settings = FitSettings(self.objective, robust=self.robust, scale=self.scale, seed=seed)
            found, decision, _ = fit_robustly(problem, settings, opt.unlabelled)
        return _as_weights(found, **({} if decision is None else {"robust": decision.to_dict()}))


@dataclass(frozen=True)
class PlainDNIP(OurDNIP):
    """The plain optimum: what ``dnip fit --robust off`` does."""

    name = "dnip-plain"
    summary = "dnip fit, the plain optimum"
    reads = ("labels",)
    robust = "off"


def _as_weights(found: Solution, **notes: Any) -> ClassWeights:  # noqa: ANN401 - JSON values
    told = {"weight_indices": found.weight_indices.tolist(), "scale": found.scale}
    told |= {"objective": found.value, "terms": found.terms, **notes}
    return ClassWeights(found.multipliers, told)
