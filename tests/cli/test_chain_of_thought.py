"""``dnip prompt --chain-of-thought`` on a tiny model: told, marked, and resumed."""

import csv
import json

import pytest

from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.prompting.journal import Journal
from fakes import write_data

pytest.importorskip("torch", reason="the model runs on torch")
pytest.importorskip("transformers", reason="the model runs on transformers")

TASK = """
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
def job(folder, tiny_model):
    (folder / "mood.toml").write_text(TASK)
    write_data(folder, n_test=12)
    task = ("mood.toml", "--data", ".", "--model", tiny_model("gpt2"), "--chain-of-thought")
    return ("prompt", *task, "--max-new-tokens", 12, "--out", "t.csv")


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_answers_without_a_label_are_marked_and_counted(dnip, job, folder):
    run = dnip(*job, "--json")
    marks = [int(row["fallback"]) for row in rows_of(folder / "t.csv")]
    assert 0 < sum(marks) < len(marks) == 12
    assert run.json["details"]["fallback"] == sum(marks)
    assert f"of which the last token is scored: {sum(marks)} of 12" in run.err
    content = json.loads((folder / "t.csv.meta.json").read_text())
    assert content["summary"]["details"]["fallback"] == sum(marks)
    assert content["settings"]["engine"]["max_new_tokens"] == 12
    assert content["settings"]["engine"]["stop"] == "\n\n"
    assert content["settings"]["task"]["chain_of_thought"]["rationales"][1] == "The market fell."
    with pytest.warns(DNIPWarning, match="the labels capture less"):  # the model is random
        assert len(ProbabilityTable.read(folder / "t.csv", ["V", "D"])) == 12


def test_an_interrupted_run_goes_on_to_the_very_same_table(dnip, job, folder, monkeypatch):
    dnip(*job, "--batch-tokens", 1)
    whole = (folder / "t.csv").read_bytes()
    (folder / "t.csv").unlink()
    words = [*map(str, job), "--batch-tokens", "1"]
    add = Journal.add

    def add_four(journal, scored):
        if len(journal.rows) == 4:
            raise KeyboardInterrupt
        add(journal, scored)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "add", add_four)
        assert dnip(*words).status == 130
    assert not (folder / "t.csv").exists()
    dnip(*words[:-2]).assert_refused("begun with other settings", "engine.batch_tokens was 1")
    words[words.index("12")] = "13"
    dnip(*words).assert_refused("engine.max_new_tokens was 12, is 13")
    words[words.index("13")] = "12"
    run = dnip(*words, "--json")
    assert run.json["n_resumed"] == 4
    assert (folder / "t.csv").read_bytes() == whole
