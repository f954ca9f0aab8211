"""What the tests of more than one room need."""

import gc
import importlib.util
import os
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Workers share the cores; and sums over one thread end in the same bits on any machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No key and no proxy of whoever runs the tests.
for _name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
    os.environ.pop(_name, None)

# Every run tries the same examples, also where a test has no settings of its own.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")
# Else it would try numbers of whatever files are imported, which is up to the other tests.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

#: Helpers that need torch: test files import them where it is installed.
collect_ignore = ["plain_language_model.py", "tiny_models.py"]

#: Why a test may be skipped although everything that the package can install is there.
EXPECTED_SKIPS = (
    "the real tables are not at",  # these three lie beside the project, not within it
    "the datasets are not at",
    "the paper's source is not at",
    "SmolLM2 is not at",  # `make model` fetches it
    "llama-cpp-python[server] is not installed",  # `make integration` builds it
    "gguf is not installed",  # `pip install '.[integration]'` does, and with it:
    "transformers[serving] is not installed",
    "pyspark is not installed",  # large, and it needs Java
    "java is not installed",  # Debian's default-jre-headless, and these two: nodejs, postgresql
    "node is not installed",
    "PostgreSQL is not installed",
    "nginx is not installed",  # Debian's, for the test of a fleet of servers
    "only root can become another user",
    "the user nobody may not run this Python",
    "chromium is not installed",  # Debian's, for the tests of pages
    "SCIPY_ARRAY_API is not set",  # scikit-learn's own check of an estimator
)


def pytest_addoption(parser):
    parser.addoption(
        "--no-unexpected-skips",
        action="store_true",
        help="let a skip fail whose reason is not in EXPECTED_SKIPS of tests/conftest.py",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Import all tests, and large libraries with them, without a search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    return _checked((yield), item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(collector):
    return _checked((yield), collector.config)


def _checked(report, config):
    """Turn a skip that nobody expects into a failure, where this is asked for."""
    if report.skipped and not hasattr(report, "wasxfail") and config.option.no_unexpected_skips:
        reason = report.longrepr[2]
        if not any(expected in reason for expected in EXPECTED_SKIPS):
            report.outcome, report.longrepr = "failed", f"unexpected: {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say in the end how to run the tests of language models, where they were skipped."""
    yield
    skipped = len(terminalreporter.stats.get("skipped", ()))
    if skipped and importlib.util.find_spec("torch") is None:
        terminalreporter.write_line(
            f"{skipped} tests, or whole files of tests, were skipped, most because torch is not "
            "installed. With torch: make torch test"
        )


@pytest.fixture(scope="session")
def shared_tables():
    """The folder of real probability tables, which are not part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "tables"
    if not folder.is_dir():
        pytest.skip(f"the real tables are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A function from an architecture's name to the folder of a tiny model."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tiny_models import save_model

    torch.set_num_threads(1)  # of models this small, threads only wait for each other

    return cache(lambda kind: save_model(tmp_path_factory.mktemp(kind), kind))


@pytest.fixture(scope="session")
def smollm2():
    """The GGUF file of a language model that was trained on none of our tasks."""
    path = Path(__file__).resolve().parents[1] / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    if not path.exists():
        pytest.skip(f"SmolLM2 is not at {path}")
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that names in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dnip(monkeypatch, capsys):
    """Run ``dnip`` with these arguments, as the shell would."""
    from dnip.cli import main
    from outcomes import Outcome

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dnip", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            main()
        outcome = Outcome.of(stop.value.code or 0, capsys)
        assert "Traceback" not in outcome.err
        assert "internal error" not in outcome.err
        return outcome

    return run
