"""What the tests of more than one room need."""

from pathlib import Path

import pytest
from hypothesis import settings

# Every run tries the same examples, also where a test has no settings of its own.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

#: Helpers that need torch: test files import them where it is installed.
collect_ignore = ["plain_language_model.py", "tiny_models.py"]


@pytest.fixture(scope="session")
def shared_tables():
    """The folder of real probability tables, which are not part of this repository."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "tables"
    if not folder.is_dir():
        pytest.skip(f"the real tables are not at {folder}")
    return folder
