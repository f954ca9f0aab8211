"""From a table to coefficients: which rows count, and what the artefact remembers."""

import json

import numpy as np
import pytest

import oracles
from dnip import Coefficients, Objective, ProbabilityTable, solve
from dnip.base.errors import InvalidInputError
from dnip.fitting.fit import fit_table
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


def test_the_optimum_is_found_and_the_evaluation_is_that_of_the_coefficients(table):
    fit = fit_table(table, scale=9, solver="exhaustive")
    assert fit.solution.value == pytest.approx(PROBLEM.optimum)
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, fit.coefficients.weight_indices)
    np.testing.assert_array_equal(fit.evaluation.reweighted, confusion)
    assert oracles.objective(confusion) == pytest.approx(fit.solution.value)


def test_the_artefact_remembers_data_and_settings(table):
    fit = fit_table(table, Objective(terms=("error", "cobias")), scale=9, seed=4)
    stored = json.loads(fit.coefficients.to_json())
    assert stored["fit"]["data"] == {
        "source": "opt.csv",
        "sha256": table.data_hash,
        "rows": 80,
        "labelled_rows": 80,
    }
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


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (None, "opt.csv: no row has a label.*Add a column `label`"),
        ([-1, -1], "opt.csv: no row has a label"),
        ([1, 1], "okay"),
        ([-1, 1], "okay"),
    ],
)
def test_tables_that_nothing_can_be_learned_from_are_refused(labels, told):
    labels = None if labels is None else np.array(labels)
    table = ProbabilityTable(np.full((2, 3), 1 / 3), labels, classes=NAMES, source="opt.csv")
    with pytest.raises(InvalidInputError, match=told):
        fit_table(table)
