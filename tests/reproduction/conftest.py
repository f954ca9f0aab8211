import pytest

from outcomes import Outcome
from reproduction.__main__ import main


@pytest.fixture
def reproduce(capsys):
    """Run ``python -m reproduction`` with these arguments, as the shell would."""

    def run(*arguments):
        status = main([str(word) for word in arguments])
        out, err = capsys.readouterr()
        told = [line for line in err.splitlines(True) if not line.startswith("progress: ")]
        return Outcome(status, out, "".join(told))

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that names in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
