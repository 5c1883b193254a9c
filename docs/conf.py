"""How Sphinx makes a site of these pages (`make docs`): every warning is an error, and nothing comes from elsewhere.

The pages are plain Markdown that reads well without the site. Their order is that of docs/index.md: its headings are
the parts of the sidebar, and its links are the pages in them.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

from commonplace.cli.reference import reference
from commonplace.rest.endpoint_table import ENDPOINTS

ROOT = Path(__file__).parent.parent

project = "Commonplace"
project_copyright = "the authors of Commonplace"
release = re.findall(r'__version__ = "(.*)"', (ROOT / "src/commonplace/__init__.py").read_text(encoding="utf-8"))[0]

extensions = ["myst_parser"]
exclude_patterns = ["pictures", "static"]
# A link may name a heading, as on GitHub.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "Commonplace"
# The colours of the dashboard.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1c5d48",
        "color-brand-content": "#1a5a8a",
        "color-brand-visited": "#1a5a8a",
        "color-background-primary": "#fbfaf7",
        "color-background-secondary": "#f3f0ea",
    },
    "dark_css_variables": {
        "color-brand-primary": "#84cfae",
        "color-brand-content": "#8fc3ee",
        "color-brand-visited": "#8fc3ee",
        "color-background-primary": "#161513",
        "color-background-secondary": "#1e1d1a",
    },
}
html_logo = "../src/commonplace/web/static/mark.svg"
html_favicon = "../src/commonplace/web/static/mark.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Tell Sphinx the order of the pages: a table of contents for each group of links on the first page."""
    if name == "index":
        source[0] += "".join(contents_of(part) for part in source[0].split("\n## ")[1:])


def contents_of(part: str) -> str:
    """Hidden tables of contents for a part of the first page: one for it, or one for each line that ends in a colon."""
    heading, _, rest = part.partition("\n")
    first, *groups = re.split(r"^(.+):$", rest, flags=re.MULTILINE)
    links_of = {heading: first}
    links_of |= {f"{heading}: {name.lower()}": links for name, links in zip(groups[::2], groups[1::2], strict=True)}
    tables = ""
    for caption, links in links_of.items():
        pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md\)", links))
        if pages:
            tables += "\n".join(["", "```{toctree}", ":hidden:", f':caption: "{caption}"', "", *pages, "```", ""])
    return tables


def add_options(app: Sphinx, name: str, source: list[str]) -> None:
    """Below the list of commands, on the site only: every option of each, to which the list leads."""
    if name == "reference/commands":
        linked = re.sub(r"^\| `([a-z][\w-]*)` \|", r"| [`\1`](#\1) |", source[0], flags=re.MULTILINE)
        source[0] = f"{linked}\n{reference()}"


def add_routes(app: Sphinx, name: str, source: list[str]) -> None:
    """Below the main routes, on the site only: every route, its methods and, if it is an unusual one, its key."""
    if name != "reference/rest":
        return
    source[0] += "\n## All routes\n"
    for tag in dict.fromkeys(one.tag for one in ENDPOINTS):
        source[0] += f"\n### {tag}\n\n| path | |\n|---|---|\n"
        for path in dict.fromkeys(one.path for one in ENDPOINTS if one.tag == tag):
            source[0] += f"| `{path}` | {methods_of(path)} |\n"


def methods_of(path: str) -> str:
    """What each method of a path does: "GET: List keys (admin); POST: ..."."""
    usual = {"GET": "read"}
    return "; ".join(
        f"{one.method}: {one.summary}"
        + ("" if one.scope == usual.get(one.method, "write") else f" ({one.scope or 'no key'})")
        for one in ENDPOINTS
        if one.path == path
    )


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_contents)
    app.connect("source-read", add_options)
    app.connect("source-read", add_routes)
