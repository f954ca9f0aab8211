"""Evidence for a fit: what it says of clear cases, of hopeless ones, and of little time."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

from dnip.bootstrap import LEAST, EvidenceSettings, assess, n_affordable
from dnip.errors import InvalidInputError

NAMES = ("World", "Sports", "Business")


def rows_of(n_each, bias, seed=0):
    """Rows whose class 0 is favoured by log-odds of `bias`."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n_each)
    scores = rng.normal(size=(len(y), 3)) + 1.2 * np.eye(3)[y] + bias * np.eye(3)[0]
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True), y


def shift(p, y):
    """A quick fit: weights that make the classes equally likely on average over the classes."""
    return 1 / np.array([p[y == c].mean(axis=0) for c in np.unique(y)]).mean(axis=0)


def judge(n_each, bias, settings=None, fit=shift, seed=0, **more):
    p, y = rows_of(n_each, bias, seed)
    return assess(
        p,
        y,
        fit(p, y),
        lambda rows, _: fit(p[rows], y[rows]),
        resamples=20,
        classes=NAMES,
        settings=settings,
        **more,
    )


def test_a_clear_gain_is_to_be_applied():
    evidence = judge(60, 1.5)
    assert evidence.apply
    assert evidence.verdict == "apply"
    assert evidence.settled
    assert evidence.sure > 0.95
    assert evidence.advice == ""
    low, high = evidence.difference["intervals"]["cobias"]
    assert low < evidence.difference["cobias"] < high < 0
    assert evidence.deviations.max() < 0.5
    assert (evidence.ranges[:, 0] <= evidence.ranges[:, 1]).all()
    assert evidence.log_weights.max() == 0


@pytest.mark.parametrize("n_each", [2, 3, 5])
def test_what_is_not_settled_asks_for_labels(n_each):
    for seed in range(40):
        evidence = judge(n_each, 0.5, seed=seed)
        assert (evidence.advice == "") == evidence.settled
        if not evidence.settled and evidence.more is not None:
            assert evidence.more.sum() > 0


def test_without_a_gain_the_raw_argmax_stays():
    for seed in range(5):
        evidence = judge(40, 0.0, seed=seed)
        assert not evidence.apply
        assert evidence.verdict == "not enough evidence, keep the raw argmax"
        assert "% sure that it falls (needed: 80%)" in evidence.reason


def test_few_labels_of_a_small_gain_ask_for_more_and_more_of_them_settle_it():
    few = judge(4, 0.8, seed=3)
    assert not few.apply
    assert not few.settled
    assert few.more.sum() > 0
    assert few.advice.startswith("About ")
    assert " more labels of " in few.advice
    assert all(name in few.advice for name, n in zip(NAMES, few.more, strict=True) if n)
    assert judge(4 + int(few.more.max()), 0.8, seed=4).settled


def test_advice_names_the_classes_that_need_most():
    names = tuple(f"c{i}" for i in range(9))
    evidence = replace(judge(4, 0.8, seed=3), classes=names, more=np.arange(9) * 11)
    assert evidence.advice == (
        "About 88 more labels of c8, 77 of c7, 66 of c6, 55 of c5, 44 of c4, 33 of c3 and "
        "33 of 2 other classes would probably settle it."
    )
    one = replace(evidence, classes=NAMES, more=np.array([0, 1234, 0]))
    assert one.advice == "About 1,300 more labels of Sports would probably settle it."


def test_accuracy_beyond_the_tolerance_forbids():
    def worst(p, y):
        return np.array([1.0, 1.0, 30.0])  # everything becomes class 2

    evidence = judge(60, 0.3, fit=worst)
    assert not evidence.apply
    assert "more than the 0.05 that may be lost" in evidence.reason
    assert evidence.difference["accuracy"] < -0.1


def test_the_mix_of_classes_counts_in_accuracy_alone():
    even, rare = judge(30, 1.0), judge(30, 1.0, shares=np.array([0.98, 0.01, 0.01]))
    assert rare.difference["cobias"] == even.difference["cobias"]
    assert rare.raw["accuracy"] == pytest.approx(rare.raw["class_accuracies"][0], abs=0.02)
    wide = np.ptp(rare.raw["intervals"]["accuracy"])
    assert wide > np.ptp(even.raw["intervals"]["accuracy"])


def test_it_is_strict_json_and_the_same_each_time():
    first, second = judge(10, 1.0), judge(10, 1.0)
    assert json.dumps(first.to_dict(), allow_nan=False) == json.dumps(second.to_dict())
    assert first.summary().items() <= first.to_dict().items()


def test_classes_without_labels_are_left_out():
    p, y = rows_of(20, 1.0)
    rows = y != 1
    p, y = p[rows], y[rows]
    weights = np.array([0.5, 0.7, 1.0])
    evidence = assess(p, y, weights, lambda *_: weights, resamples=LEAST, classes=NAMES)
    for side in (evidence.raw, evidence.reweighted, evidence.difference):
        assert side["class_accuracies"][1] is None
        assert side["intervals"]["class_accuracies"][1] is None
    json.dumps(evidence.to_dict(), allow_nan=False)


@pytest.mark.parametrize("n_each", [1, 2])
def test_one_label_of_a_class_is_little_but_no_error(n_each):
    evidence = judge(n_each, 3.0)
    assert not evidence.apply
    assert not evidence.settled
    assert "labels are too few to be sure of anything" in evidence.reason
    assert evidence.more.sum() + 3 * n_each >= 8
    assert all(0 <= low <= high <= 1 for low, high in evidence.raw["intervals"]["class_accuracies"])


def test_time_and_the_user_can_end_it():
    assert judge(10, 1.0, deadline=time.perf_counter() - 1) is None
    p, y = rows_of(10, 1.0)

    def interrupted_after(n):
        made = []

        def refit(rows, seed):
            made.append(seed)
            if len(made) > n:
                raise KeyboardInterrupt
            return shift(p[rows], y[rows])

        return assess(p, y, shift(p, y), refit, resamples=40, classes=NAMES)

    assert interrupted_after(3) is None
    told = interrupted_after(LEAST + 2)
    assert (told.resamples, told.planned) == (LEAST + 2, 40)


def test_the_number_of_refits_follows_from_the_size_alone():
    assert n_affordable(100, 4, 0, 1.0, robust=False) == 24
    assert n_affordable(100, 4, 0, 10.0, robust=False) == 240
    assert LEAST <= n_affordable(500, 4, 1000, 1.0, robust=True) <= 24
    assert n_affordable(10**6, 14, 0, 1.0, robust=False) == 0
    assert n_affordable(100, 4, 0, 0.01, robust=True) == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"tolerance": -0.1}, "tolerance must be a finite number at least 0"),
        ({"tolerance": 5}, "at most 1"),
        ({"seconds": 0}, "evidence time must be a finite number above 0"),
    ],
)
def test_settings_out_of_range_are_refused(setting, message):
    with pytest.raises(InvalidInputError, match=message):
        EvidenceSettings(**setting)
