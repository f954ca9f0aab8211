"""``dnip audit``: on a real tokenizer and a tiny model."""

import pytest

from fakes import write_data
from test_prompt import TASK

pytest.importorskip("torch", reason="an audit loads a model through torch")
pytest.importorskip("transformers", reason="an audit loads a model through transformers")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tiny_models import save_model

    return save_model(tmp_path_factory.mktemp("llama"), "llama")


@pytest.fixture
def task(folder):
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    return "mood.toml"


def test_every_class_is_shown_with_its_tokens(dnip, task, model):
    run = dnip("audit", task, "--model", model, "--scoring", "sum")
    assert run.out.splitlines()[0].split()[:2] == ["happy", "happy"]
    assert "captured mass" in run.out


def test_mass_is_measured_on_real_prompts(dnip, task, model):
    run = dnip("audit", task, "--model", model, "--data", ".", "--scoring", "sum", "--json")
    assert run.json["n_measured"] == 8
    assert 0 <= run.json["lowest_mass"] <= run.json["mass"] <= 1
    assert [one["word"] for one in run.json["classes"]] == ["happy", "sad"]


def test_a_model_that_says_anything_but_the_labels_does_not_pass(dnip, task, model):
    run = dnip("audit", task, "--model", model, "--data", ".", "--scoring", "sum", "--json")
    assert (run.status, run.json["passed"]) == (1, False)
    assert run.err.startswith("error: ")
    assert "no weight can mend" in run.err
