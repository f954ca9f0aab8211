"""Answers that others have saved or send: chat completions, rows of CSV, files of probabilities."""

import csv
import io
import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from dnip import Coefficients
from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.serving.chat import correct_chat
from fuzzing import fuzzed, run, workshop
from mutations import TEXTS, damaged, damaged_json, values
from sidecars import completion

FITTED = Coefficients(["World", "Sports"], [1, 4], 4)
CHAT = completion("World", ("World", {"World": 0.5, "Sports": 0.3, "the": 0.1}))
TOP = {"ham": -0.1, "spam": -2.0}
CELLS = [json.dumps(TOP), "[['ham', -0.1], ['spam', -2]]", '[{"token": "ham", "logprob": -1}]']
cells_of_logprobs = st.sampled_from([*CELLS, *TEXTS]) | damaged_json(TOP).map(str)


@fuzzed(60)
@given(damaged_json(CHAT, most=4))
def test_chat_completions_are_corrected_or_refused(body):
    try:
        new, _ = correct_chat(body, FITTED)
    except (InvalidInputError, BackendError):
        return
    assert json.dumps(new)


@fuzzed(12)
@given(st.lists(cells_of_logprobs, min_size=1, max_size=4), st.booleans())
def test_cells_of_answers(cells, named):
    file = io.StringIO(newline="")
    rows = ([n, cell, "ham"] for n, cell in enumerate(cells))
    csv.writer(file).writerows([["id", "top_logprobs", "label"], *rows])
    with workshop({"answers.csv": file.getvalue().encode("utf-8", "replace")}):
        more = ["--question", "top_logprobs"] if named else []
        run("import", "answers.csv", "--classes", "ham,spam", "--out", "o.csv", *more)


# --- the reproduction's file of saved probabilities ---
@cache
def few():
    """Some rows of a file as it is committed, as data and as bytes."""
    pd = pytest.importorskip("pandas")
    key = {"task": "trec", "shots": "1", "seed": 0, "demonstrations": [0], "mass": 0.5}
    rows = {name: [value] * 6 for name, value in (key | {"logp": [-1.0, -2.0]}).items()}
    rows |= {"split": ["opt", "test"] * 3, "row": [*range(6)], "label": [0, 1] * 3}
    held = io.BytesIO()
    pd.DataFrame(rows).to_parquet(held)
    return rows, held.getvalue()


def read(content):
    from reproduction.probabilities import read as read_file

    with workshop({"p.parquet": content}):
        try:
            found = read_file(Path("p.parquet"), ["trec"])
        except InvalidInputError:
            return
        list(found.cells("1"))


@fuzzed(8)
@given(st.data())
def test_bytes_of_probabilities(data):
    read(data.draw(damaged(few()[1])))


@fuzzed(20)
@given(st.data())
def test_values_of_probabilities(data):
    import pandas as pd

    rows, _ = few()
    name = data.draw(st.sampled_from(sorted(rows)))
    column = [data.draw(values) if data.draw(st.booleans()) else value for value in rows[name]]
    held = io.BytesIO()
    try:
        pd.DataFrame(rows | {name: column}).to_parquet(held)
    except Exception:  # nothing that Parquet could hold
        return
    read(held.getvalue())
