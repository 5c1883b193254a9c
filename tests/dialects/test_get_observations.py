"""`get_observations`: complete records, in the order asked, and the ids that nothing answers to."""

from __future__ import annotations

import pytest
from tests.dialects.conftest import TOOLS, Call
from tests.dialects.test_search import OBSERVATION_FIELDS

from commonplace.errors import InvalidInput
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember


@pytest.mark.promise("kiro:get_observations:example-call")
def test_the_example_call(example: LocalMemory, call: Call) -> None:
    reply = call("get_observations", ids=[139, 140, 142, 143])
    assert [record["id"] for record in reply["observations"]] == [139, 140, 142, 143]
    assert reply["missing"] == []


@pytest.mark.promise("kiro:get_observations:second-example-call", "kiro:get_observations:full-records")
def test_the_second_example_call_gives_the_record_in_full(example: LocalMemory, call: Call) -> None:
    records = call("get_observations", ids=[139, 140, 141, 142])["observations"]
    expected = {
        "id": 142,
        "type": "file-write",
        "title": "Modified auth.ts",
        "subtitle": "edit src/auth.ts",
        "text": 'Input: {"path": "src/auth.ts"}',
        "facts": "src/auth.ts",
        "concepts": "security, api, middleware",
        "files_modified": "src/auth.ts",
        "project": "my-api",
        "created_at": "2025-03-15T14:30:00.000Z",
    }
    assert expected.items() <= records[3].items()
    assert all(OBSERVATION_FIELDS.keys() <= record.keys() for record in records)
    assert records[1]["facts"] == "npm test"


@pytest.mark.promise("kiro:decided:order-asked")
def test_records_come_in_the_order_asked_and_each_once(example: LocalMemory, call: Call) -> None:
    reply = call("get_observations", ids=[143, 139, 143.0, 142, 139])
    assert [record["id"] for record in reply["observations"]] == [143, 139, 142]


@pytest.mark.promise("kiro:decided:missing-named")
def test_ids_that_nothing_answers_to_are_named(example: LocalMemory, call: Call) -> None:
    forget_items(example, [140])
    reply = call("get_observations", ids=[9999, 142, 140, 0, -1])
    assert [record["id"] for record in reply["observations"]] == [142]
    assert reply["missing"] == [9999, 140, 0, -1]
    assert call("get_observations", ids=[9999]) == {"observations": [], "missing": [9999]}
    assert call("get_observations", ids=[]) == {"observations": [], "missing": []}


@pytest.mark.promise("kiro:get_observations:ids-max", "kiro:decided:too-many-ids")
def test_fifty_ids_are_answered_and_more_are_an_error(example: LocalMemory, call: Call) -> None:
    assert len(call("get_observations", ids=list(range(1, 51)))["observations"]) == 50
    with pytest.raises(InvalidInput, match="51 entries") as refused:
        call("get_observations", ids=list(range(1, 52)))
    assert "50" in refused.value.hint


def test_a_summary_or_checkpoint_by_id_tells_its_fields(example: LocalMemory, call: Call) -> None:
    summary, checkpoint = call("get_observations", ids=[144, 145])["observations"]
    assert (summary["kind"], summary["session_id"]) == ("summary", "session-abc")
    assert "completed: Modified auth.ts, Modified routes.ts" in summary["narrative"]
    assert "progress: Limiter drafted" in checkpoint["narrative"]


def test_a_message_tells_who_spoke(memory: LocalMemory, call: Call) -> None:
    stored = remember(memory, NewItem(kind="message", content="Hello there", details={"role": "user"}, session="chat"))
    (record,) = call("get_observations", ids=[stored.id])["observations"]
    assert (record["subtitle"], record["text"]) == ("user", "Hello there")


@pytest.mark.parametrize("ids", [5, "5", {"a": 1}, [1, "2"], [1.5], [True], [None], [[1]], None])
@pytest.mark.promise("kiro:get_observations:ids-required")
def test_ids_are_a_list_of_whole_numbers(example: LocalMemory, call: Call, ids: object) -> None:
    with pytest.raises(InvalidInput, match="ids"):
        call("get_observations", ids=ids)
    with pytest.raises(InvalidInput, match="ids"):
        call("get_observations")


def test_the_tool_says_what_it_takes() -> None:
    schema = TOOLS["get_observations"].input_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    ids = properties["ids"]
    assert (ids["type"], ids["items"], ids["maxItems"]) == ("array", {"type": "number"}, 50)
    assert schema["required"] == ["ids"]
