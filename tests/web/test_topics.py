"""Topics: a map to zoom from projects to topics to passages, the list below it, and what is chosen."""

from __future__ import annotations

from itertools import combinations
from math import hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.polling import until
from tests.web.conftest import NARROW, Visit

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember_all
from commonplace.memory.topics import list_topics, update_topics
from commonplace.text.references import references
from commonplace.web.topics_and_entities import LONGEST_WORD, enclose, label_lines, pack_circles

SUBJECTS = ("<b>queue</b>", "billing", "认证 auth", "deploy", "cache", "search", "mail", "quota", "index", "webhook")
HOSTILE = "<img src=x onerror=\"document.title='hit'\"> {{7*7}}"
PASSAGES, WIDTH = 5_000, 32


@pytest.fixture(scope="module")
def full(memory: LocalMemory) -> LocalMemory:
    """Five thousand passages about ten subjects, with vectors that tell these apart, linked by what they mention."""
    notes = [
        NewItem(
            f"{SUBJECTS[n % 10]} note {n} about src/part{n % 400}.py {HOSTILE if n % 997 == 0 else ''}", project="api"
        )
        for n in range(PASSAGES)
    ]
    chance = np.random.default_rng(7)
    centres = chance.normal(size=(10, WIDTH)) * 3
    memory.maintenance.use_model("planted", WIDTH)
    for start in range(0, PASSAGES, 1_000):
        remember_all(memory, notes[start : start + 1_000])
        while jobs := memory.maintenance.claim_jobs("test", 500, memory.clock(), 60_000):
            of = [SUBJECTS.index(next(s for s in SUBJECTS if job.passage.text.startswith(s))) for job in jobs]
            made = centres[of] + chance.normal(size=(len(jobs), WIDTH))
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            memory.maintenance.finish_jobs(jobs, made.astype(np.float32), "test")
    # The server builds topics too: who comes second leaves it to the first, who may have begun before all were there.
    until(lambda: not update_topics(memory) and not any(grown.unseen for grown in memory.store.stale_topics()))
    while memory.maintenance.link(500, references, memory.clock()):
        pass
    return memory


def test_an_empty_memory_has_no_topics_yet(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/topics")
    assert "no topics yet" in page.inner_text("main")


def test_the_map_zooms_into_a_topic_and_its_passages_are_read(visit: Visit, full: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/topics?project=api")
    page.wait_for_selector("#map[data-ready]")
    drawn = page.locator(".bubble").all()
    assert len(drawn) == len(list_topics(full)) >= 8 and page.get_by_role("link", name="billing").count()
    visitor.picture("topics")
    whole = page.get_attribute("#map", "viewBox")
    drawn[0].focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#map[data-open] .passage")
    assert page.get_attribute("#map", "viewBox") != whole
    assert "passages" in page.inner_text("#chosen")
    page.click(".passage >> nth=0")
    page.wait_for_selector("#chosen >> text=the same file")
    visitor.check_access()
    assert page.title() != "hit" and not page.query_selector("main img, main b")
    page.keyboard.press("Escape")
    page.wait_for_function(
        "(whole) => map.getAttribute('viewBox').split(' ')[2] == Number(whole.split(' ')[2])", arg=whole
    )
    assert not page.query_selector(".passage")
    page.hover("#map")
    page.mouse.wheel(0, -600)
    page.click("text=See everything")
    page.wait_for_selector(".map-tools", state="hidden")


@pytest.mark.parametrize("text", ["WatermelonDB", "Reconciliation", "WWWWMMMM", "CSV Export", "Test Beside", "mmmmmm"])
def test_a_label_stays_inside_its_circle(visit: Visit, text: str) -> None:
    page = visit().go("/topics")
    for lines, height in (label_lines(text, 50.0), label_lines(text, 50.0, 0.42)):
        drawn = page.evaluate(
            """([lines, height]) => {
                const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
                svg.innerHTML = lines.map(() => `<g class="bubble"><text class="label"></text></g>`).join("")
                document.querySelector("main").append(svg)
                return [...svg.querySelectorAll("text")].map((one, place) => {
                    one.textContent = lines[place]
                    one.setAttribute("font-size", height)
                    one.setAttribute("font-weight", 600)
                    return one.getComputedTextLength()
                })
            }""",
            [list(lines), height],
        )
        assert max(drawn) <= 100.0, (lines, drawn)


def test_a_topic_tells_its_most_central_passages(visit: Visit, full: LocalMemory) -> None:
    first = list_topics(full)[0]
    visitor = visit(NARROW, "dark")
    page = visitor.go("/topics")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    visitor.picture("topics-dark-360")
    page.click(f".topic-list a[href='/topics/{first.id}']")
    page.wait_for_selector(".hit")
    visitor.check_access()
    assert len(page.query_selector_all(".hit")) > 10 and page.query_selector(".map.one .passage")
    page = visitor.go("/topics/999999999")
    assert "There is no topic" in page.inner_text(".wrong")
    page = visitor.go("/topics/passages/999999999")
    assert "There is no passage" in page.inner_text(".wrong")


def test_without_scripts_circles_are_links(visit: Visit, full: LocalMemory) -> None:
    page = visit(script=False).go("/topics")
    page.click(".bubble >> nth=0")
    page.wait_for_url("**/topics/*")
    page.click(".passage >> nth=0")
    page.wait_for_url("**/topics/passages/*")


@given(st.lists(st.floats(1, 60), max_size=14), st.floats(1, 3))
def test_circles_never_overlap_and_are_enclosed(radii: list[float], flatness: float) -> None:
    placed = pack_circles(radii, flatness=flatness)
    assert [one.radius for one in placed] == radii and placed == pack_circles(radii, flatness=flatness)
    for one, other in combinations(placed, 2):
        assert hypot(one.x - other.x, one.y - other.y) >= one.radius + other.radius
    around = enclose(placed)
    assert all(hypot(one.x - around.x, one.y - around.y) + one.radius <= around.radius for one in placed)


@given(st.text(max_size=60), st.floats(1, 100), st.integers(1, 4))
def test_a_label_keeps_its_words_and_fits_into_its_circle(text: str, radius: float, most_lines: int) -> None:
    lines, height = label_lines(text, radius, most_lines=most_lines)
    assert len(lines) <= most_lines and 0 <= height * len(lines) <= radius
    if all(len(word) <= LONGEST_WORD for word in text.split()) and text.strip():
        assert " ".join(lines).split() == text.split()
