"""Prompting for all cells, with a model that is made up."""

import json
import shutil
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

from reproduction import prompting
from reproduction.probabilities import read
from reproduction.prompting import STAGES, Task, cells


class Model:
    """Answers by a hash of the prompt; may die after some chunks."""

    def __init__(self, lives=10**6):
        self.asked, self.lives = [], lives

    def score(self, prompts, task):
        if not self.lives:
            raise KeyboardInterrupt
        self.lives -= 1
        for row, prompt in reversed(list(enumerate(prompts))):
            self.asked.append(prompt.text)
            rng = np.random.default_rng(crc32(prompt.text.encode()))
            details = {"fallback": int(rng.random() < 0.5)} if prompt.lead else {}
            captured = 0.5 * rng.dirichlet(np.ones(task.n_classes))
            yield SimpleNamespace(row=row, captured=captured, details=details)


@pytest.fixture
def prompt(tmp_path, reproduce, monkeypatch):
    """Run the command with a model on two tasks of 12 rows each."""
    for task, n in {"sst5": 5, "rte": 2}.items():
        folder = tmp_path / "data" / task
        folder.mkdir(parents=True)
        for split in ("train", "test"):
            fields = {"sst5": ["text"], "rte": ["premise", "hypothesis"]}[task]
            rows = [{**dict.fromkeys(fields, f"{split} {i}"), "label": i % n} for i in range(12)]
            (folder / f"{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    monkeypatch.setattr(prompting, "CHUNK", 5)
    (tmp_path / "model").write_text("weights")

    def run(model, *more, name="model"):
        monkeypatch.setattr(prompting, "open_model", lambda options: model)
        given = ["--model", tmp_path / name, "--data", tmp_path / "data", "--tasks", "sst5", "rte"]
        return reproduce("prompt", *given, "--out", tmp_path / "p.parquet", *more)

    return run


def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_file(prompt, tmp_path):
    whole = Model()
    result = prompt(whole)
    assert result.status == 0, result.err
    frame = pd.read_parquet(tmp_path / "p.parquet")
    assert len(whole.asked) == len(frame)
    # a demonstration is never a row to fit on: 1-shot has 11 of 12 rows for each of 3 seeds
    assert frame.groupby(["task", "shots", "split"]).size()["sst5", "1", "opt"] == 33
    assert set(frame.answered[frame.shots == "chain-of-thought"]) == {True, False}
    assert frame.answered[frame.shots == "1"].isna().all()

    for path in tmp_path.glob("p.par*"):
        path.rename(tmp_path / f"old-{path.name}")
    killed = Model(lives=9)
    assert prompt(killed).status == 130
    after = Model()
    assert prompt(after).status == 0
    assert sorted(killed.asked + after.asked) == sorted(whole.asked)
    pd.testing.assert_frame_equal(frame, pd.read_parquet(tmp_path / "p.parquet"))


def test_more_rows_add_to_those_that_are_there_and_the_file_can_be_read(prompt, tmp_path):
    assert prompt(Model(), "--rows", 4).status == 0
    shutil.rmtree(tmp_path / "p.parts")
    few = pd.read_parquet(tmp_path / "p.parquet")
    more = Model()
    assert prompt(more).status == 0
    frame = pd.read_parquet(tmp_path / "p.parquet")
    assert len(more.asked) == len(frame) - len(few)
    key = ["task", "shots", "seed", "split", "row"]
    assert set(map(tuple, few[key].values)) < set(map(tuple, frame[key].values))
    data = read(tmp_path / "p.parquet")
    assert data.tasks == ("sst5", "rte")
    assert data.about["prompts"]["rte"]["classes"] == ["False", "True"]
    assert "train 0" not in (tmp_path / "p.json").read_text()


def test_finished_cells_can_be_had_before_the_end(prompt):
    assert prompt(Model(lives=4)).status == 130  # three chunks of opt, one of test
    result = prompt(None, "--so-far")
    assert result.out.endswith("p.parquet: 11 rows of 1 cells\n"), result.err


def test_another_model_other_data_and_bad_arguments_are_refused(prompt, tmp_path):
    assert prompt(Model(), "--rows", 1).status == 0
    (tmp_path / "other").write_text("other weights")
    prompt(Model(), name="other").assert_refused("holds rows of the model model, not of other")
    path = tmp_path / "data" / "rte" / "test.jsonl"
    path.write_text(path.read_text().replace("test 3", "changed"))
    prompt(Model()).assert_refused("holds rows of rte with another data", "Give another --out")
    prompt(Model(), "--rows", 0).assert_refused("--rows must be 1 or more")
    prompt(Model(), "--out", tmp_path / "p.csv").assert_refused("must end in .parquet")
    prompt(Model(), "--data", tmp_path).assert_refused("there is no folder", "sst5")
    assert prompt(Model(), "--tasks", "nothing").status == 2


def test_cells_come_in_the_order_of_their_worth():
    found = list(cells(("agnews", "pubmedqa"), None))
    assert found[0] == ("agnews", "1", 0, "opt", 1000)
    assert [stage.shots for stage in STAGES] == ["1", "balanced", "5", "1", "5", "chain-of-thought"]
    assert ("pubmedqa", "balanced", 2, "test", 250) in found
    assert ("agnews", "1", 2, "opt", 4000) in found


def test_rows_are_a_draw_without_the_demonstrations(prompt, tmp_path):
    task = Task("sst5", tmp_path / "data" / "sst5")
    shown = task.shown("balanced", 1)
    order = task.order("balanced", 1, "opt")
    assert sorted([*order, *shown]) == list(range(12))
    drawn = np.random.default_rng(0).permutation(12)
    assert order.tolist() == [row for row in drawn if row not in shown]
    assert task.order("balanced", 1, "test").tolist() == drawn.tolist()
