"""What coefficients keep of their rows, by whichever way they were fitted."""

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
