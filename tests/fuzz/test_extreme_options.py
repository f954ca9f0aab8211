"""Extreme values of every option of every command; the options are found, not listed."""

import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dnip import ProbabilityTable
from dnip.fitting.fit import fit
from fuzzing import STOPPED, fuzzed, run, workshop
from mutations import NUMBERS, TEXTS
from test_inputs_and_outputs import COMMANDS, READS, WRITES
from test_prompt import TASK

#: Long work is what some values ask for: it is stopped, and must leave nothing behind either.
PATIENCE = 1.0
#: Folders that a command may leave half done.
OUTPUTS = ("o", "dnip-")
TABLE = "label,p0,p1\n" + "0,0.9,0.1\n0,0.8,0.2\n1,0.6,0.4\n1,0.55,0.45\n" * 5
ROWS = "text,label\n" + "good,happy\nbad,sad\n" * 4
SERVER = ["--task", "mood.toml", "--model", "{url}", "--served-model", "m"]
#: A line of each command that works, in a folder with what it needs.
LINES = {
    "demo": [],
    "fit": ["t.csv", "--out", "o.json"],
    "evaluate": ["t.csv", "--coefficients", "c.json"],
    "apply": ["t.csv", "--coefficients", "c.json", "--out", "o.csv"],
    "compare": ["t.csv", "--test", "t2.csv", "--methods", "raw", "--out", "o"],
    "prompt": ["test.csv", *SERVER, "--out", "o.csv"],
    "import": ["answers.jsonl", "--classes", "0,1", "--out", "o.csv"],
    "report": ["t.csv", "--out", "o.html"],
    "check": ["many.csv", "--coefficients", "c.json"],
    "export": ["c.json", "--to", "json-bias"],
    "show": ["c.json"],
}
#: A server does not end; tests/cli/test_serve.py has its options.
ENDING = [command for command in COMMANDS if command != "serve"]
FITTED = fit(ProbabilityTable([[0.9, 0.1], [0.6, 0.4]] * 50, [0, 1] * 50), evidence=False)
FILES = {
    "t.csv": TABLE,
    "t2.csv": TABLE.replace("0.9,0.1", "0.7,0.3"),
    "many.csv": "label,p0,p1\n" + "0,0.9,0.1\n1,0.6,0.4\n" * 50,
    "c.json": FITTED.coefficients.to_json(),
    "answers.jsonl": '{"answers": {"q": {"type": "choice", "choice": "0", '
    '"probabilities": {"0": 0.75, "1": 0.25}}}}\n',
    "mood.toml": TASK,
    "train.csv": ROWS,
    "test.csv": ROWS,
}
values = st.sampled_from(
    [str(number) for number in NUMBERS] + ["9" * 5000, "1_0", "0x1", "²", "-0"]
)
named = st.tuples(st.sampled_from(["0", "1", "all", ""]), values).map("=".join)
lists = st.one_of(values, named, st.sampled_from([text for text in TEXTS if "\0" not in text]))


def options(command):
    """All options that hold something, but for paths."""
    known = {*READS, *WRITES[command]} - {"target_prior"}
    return [
        one.opts[0]
        for one in COMMANDS[command].params
        if one.param_type_name == "option"
        and not getattr(one, "is_flag", False)
        and not (known & {one.name})
    ]


def line(command, url):
    return [part.format(url=url) for part in LINES[command]]


@pytest.mark.parametrize("command", ENDING)
def test_every_command_has_a_line_that_works(command, url):
    with workshop(FILES):
        run(command, *line(command, url), outputs=OUTPUTS, status=(0,))


CHOICES = [(command, option) for command in ENDING for option in options(command)]


@fuzzed(40)
@given(st.sampled_from(CHOICES), st.lists(lists, min_size=1, max_size=2))
def test_extreme_values(url, choice, given_values):
    command, option = choice
    with workshop(FILES):
        value = ",".join(given_values)
        status = (0, 1, 2, STOPPED)
        started = [command, *line(command, url), option, value]
        run(*started, outputs=OUTPUTS, status=status, patience=PATIENCE)


# --- tables of many classes: every search ends at its limit, or is refused at once ---
LIMIT = ["--time-limit", "1"]
WIDE = [
    ["fit", "t.parquet", *LIMIT, "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--robust", "off", "--evidence", "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--preset", "paper", "--solver", "exact", "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--max-accuracy-loss", "0.1", "--evidence", "--out", "o.json"],
    ["fit", "t.parquet", *LIMIT, "--path"],
    ["evaluate", "t.parquet", "--json"],
]


@fuzzed(1)
@given(
    st.sampled_from(WIDE),
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
        began = time.process_time()
        run(*line, outputs=("o",))
        assert time.process_time() - began < 40
