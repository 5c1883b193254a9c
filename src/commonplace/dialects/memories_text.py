"""How memories.sh says things: a label, a scope, the id that edit and forget need, and the content.

Every memory is one line, whatever it holds, so that no content can pass for a heading or for another memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from commonplace.dialects.tool import as_json
from commonplace.memory.contradictions import Contradiction
from commonplace.memory.rules import Rules, paths_of
from commonplace.model import Item
from commonplace.text.names import base_name
from commonplace.text.summarise import cut, shorten, title_of
from commonplace.text.times import iso

LABELS = {"rule": "📌 RULE", "decision": "💡 DECISION", "fact": "📋 FACT", "note": "📝 NOTE", "skill": "🔧 SKILL"}
TYPES = tuple(LABELS)
# What all lines or all contents of a reply share, and what each of them may have at least.
ROOM_OF_LINES, LONGEST_LINE = 20_000, 500
ROOM_OF_CONTENTS, LONGEST_CONTENT = 100_000, 4_000
_REASONS = {"opposite": "the opposite of", "number": "another number than", "choice": "another choice than"}


def label(type_: str) -> str:
    return LABELS.get(type_, f"🗒️ {type_.upper()}")


def scope(item: Item) -> str:
    return "global" if item.project is None else f"@{base_name(item.project)}"


def said(item: Item) -> str:
    """What an item of any kind says, in one text."""
    return item.text or item.told() or item.title


def on_one_line(item: Item, longest: int = LONGEST_LINE) -> str:
    """What it says, after a title of its own, without line breaks."""
    text = said(item)
    named = item.kind != "message" and item.title not in (text, title_of(text)) and not text.startswith("request: ")
    return shorten(f"{item.title}: {text}" if named else text, longest)


def line(item: Item, longest: int = LONGEST_LINE) -> str:
    """`💡 DECISION (P) 0123456789ab: content [tags] (paths: globs) {category}`"""
    place = "G" if item.project is None else "P"
    parts = [f"{label(item.type)} ({place}) {item.short_id}:", on_one_line(item, longest)]
    if item.tags:
        parts.append(f"[{shorten(', '.join(item.tags), longest)}]")
    if paths_of(item):
        parts.append(f"(paths: {shorten(', '.join(paths_of(item)), longest)})")
    if item.details.get("category"):
        parts.append(f"{{{item.details['category']}}}")
    return " ".join(parts)


def lines(items: Sequence[Item]) -> list[str]:
    """A line each. The fewer they are, the more each may say."""
    longest = max(LONGEST_LINE, ROOM_OF_LINES // max(1, len(items)))
    return [line(item, longest) for item in items]


def rules_text(rules: Rules, files: Iterable[str] = ()) -> str:
    """Both sections of rules; those for certain paths only stand under their globs unless files chose them."""
    sections = [("## Project Rules", rules.project), ("## Global Rules", rules.everywhere)]
    chosen = bool(list(files))
    written = [f"{heading}\n{_bullets(items, chosen)}" for heading, items in sections if items]
    if rules.elsewhere:
        others = "1 rule holds" if rules.elsewhere == 1 else f"{rules.elsewhere} rules hold"
        written.append(f"({others} for other files only.)")
    if rules.left_out:
        written.append(f"({rules.left_out} more left out: `commonplace rules` lists all of them.)")
    return "\n\n".join(written) or "No rules yet."


def relevant_text(items: Sequence[Item]) -> str:
    return "\n".join(["## Relevant Memories", *(lines(items) or ["Nothing relevant was found."])])


def listing(opening: str, items: Sequence[Item]) -> str:
    return "\n".join([f"{opening}:", "", *lines(items)]) if items else f"{opening}."


def warning(found: Sequence[Contradiction], new: Item) -> str:
    """What the new memory may replace, and how to say so."""
    if not found:
        return ""
    told = [f"- it says {_REASONS[one.reason]} {line(one.item)}" for one in found]
    how = f'edit_memory({{ id: "{new.short_id}", supersedes: "{found[0].item.short_id}" }})'
    return "\n".join(["This may contradict or replace an earlier memory:", *told, f"If it replaces it: {how}"])


def row(item: Item, longest: int = ROOM_OF_CONTENTS) -> dict[str, Any]:
    """A memory as data; `truncated` if something of it is longer than may be told here."""
    content = said(item)
    metadata: dict[str, Any] = dict(item.meta)
    roomy = not metadata or len(as_json(metadata)) <= longest
    return {
        "id": item.short_id,
        "uid": item.uid,
        "number": item.id,
        "type": item.type,
        "title": item.title,
        "content": cut(content, longest),
        "scope": "global" if item.project is None else "project",
        "project_id": item.project,
        "tags": list(item.tags),
        "paths": list(paths_of(item)),
        "category": item.details.get("category"),
        "metadata": metadata if roomy else {},
        "truncated": len(content) > longest or not roomy,
        "created_at": iso(item.created_ms),
        "updated_at": iso(item.updated_ms),
    }


def rows(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Memories as data. The fewer they are, the more of each is told."""
    longest = max(LONGEST_CONTENT, ROOM_OF_CONTENTS // max(1, len(items)))
    return [row(item, longest) for item in items]


def contradicted(found: Sequence[Contradiction]) -> list[dict[str, str]]:
    """What a new memory may replace, as data."""
    return [{"id": one.item.short_id, "reason": one.reason, "content": on_one_line(one.item)} for one in found]


def _bullets(items: tuple[Item, ...], chosen: bool) -> str:
    general = [item for item in items if chosen or not paths_of(item)]
    written = [_bullet(item) for item in general]
    by_globs: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        if item not in general:
            by_globs.setdefault(paths_of(item), []).append(_bullet(item))
    for globs, scoped in by_globs.items():
        written += ["", f"### {', '.join(globs)}", *scoped]
    return "\n".join(written).lstrip("\n")


def _bullet(item: Item) -> str:
    return f"- {on_one_line(item)} (id: {item.short_id})"
