"""Pages as Markdown and as one HTML file."""

import base64

import pytest

from reproduction.artefacts import Column, Table, Text
from reproduction.page import (
    Bullets,
    Code,
    Heading,
    Page,
    Picture,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "figures" / "bars.png"
    path.parent.mkdir()
    path.write_bytes(PNG)
    table = Table("t", "Scores", [Column("a"), Column("b")], [("x", 1)], "As of now.")
    return Page(
        [
            Heading("Results <1>", 1),
            Text("Run `dnip <fit>` and **see & hear**."),
            Bullets(("one", "a < b")),
            Code("dnip --help <x>"),
            table,
            Picture(path, "Bars", "Tall & short"),
        ]
    )


def test_markdown_links_pictures_relative_to_its_folder(page, tmp_path):
    text = page.to_markdown(tmp_path)
    assert "![Bars](figures/bars.png)" in text
    assert "**Scores**" in text
    assert text.index("As of now.") > text.index("| x | 1 |")
    assert "![Bars](../figures/bars.png)" in page.to_markdown(tmp_path / "docs")


def test_html_is_one_file_in_which_nothing_is_markup_by_accident(page):
    text = page.to_html()
    assert text.startswith("<!doctype html>")
    assert "<title>Results &lt;1&gt;</title>" in text
    assert "<p>Run <code>dnip &lt;fit&gt;</code> and <strong>see &amp; hear</strong>.</p>" in text
    assert "<li>a &lt; b</li>" in text
    assert base64.b64encode(PNG).decode() in text
    assert "http" not in text
    assert 'src="data:image/png' in text
