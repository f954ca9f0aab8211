"""Streamed reweighting: as in memory, nothing where it fails; recipes of docs/deploy.md."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, CoefficientsFormatError, InvalidInputError, ProbabilityTable
from dnip.tables import Scan
from dnip.using.application import apply
from strategies import random_probabilities

NAMES = ("bad", "so, so", 'go"od')
FITTED = Coefficients(NAMES, [30, 12, 7], 30)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 50, 3, "mixed")
    labels = rng.integers(-1, 3, 50)
    return ProbabilityTable(p, labels, [f"row {i}" for i in range(50)], NAMES)


def test_a_file_can_be_applied_in_place(tmp_path, table):
    path = tmp_path / "t.csv"
    table.write(path)
    apply(Scan(path, NAMES, block_rows=7), FITTED, path)
    written = ProbabilityTable.read(path, NAMES)
    np.testing.assert_array_equal(written.probabilities, FITTED.apply(table.probabilities))
    np.testing.assert_array_equal(written.labels, table.labels)
    assert written.ids.tolist() == table.ids.tolist()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet"])
@cases(
    (("0", "1", "2"), "0.5,0.25,0.25\n", "classes"),
    (NAMES, "0.5,0.25,0.25\n" * 10 + "0.5,0.25,-1\n", r"row 11, column p2.*negative"),
)
def test_what_is_refused_leaves_the_old_output(tmp_path, suffix, classes, rows, told):
    path, old = tmp_path / "t.csv", tmp_path / f"out.{suffix}"
    path.write_text("p0,p1,p2\n" + rows)
    old.write_bytes(b"old")
    fitted = Coefficients(classes, [1] * len(classes), 1)
    with pytest.raises((CoefficientsFormatError, InvalidInputError), match=told):
        apply(Scan(path, NAMES, block_rows=2), fitted, old)
    assert old.read_bytes() == b"old"
    assert set(tmp_path.iterdir()) == {path, old}


def test_coefficients_for_other_classes_are_named_by_their_file(tmp_path, table):
    Coefficients(["no", "yes"], [1, 1], 1).save(tmp_path / "pair.json")
    with pytest.raises(
        CoefficientsFormatError, match=r"coefficients of .*pair\.json were fitted for"
    ):
        apply([table], tmp_path / "pair.json", tmp_path / "out.csv")


# --- recipes ---
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
CLASSES = ("red", "green", "blue")


def decided(name, frame):
    """Run the function of the page and the recipe of this name on a frame."""
    text = PAGE.read_text(encoding="utf-8").partition("## Without Ray")[2]
    function, *recipes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (recipe,) = (each for each in recipes if name in each)
    names = {"frame": frame}
    exec(function + recipe, names)
    return names["decided"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Rows with the predictions that are expected; the coefficients are in the working folder."""
    pandas = pytest.importorskip("pandas", reason="the recipes need pandas")
    monkeypatch.chdir(tmp_path)
    coefficients = Coefficients(CLASSES, [30, 2, 12], 30)
    coefficients.save("coefficients.json")
    p = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    rows = pandas.DataFrame(p, columns=list(CLASSES)).assign(number=range(50))
    return rows, coefficients.predict(p).tolist()


def test_dask(rows):
    dask = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    frame, expected = rows
    found = decided("map_partitions", dask.from_pandas(frame, npartitions=3))
    assert found.compute(scheduler="sync").prediction.tolist() == expected
    assert list(found.columns) == [*CLASSES, "number", "prediction"]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark(rows, monkeypatch):
    spark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    monkeypatch.setitem(os.environ, "PYSPARK_PYTHON", sys.executable)
    frame, expected = rows
    settings = spark.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with settings.getOrCreate() as session:
        found = decided("mapInPandas", session.createDataFrame(frame)).toPandas()
    assert found.sort_values("number").prediction.tolist() == expected
