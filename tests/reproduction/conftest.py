import pytest

from outcomes import Outcome
from reproduction.__main__ import main


@pytest.fixture
def reproduce(capsys):
    """Run ``python -m reproduction`` with these arguments, as the shell would."""

    def run(*arguments):
        return Outcome.of(main([str(word) for word in arguments]), capsys)

    return run
