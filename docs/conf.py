"""How Sphinx builds this documentation: ``make docs``."""

import atexit
import sys
from importlib.util import find_spec

from sphinx.errors import ConfigError

from dnip import __version__

project = "DNIP"
release = __version__
author = "the DNIP contributors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
# The examples of the gallery are run: what they import is needed, too.
needed = (*extensions, "furo", "duckdb", "sklearn", "matplotlib", "jinja2")
missing = [name for name in needed if find_spec(name.partition(".")[0]) is None]
if missing:
    message = f"the documentation needs {', '.join(missing)}: pip install '.[docs]'"
    atexit.register(print, message, file=sys.stderr)  # behind the long report that Sphinx makes
    raise ConfigError(message)

html_theme = "furo"
html_title = f"DNIP {release}"
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["style.css"]

# What is copied is what is typed: no prompts, and no output below them.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div.highlight-sh pre, div.highlight-python pre, div.highlight-pycon pre"

# Pages are plain Markdown, whose links also work on a code host: page.md#a-heading.
myst_heading_anchors = 4

# Docstrings: numpydoc, with the names of parameters in single backticks.
napoleon_google_docstring = False
napoleon_use_ivar = True
strip_signature_backslash = True  # else attributes such as weights_ lose their underscore
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"

# Every script in examples/ is run, and what it prints and draws is shown.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(a_day|paper_on_arrays)\.py$",  # they need a server, and the reproduction
    "nested_sections": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "abort_on_example_error": True,
}
