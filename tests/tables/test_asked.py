"""Columns that are asked for, and those that nobody knows but that make rows whole."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dnip
from cases import cases
from dnip import Coefficients, InvalidInputError, ProbabilityTable
from dnip.tables import Asked, Scan
from dnip.tables.groups import check_groups, find_copies, first_of_groups
from dnip.tables.table import as_table
from dnip.using.application import apply
from dnip.using.drift import check

NAMES = ["ham", "spam"]
ROWS = pd.DataFrame(
    {
        "label": ["ham", "spam", "ham"],
        "ham": [0.75, 0.25, 0.5],
        "spam": [0.25, 0.75, 0.5],
        "user": ["u", None, "u"],
        "times": [1, 2.5, 0],
        "lang": [1, 2, 1],
    }
)


def write(path, frame):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


KINDS = ["frame", "polars", "csv", "jsonl", "parquet"]


def given(kind, frame, folder):
    if kind == "polars":
        return pl.from_pandas(frame)
    return frame if kind == "frame" else write(folder / f"t.{kind}", frame)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_no_classes_and_come_with_their_rows(tmp_path, kind):
    table = as_table(
        given(kind, ROWS, tmp_path), groups="user", weights="times", by="lang", classes=None
    )
    assert table.classes == ("ham", "spam")
    assert table.groups.tolist() == ["u", None, "u"]
    assert table.weights.tolist() == [1, 2.5, 0]
    assert [str(float(key)) for key in table.slices] == ["1.0", "2.0", "1.0"]
    part = table.take([2, 1])
    assert (part.groups.tolist(), part.weights.tolist()) == (["u", None], [0, 2.5])


def test_arrays_have_a_value_for_each_row():
    p, y = ROWS[NAMES].to_numpy(), ROWS["label"]
    table = as_table(p, y, NAMES, groups=[7, None, 7], weights=[1, 2, 3], by=list("aab"))
    assert table.groups.tolist() == ["7", None, "7"]
    with pytest.raises(InvalidInputError, match="'user' names a column"):
        as_table(p, y, groups="user")
    with pytest.raises(InvalidInputError, match=r"weights\[1\]: -2 is no weight"):
        as_table(p, y, weights=[1, -2, 3])


@pytest.mark.parametrize("kind", KINDS)
@cases(
    ({"groups": "usr"}, ROWS, "usr is no column of .* to divide .*the columns are ham, spam, user"),
    ({"by": "label"}, ROWS, "label is no column of .* to divide"),
    ({"weights": "times"}, ROWS.assign(times=[1, -1, 2.5]), "row 2, column times: .*-1"),
    ({"weights": "times"}, ROWS.assign(times=[1, 2, None]), "row 3, column times: .* no weight"),
    ({"weights": "user"}, ROWS, "row 1, column user: 'u' is no weight"),
)
def test_what_they_cannot_be_is_refused(tmp_path, kind, asked, frame, told):
    frame = frame.drop(columns=[c for c in ("user", "times", "lang") if c not in asked.values()])
    if asked == {"groups": "usr"}:
        frame = frame.assign(user="x")
    with pytest.raises(InvalidInputError, match=told):
        as_table(given(kind, frame, tmp_path), classes=NAMES, **asked)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(InvalidInputError, match="the weights of all labelled rows are zero"):
        dnip.fit(ROWS[[*NAMES, "label"]].assign(times=0), weights="times")


@pytest.mark.parametrize("weight", [1e-120, 1e120])
def test_weights_that_cannot_be_counted_are_refused(weight):
    with pytest.raises(InvalidInputError, match="the largest weight is 1e"):
        dnip.fit(ROWS[[*NAMES, "label"]].assign(times=weight), weights="times")


def test_of_each_group_the_first_row_stands_for_all_over_blocks():
    seen = set()
    blocks = [["u", None, "u"], [None, "v", "u", None]]
    first = [first_of_groups(np.array(names, object), seen).tolist() for names in blocks]
    assert first == [[True, True, False], [True, True, False, True]]
    assert first_of_groups(None, seen) == slice(None)


def test_an_empty_group_is_one_of_its_own():
    assert check_groups(["b", None, "a", float("nan"), "b", ""], 6).tolist() == [1, 2, 0, 3, 1, 4]
    with pytest.raises(InvalidInputError, match="all rows are of one group, 'x'"):
        check_groups(["x", "x"], 2)


# --- rows that are whole only with another column ---
NEW = pd.DataFrame(
    {"id": ["x", "y"], "ham": [0.5, 0.6], "spam": [0.5, 0.1], "scam": [0, 0.3], "age": [31, 44]}
)
FITTED = Coefficients(NAMES, [1, 2], 2)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("door", ["apply", "check", "evaluate", "read"])
def test_a_class_that_is_not_known_is_named_at_every_door(tmp_path, kind, door):
    path = given(kind, NEW.assign(label=["ham", "spam"]), tmp_path)
    doors = {
        "apply": lambda: apply(Scan(path, NAMES), FITTED, tmp_path / "out.csv"),
        "check": lambda: check(Scan(path, NAMES), FITTED),
        "evaluate": lambda: dnip.evaluate(path, coefficients=FITTED),
        "read": lambda: ProbabilityTable.read(path, NAMES),
    }
    told = "row 2: the classes ham, spam sum to 0.7, and only with the column scam to 1"
    with pytest.raises(InvalidInputError, match=told):
        doors[door]()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas])
def test_frames_with_such_a_class_are_refused(make):
    frame = make(NEW)
    with pytest.raises(InvalidInputError, match=r"\[1\]: .*only with the column scam"):
        FITTED.predict(frame)
    with pytest.raises(InvalidInputError, match="only with the column scam"):
        dnip.evaluate(frame, ["ham", "spam"], classes=NAMES)
    whole = NEW.assign(ham=[0.5, 0.9])[["ham", "spam", "age"]]
    assert FITTED.predict(make(whole)).tolist() == ["spam", "ham"]


def test_two_classes_that_are_not_known_are_named_together():
    frame = NEW.assign(scam=[0, 0.1], junk=[0, 0.2])
    with pytest.raises(InvalidInputError, match="only with the column scam, junk to 1"):
        FITTED.predict(frame)


@cases({"scam": [0, 0.2]}, {"scam": [0.1, 0.3]}, {"scam": [True, False]}, {"scam": ["a", "b"]})
def test_columns_that_do_not_make_rows_whole_are_other_columns(change):
    with pytest.warns(dnip.DNIPWarning, match="did not sum to 1"):
        assert FITTED.predict(NEW.assign(**change)).tolist() == ["spam", "ham"]


def test_groups_are_carried_block_by_block(tmp_path):
    path = write(tmp_path / "t.csv", pd.concat([ROWS] * 3))
    blocks = list(Scan(path, NAMES, Asked(group="user", others=True)))
    assert [len(block) for block in blocks] == [9]
    assert blocks[0].groups.tolist() == ["u", None, "u"] * 3
    assert set(blocks[0].others) == {"times", "lang"}
    assert find_copies(np.array([[0.1, 0.9]] * 4), np.zeros(4, int)) is None
