"""Count the cases of every group, and print the table at the end of a run."""

from collections import Counter, defaultdict

import pytest

from failing_server import FailingServer
from fuzzing import BUDGET, COUNTS, happy

GROUPS = defaultdict(Counter)
COLUMNS = ("cases", "internal errors", "tracebacks", "inputs changed", "parts left", "without end")


@pytest.fixture(autouse=True)
def _counted(request, monkeypatch):
    COUNTS.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield
    group = request.node.path.stem.removeprefix("test_").replace("_", " ")
    request.node.user_properties.append(("fuzz", (group, dict(COUNTS))))


@pytest.fixture(scope="session")
def url():
    """A server that answers every prompt alike."""
    with FailingServer(happy) as server:
        yield server.url


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        for name, value in report.user_properties:
            if name == "fuzz":
                GROUPS[value[0]].update(value[1])


def pytest_terminal_summary(terminalreporter):
    if BUDGET == 1 or not GROUPS:
        return
    write = terminalreporter.write_line
    total = sum(GROUPS.values(), Counter())
    write(f"{'group':<16}" + "".join(f"{name:>17}" for name in COLUMNS))
    for group, counts in [*sorted(GROUPS.items()), ("all", total)]:
        write(f"{group:<16}" + "".join(f"{counts[name]:>17,}" for name in COLUMNS))
