"""What a fit chooses by what refits expect: a β, or weights of 1."""

from types import SimpleNamespace

import numpy as np
import pytest

import dnip
from dnip import Constraints, InvalidInputError, Objective
from dnip.fitting.estimate import find_floor, raised
from dnip.fitting.refits import BETAS, choose_beta
from populations import biased_rows


def expecting(accuracies, gaps, worst, raw_gap=0.3, raw_worst=0.2):
    """Evidence by β, as the choice reads it."""
    return {
        beta: SimpleNamespace(
            accuracies=[0.5, accuracy],
            raw=SimpleNamespace(cobias=raw_gap),
            reweighted=SimpleNamespace(cobias=gap),
            worst=(raw_worst, low),
        )
        for beta, accuracy, gap, low in zip(BETAS, accuracies, gaps, worst, strict=True)
    }


@pytest.mark.parametrize(
    ("accuracies", "gaps", "worst", "chosen"),
    [
        ((0.7, 0.6, 0.5), (0.24, 0.1, 0.05), (0.2, 0.3, 0.3), 0.5),  # four fifths, as low
        ((0.7, 0.62, 0.5), (0.25, 0.16, 0.05), (0.2, 0.3, 0.3), 1.0),  # more than four fifths
        ((0.7, 0.62, 0.5), (0.2, 0.1, 0.05), (0.19, 0.3, 0.3), 1.0),  # the worst class falls
        ((0.7, 0.65, 0.6), (0.4, 0.31, 0.1), (0.2, 0.3, 0.3), 2.7),  # at 1 COBias grows
        ((0.7, 0.65, 0.6), (0.6, 0.5, 0.4), (0.1, 0.1, 0.1), 2.7),  # all harm: the most even
        ((0.7, 0.5, 0.4), (0.4, 0.23, 0.2), (0.2, 0.3, 0.3), 0.5),  # 20 points for 17 and 2
        ((0.7, 0.52, 0.4), (0.4, 0.23, 0.2), (0.2, 0.3, 0.3), 1.0),  # 18 points for 17 and 2
    ],
)
def test_the_first_that_harms_nobody_unless_it_costs_too_much(accuracies, gaps, worst, chosen):
    beta, said = choose_beta(expecting(accuracies, gaps, worst))
    assert beta == chosen
    assert (said is None) == (beta == 0.5)
    if beta != 0.5:
        points = round(100 * (accuracies[0] - accuracies[BETAS.index(beta)]))
        assert said.startswith(f"β {beta:g}: at 0.5 the ")
        assert said.endswith(f"{points} points of accuracy less. --beta 0.5 keeps them.")


@pytest.fixture(scope="module")
def skewed():
    """Rows that are mostly of one class, which the model underrates."""
    shares = [0.8, 0.12, 0.06, 0.02]
    rows = biased_rows(np.random.default_rng(1), 400, bias=[-1.2, 0.4, 0.4, 0.4], shares=shares)
    return rows.probabilities, rows.labels


def test_the_choice_is_in_the_text_the_record_and_the_weights(skewed):
    p, y = skewed
    fitted = dnip.fit(p, y)
    assert fitted.choice.startswith("β 1: at 0.5 the gap would grow")
    assert fitted.coefficients.objective["beta"] == 1.0
    assert fitted.weights.tolist() == dnip.fit(p, y, beta=1.0).weights.tolist()
    assert fitted.coefficients.fit.evidence["choice"] == fitted.choice
    assert [each.beta for each in fitted.alternatives if each.is_chosen] == [1.0]
    for each in fitted.alternatives:
        side = dnip.fit(p, y, beta=each.beta).evidence
        assert (each.accuracy, each.cobias) == (side.accuracies[1], side.reweighted.cobias)
        assert each.worst == side.reweighted.worst_class_accuracy
    usual = dnip.fit(p, y, beta=0.5)
    assert usual.choice is None
    assert usual.evidence.aim == fitted.evidence.aim == "error + COBias/2"
    assert usual.evidence.after < fitted.evidence.after


@pytest.mark.parametrize(
    ("seed", "why"), [(0, "is not expected to fall by"), (6, "does not fall by weights found at β")]
)
def test_weights_of_1_are_written_where_nothing_gains(seed, why):
    """Probabilities that are right as they are: a fit can only follow chance."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 1.0, 1.0], 60)
    y = np.array([rng.choice(3, p=row) for row in p])
    fitted = dnip.fit(p, y, classes=["a", "b", "c"])
    evidence = fitted.evidence
    assert (fitted.is_raw, fitted.verdict) == (True, "keep")
    assert fitted.choice.startswith(f"Weights of 1: error + COBias/2 {why}")
    assert evidence.before == evidence.after
    assert evidence.reweighted.cobias == evidence.raw.cobias
    np.testing.assert_array_equal(fitted.evaluation.raw, fitted.evaluation.reweighted)
    plain = dnip.fit(p, y, classes=["a", "b", "c"], robust="off")
    assert not plain.is_raw  # written as it was asked for


@pytest.mark.parametrize(
    "asked",
    [
        {"beta": 0.5},
        {"objective": "macro-f1"},
        {"objective": Objective(tau=0.1)},
        {"costs": [[0, 1, 1], [1, 0, 1], [9, 9, 0]]},
        {"constraints": Constraints(max_accuracy_loss=0.05)},
    ],
)
def test_a_goal_that_is_named_is_taken_by_itself(asked):
    rows = biased_rows(np.random.default_rng(1), 200, bias=[1.5, 0.0, -1.5])
    fitted = dnip.fit(rows.probabilities, rows.labels, **asked)
    assert fitted.verdict == "apply"
    if "constraints" not in asked:
        goal = dnip.fit(rows.probabilities, rows.labels, evidence=False, **asked)
        assert fitted.weights.tolist() == goal.weights.tolist()


@pytest.mark.parametrize("costs", [np.eye(3), np.zeros((3, 3)), [[0, 1, 1], [1, 2, 1], [1, 1, 0]]])
def test_costs_must_favour_what_is_right(costs):
    rows = biased_rows(np.random.default_rng(1), 60, bias=[1.5, 0.0, -1.5])
    with pytest.raises(InvalidInputError, match="being right is no better"):
        dnip.fit(rows.probabilities, rows.labels, costs=costs)


# --- large tables, few labels ---
def test_refits_of_a_large_table_are_of_a_sample(monkeypatch):
    rows = biased_rows(np.random.default_rng(2), 900, bias=[1.5, 0.0, -1.5])
    p, y = rows.probabilities, rows.labels
    whole = dnip.fit(p, y, beta=0.5)
    monkeypatch.setattr("dnip.fitting.fit._MOST_PRODUCTS", 3_000)
    part = dnip.fit(p, y, beta=0.5)
    assert part.weights.tolist() == whole.weights.tolist()
    assert part.evidence.evaluation.n < 400 < whole.evidence.evaluation.n
    assert part.verdict == "apply"
    assert part.notes[-1].startswith("Refits are of a sample")
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(part.evidence.evaluation.target, shares)


def test_refits_that_take_long_are_made_where_they_are_asked_for(monkeypatch):
    monkeypatch.setattr("dnip.fitting.fit._MOST_PRODUCTS", 100)
    rows = biased_rows(np.random.default_rng(2), 90, bias=[1.5, 0.0, -1.5])
    assert dnip.fit(rows.probabilities, rows.labels).evidence is None
    assert dnip.fit(rows.probabilities, rows.labels, evidence=True).evidence is not None


def test_a_class_without_labels_is_noted_and_changes_little():
    """A class `Other` that no row has, at 1e-6 in every row."""
    rows = biased_rows(np.random.default_rng(4), 300, bias=[1.5, 0.0, -1.5])
    p = np.column_stack([rows.probabilities, np.full(300, 1e-6)])
    with pytest.warns(dnip.DNIPWarning, match="Other"):
        fitted = dnip.fit(p, rows.labels, classes=["a", "b", "c", "Other"])
    assert fitted.verdict == "apply"
    assert any("labels of class Other" in note for note in fitted.evidence.notes)
    alone = dnip.fit(rows.probabilities, rows.labels, classes=["a", "b", "c"])
    new = biased_rows(np.random.default_rng(5), 2_000, bias=[1.5, 0.0, -1.5]).probabilities
    same = fitted.predict(np.column_stack([new, np.full(2_000, 1e-6)])) == alone.predict(new)
    assert same.mean() > 0.97


def test_where_no_label_can_be_left_out_nothing_is_judged():
    fitted = dnip.fit([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    assert fitted.verdict == "not judged"
    assert fitted.evidence is None


# --- the floor ---
def naive_bayes(seed=0, n=400):
    """Probabilities that are far too sure: the products of many features that say the same."""
    rows = biased_rows(np.random.default_rng(seed), n, bias=[0.6, 0.0, -0.6])
    with np.errstate(under="ignore"):
        p = (rows.probabilities / rows.probabilities.max(axis=1, keepdims=True)) ** 12
    return p / p.sum(axis=1, keepdims=True), rows.labels


def test_the_floor_is_three_times_the_depth_of_most_wrong_labels():
    p, y = naive_bayes()
    wrong = p.argmax(axis=1) != y
    depths = np.log(p.max(axis=1) / p[np.arange(len(y)), y])[wrong]
    floor = find_floor(p, y)
    assert floor == pytest.approx(3 * np.quantile(depths, 0.9, method="inverted_cdf"))
    higher = raised(p, floor)
    np.testing.assert_allclose(higher.sum(axis=1), 1)
    assert (np.log(higher.max(axis=1) / higher.min(axis=1)) <= floor + 1e-9).all()
    kept = np.log(p.max(axis=1) / p.min(axis=1)) <= floor
    np.testing.assert_allclose(higher[kept], p[kept])
    assert find_floor(p[~wrong], y[~wrong]) is None


def test_the_least_of_all_numbers_is_as_deep_as_it_is():
    tiny = 5e-324
    p = np.array([[1.0, tiny]] * 9)
    with np.errstate(all="raise"):
        assert find_floor(p, np.ones(9, int)) == pytest.approx(-3 * np.log(tiny))


@pytest.mark.parametrize("power", [0.25, 3.0])
def test_p_to_the_k_is_the_same_problem_with_a_floor(power):
    p, y = naive_bayes()
    assert find_floor(p**power, y) == pytest.approx(power * find_floor(p, y))
    q = p**power / (p**power).sum(axis=1, keepdims=True)
    new = naive_bayes(1, 2_000)[0]
    new_q = new**power / (new**power).sum(axis=1, keepdims=True)
    one, other = dnip.fit(p, y, beta=0.5), dnip.fit(q, y, beta=0.5)
    assert (one.predict(new) == other.predict(new_q)).mean() > 0.99


def test_half_precision_is_raised_like_others():
    p, y = naive_bayes()
    rounded = p.astype(np.float16).astype(np.float64)
    rounded /= rounded.sum(axis=1, keepdims=True)
    one, other = dnip.fit(p, y, beta=0.5), dnip.fit(rounded, y, beta=0.5)
    new = naive_bayes(1, 2_000)[0]
    assert (one.predict(new) == other.predict(new)).mean() > 0.97
