"""What the tests of prompts and engines need."""

import pytest


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """Requests go straight to the servers of the tests."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
