"""The documentation builds as a site: no warning, no dead link, every page in the sidebar, nothing from elsewhere."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.rest.endpoint_table import ENDPOINTS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", str(DOCS), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return built


def test_every_page_is_in_the_sidebar_of_the_first(site: Path) -> None:
    sidebar = (site / "index.html").read_text(encoding="utf-8").partition('class="sidebar-tree"')[2]
    pages = [path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")]
    assert len(pages) > 40
    assert [page for page in pages if page != "index.html" and f'href="{page}"' not in sidebar] == []


def test_the_page_of_the_commands_lists_their_options(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert 'href="#search"' in page and 'id="search"' in page and "--include-expired" in page


def test_the_page_of_the_http_interface_lists_every_route(site: Path) -> None:
    page = html.unescape((site / "reference" / "rest.html").read_text(encoding="utf-8"))
    listed = page.partition('id="all-routes"')[2]
    assert [one.path for one in ENDPOINTS if f">{one.path}</span>" not in listed] == []
    assert [one.summary for one in ENDPOINTS if f"{one.method}: {one.summary}" not in listed] == []


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    for path in pages:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']([^"']+)""", text)
        assert loaded and [address for address in loaded if re.match(r"(https?:)?//", address)] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", path.read_text(encoding="utf-8")), path
