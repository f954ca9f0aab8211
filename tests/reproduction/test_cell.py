"""What a cell's key depends on."""

import pytest

from fake_cells import describe, draw, fake
from reproduction import cell as cell_room
from reproduction.cell import TableRef
from reproduction.fingerprints import hash_sources

TABLE = TableRef("t", "5e11", "t.csv", 100, ("no", "yes"))


def test_labels_are_no_part_of_the_work_and_settings_and_tables_are():
    one = fake(describe, "one", {"table": TABLE}, factor=1)
    assert one.key == fake(describe, "two", {"table": TABLE}, factor=1).key
    others = [
        fake(describe, "one", {"table": TABLE}, factor=2),
        fake(describe, "one", {"table": TABLE.side("opt", 0.5)}, factor=1),
        fake(describe, "one", {"table": TABLE.side("opt", 0.4)}, factor=1),
        fake(draw, "one", {"table": TABLE}, factor=1),
    ]
    assert len({one.key, *(other.key for other in others)}) == 5


def test_an_edit_anywhere_in_the_package_is_other_work(monkeypatch):
    before = fake(draw, "a", seed=1).key
    assert fake(draw, "a", seed=1).key == before
    monkeypatch.setattr(cell_room, "hash_package", lambda: "edited")
    assert fake(draw, "a", seed=1).key != before


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: (folder / "deep" / "b.py").write_text("y = 2"),
        lambda folder: (folder / "a.py").rename(folder / "c.py"),
        lambda folder: (folder / "deep" / "new.py").touch(),
    ],
)
def test_the_hash_of_sources_is_that_of_names_and_contents_at_any_depth(tmp_path, edit):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "deep" / "b.py").write_text("y = 1")
    before = hash_sources.__wrapped__(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    assert hash_sources.__wrapped__(tmp_path) == before
    edit(tmp_path)
    assert hash_sources.__wrapped__(tmp_path) != before
