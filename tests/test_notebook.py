"""The notebook of the examples runs, and shows its report below the cell."""

import pytest

nbclient, nbformat = map(pytest.importorskip, ("nbclient", "nbformat"))

from tools.make_notebook import NOTEBOOK, executed, without_pages  # noqa: E402


def test_every_cell_runs_and_what_it_shows_is_saved():
    notebook = executed()
    saved = nbformat.read(NOTEBOOK, 4)
    shown = [cell.outputs[-1]["data"] for cell in notebook.cells if cell.cell_type == "code"]
    assert all("text/html" in data for data in shown[:3])
    assert shown[2]["text/html"].startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "World" in shown[3]["text/plain"]
    fresh, kept = (
        [cell.get("outputs") for cell in each.cells] for each in (without_pages(notebook), saved)
    )
    assert fresh == kept, "run tools/make_notebook.py"
