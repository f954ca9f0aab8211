import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cases import cases
from dnip import InvalidInputError, ProbabilityTable

P = np.array([[0.25, 0.75], [1, 0], [0.5, 0.5]])


@cases(
    ({"mass": [0.5]}, "mass has shape"),
    ({"mass": [0.5, -1, 1]}, "mass[1]: "),
    ({"mass": ["a", "b", "c"]}, "not a list"),
    ({"ids": ["a", "b", "a"]}, "ids[2]: the id 'a' is already at ids[0]"),
)
def test_the_constructor_checks_all(arguments, told):
    with pytest.raises(InvalidInputError) as caught:
        ProbabilityTable(**{"probabilities": P, **arguments})
    assert told in str(caught.value)


TABLE = ProbabilityTable(P, np.array([1, -1, 0]), ["a", "b", "c"])


@cases(([2, 0], "ca"), (np.array([True, False, True]), "ac"), ([], ""), (range(1, 3), "bc"))
def test_rows_are_taken_by_number_or_by_mark(rows, ids):
    taken = TABLE.take(rows)
    assert taken.ids.tolist() == list(ids)
    assert taken.classes == TABLE.classes


@cases(
    ([3], "index 3 is out of bounds"),
    ([0, 0], "is already at"),
    ([0.5], r"rows \[0.5\]: arrays used as indices"),
    ([True], "boolean index did not match"),
)
def test_rows_that_are_not_there_are_refused(rows, told):
    with pytest.raises(InvalidInputError, match=told):
        TABLE.take(rows)


def test_the_hash_is_of_the_data_and_of_nothing_else():
    table = ProbabilityTable(P, np.array([0, 1, 0]))
    same = ProbabilityTable(P.copy(), [0.0, 1, 0], ["a", "b", "c"], source="elsewhere")
    others = [
        ProbabilityTable(P),
        ProbabilityTable(P[::-1], table.labels),
        ProbabilityTable(P, np.array([0, 1, -1])),
        ProbabilityTable(P, table.labels, classes=("a", "b")),
    ]
    assert same.data_hash == table.data_hash
    assert len({table.data_hash, *(other.data_hash for other in others)}) == 5


class TestFrames:
    @cases(
        pd.DataFrame({"p0": [0.5, None], "p1": [0.5, 1]}),
        pd.DataFrame({"p0": pd.array([0.5, None], "Float64"), "p1": [0.5, 1]}),
        pl.DataFrame({"p0": [0.5, None], "p1": [0.5, 1]}),
        pa.table({"p0": [0.5, None], "p1": [0.5, 1]}),
    )
    def test_an_empty_cell_is_refused_with_its_place(self, frame):
        with pytest.raises(
            InvalidInputError, match="frame: row 2, column p0: the number is missing"
        ):
            ProbabilityTable.from_frame(frame)

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_labels_of_any_kind_and_names_of_any_order(self, make):
        frame = make({"good": [0.25, 1.0], "label": ["bad", None], "bad": [0.75, 0.0]})
        table = ProbabilityTable.from_frame(frame, classes=["bad", "good"])
        assert table.probabilities.tolist() == [[0.75, 0.25], [0, 1]]
        assert table.labels.tolist() == [0, -1]

    def test_pandas_categories_nullable_numbers_and_column_numbers(self):
        frame = pd.DataFrame({0: [0.25, 1.0], 1: [0.75, 0.0]}, index=[7, 7])
        frame["label"] = pd.Categorical(["1", None])
        table = ProbabilityTable.from_frame(frame, classes=["0", "1"])
        assert table.labels.tolist() == [1, -1]
        frame["label"] = pd.array([0, None], "Int64")
        assert ProbabilityTable.from_frame(frame, classes=["0", "1"]).labels.tolist() == [0, -1]

    @pytest.mark.parametrize("other", [{"p0": [1]}, pl.LazyFrame({"p0": [1]}), pd.Series([1.0]), P])
    def test_what_is_no_frame_is_refused(self, other):
        with pytest.raises(InvalidInputError, match="a data frame is needed; got"):
            ProbabilityTable.from_frame(other)
