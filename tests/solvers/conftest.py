import pytest

from dnip.solvers import Coordinate


@pytest.fixture
def blind(monkeypatch):
    """Let coordinate search find nothing, so that the optimum is up to branch and bound."""
    monkeypatch.setattr(Coordinate, "search", lambda self, landscape, rng: iter(()))
