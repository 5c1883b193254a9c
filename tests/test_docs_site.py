"""The documentation builds as a site: no warning, no dead link, every page in the sidebar, nothing from elsewhere."""

from __future__ import annotations

import html
import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.cli.main import COMMANDS
from commonplace.config import SETTING_MEANINGS, Settings, default_of_setting
from commonplace.dialects.tool_profiles import ALL
from commonplace.errors import with_own_code
from commonplace.hosts.host import EDITOR_NAMES, rule_targets
from commonplace.mcp.resources_and_prompts import PROMPTS, TEMPLATES
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.metrics import METRICS

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


def listed_on(site: Path, name: str, anchor: str) -> str:
    """The text of a page from one heading on, without markup."""
    page = (site / "reference" / f"{name}.html").read_text(encoding="utf-8").partition(f'id="{anchor}"')[2]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def plain(text: str) -> str:
    """A sentence as `listed_on` has it, up to the first character that Markdown or typography changes."""
    return " ".join(re.split(r"[`'\"*_.<]|--", text)[0].split())


def test_the_page_of_the_commands_says_what_each_does(site: Path) -> None:
    text = listed_on(site, "commands", "everyday")
    assert [name for name, _where, what in COMMANDS if f"{name} {plain(what)}" not in text] == []


def test_the_page_of_the_settings_lists_every_one_with_its_default(site: Path) -> None:
    text = listed_on(site, "settings", "all-settings")
    rows = {
        f.name: f"{f.name} {default_of_setting(f.name)} {plain(SETTING_MEANINGS[f.name])}" for f in fields(Settings)
    }
    assert [name for name, row in rows.items() if " ".join(row.split()) not in text] == []


def test_the_page_of_the_metrics_lists_every_one(site: Path) -> None:
    text = listed_on(site, "metrics", "all-metrics")
    assert [one.name for one in METRICS.values() if f"{one.sample_name} {one.kind}" not in text] == []
    assert [one.name for one in METRICS.values() if plain(one.meaning) not in text] == []


def test_the_page_of_the_errors_explains_every_code(site: Path) -> None:
    text = listed_on(site, "errors", "what-they-mean")
    assert [one.code for one in with_own_code() if f"{one.code} {plain(one.__doc__ or '')}" not in text] == []
    assert [one.code for one in with_own_code() if plain(one.default_hint) not in text] == []


def test_the_page_for_agents_lists_every_tool_with_its_parameters(site: Path) -> None:
    text = listed_on(site, "tools", "all-tools")
    for tool in ALL:
        assert plain(tool.description) in text, tool.name
        assert [one.name for one in tool.params if one.listed and f" {one.name} " not in text] == [], tool.name


def test_the_page_for_agents_lists_every_resource_and_prompt(site: Path) -> None:
    text = listed_on(site, "tools", "all-resources-and-prompts")
    wanted = [one.uri_template for one in TEMPLATES] + list(PROMPTS)
    assert [name for name in wanted if name not in text] == []


def test_the_page_of_the_library_lists_every_method_with_what_it_does(site: Path) -> None:
    text = listed_on(site, "library", "all-methods")
    methods = {name for name in dir(Memory) if not name.startswith("_")} - {"over", "local", "embedding_state"}
    for name in sorted(methods):
        assert f" {name}(" in text and plain(inspect.getdoc(getattr(Memory, name)) or "missing") in text, name


def test_the_page_about_editors_lists_the_files_that_are_changed(site: Path) -> None:
    page = (site / "start" / "connect.html").read_text(encoding="utf-8").partition('id="which-files-are-changed"')[2]
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    for name in EDITOR_NAMES:
        (row,) = (row for row in rows if f">{name}</span>" in row)
        assert "~/" in row, name


def test_the_page_about_rule_files_lists_those_of_every_target(site: Path) -> None:
    page = (site / "use" / "rule-files.html").read_text(encoding="utf-8").partition('id="all-targets"')[2]
    rows = re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    for target in rule_targets():
        (row,) = (row for row in rows if f">{target.name}</span>" in row)
        assert [one for one in (target.skills, *target.signs, *target.patterns) if one not in row] == [], target.name


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    for path in pages:
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']([^"']+)""", text)
        assert loaded and [address for address in loaded if re.match(r"(https?:)?//", address)] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", path.read_text(encoding="utf-8")), path
