"""Tests of many cases."""

from inspect import signature

import pytest


def cases(*rows):
    """Run a test once for each row: a tuple of its last arguments, or the last one alone."""
    width = len(rows[0]) if type(rows[0]) is tuple else 1

    def mark(test):
        names = list(signature(test).parameters)[-width:]
        return pytest.mark.parametrize(names if width > 1 else names[0], rows)(test)

    return mark
