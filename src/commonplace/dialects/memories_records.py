"""Memories as memories.sh writes them: as data, as lines of text, and in the fields that its SDK reads.

As text, every memory is one line, whatever it holds, so that no content can pass for a heading or for another memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict, cast, get_args

from commonplace.dialects.records import source_fields
from commonplace.dialects.reply_schema import Json, component
from commonplace.dialects.tool import compact_json
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.rules import ActiveRules, rule_paths
from commonplace.memory.told_to_agents import source_mark
from commonplace.model import PROPOSED, Item
from commonplace.text.dates import iso_time
from commonplace.text.project_names import base_name
from commonplace.text.sentences import shorten, title_of, truncate

if TYPE_CHECKING:
    from commonplace.memory.contradictions import Contradiction


class MemoryRow(TypedDict):
    """A memory as data; `truncated` if something of it is too long to be in the reply."""

    id: str
    uid: str
    number: int
    type: str
    title: str
    content: str
    scope: str
    project_id: str | None
    tags: list[str]
    paths: list[str]
    category: str | None
    metadata: dict[str, Any]
    truncated: bool
    created_at: str
    updated_at: str
    author: NotRequired[str]
    origin: NotRequired[str]
    review: NotRequired[str]


class ContradictionRow(TypedDict):
    """An earlier memory that a new one may replace."""

    id: str
    reason: str
    content: str
    supersede: bool


class StoredMemory(MemoryRow):
    """A memory that was just stored, or was known before."""

    duplicate: bool
    contradicts: list[ContradictionRow]


class MemoryReply(MemoryRow, total=False):
    """A memory that was added or changed."""

    duplicate: bool
    contradicts: list[ContradictionRow]
    supersedes: str
    notice: str


class ListReply(TypedDict):
    """Memories that were found or listed."""

    memories: list[MemoryRow]
    notice: NotRequired[str]


class RulesReply(TypedDict):
    """Active rules."""

    project_rules: list[MemoryRow]
    global_rules: list[MemoryRow]
    rules_for_other_files: int
    rules_left_out: int


class ContextReply(RulesReply):
    """Active rules, and what is relevant."""

    memories: list[MemoryRow]
    notice: NotRequired[str]


class ForgottenReply(TypedDict):
    """Which memory was forgotten, and how to restore it; or the proposal to forget it, which a person has to accept."""

    id: str
    forgotten: bool
    restore: NotRequired[str]
    proposed: NotRequired[str]


class StreamReply(TypedDict):
    """A stream, and the memory that was made of it."""

    stream_id: str
    status: str
    chunks: int
    characters: int
    memory: NotRequired[StoredMemory]


MemoryType = Literal["rule", "decision", "fact", "note", "skill"]
Layer = Literal["rule", "working", "long_term"]
LAYERS = get_args(Layer)
LAYER_FIELD = "layer"
"""The field of a memory's metadata that has its layer."""


def layer_of(type_: str, metadata: Mapping[str, Any]) -> str:
    """The layer that a memory was stored with; else rules are `rule` and everything else is `long_term`."""
    stored = metadata.get(LAYER_FIELD)
    return str(stored) if stored in LAYERS else "rule" if type_ == "rule" else "long_term"


@component("SdkMemory")
class SdkMemory(TypedDict):
    """A memory as memories.sh's SDK reads it."""

    id: str
    content: str
    type: str
    layer: Annotated[Any, Json(enum=list(LAYERS))]
    expiresAt: None
    scope: Annotated[Any, Json(enum=["global", "project"])]
    projectId: str | None
    tags: list[str]
    paths: list[str]
    category: str | None
    metadata: dict[str, Any]
    createdAt: Annotated[str, Json(description="2025-03-15T14:30:00.000Z")]
    updatedAt: Annotated[str, Json(description="2025-03-15T14:30:00.000Z")]


def sdk_memory(row: Mapping[str, Any]) -> SdkMemory:
    """A memory of one of our replies, as the SDK reads it."""
    return {
        "id": row["id"],
        "content": row["content"],
        "type": row["type"],
        "layer": layer_of(row["type"], row["metadata"]),
        "expiresAt": None,
        "scope": row["scope"],
        "projectId": row["project_id"],
        "tags": row["tags"],
        "paths": row["paths"],
        "category": row["category"],
        "metadata": row["metadata"],
        "createdAt": row["created_at"],
        "updatedAt": row["updated_at"],
    }


def sdk_reply(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's reply with the rules and memories that are in it under the names that the SDK reads."""
    more: dict[str, Any] = {}
    if "project_rules" in data:
        more["rules"] = [sdk_memory(row) for row in (*data["project_rules"], *data["global_rules"])]
    if "memories" in data:
        more["memories"] = [dict(row) | sdk_memory(row) for row in data["memories"]]
    return {**data, **more}


def sdk_error(body: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's error in the envelope that the SDK reads; without one it would take the error for an empty reply."""
    return {"ok": False, "data": None, "error": {"type": "tool_error", **body["error"]}}


LABELS = {"rule": "📌 RULE", "decision": "💡 DECISION", "fact": "📋 FACT", "note": "📝 NOTE", "skill": "🔧 SKILL"}
TYPES = get_args(MemoryType)
# How long all lines or all contents of a reply may be together, and how long each of them at least.
MAX_LINES_LENGTH, LONGEST_LINE = 20_000, 500
MAX_CONTENTS_LENGTH, LONGEST_CONTENT = 100_000, 4_000
_REASONS = {
    "opposite": "the opposite of",
    "number": "a different number from",
    "rejected": "to do what was rejected:",
    "meaning": "what cannot hold together with",
}


def type_label(type_: str) -> str:
    return LABELS.get(type_, f"🗒️ {type_.upper()}")


def scope_label(item: Item) -> str:
    return "global" if item.project is None else f"@{base_name(item.project)}"


def full_text(item: Item) -> str:
    """What an item of any kind says, in one text."""
    return item.text or item.details_text() or item.title


def one_line(item: Item, longest: int = LONGEST_LINE) -> str:
    """What it says, after a title of its own, without line breaks."""
    text = full_text(item)
    named = item.kind != "message" and item.title not in (text, title_of(text)) and not text.startswith("request: ")
    return shorten(f"{item.title}: {text}" if named else text, longest)


def memory_line(memory: LocalMemory, item: Item, longest: int = LONGEST_LINE) -> str:
    """`💡 DECISION (P) 0123456789ab: (whose) content [tags] (paths: globs) {category}`"""
    place = "G" if item.project is None else "P"
    parts = [f"{type_label(item.type)} ({place}) {item.short_id}:", source_mark(memory, item) + one_line(item, longest)]
    if item.tags:
        parts.append(f"[{shorten(', '.join(item.tags), longest)}]")
    if rule_paths(item):
        parts.append(f"(paths: {shorten(', '.join(rule_paths(item)), longest)})")
    if item.details.get("category"):
        parts.append(f"{{{item.details['category']}}}")
    if item.review == PROPOSED:
        parts.append("(proposed, not agreed)")
    return " ".join(parts)


WAITS = "It counts once a person accepts it: commonplace review, or the Review page of the dashboard."


def proposed_text(memory: LocalMemory, item: Item) -> str:
    """What a caller is told of a change that it may only propose."""
    if item.review == PROPOSED:
        return f"Proposed, not done: {memory_line(memory, item)}\n{WAITS}"
    return f"Nothing was changed: a person has dismissed this proposal before. {memory_line(memory, item)}"


def memory_lines(memory: LocalMemory, items: Sequence[Item]) -> list[str]:
    """A line each. The fewer they are, the more each may say."""
    longest = max(LONGEST_LINE, MAX_LINES_LENGTH // max(1, len(items)))
    return [memory_line(memory, item, longest) for item in items]


def rules_text(rules: ActiveRules, files: Iterable[str] = ()) -> str:
    """Both sections of rules; those for certain paths only stand under their globs unless files chose them."""
    sections = [("## Project Rules", rules.project), ("## Global Rules", rules.everywhere)]
    chosen = bool(list(files))
    written = [f"{heading}\n{_bullets(items, chosen, rules.sources)}" for heading, items in sections if items]
    if rules.elsewhere:
        others = "1 rule applies" if rules.elsewhere == 1 else f"{rules.elsewhere} rules apply"
        written.append(f"({others} only to other files.)")
    if rules.left_out:
        written.append(f"({rules.left_out} more left out: `commonplace rules` lists all of them.)")
    return "\n\n".join(written) or "No rules yet."


def relevant_text(memory: LocalMemory, items: Sequence[Item]) -> str:
    return "\n".join(["## Relevant Memories", *(memory_lines(memory, items) or ["Nothing relevant was found."])])


def list_text(memory: LocalMemory, opening: str, items: Sequence[Item]) -> str:
    return "\n".join([f"{opening}:", "", *memory_lines(memory, items)]) if items else f"{opening}."


def contradiction_warning(memory: LocalMemory, found: "Sequence[Contradiction]", new: Item) -> str:
    """What the new memory may replace, and how to say so."""
    if not found:
        return ""
    reasons = [f"- it says {_REASONS[one.reason]} {memory_line(memory, one.item)}" for one in found]
    how = f'edit_memory({{ id: "{new.short_id}", supersedes: "{found[0].item.short_id}" }})'
    if found[0].supersede:
        reasons.append("The same author said both, so the new one should supersede the earlier one.")
    return "\n".join(["This may contradict or replace an earlier memory:", *reasons, f"If it replaces it: {how}"])


def memory_row(item: Item, longest: int = MAX_CONTENTS_LENGTH) -> MemoryRow:
    """A memory as data, with at most so many characters of content."""
    content = full_text(item)
    metadata: dict[str, Any] = dict(item.meta)
    roomy = not metadata or len(compact_json(metadata)) <= longest
    row: Any = {
        "id": item.short_id,
        "uid": item.uid,
        "number": item.id,
        "type": item.type,
        "title": item.title,
        "content": truncate(content, longest),
        "scope": "global" if item.project is None else "project",
        "project_id": item.project,
        "tags": list(item.tags),
        "paths": list(rule_paths(item)),
        "category": item.details.get("category"),
        "metadata": metadata if roomy else {},
        "truncated": len(content) > longest or not roomy,
        "created_at": iso_time(item.created_ms),
        "updated_at": iso_time(item.updated_ms),
        **source_fields(item),
    }
    return cast(MemoryRow, row)


def memory_rows(items: Sequence[Item]) -> list[MemoryRow]:
    """Memories as data. The fewer they are, the more of each is shown."""
    longest = max(LONGEST_CONTENT, MAX_CONTENTS_LENGTH // max(1, len(items)))
    return [memory_row(item, longest) for item in items]


def contradiction_rows(found: "Sequence[Contradiction]") -> list[ContradictionRow]:
    """What a new memory may replace, as data."""
    return [
        {"id": one.item.short_id, "reason": one.reason, "content": one_line(one.item), "supersede": one.supersede}
        for one in found
    ]


def _bullets(items: tuple[Item, ...], chosen: bool, sources: Mapping[int, str]) -> str:
    general = [item for item in items if chosen or not rule_paths(item)]
    written = [_bullet(item, sources) for item in general]
    by_globs: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        if item not in general:
            by_globs.setdefault(rule_paths(item), []).append(_bullet(item, sources))
    for globs, scoped in by_globs.items():
        written += ["", f"### {', '.join(globs)}", *scoped]
    return "\n".join(written).lstrip("\n")


def _bullet(item: Item, sources: Mapping[int, str]) -> str:
    return f"- {sources.get(item.id, '')}{one_line(item)} (id: {item.short_id})"
