"""The dashboard as somebody sees it after a month of work, searched by meaning with the built-in model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.mcp.conftest import Served, environment
from tests.web.conftest import LOOKS, Look, Visit
from tests.web.month import fill
from tests.web.test_every_page import addresses

from commonplace import config
from commonplace.capture.hooks.shown_texts import shown_to
from commonplace.memory.local_memory import LocalMemory, open_memory

SEARCH_TEXTS = (files("commonplace.web") / "texts" / "search.toml").read_text("utf-8")
PHONE: Look = ((390, 844), "light")
# Questions that the walk asks besides what the table of pages has: with an answer, without one, and filtered.
QUESTIONS = (
    "/search?q=how+do+we+keep+people+logged+in",
    "/search?q=last+penetration+test",
    "/search?type=decision",
    "/review?show=contradictions",
    "/timeline?view=entries",
    "/no-project",
)
# Of links that differ only in what they are about, so many are followed.
OF_A_KIND = 4
MODEL = {"COMMONPLACE_EMBEDDER": "builtin", "COMMONPLACE_AUTHOR": "anna"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the built-in model over a month of work of two developers."""
    folder = tmp_path_factory.mktemp("month")
    memory = open_memory(config.load(env=environment(folder, **MODEL)))
    fill(memory)
    memory.close()
    server = Served(folder, "--port", "0", **MODEL)
    yield server
    _code, log = server.end()
    assert "is not in the texts" not in log and "Error" not in log, log


@pytest.fixture(scope="module")
def memory(served: Served) -> Iterator[LocalMemory]:
    memory = open_memory(config.load(env=environment(served.folder, **MODEL)))
    yield memory
    memory.close()


@pytest.mark.parametrize(
    "question", ["how do we keep people logged in", "cookie", "which port does the load balancer use", "anna", "TWINT"]
)
def test_a_plain_question_is_answered_by_meaning(visit: Visit, question: str) -> None:
    page = visit().go("/")
    page.keyboard.press("/")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    page.wait_for_selector("#results .hit")
    assert "words only" not in page.inner_text(".found")
    page.eval_on_selector_all("main details", "all => all.forEach((one) => { one.open = true; })")
    said = page.locator(".score-parts dt").all_inner_texts()
    assert said and set(said) <= set(tomllib.loads(SEARCH_TEXTS)["parts"].values())


def test_every_page_shows_on_a_phone_without_a_complaint_and_its_links_lead_somewhere(
    visit: Visit, memory: LocalMemory, served: Served
) -> None:
    """The visitor's fixture fails for errors on the console and for requests to strangers."""
    visitor = visit(PHONE[0])
    links: dict[str, str] = {}
    for address in (*addresses(memory).values(), *QUESTIONS):
        page = visitor.go(address)
        assert page.query_selector("main h1") and not page.query_selector("main .wrong"), address
        visitor.look(re.sub(r"\W+", "-", address), (PHONE,))
        # A form that only asks leads to a page as a link does.
        for link in page.evaluate(
            "[...[...document.links].map((link) => link.href),"
            " ...[...document.querySelectorAll('form[method=get]')].map("
            " (form) => `${form.action}?${new URLSearchParams(new FormData(form))}`)]"
        ):
            if link.startswith(served.url):
                links.setdefault(link.removeprefix(served.url).partition("#")[0], address)
    followed: Counter[str] = Counter()
    with httpx2.Client(base_url=served.url, headers={**served.headers, "accept": "text/html"}) as client:
        for link, found_on in links.items():
            parts = urlsplit(link)
            kind = re.sub(r"/[^/]+", "/*", parts.path[1:]) + "?" + ",".join(re.findall(r"(\w+)=", parts.query))
            followed[kind] += 1
            if followed[kind] <= OF_A_KIND:
                reply = client.get(link, follow_redirects=True)
                assert reply.status_code == 200, (link, found_on, reply.text[-800:])
    assert len(followed) > 30


SESSION = "5f0b2c1e-1111-4222-8333-0000000000aa"


def test_what_an_agent_was_shown_is_told_with_the_memory_and_with_the_session(
    visit: Visit, memory: LocalMemory, served: Served
) -> None:
    common = {"session_id": SESSION, "cwd": "/home/dev/shop-web"}
    prompt = {"prompt": "Add a loading state to the cart"}
    for event, more in (("SessionStart", {"source": "startup"}), ("UserPromptSubmit", prompt)):
        program = [sys.executable, "-m", "commonplace", "hook", "claude-code", event]
        content = json.dumps({**common, "hook_event_name": event, **more})
        subprocess.run(program, input=content, env=environment(served.folder, **MODEL), text=True, check=True)
    subprocess.run([sys.executable, "-m", "commonplace", "drain"], env=environment(served.folder, **MODEL), check=True)
    known = shown_to(memory.settings, SESSION)
    assert known is not None
    shown = next(text for text in known.texts if text.moment == "session-start")
    visitor = visit()
    page = visitor.go(f"/items/{shown.ids[0]}")
    page.click("section:has(#shown) a")
    page.wait_for_url("**/conversations/*")
    page.click("text=What its agent was shown")
    assert page.inner_text("details[open] pre.plain").strip() == shown.text.strip()
    visitor.look("shown", LOOKS, examined=LOOKS[:1])


def test_hits_say_how_likely_they_answer_and_what_is_less_likely_stands_below_a_line(
    visit: Visit, memory: LocalMemory
) -> None:
    visitor = visit()
    page = visitor.go("/search?q=which+port+does+the+load+balancer+use&n=60")
    above = page.evaluate(
        "() => { const line = document.querySelector('.divider'); return [...document.querySelectorAll('.likely')]"
        ".map((one) => [Boolean(line && one.compareDocumentPosition(line) & 4), parseInt(one.textContent)]); }"
    )
    assert {first for first, _percent in above} == {True, False}
    assert all((percent >= 50) == first for first, percent in above)
    # What satisfies a filter is what was asked for.
    assert visitor.go("/search?q=redis+AND+sessions").locator(".likely").count() == 0


def test_a_proposal_is_marked_on_the_timeline_and_leads_to_where_it_was_said(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    assert visitor.go("/timeline").locator(".badge.proposed").count()
    page = visitor.go("/review?show=proposals")
    proposal = page.locator(".decide").first
    text = proposal.locator(".text").inner_text().strip()
    proposal.get_by_role("link", name="where it was said").click()
    page.wait_for_url("**/conversations/*")
    assert text in page.inner_text(".entry.meant")


def test_home_counts_what_waits_as_the_menu_does(visit: Visit, memory: LocalMemory) -> None:
    page = visit().go("/")
    waiting = page.locator("main [data-waiting]")
    waiting.wait_for()
    badge = page.inner_text("nav.side .count")
    assert badge.isdigit() and waiting.inner_text() == f"{badge} waiting for review"


def test_what_is_added_goes_to_the_project_worked_on_last(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/items/new")
    assert page.input_value("#f-project") == "github.com/acme/shop-web"
    assert "decision" in page.locator("#f-type option").all_inner_texts()
    page = visitor.go("/projects/infra")
    page.get_by_role("link", name="Remember something").click()
    page.wait_for_url("**/items/new?**")
    assert page.input_value("#f-project") == "github.com/acme/infra"
    page.fill("#f-content", "The cluster has three nodes")
    page.select_option("#f-type", "fact")
    page.get_by_role("button", name="Remember").click()
    page.wait_for_url("**/items/*")
    assert "infra" in page.inner_text("main") and page.inner_text("h1") == "The cluster has three nodes"


def test_home_tells_how_the_reader_works_and_not_how_others_do(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit()
    own = visitor.go("/").locator(".habits li").all_inner_texts()
    assert "I prefer small pull requests: one change, one reason." in own and "rebase" not in " ".join(own)
    # The profile names whoever said a line once, beside it.
    line = visitor.go("/profile").locator("main li", has_text="I prefer a rebase to a merge.").inner_text()
    assert "tom" in line and "tom: I prefer" not in line
