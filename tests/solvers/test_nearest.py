"""Constraints that cannot be kept: what is told can be reached, and no more can."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from dnip import Constraints, solve
from dnip.base.errors import DNIPWarning, InfeasibleError
from dnip.solvers import Coordinate, Proposal, Solver
from problems import KNOWN
from strategies import KINDS, random_probabilities, seeded

THREE = KNOWN["three classes"]
FOUR = KNOWN["four classes"]
SCALE = 8


def counts(p, labels, frozen=()):
    """Confusion counts of all points."""
    return [
        oracles.confusion_at(p, labels, point)
        for point in oracles.every_point(p.shape[1], SCALE)
        if all(point[c] == SCALE for c in frozen)
    ]


def refusal(p, labels, constraints, solver="exact", **settings):
    with pytest.raises(InfeasibleError) as caught:
        solve(p, labels, scale=SCALE, solver=solver, constraints=constraints, **settings)
    return caught.value


@pytest.mark.parametrize("solver", ["exact", "exhaustive", "coordinate"])
@settings(seeded, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    frozen=st.sampled_from([(), (1,)]),
)
def test_the_nearest_values_are_those_of_enumeration(solver, seed, kind, frozen):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, 50, 3, kind)
    labels = np.append(np.arange(3), rng.integers(3, size=47))
    asked = Constraints(0.0, {0: 0.9, 2: 0.8}, frozen, allow_silence=True)
    raw = oracles.confusion_at(p, labels, [1, 1, 1])
    points = counts(p, labels, frozen)
    if any(oracles.keeps(confusion, raw, 0.0, {0: 0.9, 2: 0.8}) for confusion in points):
        return
    error = refusal(p, labels, asked, solver)
    proven = solver != "coordinate"
    assert ("no weights on this scale satisfy" in str(error)) == proven
    tables = {
        "class 0": (None, {2: 0.8}, 0.0, lambda c: oracles.class_accuracies(c)[0]),
        "class 2": (None, {0: 0.9}, 0.0, lambda c: oracles.class_accuracies(c)[2]),
        "accuracy loss": (
            None,
            {0: 0.9, 2: 0.8},
            None,
            lambda c: (np.trace(raw) - np.trace(c)) / c.sum(),
        ),
    }
    assert error.nearest
    for name, reach in error.nearest.items():
        _, least, max_loss, measure = tables[name]
        others = [c for c in points if oracles.keeps(c, raw, max_loss, least)]
        values = [measure(c) for c in others]
        best = (min if name == "accuracy loss" else max)(values, default=None)
        assert reach["with_others"] == (None if best is None else pytest.approx(best))
        assert reach["proven"] or not proven
        if name != "accuracy loss":
            assert reach["alone"] == pytest.approx(max(measure(c) for c in points))


@pytest.mark.parametrize("solver", ["exact", "coordinate"])
def test_what_every_class_can_reach(solver):
    worst = max(min(oracles.class_accuracies(c)) for c in counts(THREE.p, THREE.labels))
    error = refusal(THREE.p, THREE.labels, Constraints(None, {"all": 0.95}), solver)
    reach = error.nearest["every class"]
    assert worst - 0.001 <= reach["with_others"] <= worst + 1e-12
    assert reach["proven"] == (solver == "exact")


def test_what_is_asked_of_every_class_where_each_has_a_floor_of_its_own():
    error = refusal(THREE.p, THREE.labels, Constraints(None, {"all": 0.9, 0: 0.9, 1: 0.9, 2: 0.9}))
    assert error.nearest
    assert all(name.startswith("class ") for name in error.nearest)


def test_no_weights_reach_more_than_is_told_also_where_a_class_has_no_examples():
    rows = FOUR.labels != 2
    p, labels = FOUR.p[rows], FOUR.labels[rows]
    with pytest.warns(DNIPWarning, match="class 2"):
        error = refusal(p, labels, Constraints(0.0, {0: 1.0, 3: 1.0}), "coordinate")
    most = max(oracles.class_accuracies(c)[3] for c in counts(p, labels))
    assert error.nearest["class 3"]["alone"] == pytest.approx(most)


def test_what_is_told_can_be_asked_for():
    asked = {0: 0.9, 1: 0.9}
    error = refusal(THREE.p, THREE.labels, Constraints(None, asked))
    told = dict(re.findall(r"class (\d) at least 0.9: ([0-9.]+) is the nearest", str(error)))
    assert set(told) == {"0", "1"}
    for name, rate in told.items():
        constraints = Constraints(None, {**asked, int(name): float(rate)})
        solve(THREE.p, THREE.labels, scale=SCALE, solver="exact", constraints=constraints)
        above = Constraints(None, {**asked, int(name): float(rate) + 0.001})
        refusal(THREE.p, THREE.labels, above)


def test_the_message_names_constraints_values_and_a_remedy():
    error = refusal(THREE.p, THREE.labels, Constraints(0.0, {0: 0.9, 1: 0.9}), "coordinate")
    assert re.fullmatch(
        r"no weights were found that satisfy all constraints on the labelled rows: .*"
        r"class 0 at least 0\.9: .*\. All together they come nearest with .*\. "
        r"Ask for what can be reached, or take the exact solver to know for sure",
        str(error),
    )
    single = refusal(THREE.p, THREE.labels, Constraints(None, {0: 1.0}, [1, 2]), "exact")
    assert re.fullmatch(
        r"no weights on this scale satisfy the constraint on the labelled rows: "
        r"class 0 at least 1: 0\.\d+ is the nearest, as is proven. Ask for what can be reached",
        str(single),
    )


def test_the_end_of_time_leaves_what_was_found():
    error = refusal(THREE.p, THREE.labels, Constraints(None, {"all": 0.95}), time_limit=0.0)
    assert "was found" in str(error)
    assert error.nearest["every class"]["with_others"] is None


class Lost(Solver):
    """Searches nowhere, but at the raw argmax."""

    name = "lost"

    def search(self, landscape, rng):
        yield Proposal(*landscape.stand(landscape.equal_weights()))


def test_constraints_that_are_kept_after_all_are_no_error():
    p, labels = THREE.p, THREE.labels
    worst = max(min(oracles.class_accuracies(c)) for c in counts(p, labels))
    asked = Constraints(None, {"all": worst})
    assert min(oracles.class_accuracies(oracles.confusion_at(p, labels, [1, 1, 1]))) < worst
    solution = solve(p, labels, scale=SCALE, solver=Lost(), constraints=asked)
    assert min(oracles.class_accuracies(solution.confusion)) == pytest.approx(worst)
    plain = solve(p, labels, scale=SCALE, solver=Coordinate(), constraints=asked)
    assert solution.value >= plain.value - 1e-12
