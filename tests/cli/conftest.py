from contextlib import contextmanager

import pytest

from dnip import Coefficients

#: Two classes, of which the raw argmax never sees the second.
SMALL = "label,p0,p1\n0,0.9,0.1\n0,0.8,0.2\n1,0.6,0.4\n1,0.55,0.45\n"


@pytest.fixture
def unchanged(folder):
    """A context in which no file of the folder may change, and none be added."""

    def contents():
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    @contextmanager
    def context():
        before = contents()
        yield
        assert contents() == before

    return context


@pytest.fixture
def files(folder):
    """A sound table and sound coefficients, ``t.csv`` and ``c.json``."""
    (folder / "t.csv").write_text(SMALL)
    Coefficients(["0", "1"], [15, 30], 30).save("c.json")
    return folder
