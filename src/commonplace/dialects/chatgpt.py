"""ChatGPT: `search` and `fetch` in the one shape that it takes from servers of data, without developer mode.

A search lists what to fetch, a fetch returns the whole text; both have an address for citations in the dashboard.
"""

from typing import Annotated, TypedDict

from commonplace.config import Settings, address
from commonplace.dialects.kiro import project_name
from commonplace.dialects.memories_records import full_text
from commonplace.dialects.tool import SEARCHED_KINDS, Param, Reply, Tool
from commonplace.errors import InvalidInput, NotFound
from commonplace.memory.conversations import open_conversation
from commonplace.memory.export_conversations import conversation_markdown
from commonplace.memory.items import get_item
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.recall import recall
from commonplace.model import ID_HINT, Item, Scope, Session, is_spelled_out
from commonplace.text.dates import iso_time
from commonplace.text.sentences import shorten

LIMIT = 20
LONGEST_TITLE = 200


class SearchResult(TypedDict):
    """What a search found."""

    id: str
    title: str
    url: str


class SearchReply(TypedDict):
    """What a query found."""

    results: list[SearchResult]


class FetchReply(TypedDict):
    """One item or conversation."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


def search(memory: LocalMemory, query: Annotated[str, Param("What to look for")]) -> Reply[SearchReply]:
    """What answers a query, best first, by id, title and address."""
    if not query.strip():
        raise InvalidInput("query is empty.", "Give some words to look for.")
    hits = recall(memory, query, Scope(kinds=SEARCHED_KINDS), LIMIT).hits
    return Reply({"results": [_result(memory.settings, hit.item) for hit in hits]})


def fetch(memory: LocalMemory, id_: Annotated[str, Param("An id from a search result")]) -> Reply[FetchReply]:
    """The whole text of an item, or of a conversation, by any spelling of its id."""
    if not id_.strip():
        raise InvalidInput("id is empty.", ID_HINT)
    try:
        item = get_item(memory, id_)
    except NotFound:
        # Numbers are of items only: a conversation has numbers of its own.
        if not is_spelled_out(id_):
            raise
        return Reply(_conversation(memory, id_))
    result = _result(memory.settings, item)
    return Reply({**result, "text": full_text(item), "metadata": _about_item(item)})


def _result(settings: Settings, item: Item) -> SearchResult:
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


def _conversation(memory: LocalMemory, id_: str) -> FetchReply:
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


TOOLS = (
    Tool.of(
        search,
        dialect="chatgpt",
        verb="search",
        title="Search memory",
        description="Search everything that was remembered, by words and meaning: the id, title and address of each"
        " result, best first. Fetch one for its text.",
    ),
    Tool.of(
        fetch,
        dialect="chatgpt",
        verb="get",
        title="Fetch one result",
        description="The whole text of one memory, observation, message, summary or conversation by its id.",
    ),
)
