import pytest

from benchmarks.race.command import main
from outcomes import Outcome


@pytest.fixture
def bench(capsys):
    """Run ``python -m benchmarks race`` with these arguments, as the shell would."""

    def run(*arguments):
        return Outcome.of(main([str(word) for word in arguments]), capsys)

    return run


@pytest.fixture
def files(folder):
    """A sound table, ``t.csv``: two classes, of which the raw argmax never sees the second."""
    (folder / "t.csv").write_text("label,p0,p1\n0,0.9,0.1\n0,0.8,0.2\n1,0.6,0.4\n1,0.55,0.45\n")
    return folder
