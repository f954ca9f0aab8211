"""The sidecar on this machine, before an upstream that answers as told."""

import threading

import pytest

from sidecars import FITTED, Upstream


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
    from dnip.deploying.sidecar.application import make_app
    from dnip.deploying.sidecar.server import listen, make_server

    running = []

    def run(url=upstream.url, **settings):
        app = make_app(url, {"topic": coefficients}, **settings)
        server = make_server(app, grace=60)
        listening = listen("127.0.0.1", 0, timeout=settings.get("timeout", 60))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        running.append((server, thread, listening))
        return listening.getsockname()[1]

    yield run
    for server, thread, listening in running:
        server.should_exit = True
        thread.join()
        listening.close()
