"""The recipes of docs/large-tables.md, as they are printed there."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients

pandas = pytest.importorskip("pandas", reason="the recipes need pandas")

PAGE = Path(__file__).parents[2] / "docs" / "large-tables.md"
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
