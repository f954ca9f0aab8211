"""Fits for another class mix: equal to fits on tables that were resampled to it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dnip import Coefficients, Objective, ProbabilityTable
from dnip.base.errors import CoefficientsFormatError, DNIPWarning, InvalidInputError
from dnip.base.records import as_plain
from dnip.fitting.fit import fit as fit_and_judge
from dnip.method.coefficients import Deferral
from dnip.metrics import accuracy
from dnip.priors import PriorEstimate
from populations import biased_rows

fit = partial(fit_and_judge, evidence=False)


def rows(seed=0, n=60, shares=(0.5, 0.25, 0.25), bias=(0.8, 0.0, -0.8)):
    made = biased_rows(np.random.default_rng(seed), n, bias=bias, shares=shares)
    return made.probabilities, made.labels


def repeated(p, labels, times):
    """Every row of class c `times[c]` times."""
    counts = np.asarray(times)[labels]
    return ProbabilityTable(np.repeat(p, counts, axis=0), np.repeat(labels, counts))


def test_a_target_prior_equals_a_table_resampled_to_that_mix():
    p, labels = rows()
    few = repeated(p, labels, [1, 2, 3])
    many = repeated(p, labels, [3, 2, 1])
    mix = np.bincount(many.labels) / len(many)
    # as many rows in both: μ is counted in rows
    objective = Objective(2.7, tau=0.2, smoothing=len(few) / len(many))
    weighed = fit(few, objective=objective, robust="off", scale=30, target_prior=mix)
    plain = fit(many, objective=Objective(2.7, 0.2, 1.0), robust="off", scale=30)
    assert weighed.solution.value == pytest.approx(plain.solution.value, abs=1e-9)
    assert weighed.coefficients.weights.tolist() == plain.coefficients.weights.tolist()
    raw = weighed.evaluation.in_population(weighed.evaluation.raw)
    assert accuracy(raw) == pytest.approx(accuracy(plain.evaluation.raw))


def test_weights_that_are_whole_give_the_resampled_counts_bit_for_bit():
    p, labels = rows(7, shares=(1 / 3, 1 / 3, 1 / 3))
    kept = np.concatenate([np.flatnonzero(labels == c)[:12] for c in range(3)])
    p, labels = p[kept], labels[kept]
    few = repeated(p, labels, [2, 2, 4])  # 24, 24, 48 of 96
    many = repeated(p, labels, [4, 2, 2])
    settings = {"robust": "off", "scale": "log:1000"}
    weighed = fit(few, target_prior=[0.5, 0.25, 0.25], **settings).solution
    plain = fit(many, **settings).solution
    np.testing.assert_array_equal(weighed.weight_indices, plain.weight_indices)
    np.testing.assert_array_equal(weighed.confusion, plain.confusion)
    assert (weighed.value, weighed.terms) == (plain.value, plain.terms)


def test_what_coefficients_keep():
    p, labels = rows()
    plain = fit(ProbabilityTable(p, labels), robust="off").coefficients
    np.testing.assert_allclose(plain.class_shares, np.bincount(labels) / 60)
    assert plain.fit.target_prior is None
    fitted = fit(ProbabilityTable(p, labels), target_prior={"2": 0.5, "1": 0.25, "0": 0.25})
    read = Coefficients.from_json(fitted.coefficients.to_json())
    mix = np.array([0.25, 0.25, 0.5])
    np.testing.assert_array_equal(read.class_shares, mix)
    told, effective = read.fit.target_prior, 1 / (mix**2 / np.bincount(labels)).sum()
    assert (told["source"], told["effective_rows"]) == ("given", pytest.approx(effective))
    assert as_plain(read.calibration) == as_plain(plain.calibration)


@pytest.mark.parametrize("robust", ["off", "on"])
def test_an_estimate_comes_from_rows_without_labels(robust):
    p, labels = rows(1, n=600, shares=(1 / 3, 1 / 3, 1 / 3))
    others, _ = rows(2, n=3_000, shares=(0.1, 0.2, 0.7))
    settings = {"robust": robust, "target_prior": "estimate"}
    new = ProbabilityTable(others, source="new")
    beside = fit(ProbabilityTable(p, labels), unlabelled=new, **settings)
    np.testing.assert_allclose(beside.target.shares, [0.1, 0.2, 0.7], atol=0.06)
    assert beside.target.estimate.n_rows == 3_000
    assert beside.coefficients.fit.unlabelled.source == "new"
    within = ProbabilityTable(np.vstack([p, others]), np.concatenate([labels, np.full(3_000, -1)]))
    same = fit(within, **settings)
    np.testing.assert_array_equal(same.target.shares, beside.target.shares)
    np.testing.assert_array_equal(same.coefficients.weights, beside.coefficients.weights)


@pytest.mark.parametrize(("robust", "scale"), [("off", 30), ("on", "log:30")])
def test_a_class_without_share_gets_the_least_weight_and_counts_nowhere(robust, scale):
    p, labels = rows(n=300)
    mix = [0.5, 0.0, 0.5]
    fitted = fit(ProbabilityTable(p, labels), robust=robust, scale=scale, target_prior=mix)
    assert fitted.coefficients.weights.argmin() == 1
    assert fitted.solution.weight_indices[1] == 1
    assert fitted.solution.confusion[1].sum() == 0
    assert fitted.coefficients.fit.unfitted == ("1",)


def test_a_class_with_share_and_without_labels_is_told():
    p, labels = rows(n=200)
    table = ProbabilityTable(p[labels != 2], labels[labels != 2])
    with pytest.warns(DNIPWarning) as told:
        fitted = fit(table, robust="off", target_prior=[0.25, 0.25, 0.5])
    said = " ".join(str(warning.message) for warning in told)
    assert "50.0% of the target prior is of class 2" in said
    assert "no labelled example of class 2" in said
    sizes = fitted.solution.confusion.sum(axis=1)
    assert sizes[0] == pytest.approx(sizes[1])
    with pytest.raises(InvalidInputError, match="fewer than two classes have both"):
        fit(table, target_prior=[0.5, 0.0, 0.5])


def test_a_robust_fit_goes_where_the_mix_is():
    p, labels = rows(3, n=120)
    there, here = (
        fit(p, labels, beta=0.2, robust="on", target_prior=mix) for mix in ([0.05, 0.05, 0.9], None)
    )
    p, labels = rows(4, n=20_000, shares=(0.05, 0.05, 0.9))
    there, here = ((one.predict(p) == labels.astype(str)).mean() for one in (there, here))
    assert there > here + 0.02


@pytest.fixture(scope="module")
def fitted():
    return fit(ProbabilityTable(*rows(n=2_000)), robust="off").coefficients


class TestAdjusted:
    """Coefficients that were fitted, moved to another mix."""

    def test_accuracy_rises_in_the_target_mix(self, fitted):
        p, labels = rows(5, n=20_000, shares=(0.05, 0.05, 0.9))
        moved = fitted.adjusted([0.05, 0.05, 0.9])
        before, after = ((c.predict(p) == labels.astype(str)).mean() for c in (fitted, moved))
        assert after > before + 0.05
        assert after > 0.9

    def test_its_file_holds_what_it_is_for(self, fitted):
        moved = fitted.adjusted({"0": 0.05, "1": 0.05, "2": 0.9})
        read = Coefficients.from_json(moved.to_json())
        np.testing.assert_array_equal(read.multipliers, moved.multipliers)
        np.testing.assert_array_equal(read.class_shares, [0.05, 0.05, 0.9])
        assert read.fit.adjusted["from"]["weights"] == fitted.weights.tolist()
        assert "value" not in read.objective
        assert read.objective["beta"] == 0.5

    def test_its_own_mix_leaves_it_as_it_is(self, fitted):
        assert fitted.adjusted(fitted.class_shares) is fitted
        with pytest.raises(InvalidInputError, match="hold for the class mix of the fit alone"):
            replace(fitted, defer=Deferral([0.5] * 3, 0.3)).adjusted([0.05, 0.05, 0.9])

    def test_of_an_estimate_only_classes_outside_the_interval_have_changed(self, fitted):
        own = fitted.class_shares
        near = own * [1.05, 0.95, 0.95] / (own * [1.05, 0.95, 0.95]).sum()

        def moved(margin):
            return fitted.adjusted(PriorEstimate(near, near - margin, near + margin, 100))

        assert moved(0.1) is fitted
        np.testing.assert_array_equal(moved(0.0).weights, fitted.adjusted(near).weights)
        far = np.array([0.05, 0.05, 0.9])
        there = fitted.adjusted(PriorEstimate(far, far - 0.01, far + 0.01, 100))
        np.testing.assert_array_equal(there.weights, fitted.adjusted(far).weights)

    @pytest.mark.parametrize("name", ["class_shares", "calibration"])
    def test_a_file_without_what_a_fit_learns(self, fitted, name):
        old = replace(fitted, fit=replace(fitted.fit, **{name: None}))
        with pytest.raises(CoefficientsFormatError, match=f"fit.{name} is missing.*Fit again"):
            old.adjusted("uniform")
