"""Arrays as users have them change nothing or are refused; a time limit holds in every search."""

import numpy as np
import pytest

from cases import cases
from dnip import (
    Coefficients,
    InvalidInputError,
    Objective,
    ProbabilityTable,
    Status,
    evaluate,
    solve,
)
from dnip.fitting.fit import fit
from dnip.solvers import landscape
from dnip.solvers.anneal import Anneal
from strategies import random_probabilities

pytestmark = pytest.mark.filterwarnings("ignore:no labelled example")

RNG = np.random.default_rng(0)
P = random_probabilities(RNG, 700, 6, "mixed")
Y = np.where(RNG.random(700) < 0.6, P.argmax(axis=1), RNG.integers(6, size=700))


def on_disk(array, folder):
    np.save(folder / "array.npy", array)
    return np.load(folder / "array.npy", mmap_mode="r")


FORMS = {
    "read-only, on disk": on_disk,
    "strided": lambda a, _: np.repeat(np.repeat(a, 2, axis=0), 3, axis=-1)[::2, ::3],
    "backward": lambda a, _: a[::-1].copy()[::-1],
    "by column": lambda a, _: np.asfortranarray(a),
    "other end first": lambda a, _: a.astype(a.dtype.newbyteorder()),
    "a list": lambda a, _: a.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_layouts_lead_to_the_same_weights(tmp_path, form):
    p = FORMS[form](P, tmp_path)
    labels = np.repeat(Y, 2)[::2].astype(np.uint8)
    np.testing.assert_array_equal(solve(p, labels).weight_indices, solve(P, Y).weight_indices)
    table = ProbabilityTable(np.asarray(p), labels)
    usual = fit(ProbabilityTable(P, Y), evidence=False).coefficients
    np.testing.assert_array_equal(
        fit(table, evidence=False).coefficients.multipliers, usual.multipliers
    )


@pytest.mark.parametrize("call", [solve, fit, evaluate])
def test_more_classes_than_can_be_counted_are_refused(call):
    with pytest.raises(InvalidInputError, match=r"4,001 classes; .* at most 4,000"):
        call(np.full((2, 4_001), 1 / 4_001), [0, 1])


def test_one_row_and_100_000_columns_can_be_predicted():
    wide = Coefficients([str(c) for c in range(100_000)], np.arange(100_000) % 30 + 1, 30)
    p = np.full((1, 100_000), 1e-5)
    assert wide.predict(p).tolist() == ["29"]


# --- time limits ---
def draw(n_rows, n_classes):
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(n_classes), n_rows), rng.integers(0, n_classes, n_rows)


@cases(
    {"scale": 30},
    {"scale": "log:1000"},
    {"solver": "exact", "scale": 30},
    {"solver": Anneal(t_min=1e-9, cooling=0.9999), "scale": 30},
    {"objective": Objective(gap="single")},
    {"objective": lambda confusion: 1 - np.trace(confusion) / confusion.sum()},
)
def test_a_search_looks_at_the_clock_long_before_it_is_through_all_classes(ticking, settings):
    solution = solve(*draw(300, 1_500), **settings, time_limit=3)
    assert solution.status is Status.TIME_LIMIT
    assert solution.evaluations < 1_500 * solution.scale.size
    assert solution.value <= solution.trace[0].value


@pytest.mark.parametrize("robust", ["off", "auto", "on"])
def test_so_does_a_fit(ticking, robust):
    table = ProbabilityTable(*draw(60, 1_500))
    solution = fit(table, robust=robust, time_limit=3, evidence=False).solution
    assert solution.status is Status.TIME_LIMIT
    assert solution.evaluations < 1_500 * solution.scale.size


def test_a_descent_in_steps_is_the_descent_in_one(monkeypatch):
    p, y = draw(200, 12)
    whole = solve(p, y)
    monkeypatch.setattr(landscape, "_CELLS", 1)
    stepwise = solve(p, y)
    np.testing.assert_array_equal(stepwise.weight_indices, whole.weight_indices)
    assert (stepwise.value, stepwise.evaluations) == (whole.value, whole.evaluations)
