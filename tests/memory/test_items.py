"""Fetch, browse, timeline, staleness and status."""

from __future__ import annotations

import base64
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.items import browse_items, get_item, get_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.projects import alias_project, list_projects
from commonplace.memory.recall import is_stale
from commonplace.memory.remember import NewItem, remember, remember_all
from commonplace.memory.status_and_stats import status
from commonplace.memory.timeline import timeline
from commonplace.model import Item, Scope

if TYPE_CHECKING:
    from tests.conftest import Clock


def item_of(memory: LocalMemory, note: NewItem) -> Item:
    return get_items(memory, [remember(memory, note).id]).items[0]


# Fetch.


def test_items_come_in_the_order_asked_and_the_missing_are_named(memory: LocalMemory) -> None:
    a, b, c = remember_all(memory, [NewItem("a"), NewItem("b"), NewItem("c")])
    forget_items(memory, [b.id])
    requested: list[int | str] = [c.id, 999, a.uid, b.id, c.uid[-12:], "0" * 12, a.id, 999]
    found = get_items(memory, requested)
    assert [item.id for item in found.items] == [c.id, a.id]
    assert found.missing == (999, b.id, "0" * 12)
    assert [item.id for item in get_items(memory, [b.id], forgotten=True).items] == [b.id]
    assert get_items(memory, []) == type(found)((), ())


def test_an_id_that_cannot_be_one_is_missing(memory: LocalMemory) -> None:
    assert get_items(memory, ["no id", 2**80]).missing == ("no id", 2**80)
    with pytest.raises(NotFound) as unknown:
        get_item(memory, "no id")
    assert "UUID" in unknown.value.hint


# Browse.


def test_pages_hold_everything_once_newest_first(memory: LocalMemory, clock: Clock) -> None:
    for n in range(23):
        clock.forward(minutes=n % 3)
        remember(memory, NewItem(f"note {n}", project="p" if n % 2 else None))
    for scope, expected in ((Scope(), 23), (Scope(project="p"), 11), (Scope(project="p", with_global=True), 23)):
        walked: list[int] = []
        cursor = None
        while True:
            page = browse_items(memory, scope, 5, cursor)
            walked += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
            assert len(page.items) == 5
        assert walked == [item.id for item in browse_items(memory, scope, 1000).items]
        assert len(set(walked)) == expected


def test_what_is_added_while_paging_disturbs_nothing(memory: LocalMemory, clock: Clock) -> None:
    ids = [remember(memory, NewItem(f"note {n}")).id for n in range(6)]
    first = browse_items(memory, Scope(), 3)
    clock.forward(minutes=1)
    remember(memory, NewItem("newer"))
    forget_items(memory, [ids[-1]])
    second = browse_items(memory, Scope(), 3, first.next_cursor)
    assert [item.id for item in (*first.items, *second.items)] == list(reversed(ids))


def test_the_last_page_has_no_cursor_even_if_it_is_full(memory: LocalMemory) -> None:
    remember_all(memory, [NewItem(f"note {n}") for n in range(4)])
    page = browse_items(memory, Scope(), 2)
    assert page.next_cursor and browse_items(memory, Scope(), 2, page.next_cursor).next_cursor is None
    assert browse_items(memory, Scope(project="nowhere"), 5).items == ()


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_a_sensible_size(memory: LocalMemory, limit: int) -> None:
    with pytest.raises(InvalidInput):
        browse_items(memory, Scope(), limit)


def spelled(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "%%%",
        "ä",
        spelled("1"),
        spelled("a:b"),
        spelled("1:2:3"),
        spelled("9" * 40 + ":1"),
        spelled("1:" + "9" * 40),
    ],
)
def test_a_cursor_that_is_not_ours_is_refused(memory: LocalMemory, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        browse_items(memory, Scope(), 5, cursor)


@given(st.text(min_size=1, max_size=30))
def test_no_cursor_whatsoever_breaks_anything(memory: LocalMemory, cursor: str) -> None:
    with contextlib.suppress(InvalidInput):
        assert browse_items(memory, Scope(), 5, cursor).items == ()


def test_projects_are_listed_and_can_have_another_name(memory: LocalMemory) -> None:
    remember(memory, NewItem("x", project="git@github.com:acme/my-api.git"))
    alias_project(memory, "my-api", "backend")
    (project,) = list_projects(memory)
    assert (project.name, project.items) == ("github.com/acme/my-api", 1)
    assert "backend" in project.aliases
    assert [item.body for item in browse_items(memory, Scope(project="Backend")).items] == ["x"]


# Timeline.


def test_a_timeline_runs_through_the_anchor_in_every_project(memory: LocalMemory, clock: Clock) -> None:
    ids = {}
    for n in range(7):
        clock.forward(minutes=1)
        ids[n] = remember(memory, NewItem(f"step {n}", kind="observation", project="p")).id
        remember(memory, NewItem(f"elsewhere {n}", kind="observation", project="q"))
        remember(memory, NewItem(f"summary {n}", kind="summary", project="p"))
    moments = timeline(memory, ids[3], before=2, after=2)
    assert [(moment.item.body, moment.position) for moment in moments] == [
        ("step 2", -2),
        ("elsewhere 2", -1),
        ("step 3", 0),
        ("elsewhere 3", 1),
        ("step 4", 2),
    ]
    assert [moment.position for moment in timeline(memory, ids[0])] == [0, 1, 2, 3, 4, 5]
    assert [moment.position for moment in timeline(memory, ids[6], before=1, after=9)] == [-1, 0, 1]


def test_a_timeline_needs_an_anchor(memory: LocalMemory) -> None:
    with pytest.raises(NotFound):
        timeline(memory, 999)
    id_ = remember(memory, NewItem("x")).id
    forget_items(memory, [id_])
    with pytest.raises(NotFound):
        timeline(memory, id_)


def test_a_summary_may_be_the_anchor(memory: LocalMemory, clock: Clock) -> None:
    remember(memory, NewItem("before", kind="observation", project="p"))
    clock.forward(minutes=1)
    anchor = remember(memory, NewItem("the summary", kind="summary", project="p"))
    assert [moment.item.body for moment in timeline(memory, anchor.id)] == ["before", "the summary"]


# Staleness.


def test_an_observation_is_stale_while_its_file_is_newer(memory: LocalMemory, clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "auth.ts"
    file.write_text("one")
    written = clock.now // 1000
    os.utime(file, (written - 60, written - 60))
    item = item_of(memory, NewItem("x", kind="observation", details={"files_modified": str(file)}))
    assert not is_stale(item)
    os.utime(file, (written + 60, written + 60))
    assert is_stale(item)
    os.utime(file, (written - 1, written - 1))
    assert not is_stale(item), "it heals"
    file.unlink()
    assert not is_stale(item), "what cannot be looked at does not count"


def test_relative_files_are_looked_for_in_the_root_that_was_noted(
    memory: LocalMemory, clock: Clock, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    for name in ("old.py", "new.py"):
        (tmp_path / "src" / name).touch()
    later, earlier = clock.now // 1000 + 60, clock.now // 1000 - 60
    os.utime(tmp_path / "src" / "old.py", (earlier, earlier))
    os.utime(tmp_path / "src" / "new.py", (later, later))

    def stale(files: str, root: object = str(tmp_path)) -> bool:
        return is_stale(
            item_of(
                memory, NewItem(f"{root}", kind="observation", details={"files_modified": files}, meta={"root": root})
            )
        )

    assert stale("src/new.py")
    assert not stale("src/old.py")
    assert stale("src/old.py, src/new.py")
    assert stale("src/old.py\nsrc/new.py")
    assert not stale("src/new.py", root=None)
    assert not stale("src/new.py", root=7)


def test_files_that_were_only_read_do_not_make_it_stale(memory: LocalMemory, clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "read.py"
    file.touch()
    os.utime(file, (clock.now // 1000 + 60, clock.now // 1000 + 60))
    assert not is_stale(item_of(memory, NewItem("x", kind="observation", details={"files_read": str(file)})))


def test_a_file_in_the_home_is_found(memory: LocalMemory, clock: Clock, home: Path) -> None:
    (home / "notes.md").touch()
    os.utime(home / "notes.md", (clock.now // 1000 + 60, clock.now // 1000 + 60))
    assert is_stale(item_of(memory, NewItem("x", kind="observation", details={"files_modified": "~/notes.md"})))


@pytest.mark.parametrize("files", ["~nobody-of-that-name/x", "a" * 5000, ", ,\n,", "\ufffd", "/dev/null/x", "C:\\x"])
def test_odd_names_are_not_stale_and_not_an_error(memory: LocalMemory, files: str) -> None:
    assert not is_stale(
        item_of(memory, NewItem("x", kind="observation", details={"files_modified": files}, meta={"root": "/"}))
    )


# Status.


def test_status_tells_what_is_kept_and_what_works(memory: LocalMemory, engine_name: str) -> None:
    remember(memory, NewItem("x", project="p"))
    report = status(memory)
    assert (report["total"], report["pending"], report["search"]) == (1, 1, "keywords only")
    assert report["counts"]["items"] == {"memory": 1}  # type: ignore[index]
    assert report["model"] == {"name": None, "state": "off", "embedder": "off", "last_error": None}
    assert report["store"]["engine"] == engine_name  # type: ignore[index]
