"""The tree in which ChatGPT keeps a conversation, walked so that each branch follows the message it starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label
from commonplace.capture.importers.json_reader import read_conversations
from commonplace.memory.conversations import ROLES, NewConversation, NewMessage
from commonplace.text.json_fields import object_in, objects_in, seconds_in, text_in

Tree = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node on the walk. `branch` is 0 on the way to where the conversation stands now, else the branch's number."""

    key: str
    node: Mapping[str, Any]
    parent: str
    branch: int


def walk_tree(mapping: Mapping[str, Any], current: object) -> Iterator[TreeNode]:
    """Every node once, parents first: the branches that were left, oldest first, before the one that went on."""
    tree = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents = _parents(tree)
    children: dict[str, list[str]] = {}
    for key, parent in parents.items():
        children.setdefault(parent, []).append(key)
    main = _main_line(parents, children, current if isinstance(current, str) else "")
    times = {key: seconds_in(object_in(node, "message"), "create_time") or 0 for key, node in tree.items()}
    branches = 0
    seen: set[str] = set()
    # Nodes that only lead to each other in a circle have no root: each is tried last, as a root of its own.
    waiting = [(key, 0) for key in [*reversed(tree), *reversed(children.get("", []))]]
    while waiting:
        key, branch = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        if key not in main and not branch:
            branches += 1
            branch = branches
        yield TreeNode(key, tree[key], parents[key], branch)
        ordered = sorted(children.get(key, []), key=lambda child: (child in main, times[child]))
        # Within a branch the last answer goes on with its number; those before it are branches of their own.
        waiting += [(child, branch if child == ordered[-1] else 0) for child in reversed(ordered)]


def _parents(tree: Tree) -> dict[str, str]:
    """The parent of every node, by its own word or by that of the node that lists it; empty for a root."""
    listed: dict[str, str] = {}
    for key, node in tree.items():
        children = node.get("children")
        listed |= {child: key for child in (children if isinstance(children, list) else ()) if isinstance(child, str)}
    parents = {}
    for key, node in tree.items():
        named = node.get("parent")
        parent = named if isinstance(named, str) and named in tree else listed.get(key, "")
        parents[key] = "" if parent == key else parent
    return parents


def _main_line(parents: Mapping[str, str], children: Mapping[str, list[str]], current: str) -> set[str]:
    """The nodes from the root to where the conversation stands; without a word on that, to the last answer."""
    if current not in parents:
        current, line = "", {""}
        while (ahead := children.get(current)) and ahead[-1] not in line:
            current = ahead[-1]
            line.add(current)
    line = set()
    while current and current not in line:
        line.add(current)
        current = parents[current]
    return line


SOURCE = "chatgpt"
# What stands for a part of a message that is no text.
PLACEHOLDERS = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[audio]",
    "video_container_asset_pointer": "[video]",
}
HIDDEN = "hidden in ChatGPT"
EMPTY = "no text in it"


class _Unreadable(Exception):
    """Why a message cannot be taken over."""


def read(stream: Stream, name: str) -> Iterator[Entry]:
    """Every conversation of a `conversations.json`, and what could not be read of it."""
    return read_conversations(stream, _conversation)


def _conversation(data: Any, where: str) -> Iterator[Entry]:
    mapping = data.get("mapping") if isinstance(data, dict) else None
    if not isinstance(mapping, dict):
        yield Skipped(where, "it has no tree of messages (mapping)")
        return
    title = text_in(data, "title")
    where = f"{where} ({title[:60]})" if title else where
    skipped: Counter[str] = Counter()
    messages: list[NewMessage] = []
    started = seconds_in(data, "create_time")
    latest = started
    for place in walk_tree(mapping, data.get("current_node")):
        try:
            said = _said(place, latest)
        except _Unreadable as error:
            skipped[str(error)] += 1
            continue
        if said is not None:
            messages.append(said)
            latest = said.at_ms
    for why, count in skipped.items():
        yield Skipped(where, why, "message", count)
    if not messages:
        yield Skipped(where, "it has no messages")
        return
    yield NewConversation(
        label=conversation_label(title, messages[0].content),
        messages=messages,
        folder=f"/imports/{SOURCE}",
        status="archived" if data.get("is_archived") is True else None,
        source=SOURCE,
        key=text_in(data, "conversation_id", "id"),
        meta=_kept(model=text_in(data, "default_model_slug"), gpt=text_in(data, "gizmo_id")),
        started_ms=started or messages[0].at_ms,
    )


def _said(place: TreeNode, before_ms: int | None) -> NewMessage | None:
    """The message at a place of the tree; None at a joint that holds none. A message without a time has the last."""
    message = place.node.get("message")
    if message is None:
        return None
    if not isinstance(message, dict):
        raise _Unreadable("a message that is no object")
    author, details = object_in(message, "author"), object_in(message, "metadata")
    if details.get("is_visually_hidden_from_conversation") is True:
        raise _Unreadable(HIDDEN)
    role = text_in(author, "role")
    if role not in ROLES:
        raise _Unreadable(f"unknown author {role[:40]!r}" if role else "no author")
    content = object_in(message, "content")
    kind = text_in(content, "content_type") or "text"
    files = [f"[file: {name}]" for one in objects_in(details, "attachments") if (name := text_in(one, "name"))]
    text = "\n\n".join(part for part in (_text(content, kind), *files) if part.strip())
    if not text:
        raise _Unreadable(EMPTY if kind in _TEXTS else f"unknown content {kind[:40]!r}")
    recipient = text_in(message, "recipient")
    at_ms = seconds_in(message, "create_time")
    return NewMessage(
        role=role,
        content=text,
        at_ms=before_ms if at_ms is None else at_ms,
        meta=_kept(
            model=text_in(details, "model_slug"),
            content_type="" if kind in ("text", "multimodal_text") else kind,
            tool=text_in(author, "name"),
            recipient="" if recipient == "all" else recipient,
            branch=place.branch,
            parent=place.parent if place.branch else "",
        ),
        identity=text_in(message, "id") or place.key,
    )


def _text(content: dict[str, Any], kind: str) -> str:
    reader = _TEXTS.get(kind)
    return reader(content) if reader else _parts(content) or text_in(content, "text", "result", "content")


def _parts(content: dict[str, Any]) -> str:
    parts = content.get("parts")
    return "\n\n".join(filter(None, map(_part, parts))) if isinstance(parts, list) else text_in(content, "text")


def _part(part: object) -> str:
    if isinstance(part, str):
        return part if part.strip() else ""
    if not isinstance(part, dict):
        return ""
    return text_in(part, "text") or PLACEHOLDERS.get(text_in(part, "content_type"), "[file]")


def _code(content: dict[str, Any]) -> str:
    language = text_in(content, "language")
    return fenced(text_in(content, "text"), "" if language == "unknown" else language)


def _quote(content: dict[str, Any]) -> str:
    return "\n\n".join(filter(None, (text_in(content, name) for name in ("title", "url", "text"))))


def _thoughts(content: dict[str, Any]) -> str:
    told = [(text_in(one, "summary"), text_in(one, "content")) for one in objects_in(content, "thoughts")]
    return "\n\n".join(part for pair in told for part in pair if part)


# How each type of content becomes text.
_TEXTS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "text": _parts,
    "multimodal_text": _parts,
    "code": _code,
    "execution_output": lambda content: fenced(text_in(content, "text"), ""),
    "system_error": lambda content: text_in(content, "text"),
    "tether_browsing_display": lambda content: text_in(content, "result", "summary"),
    "tether_quote": _quote,
    "thoughts": _thoughts,
    "reasoning_recap": lambda content: text_in(content, "content"),
    "user_editable_context": lambda content: _profile(content, "user_profile", "user_instructions"),
    "model_editable_context": lambda content: _profile(content, "model_set_context"),
}


def _profile(content: dict[str, Any], *names: str) -> str:
    return "\n\n".join(filter(None, (text_in(content, name) for name in names)))


def fenced(text: str, language: str) -> str:
    """Code as Markdown shows it, with a fence longer than any in it; nothing if there is none."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}" if text.strip() else ""


def _kept(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value}
