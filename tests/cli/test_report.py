"""``dnip report`` as a user runs it."""

import pytest

OPT, TEST = "opt.csv", "test.csv"


@pytest.fixture
def folder(tmp_path, monkeypatch, request):
    """An empty folder with the two tables that ship as examples."""
    examples = request.config.rootpath / "examples"
    for name in (OPT, TEST):
        (tmp_path / name).write_bytes((examples / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_page_and_figures_are_written(dnip, folder):
    done = dnip("report", OPT, "--test", TEST, "--figures", "figures", "--json")
    assert "Technology" in done.json["verdict"]
    for name in done.json["written"]:
        assert (folder / name).stat().st_size > 1_000
    assert len(done.json["written"]) == 9


def test_a_table_alone_will_do(dnip, folder):
    done = dnip("report", OPT)
    assert done.out.startswith("Fitted on one half of the rows, shown on the other. ")
    assert done.out.endswith("\nNext, learn from all rows: dnip fit opt.csv\n")
