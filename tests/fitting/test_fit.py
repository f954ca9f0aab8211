"""From a table, or a sample of a very large one, to coefficients: what counts, and what is told."""

import json

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Constraints, Objective, ProbabilityTable, solve
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.base.records import as_plain
from dnip.comparing.demonstration import bundled_table
from dnip.fitting.fit import fit, read_fit_rows
from dnip.fitting.path import trace_path
from dnip.method.kept import Sketch
from problems import KNOWN

NAMES = ("bad", "okay", "good")
PROBLEM = KNOWN["three classes"]


@pytest.fixture(scope="module")
def table():
    return ProbabilityTable(PROBLEM.p, PROBLEM.labels, classes=NAMES, source="opt.csv")


def test_the_fit_is_what_solve_finds(table):
    objective = Objective(beta=1.0, tau=0.1, smoothing=2.0)
    settings = {"scale": 9, "solver": "anneal", "seed": 5}
    fitted = fit(table, objective=objective, **settings, evidence=False)
    solution = solve(table.probabilities, table.labels, objective, **settings)
    np.testing.assert_array_equal(fitted.solution.weight_indices, solution.weight_indices)
    assert fitted.solution.value == solution.value
    assert fitted.coefficients.weight_indices.tolist() == solution.weight_indices.tolist()
    assert fitted.coefficients.classes == NAMES


def test_the_artefact_remembers_data_and_settings(table):
    fitted = fit(
        table, objective=Objective(terms=("error", "cobias")), scale=9, seed=4, evidence=False
    )
    stored = json.loads(fitted.coefficients.to_json())
    counts = {"rows": 80, "labelled_rows": 80, "sums_to_one": True}
    assert stored["fit"]["data"] == {"source": "opt.csv", "sha256": table.data_hash, **counts}
    assert stored["fit"]["seed"] == 4
    assert stored["fit"]["package_version"]
    assert stored["objective"]["terms"] == ["error", "cobias"]
    assert stored["objective"]["term_values"] == fitted.solution.terms
    assert stored["objective"]["value"] == fitted.solution.value


@pytest.fixture(scope="module")
def opt():
    return bundled_table("opt").draw(400, seed=0)


@pytest.fixture(scope="module")
def new():
    return bundled_table("test").draw(400, seed=0)


def kept(coefficients):
    content = coefficients.fit.to_dict()["sketch"]
    return {name: content[name] for name in ("rows", "classes")}


def sketch_of(p, weight=None):
    content = as_plain(Sketch.of(p, weight))
    return {name: content[name] for name in ("rows", "classes")}


def test_a_fit_keeps_a_sketch_of_its_labelled_rows(opt):
    fitted = fit(opt, robust="off", evidence=False)
    assert kept(fitted.coefficients) == sketch_of(opt.probabilities)
    raw = opt.probabilities.argmax(axis=1)
    chosen = oracles.predict(opt.probabilities, fitted.coefficients.multipliers)
    assert fitted.coefficients.fit.sketch.changed_decisions == np.mean(raw != chosen)
    right = np.diag(fitted.evaluation.reweighted).tolist()
    assert fitted.coefficients.fit.scores.right.tolist() == right


def test_scores_are_those_of_rows_that_refits_have_not_seen(opt):
    fitted = fit(opt, robust="off", evidence=True)
    right = np.diag(fitted.evidence.evaluation.reweighted).tolist()
    assert fitted.coefficients.fit.scores.right.tolist() == right


@pytest.mark.parametrize(("n_rows", "used"), [(29, False), (30, True)])
def test_rows_without_a_label_come_first_if_there_are_enough(opt, new, n_rows, used):
    opt = ProbabilityTable(opt.changed(mass=None))
    rows = ProbabilityTable(new.probabilities[:n_rows], classes=new.classes)
    found = kept(fit(opt, unlabelled=rows, evidence=False).coefficients)
    assert found == sketch_of(rows.probabilities if used else opt.probabilities)


def test_rows_of_a_group_and_copies_count_as_one_label(opt):
    p, y = np.repeat(opt.probabilities[:90], 3, axis=0), np.repeat(opt.labels[:90], 3)
    for asked in ({"groups": np.repeat(np.arange(90), 3)}, {}):
        decision = fit(p, y, classes=opt.classes, evidence=False, **asked).decision
        np.testing.assert_allclose(decision.support, np.bincount(opt.labels[:90]))


def test_rows_are_weighed_to_a_target_prior(opt):
    mix = np.array([0.4, 0.3, 0.2, 0.1])
    weight = (mix / np.bincount(opt.labels))[opt.labels]
    found = fit(opt, robust="off", target_prior=mix, evidence=False).coefficients
    assert kept(found) == sketch_of(opt.probabilities, weight)


@cases(
    ([1, 1, 1], 1, None),
    ([1, 1, 0], 1, "No weight can lift class c: its probability is 0 "),
    ([1, 1, 1e-7], 10, "Never right, before and after: class c. More labels, or "),
    ([1, 1, 0.00005], None, None),
)
def test_notes_name_classes_that_are_never_right(factors, scale, told):
    y = np.arange(90) % 3
    p = (0.2 + 0.4 * np.eye(3)[y]) * factors
    p *= np.exp(np.random.default_rng(1).normal(0, 0.01, p.shape))  # no copies
    table = ProbabilityTable(p / p.sum(axis=1, keepdims=True), y, classes=("a", "b", "c"))
    notes = fit(table, scale=scale, evidence=False).notes
    assert [note[: len(told or "")] for note in notes] == [told] * (told is not None)


# --- samples of large tables ---
LETTERS = ("a", "b", "c", "d")
SIZES = (12_000, 4_000, 1_300, 3)


@pytest.fixture(scope="module")
def large():
    """Classes of uneven sizes, and rows without a label."""
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat([*range(4), -1], [*SIZES, 700]))
    p = rng.dirichlet(np.full(4, 0.6), len(labels))
    p = (p + 0.5 * np.eye(4)[labels] * (labels >= 0)[:, None]) * [1, 0.8, 0.6, 0.5]
    mass = rng.uniform(0.5, 1, len(labels))
    p /= p.sum(axis=1, keepdims=True)
    ids = np.array([f"row {i}" for i in range(len(p))], object)
    return ProbabilityTable(p, labels, ids, LETTERS, mass=mass)


@pytest.fixture(scope="module")
def path(large, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "opt.parquet"
    large.write(path)
    return path


def told(fitted):
    content = json.loads(fitted.coefficients.to_json())
    del content["fit"]["seconds"]
    return content


def test_a_table_within_the_limit_is_fitted_whole(large, path):
    of = large.probabilities, large.labels, large.ids
    whole = ProbabilityTable(*of, LETTERS, source=str(path), mass=large.mass)
    expected = told(fit(whole, seed=3, evidence=False))
    for rows in (None, len(large)):
        fitted = fit(path, seed=3, rows=rows, evidence=False)
        assert told(fitted) == expected
        assert not any("sample" in note for note in fitted.notes)
    assert read_fit_rows(path).sample.table.ids.tolist() == large.ids.tolist()


@pytest.mark.parametrize("mix", [None, [0.4, 0.3, 0.2, 0.1]])
def test_what_is_told_of_a_sample_is_of_all_rows(large, path, mix):
    fitted = fit(path, seed=3, target_prior=mix, rows=6_000, evidence=False)
    assert fitted.notes[0] == (
        "Fitted on a sample of 5,999 of 18,003 rows; the objective is of all."
    )
    data = fitted.coefficients.fit.data
    assert data.sha256 == large.data_hash
    assert (data.rows, data.labelled_rows) == (len(large), sum(SIZES))
    assert data.sample == {"rows": 5_999, "seed": 3}
    assert fitted.evaluation.raw.sum(axis=1).tolist() == list(SIZES)
    assert (fitted.evaluation.n_unlabelled, fitted.evaluation.captured_mass.rows) == (
        700,
        len(large),
    )
    confusion = fitted.evaluation.in_population(fitted.evaluation.reweighted)
    assert fitted.solution.value == Objective()(confusion)
    assert fitted.coefficients.objective["value"] == fitted.solution.value
    shares = np.array(SIZES) / sum(SIZES) if mix is None else mix
    np.testing.assert_allclose(fitted.coefficients.class_shares, shares)
    best = fit(large, robust="off", seed=3, target_prior=mix, evidence=False).solution.value
    assert best - 1e-3 < fitted.solution.value < best + 0.01


def test_nothing_is_proven_by_a_sample_and_constraints_are_kept_there(path):
    asked = Constraints(max_accuracy_loss=0.01)
    fitted = fit(path, scale=4, solver="exact", constraints=asked, rows=2_000, evidence=False)
    assert (fitted.solution.status.value, fitted.solution.lower_bound) == ("finished", None)
    assert fitted.notes[0].endswith(
        "the objective is of all, the constraints are kept on the sample."
    )
    raw, after = fitted.evaluation.raw, fitted.evaluation.reweighted
    loss = (np.trace(raw) - np.trace(after)) / sum(SIZES)
    assert fitted.solution.constraints["accuracy_loss"] == pytest.approx(loss)
    assert loss < 0.02


def test_a_sample_is_fitted_robustly_where_that_is_asked_for(large, path, tmp_path):
    assert fit(path, rows=2_000, evidence=False).decision is None
    more = tmp_path / "more.parquet"
    ProbabilityTable(large.take(range(900)).changed(labels=None)).write(more)
    asked = {"robust": "on", "target_prior": "estimate"}
    fitted = fit(path, rows=2_000, unlabelled=more, evidence=False, **asked)
    assert fitted.decision.n_unlabelled == 499 + 900  # as many as of each large class
    np.testing.assert_allclose(fitted.decision.support[3], 3)
    assert fitted.target.estimate is not None


def test_evidence_of_a_sample_is_for_the_mix_of_all_rows(path):
    fitted = fit(path, rows=2_000, evidence=True)
    judged = fitted.evidence.evaluation
    np.testing.assert_allclose(judged.target, np.array(SIZES) / sum(SIZES))
    expected = np.trace(fitted.evaluation.raw) / sum(SIZES)
    assert judged.to_dict()["raw"]["accuracy"] == pytest.approx(expected, abs=0.03)


def test_a_warning_of_the_table_is_given_once(large, tmp_path):
    path = tmp_path / "low.parquet"
    mass = large.mass / 20
    ProbabilityTable(large.probabilities, large.labels, classes=LETTERS, mass=mass).write(path)
    with pytest.warns(DNIPWarning, match="the labels capture less") as caught:
        fit(path, rows=2_000, evidence=False)
    assert len(caught) == 1


def test_the_path_takes_the_same_sample(large, path):
    [point] = trace_path(path, betas=(0.5,), rows=6_000, evidence=False).points
    expected = fit(path, rows=6_000, evidence=False)
    assert told(point.fit) == told(expected)
    assert point.fit.coefficients.fit.data.sample == {"rows": 5_999, "seed": 0}


@cases(
    (2, "a sample of 2 rows is too small for 3 classes"),
    (0, "rows must be a whole number of at least 1"),
)
def test_what_cannot_be_sampled_is_refused(tmp_path, rows, message):
    path = tmp_path / "opt.csv"
    ProbabilityTable(np.full((300, 3), 1 / 3), np.arange(300) % 3).write(path)
    with pytest.raises(InvalidInputError, match=message):
        fit(path, rows=rows, evidence=False)
