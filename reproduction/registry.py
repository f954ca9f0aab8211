"""All experiments by name; a module is imported when its experiment is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from reproduction.experiment import Experiment
    from reproduction.plan import ReproductionPlan

#: The word for every experiment.
ALL = "all"

# Name on the command line, module and class, in the order of the report.
_PLACES = {
    "main": ("main_results", "MainResults"),
    "confusion": ("confusion", "ConfusionMatrix"),
    "time": ("solve_times", "SolveTimes"),
    "kde": ("densities", "Densities"),
    "prior-methods": ("prior_methods", "PriorMethods"),
    "ablation": ("objectives", "Ablation"),
    "label-order": ("label_order", "LabelOrder"),
    "cot": ("chain_of_thought", "ChainOfThought"),
    "single": ("objectives", "Single"),
    "overview": ("overview", "Overview"),
    "opt-size": ("opt_sizes", "OptSizes"),
    "convergence": ("convergence", "Convergence"),
}

EXPERIMENTS = tuple(_PLACES)


def load_experiments(name: str, plan: ReproductionPlan) -> tuple[Experiment, ...]:
    """Return the experiment of a name, or all of them, with the options of a plan.

    Raises
    ------
    InvalidInputError
        If there is no experiment of this name, or the plan sets wrong options for any experiment.

    Examples
    --------
    >>> from reproduction.plan import load_plan
    >>> [experiment.paper for experiment in load_experiments("confusion", load_plan("quick"))]
    ['Table 1']
    """
    if name not in (*EXPERIMENTS, ALL):
        raise InvalidInputError(
            f"there is no experiment {name!r}", hint=f"Name one of {', '.join(EXPERIMENTS)}, or all"
        )
    for named in plan.experiments:
        if named not in EXPERIMENTS:
            raise InvalidInputError(
                f"plan {plan.name}: unknown key experiments.{named}",
                hint=f"Experiments are {', '.join(EXPERIMENTS)}",
            )
        _load(named, plan)  # wrong options are refused even where the experiment does not run
    return tuple(_load(one, plan) for one in (EXPERIMENTS if name == ALL else (name,)))


def _load(name: str, plan: ReproductionPlan) -> Experiment:
    module, kind = _PLACES[name]
    found = getattr(import_module(f"reproduction.experiments.{module}"), kind)
    experiment: Experiment = found(plan)
    return experiment
