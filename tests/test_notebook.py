"""The notebook of the examples runs, and shows its report below the cell."""

import pytest

pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

from tools.make_notebook import NOTEBOOK, executed, run, without_pages  # noqa: E402


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


def test_a_long_fit_shows_that_it_goes_on_and_what_to_expect_first():
    """Without widgets, and without a word on standard error."""
    code = "import dnip.base.progress as p; p._AFTER = 0; import dnip; dnip.fit('opt.csv')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    run(notebook)
    sign, fit = notebook.cells[0].outputs
    assert (sign["output_type"], sign["data"]["text/plain"]) == ("display_data", "")
    html = fit["data"]["text/html"]
    assert html.startswith("<p>apply: ")
    assert html.index("on other rows, expected") < html.index("every class") < html.index("World")
