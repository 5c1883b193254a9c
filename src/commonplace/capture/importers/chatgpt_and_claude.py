"""The exports of ChatGPT and Claude: `conversations.json`.

ChatGPT's conversations are trees of messages, where each regenerated answer is a branch; Claude's are lists of messages
made of blocks of text, tools and thinking.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.capture.import_report import Entry, Skipped, Stream, conversation_label
from commonplace.capture.importers.json_reader import (
    UnreadableMessage,
    collect_messages,
    read_conversations,
    skipped_messages,
)
from commonplace.memory.conversations import NewConversation, NewMessage
from commonplace.model import MESSAGE_ROLES
from commonplace.text.untrusted_json import object_in, objects_in, seconds_in, text_in, time_in

CHATGPT = "chatgpt"
# The text for a part of a message that is no text.
PLACEHOLDERS = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[audio]",
    "video_container_asset_pointer": "[video]",
}
HIDDEN = "hidden in ChatGPT"
EMPTY = "no text in it"


def read_chatgpt(stream: Stream, name: str) -> Iterator[Entry]:
    """Every conversation of a `conversations.json`, and what could not be read of it."""
    return read_conversations(stream, _chatgpt_conversation)


def _chatgpt_conversation(data: Any, where: str) -> Iterator[Entry]:
    mapping = data.get("mapping") if isinstance(data, dict) else None
    if not isinstance(mapping, dict):
        yield Skipped(where, "it has no tree of messages (mapping)")
        return
    title, started = text_in(data, "title"), seconds_in(data, "create_time")
    messages, skipped = collect_messages(walk_tree(mapping, data.get("current_node")), _chatgpt_message, started)
    yield from skipped_messages(f"{where} ({title[:60]})" if title else where, messages, skipped)
    if messages:
        yield NewConversation(
            label=conversation_label(title, messages[0].content),
            messages=messages,
            folder=f"/imports/{CHATGPT}",
            status="archived" if data.get("is_archived") is True else None,
            source=CHATGPT,
            key=text_in(data, "conversation_id", "id"),
            meta=_without_empty(model=text_in(data, "default_model_slug"), gpt=text_in(data, "gizmo_id")),
            started_ms=started or messages[0].at_ms,
        )


def _chatgpt_message(node: TreeNode, before_ms: int | None) -> NewMessage | None:
    """The message of a node; None for a node without one. A message without a time gets that of the one before."""
    message = node.data.get("message")
    if message is None:
        return None
    if not isinstance(message, dict):
        raise UnreadableMessage("a message that is not an object")
    author, details = object_in(message, "author"), object_in(message, "metadata")
    if details.get("is_visually_hidden_from_conversation") is True:
        raise UnreadableMessage(HIDDEN)
    role = text_in(author, "role")
    if role not in MESSAGE_ROLES:
        raise UnreadableMessage(f"unknown author {role[:40]!r}" if role else "no author")
    content = object_in(message, "content")
    kind = text_in(content, "content_type") or "text"
    files = [f"[file: {name}]" for one in objects_in(details, "attachments") if (name := text_in(one, "name"))]
    text = "\n\n".join(part for part in (_text(content, kind), *files) if part.strip())
    if not text:
        raise UnreadableMessage(EMPTY if kind in _TEXTS else f"unknown content {kind[:40]!r}")
    recipient, at_ms = text_in(message, "recipient"), seconds_in(message, "create_time")
    return NewMessage(
        role=role,
        content=text,
        at_ms=before_ms if at_ms is None else at_ms,
        meta=_without_empty(
            model=text_in(details, "model_slug"),
            content_type="" if kind in ("text", "multimodal_text") else kind,
            tool=text_in(author, "name"),
            recipient="" if recipient == "all" else recipient,
            branch=node.branch,
            parent=node.parent if node.branch else "",
            off_path=node.branch > 0,
        ),
        identity=text_in(message, "id") or node.key,
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


def _thoughts(content: dict[str, Any]) -> str:
    pairs = [(text_in(one, "summary"), text_in(one, "content")) for one in objects_in(content, "thoughts")]
    return "\n\n".join(part for pair in pairs for part in pair if part)


# How each type of content becomes text.
_TEXTS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "text": _parts,
    "multimodal_text": _parts,
    "code": _code,
    "execution_output": lambda content: fenced(text_in(content, "text"), ""),
    "system_error": lambda content: text_in(content, "text"),
    "tether_browsing_display": lambda content: text_in(content, "result", "summary"),
    "tether_quote": lambda content: _fields(content, "title", "url", "text"),
    "thoughts": _thoughts,
    "reasoning_recap": lambda content: text_in(content, "content"),
    "user_editable_context": lambda content: _fields(content, "user_profile", "user_instructions"),
    "model_editable_context": lambda content: _fields(content, "model_set_context"),
}


def _fields(content: dict[str, Any], *names: str) -> str:
    return "\n\n".join(filter(None, (text_in(content, name) for name in names)))


def fenced(text: str, language: str) -> str:
    """Code as Markdown shows it, with a fence longer than any in it; nothing if there is none."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}" if text.strip() else ""


def _without_empty(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value}


Tree = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of the tree. `branch` is 0 on the main line of the conversation, else the number of the branch."""

    key: str
    data: Mapping[str, Any]
    parent: str
    branch: int


def walk_tree(mapping: Mapping[str, Any], current: object) -> Iterator[TreeNode]:
    """Every node once, parents first: abandoned branches, oldest first, before the one that continued."""
    tree = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents = _parents(tree)
    children: dict[str, list[str]] = {}
    for key, parent in parents.items():
        children.setdefault(parent, []).append(key)
    main = _main_line(parents, children, current if isinstance(current, str) else "")
    times = {key: seconds_in(object_in(node, "message"), "create_time") or 0 for key, node in tree.items()}
    branches = 0
    seen: set[str] = set()
    # Nodes in a circle have no root: each is tried last, as a root of its own.
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
        # The last answer continues a branch under its number; those before it are branches of their own.
        waiting += [(child, branch if child == ordered[-1] else 0) for child in reversed(ordered)]


def _parents(tree: Tree) -> dict[str, str]:
    """The parent of every node, as it or the node that lists it says; empty for a root."""
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
    """The nodes from the root to the current one; if that is not known, to the last answer."""
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


CLAUDE = "claude"
_CLAUDE_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# Blocks without anything that a reader would see.
_SILENT = frozenset({"token_budget", "flag"})


def read_claude(stream: Stream, name: str) -> Iterator[Entry]:
    """Every conversation of a `conversations.json`, and what could not be read of it."""
    return read_conversations(stream, _claude_conversation)


def _claude_conversation(data: Any, where: str) -> Iterator[Entry]:
    if not isinstance(data, dict) or not isinstance(data.get("chat_messages"), list):
        yield Skipped(where, "it has no list of messages (chat_messages)")
        return
    title, started = text_in(data, "name"), time_in(data, "created_at")
    messages, skipped = collect_messages(data["chat_messages"], _claude_message, started)
    yield from skipped_messages(f"{where} ({title[:60]})" if title else where, messages, skipped)
    if messages:
        summary = text_in(data, "summary")
        yield NewConversation(
            label=conversation_label(title, messages[0].content),
            messages=messages,
            folder=f"/imports/{CLAUDE}",
            source=CLAUDE,
            key=text_in(data, "uuid"),
            meta={"summary": summary} if summary else {},
            started_ms=started or messages[0].at_ms,
        )


def _claude_message(data: Any, before_ms: int | None) -> NewMessage:
    """A message; one without a time gets that of the one before."""
    if not isinstance(data, dict):
        raise UnreadableMessage("a message that is not an object")
    sender = text_in(data, "sender")
    if sender not in _CLAUDE_ROLES:
        raise UnreadableMessage(f"unknown sender {sender[:40]!r}" if sender else "no sender")
    # The blocks say more than `text`, which only mentions that there was something else.
    parts = list(filter(None, map(_block, objects_in(data, "content")))) or [text_in(data, "text")]
    text = "\n\n".join(part for part in (*parts, *_attachments(data)) if part)
    if not text:
        raise UnreadableMessage("no text in it")
    at_ms, parent = time_in(data, "created_at"), text_in(data, "parent_message_uuid")
    return NewMessage(
        role=_CLAUDE_ROLES[sender],
        content=text,
        at_ms=before_ms if at_ms is None else at_ms,
        meta={"parent": parent} if parent else {},
        identity=text_in(data, "uuid"),
    )


def _block(block: dict[str, Any]) -> str:
    kind = text_in(block, "type")
    if kind == "tool_use":
        return f"[tool: {text_in(block, 'name')}]\n{_tool_text(block.get('input'))}"
    if kind == "tool_result":
        failed = " failed" if block.get("is_error") is True else ""
        return f"[result: {text_in(block, 'name')}{failed}]\n{_tool_text(block.get('content'))}".rstrip()
    if kind == "thinking":
        thought = text_in(block, "thinking")
        return f"[thinking]\n{thought}" if thought else ""
    return text_in(block, "text") or ("" if kind in _SILENT | {"text", ""} else f"[{kind}]")


def _tool_text(value: object) -> str:
    """The input or output of a tool: texts as they are, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(entry, dict) and "type" in entry for entry in value):
        return "\n\n".join(filter(None, map(_block, value)))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _attachments(data: dict[str, Any]) -> Iterator[str]:
    seen: set[str] = set()
    for one in objects_in(data, "attachments"):
        name, content = text_in(one, "file_name") or "unnamed", text_in(one, "extracted_content")
        seen.add(name)
        yield f"[file: {name}]\n{content}" if content else f"[file: {name}]"
    for one in (*objects_in(data, "files"), *objects_in(data, "files_v2")):
        name = text_in(one, "file_name") or "unnamed"
        if name not in seen:
            seen.add(name)
            yield f"[file: {name}]"
