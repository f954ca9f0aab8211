"""The compiled objective equals the plain one, and its memo never goes stale."""

import numpy as np
import pytest
from dnip.solvers.kernels.values import MISSED, Values
from hypothesis import given, strategies as st

import oracles
from strategies import ABLATIONS, SEEDS, random_confusion, seeded

each_ablation = pytest.mark.parametrize("terms", ABLATIONS, ids="+".join)
each_gap = pytest.mark.parametrize("gap", ["pairwise", "single"])


def factors(terms, gap, beta=0.5, tau=0.2, mu=1.0):
    return {
        "error": 1.0 if "error" in terms else 0.0,
        "cobias": beta if "cobias" in terms and gap == "pairwise" else 0.0,
        "single": beta if "cobias" in terms and gap == "single" else 0.0,
        "tau": tau if "pmi" in terms else 0.0,
        "smoothing": mu,
    }


def shuffle_predictions(rng, confusion):
    """Move some or all examples to other predictions; how many are true of a class stays."""
    moved = confusion.copy()
    for i in rng.choice(len(confusion), rng.integers(1, len(confusion) + 1), replace=False):
        moved[i] = rng.multinomial(confusion[i].sum(), rng.dirichlet(np.ones(len(confusion))))
    return moved


@each_gap
@each_ablation
@seeded
@given(seed=SEEDS, n_classes=st.integers(2, 12), mu=st.sampled_from([1e-3, 1.0, 4000.0]))
def test_value_equals_the_plain_objective(terms, gap, seed, n_classes, mu):
    rng = np.random.default_rng(seed)
    confusion = random_confusion(rng, n_classes, n_missing=rng.integers(n_classes - 1))
    value = Values(confusion.sum(axis=1), **factors(terms, gap, mu=mu))
    for _ in range(4):
        z = value(confusion)
        plain = oracles.objective(confusion, tau=0.2, mu=mu, terms=terms, gap=gap)
        assert z == pytest.approx(plain, rel=1e-12, abs=1e-12)
        confusion = shuffle_predictions(rng, confusion)


@each_gap
@seeded
@given(seed=SEEDS, n_classes=st.integers(2, 8))
def test_a_used_memo_gives_what_a_new_one_gives(gap, seed, n_classes):
    rng = np.random.default_rng(seed)
    confusion = random_confusion(rng, n_classes, size=5)  # few examples: many equal accuracies
    true = confusion.sum(axis=1)
    terms = factors(ABLATIONS[-1], gap)
    used = Values(true, **terms)
    for _ in range(30):
        confusion = shuffle_predictions(rng, confusion)
        assert used(confusion) == Values(true, **terms)(confusion)


@seeded
@given(seed=SEEDS, n_classes=st.integers(2, 8))
def test_costs_add_their_mean(seed, n_classes):
    rng = np.random.default_rng(seed)
    confusion = random_confusion(rng, n_classes)
    costs = rng.uniform(0, 5, (n_classes, n_classes))
    terms = factors(("cobias", "pmi"), "pairwise")
    z = Values(confusion.sum(axis=1), **terms, costs=costs)(confusion)
    plain = oracles.objective(confusion, tau=0.2, mu=1.0, terms=("cobias", "pmi"))
    plain += oracles.mean_cost(confusion, costs)
    assert z == pytest.approx(plain, rel=1e-12, abs=1e-12)


@seeded
@given(seed=SEEDS, n_classes=st.integers(2, 8), size=st.sampled_from([3, 50, 10**6]))
def test_floors_order_points_by_what_they_miss_and_change_nothing_else(seed, n_classes, size):
    rng = np.random.default_rng(seed)
    here = random_confusion(rng, n_classes, n_missing=rng.integers(n_classes - 1), size=size)
    true = here.sum(axis=1)
    terms = factors(ABLATIONS[-1], "pairwise", beta=1e6)
    correct = np.where(true > 0, rng.integers(0, true + 1), 0)
    floor = int(rng.integers(0, true.sum() + 1))
    bound, free = Values(true, **terms, floors=correct, floor=floor), Values(true, **terms)
    seen = []
    for _ in range(8):
        counts = np.transpose([correct, np.diag(here), true]).astype(int).tolist()
        missing = sum(max(0, least - n) / of for least, n, of in counts if of)
        missing += max(0, floor - int(np.trace(here))) / int(true.sum())
        z = bound(here)
        assert bound.shortfall(here) == pytest.approx(missing)
        assert z == free(here) if missing == 0 else z > MISSED
        seen.append((missing, z))
        here = shuffle_predictions(rng, here)
    for one, z in seen:
        for other, other_z in seen:
            if one > other + 1e-12:
                assert z > other_z
