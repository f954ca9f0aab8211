"""Tests of many cases."""

from inspect import signature

import pytest


def cases(*rows):
    """Run a test once for each row of values: its last arguments, whatever fixtures are before."""

    def mark(test):
        names = list(signature(test).parameters)[-len(rows[0]) :]
        return pytest.mark.parametrize(names, rows)(test)

    return mark
