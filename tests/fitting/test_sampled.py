"""A fit of a very large table: on a sample whose rows count for all, and told of all rows."""

import json

import numpy as np
import pytest

from cases import cases
from dnip import Constraints, DNIPWarning, InvalidInputError, ProbabilityTable, tune
from dnip.fitting.fit import fit_file, fit_table
from dnip.fitting.pareto import trace_front
from dnip.fitting.sampled import read_sample
from dnip.fitting.settings import FitSettings
from dnip.fitting.tuning import Grid

CLASSES = ("a", "b", "c", "d")
SIZES = (12_000, 4_000, 1_300, 3)


@pytest.fixture(scope="module")
def table():
    """Classes of uneven sizes, and rows without a label."""
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat([*range(4), -1], [*SIZES, 700]))
    p = rng.dirichlet(np.full(4, 0.6), len(labels))
    p = (p + 0.5 * np.eye(4)[labels] * (labels >= 0)[:, None]) * [1, 0.8, 0.6, 0.5]
    mass = rng.uniform(0.5, 1, len(labels))
    p /= p.sum(axis=1, keepdims=True)
    ids = np.array([f"row {i}" for i in range(len(p))], object)
    return ProbabilityTable(p, labels, ids, CLASSES, mass=mass)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "opt.parquet"
    table.write(path)
    return path


def told(fit):
    content = json.loads(fit.coefficients.to_json())
    del content["fit"]["seconds"]
    return content


def test_a_table_within_the_limit_is_fitted_whole(table, path):
    of = table.probabilities, table.labels, table.ids
    whole = ProbabilityTable(*of, CLASSES, source=str(path), mass=table.mass)
    for rows in (None, len(table), 10 * len(table)):
        fit = fit_file(path, FitSettings(seed=3), rows=rows)
        assert told(fit) == told(fit_table(whole, seed=3))
        assert not any("sample" in note for note in fit.notes)
    assert read_sample(path).table.ids.tolist() == table.ids.tolist()


@pytest.mark.parametrize("mix", [None, [0.4, 0.3, 0.2, 0.1]])
def test_what_is_told_of_a_sample_is_of_all_rows(table, path, mix):
    settings = FitSettings(seed=3, target_prior=mix)
    fit = fit_file(path, settings, rows=6_000)
    assert fit.notes[0] == ("Fitted on a sample of 5,999 of 18,003 rows; the objective is of all.")
    data = fit.coefficients.fit["data"]
    assert data["sha256"] == table.data_hash
    assert (data["rows"], data["labelled_rows"]) == (len(table), sum(SIZES))
    assert data["sample"] == {"rows": 5_999, "seed": 3}
    assert fit.evaluation.raw.sum(axis=1).tolist() == list(SIZES)
    assert (fit.evaluation.n_unlabelled, fit.captured_mass.rows) == (700, len(table))
    confusion = fit.evaluation.in_population(fit.evaluation.reweighted)
    assert fit.solution.value == settings.objective(confusion)
    assert fit.coefficients.objective["value"] == fit.solution.value
    shares = np.array(SIZES) / sum(SIZES) if mix is None else mix
    np.testing.assert_allclose(fit.coefficients.class_shares, shares)
    best = fit_table(table, robust="off", seed=3, target_prior=mix).solution.value
    assert best <= fit.solution.value < best + 0.01


def test_a_class_of_three_rows_is_in_the_sample_with_all_of_them(path):
    sample = read_sample(path, rows=1_000)
    assert np.bincount(sample.table.labels + 1)[-1] == 3
    assert sample.class_sizes.tolist() == list(SIZES)
    weights = np.bincount(sample.table.labelled().labels, sample.weights)
    np.testing.assert_allclose(weights, SIZES)


def test_nothing_is_proven_by_a_sample_and_constraints_are_kept_there(path):
    asked = Constraints(max_accuracy_loss=0.01)
    fit = fit_file(path, FitSettings(scale=4, solver="exhaustive", constraints=asked), rows=2_000)
    assert (fit.solution.status.value, fit.solution.lower_bound) == ("finished", None)
    assert fit.notes[0].endswith("the objective is of all, the constraints are kept on the sample.")
    raw, after = fit.evaluation.raw, fit.evaluation.reweighted
    loss = (np.trace(raw) - np.trace(after)) / sum(SIZES)
    assert fit.solution.constraints["accuracy_loss"] == pytest.approx(loss)
    assert loss < 0.02


def test_a_sample_is_fitted_robustly_where_that_is_asked_for(table, path, tmp_path):
    assert fit_file(path, FitSettings(), rows=2_000).decision is None
    more = tmp_path / "more.parquet"
    ProbabilityTable(table.probabilities[:900], None, classes=CLASSES).write(more)
    settings = FitSettings(robust="on", target_prior="estimate")
    fit = fit_file(path, settings, rows=2_000, unlabelled=more)
    assert fit.decision.n_unlabelled == 499 + 900  # as many as of each large class
    np.testing.assert_allclose(fit.decision.support[3], 3)
    assert fit.target.estimate is not None


def test_evidence_of_a_sample_is_for_the_mix_of_all_rows(path):
    fit = fit_file(path, FitSettings(), rows=2_000, evidence=True)
    judged = fit.evidence.evaluation
    np.testing.assert_allclose(judged.target, np.array(SIZES) / sum(SIZES))
    expected = np.trace(fit.evaluation.raw) / sum(SIZES)
    assert judged.to_dict()["raw"]["accuracy"] == pytest.approx(expected, abs=0.03)


def test_a_warning_of_the_table_is_given_once(table, tmp_path):
    path = tmp_path / "low.npz"
    mass = table.mass / 20
    ProbabilityTable(table.probabilities, table.labels, classes=CLASSES, mass=mass).write(path)
    with pytest.warns(DNIPWarning, match="the labels capture less") as caught:
        fit_file(path, FitSettings(), rows=2_000)
    assert len(caught) == 1


def test_tuning_and_the_front_take_the_same_sample(table, path, monkeypatch):
    monkeypatch.setattr("dnip.fitting.sampled.read_sample.__defaults__", (None, 6_000, 0, None))
    monkeypatch.setattr("dnip.fitting.sampled.sample_of.__defaults__", (None, 6_000, 0, None))
    tuned = tune(path, grid=Grid((1.0, 2.7), (0.0,)), folds=2)
    assert tuned.fit.notes[0].startswith("Fitted on a sample of 5,999 of 18,003 rows")
    for candidate in tuned.candidates:
        assert sum(fold.sum() for fold in candidate.folds) == pytest.approx(sum(SIZES))
        scores = candidate.scores
        score = scores["accuracy"] - scores["cobias"]
        assert candidate.standing.score == pytest.approx(score, abs=1e-3)
    found = trace_front(path, effort=0.05)
    np.testing.assert_allclose(found.front.support, SIZES)
    data = found.provenance["data"]
    assert (data["sample"]["rows"], data["sha256"]) == (5_999, table.data_hash)
    whole = trace_front(table, effort=0.05, cross="off").front.points[0].accuracy
    assert found.front.points[0].accuracy == pytest.approx(whole, abs=0.02)
    assert found.cross is None
    with pytest.raises(InvalidInputError, match="the front is that of a sample"):
        trace_front(path, cross="on")


@cases(
    (None, 100, "opt.csv: no row has a label"),
    (np.zeros(300, int), 100, "only class 0 has labelled rows"),
    (np.arange(300) % 3, 2, "a sample of 2 rows is too small for 3 classes"),
    (np.arange(300) % 3, 0, "rows must be a whole number of at least 1"),
)
def test_what_cannot_be_sampled_is_refused(tmp_path, labels, rows, message):
    path = tmp_path / "opt.csv"
    ProbabilityTable(np.full((300, 3), 1 / 3), labels).write(path)
    with pytest.raises(InvalidInputError, match=message):
        fit_file(path, FitSettings(), rows=rows)


def test_a_broken_part_of_a_large_table_is_named(table, tmp_path):
    for part in range(3):
        table.take(np.arange(part, 900, 3)).write(tmp_path / f"part-{part}.parquet")
    (tmp_path / "part-1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInputError, match=r"part-1.parquet: this is not a sound Parquet"):
        fit_file(tmp_path, FitSettings(), rows=100)
