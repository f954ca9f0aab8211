"""Means over runs and over tasks, and the tables and bars of them."""

from statistics import fmean, stdev

import pytest

from dnip.presenting.artefacts import Spread
from reproduction.comparison import ALL, VariantComparison
from results import results

RUNS = {
    ("a", 0): {"raw": {"accuracy": 0.5}, "z": {"accuracy": 0.6}},
    ("a", 1): {"raw": {"accuracy": 0.7}, "z": {"accuracy": 0.9}},
    ("b", 0): {"raw": {"accuracy": 0.1}, "z": None},
    ("b", 1): {"raw": {"accuracy": 0.2}, "z": None},
}


@pytest.fixture
def compared():
    found = results(*(({"task": t, "seed": s}, runs) for (t, s), runs in RUNS.items()))
    return VariantComparison.of(found, {name: (name,) for name in ("raw", "z", "absent")})


def test_all_is_the_mean_over_tasks_run_by_run(compared):
    of_runs = [fmean([0.5, 0.1]), fmean([0.7, 0.2])]
    found = compared.spread("raw", ALL, "accuracy")
    assert found.mean == pytest.approx(fmean(of_runs))
    assert found.deviation == pytest.approx(stdev(of_runs))


def test_all_is_empty_where_a_variant_lacks_a_task(compared):
    assert compared.spread("z", ALL, "accuracy") is None
    assert compared.spread("z", "a", "accuracy") == Spread.of([0.6, 0.9])
    assert compared.spread("z", "b", "accuracy") is None


def runs(*values, constant=()):
    """One run of each task, by value of x; the named tasks are answered with one class."""
    names = "abcd"[: len(values)]
    return {
        task: {0: {"x": value, "constant": "no" if task in constant else None}}
        for task, value in zip(names, values, strict=True)
    }


def test_lower_is_what_exceeds_the_standard_error_over_tasks():
    base = runs(0.5, 0.5, 0.5, 0.5)
    one = VariantComparison(tuple("abcd"), {"base": base, "down": runs(0.4, 0.45, 0.42, 0.41)})
    assert one.is_lower("down", "base", "x")
    assert not one.is_lower("base", "down", "x")
    # mean difference -0.01 with a standard error of 0.06
    noisy = VariantComparison(tuple("abcd"), {"base": base, "noise": runs(0.6, 0.4, 0.6, 0.36)})
    assert not noisy.is_lower("noise", "base", "x")
    assert not noisy.is_lower("base", "base", "x")
    single = VariantComparison(("a",), {"base": runs(0.5), "down": runs(0.49)})
    assert single.is_lower("down", "base", "x")
