"""How Sphinx makes a site of these pages (`make docs`): every warning is an error, and nothing comes from elsewhere.

The pages are plain Markdown that reads well without the site. Their order is that of docs/index.md: its headings are
the parts of the sidebar, and its links are the pages in them.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent

project = "Commonplace"
project_copyright = "the authors of Commonplace"
release = re.findall(r'__version__ = "(.*)"', (ROOT / "src/commonplace/__init__.py").read_text(encoding="utf-8"))[0]

extensions = ["myst_parser"]
exclude_patterns = ["pictures"]
# A link may name a heading, as on GitHub.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "Commonplace"
html_favicon = "../src/commonplace/web/static/mark.svg"
html_copy_source = False
html_show_sphinx = False


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Tell Sphinx the order of the pages: a table of contents for each part of the first page."""
    if name == "index":
        source[0] += "".join(contents_of(part) for part in source[0].split("\n## ")[1:])


def contents_of(part: str) -> str:
    """The pages that a part of the first page links to, as a hidden table of contents."""
    heading = part.splitlines()[0]
    pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md\)", part))
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {heading}", "", *pages, "```", ""])


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_contents)
