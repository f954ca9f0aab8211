"""From a table to coefficients: which rows count, what the artefact remembers, what is told."""

import json
import re

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Coefficients, DNIPClassifier, InvalidInputError, Objective, ProbabilityTable, solve
from dnip.comparing.demonstration import bundled_table
from dnip.deploying.check import check
from dnip.fitting.fit import fit_table
from dnip.fitting.pareto import Rule, trace_front
from dnip.tables.sketch import Sketch
from problems import KNOWN

NAMES = ("bad", "okay", "good")
PROBLEM = KNOWN["three classes"]


@pytest.fixture(scope="module")
def table():
    return ProbabilityTable(PROBLEM.p, PROBLEM.labels, classes=NAMES, source="opt.csv")


def test_the_fit_is_what_solve_finds(table):
    objective = Objective(beta=1.0, tau=0.1, smoothing=2.0)
    settings = {"scale": 9, "solver": "anneal", "seed": 5}
    fit = fit_table(table, objective, **settings)
    solution = solve(table.probabilities, table.labels, objective, **settings)
    np.testing.assert_array_equal(fit.solution.weight_indices, solution.weight_indices)
    assert fit.solution.value == solution.value
    assert fit.coefficients.weight_indices.tolist() == solution.weight_indices.tolist()
    assert fit.coefficients.classes == NAMES


def test_the_artefact_remembers_data_and_settings(table):
    fit = fit_table(table, Objective(terms=("error", "cobias")), scale=9, seed=4)
    stored = json.loads(fit.coefficients.to_json())
    counts = {"rows": 80, "labelled_rows": 80}
    assert stored["fit"]["data"] == {"source": "opt.csv", "sha256": table.data_hash, **counts}
    assert stored["fit"]["seed"] == 4
    assert stored["fit"]["package_version"]
    assert stored["objective"]["terms"] == ["error", "cobias"]
    assert stored["objective"]["term_values"] == fit.solution.terms
    assert stored["objective"]["value"] == fit.solution.value


def test_a_source_that_is_no_unicode_can_be_stored(tmp_path, table):
    path = tmp_path / "coefficients.json"
    odd = ProbabilityTable(table.probabilities, table.labels, classes=NAMES, source="\udcff.csv")
    fit_table(odd).coefficients.save(path)
    assert Coefficients.load(path).fit["data"]["source"] == r"\udcff.csv"


@cases(
    (None, "opt.csv: no row has a label.*Add a column `label`"),
    ([-1, -1], "opt.csv: no row has a label"),
    ([1, 1], "okay"),
    ([-1, 1], "okay"),
)
def test_tables_that_nothing_can_be_learned_from_are_refused(labels, told):
    labels = None if labels is None else np.array(labels)
    table = ProbabilityTable(np.full((2, 3), 1 / 3), labels, classes=NAMES, source="opt.csv")
    with pytest.raises(InvalidInputError, match=told):
        fit_table(table)


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
    raw = opt.probabilities.argmax(axis=1)
    chosen = oracles.predict(opt.probabilities, fitted.coefficients.multipliers)
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


@cases(
    (True, [1, 1, 1], None),
    (False, [1, 1, 0], "No weight can lift class c"),
    (False, [1, 1, 1e-7], "Out of reach: class c"),
    (True, [1, 1, 0.1], r"\ASilent before, awake now: c is right on 30 of 30 rows now\.\Z"),
    (True, [1, 1, 0.0005], "end of the scale log:1000"),
)
def test_notes_name_classes_that_no_weight_helps_or_that_woke(even, factors, told):
    y = np.arange(90) % 3
    p = 0.2 + 0.4 * np.eye(3)[y] if even else np.random.default_rng(0).dirichlet([2, 2, 2], 90)
    p = p * factors
    p /= p.sum(axis=1, keepdims=True)
    notes = fit_table(ProbabilityTable(p, y, classes=("a", "b", "c")), robust="auto").notes
    assert any(re.search(told, note) for note in notes) if told else notes == ()
