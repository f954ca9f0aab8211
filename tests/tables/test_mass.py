"""Mass, samples and fall-backs travel beside the probabilities; low mass is told."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dnip import Coefficients
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.deploying.application import apply_stream
from dnip.fitting.fit import fit_file, fit_table
from dnip.fitting.settings import FitSettings
from dnip.tables import ProbabilityTable, Scan, open_writer
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.evaluation import evaluate
from dnip.tables.reading import read_rows

SUFFIXES = ["csv", "csv.gz", "jsonl", "npz", "parquet"]
TABLE = ProbabilityTable(
    np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, -1]), classes=("no", "yes")
)


def low_table(n_rows=40, n_low=30):
    rng = np.random.default_rng(0)
    mass = np.where(np.arange(n_rows) < n_low, 0.02, 0.8)
    return ProbabilityTable(
        rng.dirichlet(np.ones(3), n_rows), rng.integers(3, size=n_rows), mass=rng.permutation(mass)
    )


def bad_file(folder, suffix, cell):
    """A table whose second mass is this."""
    path = folder / f"bad.{suffix}"
    if suffix == "csv":
        path.write_text(f"label,mass,p0,p1\n0,1,0.5,0.5\n1,{cell},0.5,0.5\n")
    elif suffix == "jsonl":
        row = '{{"label": 0, "p0": 0.5, "mass": {}, "p1": 0.5}}\n'
        path.write_text(row.format(1) + row.format("NaN" if cell == "nan" else cell))
    else:
        columns = {"p0": [0.5] * 2, "p1": [0.5] * 2, "mass": np.array([1, float(cell)])}
        if suffix == "npz":
            np.savez(path, **columns)
        else:
            pd.DataFrame(columns).to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_with_them_reads_back_as_the_table(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    with open_writer(path, TABLE.classes) as writer:
        writer.write(TABLE, mass=[0.9, 0.1 + 0.2], samples=[16, 15], fallback=[0, 1])
    back = ProbabilityTable.read(path, TABLE.classes)
    assert back.data_hash == TABLE.data_hash
    assert back.mass.tolist() == [0.9, 0.1 + 0.2]


def test_they_stand_before_the_class_columns_with_full_precision(tmp_path):
    path = tmp_path / "table.csv"
    with open_writer(path, TABLE.classes) as writer:
        writer.write(TABLE, mass=[0.1 + 0.2, 1e-7], samples=[16, 15], fallback=[0, 1])
    assert path.read_text().splitlines() == [
        "label,mass,samples,fallback,no,yes",
        "yes,0.30000000000000004,16,0,0.25,0.75",
        ",1e-07,15,1,0.5,0.5",
    ]


@pytest.mark.parametrize("column", ["mass", "samples", "fallback"])
def test_another_length_is_refused(tmp_path, column):
    with (
        pytest.raises(InvalidInputError, match=f"{column} has shape .* 2 rows need"),
        open_writer(tmp_path / "table.csv", TABLE.classes) as writer,
    ):
        writer.write(TABLE, **{column: [1]})


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("block_rows", [1, 7, 100])
def test_low_mass_is_told_once_whole_and_in_chunks(tmp_path, suffix, block_rows):
    table = low_table()
    path = tmp_path / f"low.{suffix}"
    table.write(path)
    for read in (
        ProbabilityTable.read,
        lambda path: list(read_rows(path, block_rows=block_rows)),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = read(path)
        assert [str(warning.message) for warning in caught] == [
            f"{path}: the labels capture less than 0.1 of the probability in 75% of the rows "
            "(30 of 40; median mass 0.02): the prompt or the label words are at fault, "
            "coefficients cannot mend that. Look at both with `dnip audit`"
        ]
        parts = [rows] if isinstance(rows, ProbabilityTable) else rows
        assert np.concatenate([part.mass for part in parts]).tolist() == table.mass.tolist()


@pytest.mark.parametrize("n_low", [0, 3])
def test_a_few_low_rows_are_counted_but_not_told(tmp_path, n_low):
    path = tmp_path / "t.csv"
    low_table(n_low=n_low).write(path)
    found = ProbabilityTable.read(path)  # a warning would be an error
    assert found.captured_mass == CapturedMass(40, n_low, 0.8)


@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_fit_evaluation_and_application_count_the_same_rows(tmp_path):
    table, path = low_table(), tmp_path / "low.csv"
    table.write(path)
    counted = CapturedMass(40, 30, 0.02)
    fitted = fit_table(table)
    assert fitted.captured_mass == fit_file(path, FitSettings()).captured_mass == counted
    assert evaluate(Scan(path)).captured_mass == counted
    out = tmp_path / "out.csv"
    assert apply_stream(Scan(path), fitted.coefficients, out).captured_mass == counted
    assert ProbabilityTable.read(out).mass.tolist() == table.mass.tolist()


def test_a_table_without_the_column_has_none():
    table = ProbabilityTable(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))
    assert table.captured_mass is table.mass is None
    assert evaluate([table], Coefficients(["0", "1"], [1, 1], 1)).to_dict()["mass"] is None


def test_parts_of_a_table_keep_their_mass():
    table = low_table()
    assert table.take([3, 1]).mass.tolist() == table.mass[[3, 1]].tolist()
    part = ProbabilityTable(table.probabilities, np.full(40, -1), mass=table.mass).unlabelled()
    assert part.mass.tolist() == table.mass.tolist()
    for library in ("pandas", "polars"):
        with pytest.warns(DNIPWarning, match="frame: the labels capture"):
            back = ProbabilityTable.from_frame(table.to_frame(library))
        assert back.mass.tolist() == table.mass.tolist()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "npz", "parquet"])
@pytest.mark.parametrize("cell", ["-0.25", "nan", "1.5"])
def test_what_no_mass_can_be_is_refused_by_its_cell(tmp_path, suffix, cell):
    path = bad_file(tmp_path, suffix, cell)
    with pytest.raises(InvalidInputError) as caught:
        ProbabilityTable.read(path)
    where = f"{path}: row 2, column mass"
    if cell == "nan" and suffix == "parquet":  # pandas writes NaN as an empty cell
        assert str(caught.value).startswith(f"{where}: the cell is empty")
    else:
        told = f"{where}: the captured mass is {cell}, outside 0..1"
        assert str(caught.value).startswith(told)
        assert "leave the column out" in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "told"), [("", "the cell is empty"), ("much", "'much' is not a number")]
)
def test_a_mass_that_is_no_number_is_refused_by_its_cell(tmp_path, cell, told):
    with pytest.raises(InvalidInputError, match=f"row 2, column mass: {told}"):
        ProbabilityTable.read(bad_file(tmp_path, "csv", cell))


@pytest.mark.parametrize("frames", [pd, pl])
def test_a_bad_mass_in_a_frame_is_refused_by_its_cell(frames):
    frame = frames.DataFrame({"p0": [0.5, 0.5], "mass": [0.5, 7.0], "p1": [0.5, 0.5]})
    with pytest.raises(InvalidInputError, match=r"frame: row 2, column mass: .* is 7, outside"):
        ProbabilityTable.from_frame(frame)


def test_a_mass_just_above_one_is_rounding():
    assert ProbabilityTable(TABLE.probabilities, mass=[1.0004, 1]).mass.tolist() == [1.0004, 1]


@pytest.mark.parametrize(
    ("mass", "told"),
    [([0.5], "mass has shape"), ([0.5, -1], r"mass\[1\]: .* is -1"), (["a", "b"], "not a list")],
)
def test_bad_mass_in_memory_is_refused(mass, told):
    with pytest.raises(InvalidInputError, match=told):
        ProbabilityTable(TABLE.probabilities, mass=mass)


def test_mass_may_be_the_name_of_a_class(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,mass,p0,p1\nmass,0.9,0.75,0.25\nenergy,0.8,0.5,0.5\n")
    table = ProbabilityTable.read(path, ["mass", "energy"])
    assert table.labels.tolist() == [0, 1]
    assert table.mass.tolist() == [0.9, 0.8]
    path.write_text("label,p0,p1\nmass,0.75,0.25\nenergy,0.5,0.5\n")
    assert ProbabilityTable.read(path, ["mass", "energy"]).mass is None
