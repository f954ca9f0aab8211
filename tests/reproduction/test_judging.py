"""Scores, their intervals, and verdicts."""

import re

import numpy as np
import pandas as pd
import pytest

from dnip import metrics
from reproduction.judging import (
    DRAWS,
    Scores,
    Unjudged,
    change,
    count_pairs,
    in_words,
    interval,
    judge,
    scores_of,
)

RNG = np.random.default_rng(0)


def test_scores_are_those_of_the_package_class_without_rows_included():
    counts = RNG.integers(0, 20, (30, 4, 4)).astype(float)
    counts[:5, 2] = 0
    counts[7] = np.diag([3, 4, 5, 6])
    found = scores_of(counts)
    for at, one in enumerate(counts):
        expected = metrics.scores(one.astype(int), with_counts=False)
        for name, values in found.items():
            assert values[at] == pytest.approx(expected[name]), (at, name)


def test_weighted_counts_are_those_of_repeated_rows():
    labels, predicted = RNG.integers(0, 3, (2, 50))
    weights = RNG.integers(0, 3, (4, 50))
    found = count_pairs(labels, predicted, 3, weights)
    for one, w in zip(found, weights, strict=True):
        again = metrics.confusion_matrix(np.repeat(labels, w), np.repeat(predicted, w), 3)
        np.testing.assert_array_equal(one, again)


def results(n_rows=400, better=0.3):
    """Two tasks, two methods, two seeds; the second method answers better."""
    rows = []
    for task in ("a", "b"):
        labels = np.arange(n_rows) % 3
        for seed in (0, 1):
            for method, rate in {"raw": 0.4, "new": 0.4 + better}.items():
                right = RNG.random(n_rows) < rate
                predicted = np.where(right, labels, (labels + 1) % 3)
                row = {"task": task, "shots": "1", "seed": seed, "method": method}
                rows.append({**row, "n_classes": 3, "labels": labels, "predicted": predicted})
    return pd.DataFrame(rows)


def verdict(of, tasks=("a", "b"), sign=1):
    s = Scores(of, tasks)

    def contrast():
        return {"rises by": sign * (s.mean("new", "accuracy") - s.mean("raw", "accuracy"))}

    return judge("main", ("says", "paper"), contrast)


def test_means_are_over_seeds_then_tasks_and_intervals_hold_them():
    of = results()
    own = of[of.method == "new"]
    own = own.assign(accuracy=[(r.labels == r.predicted).mean() for r in own.itertuples()])
    expected = own.groupby("task").accuracy.mean().mean()
    values = Scores(of, ("a", "b")).mean("new", "accuracy")
    assert values.shape == (1 + DRAWS,)
    estimate, low, high = interval(values)
    assert estimate == pytest.approx(expected)
    assert low < estimate < high
    assert 0.03 < high - low < 0.12  # that of 800 rows is .064, and seeds add to it


def test_a_claim_holds_fails_stays_open_or_is_not_judged():
    assert verdict(results()).verdict == "holds"
    assert verdict(results(), sign=-1).verdict == "does not hold"
    assert verdict(results(better=0.0)).verdict == "open"
    few = verdict(results(n_rows=199))
    assert (few.verdict, few.ours) == ("not judged", "a has fewer than 200 test rows")
    lacking = verdict(results(), tasks=("a", "b", "c"))
    assert (lacking.verdict, lacking.ours) == ("not judged", "c has no 1-shot rows")


def test_a_contrast_below_0_says_the_opposite():
    assert (
        in_words("COBias lower by", -0.104, -0.138, 0.004) == "COBias higher by 10.4 (−0.4 to 13.8)"
    )
    assert in_words("COBias lower by", 0.01, -0.02, 0.04) == "COBias lower by 1.0 (−2.0 to 4.0)"
    assert in_words("gap", -0.01, -0.02, 0.04) == "gap −1.0 (−2.0 to 4.0)"


def test_a_relative_change_stays_above_minus_100_per_cent():
    before = 0.5 + RNG.normal(0, 0.02, 1 + DRAWS)
    after = 0.06 + RNG.normal(0, 0.01, 1 + DRAWS)  # gaps of resampled rows are larger
    after[0] = 0.03
    told = change(after, before).replace("−", "-")
    value, low, high = map(float, re.findall(r"-[\d.]+", told))
    assert 2 * after[0] < np.quantile(after, 0.975)  # the difference would fall below 0
    assert -100 < low < high < 0
    assert value == pytest.approx(100 * (after[0] / before[0] - 1), abs=0.05)


def test_no_task_is_left_out_for_its_scores():
    of = results()
    constant = of.task == "b"
    of.loc[constant, "predicted"] = of.loc[constant, "predicted"].map(np.zeros_like)
    scores = Scores(of, ("a", "b"))
    own = scores.of_task("a", "new", "cobias")[0]
    assert scores.mean("new", "cobias")[0] == pytest.approx((own + 2 / 3) / 2)
    with pytest.raises(Unjudged):
        scores.of_task("a", "no such method", "cobias")
