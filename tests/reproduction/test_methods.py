"""The methods, and the choice of settings on dev, against plain calls."""

from itertools import product

from cases import cases
from dnip import Objective
from dnip.fitting.fit import fit_table
from dnip.solvers import Anneal
from dnip.tables.evaluation import evaluate
from reproduction.methods import best_of, choose_on_dev, cut, debias, scores_after
from reproduction.plan import DevGrid
from results import plain_fits, starving_table


@cases(
    ([(0.10, 0.60), (0.30, 0.90)], 0),  # COBias first
    ([(0.10, 0.60), (0.115, 0.61), (0.13, 0.99)], 1),  # similar: the more accurate
    ([(0.115, 0.60), (0.10, 0.60)], 1),  # equally accurate: the lower COBias
)
def test_lower_cobias_is_the_priority_and_accuracy_decides_where_it_is_similar(pairs, best):
    scores = [dict(zip(("cobias", "accuracy"), pair, strict=True)) for pair in pairs]
    assert best_of(range(len(pairs)), scores.__getitem__) == best


def test_settings_are_those_of_the_best_scores_on_dev():
    rows, dev = cut(starving_table(300, 1), 0.3)
    grid = {"beta": [0.1, 5.0], "tau": [0.0, 0.5], "scale": [4], "smoothing": [1.0, 4000.0]}
    settings, fit = choose_on_dev("authors", rows, dev, grid, seed=2)
    found = {}
    for beta, more in product((0.1, 5.0), ((0.0, 1.0), (0.5, 1.0), (0.5, 4000.0))):
        objective = Objective(beta, *more)  # without τ, no more than one smoothing
        one = fit_table(rows, objective, robust="off", scale=4, solver=Anneal(), seed=2)
        scored = evaluate([dev], coefficients=one.coefficients).to_dict()["reweighted"]
        found[beta, *more] = scored["cobias"], scored["accuracy"]
    lowest = min(gap for gap, _ in found.values())
    near = [key for key, (gap, _) in found.items() if gap <= lowest + 0.02]
    best = max(near, key=lambda key: (found[key][1], -found[key][0]))
    assert (settings["beta"], settings["tau"], settings["smoothing"]) == best
    assert scores_after(fit, dev)["cobias"] == found[best][0]


def test_every_method_is_a_plain_fit_on_the_same_rows():
    opt, test = starving_table(200, 3), starving_table(200, 4)
    without_a_grid = DevGrid().model_dump()
    found = debias(opt, test, dev_share=0.2, grid=without_a_grid, seed=1)
    rows, dev = cut(opt, 0.2)
    assert (found["n_opt"], found["n_dev"], found["n"]) == (len(rows), len(dev), 200)
    for method, fit in plain_fits(rows, seed=1).items():
        assert found[method]["weights"] == fit.coefficients.weights.tolist()
        counts = evaluate([test], coefficients=fit.coefficients).reweighted
        assert found[method]["confusion"] == counts.tolist()
