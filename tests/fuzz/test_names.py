"""Names of classes and columns in every export and table, beside columns that are there already."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from dnip import Coefficients
from fuzzing import fuzzed, run, workshop
from mutations import texts
from sql_engines import ENGINES, SQL

P = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]])
OURS = ["prediction", "dnip_largest", "dnip_table", "dnip_own", "label", "id", "mass", "p0", "p3"]
words = st.sampled_from(OURS) | texts
sortings = st.lists(words, min_size=3, max_size=4, unique_by=lambda text: text.strip().casefold())


def usable(names):
    """Names that the command line and a database take: visible, none of them empty."""
    return all(name.strip() == name != "" and name.isprintable() for name in names)


def one_line(names):
    """Names as `--columns` takes them."""
    return ",".join('"' + name.replace('"', '""') + '"' for name in names)


@pytest.mark.parametrize("dialect", SQL)
@fuzzed(12)
@given(sortings, sortings)
def test_a_query_decides_as_the_package_or_is_refused(dialect, classes, columns):
    assume(usable(columns) and usable(classes[:3]))
    coefficients = Coefficients(classes[:3], [10, 20, 30], 30)
    options = ["--to", dialect, f"--columns={one_line(columns[:3])}"]
    with workshop({"c.json": coefficients.to_json()}):
        assert run("export", "c.json", *options, "--out", "q.sql").status == 0
        query = Path("q.sql").read_text("utf-8")
    rows = np.hstack([P, P])[:, : len(columns)].tolist()
    taken = {name.casefold() for name in columns} & {"prediction", "dnip_largest"}
    try:
        assert ENGINES[dialect](columns, rows, query) == list(coefficients.predict(P))
    except Exception as error:
        if not (taken and "ambiguous" in str(error).lower()):
            raise


OUTPUTS = {
    **{"json-bias": "o.json", "python": "o.py", "javascript": "o.js"},
    **{"onnx": "o.onnx", "sql": "o.sql"},
}


@fuzzed(6)
@given(sortings, st.sampled_from(sorted(OUTPUTS)))
def test_names_in_every_export_come_out_as_they_are(classes, form):
    try:
        coefficients = Coefficients(classes[:3], [10, 20, 30], 30)
    except ValueError:
        return
    with workshop({"c.json": coefficients.to_json()}):
        assert run("export", "c.json", "--to", form, "--out", OUTPUTS[form]).status == 0
        content = Path(OUTPUTS[form]).read_bytes()
    names = {}
    if form == "python":
        exec(content, names)
        assert names["CLASSES"] == coefficients.classes
    elif form == "json-bias":
        assert tuple(json.loads(content)["bias"]) == coefficients.classes
