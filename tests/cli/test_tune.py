"""``dnip tune``: keys, text, what lands in the file, and what is refused."""

import json
from pathlib import Path

import pytest

from cases import cases
from populations import skewed

QUICK = ("--betas", "1,2.7", "--taus", "0.2", "--scales", "30")


@pytest.fixture
def opt(folder):
    skewed(60).write(folder / "opt.csv")
    return folder


def test_json_has_the_keys_of_fit_and_the_choice(dnip, opt):
    fitted = dnip("fit", "opt.csv", "--out", "f.json", "--json").json
    run = dnip("tune", "opt.csv", *QUICK, "--json")
    assert run.status == 0
    assert set(fitted) <= set(run.json)
    assert run.json["chosen"].keys() == {"beta", "tau", "scale", "smoothing", "robust", "reason"}
    assert [c["beta"] for c in run.json["candidates"]] in ([1.0, 2.7], [2.7, 1.0])
    first = run.json["candidates"][0]
    assert len(first["folds"]) == 5
    assert first.keys() >= {"accuracy", "cobias", "score", "ahead", "standard_error"}
    evenly = {"accuracy": 1.0, "cobias": 1.0}
    assert run.json["criterion"] == {"name": "weighted", "weights": evenly}
    stored = json.loads(Path("coefficients.json").read_text())
    assert stored["weight_indices"] == run.json["weight_indices"]
    assert stored["fit"]["tuning"]["chosen"]["beta"] == run.json["chosen"]["beta"]
    assert dnip("evaluate", "opt.csv", "--coefficients", "coefficients.json").status == 0


def test_the_text_shows_the_candidates_and_the_reason(dnip, opt):
    text = dnip("tune", "opt.csv", *QUICK, "--weights", "accuracy=1,cobias=2.7").out
    assert "2 candidates, scored by 5 folds, best first by accuracy - 2.7·cobias\n" in text
    assert "\nchosen: β = 2.7, τ = 0.2, K = 30, μ = 0.4·M, robust auto\n" in text
    assert "coefficients written to coefficients.json" in text
    assert sum(line.startswith("*") for line in text.splitlines()) == 1


def test_every_setting_can_be_tried(dnip, opt):
    skewed(90, 2, unlabelled=90).write("more.csv")
    run = dnip(
        "tune", "opt.csv", "--betas", "2.7", "--taus", "0.2,0.5",
        "--scales", "10,30,log:10",
        "--smoothings", "1,4000", "--robust-modes", "auto,off", "--criterion", "cobias",
        "--unlabelled", "more.csv", "--cobias", "single", "--confidence", "0", "--json",
    )  # fmt: skip
    assert run.status == 0
    assert len(run.json["candidates"]) == 24
    assert {c["scale"] for c in run.json["candidates"]} == {10, 30, "log:10"}


@cases(
    (("--betas", ""), "error: betas is empty"),
    (("--scales", "30,wide"), "error: scale is 'wide'"),
    (("--robust-modes", "maybe"), "error: robust must be one of auto, on, off; got 'maybe'"),
    (("--folds", "40"), "class 0 has 20 labelled rows, too few for 40 folds"),
    (("--dev", "opt.csv"), "hold the same rows"),
    (("--robust-modes", "off", "--unlabelled", "opt.csv"), "unlabelled rows serve robust fits"),
)
def test_bad_input_is_status_1_and_leaves_no_file(dnip, opt, unchanged, arguments, told):
    with unchanged():
        dnip("tune", "opt.csv", *arguments).assert_refused(told)
