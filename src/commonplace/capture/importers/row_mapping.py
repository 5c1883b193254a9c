"""Mapping rows of other products to items and conversations: their identity, their limits, and what is left out.

A value that does not fit its field here is not lost: it goes into the metadata under its old name.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from commonplace.capture.import_report import Entry, Skipped
from commonplace.capture.importers.foreign_database import ForeignDatabase, Row, quote_name
from commonplace.errors import InvalidInput, TooLarge
from commonplace.identity import ref
from commonplace.memory.conversations import MAX_KEY, NewConversation, NewMessage
from commonplace.memory.import_items import ImportedItem
from commonplace.memory.remember import MAX_PATHS, MAX_TAG, MAX_TAGS, MAX_TITLE, NewItem, checked_category
from commonplace.text.json_fields import parse_if_json
from commonplace.text.paths import check_glob
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact

# The namespace of identities made here; never change it, or everything would be imported twice.
_NAMESPACE = uuid.UUID("5d1f6a2e-0c55-5e0b-9a3e-6f0c1d7c4a11")
MESSAGES_AT_ONCE = 5_000
"""Messages of one conversation that are read at once."""
REBUILT_HERE = "it is rebuilt here"
BOOKKEEPING = "it is bookkeeping of the product, not memory"
SELF_DESCRIPTION = "what the export says about itself"
MISSING_END = "one of its ends does not exist any more"
_NOT_IN_TYPE = re.compile(r"[^\w .:/-]+")
_NOT_IN_CATEGORY = re.compile(r"[^\w .-]+")


@dataclass(frozen=True, slots=True)
class TableMapping:
    """What is read of a product's tables, by column, and why the rest is not: by table, or by table and column."""

    source: str
    columns: Mapping[str, str]
    reasons: Mapping[str, str] = field(default_factory=dict)

    def rows(
        self, database: ForeignDatabase, table: str, rest: str = "", bindings: Sequence[object] = ()
    ) -> Iterator[Row]:
        return database.rows(table, self.columns[table], rest, bindings)

    def left_out(self, database: ForeignDatabase) -> Iterator[Skipped]:
        """Every table and column that holds something and is not read."""
        for table, columns in database.tables.items():
            if table not in self.columns:
                if count := database.count(table):
                    yield Skipped(table, self.reasons.get(table, "an unknown table"), "table", count)
                continue
            read = self.columns[table].split()
            for column in (column for column in columns if column not in read):
                name = quote_name(column)
                if count := database.count(table, f"{name} IS NOT NULL AND {name} <> '' AND {name} <> 0"):
                    why = self.reasons.get(f"{table}.{column}", "an unknown column")
                    yield Skipped(f"{table}.{column}", why, "column", count)

    def key(self, session: object) -> str:
        """The key of a session."""
        return f"{self.source}:{session}"[:MAX_KEY]

    def uid(self, kind: str, *parts: object) -> str:
        """The id of something: its own if that is a UUID, else one derived from what identifies it there."""
        if len(parts) == 1 and isinstance(parts[0], str) and parts[0].strip():
            own = ref(parts[0]).uid
            if own is not None:
                return own
        return str(uuid.uuid5(_NAMESPACE, json.dumps([self.source, kind, *parts], default=str)))

    def row_uid(self, kind: str, row: Row) -> str:
        """The id of a numbered row. Numbers start at 1 on every machine, so its time belongs to the id."""
        return self.uid(kind, row["id"], row.get("created_at_epoch"))

    def meta(self, id_: object, row: Row, *names: str, **more: object) -> dict[str, object]:
        """Where something comes from, and those of its columns that have no field here."""
        values = {name: parse_if_json(row.get(name)) for name in names} | more
        filled = {name: value for name, value in values.items() if value not in (None, "", [], {})}
        return {"source": self.source, "source_id": id_, **filled}

    def message(self, kind: str, row: Row, role: str, content: str) -> NewMessage:
        """A message of a numbered row."""
        uid = self.row_uid(kind, row)
        return NewMessage(role, content, created_ms(row), self.meta(row["id"], row), f"{kind} {uid}", uid)


def created_ms(row: Row) -> int | None:
    """When a row of Kiro Memory or claude-mem was written."""
    return row.time("created_at_epoch", "started_at_epoch", "created_at", "started_at")


def first_prompt(row: Row) -> NewMessage:
    """The prompt that a session of Kiro Memory or claude-mem began with, if no other is stored."""
    return NewMessage("user", row.text("user_prompt"), created_ms(row), identity=f"session {row['id']}")


def link_to(uid: str, relation: str, weight: float | None = None) -> dict[str, object]:
    """A link, as the metadata of both its ends holds it."""
    link: dict[str, object] = {"to": uid, "rel": relation}
    return link if weight is None else {**link, "weight": round(float(weight), 4)}


def merge_metadata(meta: Mapping[str, object], theirs: Mapping[str, object]) -> dict[str, object]:
    """Our metadata together with the source's; a name that both use is prefixed in the source's."""
    return {f"their_{name}" if name in meta else name: value for name, value in theirs.items()} | dict(meta)


def split_conversation(conversation: NewConversation, messages: Iterable[NewMessage]) -> Iterator[NewConversation]:
    """A conversation with these messages; a very long one in several steps under the same key."""
    for _number, group in groupby(enumerate(messages), key=lambda entry: entry[0] // MESSAGES_AT_ONCE):
        yield replace(conversation, messages=[message for _n, message in group])


def project_name(name: str) -> str | None:
    """The project of a name; None if it cannot be one."""
    try:
        return normalise_project(name) if name.strip() else None
    except (InvalidInput, TooLarge):
        return None


def fit_item(item: NewItem, *, forgotten: bool = False) -> Entry:
    """The item as it can be stored; a Skipped if it is empty."""
    if not (item.content.strip() or item.title.strip() or any(text.strip() for text in item.details.values())):
        return Skipped(f"{item.kind} {item.meta.get('source_id')}", "it says nothing", "item")
    meta, details = dict(item.meta), {name: text for name, text in item.details.items() if text.strip()}
    title, content = " ".join(item.title.split()), item.content
    if len(title) > MAX_TITLE:
        content = f"{item.title}\n\n{content}".strip()
        title = redact(title)[: MAX_TITLE - 1] + "…"
    # Redacted first: a secret would not be recognised after its punctuation was replaced.
    type_ = _NOT_IN_TYPE.sub("-", redact(item.type)).strip("-. ")[:100]
    if item.type and type_ != item.type:
        meta["type"] = item.type
    tags = list(dict.fromkeys(" ".join(tag.split()) for tag in item.tags if tag.strip()))
    if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in tags):
        meta["tags"], tags = tags, [tag for tag in tags if len(tag) <= MAX_TAG][:MAX_TAGS]
    _fit_paths(details, meta)
    _fit_category(details, meta)
    project = project_name(item.project or "")
    if project is None and item.project and item.project.strip():
        meta["project"] = item.project
    fitted = replace(
        item, content=content, type=type_, title=title, details=details, meta=meta, project=project, tags=tags
    )
    return ImportedItem(fitted, forgotten)


def _fit_paths(details: dict[str, str], meta: dict[str, object]) -> None:
    if "paths" not in details:
        return
    try:
        if len(set(map(check_glob, details["paths"].split("\n")))) <= MAX_PATHS:
            return
    except InvalidInput:
        pass
    meta["paths"] = details.pop("paths").split("\n")


def _fit_category(details: dict[str, str], meta: dict[str, object]) -> None:
    given = details.pop("category", "")
    try:
        name = checked_category(_NOT_IN_CATEGORY.sub("-", redact(given)).strip("-. ")[:80])
        details |= {"category": name}
    except InvalidInput:
        name = ""
    if name != given:
        meta["category"] = given
