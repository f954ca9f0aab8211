"""``dnip prompt`` on tiny models: plain, in a chat, and with reasoning."""

import csv
import json
import os
import pickle
import shutil
from contextlib import nullcontext

import pytest

from dnip import BackendError, DNIPWarning, ProbabilityTable
from dnip.llm.prompting.engines import local
from fakes import write_data
from test_prompt import TASK

pytest.importorskip("torch", reason="a model runs through torch")
pytest.importorskip("transformers", reason="a model runs through transformers")

from tiny_models import TURNS, add_chat_template

REASONING = """
name = "mood"
instruction = "Is the message up or down?"
fields = ["text"]
template = "Message: {{ text }}\\nMood:"
answer_prefix = ""
[chain_of_thought]
demonstration = "{{ prompt }} {{ rationale }}\\nMood:{{ answer }}"
[[classes]]
name = "V"
rationale = "A team won the cup."
[[classes]]
name = "D"
rationale = "The market fell."
"""


@pytest.fixture
def model(tiny_model):
    return tiny_model("llama")


@pytest.fixture
def chat_model(model, tmp_path_factory):
    folder = shutil.copytree(model, tmp_path_factory.mktemp("chat") / "model")
    add_chat_template(folder, TURNS)
    return folder


@pytest.fixture
def job(folder):
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    return ("prompt", "test.jsonl", "--task", "mood.toml", "--scoring", "sum", "--out", "t.csv")


def test_a_model_that_says_anything_but_the_labels_does_not_pass(dnip, job, folder, model):
    run = dnip(*job, "--model", model, "--check", "--json")
    assert (run.status, run.json["passed"]) == (1, False)
    assert "error: on 9 prompts" in run.err
    assert "no weight can mend" in run.err
    assert run.json["n_measured"] == len(run.json["answers"]) == 9
    assert 0 <= run.json["lowest_mass"] <= run.json["mass"] <= 1
    assert [one["word"] for one in run.json["classes"]] == ["happy", "sad"]
    text = dnip(*job, "--model", model, "--check").out
    assert "class  label  mass " in text
    assert "the whole table: 9 prompts" in text
    assert not list(folder.glob("t.csv*"))


def test_a_chat_is_another_prompt(dnip, job, folder, chat_model):
    assert dnip(*job, "--model", chat_model).status == 0
    plain = (folder / "t.csv").read_bytes()
    run = dnip(*job, "--model", chat_model, "--endpoint", "chat", "--json")
    assert (run.status, run.json["n_asked"]) == (0, 9)
    assert (folder / "t.csv").read_bytes() != plain
    settings = json.loads((folder / "t.csv.meta.json").read_text())["settings"]
    assert len(settings["engine"]["chat_template"]) == 64


def test_a_model_is_loaded_only_where_there_is_something_to_ask(
    dnip, job, folder, chat_model, monkeypatch
):
    assert dnip(*job, "--model", chat_model).status == 0
    files = [folder / "t.csv", folder / "t.csv.meta.json"]
    before = files[0].read_bytes(), json.loads(files[1].read_text())["settings"]

    def load(*_, **__):
        raise BackendError("it is loaded")

    monkeypatch.setattr(local, "HubTokenizer", load)
    run = dnip(*job, "--model", chat_model, "--json")
    assert (run.status, run.json["n_asked"], run.json["n_kept"]) == (0, 0, 9)
    assert (files[0].read_bytes(), json.loads(files[1].read_text())["settings"]) == before
    dnip(*job, "--model", chat_model, "--scoring", "mean").assert_refused("it is loaded")
    rows = (folder / "test.jsonl").read_text()
    (folder / "test.jsonl").write_text(rows + '{"text": "another", "label": 0}\n')
    dnip(*job, "--model", chat_model).assert_refused("it is loaded")
    (folder / "test.jsonl").write_text(rows)
    os.utime(chat_model / "config.json", (0, 0))
    dnip(*job, "--model", chat_model).assert_refused("it is loaded")


class Workers:
    """A cluster that works in this process: what Ray would send to others is pickled."""

    workers, gpus, seconds = 2, 0.0, 0.0

    def map(self, work, items):
        for item in items:
            yield from pickle.loads(pickle.dumps(work))(pickle.loads(pickle.dumps(item)))


def test_workers_of_a_cluster_score_the_same(dnip, job, folder, model, monkeypatch):
    assert dnip(*job, "--model", model).status == 0
    here = (folder / "t.csv").read_bytes()
    for path in folder.glob("t.csv*"):
        path.unlink()
    monkeypatch.setattr("dnip.base.cluster.connect", lambda *_, **__: nullcontext(Workers()))
    run = dnip(*job, "--model", model, "--on", "ray")
    assert run.status == 0, run.err
    assert (folder / "t.csv").read_bytes() == here


def test_a_tokenizer_without_a_template_is_refused(dnip, job, folder, model):
    dnip(*job, "--model", model, "--endpoint", "chat").assert_refused("has no chat template")
    assert not list(folder.glob("t.csv*"))


def test_a_prompt_beyond_the_context_is_named_or_shortened(dnip, job, folder, model):
    rows = [{"text": "é " * n, "label": 0} for n in (3, 900, 4, 800)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dnip(*job, "--model", model).assert_refused("2 prompts are longer", "rows 1, 3", "--truncate")
    run = dnip(*job, "--model", model, "--truncate", "--json")
    assert (run.status, run.json["n"]) == (0, 4)


def test_reasoned_answers_without_a_label_are_marked_and_counted(dnip, folder, tiny_model):
    (folder / "mood.toml").write_text(REASONING)
    write_data(folder, n_test=12)
    task = ("test.jsonl", "--task", "mood.toml", "--demonstrations", "train.jsonl", "--shots", 1)
    task += ("--model", tiny_model("gpt2"), "--chain-of-thought")
    run = dnip("prompt", *task, "--max-new-tokens", 12, "--out", "t.csv", "--json")
    with (folder / "t.csv").open() as file:
        marks = [int(row["fallback"]) for row in csv.DictReader(file)]
    assert 0 < sum(marks) <= len(marks) == 12  # a random model hardly ever states a label
    assert run.json["details"]["fallback"] == sum(marks)
    assert f"read at the last token: {sum(marks)} of 12" in run.err
    content = json.loads((folder / "t.csv.meta.json").read_text())
    assert content["summary"]["details"]["fallback"] == sum(marks)
    assert content["settings"]["engine"]["max_new_tokens"] == 12
    assert content["settings"]["engine"]["stop"] == "\n\n"
    assert content["settings"]["task"]["chain_of_thought"]["rationales"][1] == "The market fell."
    with pytest.warns(DNIPWarning, match="the labels capture less"):  # the model is random
        assert len(ProbabilityTable.read(folder / "t.csv", ["V", "D"])) == 12
