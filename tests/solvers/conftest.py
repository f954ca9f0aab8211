import itertools
import time

import pytest

from dnip.solvers import Coordinate


@pytest.fixture
def blind(monkeypatch):
    """Let coordinate search find nothing, so that the optimum is up to branch and bound."""
    monkeypatch.setattr(Coordinate, "search", lambda self, landscape, rng: iter(()))


@pytest.fixture
def ticking(monkeypatch):
    """Let the clock go on by a second whenever somebody looks at it, and not otherwise."""
    monkeypatch.setattr(time, "perf_counter", map(float, itertools.count()).__next__)
