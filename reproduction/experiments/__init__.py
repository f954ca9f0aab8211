"""The experiments by name, in the order of the paper."""

from reproduction.experiments import classes, main, objectives, opt_size, reasoning, solving
from reproduction.experiments.base import Experiment, Run

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        main.MAIN,
        classes.CONFUSION,
        solving.TIME,
        classes.DENSITIES,
        main.PRIOR,
        objectives.ABLATION,
        classes.LABEL_ORDER,
        reasoning.REASONING,
        objectives.SINGLE_GAP,
        classes.OVERVIEW,
        opt_size.OPT_SIZE,
        solving.CONVERGENCE,
        solving.SCALE_SIZES,
    )
}

__all__ = ["EXPERIMENTS", "Experiment", "Run"]
