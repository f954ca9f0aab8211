"""``dnip fit --path``: what every β gives, as text, JSON and a picture; no coefficients."""

from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.fitting.estimate import Estimator
from dnip.fitting.fit import PATH
from dnip.metrics import METRICS
from dnip.solvers import Coordinate
from populations import biased_rows

NAMES = ("bad", "okay", "good")


@pytest.fixture
def opt(folder):
    rows = biased_rows(np.random.default_rng(0), 90, bias=[1.5, 0.0, -1.5])
    ProbabilityTable(rows.probabilities, rows.labels, classes=NAMES).write(folder / "opt.csv")
    return "opt.csv"


def test_json_text_and_picture_hold_every_beta_and_no_coefficients_are_written(dnip, opt):
    run = dnip("fit", opt, "--path", "--picture", "path.png", "--json")
    assert (run.status, run.err, run.json["picture"]) == (0, "", "path.png")
    assert Path("path.png").stat().st_size > 5000
    assert (run.json["classes"], run.json["expected"]) == (list(NAMES), True)
    assert [point["beta"] for point in run.json["points"]] == list(PATH)
    lines = dnip("fit", opt, "--path").out.splitlines()
    assert lines[0].split() == ["on", "other", "rows"]
    assert lines[2].split() == ["raw", *(f"{run.json['raw'][name]:.3f}" for name in METRICS_SHOWN)]
    for line, point in zip(lines[3:15], run.json["points"], strict=True):
        numbers = [f"{point[name]:.3f}" for name in METRICS_SHOWN]
        assert line.split() == [f"{point['beta']:g}", *numbers]
    assert not Path("coefficients.json").exists()
    assert lines[-1].endswith("To take one: dnip fit opt.csv --beta BETA")


METRICS_SHOWN = [name for name, metric in METRICS.items() if metric.headline]


@pytest.mark.parametrize("beta", [0.5, 2.7])
def test_a_point_is_what_fit_writes_at_its_beta(dnip, opt, beta):
    points = dnip("fit", opt, "--path", "--json").json["points"]
    [point] = [point for point in points if point["beta"] == beta]
    fitted = dnip("fit", opt, "--beta", beta, "--json").json["evidence"]
    weights = Coefficients.load("coefficients.json").weights.tolist()
    assert point["weights"] == dict(zip(NAMES, weights, strict=True))
    assert point["verdict"] == fitted["verdict"]
    assert {name: fitted["reweighted"][name] for name in METRICS} == {n: point[n] for n in METRICS}


def test_without_evidence_it_says_that_the_rows_are_those_of_the_fit(dnip, opt):
    text = dnip("fit", opt, "--path", "--no-evidence").out
    assert text.splitlines()[0].split() == ["on", "the", "fitted", "rows"]
    assert "as refits expect" not in text


def test_ctrl_c_keeps_the_fits_so_far(dnip, opt, monkeypatch):
    solve, search, calls = Estimator.solve, Coordinate.search, []

    def counted(self, settings, *more):
        calls.append(settings.objective.beta)
        return solve(self, settings, *more)

    def interrupted(*arguments):
        if calls.count(PATH[1]) == 1:
            raise KeyboardInterrupt
        return search(*arguments)

    monkeypatch.setattr(Estimator, "solve", counted)
    monkeypatch.setattr(Coordinate, "search", interrupted)
    run = dnip("fit", opt, "--path", "--no-evidence", "--json")
    assert run.status == 0
    assert run.err.startswith("interrupted: 2 fits so far are kept")
    assert [point["beta"] for point in run.json["points"]] == list(PATH[:2])


@cases(
    (["--path", "--beta", "1"], "--beta is for one fit"),
    (["--path", "--out", "c.json"], "--out is for one fit"),
    (["--path", "--defer", "0.1"], "--defer is for one fit"),
    (["--picture", "p.png"], "--picture draws the path: add --path"),
)
def test_options_of_one_fit_and_of_the_path_are_not_mixed(dnip, opt, options, told):
    dnip("fit", opt, *options).assert_wrong_usage(told)
    assert [path.name for path in Path().iterdir()] == ["opt.csv"]


@cases(
    (["--objective", "macro-f1"], "has no β"),
    (["--picture", "opt.csv"], "the same file"),
    (["--picture", "path.bmp"], "its name must end in .png or .svg or .pdf"),
)
def test_refusals_leave_nothing_behind(dnip, opt, options, told):
    dnip("fit", opt, "--path", *options).assert_refused(told)
    assert [path.name for path in Path().iterdir()] == ["opt.csv"]
