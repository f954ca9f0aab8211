"""Cost matrices: from arrays and files, with and without class names."""

import json

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, InvalidInputError, Objective, solve
from dnip.method.costs import Costs

PLAIN = [[0, 5, 1], [1, 0, 1], [2.5, 1, 0.5]]
#: The same by class.
IN_ORDER = "true,cat,dog,bird\ncat,0,5,1\ndog,1,0,1\nbird,2.5,1,0.5\n"
MIXED_UP = "\ufeff,bird,cat,dog\ndog,1,1,0\n\ncat, 1,0,5\nbird,0.5,2.5,1\n"
BY_NAME = """{"dog": {"cat": 1, "dog": 0, "bird": 1}, "cat": {"bird": 1, "cat": 0, "dog": 5},
"bird": {"cat": 2.5, "dog": 1, "bird": 0.5}}"""
CLASSES = ("cat", "dog", "bird")


@cases(
    ("costs.csv", "0,5,1\n1,0,1\n2.5,1,0.5\n"),
    ("costs.csv", IN_ORDER),
    ("costs.txt", MIXED_UP),
    ("costs.json", json.dumps(PLAIN)),
    ("costs.JSON", BY_NAME),
)
def test_every_form_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert np.array_equal(Costs.read(path).in_order(CLASSES).values, PLAIN)


def test_costs_are_read_again_from_the_coefficients_that_were_fitted_with_them(tmp_path):
    p, labels = np.eye(3)[[0, 1, 2, 0]] * 0.7 + 0.1, [0, 1, 2, 1]
    solution = solve(p, labels, Objective(costs=PLAIN))
    Coefficients.from_solution(solution, CLASSES).save(tmp_path / "c.json")
    read = Costs.read(tmp_path / "c.json")
    assert read.classes == CLASSES
    assert np.array_equal(read.values, PLAIN)


@cases(
    ("c.csv", None, "cannot be read: No such file"),
    ("c.csv", b"\xff\xfe\xff", "not UTF-8 text"),
    ("c.csv", "", "is empty"),
    ("c.csv", "0,1\n1,x\n", "is not a matrix of numbers: .*'x'"),
    ("c.csv", "0,1,2\n1,0,2\n", r"shape \(2, 3\)"),
    ("c.csv", "0,1\n-1,0\n", "row 2, column 1 is -1.0"),
    ("c.csv", "0,nan\n1,0\n", "row 1, column 2 is nan"),
    ("c.csv", ",a,b\na,0,1\n", "rows for a, but columns for a, b"),
    ("c.csv", ",a,b\na,0,1\na,0,1\n", "a true class appears twice"),
    ("c.csv", ",a,a\na,0,1\n", "appear twice|2 class names|not a matrix"),
    ("c.json", "{", "is not valid JSON"),
    ("c.json", "3", "neither rows of numbers nor an object of objects"),
    ("c.json", '{"a": {"a": 0}}', r"shape \(1, 1\)"),
    ("c.json", '{"a": {"a": 0, "b": 1}, "b": {"a": 0}}', "'b' has costs for a, but the true"),
    ("c.json", f"[[0, {'9' * 400}], [1, 0]]", "is not a matrix of numbers"),
    ("c.json", '{"format": "dnip-coefficients", "objective": {}}', "fitted without costs"),
)
def test_broken_files_are_refused_by_name(tmp_path, name, text, message):
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInputError, match=message) as caught:
        Costs.read(path)
    assert name in str(caught.value) or "class names" in str(caught.value)


def test_costs_of_other_classes_or_of_another_number():
    with pytest.raises(InvalidInputError, match="of the classes cat, dog, bird, but"):
        Costs.of(PLAIN, CLASSES).in_order(("cat", "dog", "cow"))
    with pytest.raises(InvalidInputError, match="3 rows and columns, but there are 2 classes"):
        Costs.of(PLAIN).in_order(("cat", "dog"))
    with pytest.raises(InvalidInputError, match="3 rows, but 2 class names"):
        Costs.of(PLAIN, ("cat", "dog"))
    with pytest.raises(InvalidInputError, match="3 rows and columns, but there are 2"):
        solve([[0.9, 0.1], [0.4, 0.6]], [0, 1], Objective(costs=PLAIN))
