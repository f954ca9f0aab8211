"""Run the notebook of the examples, and save it with what its cells show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "in_a_notebook.ipynb"


def executed() -> Any:  # noqa: ANN401 - nbformat has no types
    """Return the notebook after all its cells have run."""
    notebook = nbformat.read(NOTEBOOK, 4)
    run(notebook)
    return notebook


def run(notebook: Any) -> None:  # noqa: ANN401
    """Run all cells; on a busy machine a kernel takes long to start."""
    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, startup_timeout=600, resources=place).execute()


def without_pages(notebook: Any) -> Any:  # noqa: ANN401
    """Return it without times, signs of life, and whole pages, which code hosts do not show."""
    for cell in notebook.cells:
        cell.metadata.clear()
        if "outputs" in cell:
            cell.outputs = [one for one in cell.outputs if one.output_type != "display_data"]
        for output in cell.get("outputs", []):
            if output.data.get("text/html", "").startswith("<iframe"):
                del output.data["text/html"]
    return notebook


if __name__ == "__main__":
    nbformat.write(without_pages(executed()), NOTEBOOK)
