"""Problems and solutions; scales; and the same decisions and sums in every memory layout."""

import numpy as np
import pandas as pd
import pytest

from cases import cases
from dnip import DNIPWarning, InvalidInputError, Objective, Status, solve
from dnip.method.prediction import decide, reweight
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale, _spread_of
from dnip.tables.cells import row_sums
from strategies import KINDS, random_probabilities

P = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.2, 0.3, 0.5], [0.25, 0.5, 0.25]])
Y = [0, 1, 2, 1]


def test_whole_weights_count_as_they_are():
    problem = Problem.of(P, Y, sample_weight=[2.0, 0.0, 2.0**30, 3.0])
    assert problem.unit == 1
    assert problem.counts.tolist() == [2, 0, 2**30, 3]
    assert problem.class_counts.tolist() == [2, 3, 2**30]


@pytest.mark.parametrize("largest", [1e-9, 0.7, 1.0, 3.5, 1e6 + 0.5, 1e12])
def test_other_weights_count_in_fine_steps_of_a_power_of_two(largest):
    rng = np.random.default_rng(0)
    weight = largest * np.append(rng.random(49), 1.0)
    p = np.tile(P, (13, 1))[:50]
    problem = Problem.of(p, np.tile(Y, 13)[:50], sample_weight=weight)
    assert np.frexp(problem.unit)[0] == 0.5
    np.testing.assert_allclose(problem.counts * problem.unit, weight, rtol=0, atol=2**-30 * largest)
    assert problem.n_examples == pytest.approx(weight.sum(), rel=1e-7)


@cases(
    ([0, 1, 1, 1], [0, 1, 1, 1], "only one class, 1, has"),
    (Y, [1, 1, 1, -1], r"sample_weight\[3\]: -1.0 is no weight"),
    (Y, [0, 1e-300, 1e-300, 0], "largest weight is 1e-300, outside 1e-100..1e\\+100"),
    (Y, [1, 1, 1e300, 1], "largest weight is 1e\\+300, outside"),
)
def test_refuses_what_cannot_be_fitted(labels, weight, message):
    with pytest.raises(InvalidInputError, match=message):
        Problem.of(P, labels, sample_weight=weight)


def test_a_frame_names_the_classes():
    frame = pd.DataFrame({"ham": [0.9, 0.6], "spam": [0.1, 0.4]})
    problem = Problem.of(frame, pd.Series(["spam", "ham"], index=[7, 3]))
    assert problem.classes == ("ham", "spam")
    assert problem.labels.tolist() == [1, 0]
    assert Problem.of(frame.to_numpy(), [1, 0], classes=["ham", "spam"]).classes == problem.classes


@cases(
    ({"ham": [0.9], "eggs": [0.1]}, ["ham"], ["spam", "ham"], "column spam of the classes"),
    ({"label": [0], "ham": [0.9], "spam": [0.1]}, [0], None, "holds labels of its own"),
    ({"p0": [0.9], "p1": [0.1]}, ["ham"], None, "at least 2 classes are needed; got 1: ham"),
)
def test_frames_and_names_that_do_not_belong_together(frame, labels, classes, told):
    with pytest.raises(InvalidInputError, match=told):
        Problem.of(pd.DataFrame(frame), labels, classes=classes)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_that_need_no_change_are_not_copied(dtype):
    p, y = P.astype(dtype), np.array(Y)
    problem = Problem.of(p, y)
    assert problem.probabilities is p
    assert problem.labels is y
    assert problem.counts.strides == (0,)


def test_single_precision_is_normalised_in_double():
    p = (P * [[1], [1], [4], [1]]).astype(np.float32)
    given = p.copy()
    with pytest.warns(DNIPWarning, match="1 of 4 rows"):
        problem = Problem.of(p, Y)
    assert problem.probabilities.dtype == np.float64
    with pytest.warns(DNIPWarning):
        expected = Problem.of(p.astype(np.float64), Y).probabilities
    np.testing.assert_array_equal(problem.probabilities, expected)
    np.testing.assert_array_equal(p, given)


def test_only_a_proof_is_called_one():
    assert [s for s in Status if "optimal" in s.sentence] == [Status.OPTIMAL]


# --- layouts ---
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 5, 9, 300])
def test_no_layout_changes_a_bit(kind, n_classes):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 200, n_classes, kind)
    indices = rng.integers(1, 31, n_classes)
    columns = np.asfortranarray(p)
    np.testing.assert_array_equal(row_sums(columns), row_sums(p))
    np.testing.assert_array_equal(reweight(columns, indices), reweight(p, indices))
    for weights in (None, indices):  # ties included
        expected = np.argmax(p if weights is None else weights * p, axis=1)
        np.testing.assert_array_equal(decide(p, weights), expected)
        np.testing.assert_array_equal(decide(columns, weights), expected)


def test_sums_are_added_from_the_first_class_to_the_last():
    p = np.array([[1.0] + [2.0**-53] * 20, [2.0**-53] * 20 + [1.0]])
    expected = [sum(row) for row in p.tolist()]
    assert expected[0] != expected[1]
    for layout in (p, np.asfortranarray(p)):
        np.testing.assert_array_equal(row_sums(layout), expected)


def test_blocks_of_rows_are_all_summed(monkeypatch):
    monkeypatch.setattr("dnip.tables.cells._MAX_ENTRIES", 7)
    p = np.arange(33.0).reshape(11, 3)
    np.testing.assert_array_equal(row_sums(p), p.sum(axis=1))


# --- scales ---
@pytest.mark.parametrize("size", [1, 2, 10, 30, 1000, 10_000])
def test_geometric_weights_go_from_one_over_k_to_one_in_equal_ratios(size):
    weights = WeightScale.of(f"log:{size}").levels
    assert (len(weights), weights[0], weights[-1]) == (size, 1 / size, 1.0)
    exponents = (np.arange(1, size + 1) - size) / max(size - 1, 1)
    np.testing.assert_allclose(weights, float(size) ** exponents, rtol=1e-14)
    assert (np.diff(weights) > 0).all()


def test_geometric_weights_are_the_same_numbers_everywhere():
    # 2^(-4/3) and 2^(-2/3), correctly rounded
    levels = WeightScale.of("log:4").levels.tolist()
    assert levels == [0.25, 0.3968502629920499, 0.6299605249474366, 1.0]


@pytest.mark.parametrize("span", [1e-6, 0.5, 60.0, 340.0])
def test_a_spanned_scale_goes_from_e_to_the_minus_span_to_one_in_equal_ratios(span):
    scale = WeightScale.spanning(span)
    assert WeightScale.of(str(scale)) == WeightScale.from_dict(scale.to_dict()) == scale
    levels = scale.levels
    assert (len(levels), levels[-1]) == (10_000, 1.0)
    np.testing.assert_allclose(np.log(levels), np.linspace(-span, 0, 10_000), rtol=0, atol=1e-13)
    assert (np.diff(levels) > 0).all()


SHARP = np.random.default_rng(3).dirichlet(np.full(4, 0.3), 60)


@pytest.mark.parametrize("k", [0.1, 0.25, 3.0, 25.0])
def test_the_spread_of_p_to_the_k_is_k_times_that_of_p(k):
    q = SHARP**k / (SHARP**k).sum(axis=1, keepdims=True)
    assert _spread_of(q, np.ones(60)) == pytest.approx(k * _spread_of(SHARP, np.ones(60)), rel=1e-9)


def test_the_spread_is_of_most_rows_and_of_positive_probabilities():
    apart = np.sort(np.log(SHARP.max(axis=1) / SHARP.min(axis=1)))
    assert _spread_of(SHARP, np.ones(60)) == pytest.approx(apart[56], rel=1e-9)
    more = np.concatenate([SHARP, np.eye(4)[[0, 1] * 100]])  # a single positive one says nothing
    assert _spread_of(more, np.ones(260)) == _spread_of(SHARP, np.ones(60))
    times = np.arange(60) % 3
    repeated = np.repeat(SHARP, times, axis=0)
    assert _spread_of(SHARP, times) == _spread_of(repeated, np.ones(len(repeated)))


@cases(
    (np.full((9, 3), 1 / 3), 1.0),
    (np.eye(3), 1.0),
    ([[0.5, 0.5]] * 50 + [[0.25, 0.75]], 1.098612289),
    ([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]], 1.386294361),
)
def test_the_spread_of_odd_rows(p, expected):
    p = np.array(p)
    assert _spread_of(p, np.ones(len(p))) == pytest.approx(expected, rel=1e-9)
    assert WeightScale.over(p, np.ones(len(p))).span == pytest.approx(1.02 * expected, rel=1e-9)


def test_the_usual_scale_reaches_beyond_the_last_tie():
    p = np.array([[0.8, 0.2]] * 39 + [[0.99, 0.01]])
    labels = np.repeat([1, 0], [24, 16])
    # at a weight of .25, where most rows' spread ends, all 39 are tied and go to the lower class
    assert solve(p, labels, Objective(beta=0.0), solver="exact").terms["error"] == 15 / 40


def test_rows_that_count_for_several_classes_equal_a_row_for_each():
    rng = np.random.default_rng(0)
    p, weights = rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), 20)
    rows = Problem.shared(p, weights, ["a", "b", "c"])
    each, at = rows.expanded(), np.array([1.0, 0.5, 2.0])
    assert each.shares is None
    assert rows.n_examples == each.n_examples == pytest.approx(20)
    np.testing.assert_array_equal(rows.class_counts, each.class_counts)
    np.testing.assert_array_equal(rows.confusion(at), each.confusion(at))


def test_linear_multipliers_are_whole_and_weights_are_their_share_of_k():
    scale = WeightScale.of("30")
    assert scale == WeightScale.of(30) == WeightScale(Spacing.LINEAR, 30)
    indices = np.array([1, 7, 30])
    assert scale.multipliers(indices).tolist() == [1.0, 7.0, 30.0]
    assert scale.weights(indices).tolist() == [1 / 30, 7 / 30, 1.0]


@cases(
    ("log", "scale is 'log'"),
    ("log:3.5", "scale is 'log:3.5'"),
    ("Log:30", "scale is 'Log:30'"),
    ("", "scale is ''"),
    ("log:" + "9" * 5000, "scale is"),
    ("log:0", "at least 1 and at most 10000; got 0"),
    ("-3", "got -3"),
    ("log:10001", "got 10001"),
    (0, "got 0"),
    (2.5, "got 2.5"),
    ("continuous", "scale is 'continuous'"),
    ("span:", "scale is 'span:'"),
    ("span:1e9", "scale is 'span:1e9'"),
    ("span:0", "at least 1e-06 and at most 340; got 0"),
    ("span:340.5", "got 340.5"),
)
def test_other_scales_are_refused(scale, told):
    with pytest.raises(InvalidInputError, match=told):
        WeightScale.of(scale)
