"""Tables of many classes: every search ends at its limit, or is refused at once."""

import numpy as np
from hypothesis import given, strategies as st

from dnip import ProbabilityTable
from fuzzing import fuzzed, run, workshop

LIMIT = ["--time-limit", "1"]
LINES = [
    ["fit", "t.parquet", *LIMIT, "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--robust", "off", "--evidence", "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--preset", "paper", "--solver", "exact", "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--max-accuracy-loss", "0.1", "--evidence", "--out", "o.json"],
    ["pareto", "t.parquet", *LIMIT, "--folder", "o"],
    ["evaluate", "t.parquet", "--json"],
]


@fuzzed(2)
@given(
    st.sampled_from(LINES),
    st.sampled_from([2, 30, 400]),
    st.sampled_from([2, 20, 300, 1_500, 4_001, 10_000]),
    st.integers(0, 9),
)
def test_a_search_ends_soon_after_its_limit(line, n_rows, n_classes, seed):
    rng = np.random.default_rng(seed)
    p = rng.random((n_rows, n_classes)) ** 8
    labels = rng.integers(0, n_classes, n_rows)
    with workshop():
        ProbabilityTable(p / p.sum(axis=1, keepdims=True), labels).write("t.parquet")
        run(*line, outputs=("o",), patience=20)
