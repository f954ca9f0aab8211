"""The experiments by name, in the order of the paper."""

from reproduction.experiments import classes, main, objectives, opt_size, reasoning, solving
from reproduction.experiments.base import Experiment, Run

_MAIN = main.MAIN, classes.CONFUSION, solving.TIME, classes.DENSITIES, main.PRIOR
_MORE = objectives.ABLATION, classes.LABEL_ORDER, reasoning.REASONING
_APPENDIX = objectives.SINGLE_GAP, classes.OVERVIEW, opt_size.OPT_SIZE, solving.CONVERGENCE
ALL = (*_MAIN, *_MORE, *_APPENDIX, solving.SCALE_SIZES)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in ALL}

__all__ = ["EXPERIMENTS", "Experiment", "Run"]
