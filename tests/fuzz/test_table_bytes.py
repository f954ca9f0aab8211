"""Tables whose bytes were changed, in every format."""

import gzip
import json
from functools import cache

import pytest
from hypothesis import given, strategies as st

from dnip import Coefficients, ProbabilityTable
from dnip.tables.formats import FORMATS
from fuzzing import fuzzed, run, workshop
from mutations import damaged, damaged_json

P = [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.55, 0.45]]
COEFFICIENTS = Coefficients(["0", "1"], [15, 30], 30).to_json()
LINES = [
    ["evaluate", "{}"],
    ["evaluate", "{}", "--coefficients", "c.json", "--json"],
    ["apply", "{}", "--coefficients", "c.json", "--out", "o.csv"],
    ["apply", "{}", "--coefficients", "c.json", "--out", "o.parquet"],
    ["fit", "{}", "--robust", "off", "--no-evidence", "--effort", "0.01", "--out", "o.json"],
]
lines = st.sampled_from(LINES)


@cache
def sound(suffix):
    """The bytes of a table in a format."""
    with workshop() as folder:
        table = ProbabilityTable(P, [0, 0, 1, 1], ids=["a", "b", "c", "d"])
        table.write(folder / f"t{suffix}")
        return (folder / f"t{suffix}").read_bytes()


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
