"""Real tables: thousands of rows, many of them tied."""

import numpy as np
import pytest

import oracles
from dnip import Objective, ProbabilityTable, solve
from dnip.solvers import Anneal


@pytest.fixture(params=["emotion4__qwen-7b__task_icl1", "sst2__unnamed-llm"])
def opt_set(request, shared_tables):
    return ProbabilityTable.read(shared_tables / request.param / "opt.csv.gz")


@pytest.mark.parametrize("smoothing", [1.0, 4000.0])
def test_coordinate_is_no_worse_than_the_published_annealings(opt_set, smoothing):
    p, labels = opt_set.probabilities, opt_set.labels
    objective = Objective(tau=0.2, smoothing=smoothing)
    found = solve(p, labels, objective, scale=30)
    for solver, n_seeds in (Anneal.paper(), 1), (Anneal(), 20):
        for seed in range(n_seeds):
            annealed = solve(p, labels, objective, scale=30, solver=solver, seed=seed)
            assert found.value <= annealed.value + 1e-12
    confusion = oracles.confusion_at(p, labels, found.weight_indices)
    np.testing.assert_array_equal(found.confusion, confusion)
    z = oracles.objective(confusion, tau=0.2, mu=smoothing)
    assert found.value == pytest.approx(z, abs=1e-12)


@pytest.mark.parametrize("smoothing", [1.0, 4000.0])
@pytest.mark.parametrize("beta", [0.0, 2.7, 10.0])
def test_exact_proves_what_coordinate_finds(shared_tables, beta, smoothing):
    table = ProbabilityTable.read(shared_tables / "mmlu16__llama-13b__gptprompt0" / "opt.csv.gz")
    p, labels = table.probabilities, table.labels
    objective = Objective(beta=beta, tau=0.2, smoothing=smoothing)
    proven = solve(p, labels, objective, solver="exact")
    assert (proven.status, proven.gap) == ("optimal", 0.0)
    assert proven.value == pytest.approx(solve(p, labels, objective).value, abs=1e-9)
