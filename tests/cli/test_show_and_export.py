"""``dnip show`` and ``dnip export``: what is in coefficients files, and what becomes of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cases import cases
from dnip import Coefficients
from dnip.method.coefficients import Deferral

HOSTILE = ["a\nb", "\x1b" * 40, "\u202ex", "<b>", "x" * 10_000, "👩\u200d👧"]
FIT = {"data": {"sha256": "0123456789abcdef" * 4, "rows": 500}, "seed": 0, "unfitted": []}


@pytest.fixture
def first(folder):
    coefficients = Coefficients(["no", "yes", "maybe"], [30, 15, 10], 30, {"beta": 2.7}, FIT)
    coefficients.save("a.json")
    return coefficients


def lines(run):
    assert run.status == 0, run.err
    found = [line.split() for line in run.out.splitlines()]
    return {words[0]: words[1:] for words in found if words}


def test_show_has_weights_settings_and_provenance(dnip, first):
    shown = lines(dnip("show", "a.json"))
    assert shown["yes"] == ["0.50000", "15"]
    assert shown["scale"] == ["30"]
    assert shown["objective.beta"] == ["2.7"]
    assert shown["fit.data.rows"] == ["500"]
    assert dnip("show", "a.json", "--json").json == json.loads(Path("a.json").read_text())


def test_continuous_weights_have_no_index(dnip, folder):
    Coefficients(["no", "yes"], [], "continuous", weights=[1, 0.25]).save("a.json")
    shown = lines(dnip("show", "a.json"))
    assert (shown["yes"], shown["scale"]) == (["0.25000", "-"], ["continuous"])


def test_thresholds_of_deferring_are_shown(dnip, first):
    replace(first, defer=Deferral([0.9, 0.0, 0.5], 0.3, 0.8)).save("b.json")
    shown = lines(dnip("show", "b.json"))
    assert shown["class"] == ["weight", "index", "deferred", "below"]
    assert shown["no"] == ["1.00000", "30", "0.90000"]
    assert (shown["defer.share"], shown["defer.helper_accuracy"]) == (["0.3"], ["0.8"])


def test_hostile_text_keeps_to_its_line_and_to_80_columns(dnip, folder):
    fit = {name: {name: name} for name in HOSTILE}
    Coefficients(HOSTILE, [1, 2, 3, 4, 5, 6], 30, {"x" * 200: "y\n" * 900}, fit).save("h.json")
    run = dnip("show", "h.json")
    assert run.status == 0
    assert all(line.isprintable() or "\u200d" in line for line in run.out.splitlines())
    assert max(map(len, run.out.splitlines())) <= 80


TOPICS = ["World", "Sports", "Business", "Technology"]


@pytest.fixture
def topics(folder):
    """Coefficients of four topics, each of which is one token of the tiny models."""
    coefficients = Coefficients(TOPICS, [30, 15, 6, 3], 30)
    coefficients.save("c.json")
    return coefficients


@cases(
    ("json-bias", "out.json"),
    ("python", "out.py"),
    ("javascript", "out.mjs"),
    ("sql", "out.SQL"),
    ("spark", "out.sql"),
)
def test_text_goes_to_standard_output_or_to_a_file(dnip, topics, form, out):
    printed = dnip("export", "c.json", "--to", form)
    written = dnip("export", "c.json", "--to", form, "--out", out)
    assert printed.status == written.status == 0
    assert Path(out).read_text() == printed.out
    assert "note: " in printed.err
    assert written.out.startswith(f"written to {out}. ")


def test_a_binary_format_needs_a_file(dnip, topics):
    pytest.importorskip("onnx", reason="onnx is not installed")
    dnip("export", "c.json", "--to", "onnx").assert_refused(
        "onnx is not a text that can be printed", "--out"
    )
    assert dnip("export", "c.json", "--to", "onnx", "--out", "m.onnx").status == 0
    assert Path("m.onnx").stat().st_size > 100


def test_a_bias_needs_a_tokenizer(dnip, topics):
    dnip("export", "c.json", "--to", "logit-bias").assert_refused("Give --tokenizer")
    pytest.importorskip("transformers")
    none = ("--tokenizer", "c.json")
    dnip("export", "c.json", "--to", "logit-bias", *none).assert_refused("c.json")


def test_a_bias_stands_on_the_token_after_a_space(dnip, topics, tiny_model):
    transformers = pytest.importorskip("transformers")
    model = tiny_model("llama")
    run = dnip("export", "c.json", "--to", "logit-bias", "--tokenizer", model)
    bias = json.loads(run.out)["logit_bias"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    assert [tokenizer.decode([int(token)]) for token in bias] == [f" {c}" for c in TOPICS]
    assert list(bias.values()) == list(topics.logit_bias().values())
