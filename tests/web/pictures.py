"""The pictures of the dashboard in the documentation, taken of the month in a real browser: `make pictures`."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, sync_playwright
from tests.mcp.conftest import Served, environment
from tests.web.browser import QUIET, chromium
from tests.web.month import fill

from commonplace import config
from commonplace.library.memory import Memory
from commonplace.memory.local_memory import open_memory

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (1280, 800)
# Of the pictures, which are WebP: small, and still sharp.
QUALITY = 80
WAIT_MS = 60_000
QUESTION = "how+do+we+keep+people+logged+in"
BELIEF = "Sessions are kept in Redis for 30 days"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its name, the page, the theme, and what is done before it is taken."""

    name: str
    path: str
    theme: Literal["light", "dark"] = "light"
    prepare: Callable[[Page], object] | None = None


def _open_topic(page: Page) -> None:
    page.wait_for_selector("#map[data-ready]")
    page.locator(".bubble", has_text="Sessions").first.click()
    page.wait_for_selector("#map[data-open] .passage")
    # The map glides to the topic.
    page.wait_for_function("(width) => map.viewBox.baseVal.width === width", arg=_settled_width(page))


def _settled_width(page: Page) -> float:
    """The width of the part of the map that is shown, once two frames in a row show the same."""
    width: float = page.evaluate(
        """async () => {
            const frame = () => new Promise((done) => requestAnimationFrame(() => done(map.viewBox.baseVal.width)));
            let before = 0;
            for (let now = await frame(); now !== before; now = await frame()) before = now;
            return before;
        }"""
    )
    return width


PICTURES = (
    Picture("home", "/"),
    Picture("project", "/projects/shop-api"),
    Picture("search", f"/search?q={QUESTION}"),
    Picture("timeline", "/timeline"),
    Picture("timeline-dark", "/timeline", "dark"),
    Picture("item", "/items/{belief}"),
    Picture("topics", "/topics"),
    Picture("topic", "/topics", "dark", _open_topic),
    Picture("rules", "/rules"),
    Picture("review", "/review"),
    Picture("conversations", "/conversations"),
)


def take_pictures(folder: Path, work: Path) -> Iterator[Path]:
    """Fill a memory with the month, serve it, and take all pictures into a folder."""
    env = environment(work, COMMONPLACE_EMBEDDER="builtin", COMMONPLACE_AUTHOR="anna")
    memory = open_memory(config.load(env=env))
    fill(memory)
    found = Memory.over(memory).list(type="decision", limit=100).items
    belief = next(item.short_id for item in found if item.body.startswith(BELIEF))
    memory.close()
    served = Served(work, "--port", "0", COMMONPLACE_EMBEDDER="builtin")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
            width, height = SIZE
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(WAIT_MS)
            page.goto(f"{served.url}/login")
            page.fill("#key", served.key)
            page.press("#key", "Enter")
            page.wait_for_selector("header.top")
            for picture in PICTURES:
                page.emulate_media(color_scheme=picture.theme)
                page.goto(served.url + picture.path.format(belief=belief))
                page.wait_for_load_state("networkidle")
                if picture.prepare is not None:
                    picture.prepare(page)
                yield _save(page, folder / f"{picture.name}.webp")
            browser.close()
    finally:
        served.end()


def _save(page: Page, path: Path) -> Path:
    session = page.context.new_cdp_session(page)
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    path.write_bytes(base64.b64decode(taken["data"]))
    session.detach()
    return path


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for path in take_pictures(FOLDER, Path(work)):
            print(path, path.stat().st_size, file=sys.stderr)
