"""One fit behind every door: whoever calls, it is the same to the last bit."""

import json
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import dnip
from dnip import DNIPClassifier, Objective, ProbabilityTable
from dnip.cli.commands.fit import settings_of
from dnip.fitting.fit import fit
from dnip.fitting.path import trace_path
from dnip.fitting.settings import FitSettings
from dnip.method.constraints import Constraints
from dnip.solvers import Settings
from populations import biased_rows

NAMES = ("red", "green", "blue")
BETA = 0.7  # which is no alternative of another β


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
    monkeypatch.setattr("dnip.fitting.fitter.PATH", (0.1, BETA, 2.7))
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
        assert fitted.alternatives == expected.alternatives, name


def test_the_path_and_the_report_are_that_fit_too(rows, table):
    p, names = rows
    objective = Objective(beta=BETA)
    expected = told(fit(p, names, objective, classes=NAMES))
    [point] = trace_path(table, betas=[BETA]).points
    of_path = told(point.fit)
    for content in (expected["evidence"], of_path["evidence"]):
        content.pop("objections")  # those of a fit name what another β revives
    for content in (expected, of_path):
        content["fit"]["evidence"].pop("reason")
    assert of_path == expected
    other = biased_rows(np.random.default_rng(4), 90, bias=[1.5, 0.0, -1.5])
    test = ProbabilityTable(other.probabilities, other.labels, classes=NAMES)
    reported = dnip.report(table, test=test).coefficients
    fitted = fit(table).coefficients
    records = [each.fit.to_dict() for each in (reported, fitted)]
    assert all(record.pop("seconds") for record in records)
    assert records[0] == records[1]
    assert reported.weights.tolist() == fitted.weights.tolist()


def test_the_command_line_and_the_classifier_declare_the_defaults_of_a_fit():
    usual = FitSettings()
    assert vars(settings_of()) == vars(usual)
    assert vars(DNIPClassifier()._settings()) == vars(usual)
    assert usual.objective == Objective()
    defaults = {
        name: parameter.default
        for each in (Settings, FitSettings, Objective)
        for name, parameter in signature(each).parameters.items()
    }
    declared = {name: p.default for name, p in signature(DNIPClassifier).parameters.items()}
    for name in declared.keys() & defaults.keys():
        assert declared[name] == defaults[name], name
    assert declared["random_state"] == defaults["seed"]
    assert declared["beta"] == Objective().beta == 0.5
