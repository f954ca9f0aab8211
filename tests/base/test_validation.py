import math

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice, check_integer, check_number


@cases(
    (lambda: check_number("beta", -1, at_least=0), "beta must be a finite number at least 0"),
    (lambda: check_number("beta", 0, above=0), "above 0; got 0"),
    (lambda: check_number("beta", 2, at_most=1), "at most 1; got 2"),
    (lambda: check_number("beta", 1, below=1), "below 1; got 1"),
    (lambda: check_number("beta", math.nan), "beta must be a finite number; got nan"),
    (lambda: check_number("beta", 10**400), "beta must be a finite number"),
    (lambda: check_number("beta", 1e308), "beta must be a finite number at most 1e+12"),
    (lambda: check_number("beta", "1"), "got '1'"),
    (lambda: check_number("beta", True), "got True"),
    (lambda: check_number("beta", math.inf), "got inf"),
    (lambda: check_integer("seed", 1.0, at_least=0), "whole number of at least 0; got 1.0"),
    (lambda: check_integer("seed", -1, at_least=0), "got -1"),
    (lambda: check_choice("solver", "x", ["a", "b"]), "one of a, b; got 'x'"),
)
def test_a_setting_out_of_range_is_told_with_name_range_and_value(call, told):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert told in str(caught.value)
