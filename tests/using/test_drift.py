"""Coefficients and new rows: what holds, and what does not; what is expected of new scores."""

import re
from dataclasses import replace
from math import ceil, comb, floor, sqrt
from statistics import NormalDist

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import (
    Coefficients,
    CoefficientsFormatError,
    InvalidInputError,
    Objective,
    ProbabilityTable,
)
from dnip.comparing.demonstration import bundled_table
from dnip.fitting.fit import fit
from dnip.method.coefficients import FitRecord
from dnip.method.kept import ClassScores, Score
from dnip.presenting.text import describe_check, findings, verdict
from dnip.using.drift import check


@pytest.fixture(scope="module")
def fitted():
    even = Objective(beta=2.7)
    return fit(bundled_table("opt"), objective=even, robust="off", evidence=True).coefficients


@pytest.fixture(scope="module")
def new():
    return bundled_table("test")


def with_scores(coefficients, scores):
    given = dict(scores or {})
    counts = {name: np.array(given.pop(name)) for name in ("rows", "right") if given}
    kept = ClassScores(**counts, **given) if scores else None
    return replace(coefficients, fit=replace(coefficients.fit, scores=kept))


def without_labels(table):
    return ProbabilityTable(table.probabilities, classes=table.classes)


def test_rows_of_the_same_task_hold(fitted, new):
    for rows in (new, without_labels(new), new.take(np.arange(100))):
        assert check([rows], fitted).holds


def test_blocks_give_the_result_of_the_whole_table(fitted, new):
    blocks = [new.take(np.arange(begin, begin + 250)) for begin in range(0, 1_000, 250)]
    assert check(blocks, fitted).to_dict() == check([new], fitted).to_dict()


def test_with_labels_three_questions_share_alpha(fitted, new):
    found, alone = (check([rows], fitted, alpha=0.06) for rows in (new, without_labels(new)))
    assert (found.level, alone.level) == pytest.approx((0.98, 0.94))
    decided = oracles.predict(new.probabilities, fitted.multipliers)
    right = np.bincount(new.labels[decided == new.labels], minlength=4)
    scores = ClassScores(np.bincount(new.labels), right)
    assert (found.accuracy, found.cobias) == fitted.fit.scores.compare(scores, 0.98)


def test_another_class_mix_does_not_hold(fitted, new):
    counts = (225, 125, 75, 75)  # 20 points more of the first class
    drawn = np.concatenate([np.flatnonzero(new.labels == c)[:n] for c, n in enumerate(counts)])
    found = check([without_labels(new.take(drawn))], fitted)
    assert not found.holds
    assert found.accuracy is None
    assert found.mix.differs_from(found.shares)[0]
    assert re.search("share at fit +estimated share", describe_check(found))


def test_labels_tell_the_class_mix_and_no_estimate_does(fitted, new):
    p = new.probabilities * [4, 1, 1, 1]  # another model, of which the labels are those of before
    changed = ProbabilityTable(p / p.sum(axis=1, keepdims=True), new.labels, classes=new.classes)
    found, guess = check([changed], fitted), check([without_labels(changed)], fitted)
    shares = np.bincount(new.labels) / len(new)
    np.testing.assert_allclose(found.mix.shares, shares)
    assert guess.mix.low[0] > shares[0]
    text = describe_check(found)
    assert "share at fit  share of labels  distance\n" in text
    assert "estimate" not in text + verdict(guess)  # which would do harm here


def test_what_was_at_the_fit_is_no_before_and_may_be_outside(fitted, new):
    even = {"rows": [100] * 4, "right": [80] * 4, "expected": 0.0}
    text = describe_check(check([new], with_scores(fitted, even)))
    assert "->" not in text
    assert re.search(
        r"COBias +at the fit 0\.000, now 0\.\d+; expected now 0\.\d+ to 0\.\d+\n", text
    )
    why = "(that of the fit is outside: weights suit their own rows)"
    assert why in text
    as_printed = Score(0.0, 0.2, 0.0004, 0.3)  # 0.000 is not outside of 0.000 to 0.300
    assert why not in describe_check(replace(check([new], fitted), cobias=as_printed))


def test_other_probabilities_do_not_hold(fitted, new):
    turned = ProbabilityTable(new.probabilities[:, [1, 0, 2, 3]], new.labels, classes=new.classes)
    found = check([turned], fitted)
    assert (found.holds, found.same_distribution, found.effect) == (False, False, "large")
    assert found.worse == ("accuracy", "COBias")


def test_labels_tell_what_probabilities_do_not(fitted, new):
    labels = new.labels.copy()
    labels[(labels == 0) & (np.arange(len(labels)) % 2 == 0)] = 1
    found = check([ProbabilityTable(new.probabilities, labels, classes=new.classes)], fitted)
    assert found.same_distribution
    assert "COBias" in found.worse
    assert not found.holds
    unjudged = fit(bundled_table("opt"), robust="off", evidence=False).coefficients
    assert check([new], unjudged).accuracy is None  # that of fitted rows flatters


def test_rows_without_a_label_are_left_out_of_the_scores(fitted, new):
    labels = np.where(np.arange(len(new)) < 400, new.labels, -1)
    some = ProbabilityTable(new.probabilities, labels, classes=new.classes)
    found, alone = check([some], fitted), check([new.take(np.arange(400))], fitted)
    assert (found.n_rows, found.n_labelled) == (1_000, 400)
    assert (found.accuracy, found.cobias) == (alone.accuracy, alone.cobias)


@pytest.mark.parametrize("robust", ["auto", "off"])
@pytest.mark.parametrize("has_labels", [True, False])
def test_captured_mass_is_compared_wherever_both_sides_have_it(new, robust, has_labels):
    opt, more = bundled_table("opt"), without_labels(new.take(np.arange(300)))
    rng = np.random.default_rng(0)

    def given(table, least):
        return ProbabilityTable(table.changed(mass=rng.uniform(least, 1, len(table))))

    settings = {"evidence": False, "no_labels": not has_labels}
    if has_labels:
        settings["robust"] = robust
    more = given(more, 0.5) if robust == "auto" else None
    fitted = fit(given(opt, 0.5), unlabelled=more, **settings).coefficients
    same, low, without = given(new, 0.5), given(new, 0.3), without_labels(new)
    assert check(without_labels(same), fitted).holds
    assert check(ProbabilityTable(same.changed(labels=None)), fitted).holds
    fallen = check(ProbabilityTable(low.changed(labels=None)), fitted)
    assert not fallen.holds
    assert fallen.comparison.mass_distance > 0.2
    now = check(without, fitted)
    assert "captured mass      not compared: it is not in the new rows" in describe_check(now)
    assert now.to_dict()["mass"]["now"] is None
    assert now.to_dict()["mass"]["at_fit"] == pytest.approx(0.75, abs=0.05)


def test_mass_of_one_side_alone_is_said_not_to_be_compared(new):
    assert new.mass is not None
    bare = ProbabilityTable(bundled_table("opt").changed(mass=None, source="bare"))
    text = describe_check(check(new, fit(bare, evidence=False)))
    assert "captured mass      not compared: it was not in the rows of the fit" in text


def test_rows_of_the_fit_are_told(fitted, new):
    assert check(new, fitted).overlap.share == 0
    assert "100% of these rows" in check(bundled_table("opt"), fitted).overlap.sentence


def test_a_few_rows_are_refused(fitted, new):
    for n in (1, 29):
        with pytest.raises(InvalidInputError, match=f"new rows: {n}, .*Give 30 rows"):
            check([new.take(np.arange(n))], fitted)
    assert check([new.take(np.arange(30))], fitted).holds


def test_coefficients_made_by_hand_are_refused(new):
    by_hand = Coefficients(new.classes, [1, 1, 1, 1], 30)
    with pytest.raises(CoefficientsFormatError, match=r"fit\.sketch is missing"):
        check([new], by_hand)


def test_labels_that_carry_no_signal_never_hold(fitted, new):
    shuffled = np.random.default_rng(0).permutation(new.labels)
    wrong = ProbabilityTable(new.probabilities, shuffled, classes=new.classes)
    result = check([wrong], fitted)
    assert (result.same_distribution, result.signal, result.holds) == (True, False, False)
    told = findings(replace(result, cause="They are swapped.\nSwap them."))
    at = told.index(("signal", "none: They are swapped."))
    assert told[at + 1] == ("", "Swap them.")
    # even where accuracy and COBias are no worse than those of a fit that had no signal either
    chance = {"rows": [100] * 4, "right": [25] * 4, "expected": 0.1}
    result = check([wrong], with_scores(fitted, chance))
    assert (result.worse, result.holds) == ((), False)
    assert verdict(result).startswith(
        "the coefficients do not hold: these labels carry no signal\n"
    )


@cases(
    (None, -1, False),
    ([0, 0, 0, 50], 3, False),  # rows of a class that has none here
    ([50, 50, 50, 50], 3, True),
)
def test_labels_that_were_not_compared_never_hold(fitted, new, rows, left_out, compared):
    scores = rows and {"rows": rows, "right": [8 * n // 10 for n in rows]}
    labels = np.where(new.labels == left_out, -1, new.labels)
    some = ProbabilityTable(new.probabilities, labels, classes=new.classes)
    result = check([some], with_scores(fitted, scores))
    assert result.same_distribution
    assert (result.compared, result.holds) == (compared, compared)
    assert verdict(result).startswith("the coef" if compared else "not compared: ")
    assert ("accuracy           not compared: the coef" in describe_check(result)) != compared
    assert check([without_labels(new)], with_scores(fitted, scores)).holds


@pytest.mark.parametrize("tail", [1e-3, 1e-5, 1e-7])
def test_intervals_reach_beyond_the_draws(tail):
    # one class, of which nearly all is known: the accuracy of new rows is a binomial variable
    fitted = ClassScores(np.array([10**9]), np.array([8 * 10**8]))
    chances = [comb(200, n) * 0.8**n * 0.2 ** (200 - n) for n in range(201)]
    accuracy, _ = fitted.compare(ClassScores(np.array([200]), np.array([160])), 1 - 2 * tail)
    assert sum(chances[: ceil(200 * accuracy.low)]) <= tail
    assert sum(chances[floor(200 * accuracy.high) + 1 :]) <= tail
    exact = NormalDist(0.8, sqrt(0.8 * 0.2 / 200)).inv_cdf(1 - tail) - 0.8
    assert accuracy.high - accuracy.low < 1.4 * 2 * exact


LEVEL = 0.95


def scores(rng, rows, rates):
    rows = np.asarray(rows)
    return ClassScores(rows, rng.binomial(rows, rates))


def test_only_classes_with_rows_on_both_sides_are_compared():
    before = ClassScores(np.array([50, 50, 0]), np.array([40, 40, 0]))
    now = ClassScores(np.array([50, 0, 50]), np.array([40, 0, 0]))
    accuracy, cobias = before.compare(now, LEVEL)
    assert accuracy.now == 0.8
    assert cobias is None


@cases(
    {"rows": [5, 5]},
    {"rows": [5, 5], "right": [5]},
    {"rows": [5, 5], "right": [6, 0]},
    {"rows": [0, 0], "right": [0, 0]},
    {"rows": ["x", 5], "right": [5, 5]},
    [1],
)
def test_damaged_scores_are_refused(content):
    with pytest.raises(CoefficientsFormatError, match=r"fit\.scores is damaged"):
        FitRecord.from_dict({"scores": content}, 2)
