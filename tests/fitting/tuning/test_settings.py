"""The grid: every combination once, the nearest to the defaults first, nothing out of range."""

from itertools import product

from dnip.fitting.tuning import Grid, Settings
from dnip.method.scales import DEFAULT_SCALE


def test_every_combination_is_a_candidate_once():
    grid = Grid((1.0, 2.7, 1), (0.2, 1.0), (30, "30", "log:10"), (1.0, 4000.0), ("off", "auto"))
    wanted = set(product((1.0, 2.7), (0.2, 1.0), ("30", "log:10"), (1.0, 4000.0), ("off", "auto")))
    found = [(s.beta, s.tau, s.scale, s.smoothing, s.robust) for s in grid.candidates()]
    assert len(found) == len(wanted)
    assert set(found) == wanted


def test_without_pmi_its_smoothing_is_not_tried():
    grid = Grid((2.7,), (0.0, 0.2), (30,), (4000.0, 2.0, 1000.0), ("auto",))
    assert [(s.tau, s.smoothing) for s in grid.candidates() if s.tau == 0] == [(0.0, 4000.0)]
    assert len(grid.candidates()) == 4


def test_the_nearest_to_the_defaults_come_first():
    grid = Grid((0.0, 10.0, 2.7, 2.0), (1.0, 0.0), (10, 30, "log:1000", "log:30"))
    order = grid.candidates()
    assert order[0] == Settings()
    differing = [sum((s.beta != 2.7, s.tau != 0.0, s.scale != DEFAULT_SCALE)) for s in order]
    assert differing == sorted(differing)
    one = [s for s, n in zip(order, differing, strict=True) if n == 1]
    assert [s.beta for s in one if s.beta != 2.7] == [2.0, 10.0, 0.0]
    assert [s.scale for s in one if s.scale != DEFAULT_SCALE] == ["log:30", "30", "10"]
