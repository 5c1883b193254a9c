"""`search` and `fetch` as ChatGPT takes them: what they answer, and where each result is shown."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commonplace.dialects.tool_profiles import tools_of
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.conversations import NewConversation, NewMessage, store_conversation
from commonplace.memory.edit_and_forget import forget_items
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

TOOLS = {tool.name: tool for tool in tools_of("chatgpt")}


def call(memory: LocalMemory, name: str, **arguments: Any) -> dict[str, Any]:
    reply = TOOLS[name].run(memory, arguments)
    Draft202012Validator(TOOLS[name].output).validate(reply.data)
    assert json.loads(reply.text) == reply.data
    return dict(reply.data)


def test_both_tools_take_one_text_and_only_read() -> None:
    assert list(TOOLS) == ["search", "fetch"]
    for tool, name in zip(TOOLS.values(), ("query", "id"), strict=True):
        (param,) = tool.params
        assert (param.name, param.type, param.required, tool.read_only) == (name, str, True, True)


def test_a_result_can_be_fetched_by_its_id(memory: LocalMemory) -> None:
    text = "Sessions persist for 30 days by a JWT cookie.\n\nNo password is asked meanwhile."
    stored = remember(memory, NewItem(text, type="decision", project="github.com/acme/my-api", tags=["login"]))
    (result,) = call(memory, "search", query="JWT cookie")["results"]
    assert result == {
        "id": stored.uid[-12:],
        "title": "Sessions persist for 30 days by a JWT cookie.",
        "url": f"http://127.0.0.1:8765/items/{stored.uid[-12:]}",
    }
    document = call(memory, "fetch", id=result["id"])
    assert document == result | {"text": text, "metadata": document["metadata"]}
    about = document["metadata"]
    assert (about["type"], about["project"], about["tags"]) == ("decision", "my-api", "login")
    for spelling in (str(stored.id), stored.uid):
        assert call(memory, "fetch", id=spelling) == document


def test_what_is_said_in_a_conversation_is_found_and_the_conversation_fetched(memory: LocalMemory) -> None:
    messages = [NewMessage("user", "How do we page the whales?"), NewMessage("assistant", "By cursor, newest first.")]
    session = store_conversation(memory, NewConversation("Paging whales", messages, folder="/work")).session
    ids = [result["id"] for result in call(memory, "search", query="whales")["results"]]
    assert ids and "whales" in call(memory, "fetch", id=ids[0])["text"]
    whole = call(memory, "fetch", id=session.uid)
    assert (whole["id"], whole["title"]) == (session.short_id, "Paging whales")
    assert whole["url"] == f"http://127.0.0.1:8765/conversations/{session.short_id}"
    assert "How do we page the whales?" in whole["text"] and "By cursor, newest first." in whole["text"]
    assert whole["metadata"]["folder"] == "/work"


def test_results_are_shown_under_the_name_that_others_call_the_server_by(memory: LocalMemory) -> None:
    remember(memory, NewItem("The walrus sleeps"))
    public = dataclasses.replace(
        memory, settings=dataclasses.replace(memory.settings, allowed_hosts="m.example.com, b")
    )
    (result,) = call(public, "search", query="walrus")["results"]
    assert result["url"] == f"https://m.example.com/items/{result['id']}"


def test_a_title_is_one_line_and_not_long(memory: LocalMemory) -> None:
    remember(memory, NewItem("walrus\n" * 1000, title="walrus\nand more " * 20))
    (result,) = call(memory, "search", query="walrus")["results"]
    assert len(result["title"]) <= 200 and "\n" not in result["title"]


def test_what_is_not_there_or_forgotten_is_not_found(memory: LocalMemory) -> None:
    stored = remember(memory, NewItem("The walrus sleeps"))
    forget_items(memory, [stored.id])
    assert call(memory, "search", query="walrus") == {"results": []}
    for id_ in (stored.uid, str(stored.id), "999", "0123456789ab", "no id at all"):
        with pytest.raises((NotFound, InvalidInput)):
            call(memory, "fetch", id=id_)
    for name, argument in (("search", "query"), ("fetch", "id")):
        with pytest.raises(InvalidInput, match=f"{argument} is empty"):
            call(memory, name, **{argument: " "})
