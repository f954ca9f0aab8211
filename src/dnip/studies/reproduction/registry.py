"""All experiments by name; a module is imported when its experiment is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dnip.studies.reproduction.experiment import no_such_experiment

if TYPE_CHECKING:
    from dnip.studies.reproduction.experiment import Experiment

#: The word for every experiment.
ALL = "all"

#: Name on the command line to module and class, in the order of the report.
_PLACES = {
    "main": "main_results:MainResults",
    "confusion": "confusion:ConfusionMatrix",
    "time": "solve_times:SolveTimes",
    "kde": "densities:Densities",
    "prior-methods": "prior_methods:PriorMethods",
    "ablation": "ablation:Ablation",
    "label-order": "label_order:LabelOrder",
    "cot": "chain_of_thought:ChainOfThoughtAgainstPlain",
    "single": "single:Single",
    "overview": "overview:Overview",
    "opt-size": "opt_sizes:OptSizes",
    "convergence": "convergence:Convergence",
}

EXPERIMENTS = tuple(_PLACES)


def load_experiments(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of a name, or all of them.

    Raises
    ------
    InvalidInputError
        If there is none of this name.

    Examples
    --------
    >>> [experiment.paper for experiment in load_experiments("confusion")]
    ['Table 1']
    """
    if name == ALL:
        return tuple(_load(place) for place in _PLACES.values())
    if name not in _PLACES:
        raise no_such_experiment(name, EXPERIMENTS)
    return (_load(_PLACES[name]),)


def _load(place: str) -> Experiment:
    module, _, kind = place.partition(":")
    return cast("Experiment", getattr(import_module(f"dnip.studies.reproduction.{module}"), kind)())
