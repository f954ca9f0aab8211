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


@pytest.fixture
def old_outputs(files):
    """Outputs of an earlier day, which a refused run leaves as they are, and adds none."""
    contents = {"old.json": b"old coefficients", "old.csv": b"old rows"}
    for name, content in contents.items():
        (files / name).write_bytes(content)
    before = {path.name for path in files.iterdir()}
    yield files
    for name, content in contents.items():
        assert (files / name).read_bytes() == content, name
    left = {path.name for path in files.iterdir()} - before
    assert not {name for name in left if not name.startswith("bad")}
