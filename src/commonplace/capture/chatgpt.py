"""The export of ChatGPT: conversations as trees of messages, where each regenerated answer is a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from commonplace.capture.chatgpt_tree import Place, walk
from commonplace.capture.foreign import Found, Skipped, Stream, label_of, object_in, objects_in, seconds_in, text_in
from commonplace.capture.json_stream import conversations
from commonplace.memory.conversations import ROLES, Conversation, Said

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


def read(stream: Stream, name: str) -> Iterator[Found]:
    """Every conversation of a `conversations.json`, and what could not be read of it."""
    return conversations(stream, _conversation)


def _conversation(data: Any, where: str) -> Iterator[Found]:
    mapping = data.get("mapping") if isinstance(data, dict) else None
    if not isinstance(mapping, dict):
        yield Skipped(where, "it has no tree of messages (mapping)")
        return
    title = text_in(data, "title")
    where = f"{where} ({title[:60]})" if title else where
    skipped: Counter[str] = Counter()
    messages: list[Said] = []
    started = seconds_in(data, "create_time")
    latest = started
    for place in walk(mapping, data.get("current_node")):
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
    yield Conversation(
        label=label_of(title, messages[0].content),
        messages=messages,
        folder=f"/imports/{SOURCE}",
        status="archived" if data.get("is_archived") is True else None,
        source=SOURCE,
        key=text_in(data, "conversation_id", "id"),
        meta=_kept(model=text_in(data, "default_model_slug"), gpt=text_in(data, "gizmo_id")),
        started_ms=started or messages[0].at_ms,
    )


def _said(place: Place, before_ms: int | None) -> Said | None:
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
    return Said(
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
