"""No tool keeps a secret or says one, in whichever field it comes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.leaks.planting import SEEDS, Seed, leaks, leaks_in_files

from commonplace.config import Settings
from commonplace.dialects.tool import Tool, error_body
from commonplace.dialects.tool_profiles import ALL
from commonplace.errors import CommonplaceError
from commonplace.memory import streamed_memories
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

ORDINARY: dict[str, Any] = {
    "query": "deploy",
    "topic": "deploy",
    "context": "deploy",
    "content": "Deploys run at noon",
    "label": "Deploys",
    "folder": "/work",
    "messages": [{"role": "user", "content": "When do deploys run?"}],
    "chunk": "Deploys run ",
    "ids": [1],
    "anchor_id": 1,
}


@pytest.fixture
def arguments(memory: LocalMemory) -> dict[str, Any]:
    """What each tool needs at least, by the names of its parameters."""
    item = remember(memory, NewItem("Deploys run at night"))
    talk = store_conversation(
        memory, NewConversation("Deploys", [NewMessage("user", "When?"), NewMessage("assistant", "At noon.")])
    )
    open_stream = streamed_memories.start_stream(memory).id
    return {**ORDINARY, "id": str(item.id), "conversation_id": talk.session.uid, "stream_id": open_stream}


def planted(name: str, usual: Any, text: str) -> Iterator[Any]:
    """The text in every place of an argument."""
    if name == "messages":
        yield [{"role": "user", "content": text}]
        yield [{"role": text, "content": "x"}]
        yield [{"role": "user", "content": "x", "metadata": {"name": text, text: [text]}}]
        yield [{"role": "user", "content": "x", "timestamp": text}]
        yield [{"role": "user", "content": "x", text: text}]
    elif name == "metadata":
        yield {"a": text}
        yield {text: {"b": [text]}}
    else:
        yield text
        yield [text]
        yield {text: text}
        yield [usual, text]


def reply_text(memory: LocalMemory, tool: Tool, arguments: dict[str, Any]) -> str:
    try:
        reply = tool.run(memory, arguments)
    except CommonplaceError as error:
        return json.dumps(error_body(tool.dialect, error), ensure_ascii=False)
    return json.dumps(reply.data, ensure_ascii=False) + reply.text


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: f"{tool.dialect}-{tool.name}")
def test_no_tool_keeps_or_says_a_secret(
    memory: LocalMemory, settings: Settings, arguments: dict[str, Any], tool: Tool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    needed = {param.name: arguments[param.name] for param in tool.params if param.required}
    for seed in SEEDS:
        for param in tool.params:
            for value in planted(param.name, arguments.get(param.name), seed.text):
                result = reply_text(memory, tool, {**needed, param.name: value})
                assert leaks(result) == [], (param.name, seed.kind)
        result = reply_text(memory, tool, {**needed, seed.text: seed.text})
        assert leaks(result) == [], ("an unknown name", seed.kind)
    for reading in ALL:
        if reading.read_only:
            wanted = {param.name: arguments[param.name] for param in reading.params if param.required}
            assert leaks(reply_text(memory, reading, wanted)) == [], reading.name
    assert leaks_in_files(settings.data_dir) == {}
    assert leaks(caplog.text) == []


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.kind)
def test_chunks_of_any_size_keep_none(memory: LocalMemory, settings: Settings, seed: Seed) -> None:
    tools = {tool.name: tool for tool in ALL}
    for size in (5, 50):
        started = streamed_memories.start_stream(memory).id
        for start in range(0, len(seed.text), size):
            chunk = seed.text[start : start + size]
            tools["append_memory_chunk"].run(memory, {"stream_id": started, "chunk": chunk})
        result = reply_text(memory, tools["finalize_memory_stream"], {"stream_id": started})
        assert leaks(result) == []
    assert leaks_in_files(settings.data_dir) == {}
