import pytest

from failing_server import FailingServer
from fakes import happy


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def url():
    """A server that answers every prompt alike."""
    with FailingServer(happy) as server:
        yield server.url
