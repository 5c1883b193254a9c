"""ChatGPT: `search` and `fetch` in the one shape that it takes from servers of data, without developer mode.

A search tells what to fetch, a fetch the whole text; both have an address for citations, which the dashboard shows.
"""

from __future__ import annotations

from typing import Any

from commonplace.config import Settings, address
from commonplace.dialects.kiro import project_name
from commonplace.dialects.memories_records import full_text
from commonplace.dialects.schema import STRING, Schema, array, record
from commonplace.dialects.tool import Arguments, Param, Reply, Tool, ToolFunction
from commonplace.errors import InvalidInput, NotFound
from commonplace.identity import HINT, is_spelled_out
from commonplace.memory.conversations import open_conversation
from commonplace.memory.export_conversations import conversation_markdown
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import KINDS, Item, Scope, Session
from commonplace.text.dates import iso_time
from commonplace.text.titles import shorten

LIMIT = 20
LONGEST_TITLE = 200
# Everything but checkpoints, which are about a session.
_FOUND = tuple(kind for kind in KINDS if kind != "checkpoint")
_METADATA: Schema = {"type": "object", "additionalProperties": STRING}
SEARCH = record({"results": array(record({"id": STRING, "title": STRING, "url": STRING}))})
FETCH = record({"id": STRING, "title": STRING, "text": STRING, "url": STRING, "metadata": _METADATA})


def search(memory: LocalMemory, arguments: Arguments) -> Reply:
    """What answers a query, best first, by id, title and address."""
    if not arguments["query"].strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    hits = recall(memory, arguments["query"], Scope(kinds=_FOUND), LIMIT).hits
    return Reply({"results": [_entry(memory.settings, hit.item) for hit in hits]})


def fetch(memory: LocalMemory, arguments: Arguments) -> Reply:
    """The whole text of an item, or of a conversation, by any spelling of its id."""
    id_ = arguments["id"]
    if not id_.strip():
        raise InvalidInput("id is empty.", HINT)
    try:
        item = get_item(memory, id_)
    except NotFound:
        # Numbers are of items only: a conversation has numbers of its own.
        if not is_spelled_out(id_):
            raise
        return Reply(_conversation(memory, id_))
    return Reply(_entry(memory.settings, item) | {"text": full_text(item), "metadata": _about_item(item)})


def _entry(settings: Settings, item: Item) -> dict[str, Any]:
    title = shorten(item.title or full_text(item), LONGEST_TITLE)
    return {"id": item.short_id, "title": title, "url": address(settings, f"/items/{item.short_id}")}


def _about_item(item: Item) -> dict[str, str]:
    about = {
        "kind": item.kind,
        "type": item.type,
        "project": project_name(item),
        "created_at": iso_time(item.created_ms),
        "tags": ", ".join(item.tags),
        "session": item.session or "",
        "role": item.details.get("role", ""),
    }
    return {name: value for name, value in about.items() if value}


def _conversation(memory: LocalMemory, id_: str) -> dict[str, Any]:
    session, messages = open_conversation(memory, id_)
    return {
        "id": session.short_id,
        "title": shorten(session.label or session.key, LONGEST_TITLE),
        "text": conversation_markdown(session, messages, metadata=False),
        "url": address(memory.settings, f"/conversations/{session.short_id}"),
        "metadata": _about_conversation(session),
    }


def _about_conversation(session: Session) -> dict[str, str]:
    return {
        "kind": "conversation",
        "folder": session.folder,
        "status": session.status,
        "created_at": iso_time(session.started_ms),
    }


def _tool(name: str, title: str, description: str, param: Param, output: Schema, call: ToolFunction) -> Tool:
    return Tool("chatgpt", name, title, description, (param,), output, call)


TOOLS = (
    _tool(
        "search",
        "Search memory",
        "Search everything that was remembered, by words and meaning: the id, title and address of each result, best"
        " first. Fetch one for its text.",
        Param("query", str, "What to look for", required=True),
        SEARCH,
        search,
    ),
    _tool(
        "fetch",
        "Fetch one result",
        "The whole text of one memory, observation, message, summary or conversation by its id.",
        Param("id", str, "An id that a search told", required=True),
        FETCH,
        fetch,
    ),
)
