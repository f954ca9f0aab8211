"""Forms of the objective that bounds and proofs must hold for."""

from dnip import Objective

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
