"""memories.sh: each memory with its type, tags, paths, category and project, what it replaced, and its sessions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.capture.import_files import import_path
from commonplace.memory.conversations import open_conversation
from commonplace.memory.edit_and_forget import Changes, edit_item, forget_items, restore_items
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.model import Item

from .conftest import ImportDatabase
from .databases import AT, ISO, LATER_MEMORIES, MEMORIES, Rows, memory_row

ItemsByTitle = Callable[..., dict[str, Item]]
REPO = "github.com/acme/my-api"
ZOD = memory_row(
    "diK6Ws0LA9Fk",
    "Use zod for every body",
    type="rule",
    scope="project",
    project_id=REPO,
    tags="api,validation",
    paths="src/api/**,src/lib/*.ts",
    category="api",
    metadata='{"owner": "ada"}',
    embedding=b"\0",
)
ROWS: Rows = {
    "memories": [
        ZOD,
        memory_row("new", "We chose pnpm", type="decision"),
        memory_row("old", "We chose npm", type="decision"),
        memory_row("gone", "Forget me", deleted_at="2025-03-16 00:00:00"),
    ],
    "memory_links": [
        {"id": "l1", "source_id": "new", "target_id": "old", "link_type": "supersedes"},
        {"id": "l2", "source_id": "diK6Ws0LA9Fk", "target_id": "new", "link_type": "supports"},
        {"id": "l3", "source_id": "new", "target_id": "lost", "link_type": "related"},
    ],
    "memory_history": [{"id": "h1", "memory_id": "new", "content": "We chose yarn"}],
    "reminders": [{"id": "r1", "message": "Review"}],
}


def test_a_memory_comes_in_with_all_it_has(move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    assert move_in(MEMORIES, ROWS).items.added == 4
    rule = items_by_title()["Use zod for every body"]
    assert (rule.kind, rule.type, rule.project, rule.tags) == ("memory", "rule", REPO, ("api", "validation"))
    assert rule.details == {"paths": "src/api/**\nsrc/lib/*.ts", "category": "api"}
    assert rule.created_ms == AT
    chosen = items_by_title()["We chose pnpm"]
    assert chosen.project is None
    assert {name: rule.meta[name] for name in ("owner", "source", "source_id")} == {
        "owner": "ada",
        "source": "memories.sh",
        "source_id": "diK6Ws0LA9Fk",
    }
    assert rule.meta["links"] == [{"to": chosen.uid, "rel": "supports"}]
    assert {"to": rule.uid, "rel": "supports"} in chosen.meta["links"]  # type: ignore[operator]


def test_what_was_replaced_or_deleted_there_is_so_here(
    memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle
) -> None:
    move_in(MEMORIES, ROWS)
    live = items_by_title()
    assert "We chose npm" not in live and "Forget me" not in live
    old = get_item(memory, live["We chose pnpm"].id + 1, forgotten=True)
    assert (old.title, old.superseded_by) == ("We chose npm", live["We chose pnpm"].id)
    gone = get_item(memory, old.id + 1, forgotten=True)
    assert gone.title == "Forget me" and gone.forgotten_ms is not None


def test_what_had_no_place_is_told(move_in: ImportDatabase) -> None:
    assert move_in(MEMORIES, ROWS).reasons == {
        ("column", "it is rebuilt here"): 1,
        ("table", "earlier wordings; the latest one is imported"): 1,
        ("table", "there are no reminders here"): 1,
        ("link", "one of its ends no longer exists"): 1,
    }


def test_again_adds_nothing_and_undoes_nothing_that_was_done_here(
    memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle
) -> None:
    move_in(MEMORIES, ROWS)
    live = items_by_title()
    old = live["We chose pnpm"].id + 1
    forget_items(memory, [live["Use zod for every body"].id])
    edit_item(memory, live["We chose pnpm"].id, Changes(content="We chose bun"))
    restore_items(memory, [old, old + 1])
    again = move_in(MEMORIES, ROWS)
    assert (again.items.added, again.items.known) == (0, 4)
    assert set(items_by_title()) == {"We chose bun", "We chose npm", "Forget me"}


def test_what_changed_there_changes_here_unless_it_was_changed_here(
    move_in: ImportDatabase, items_by_title: ItemsByTitle, memory: LocalMemory
) -> None:
    move_in(MEMORIES, {"memories": [ZOD, memory_row("new", "We chose pnpm")]})
    edit_item(memory, items_by_title()["We chose pnpm"].id, Changes(content="We chose bun"))
    changed = move_in(MEMORIES, {"memories": [ZOD | {"content": "Use valibot"}, memory_row("new", "We chose yarn")]})
    assert (changed.items.added, changed.items.known) == (1, 1)
    assert set(items_by_title()) == {"Use valibot", "We chose bun"}
    assert items_by_title()["Use valibot"].details["category"] == "api"


def test_deleted_there_later_is_forgotten_here(move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    move_in(MEMORIES, {"memories": [ZOD]})
    move_in(MEMORIES, {"memories": [ZOD | {"deleted_at": "2025-03-16 00:00:00"}]})
    assert items_by_title() == {}


def test_an_export_tells_less_and_takes_nothing_away(
    memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle, tmp_path: Path
) -> None:
    move_in(MEMORIES, ROWS)
    result = {name: ZOD[name] for name in ("id", "content", "type", "scope", "created_at")} | {"tags": ["api", "new"]}
    fresh = result | {"id": "fresh", "content": "Only in the export"}
    export = {"version": "1.0", "exported_at": ISO, "project_id": REPO, "memories": [result, fresh]}
    path = tmp_path / "memories.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    summary = import_path(memory, path)
    assert (summary.items.added, summary.items.known) == (1, 1)
    assert items_by_title()["Use zod for every body"].details["paths"]
    assert items_by_title()["Only in the export"].project == REPO


def test_sessions_of_later_versions(memory: LocalMemory, move_in: ImportDatabase, items_by_title: ItemsByTitle) -> None:
    session = {"id": "s1", "project_id": REPO, "status": "closed", "title": "Rate limits", "started_at": ISO}
    event = {"session_id": "s1", "kind": "message", "created_at": ISO}
    rows: Rows = {
        "memories": [
            memory_row("a", "Old way", superseded_by="b", source_session_id="s1"),
            memory_row("b", "New way", memory_layer="long_term", confidence=0.9),
            memory_row("c", "For an hour", memory_layer="working", expires_at=ISO),
        ],
        "memory_sessions": [session],
        "memory_session_events": [
            {"id": "e1", "role": "user", "content": "How do we limit?", **event},
            {"id": "e2", "role": "robot", "content": "By a bucket", **event},
        ],
        "memory_session_snapshots": [
            {"id": "n1", "session_id": "s1", "slug": "rate-limits", "transcript_md": "# All", "created_at": ISO}
        ],
    }
    summary = move_in(LATER_MEMORIES, rows)
    assert (summary.conversations.added, summary.messages.added, summary.items.added) == (1, 2, 4)
    imported, messages = open_conversation(memory, "memories.sh:s1")
    assert (imported.label, imported.status, imported.project) == ("Rate limits", "archived", REPO)
    assert [message.details["role"] for message in messages] == ["user", "system"]
    assert set(items_by_title(kinds=("memory", "checkpoint"))) == {"New way", "rate limits"}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"category": "a/b: c?"}, "category"),
        ({"category": "con"}, "category"),
        ({"paths": "../up/**"}, "paths"),
        ({"type": "we!rd"}, "type"),
        ({"tags": "x" * 200}, "tags"),
        ({"tags": ",".join(f"t{n}" for n in range(80))}, "tags"),
        ({"project_id": "a/../b"}, "project"),
    ],
)
def test_what_a_field_here_cannot_hold_is_in_the_metadata(
    move_in: ImportDatabase, items_by_title: ItemsByTitle, more: dict[str, str], field: str
) -> None:
    summary = move_in(MEMORIES, {"memories": [memory_row("a", "Keep me", **more)]})
    assert (summary.items.added, summary.items.skipped) == (1, 0)
    assert items_by_title()["Keep me"].meta[field]
