"""Coefficients files whose keys and values were changed."""

import json
from functools import cache

from hypothesis import given, strategies as st

from dnip import ProbabilityTable
from dnip.fitting.fit import fit
from dnip.method.defer import Deferral
from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json
from test_extreme_options import TABLE


@cache
def sound(kind):
    """What a fit on some scale writes, with a calibration, as JSON; or moved to another mix."""
    with workshop({"t.csv": TABLE}):
        scale = 30 if kind == "moved" else kind
        fitted = fit(ProbabilityTable.read("t.csv"), scale=scale, evidence=False)
    coefficients = fitted.coefficients
    if kind == 30:
        coefficients = coefficients.with_defer(Deferral([0.6, 0.8], 0.3, 0.9))
    if kind == "moved":  # its weights are on no scale
        coefficients = coefficients.adjusted([0.2, 0.8])
    return json.loads(coefficients.to_json())


LINES = [
    ["evaluate", "t.csv", "--coefficients", "c.json"],
    ["evaluate", "t.csv", "--coefficients", "c.json", "--json", "--target-prior", "0.3,0.7"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv", "--target-prior", "uniform"],
    ["apply", "t.csv", "--coefficients", "c.json", "--out", "o.csv", "--target-prior", "estimate"],
    ["export", "c.json", "--to", "sql"],
    ["show", "c.json", "--json"],
    ["show", "c.json", "c.json"],
]
lines = st.sampled_from(LINES)
contents = st.sampled_from([30, "log:1000", "moved"]).flatmap(
    lambda kind: damaged_json(sound(kind))
)


@fuzzed(30)
@given(lines, contents)
def test_changed_keys_and_values(line, content):
    with workshop({"t.csv": TABLE, "c.json": json.dumps(content)}):
        run(*line)


@fuzzed(10)
@given(lines, st.data())
def test_changed_bytes(line, data):
    content = data.draw(damaged(json.dumps(sound(30)).encode()))
    with workshop({"t.csv": TABLE, "c.json": content}):
        run(*line)
