"""The objective: Z and what may be asked of it; cost matrices from arrays and files."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from cases import cases
from dnip import CustomObjective, InvalidInputError, Objective, solve
from dnip.method.objective import Costs, ObjectiveLike, as_objective
from dnip.metrics import confusion_matrix, macro_f1
from strategies import ABLATIONS, SEEDS, random_confusion, seeded


@pytest.mark.parametrize("n_missing", [0, 2])
@pytest.mark.parametrize("gap", ["pairwise", "single"])
@pytest.mark.parametrize("terms", ABLATIONS, ids="+".join)
def test_every_ablation_equals_the_plain_objective(terms, gap, n_missing):
    rng = np.random.default_rng(0)
    objective = Objective(1.3, 0.7, 5.0, terms=terms, gap=gap)
    for n_classes in (4, 7):
        confusion = random_confusion(rng, n_classes, n_missing)
        plain = oracles.objective(confusion, 1.3, 0.7, 5.0, terms, gap)
        assert objective(confusion) == pytest.approx(plain, abs=1e-12)


def test_smoothing_is_in_proportion_to_the_examples_unless_it_is_given():
    assert Objective().smoothing_over(10_000) == Objective.published().smoothing == 4000.0
    assert Objective().smoothing_over(25) == 10.0
    assert Objective(smoothing=1.0).smoothing_over(10_000) == 1.0


@seeded
@given(seed=SEEDS, times=st.integers(2, 100))
def test_the_default_does_not_depend_on_how_often_every_row_is_repeated(seed, times):
    confusion = random_confusion(np.random.default_rng(seed), 4, n_missing=seed % 2)
    for objective in (Objective(), Objective(tau=0.2)):
        assert objective(times * confusion) == pytest.approx(objective(confusion), abs=1e-12)
    published = Objective(tau=0.2, smoothing=1.0)
    assert published(times * confusion) != pytest.approx(published(confusion), abs=1e-6)


def test_terms_are_reported_unweighted_also_where_left_out():
    confusion = [[8, 2], [4, 6]]
    found = Objective(beta=9.0, tau=9.0, smoothing=5.0, terms=("error",)).terms_of(confusion)
    pmi = sum(oracles.pmi(np.array(confusion), 5.0))
    assert found == pytest.approx({"error": 0.3, "cobias": 0.2, "cobias_single": 0.2, "pmi": pmi})


def test_published_settings():
    told = Objective.published().to_dict()
    assert (told["beta"], told["tau"], told["smoothing"]) == (2.7, 0.2, 4000.0)
    assert (told["terms"], told["gap"]) == (["error", "cobias", "pmi"], "pairwise")
    assert Objective() == dataclasses.replace(
        Objective.published(), beta=0.5, tau=0.0, smoothing=None
    )


@cases(
    ({"beta": -0.1}, "beta must be a finite number at least 0; got -0.1"),
    ({"tau": math.inf}, "tau must be .* got inf"),
    ({"smoothing": 0}, "smoothing must be a finite number above 0; got 0"),
    ({"gap": "worst"}, "gap must be one of pairwise, single; got 'worst'"),
    ({"terms": ("error", "z4")}, "terms must be one of error, cobias, pmi; got 'z4'"),
    ({"terms": ()}, "terms must keep at least one of error, cobias, pmi"),
    ({"terms": ("cobias",), "costs": [[0, 1], [1, 0]]}, "terms leaves the error out"),
)
def test_refuses_bad_settings(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Objective(**settings)


@cases(("balanced-accuracy", "balanced_accuracy_score"), ("macro-f1", "f1_score"))
def test_a_metric_by_name_is_that_of_scikit_learn(name, scorer):
    scorers = pytest.importorskip("sklearn.metrics")
    metric = getattr(scorers, scorer)
    average = {"average": "macro"} if name == "macro-f1" else {}
    for seed in range(20):
        labels, predicted = np.random.default_rng(seed).integers(4, size=(2, 30))
        counts = confusion_matrix(labels, predicted, 4)
        value = as_objective(name)(counts)
        assert value == pytest.approx(1 - metric(labels, predicted, **average))
    assert as_objective(name).to_dict() == {"metric": name}
    with pytest.raises(InvalidInputError, match="objective must be one of cobias, balanced-acc"):
        as_objective("f1")


def test_a_custom_objective_is_the_function():
    custom = CustomObjective(macro_f1)
    assert isinstance(custom, ObjectiveLike)
    assert custom([[8, 2], [2, 8]]) == pytest.approx(0.8)
    assert custom.terms_of([[8, 2], [4, 6]]) == Objective().terms_of([[8, 2], [4, 6]])
    assert custom.to_dict() == {"function": "macro_f1"}
    assert CustomObjective(macro_f1, name="F1").to_dict() == {"function": "F1"}


def test_what_is_no_goal_is_refused():
    with pytest.raises(InvalidInputError, match="a name, an Objective or a function; got 5"):
        as_objective(5)


def test_costs_take_the_place_of_the_error():
    rng = np.random.default_rng(0)
    confusion = rng.integers(0, 20, (3, 3))
    costs = rng.uniform(0, 3, (3, 3))
    objective = Objective(costs=costs)
    error, cost = 1 - np.trace(confusion) / confusion.sum(), oracles.mean_cost(confusion, costs)
    assert objective(confusion) == pytest.approx(Objective()(confusion) - error + cost, abs=1e-12)
    terms = objective.terms_of(confusion)
    assert (terms["error"], terms["cost"]) == pytest.approx((error, cost))
    assert objective.to_dict()["costs"] == costs.tolist()
    assert "costs" not in Objective().to_dict()
    assert hash(objective) == hash(Objective(costs=costs.tolist()))


# --- costs ---
PLAIN = [[0, 5, 1], [1, 0, 1], [2.5, 1, 0.5]]
#: The same by class.
IN_ORDER = "true,cat,dog,bird\ncat,0,5,1\ndog,1,0,1\nbird,2.5,1,0.5\n"
MIXED_UP = "\ufeff,bird,cat,dog\ndog,1,1,0\n\ncat, 1,0,5\nbird,0.5,2.5,1\n"
BY_NAME = """{"dog": {"cat": 1, "dog": 0, "bird": 1}, "cat": {"bird": 1, "cat": 0, "dog": 5},
"bird": {"cat": 2.5, "dog": 1, "bird": 0.5}}"""
CLASSES = ("cat", "dog", "bird")


@cases(
    ("costs.csv", "0,5,1\n1,0,1\n2.5,1,0.5\n"),
    ("costs.csv", IN_ORDER),
    ("costs.txt", MIXED_UP),
    ("costs.json", json.dumps(PLAIN)),
    ("costs.JSON", BY_NAME),
)
def test_every_form_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert np.array_equal(Costs.read(path).in_order(CLASSES).values, PLAIN)


@cases(
    ("c.csv", None, "there is no such file"),
    ("c.csv", b"\xff\xfe\xff", "no UTF-8 text"),
    ("c.csv", "", "is empty"),
    ("c.csv", "0,1\n1,x\n", "is not a matrix of numbers: .*'x'"),
    ("c.csv", "0,1,2\n1,0,2\n", r"shape \(2, 3\)"),
    ("c.csv", "0,1\n-1,0\n", "row 2, column 1 is -1.0"),
    ("c.csv", "0,nan\n1,0\n", "row 1, column 2 is nan"),
    ("c.csv", ",a,b\na,0,1\n", "'a' has costs for a, b, but the true classes are a"),
    ("c.csv", ",a,b\na,0,1\nb,0\n", "row 2, column 2 is nan"),
    ("c.csv", ",a,b\na,0,1,2\nb,0,1\n", "'a' has costs for a, b, None"),
    ("c.csv", ",a,b\na,0,1\na,0,1\n", "a true class appears twice"),
    ("c.csv", ",a,b,a\na,0,1,1\nb,1,0,1\n", "column a appears twice"),
    ("c.json", "{", "is not valid JSON"),
    ("c.json", "3", "neither rows of numbers nor an object of objects"),
    ("c.json", '{"a": {"a": 0}}', r"shape \(1, 1\)"),
    ("c.json", '{"a": {"a": 0, "b": 1}, "b": {"a": 0}}', "'b' has costs for a, but the true"),
    ("c.json", f"[[0, {'9' * 400}], [1, 0]]", "is not a matrix of numbers"),
    ("c.json", '{"format": "dnip-coefficients"}', "neither rows of numbers nor an object"),
)
def test_broken_files_are_refused_by_name(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInputError, match=message) as caught:
        Costs.read(path)
    assert name in str(caught.value) or "class names" in str(caught.value)


def test_costs_of_other_classes_or_of_another_number():
    with pytest.raises(InvalidInputError, match="of the classes cat, dog, bird, but"):
        Costs.of(PLAIN, CLASSES).in_order(("cat", "dog", "cow"))
    with pytest.raises(InvalidInputError, match="3 rows and columns, but there are 2 classes"):
        Costs.of(PLAIN).in_order(("cat", "dog"))
    with pytest.raises(InvalidInputError, match="3 rows, but 2 class names"):
        Costs.of(PLAIN, ("cat", "dog"))
    with pytest.raises(InvalidInputError, match="3 rows and columns, but there are 2"):
        solve([[0.9, 0.1], [0.4, 0.6]], [0, 1], Objective(costs=PLAIN))
