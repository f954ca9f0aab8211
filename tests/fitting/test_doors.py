"""One fit behind every door: whoever calls, it is the same to the last bit."""

import json
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import dnip
from cases import cases
from dnip import DNIPClassifier, Objective, ProbabilityTable
from dnip.cli.commands.fit import as_keywords
from dnip.fitting.fit import fit
from dnip.fitting.path import trace_path
from dnip.fitting.settings import fit_settings
from dnip.method.constraints import Constraints
from populations import biased_rows

NAMES = ("red", "green", "blue")
BETA = 0.7


@pytest.fixture(scope="module")
def rows():
    rows = biased_rows(np.random.default_rng(3), 150, bias=[1.5, 0.0, -1.5])
    return rows.probabilities, np.array(NAMES)[rows.labels]


@pytest.fixture(scope="module")
def table(rows):
    p, names = rows
    return ProbabilityTable(p, [NAMES.index(name) for name in names], classes=NAMES)


def told(fitted):
    """All that a fit is told to be, but for the name of the table and the time."""
    content = json.loads(fitted.coefficients.to_json())
    content["fit"].pop("seconds")
    content["fit"]["data"].pop("source")
    evidence = fitted.evidence.to_dict(0.9)
    return {**content, "evidence": evidence, "verdict": fitted.verdict, "notes": fitted.notes}


def by_frame(p, names, table, **asked):
    return fit(pd.DataFrame(p, columns=NAMES), names, **asked)


def by_file(p, names, table, tmp_path, **asked):
    table.write(tmp_path / "t.parquet")
    return fit(tmp_path / "t.parquet", **asked)


def by_classifier(p, names, table, objective, **asked):
    settings = {"beta": objective.beta, "classes": NAMES, **asked}
    return DNIPClassifier(**settings).fit(p, names).fit_


@pytest.mark.parametrize("asked", [{}, {"constraints": Constraints(max_accuracy_loss=0.02)}])
def test_arrays_frames_files_tables_and_the_classifier_agree(
    rows, table, tmp_path, monkeypatch, asked
):
    monkeypatch.setattr("dnip.fitting.fit.PATH", (0.1, BETA, 2.7))
    asked = {"objective": Objective(beta=BETA), **asked}
    p, names = rows
    expected = fit(p, names, classes=NAMES, **asked)
    doors = {
        "table": fit(table, **asked),
        "frame": by_frame(p, names, table, **asked),
        "file": by_file(p, names, table, tmp_path, **asked),
        "classifier": by_classifier(p, names, table, **asked),
    }
    for name, fitted in doors.items():
        assert told(fitted) == told(expected), name
        assert fitted.alternatives == ()


def test_the_path_and_the_report_are_that_fit_too(rows, table):
    p, names = rows
    objective = Objective(beta=BETA)
    expected = told(fit(p, names, objective, classes=NAMES))
    [point] = trace_path(table, betas=[BETA]).points
    of_path = told(point.fit)
    for content in (expected, of_path):
        content["fit"]["evidence"].pop("reason")
    assert of_path == expected
    reported = dnip.report(table).coefficients
    fitted = fit(table).coefficients
    records = [each.fit.to_dict() for each in (reported, fitted)]
    assert all(record.pop("seconds") for record in records)
    assert records[0] == records[1]
    assert reported.weights.tolist() == fitted.weights.tolist()


def test_the_command_line_and_the_classifier_declare_the_defaults_of_a_fit():
    usual = fit_settings()
    assert vars(fit_settings(**as_keywords())) == vars(usual)
    assert vars(DNIPClassifier()._settings()) == vars(usual)
    assert usual.objective == Objective()
    assert Objective().beta == 0.5


def test_the_classifier_has_the_settings_of_a_fit_in_the_same_words():
    settings, of_fit, of_classifier = (
        {name: (p.default, p.annotation) for name, p in signature(each).parameters.items()}
        for each in (fit_settings, dnip.fit, DNIPClassifier)
    )
    rows = {"data", "y", "classes", "label", "unlabelled", "groups", "weights", "rows", "progress"}
    assert all(of_fit[name] == settings[name] for name in settings)
    rows.add("no_labels")
    assert of_fit.keys() == settings.keys() | rows | {"evidence"}
    mine = {"estimator", "classes", "cv", "n_jobs"}
    of_classifier["seed"] = of_classifier.pop("random_state")  # which scikit-learn's users type
    assert {name: of_classifier[name] for name in of_classifier.keys() - mine} == {
        name: of_fit[name] for name in of_fit.keys() - rows
    }
    assert not any(p.kind is p.VAR_KEYWORD for p in signature(dnip.fit).parameters.values())


@cases(
    {"beta": 2.7},
    {"costs": [[0, 1, 2], [1, 0, 1], [5, 1, 0]]},
    {"preset": "paper"},
    {"scale": 30, "solver": "exact", "robust": "off"},
    {"objective": "macro-f1"},
    {"target_prior": "uniform", "defer": 0.2, "helper_accuracy": None},
)
def test_every_setting_is_the_same_behind_both_doors(rows, asked):
    p, names = rows
    expected = fit(p, names, classes=NAMES, evidence=False, **asked).coefficients
    found = DNIPClassifier(classes=NAMES, evidence=False, **asked).fit(p, names).coefficients_
    assert found.objective == expected.objective
    assert found.weights.tolist() == expected.weights.tolist()
