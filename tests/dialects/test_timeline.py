"""`timeline`: what stood before and after, by time, in all projects."""

from __future__ import annotations

import pytest
from tests.conftest import THEN
from tests.dialects.conftest import TOOLS, Call

from commonplace.errors import NotFound
from commonplace.memory.edit_and_forget import forget_items, restore_items
from commonplace.memory.local_memory import LocalMemory, for_project
from commonplace.memory.remember import NewItem, remember, remember_all

FIELDS = {
    "id": int, "type": str, "title": str, "subtitle": str, "narrative": str, "project": str, "created_at": str,
    "created_at_epoch": int, "position": int,
}  # fmt: skip


def long_day(memory: LocalMemory, count: int = 120) -> list[int]:
    """Observations a millisecond apart; the ids in order of time."""
    notes = [
        NewItem(kind="observation", title=f"Step {n}", project="p", created_ms=THEN + n * 60_000) for n in range(count)
    ]
    return [stored.id for stored in remember_all(memory, notes)]


@pytest.mark.promise("kiro:timeline:example-call", "kiro:timeline:positions")
def test_the_example_call(example: LocalMemory, call: Call) -> None:
    rows = call("timeline", anchor_id=142, depth_before=3, depth_after=3)["timeline"]
    # The plants of another project were watered long before.
    assert [(row["id"], row["position"]) for row in rows] == [(139, -3), (140, -2), (141, -1), (142, 0), (143, 1)]
    assert [(row["type"], row["title"]) for row in rows] == [
        ("file-read", "auth.ts"),
        ("command", "npm test"),
        ("file-read", "routes.ts"),
        ("file-write", "Modified auth.ts"),
        ("file-write", "Modified routes.ts"),
    ]
    assert rows[1]["narrative"] == "Ran npm test — 47 tests passed (success)"
    assert rows[0]["created_at"] == "2025-03-15T14:20:00.000Z"


@pytest.mark.promise(
    "kiro:timeline:timeline.id", "kiro:timeline:timeline.type", "kiro:timeline:timeline.title",
    "kiro:timeline:timeline.subtitle", "kiro:timeline:timeline.narrative", "kiro:timeline:timeline.project",
    "kiro:timeline:timeline.created_at", "kiro:timeline:timeline.created_at_epoch", "kiro:timeline:timeline.position",
)  # fmt: skip
def test_a_row_has_its_nine_fields(memory: LocalMemory, call: Call) -> None:
    result = remember(
        memory, NewItem(kind="observation", title="A", details={"subtitle": "s", "narrative": "n"}, project="p")
    )
    (row,) = call("timeline", anchor_id=result.id)["timeline"]
    assert {name: type(value) for name, value in row.items()} == FIELDS
    bare = remember(memory, NewItem(kind="observation", title="B", project="q"))
    (row,) = call("timeline", anchor_id=bare.id, depth_before=0)["timeline"]
    assert row.keys() == FIELDS.keys()
    assert (row["subtitle"], row["narrative"]) == (None, None)


@pytest.mark.promise("kiro:timeline:before-default", "kiro:timeline:after-default")
def test_five_before_and_five_after_by_default(memory: LocalMemory, call: Call) -> None:
    ids = long_day(memory)
    rows = call("timeline", anchor_id=ids[60])["timeline"]
    assert [(row["id"], row["position"]) for row in rows] == [(ids[60 + n], n) for n in range(-5, 6)]


@pytest.mark.parametrize(("depth", "rows"), [(0, 0), (-5, 0), (3, 3), (3.0, 3), (50, 50), (51, 50), (10**9, 50)])
@pytest.mark.promise("kiro:timeline:before-max", "kiro:timeline:after-max", "kiro:decided:depth-clamped")
def test_depths_out_of_range_are_moved_to_their_border(
    memory: LocalMemory, call: Call, depth: float, rows: int
) -> None:
    ids = long_day(memory)
    before = call("timeline", anchor_id=ids[60], depth_before=depth, depth_after=0)["timeline"]
    after = call("timeline", anchor_id=ids[60], depth_before=0, depth_after=depth)["timeline"]
    assert [row["position"] for row in before] == list(range(-rows, 1))
    assert [row["position"] for row in after] == list(range(rows + 1))


@pytest.mark.promise("kiro:timeline:by-time")
def test_neighbours_stand_by_their_time_and_not_by_their_id(memory: LocalMemory, call: Call) -> None:
    times = [THEN, THEN + 3, THEN - 3, THEN + 1, THEN - 1, THEN]
    notes = [NewItem(kind="observation", title=f"Event {n}", project="p", created_ms=t) for n, t in enumerate(times)]
    first = remember_all(memory, notes)[0].id
    rows = call("timeline", anchor_id=first)["timeline"]
    assert [row["id"] - first for row in rows] == [2, 4, 0, 5, 3, 1]
    assert [row["position"] for row in rows] == [-2, -1, 0, 1, 2, 3]


@pytest.mark.promise("kiro:decided:timeline-project")
def test_neighbours_come_from_all_projects(memory: LocalMemory, call: Call) -> None:
    places = ["zoo", "circus", None, "zoo", None, "circus", "zoo"]
    notes = [
        NewItem(kind="observation", title=f"Event {n}", project=p, created_ms=THEN + n) for n, p in enumerate(places)
    ]
    ids = [stored.id for stored in remember_all(memory, notes)]
    rows = call("timeline", anchor_id=ids[3], depth_before=2)["timeline"]
    assert [row["id"] for row in rows] == ids[1:]
    assert [row["project"] for row in rows] == [place or "global" for place in places[1:]]
    assert [row["position"] for row in rows] == [-2, -1, 0, 1, 2, 3]


@pytest.mark.promise("kiro:decided:timeline-project")
def test_a_key_for_one_project_sees_no_neighbours_of_another(memory: LocalMemory) -> None:
    places = ["zoo", "circus", None, "zoo", None, "circus", "zoo"]
    notes = [
        NewItem(kind="observation", title=f"Event {n}", project=p, created_ms=THEN + n) for n, p in enumerate(places)
    ]
    ids = [stored.id for stored in remember_all(memory, notes)]
    rows = TOOLS["timeline"].run(for_project(memory, "zoo"), {"anchor_id": ids[3]}).data["timeline"]
    assert [row["id"] for row in rows] == [ids[0], ids[3], ids[6]]
    assert {row["project"] for row in rows} == {"zoo"}
    for hidden in (ids[1], ids[2]):
        with pytest.raises(NotFound):
            TOOLS["timeline"].run(for_project(memory, "zoo"), {"anchor_id": hidden})


def test_summaries_are_not_events_but_can_be_the_anchor(example: LocalMemory, call: Call) -> None:
    around_edit = call("timeline", anchor_id=142, depth_after=50)["timeline"]
    assert not {144, 145} & {row["id"] for row in around_edit}
    rows = call("timeline", anchor_id=144, depth_before=1)["timeline"]
    assert [(row["id"], row["position"]) for row in rows] == [(143, -1), (144, 0)]


@pytest.mark.promise("kiro:decided:unknown-anchor", "kiro:bad-input:no-such-id")
def test_an_unknown_or_forgotten_anchor_is_not_found(example: LocalMemory, call: Call) -> None:
    for id_ in (999, 0, -1, 2**53):
        with pytest.raises(NotFound, match=str(id_)):
            call("timeline", anchor_id=id_)
    forget_items(example, [142])
    with pytest.raises(NotFound):
        call("timeline", anchor_id=142)
    assert 142 not in {row["id"] for row in call("timeline", anchor_id=141)["timeline"]}
    restore_items(example, [142])
    assert call("timeline", anchor_id=142)["timeline"]


def test_a_body_stands_in_for_a_narrative_in_short(memory: LocalMemory, call: Call) -> None:
    stored = remember(memory, NewItem(content="A long story. " * 100, title="Story"))
    (row,) = call("timeline", anchor_id=stored.id)["timeline"]
    assert row["narrative"].startswith("A long story.")
    assert row["narrative"].endswith("…")
    assert len(row["narrative"]) <= 300


@pytest.mark.promise("kiro:timeline:anchor-required")
def test_the_tool_says_what_it_takes() -> None:
    schema = TOOLS["timeline"].input_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert {name: (entry["type"], entry.get("default")) for name, entry in properties.items()} == {
        "anchor_id": ("number", None),
        "depth_before": ("number", 5),
        "depth_after": ("number", 5),
    }
    assert schema["required"] == ["anchor_id"]
