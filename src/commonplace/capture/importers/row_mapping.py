"""How a row of another product becomes something that is kept here: its identity, its limits, its loose ends.

What a field here cannot hold is not lost: it goes into the metadata under the name it had.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from commonplace.capture.import_report import Entry, Skipped
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row, quote_name
from commonplace.errors import InvalidInput, TooLarge
from commonplace.identity import ref
from commonplace.memory.conversations import MAX_KEY, NewConversation, NewMessage
from commonplace.memory.import_items import ImportedItem
from commonplace.memory.remember import (
    EARLIEST_MS,
    LATEST_MS,
    MAX_PATHS,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    NewItem,
    checked_category,
)
from commonplace.text.json_fields import text_in, time_in
from commonplace.text.paths import check_glob
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

# Our own names under which identities are made; never to be changed, or everything would come in twice.
_NAMES = uuid.UUID("5d1f6a2e-0c55-5e0b-9a3e-6f0c1d7c4a11")
# Messages of one conversation that are read at once.
SLICE = 5_000
REBUILT_HERE = "it is worked out anew here"
BOOKKEEPING = "it is bookkeeping of the product, not memory"
_UNTYPED = re.compile(r"[^\w .:/-]+")
_UNCATEGORISED = re.compile(r"[^\w .-]+")
# Epochs below this count seconds.
_SECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class TableMapping:
    """What is taken of a product's tables, by column, and why the rest is not: by table, or by table and column."""

    source: str
    taken: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def rows(
        self, database: ForeignDatabase, table: str, rest: str = "", bindings: Sequence[object] = ()
    ) -> Iterator[Row]:
        return database.rows(table, self.taken[table], rest, bindings)

    def left_out(self, database: ForeignDatabase) -> Iterator[Skipped]:
        """Every table and column that holds something and is not taken."""
        for table, columns in database.tables.items():
            if table not in self.taken:
                if count := database.count(table):
                    why = self.reasons.get(table, "a table that is not known here")
                    yield Skipped(table, why, "table", count)
                continue
            taken = self.taken[table].split()
            for column in (column for column in columns if column not in taken):
                name = quote_name(column)
                if count := database.count(table, f"{name} IS NOT NULL AND {name} <> '' AND {name} <> 0"):
                    why = self.reasons.get(f"{table}.{column}", "a column that is not known here")
                    yield Skipped(f"{table}.{column}", why, "column", count)

    def key(self, session: object) -> str:
        """What a session is called here."""
        return f"{self.source}:{session}"[:MAX_KEY]

    def uid(self, kind: str, *parts: object) -> str:
        """The identity of something: its own if that is a UUID, else one made of what tells it apart there."""
        if len(parts) == 1 and isinstance(parts[0], str) and parts[0].strip():
            own = ref(parts[0]).uid
            if own is not None:
                return own
        return str(uuid.uuid5(_NAMES, json.dumps([self.source, kind, *parts], default=str)))

    def numbered(self, kind: str, row: Row) -> str:
        """The identity of a row with a number: these start at 1 on every machine; with the time they tell apart."""
        return self.uid(kind, row["id"], row.get("created_at_epoch"))

    def meta(self, id_: object, row: Row, *names: str, **more: object) -> dict[str, object]:
        """Where it comes from, and those of its fields that have no other place here."""
        kept = {name: _parsed(row.get(name)) for name in names} | more
        there = {name: value for name, value in kept.items() if value not in (None, "", [], {})}
        return {"source": self.source, "source_id": id_, **there}


def merge_metadata(meta: Mapping[str, object], theirs: Mapping[str, object]) -> dict[str, object]:
    """Our metadata together with that which it had there; where both use a name, theirs is told apart."""
    return {f"their_{name}" if name in meta else name: value for name, value in theirs.items()} | dict(meta)


def fit_item(note: NewItem, *, forgotten: bool = False) -> Entry:
    """The note as it can be kept; a Skipped where it says nothing."""
    if not (note.content.strip() or note.title.strip() or any(text.strip() for text in note.details.values())):
        return Skipped(f"{note.kind} {note.meta.get('source_id')}", "it says nothing", "item")
    meta, details = dict(note.meta), {name: text for name, text in note.details.items() if text.strip()}
    title, content = " ".join(note.title.split()), note.content
    if len(title) > MAX_TITLE:
        content = f"{note.title}\n\n{content}".strip()
        title = redact(title)[: MAX_TITLE - 1] + "…"
    # What cannot be spelled goes after the secrets: they would not be known any more.
    type_ = _UNTYPED.sub("-", redact(note.type)).strip("-. ")[:100]
    if note.type and type_ != note.type:
        meta["type"] = note.type
    tags = list(dict.fromkeys(" ".join(tag.split()) for tag in note.tags if tag.strip()))
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in tags):
        meta["tags"], tags = tags, [tag for tag in tags if len(tag) <= MAX_TAG][:MAX_TAGS]
    _fit_paths(details, meta)
    _fit_category(details, meta)
    project = _project(note.project, meta)
    return ImportedItem(
        NewItem(
            content=content,
            kind=note.kind,
            type=type_,
            title=title,
            details=details,
            meta=meta,
            project=project,
            session=note.session,
            tags=tags,
            importance=note.importance,
            created_ms=note.created_ms,
            uid=note.uid,
        ),
        forgotten,
    )


def _fit_paths(details: dict[str, str], meta: dict[str, object]) -> None:
    if "paths" not in details:
        return
    try:
        globs = list(dict.fromkeys(map(check_glob, details["paths"].split("\n"))))
        if len(globs) <= MAX_PATHS:
            return
    except InvalidInput:
        pass
    meta["paths"] = details.pop("paths").split("\n")


def _fit_category(details: dict[str, str], meta: dict[str, object]) -> None:
    told = details.pop("category", "")
    try:
        name = checked_category(_UNCATEGORISED.sub("-", redact(told)).strip("-. ")[:80])
        details |= {"category": name}
    except InvalidInput:
        name = ""
    if name != told:
        meta["category"] = told


def _project(name: str | None, meta: dict[str, object]) -> str | None:
    """The project of a name that can be one."""
    if not name or not name.strip():
        return None
    try:
        return normalise_project(name)
    except (InvalidInput, TooLarge):
        meta["project"] = name
        return None


def project_name(name: str) -> str | None:
    return _project(name, {})


def split_conversation(conversation: NewConversation, messages: Iterable[NewMessage]) -> Iterator[NewConversation]:
    """A conversation with these messages; a very long one in several steps, all under its key."""
    for _number, group in groupby(enumerate(messages), key=lambda entry: entry[0] // SLICE):
        yield replace(conversation, messages=[said for _n, said in group])


def field_text(row: Row, *names: str) -> str:
    """The first of these fields that says something, whatever it is stored as."""
    spelled = {name: str(row[name]) for name in names if isinstance(row.get(name), (str, int, float))}
    return text_in(spelled, *names)


def field_time(row: Row, *names: str) -> int | None:
    """The first of these fields that is a time: milliseconds or seconds since 1970, or as ISO writes it."""
    for name in names:
        value = row.get(name)
        if isinstance(value, (int, float)) and value and EARLIEST_MS <= value <= LATEST_MS:
            return round(value * 1000) if abs(value) < _SECONDS else round(value)
        if (ms := time_in(row, name)) is not None:
            return ms
    return None


def row_created_ms(row: Row) -> int | None:
    """When a row of Kiro Memory or claude-mem was written."""
    return field_time(row, "created_at_epoch", "started_at_epoch", "created_at", "started_at")


def field_list(value: Any) -> list[str]:
    """A list that is stored as JSON or between commas."""
    found = _parsed(value)
    if isinstance(found, str):
        found = found.split(",")
    if not isinstance(found, list):
        return []
    told = (entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in found)
    return [entry.strip() for entry in told if entry.strip()]


def _parsed(value: Any) -> Any:
    """JSON where it is an object or a list; everything else as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def field_object(value: Any) -> dict[str, Any]:
    found = _parsed(value)
    return found if isinstance(found, dict) else {}


def link_to(to: str, rel: str, weight: float | None = None) -> dict[str, object]:
    """A link as the metadata of both its ends tells it."""
    return {"to": to, "rel": rel} if weight is None else {"to": to, "rel": rel, "weight": round(float(weight), 4)}
