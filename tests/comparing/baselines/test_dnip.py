"""DNIP behind the interface of all methods is what the package fits elsewhere."""

import numpy as np
import pytest

from dnip import Objective, solve
from dnip.comparing.baselines import AuthorsDNIP, OptSet, OurDNIP, PaperDNIP, PlainDNIP
from dnip.solvers import Anneal
from robustly import solve_robustly
from strategies import random_probabilities


@pytest.fixture
def opt():
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 300, 3, "tied")
    return OptSet.of(p, rng.integers(3, size=300), unlabelled=random_probabilities(rng, 90, 3))


@pytest.mark.parametrize(
    ("method", "solver"), [(PaperDNIP(), Anneal.paper()), (AuthorsDNIP(), "anneal")]
)
def test_the_published_methods_are_annealing(opt, method, solver):
    settings = {"scale": 30, "solver": solver, "seed": 7}
    found = solve(opt.probabilities, opt.labels, Objective.published(), **settings)
    fitted = method.fit(opt, seed=7)
    assert (fitted.weights == found.weight_indices).all()
    assert fitted.to_dict()["objective"] == found.value


@pytest.mark.parametrize("scale", [30, "log:20"])
def test_the_plain_one_is_solve(opt, scale):
    found = solve(opt.probabilities, opt.labels, Objective(1.0), scale=scale, seed=2)
    fitted = PlainDNIP(Objective(1.0), scale).fit(opt, seed=2)
    expected = (found.weights * opt.probabilities).argmax(axis=1)
    assert (fitted.predict(opt.probabilities) == expected).all() or scale == 30
    if scale == 30:
        assert (fitted.weights == found.weight_indices).all()


def test_ours_reads_the_unlabelled_rows(opt):
    found, decision, _ = solve_robustly(opt.probabilities, opt.labels, unlabelled=opt.unlabelled)
    fitted = OurDNIP().fit(opt)
    assert (fitted.weights == found.weights).all()
    assert fitted.to_dict()["robust"] == decision.to_dict()
    assert decision.n_unlabelled == 90
