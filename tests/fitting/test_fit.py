"""From a table to coefficients: which rows count, and what the artefact remembers."""

import json

import numpy as np
import pytest

import oracles
from dnip import Coefficients, Objective, ProbabilityTable, solve
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.fitting.fit import fit_table
from problems import KNOWN
from robustly import solve_robustly

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


def test_unlabelled_rows_change_nothing_of_a_plain_fit_but_their_count(table):
    rng = np.random.default_rng(0)
    p = np.vstack([rng.dirichlet(np.ones(3), 20), table.probabilities])
    labels = np.concatenate([np.full(20, -1), table.labels])
    more = fit_table(ProbabilityTable(p, labels, classes=NAMES), robust="off")
    fewer = fit_table(table, robust="off")
    np.testing.assert_array_equal(more.solution.weight_indices, fewer.solution.weight_indices)
    assert more.solution.value == fewer.solution.value
    assert (more.evaluation.n, more.evaluation.n_unlabelled) == (80, 20)
    data = more.coefficients.fit["data"]
    assert (data["rows"], data["labelled_rows"]) == (100, 80)


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


def test_the_same_seed_gives_the_same_file_but_for_the_clock(table):
    def stored():
        content = json.loads(fit_table(table, seed=7).coefficients.to_json())
        del content["fit"]["seconds"]
        return content

    assert stored() == stored()


def test_a_source_that_is_no_unicode_can_be_stored(tmp_path, table):
    path = tmp_path / "coefficients.json"
    odd = ProbabilityTable(table.probabilities, table.labels, classes=NAMES, source="\udcff.csv")
    fit_table(odd).coefficients.save(path)
    assert Coefficients.load(path).fit["data"]["source"] == r"\udcff.csv"


def test_a_class_without_examples_is_told_by_name_and_marked(table):
    partial = table.take(table.labels != 1)
    with pytest.warns(DNIPWarning, match="no labelled example of class okay"):
        fit = fit_table(partial, scale=9)
    assert fit.solution.unfitted == (1,)
    assert fit.coefficients.fit["unfitted"] == ["okay"]
    assert fit.evaluation.missing == ("okay",)


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


def test_rows_without_a_label_serve_a_robust_fit(table):
    rng = np.random.default_rng(0)
    few = table.take(np.arange(12))
    more = ProbabilityTable(rng.dirichlet(np.ones(3), 40), None, classes=NAMES, source="more.csv")
    rest = ProbabilityTable(rng.dirichlet(np.ones(3), 60), np.full(60, -1), classes=NAMES)
    joined = ProbabilityTable(
        np.vstack([few.probabilities, rest.probabilities]),
        np.concatenate([few.labels, rest.labels]),
        classes=NAMES,
    )
    fit = fit_table(joined, unlabelled=more, scale=100)
    expected = solve_robustly(
        few.probabilities,
        few.labels,
        scale=100,
        unlabelled=np.vstack([rest.probabilities, more.probabilities]),
    )
    np.testing.assert_array_equal(fit.solution.weight_indices, expected.solution.weight_indices)
    assert fit.decision.n_unlabelled == 100
    stored = fit.coefficients.fit
    assert stored["robust"] == {"mode": "auto", **expected.decision.to_dict()}
    assert stored["unlabelled"] == {
        "source": "more.csv",
        "sha256": more.data_hash,
        "rows": 40,
    }
    assert Coefficients.from_json(fit.coefficients.to_json()).fit == stored


def test_unlabelled_rows_of_other_classes_are_refused(table):
    other = ProbabilityTable(np.full((5, 2), 0.5), None, classes=("bad", "good"), source="u.csv")
    with pytest.raises(InvalidInputError, match="has the classes bad, good, but opt"):
        fit_table(table, unlabelled=other)
