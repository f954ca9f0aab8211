"""The sidecar on this machine, before an upstream that answers as told."""

from contextlib import ExitStack

import pytest

from sidecars import FITTED, Upstream, serving


@pytest.fixture
def upstream():
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def coefficients(tmp_path):
    FITTED.save(tmp_path / "topic.json")
    return tmp_path / "topic.json"


@pytest.fixture
def start(upstream, coefficients):
    """A function that starts the sidecar and returns its port."""
    for library in ("uvicorn", "starlette", "aiohttp"):
        pytest.importorskip(library)
    with ExitStack() as started:

        def start(url=upstream.url, **settings):
            return started.enter_context(serving(url, coefficients, **settings))[1]

        yield start
