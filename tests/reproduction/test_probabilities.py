"""The file of saved probabilities: what is read of it, and what is refused."""

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError
from reproduction.probabilities import SPLITS, read


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


@cases(
    (lambda f: f[f.task != "trec"], "no 1-shot rows, opt and test, of trec.*--tasks agnews sst5"),
    (lambda f: f[(f.task != "trec") | (f.split == "opt")], "of trec"),
)
def test_a_file_that_lacks_a_task_is_refused(saved, frame, change, told):
    with pytest.raises(InvalidInputError, match=told):
        read(saved(change(frame)))


def test_no_file_at_all_and_what_is_none_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no such file.*reproduction prompt"):
        read(tmp_path / "none.parquet")
    for name, told in (("p.parquet", "not a readable Parquet file"), ("p.npz", "readable arrays")):
        (tmp_path / name).write_text("text")
        with pytest.raises(InvalidInputError, match=told):
            read(tmp_path / name)


def test_tasks_may_be_chosen_and_nothing_need_stand_beside_the_file(saved, frame):
    path = saved(frame[frame.task != "trec"].reset_index(drop=True))
    path.with_suffix(".json").unlink()
    data = read(path, ["sst5", "agnews"])
    assert data.tasks == ("agnews", "sst5")
    assert data.about == {}
    with pytest.raises(InvalidInputError, match=r"of trec; .* --tasks agnews sst5"):
        read(path, ["trec"])


@pytest.fixture
def arrays(frame):
    """The 1-shot rows of the usual frame as zero-shot arrays."""
    own = frame[frame.shots == "1"]
    named = {}
    for (task, seed, split), part in own.groupby(["task", "seed", "split"]):
        p = np.exp(np.vstack(list(part.logp)).astype(float))
        named[f"{task}/0/{seed}/{split}/p"] = p / p.sum(axis=1, keepdims=True)
        named[f"{task}/0/{seed}/{split}/y"] = part.label.to_numpy()
    return named


def test_arrays_are_read_as_the_same_rows_of_a_table(saved, arrays, tmp_path):
    np.savez(tmp_path / "mine.npz", **arrays)
    own, usual = read(tmp_path / "mine.npz"), read(saved())
    assert (own.shots, usual.shots) == ("0", "1")
    assert own.tasks == usual.tasks == ("agnews", "sst5", "trec")
    for cell, same in zip(own.cells(), usual.cells(), strict=True):
        assert (cell.task, cell.shots, cell.seed) == (same.task, "0", same.seed)
        assert cell.demonstrations == ()
        for split in SPLITS:
            ours, theirs = getattr(cell, split), getattr(same, split)
            np.testing.assert_allclose(ours.p, theirs.p)
            assert ours.y.tolist() == theirs.y.tolist()


def test_a_table_may_be_zero_shot(saved, frame):
    frame = frame[frame.shots == "1"].assign(shots="0").reset_index(drop=True)
    frame["demonstrations"] = [[]] * len(frame)
    data = read(saved(frame))
    assert data.shots == "0"
    assert len(list(data.cells())) == 6


@cases(
    (lambda a: a | {"agnews": a["agnews/0/0/opt/p"]}, "an array is named 'agnews'.*opt/p"),
    (lambda a: {n: v for n, v in a.items() if n[-1] == "p"}, "opt/p, but no .*opt/y"),
    (lambda _: {}, "holds no array"),
    (lambda a: a | {"trec/0/1/test/y": a["trec/0/1/test/y"][1:]}, "test/p: labels has shape .239,"),
    (lambda a: a | {"trec/0/1/test/p": -a["trec/0/1/test/p"]}, "trec/0/1/test/p"),
    (lambda a: {n: v for n, v in a.items() if "sst5/0/0/o" not in n and "sst5/0/1/o" not in n},
     "no 0-shot rows, opt and test, of sst5"),
)  # fmt: skip
def test_arrays_that_make_no_sense_are_refused(arrays, tmp_path, change, told):
    np.savez(tmp_path / "mine.npz", **change(arrays))
    with pytest.raises(InvalidInputError, match=told):
        read(tmp_path / "mine.npz")
