"""axe over every page of the dashboard, empty and full, light and dark, with all its rules and not only the law's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from tests.mcp.conftest import Served, environment
from tests.web.browser import QUIET, chromium
from tests.web.conftest import NARROW, WIDE
from tests.web.test_every_page import addresses

from commonplace import config
from commonplace.memory.local_memory import open_memory
from judges.report import Finding, Report
from judges.served import UNLIMITED, served

LOOKS = ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark"))
WAIT_MS = 30_000


def judge(folder: Path) -> Report:
    checks, findings = 0, []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        with served(folder / "full", COMMONPLACE_EMBEDDER="builtin") as full:
            empty = Served(folder, "--port", "0", **UNLIMITED)
            try:
                for state, server in (("empty", empty), ("full", full)):
                    for size, theme in LOOKS:
                        counted, found = _look(browser, server, size, theme, state)
                        checks += counted
                        findings += found
            finally:
                empty.end()
        browser.close()
    engine = re.match(r"/\*! axe v([\d.]+)", Axe().axe_script)
    return Report("axe", engine[1] if engine else "unknown", checks, tuple(findings))


def _look(browser: Browser, server: Served, size: tuple[int, int], theme: str, state: str) -> tuple[int, list[Finding]]:
    memory = open_memory(config.load(env=environment(server.folder)))
    pages = addresses(memory)
    memory.close()
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if theme == "dark" else "light"
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    checks, findings = _page(page, f"{server.url}/login", f"{state} {theme} {size[0]} /login")
    page.fill("#key", server.key)
    page.press("#key", "Enter")
    page.wait_for_selector("header.top")
    for path, address in pages.items():
        query = "?q=webhook+retries" if path == "/search" else ""
        counted, found = _page(page, server.url + address + query, f"{state} {theme} {size[0]} {path}")
        checks += counted
        findings += found
    context.close()
    return checks, findings


def _page(page: Page, url: str, where: str) -> tuple[int, list[Finding]]:
    page.goto(url)
    output: dict[str, Any] = Axe().run(page).response
    bad = [
        Finding(where, rule["id"], f"{rule['help']}: {node['html'][:150]}")
        for rule in output["violations"]
        for node in rule["nodes"]
    ]
    return len(output["passes"]) + len(output["violations"]), bad
