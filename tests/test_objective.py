"""The objective: Z and what may be asked of it."""

import dataclasses
import math

import numpy as np
import pytest

import oracles
from dnip import CustomObjective, Objective
from dnip.errors import InvalidInputError
from dnip.metrics import macro_f1
from dnip.objective import ObjectiveLike
from strategies import random_confusion

ABLATIONS = {
    "z1": ("error",),
    "z2": ("cobias",),
    "z3": ("pmi",),
    "z1+z2": ("error", "cobias"),
    "z1-z3": ("error", "pmi"),
    "z2-z3": ("cobias", "pmi"),
    "z1+z2-z3": ("error", "cobias", "pmi"),
}


@pytest.mark.parametrize("n_missing", [0, 2])
@pytest.mark.parametrize("gap", ["pairwise", "single"])
@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_equals_the_plain_objective(name, gap, n_missing):
    rng = np.random.default_rng(0)
    objective = Objective(1.3, 0.7, 5.0, gap=gap).ablations()[name]
    for n_classes in (4, 7):
        confusion = random_confusion(rng, n_classes, n_missing)
        plain = oracles.objective(confusion, 1.3, 0.7, 5.0, ABLATIONS[name], gap)
        assert objective(confusion) == pytest.approx(plain, abs=1e-12)


def test_ablations_change_nothing_but_the_terms():
    whole = Objective(1.3, 0.7, 5.0, gap="single")
    ablations = whole.ablations()
    assert list(ablations) == list(ABLATIONS)
    for name, terms in ABLATIONS.items():
        assert ablations[name] == dataclasses.replace(whole, terms=terms)


def test_terms_are_reported_unweighted_also_where_left_out():
    confusion = [[8, 2], [4, 6]]
    terms = Objective(beta=9.0, tau=9.0, smoothing=5.0, terms=("error",)).terms_of(confusion)
    assert terms == pytest.approx(
        {
            "error": 0.3,
            "cobias": 0.2,
            "cobias_single": 0.2,
            "pmi": sum(oracles.pmi(np.array(confusion), 5.0)),
        }
    )


def test_published_settings():
    assert Objective.published().to_dict() == {
        "beta": 2.7,
        "tau": 0.2,
        "smoothing": 4000.0,
        "terms": ["error", "cobias", "pmi"],
        "gap": "pairwise",
    }
    assert Objective() == dataclasses.replace(Objective.published(), smoothing=1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": -0.1}, "beta must be a finite number at least 0; got -0.1"),
        ({"beta": math.nan}, "beta must be .* got nan"),
        ({"beta": "2.7"}, "beta must be .* got '2.7'"),
        ({"tau": math.inf}, "tau must be .* got inf"),
        ({"tau": True}, "tau must be .* got True"),
        ({"smoothing": 0}, "smoothing must be a finite number above 0; got 0"),
        ({"gap": "worst"}, "gap must be one of pairwise, single; got 'worst'"),
        ({"terms": ("error", "z4")}, "terms must be one of error, cobias, pmi; got 'z4'"),
        ({"terms": ()}, "terms must keep at least one of error, cobias, pmi"),
    ],
)
def test_refuses_bad_settings(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Objective(**settings)


def test_zero_weights_are_settings_like_any_other():
    confusion = [[8, 2], [4, 6]]
    assert Objective(beta=0, tau=0)(confusion) == pytest.approx(0.3)


def test_a_custom_objective_is_the_function():
    custom = CustomObjective(macro_f1)
    assert isinstance(custom, ObjectiveLike)
    assert custom([[8, 2], [2, 8]]) == pytest.approx(0.8)
    assert custom.terms_of([[8, 2], [4, 6]]) == Objective().terms_of([[8, 2], [4, 6]])
    assert custom.to_dict() == {"function": "macro_f1"}
    assert CustomObjective(macro_f1, name="F1").to_dict() == {"function": "F1"}


def test_costs_take_the_place_of_the_error():
    rng = np.random.default_rng(0)
    confusion = rng.integers(0, 20, (3, 3))
    costs = rng.uniform(0, 3, (3, 3))
    objective = Objective(costs=costs)
    expected = Objective()(confusion) - oracles_error(confusion)
    expected += (costs * confusion).sum() / confusion.sum()
    assert objective(confusion) == pytest.approx(expected, abs=1e-12)
    terms = objective.terms_of(confusion)
    assert terms["error"] == pytest.approx(oracles_error(confusion))
    assert terms["cost"] == pytest.approx((costs * confusion).sum() / confusion.sum())
    assert objective.to_dict()["costs"] == costs.tolist()
    assert "costs" not in Objective().to_dict()
    assert hash(objective) == hash(Objective(costs=costs.tolist()))


def oracles_error(confusion):
    return 1 - np.trace(confusion) / confusion.sum()


def test_costs_of_one_for_every_error_are_the_error():
    confusion = np.array([[5, 2, 0], [1, 7, 3], [0, 4, 6]])
    unit = Objective(costs=1 - np.eye(3))
    assert unit(confusion) == pytest.approx(Objective()(confusion), abs=1e-12)


def test_ablations_keep_costs_where_they_keep_the_error():
    ablations = Objective(costs=[[0, 1], [2, 0]]).ablations()
    assert {name for name, one in ablations.items() if one.costs is not None} == {
        name for name, one in ablations.items() if "error" in one.terms
    }


def test_costs_need_the_error_to_take_the_place_of():
    with pytest.raises(InvalidInputError, match="terms leaves the error out"):
        Objective(terms=("cobias",), costs=[[0, 1], [1, 0]])
