"""Tables and pages of results in Markdown, LaTeX, HTML and CSV."""

from dnip.studies.reproduction.rendering.formats import to_csv, to_html, to_latex, to_markdown

__all__ = ["to_csv", "to_html", "to_latex", "to_markdown"]
