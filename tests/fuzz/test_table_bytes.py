"""Tables whose bytes were changed, in every format."""

import gzip
import json
import zlib
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


@fuzzed(10)
@given(lines, st.data())
def test_changed_arrays_of_npz(line, data):
    content = data.draw(damaged(sound(".npz")))
    try_table(line, ".npz", _with_right_sums(content))


def _with_right_sums(content):
    """Mend the check sums of a zip file, so that what was changed is read."""
    content, start = bytearray(content), 0
    while (start := content.find(b"PK\x03\x04", start)) >= 0:
        sizes = content[start + 18 : start + 30]
        begin = start + 30 + sum(int.from_bytes(sizes[i : i + 2], "little") for i in (8, 10))
        data = content[begin : begin + int.from_bytes(sizes[:4], "little")]
        name = bytes(content[start + 30 : start + 30 + int.from_bytes(sizes[8:10], "little")])
        own = zlib.crc32(data).to_bytes(4, "little")
        content[start + 14 : start + 18] = own
        entry = content.rfind(b"PK\x01\x02", 0, max(content.rfind(name), 0))
        if entry > start:
            content[entry + 16 : entry + 20] = own
        start += 4
    return bytes(content)
