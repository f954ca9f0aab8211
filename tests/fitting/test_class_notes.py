import numpy as np

from dnip import ProbabilityTable
from dnip.fitting.fit import fit_table

NAMES = ("a", "b", "c")


def notes_of(p, y, **settings):
    p = np.asarray(p) / np.sum(p, axis=1, keepdims=True)
    return fit_table(ProbabilityTable(p, np.asarray(y), classes=NAMES), **settings).notes


def test_nothing_is_said_where_all_is_well():
    p = np.full((90, 3), 0.2) + 0.4 * np.eye(3)[np.arange(90) % 3]
    assert notes_of(p, np.arange(90) % 3) == ()


def test_a_column_of_zeros_cannot_be_lifted():
    p = np.random.default_rng(0).dirichlet([2, 2, 2], 90)
    p[:, 2] = 0
    assert any("No weight can lift class c" in note for note in notes_of(p, np.arange(90) % 3))


def test_a_class_beyond_the_scale_is_named():
    p = np.random.default_rng(0).dirichlet([2, 2, 2], 90) * [1, 1, 1e-7]
    assert any("Out of reach: class c" in note for note in notes_of(p, np.arange(90) % 3))


def test_a_woken_class_is_named():
    y = np.arange(90) % 3
    p = (np.full((90, 3), 0.2) + 0.4 * np.eye(3)[y]) * [1, 1, 0.1]
    assert notes_of(p, y)[0] == "Silent before, awake now: c is right on 30 of 30 rows now."


def test_the_end_of_the_scale_is_told():
    y = np.arange(90) % 3
    p = (np.full((90, 3), 0.2) + 0.4 * np.eye(3)[y]) * [1, 1, 0.0005]
    assert any("end of the scale log:1000" in note for note in notes_of(p, y, robust="off"))
