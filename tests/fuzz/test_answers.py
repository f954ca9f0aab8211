"""Answers that others have saved or send: chat completions, and rows of CSV."""

import csv
import io
import json

from hypothesis import given, strategies as st

from dnip import Coefficients
from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.serving.chat import correct_chat
from fuzzing import fuzzed, run, workshop
from mutations import TEXTS, damaged_json
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
