"""How memories.sh says things: a label, a scope, the id that edit and forget need, and the content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from commonplace.memory.contradictions import Contradiction
from commonplace.memory.rules import Rules, paths_of
from commonplace.model import Item
from commonplace.text.names import base_name
from commonplace.text.summarise import shorten
from commonplace.text.times import iso

LABELS = {"rule": "📌 RULE", "decision": "💡 DECISION", "fact": "📋 FACT", "note": "📝 NOTE", "skill": "🔧 SKILL"}
LONGEST_LINE = 500
_REASONS = {"opposite": "says the opposite", "number": "gives another number", "choice": "chooses something else"}


def label(type_: str) -> str:
    return LABELS.get(type_, f"🗒️ {type_.upper()}")


def scope(item: Item) -> str:
    return "global" if item.project is None else f"@{base_name(item.project)}"


def said(item: Item) -> str:
    """What an item of any kind says, in one text."""
    return item.body.strip() or item.details.get("narrative", "").strip() or item.title


def line(item: Item) -> str:
    """`💡 DECISION (P) 0123456789ab: content [tags] (paths: globs) {category}`"""
    parts = [f"{label(item.type)} ({'G' if item.project is None else 'P'}) {item.short_id}:", _short(said(item))]
    if item.tags:
        parts.append(f"[{', '.join(item.tags)}]")
    if paths_of(item):
        parts.append(f"(paths: {', '.join(paths_of(item))})")
    if item.details.get("category"):
        parts.append(f"{{{item.details['category']}}}")
    return " ".join(parts)


def rules_text(rules: Rules, files: Iterable[str] = ()) -> str:
    """Both sections of rules; those for certain paths only stand under their globs unless files chose them."""
    sections = [("## Project Rules", rules.project), ("## Global Rules", rules.everywhere)]
    chosen = bool(list(files))
    written = [f"{heading}\n{_bullets(items, chosen)}" for heading, items in sections if items]
    return "\n\n".join(written) or "No rules yet."


def relevant_text(items: Iterable[Item]) -> str:
    lines = [line(item) for item in items]
    return "## Relevant Memories\n" + "\n".join(lines) if lines else ""


def listing(opening: str, items: Iterable[Item]) -> str:
    lines = [line(item) for item in items]
    return "\n".join([opening, "", *lines]) if lines else opening


def warning(found: list[Contradiction], new: Item) -> str:
    """What the new memory may replace, and how to say so."""
    if not found:
        return ""
    lines = [f"- it {_REASONS[one.reason]} than {line(one.item)}" for one in found if one.reason != "opposite"]
    lines += [f"- it {_REASONS[one.reason]} of {line(one.item)}" for one in found if one.reason == "opposite"]
    how = f'edit_memory({{ id: "{new.short_id}", supersedes: "{found[0].item.short_id}" }})'
    return "\n".join(["This may contradict or replace an earlier memory:", *lines, f"If it replaces it: {how}"])


def row(item: Item) -> dict[str, Any]:
    """A memory as data."""
    return {
        "id": item.short_id,
        "uid": item.uid,
        "number": item.id,
        "type": item.type,
        "content": said(item),
        "scope": "global" if item.project is None else "project",
        "project_id": item.project,
        "tags": list(item.tags),
        "paths": list(paths_of(item)),
        "category": item.details.get("category"),
        "metadata": dict(item.meta),
        "created_at": iso(item.created_ms),
        "updated_at": iso(item.updated_ms),
    }


def _bullets(items: tuple[Item, ...], chosen: bool) -> str:
    general = [item for item in items if chosen or not paths_of(item)]
    lines = [f"- {_short(said(item))} (id: {item.short_id})" for item in general]
    by_globs: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        if item not in general:
            by_globs.setdefault(paths_of(item), []).append(item)
    for globs, scoped in by_globs.items():
        lines += ["", f"### {', '.join(globs)}", *(f"- {_short(said(item))} (id: {item.short_id})" for item in scoped)]
    return "\n".join(lines).lstrip("\n")


def _short(text: str) -> str:
    return shorten(text, LONGEST_LINE)
