"""Numbers are checked where they come in: none is too large or too long for what follows."""

import json

import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.base.errors import CoefficientsFormatError, InvalidInputError
from dnip.prompting.models import ModelOptions, _parse_extra
from dnip.prompting.task import load_task

HUGE = "9" * 400


@pytest.mark.parametrize(
    "options",
    [
        ["fit", "t.csv", "--tau", "1e308"],
        ["fit", "t.csv", "--tau", "1", "--smoothing", "1e308"],
        ["fit", "t.csv", "--beta", "1e308"],
        ["fit", "t.csv", "--effort", "1e308"],
        ["fit", "t.csv", "--effort", "1e20"],
        ["fit", "t.csv", "--time-limit", "1e308"],
        ["tune", "t.csv", "--taus", "0,1e308"],
        ["tune", "t.csv", "--smoothings", "1e308"],
        ["pareto", "t.csv", "--effort", "1e308"],
    ],
)
def test_settings_beyond_all_bounds_are_refused(dnip, files, options):
    dnip(*options).assert_refused("must be a finite number", "at most 1e+12")


@pytest.mark.parametrize(
    "options",
    [
        ["fit", "t.csv", "--effort", "1e12", "--time-limit", "0.2"],
        ["fit", "t.csv", "--tau", "1e12", "--no-evidence"],
        ["fit", "t.csv", "--tau", "1", "--smoothing", "1e12", "--no-evidence"],
        ["pareto", "t.csv", "--effort", "1e-308"],
    ],
)
def test_settings_at_their_bounds_are_taken(dnip, files, options):
    assert dnip(*options).status == 0


@pytest.mark.parametrize("shares", [f'{{"0": {HUGE}, "1": 0}}', f"[{HUGE}, 0]"])
def test_class_mixes_of_numbers_beyond_floats_are_refused(dnip, files, shares):
    (files / "mix.json").write_text(shares)
    dnip("fit", "t.csv", "--target-prior", "mix.json").assert_refused("target prior: not numbers")


def test_costs_beyond_floats_are_refused(dnip, files):
    (files / "costs.json").write_text(f"[[0, {HUGE}], [1, 0]]")
    dnip("fit", "t.csv", "--costs", "costs.json").assert_refused("costs.json is not a matrix")


def test_probabilities_beyond_floats_are_refused():
    with pytest.raises(InvalidInputError, match="not a matrix of numbers"):
        ProbabilityTable([[10**400, 1]])


@pytest.mark.parametrize(
    "change",
    [
        lambda fit: fit["calibration"].update(edge=fit["calibration"].pop("sharpness")),
        lambda fit: fit["calibration"].update(sharpness=10**400),
        lambda fit: fit["calibration"].update(log_weights=[10**400, 0]),
        lambda fit: fit.update(class_shares=[10**400, 1]),
    ],
)
def test_a_changed_calibration_is_refused(dnip, files, change):
    assert dnip("fit", "t.csv", "--out", "f.json").status == 0
    content = json.loads((files / "f.json").read_text())
    change(content["fit"])
    (files / "f.json").write_text(json.dumps(content))
    fitted = Coefficients.load("f.json")
    with pytest.raises(CoefficientsFormatError, match=r"fit\.(calibration|class_shares)"):
        fitted.adjusted([0.3, 0.7])


def test_indices_are_numbers_of_few_digits(dnip, files):
    dnip("fit", "t.csv", "--freeze", "9" * 5000).assert_refused("unknown class", "…")


@pytest.mark.parametrize("shots", ["9" * 5000, "²"])
def test_shots_are_a_number_of_few_digits(dnip, files, shots):
    run = dnip("prompt", "sst5", "--data", ".", "--model", "m", "--out", "o.csv", "--shots", shots)
    run.assert_refused("shots must be a number", "9 digits")


@pytest.mark.parametrize("extra", ["[" * 5000, '{"\\ud800": 1}', '{"a": "\\ud800"}', "9" * 5000])
def test_fields_of_requests_are_what_a_request_can_hold(extra):
    with pytest.raises(InvalidInputError, match="--extra-body must be a JSON object"):
        _parse_extra(ModelOptions("http://x", served_model="m", extra_body=extra).extra_body)


@pytest.mark.parametrize("content", ["a = " + "9" * 5000, "a = " + "[" * 10000 + "]" * 10000])
def test_toml_beyond_bounds_is_refused(tmp_path, content):
    path = tmp_path / "one.toml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match="not valid TOML"):
        load_task(path)
