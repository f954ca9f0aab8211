"""What coefficients keep of their rows, and what is told of single classes."""

import numpy as np
import pytest

from dnip import DNIPClassifier, ProbabilityTable
from dnip.comparing.demonstration import bundled_table
from dnip.deploying.check import check
from dnip.fitting.fit import fit_table
from dnip.fitting.pareto import Rule, trace_front
from dnip.tables.sketch import Sketch


@pytest.fixture(scope="module")
def opt():
    return bundled_table("opt").draw(400, seed=0)


@pytest.fixture(scope="module")
def new():
    return bundled_table("test").draw(400, seed=0)


def kept(coefficients):
    content = coefficients.fit["sketch"]
    return {name: content[name] for name in ("rows", "mass", "classes")}


def sketch_of(p, weight=None):
    content = Sketch.of(p, weight).to_dict()
    return {name: content[name] for name in ("rows", "mass", "classes")}


def test_a_fit_keeps_a_sketch_of_its_labelled_rows(opt):
    fitted = fit_table(opt, robust="off")
    assert kept(fitted.coefficients) == sketch_of(opt.probabilities)
    raw, chosen = opt.probabilities.argmax(axis=1), fitted.coefficients.predict(opt.probabilities)
    assert fitted.coefficients.fit["sketch"]["changed_decisions"] == np.mean(raw != chosen)
    right = np.diag(fitted.evaluation.reweighted).tolist()
    assert fitted.coefficients.fit["scores"]["right"] == right


def test_scores_are_those_of_rows_that_refits_have_not_seen(opt):
    fitted = fit_table(opt, robust="off", evidence=True)
    right = np.diag(fitted.evidence.evaluation.reweighted).tolist()
    assert fitted.coefficients.fit["scores"]["right"] == right


@pytest.mark.parametrize(("n_rows", "used"), [(29, False), (30, True)])
def test_rows_without_a_label_come_first_if_there_are_enough(opt, new, n_rows, used):
    rows = ProbabilityTable(new.probabilities[:n_rows], classes=new.classes)
    found = kept(fit_table(opt, unlabelled=rows).coefficients)
    assert found == sketch_of(rows.probabilities if used else opt.probabilities)


def test_rows_are_weighed_to_a_target_prior(opt):
    mix = np.array([0.4, 0.3, 0.2, 0.1])
    weight = (mix / np.bincount(opt.labels))[opt.labels]
    found = fit_table(opt, robust="off", target_prior=mix).coefficients
    assert kept(found) == sketch_of(opt.probabilities, weight)


def test_the_classifier_and_the_front_keep_a_sketch_too(opt, new):
    front = trace_front(opt, scale=30, effort=0.1).coefficients(Rule.of("knee"))
    names = np.array(opt.classes)
    classifier = DNIPClassifier(classes=opt.classes, robust="off")
    classifier.fit(opt.probabilities, names[opt.labels])
    for coefficients in (front, classifier.coefficients_):
        assert kept(coefficients) == sketch_of(opt.probabilities)
        found = check([new], coefficients)
        assert found.holds
        assert (found.changed_at_fit, found.accuracy, found.n_labelled) == (None, None, 400)


NAMES = ("a", "b", "c")


def notes_of(p, y, **settings):
    p = np.asarray(p) / np.sum(p, axis=1, keepdims=True)
    return fit_table(ProbabilityTable(p, np.asarray(y), classes=NAMES), **settings).notes


def test_nothing_is_said_where_all_is_well():
    p = np.full((90, 3), 0.2) + 0.4 * np.eye(3)[np.arange(90) % 3]
    assert notes_of(p, np.arange(90) % 3) == ()


def test_a_column_of_zeros_cannot_be_lifted():
    p = np.random.default_rng(0).dirichlet([2, 2, 2], 90)
    p[:, 2] = 0
    assert any("No weight can lift class c" in note for note in notes_of(p, np.arange(90) % 3))


def test_a_class_beyond_the_scale_is_named():
    p = np.random.default_rng(0).dirichlet([2, 2, 2], 90) * [1, 1, 1e-7]
    assert any("Out of reach: class c" in note for note in notes_of(p, np.arange(90) % 3))


def test_a_woken_class_is_named():
    y = np.arange(90) % 3
    p = (np.full((90, 3), 0.2) + 0.4 * np.eye(3)[y]) * [1, 1, 0.1]
    assert notes_of(p, y)[0] == "Silent before, awake now: c is right on 30 of 30 rows now."


def test_the_end_of_the_scale_is_told():
    y = np.arange(90) % 3
    p = (np.full((90, 3), 0.2) + 0.4 * np.eye(3)[y]) * [1, 1, 0.0005]
    assert any("end of the scale log:1000" in note for note in notes_of(p, y, robust="off"))
