"""Constraints: what may be asked for, and the counts that it comes to."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from cases import cases
from dnip import Constraints, InvalidInputError
from dnip.method.constraints import _find_class
from strategies import seeded

CLASSES = ("cat", "dog", "bird")
ALL_PRESENT = np.array([True, True, True])


def test_classes_by_name_by_index_and_all():
    asked = Constraints(0.1, {"dog": 0.7, 2: 0.6, "all": 0.5}, ["bird", 0, "cat"])
    demands = asked.on(CLASSES, ALL_PRESENT)
    assert demands.least.tolist() == [0.5, 0.7, 0.6]
    assert demands.frozen == (0, 2)
    assert demands.max_accuracy_loss == 0.1


@cases(
    (CLASSES, [True, True, False], [0.5, 0.5, 0.0]),  # all that have labels
    (("all", "none"), [True, True], [0.5, 0.0]),  # a class of that name
)
def test_what_all_means(classes, present, least):
    demands = Constraints(min_class_accuracies={"all": 0.5}).on(classes, np.array(present))
    assert demands.least.tolist() == least


def test_a_name_goes_before_an_index():
    assert _find_class("1", ["1", "0"]) == 0
    assert _find_class("1", ["a", "b"]) == 1
    assert _find_class(1, ["1", "0"]) == 0


@seeded
@given(numerator=st.integers(0, 100), n_examples=st.integers(1, 3000), loss=st.integers(0, 100))
def test_floors_are_the_least_counts_that_reach_what_is_written(numerator, n_examples, loss):
    demands = Constraints(loss / 100, {0: numerator / 100}).on(("a", "b"), ALL_PRESENT[:2])
    true = np.array([n_examples, 7])
    raw, spare = n_examples // 2, loss * (n_examples + 7) // 100
    floors, total = demands.floors(true, np.array([0, raw]))
    assert floors[0] == -(-numerator * n_examples // 100)
    assert total == max(0, raw - spare)


def test_a_class_that_was_right_on_some_rows_stays_right_on_one():
    true, raw = np.array([10, 10, 10]), np.array([9, 1, 0])
    assert Constraints().on(CLASSES, ALL_PRESENT).floors(true, raw)[0].tolist() == [1, 1, 0]
    asked = Constraints(None, {"cat": 0.5, "bird": 0.2}).on(CLASSES, ALL_PRESENT)
    assert asked.floors(true, raw)[0].tolist() == [5, 1, 2]
    allowed = Constraints(allow_silence=True).on(CLASSES, ALL_PRESENT)
    assert allowed.floors(true, raw)[0].tolist() == [0, 0, 0]


@cases(
    ({"max_accuracy_loss": -0.1}, "max_accuracy_loss must be a finite number at least 0"),
    ({"max_accuracy_loss": float("nan")}, "max_accuracy_loss must be"),
    ({"min_class_accuracies": {"cat": 1.1}}, "least accuracy of class cat must be .* got 1.1"),
    ({"min_class_accuracies": {"cat": -0.1}}, "at least 0 and at most 1; got -0.1"),
    ({"min_class_accuracies": [("cat", 0.5)]}, "must map classes to rates"),
    ({"min_class_accuracies": {0.5: 0.5}}, "a class is a name or an index; got 0.5"),
    ({"freeze": "cat"}, "freeze must be a sequence of classes; got the single text 'cat'"),
    ({"freeze": [True]}, "a class is a name or an index; got True"),
    ({"freeze": ["cow"]}, "unknown class 'cow'; the classes are cat, dog, bird"),
    ({"freeze": [3]}, "unknown class '3'; the classes are cat, dog, bird"),
    ({"min_class_accuracies": {-1: 0.5}}, "unknown class '-1'"),
    ({"min_class_accuracies": {"dog": 0.5, 1: 0.6}}, "class dog has two least accuracies"),
    ({"min_class_accuracies": {"bird": 0.5}}, "class bird has no labelled example"),
    ({"freeze": ["cat", "dog"]}, "every class with labels is frozen"),
)
def test_what_cannot_be_asked_for_or_not_of_these_classes(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Constraints(**settings).on(CLASSES, np.array([True, True, False]))
