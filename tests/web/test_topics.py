"""Topics and graph: a map of five thousand passages that stays quick, the list beside it, and what is chosen."""

from __future__ import annotations

from itertools import pairwise, product
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
from commonplace.web.topics import layout_discs, layout_points

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


def test_the_map_of_five_thousand_points_is_drawn_moved_and_chosen_from(visit: Visit, full: LocalMemory) -> None:
    visitor = visit()
    page = visitor.go("/topics?project=api")
    page.wait_for_selector("#map[data-nodes]")
    drawn = int(page.get_attribute("#map", "data-nodes") or 0)
    assert PASSAGES * 0.8 < drawn <= PASSAGES
    visitor.picture("topics")
    page.hover("#map")
    page.mouse.wheel(0, -600)
    page.focus("#map")
    for pressed in ("ArrowLeft", "+", "-", "0"):
        page.keyboard.press(pressed)
    box = page.locator("#map").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#chosen h3")
    assert "note" in page.inner_text("#chosen") and "the same file" in page.inner_text("#chosen")
    visitor.check_access()
    assert page.title() != "hit" and not page.query_selector("main img, main b")
    # A frame of the largest map is drawn again and again while one drags it: none may be lost for long.
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.down()
    for step in range(20):
        page.mouse.move(box["x"] + 50 + 4 * step, box["y"] + 50)
    page.mouse.up()
    assert page.evaluate("new Promise((done) => requestAnimationFrame(() => done(true)))")


def test_a_topic_tells_its_most_central_passages(visit: Visit, full: LocalMemory) -> None:
    first = list_topics(full)[0]
    visitor = visit(NARROW, "dark")
    page = visitor.go("/topics")
    page.wait_for_selector("#map[data-nodes]")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    visitor.picture("topics-dark-360")
    page.click(f".topic-list a[href='/topics/{first.id}']")
    page.wait_for_selector(".hit")
    visitor.check_access()
    assert len(page.query_selector_all(".hit")) > 10
    page = visitor.go("/topics/999999999")
    assert "There is no topic" in page.inner_text(".wrong")
    page = visitor.go("/topics/passages/999999999")
    assert "There is no passage" in page.inner_text(".wrong")


@given(st.lists(st.integers(1, 150), max_size=9))
def test_discs_never_overlap_and_hold_their_points(sizes: list[int]) -> None:
    placed = layout_discs(sizes)
    assert len(placed) == len(sizes) and placed == layout_discs(sizes)
    for (n, one), (m, other) in product(enumerate(placed), enumerate(placed)):
        assert n == m or hypot(one.x - other.x, one.y - other.y) >= one.radius + other.radius
    for disc, size in zip(placed, sizes, strict=True):
        away = [hypot(x - disc.x, y - disc.y) for x, y in layout_points(disc, size)]
        assert len(away) == size and max(away) < disc.radius
        assert all(nearer <= farther + 1e-6 for nearer, farther in pairwise(away))
