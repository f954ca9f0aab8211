"""Forms of the objective that bounds and proofs must hold for."""

from itertools import combinations

from dnip import Objective

#: The terms that an objective may keep.
ABLATIONS = [terms for size in (1, 2, 3) for terms in combinations(Objective.TERMS, size)]
OBJECTIVES = [
    Objective(),
    Objective(tau=0.2),
    Objective(tau=0.2, smoothing=1.0),
    Objective(beta=10, tau=1, smoothing=0.01),
    Objective(beta=1, tau=0),
    Objective(beta=0, tau=0.2, smoothing=4000),
    Objective(terms=("cobias",)),
    Objective(tau=0.2, smoothing=1.0, terms=("pmi",)),
    Objective(tau=0.2, gap="single"),
]
