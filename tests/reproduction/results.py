"""Results and tables that test files of the experiments share."""

import numpy as np

from dnip import Objective, ProbabilityTable
from dnip.fitting.fit import fit
from dnip.solvers import Anneal
from reproduction.degenerate import score
from reproduction.experiment import Claim
from reproduction.plan import ReproductionPlan
from reproduction.registry import load_experiments
from reproduction.results import CellResult, Results

PLAN = ReproductionPlan(name="test", tasks=("agnews",), seeds=(0, 1))


def starving_table(n_rows, seed, n_classes=3):
    """Probabilities in which the last class is starved, with class names."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_rows)
    logits = rng.normal(size=(n_rows, n_classes))
    logits[np.arange(n_rows), labels] += 1.5
    logits[:, -1] -= 2
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    return ProbabilityTable(p, labels, classes=tuple("abcdefgh"[:n_classes]))


def results(*pairs):
    """Results of (labels, result) pairs."""
    shared = {"model": "m", "shots": None, "seed": 0}
    return Results(tuple(CellResult({**shared, **labels}, found) for labels, found in pairs))


def experiment(name, **options):
    """An experiment with options of its own."""
    (found,) = load_experiments(name, PLAN.model_copy(update={"experiments": {name: options}}))
    return found


def presented(name, *cells, **options):
    """What an experiment makes of some cells."""
    return experiment(name, **options).present(results(*cells))


METHODS = ("paper", "authors", "optimum", "ours")
GOAL = Objective.published()


def plain_fits(rows, seed, methods=METHODS):
    """What each method is: a plain fit of the rows."""
    solvers = {"paper": Anneal.paper(), "authors": Anneal(), "optimum": "coordinate"}
    settings = {"robust": "off", "scale": 30, "seed": seed}
    return {
        name: fit(rows, seed=seed, evidence=False)
        if name == "ours"
        else fit(rows, objective=GOAL, solver=solvers[name], **settings, evidence=False)
        for name in methods
    }


def scored(confusion, classes="xyzuvw"):
    """All scores of a confusion matrix."""
    return score(np.array(confusion), classes)


def of_kind(artefacts, kind):
    return [artefact for artefact in artefacts if isinstance(artefact, kind)]


def verdicts(artefacts):
    """Verdicts of the claims among artefacts."""
    return [artefact.holds for artefact in of_kind(artefacts, Claim)]
