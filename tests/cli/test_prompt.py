"""``dnip prompt``: from texts to a table, refused where anything is amiss."""

import json

import pytest

from dnip import ProbabilityTable
from dnip.cli.commands import prompt as command
from fakes import FakeEngine, write_data

TASK = """
name = "mood"
instruction = "Is the message happy or sad?"
fields = ["text"]
template = "Message: {{ text }}\\nMood:"
[[classes]]
name = "happy"
[[classes]]
name = "sad"
"""


@pytest.fixture
def job(folder, monkeypatch):
    """A task, data and a fake model, as arguments."""
    (folder / "mood.toml").write_text(TASK)
    write_data(folder)
    monkeypatch.setattr(
        command, "open_model", lambda options, *_, **__: FakeEngine(name=options.model)
    )
    return ("prompt", "mood.toml", "--data", ".", "--model", "fake", "--out", "table.csv")


def test_a_table_with_ids_labels_and_mass_is_written(dnip, job, folder):
    run = dnip(*job, "--shots", "balanced", "--json")
    assert (run.status, run.err) == (0, "")
    assert run.json["n"] == 9
    assert run.json["n_resumed"] == 0
    assert 0 < run.json["least_mass"] <= run.json["mean_mass"] < 1
    table = ProbabilityTable.read(folder / "table.csv", ["happy", "sad"])
    assert len(table) == 9
    settings = json.loads((folder / "table.csv.meta.json").read_text())["settings"]
    assert settings["shots"] == "balanced"


def test_content_free_rows_calibrate_a_comparison(dnip, job, folder):
    assert dnip(*job, "--split", "content-free", "--json").json["n"] == 3
    for split in ("train", "test"):
        assert dnip(*job[:-1], f"{split}.csv", "--split", split).status == 0
    tables = ("train.csv", "--test", "test.csv", "--content-free", "table.csv")
    settings = ("--methods", "contextual-calibration", "--seeds", "1", "--json")
    run = dnip("compare", *tables, "--classes", "happy,sad", *settings)
    assert run.json["n_content_free"] == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mood.toml": "nowhere.toml"}, ["nowhere.toml", "cannot be read"]),
        ({"mood.toml": "mood"}, ["no built-in task 'mood'", "agnews"]),
        ({".": "nowhere"}, ["nowhere", "test.jsonl"]),
        ({"table.csv": "table.txt"}, ["table.txt"]),
    ],
)
def test_what_is_not_there_is_refused(dnip, job, change, told):
    dnip(*(change.get(word, word) for word in job)).assert_refused(*told)
