"""``dnip prompt`` and ``dnip audit`` through a chat template, on a tiny model."""

import json
import shutil

import pytest

from fakes import write_data
from test_prompt import TASK

pytest.importorskip("torch", reason="a model runs through torch")
pytest.importorskip("transformers", reason="a model runs through transformers")

CHATML = (
    "{% for m in messages %}{{ '<s>' + m.role + '\\n' + m.content + '</s>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from tiny_models import save_model

    return save_model(tmp_path_factory.mktemp("plain"), "llama")


@pytest.fixture(scope="module")
def chat_model(model, tmp_path_factory):
    from tiny_models import add_chat_template

    folder = shutil.copytree(model, tmp_path_factory.mktemp("chat") / "model")
    add_chat_template(folder, CHATML)
    return folder


@pytest.fixture
def job(folder):
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    return ("prompt", "mood.toml", "--data", ".", "--scoring", "sum", "--out", "t.csv")


def test_a_run_begun_without_the_template_does_not_go_on_with_it(dnip, job, folder, chat_model):
    assert dnip(*job, "--model", chat_model).status == 0
    plain = (folder / "t.csv").read_bytes()
    dnip(*job, "--model", chat_model, "--chat").assert_refused("engine.chat_template was null")
    (folder / "t.csv").unlink()
    assert dnip(*job, "--model", chat_model, "--chat").status == 0
    assert (folder / "t.csv").read_bytes() != plain
    settings = json.loads((folder / "t.csv.meta.json").read_text())["settings"]
    assert len(settings["engine"]["chat_template"]) == 64


def test_a_tokenizer_without_a_template_is_refused(dnip, job, folder, model):
    dnip(*job, "--model", model, "--chat").assert_refused("has no chat template")
    dnip("audit", "mood.toml", "--model", model, "--chat").assert_refused("has no chat template")
    assert not list(folder.glob("t.csv*"))


def test_a_prompt_beyond_the_context_is_named_or_shortened(dnip, job, folder, model):
    rows = [{"text": "é " * n, "label": 0} for n in (3, 900, 4, 800)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dnip(*job, "--model", model).assert_refused("2 prompts are longer", "rows 1, 3", "--truncate")
    run = dnip(*job, "--model", model, "--truncate", "--json")
    assert (run.status, run.json["n"]) == (0, 4)
