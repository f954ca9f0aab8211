import json
from pathlib import Path

import pytest

from dnip import Coefficients

SMALL_MODEL = Path(__file__).resolve().parents[2] / "models" / "small"
TOPICS = ["World", "Sports", "Business", "Technology"]


@pytest.fixture
def topics(folder):
    """Coefficients of four topics, each of which is one token of the small model."""
    coefficients = Coefficients(TOPICS, [30, 15, 6, 3], 30)
    coefficients.save("c.json")
    return coefficients


@pytest.mark.parametrize("form", ["json-bias", "python", "javascript", "sql", "spark"])
def test_text_goes_to_standard_output_or_to_a_file(dnip, topics, form):
    printed = dnip("export", "c.json", "--to", form)
    written = dnip("export", "c.json", "--to", form, "--out", "out")
    assert printed.status == written.status == 0
    assert Path("out").read_text() == printed.out
    assert "note: " in printed.err
    assert written.out.startswith("written to out. ")


def test_a_binary_format_needs_a_file(dnip, topics):
    pytest.importorskip("onnx", reason="onnx is not installed")
    dnip("export", "c.json", "--to", "onnx").assert_refused("onnx is no text to print", "--out")
    assert dnip("export", "c.json", "--to", "onnx", "--out", "m.onnx").status == 0
    assert Path("m.onnx").stat().st_size > 100


def test_a_missing_library_is_named_with_its_extra(dnip, topics, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    run = dnip("export", "c.json", "--to", "onnx", "--out", "m.onnx")
    run.assert_refused("onnx is needed to export", "pip install '.[onnx]'")
    assert not Path("m.onnx").exists()


def test_a_bias_needs_a_tokenizer(dnip, topics):
    dnip("export", "c.json", "--to", "logit-bias").assert_refused("Give --tokenizer")
    pytest.importorskip("transformers")
    none = ("--tokenizer", "c.json")
    dnip("export", "c.json", "--to", "logit-bias", *none).assert_refused("c.json")


@pytest.mark.parametrize("command", [["export", "--to", "sql"], ["show"], ["show", "c.json"]])
def test_a_damaged_file_is_refused(dnip, topics, command):
    Path("bad.json").write_text(Path("c.json").read_text()[:-40])
    dnip(*command, "bad.json").assert_refused("bad.json: not valid JSON", "fit again")
    dnip(*command, "none.json").assert_refused("none.json: cannot be read")


def test_a_bias_stands_on_the_token_after_a_space(dnip, topics):
    transformers = pytest.importorskip("transformers")
    run = dnip("export", "c.json", "--to", "logit-bias", "--tokenizer", SMALL_MODEL)
    bias = json.loads(run.out)["logit_bias"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(SMALL_MODEL)
    assert [tokenizer.decode([int(token)]) for token in bias] == [f" {c}" for c in TOPICS]
    assert list(bias.values()) == list(topics.logit_bias().values())
