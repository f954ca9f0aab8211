"""The file of saved probabilities: what is read of it, and what is refused."""

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError
from reproduction.probabilities import read


def test_cells_hold_normalised_rows_in_the_order_of_tasks_and_seeds(saved, frame):
    data = read(saved())
    cells = list(data.cells("1"))
    assert [(c.task, c.seed) for c in cells] == [
        (task, seed) for task in ("agnews", "sst5", "trec") for seed in (0, 1)
    ]
    first = frame[(frame.task == "agnews") & (frame.seed == 0) & (frame.split == "opt")]
    captured = np.exp(np.vstack(first.logp[first.shots == "1"]).astype(float))
    expected = captured / captured.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cells[0].opt.p, expected)
    assert data.model == "tiny"
    assert data.classes("agnews") == ("World", "Sports", "Business", "Technology")
    assert [c.task for c in data.cells("5")] == ["agnews"]
    assert list(data.cells("balanced")) == []


def _set(column, value):
    def change(frame):
        frame.at[7, column] = value
        return frame

    return change


@cases(
    (lambda f: f.drop(columns="logp"), "no column logp; there are"),
    (lambda f: f[f.task != "trec"], "no 1-shot rows, opt and test, of trec.*--tasks agnews sst5"),
    (lambda f: f[(f.task != "trec") | (f.split == "opt")], "of trec"),
    (_set("label", 4), "row 7: label is not a class index"),
    (_set("split", "dev"), "row 7: split is neither"),
    (_set("task", "a|b"), "row 7: task is no plain name"),
    (_set("row", 0), "row 7: the row is there twice"),
    (_set("demonstrations", None), "row 7: demonstrations is no list of class indices"),
    (_set("logp", [-1.0]), "row 7: logp has another length"),
    (_set("logp", [-1.0, np.nan, 0.0, 0.0]), "row 7: logp holds no logarithms"),
    (_set("logp", [-1.0, 3.0, 0.0, 0.0]), "row 7: logp holds no logarithms"),
    (_set("logp", [-np.inf] * 4), "row 7: logp is minus infinity"),
)
def test_files_that_make_no_sense_are_refused(saved, frame, change, told):
    with pytest.raises(InvalidInputError, match=told):
        read(saved(change(frame)))


def test_a_file_of_another_model_and_no_file_at_all_are_refused(saved, tmp_path):
    with pytest.raises(InvalidInputError, match=r"is of the model bbbb.*of aaaa"):
        read(saved(model="b" * 64))
    saved().with_suffix(".json").write_text("{}")
    with pytest.raises(InvalidInputError, match="does not say of which model"):
        read(tmp_path / "p.parquet")
    with pytest.raises(InvalidInputError, match=r"no such file.*reproduction prompt"):
        read(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(InvalidInputError, match="not a readable Parquet file"):
        read(tmp_path / "text.parquet")


def test_tasks_may_be_chosen_and_nothing_need_stand_beside_the_file(saved, frame):
    path = saved(frame[frame.task != "trec"].reset_index(drop=True))
    path.with_suffix(".json").unlink()
    data = read(path, ["sst5", "agnews"])
    assert data.tasks == ("agnews", "sst5")
    assert data.about == {}
