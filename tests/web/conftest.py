"""The dashboard as people see it: a `commonplace serve` process and a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright._impl._api_structures import SetCookieParam
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, ViewportSize, sync_playwright
from tests.mcp.conftest import Served, environment
from tests.web.browser import QUIET, chromium, pictures

from commonplace import config
from commonplace.memory.local_memory import LocalMemory, open_memory

WIDE, NARROW = (1280, 800), (360, 740)
Theme = Literal["light", "dark"]
Look = tuple[tuple[int, int], Theme]
LOOKS: tuple[Look, ...] = ((WIDE, "light"), (NARROW, "dark"), (WIDE, "dark"), (NARROW, "light"))
WAIT_MS = 60_000
# What a page can leave in the browser besides cookies.
STORED = "local_storage,indexeddb,cache_storage,service_workers,file_systems,websql"
# How far a page's parts may move by themselves while it loads: the share of the window that moves, times how far.
MOST_SHIFT = 0.01
WATCH_SHIFTS = """
window.shifts = { total: 0, moved: [] };
new PerformanceObserver((list) => {
  for (const shift of list.getEntries().filter((one) => !one.hadRecentInput)) {
    window.shifts.total += shift.value;
    window.shifts.moved.push(...shift.sources.map((one) => one.node?.parentElement?.outerHTML.slice(0, 120) ?? ""));
  }
}).observe({ type: "layout-shift", buffered: true });
"""
# Everything has arrived, is laid out and is painted: two frames later what moved is told.
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
# WCAG 2.2, levels A and AA.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a module: while it runs, its event loop keeps others from running in the same thread."""
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        yield program
        program.close()


@dataclass
class Visitor:
    """Somebody with a browser: where they are, and what went wrong there, which is nothing."""

    page: Page
    served: Served
    faults: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Note what a page complains about, and whom it asks besides our server."""
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", self._note_request)
        self.page.set_default_timeout(WAIT_MS)

    def go(self, path: str) -> Page:
        self.page.goto(self.served.url + path)
        return self.page

    def sign_in(self, key: str | None = None) -> None:
        self.go("/login")
        self.page.fill("#key", key or self.served.key)
        self.page.press("#key", "Enter")
        self.page.wait_for_selector("header.top")

    def is_signed_in(self) -> bool:
        """Go home, and see whether that is the login page."""
        return "/login" not in self.go("/").url

    def look(self, name: str, looks: Sequence[Look], *, examined: Sequence[Look] = ()) -> None:
        """See the page in other windows and by another light: nothing runs out of it."""
        for size, theme in looks:
            self.page.set_viewport_size({"width": size[0], "height": size[1]})
            self.page.emulate_media(color_scheme=theme)
            assert self.page.evaluate("document.documentElement.scrollWidth") <= size[0], self.page.url
            if (size, theme) in examined:
                self.check_access()
            self.picture(f"{name}-{theme}-{size[0]}")

    def check_still(self) -> None:
        """Nothing on the page moves while it loads."""
        self.page.wait_for_load_state("load")
        self.page.evaluate("() => document.fonts.ready")
        self.page.evaluate(SETTLED)
        shifts = self.page.evaluate("window.shifts")
        assert shifts["total"] < MOST_SHIFT, (self.page.url, shifts)

    def picture(self, name: str) -> None:
        """Keep a picture of the page as it is, if this run is to keep some."""
        if folder := pictures():
            self.page.screenshot(path=folder / f"{name}.png", full_page=True)

    def check_access(self) -> None:
        """Nothing on the page keeps out those who cannot see, hear or point well."""
        # Half a megabyte of script: once on each page.
        axe = Axe("0") if self.page.evaluate("typeof axe === 'object'") else Axe()
        found = axe.run(self.page, options={"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "status of 4" not in message.text:
            self.faults.append(message.text)

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.served.url, "data:")):
            self.strangers.append(request.url)


Visit = Callable[..., Visitor]


class Window:
    """A signed-in window that each test finds as it was when somebody had just signed in."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self._context, self._url = context, url
        self.cookies = context.cookies()

    def new_page(self) -> Page:
        for page in self._context.pages:
            page.close()
        self._context.clear_permissions()
        self._context.clear_cookies()
        self._context.add_cookies(cast(list[SetCookieParam], self.cookies))
        page = self._context.new_page()
        with_storage = self._context.new_cdp_session(page)
        with_storage.send("Storage.clearDataForOrigin", {"origin": self._url, "storageTypes": STORED})
        return page


@pytest.fixture(scope="module")
def window(browser: Browser, served: Served) -> Iterator[Window]:
    """One signed-in window for the tests of a module: signing in anew takes longer than most of them."""
    context = browser.new_context()
    page = context.new_page()
    Visitor(page, served).sign_in()
    page.close()
    yield Window(context, served.url)
    context.close()


@pytest.fixture
def visit(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Opens a browser window, signed in unless `key` is "". Pages that complain or ask strangers fail the test."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def start(
        size: tuple[int, int] = WIDE, theme: str = "light", key: str | None = None, *, script: bool = True
    ) -> Visitor:
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        color_scheme: Theme = "dark" if theme == "dark" else "light"
        shares = key is None and script and not visitors
        if shares:
            window: Window = request.getfixturevalue("window")
            page = window.new_page()
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=color_scheme)
        else:
            context = browser.new_context(viewport=viewport, color_scheme=color_scheme, java_script_enabled=script)
            contexts.append(context)
            page = context.new_page()
        visitor = Visitor(page, served)
        visitors.append(visitor)
        visitor.listen()
        if shares and not visitor.is_signed_in():
            # A test before this one signed out everywhere.
            visitor.sign_in()
            window.cookies = page.context.cookies()
        elif key != "" and not shares:
            visitor.sign_in(key)
        return visitor

    yield start
    for context in contexts:
        context.close()
    for visitor in visitors:
        visitor.page.close()
        assert not visitor.strangers, visitor.strangers
        assert not visitor.faults, visitor.faults


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a module."""
    server = Served(tmp_path_factory.mktemp("served"), "--port", "0")
    yield server
    server.end()


@pytest.fixture(scope="module")
def memory(served: Served) -> Iterator[LocalMemory]:
    """The server's memory, opened beside it, to put things into."""
    memory = open_memory(config.load(env=environment(served.folder)))
    yield memory
    memory.close()
