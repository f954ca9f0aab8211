"""The path over β, and limits on lost accuracy."""

import numpy as np
import pytest

from dnip import Constraints, InvalidInputError, Objective, fit
from dnip.fitting.path import trace_path
from dnip.metrics import METRICS
from dnip.metrics.intervals import difference_intervals
from populations import biased_rows


@pytest.fixture(scope="module")
def costly():
    """Rows of which the rare third class is right only where the first loses more rows."""
    y = np.repeat([0, 0, 1, 2], [600, 600, 600, 120])
    p = np.array([[0.9, 0.05, 0.05], [0.6, 0.1, 0.3], [0.1, 0.8, 0.1], [0.6, 0.1, 0.3]])
    rows = np.repeat(p, [600, 600, 600, 120], axis=0)
    rows *= np.exp(np.random.default_rng(0).normal(0, 0.05, rows.shape))
    return rows / rows.sum(axis=1, keepdims=True), y


@pytest.fixture(scope="module")
def path(costly):
    return trace_path(*costly)


def test_a_metric_has_no_path(costly):
    with pytest.raises(InvalidInputError, match="'metric': 'macro-f1'} has no β"):
        trace_path(*costly, objective="macro-f1")


def test_the_path_ends_at_accuracy_and_at_evenness(path):
    first, last = path.points[0].expected, path.points[-1].expected
    assert first["accuracy"] > last["accuracy"] + 0.05
    assert first["cobias"] > last["cobias"] + 0.05
    assert path.is_expected
    assert path.points[0].expected.keys() == METRICS.keys()


def test_a_point_is_the_fit_at_its_beta(costly):
    path = trace_path(*costly, betas=(2.7, 0.61, 2.7))
    assert [point.beta for point in path.points] == [0.61, 2.7]
    for point in path.points:
        fitted = fit(*costly, Objective(beta=point.beta))
        assert point.fit.coefficients.weights.tolist() == fitted.coefficients.weights.tolist()
        assert point.fit.evidence.to_dict(0.9)["reweighted"].items() >= point.expected.items()
        assert point.expected["cobias"] == fitted.evidence.reweighted.cobias


# --- limits on lost accuracy ---
def test_a_limit_takes_the_most_even_point_of_the_path_that_keeps_it(costly, path):
    evidence = [point.fit.evidence for point in path.points]
    losses = [-difference_intervals(e.evaluation.agreement, 0.68)["accuracy"][0] for e in evidence]
    limit = float(np.median(losses))
    assert min(losses) < limit < max(losses)
    kept = [p for p, loss in zip(path.points, losses, strict=True) if loss <= limit]
    best = min(kept, key=lambda point: point.expected["cobias"])
    fitted = fit(*costly, constraints=Constraints(max_accuracy_loss=limit))
    assert fitted.coefficients.objective["beta"] == best.beta
    assert np.diff(fitted.evidence.accuracies) > -limit
    assert fitted.evidence.reweighted.cobias == best.expected["cobias"]
    said = f"To lose at most {limit:g} of accuracy on other rows, β is {best.beta:g}."
    assert fitted.choice == said


def test_the_raw_argmax_stays_where_no_point_keeps_the_limit():
    many = biased_rows(np.random.default_rng(99), 20_000, bias=[0.5, 0.0, -0.5])
    kept = np.random.default_rng(0).random(20_000) < np.array([0.7, 0.2, 0.1])[many.labels]
    rows = np.flatnonzero(kept)[np.random.default_rng(0).choice(kept.sum(), 200, replace=False)]
    limit = Constraints(max_accuracy_loss=0.0)
    fitted = fit(many.probabilities[rows], many.labels[rows], constraints=limit)
    assert fitted.choice.startswith("The raw argmax stays: no β is sure to lose no accuracy")
    assert fitted.coefficients.weights.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(fitted.evaluation.reweighted, fitted.evaluation.raw)
    assert (np.diff(fitted.evidence.accuracies), fitted.verdict) == (0, "keep")


def test_groups_make_the_folds_of_the_path_too(costly, tmp_path):
    p, y = costly
    groups = np.arange(len(y)) // 8
    [point] = trace_path(p, y, groups=groups, betas=(0.5,)).points
    fitted = fit(p, y, beta=0.5, groups=groups)
    assert point.expected["cobias"] == fitted.evidence.reweighted.cobias
