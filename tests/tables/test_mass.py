"""Mass, samples and fall-backs travel beside the probabilities and never disturb reading."""

import numpy as np
import pytest

from dnip.errors import InvalidInputError
from dnip.tables import ProbabilityTable, open_writer

TABLE = ProbabilityTable(
    np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([1, -1]), classes=("no", "yes")
)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "npz", "parquet"])
def test_a_table_with_them_reads_back_as_the_table(tmp_path, suffix):
    path = tmp_path / f"table.{suffix}"
    with open_writer(path, TABLE.classes) as writer:
        writer.write(TABLE, mass=[0.9, 1e-7], samples=[16, 15], fallback=[0, 1])
    back = ProbabilityTable.read(path, TABLE.classes)
    assert back.data_hash == TABLE.data_hash


def test_they_stand_before_the_class_columns_with_full_precision(tmp_path):
    path = tmp_path / "table.csv"
    with open_writer(path, TABLE.classes) as writer:
        writer.write(TABLE, mass=[0.1 + 0.2, 1e-7], samples=[16, 15], fallback=[0, 1])
    assert path.read_text().splitlines() == [
        "label,mass,samples,fallback,p0,p1",
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
