"""Tables, numbers and evaluations as text: in Markdown, and on a terminal of 80 columns."""

import math

import numpy as np
import pytest
from rich.cells import cell_len

from cases import cases
from dnip import Coefficients, Constraints, Objective, fit
from dnip.comparing.demonstration import bundled_table
from dnip.presenting.formats import WIDTH, Column, Estimate, show, to_text, wrapped
from dnip.presenting.text import describe_constraints, describe_evaluation, describe_fit
from dnip.using.evaluation import Evaluation

NAMES = ("a", "long name")
RAW, AFTER = np.array([[8, 2], [4, 6]]), np.array([[7, 3], [3, 7]])


OF_RAW = """
class      rows  accuracy  precision     F1  taken for
a            10     0.800      0.667  0.727  long name
long name    10     0.600      0.750  0.667  a

accuracy     0.700
COBias       0.200
worst class  0.600"""
OF_BOTH = """
class      rows  weight  before  after  precision     F1  taken for
a            10   0.500   0.800  0.700      0.700  0.700  long name
long name    10   1.000   0.600  0.700      0.700  0.700  a

accuracy     0.700 -> 0.700
COBias       0.200 -> 0.000
worst class  0.600 -> 0.700"""


def test_the_whole_text():
    assert describe_evaluation(Evaluation(NAMES, 20, 0, RAW, None)) == OF_RAW.lstrip("\n")
    both, coefficients = Evaluation(NAMES, 20, 0, RAW, AFTER), Coefficients(NAMES, [15, 30], 30)
    assert describe_evaluation(both, coefficients) == OF_BOTH.lstrip("\n")


def test_many_classes_with_one_floor_are_told_by_their_lowest():
    floors = dict.fromkeys("abcde", 0.5) | {"f": 0.7}
    reached = {"a": 0.9, "b": 0.6, "c": 0.55, "d": 0.8, "e": 0.51, "f": 0.75}
    told = describe_constraints({"min_class_accuracies": floors, "class_accuracies": reached})
    assert told == (
        "kept on these rows: e 0.510, c 0.550, b 0.600 and 2 more (at least 0.5); "
        "f 0.750 (at least 0.7)"
    )


@cases(
    (0.0, "0.0"),
    (-0.04, "0.0"),
    (-0.428, "-0.4"),
    (math.nan, "-"),
    (math.inf, "-"),
    (None, "-"),
    (True, "1"),
    (-1234, "-1,234"),
    (1234.45, "1,234.5"),
    (Estimate(0.5, -0.25, 1.0), "0.5 [-0.2, 1.0]"),
)
def test_numbers_as_they_are_shown(value, shown):
    assert show(value, Column("rate")) == shown


COLUMNS = [Column("class"), Column("rows"), Column("rate", 3), Column("taken for")]


def lines(*names):
    rows = [(name, 9, 0.5, other) for name, other in zip(names, reversed(names), strict=True)]
    return to_text(COLUMNS, rows).splitlines()


@pytest.mark.parametrize("name", ["x" * 10_000, "正" * 100, "🦊" * 50])
def test_long_names_are_cut_where_the_table_would_be_too_wide(name):
    header, first, second = lines("short", name)
    assert max(map(cell_len, (header, first, second))) == WIDTH
    assert second.count("…") == 1
    assert second.split()[-3:-1] == ["9", "0.500"] or second.split()[1:3] == ["9", "0.500"]


def test_names_of_a_few_letters_are_never_cut():
    rows = [("of 12 letter", *[0.5] * 15)]
    text = to_text([Column("class"), *[Column("rate", 3)] * 15], rows)
    assert "of 12 letter  0.500" in text


def test_wide_letters_take_two_columns():
    header, first, second = lines("正正", "ab")
    assert header.index("rows") + 3 == first.index("9") + 2 == second.index("9")


def test_sentences_are_wrapped_between_words_and_paths_stay_whole():
    path = "folder-of-results/" * 6
    text = wrapped(f"{'some words ' * 10}\n\nwritten: {path}")
    assert max(map(len, text.split("\n\n")[0].splitlines())) <= WIDTH
    assert text.split("\n")[-1] == path


@cases(
    {},
    {"evidence": False},
    {"robust": "off", "target_prior": "uniform"},
    {"robust": "on", "unlabelled": bundled_table("test")},
    {"defer": 0.3},
    {"defer": 0.3, "helper_accuracy": None, "constraints": Constraints(max_accuracy_loss=0.1)},
    {"objective": Objective(beta=0)},
    {"objective": "macro-f1"},
    {"solver": "exact", "scale": 5},
    {"time_limit": 0},
)
def test_no_line_of_a_fit_is_wider_than_a_terminal(settings):
    fitted = fit(bundled_table("opt").take(np.arange(120)), **settings)
    assert max(map(cell_len, describe_fit(fitted, 0.95).splitlines())) <= WIDTH
