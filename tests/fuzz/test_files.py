"""Tables and coefficients whose bytes or values were changed, in every format."""

import gzip
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dnip import Coefficients, ProbabilityTable
from dnip.fitting.fit import fit
from dnip.method.coefficients import Deferral
from dnip.tables.formats import FORMATS
from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json
from test_extreme_options import TABLE

P = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.55, 0.45]]
COEFFICIENTS = Coefficients(["0", "1"], [15, 30], 30).to_json()
LINES = [
    ["evaluate", "{}"],
    ["evaluate", "{}", "--coefficients", "c.json", "--json"],
    ["apply", "{}", "--coefficients", "c.json", "--out", "o.csv"],
    ["apply", "{}", "--coefficients", "c.json", "--out", "o.parquet"],
    ["fit", "{}", "--robust", "off", "--no-evidence", "--scale", "9", "--out", "o.json"],
]
lines = st.sampled_from(LINES)


@cache
def sound(suffix):
    """The bytes of a table in a format."""
    with workshop() as folder:
        path = folder / f"t{suffix}"
        if suffix == ".npz":
            np.savez(path, p=P, y=[0, 0, 1, 1])
        elif suffix == ".npy":
            np.save(path, P)
        else:
            ProbabilityTable(P, [0, 0, 1, 1], ids=["a", "b", "c", "d"]).write(path)
        return path.read_bytes()


def try_table(line, suffix, content):
    name = f"t{suffix}"
    with workshop({name: content, "c.json": COEFFICIENTS}):
        run(*[part.format(name) for part in line])


@pytest.mark.parametrize("suffix", FORMATS)
@fuzzed(10)
@given(lines, st.data())
def test_changed_bytes(suffix, line, data):
    try_table(line, suffix, data.draw(damaged(sound(suffix))))


@fuzzed(10)
@given(lines, st.data())
def test_changed_text_within_sound_gzip(line, data):
    try_table(line, ".csv.gz", gzip.compress(data.draw(damaged(sound(".csv")))))


@fuzzed(10)
@given(lines, st.data())
def test_changed_cells_of_json_lines(line, data):
    rows = [json.loads(row) for row in sound(".jsonl").splitlines()]
    changed = data.draw(damaged_json(rows))
    rows = changed if isinstance(changed, list) else [changed]
    try_table(line, ".jsonl", "".join(json.dumps(row) + "\n" for row in rows))


# --- coefficients ---
@cache
def fitted_on(kind):
    """What a fit on some scale writes, with a calibration, as JSON; or moved to another mix."""
    with workshop({"t.csv": TABLE}):
        scale = 30 if kind == "moved" else kind
        found = fit(ProbabilityTable.read("t.csv"), scale=scale, evidence=False)
    coefficients = found.coefficients
    if kind == 30:
        coefficients = replace(coefficients, defer=Deferral([0.6, 0.8], 0.3, 0.9))
    if kind == "moved":  # its weights are on no scale
        coefficients = coefficients.adjusted([0.2, 0.8])
    return json.loads(coefficients.to_json())


READERS = [
    ["evaluate", "t.csv", "--coefficients", "c.json"],
    ["evaluate", "t.csv", "--coefficients", "c.json", "--json", "--target-prior", "0=0.3,1=0.7"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv", "--target-prior", "uniform"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv", "--target-prior", "estimate"],
    ["export", "c.json", "--to", "sql"],
    ["show", "c.json", "--json"],
    ["show", "c.json", "c.json"],
]
readers = st.sampled_from(READERS)
contents = st.sampled_from([30, "log:1000", "moved"]).flatmap(
    lambda kind: damaged_json(fitted_on(kind))
)


@fuzzed(30)
@given(readers, contents)
def test_changed_keys_and_values_of_coefficients(line, content):
    with workshop({"t.csv": TABLE, "c.json": json.dumps(content)}):
        run(*line)


@fuzzed(10)
@given(readers, st.data())
def test_changed_bytes_of_coefficients(line, data):
    content = data.draw(damaged(json.dumps(fitted_on(30)).encode()))
    with workshop({"t.csv": TABLE, "c.json": content}):
        run(*line)
