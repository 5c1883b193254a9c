"""memory_export: as the reference shows it, and complete enough to be brought back elsewhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock
from tests.dialects.conftest import TOOLS, Call, calling

from commonplace import config
from commonplace.capture.importers import commonplace_export
from commonplace.memory.conversations import NewConversation, store_conversation
from commonplace.memory.local_memory import LocalMemory, open_memory

# The "..." of the reference stands for the rest of what was said, up to the 450 words that it counts.
REST = " ".join(["word"] * 423)
ANSWER = f"""Here are several strategies:
1. Add indexes to frequently queried columns
2. Use query result caching
3. Optimize JOIN operations
{REST}"""
MARKDOWN = f"""# Database Optimization Discussion

**Folder:** /work/engineering\x20\x20
**Importance:** 9/10\x20\x20
**Created:** 2026-01-20\x20\x20
**Messages:** 2\x20\x20
**Words:** 450

---

## Conversation

**User** (2026-01-20 10:00:00):\x20\x20
How can we optimize our database queries?

**Assistant** (2026-01-20 10:00:05):\x20\x20
{ANSWER}
"""
MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": "How can we optimize our database queries?",
        "timestamp": "2026-01-20T10:00:00Z",
        "metadata": {"client": "desktop"},
    },
    {"role": "assistant", "content": ANSWER, "timestamp": "2026-01-20T10:00:05Z"},
]


@pytest.fixture
def conversation(call: Call, clock: Clock) -> str:
    clock.now = 1_769_358_600_000
    id_: str = call(
        "memory_store",
        label="Database Optimization Discussion",
        folder="/work/engineering",
        importance_score=9,
        messages=MESSAGES,
    )["id"]
    return id_


@pytest.fixture
def elsewhere(tmp_path: Path, clock: Clock) -> Iterator[LocalMemory]:
    """Another memory."""
    memory = open_memory(config.load({"data_dir": str(tmp_path / "elsewhere"), "embedder": "off"}), clock)
    yield memory
    memory.close()


@pytest.mark.promise("sekha:memory_export:example-markdown", "sekha:memory_export:formats")
def test_the_example_as_markdown(memory: LocalMemory, conversation: str) -> None:
    arguments = {"conversation_id": conversation, "format": "markdown", "include_metadata": True}
    reply = TOOLS["memory_export"].run(memory, arguments)
    assert reply.text == MARKDOWN
    assert reply.data["content"] == MARKDOWN
    assert (reply.data["format"], reply.data["conversation_id"]) == ("markdown", conversation)
    assert TOOLS["memory_export"].run(memory, {"conversation_id": conversation, "format": "markdown"}).text == MARKDOWN


@pytest.mark.promise("sekha:memory_export:metadata-off")
def test_markdown_without_metadata_is_only_what_was_said(call: Call, conversation: str) -> None:
    text = call("memory_export", conversation_id=conversation, format="markdown", include_metadata=False)["content"]
    assert text == "# Database Optimization Discussion\n\n" + MARKDOWN[MARKDOWN.index("## Conversation") :]


@pytest.mark.promise("sekha:memory_export:format-default", "sekha:memory_export:metadata-default")
def test_json_is_the_default_and_has_everything(call: Call, conversation: str) -> None:
    data = call("memory_export", conversation_id=conversation)
    assert data["format"] == "json"
    read = call("memory_get_context", conversation_id=conversation)
    assert {name: data[name] for name in read if name != "last_accessed"} == {
        name: value for name, value in read.items() if name != "last_accessed"
    }
    assert (data["word_count"], data["message_count"], data["importance_score"]) == (450, 2, 9)
    assert data["messages"][0]["metadata"] == {"client": "desktop"}
    assert (
        call("memory_export", conversation_id=conversation, format="json", include_metadata=True)["messages"]
        == (data["messages"])
    )


@pytest.mark.promise("sekha:memory_export:metadata-off")
def test_json_without_metadata_is_only_what_was_said(call: Call, conversation: str) -> None:
    data = call("memory_export", conversation_id=conversation, include_metadata=False)
    assert data == {
        "id": conversation,
        "conversation_id": conversation,
        "format": "json",
        "label": "Database Optimization Discussion",
        "folder": "/work/engineering",
        "messages": [{name: m[name] for name in ("role", "content", "timestamp")} for m in MESSAGES],
    }


@pytest.mark.promise("sekha:memory_export:backup")
def test_an_export_comes_back_elsewhere_the_same(call: Call, conversation: str, elsewhere: LocalMemory) -> None:
    call("memory_update", conversation_id=conversation, status="archived")
    exported = call("memory_export", conversation_id=conversation)
    for _ in range(2):
        for found in commonplace_export.read_json(io.BytesIO(json.dumps(exported).encode()), "export.json"):
            assert isinstance(found, NewConversation)
            store_conversation(elsewhere, found)
    again = calling(elsewhere)("memory_export", conversation_id=conversation)
    times = ("updated_at", "last_accessed")
    assert {n: v for n, v in again.items() if n not in times} == {n: v for n, v in exported.items() if n not in times}


def test_markdown_of_a_conversation_in_other_words(call: Call) -> None:
    messages = [{"role": "tool", "content": "שלום\n\n```\n# no heading\n```", "timestamp": "2026-01-20T10:00:00.750Z"}]
    id_ = call("memory_store", label="Дом 🦓", folder="/мой дом", messages=messages, importance_score=7.5)["id"]
    text = call("memory_export", conversation_id=id_, format="markdown")["content"]
    assert text.startswith("# Дом 🦓\n\n**Folder:** /мой дом  \n**Importance:** 7.5/10  \n")
    assert text.endswith("**Tool** (2026-01-20 10:00:00):  \nשלום\n\n```\n# no heading\n```\n")
