"""Databases of other products, read from a copy, and how their rows become items and conversations.

The original is never locked and never written: SQLite writes next to a file that it reads while that file has a
write-ahead log, and waits for other writers. A copy of the file with its log or journal does neither; it is taken again
if something changed meanwhile. A JSON export is laid out as the tables it was exported from, so that there is one
reader per product. A value that does not fit its field here goes into the metadata under its old name.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import apsw

from commonplace.capture.import_report import MAX_HELD, Entry, Skipped, Stream
from commonplace.capture.importers.json_reader import Element, records
from commonplace.errors import InvalidInput, TooLarge
from commonplace.memory.conversations import MAX_KEY, NewConversation, NewMessage
from commonplace.memory.draft import MAX_PATHS, MAX_TAG, MAX_TAGS, MAX_TITLE, UNSTORABLE
from commonplace.memory.import_items_and_records import ImportedItem
from commonplace.memory.remember import NewItem
from commonplace.model import ref
from commonplace.text.dates import EARLIEST_MS, LATEST_MS
from commonplace.text.paths import check_glob, checked_category
from commonplace.text.project_names import normalise_project
from commonplace.text.redact import redact
from commonplace.text.untrusted_json import parse_if_json, text_in, time_in

SQLITE_MAGIC = b"SQLite format 3\0"
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
EXPORT_TABLE = "export"
"""The table of what an export says about itself."""
# What SQLite needs besides the file itself to know what was committed.
_COMPANIONS = ("", "-wal", "-journal")
_TRIES = 5
_CHUNK = 1 << 20
# The longest cell that our own statements need.
_MIN_CELL = 1 << 16
# Tables that belong to a full-text index; they hold nothing of their own.
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
# Times below this are seconds since 1970, others milliseconds.
_SECONDS = 100_000_000_000


class UnreadableDatabase(Exception):
    """Why a database, or the rest of it, cannot be read; a part of a sentence."""


class Row(dict[str, Any]):
    """A row of a table, or an object stored in one. A value may be of any type, and a missing column is None."""

    def text(self, *names: str) -> str:
        """The first of these columns that holds some text or a number."""
        return text_in({n: str(self[n]) for n in names if isinstance(self.get(n), (str, int, float))}, *names)

    def time(self, *names: str) -> int | None:
        """The first of these columns that is a time: milliseconds or seconds since 1970, or ISO 8601."""
        for name in names:
            value = self.get(name)
            if isinstance(value, (int, float)) and value and EARLIEST_MS <= value <= LATEST_MS:
                return round(value * 1000) if abs(value) < _SECONDS else round(value)
            if (ms := time_in(self, name)) is not None:
                return ms
        return None

    def texts(self, name: str) -> list[str]:
        """A list that is stored as JSON or separated by commas."""
        value = parse_if_json(self.get(name))
        if isinstance(value, str):
            value = value.split(",")
        if not isinstance(value, list):
            return []
        entries = (entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in value)
        return [entry.strip() for entry in entries if entry.strip()]

    def nested(self, name: str) -> Row:
        """An object that is stored as JSON; empty if it is anything else."""
        return parse_object(self.get(name))


def parse_object(value: Any) -> Row:
    """An object, or the JSON of one, as a row; empty if it is anything else."""
    found = parse_if_json(value)
    return Row(found) if isinstance(found, dict) else Row()


@contextmanager
def open_copy(source: Path | Stream, max_held: int = MAX_HELD) -> Iterator[ForeignDatabase]:
    """The database at a path or in a stream, for the length of the block. `max_held` limits the length of a cell."""
    with TemporaryDirectory(prefix="commonplace-") as folder:
        copy = Path(folder) / "database"
        if isinstance(source, Path):
            _copy(source, copy)
        else:
            with copy.open("wb") as file:
                while part := source.read(_CHUNK):
                    file.write(part)
        with _readable_errors(), closing(apsw.Connection(str(copy))) as connection:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, max(_MIN_CELL, max_held // 4))
            yield ForeignDatabase(connection)


@contextmanager
def scratch_database() -> Iterator[apsw.Connection]:
    """An empty database for the length of the block; nothing in it has to survive a crash."""
    with (
        TemporaryDirectory(prefix="commonplace-") as folder,
        _readable_errors(),
        closing(apsw.Connection(str(Path(folder) / "scratch"))) as connection,
    ):
        connection.pragma("journal_mode", "OFF")
        connection.pragma("synchronous", "OFF")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def _copy(path: Path, to: Path) -> None:
    try:
        for _ in range(_TRIES):
            before = _stamps(path)
            size, free = sum(stamp[0] for stamp in before.values()), shutil.disk_usage(gettempdir()).free
            if size > free:
                raise UnreadableDatabase(
                    f"a copy of it needs {size >> 20:,} MB in {gettempdir()}, which has {free >> 20:,}"
                )
            for end in _COMPANIONS:
                to.with_name(to.name + end).unlink(missing_ok=True)
            for end in before:
                shutil.copyfile(path.with_name(path.name + end), to.with_name(to.name + end))
            if _stamps(path) == before:
                return
    except FileNotFoundError as error:
        raise UnreadableDatabase("it disappeared while it was being read") from error
    except OSError as error:
        raise UnreadableDatabase(f"it cannot be read: {error.strerror}") from error
    raise UnreadableDatabase("it keeps changing; stop its product for a moment")


def _stamps(path: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for end in _COMPANIONS:
        file = path.with_name(path.name + end)
        if not end or file.exists():
            status = file.stat()
            found[end] = status.st_size, status.st_mtime_ns
    return found


class ForeignDatabase:
    """The tables of a foreign database of any version, read by the columns that exist."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        # Functions that its schema calls must not be run here.
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        virtual = "type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"
        indexes = {name for (name,) in self._rows(f"SELECT name FROM sqlite_master WHERE {virtual}")}
        shadows = {name + end for name in indexes for end in _SHADOWS}
        names = [
            name
            for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if name not in indexes | shadows and not name.startswith("sqlite_")
        ]
        self.tables: Mapping[str, tuple[str, ...]] = {name: self._columns(name) for name in names}

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= set(self.tables.get(table, ())) if columns else table in self.tables

    def rows(self, table: str, columns: str, rest: str = "", bindings: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a table; none if it does not exist. A missing column is None; `rest` is SQL."""
        names = [name for name in columns.split() if name in self.tables.get(table, ())]
        if not names:
            return
        blank = dict.fromkeys(columns.split())
        # Text is read as bytes: reading would end at text that is not UTF-8.
        cells = ", ".join(
            f"iif(typeof({quote_name(n)}) = 'text', CAST({quote_name(n)} AS BLOB), {quote_name(n)})" for n in names
        )
        for values in self._rows(f"SELECT {cells} FROM {quote_name(table)} {rest}", bindings):
            yield Row({**blank, **{name: _decoded(value) for name, value in zip(names, values, strict=True)}})

    def count(self, table: str, condition: str = "1") -> int:
        ((found,),) = self._rows(f"SELECT count(*) FROM {quote_name(table)} WHERE {condition}")
        return int(found)

    def _columns(self, table: str) -> tuple[str, ...]:
        return tuple(row[1] for row in self._rows(f"PRAGMA table_info({quote_name(table)})"))

    def _rows(self, query: str, bindings: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        with _readable_errors():
            yield from self._connection.execute(query, tuple(bindings))


def quote_name(name: str) -> str:
    """A name of a table or column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _decoded(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def _readable_errors() -> Iterator[None]:
    try:
        yield
    except apsw.NotADBError as error:
        raise UnreadableDatabase("it is not a SQLite database, or it is encrypted") from error
    except apsw.CorruptError as error:
        raise UnreadableDatabase("it is damaged from here on; its product may be able to repair it") from error
    except apsw.Error as error:
        raise UnreadableDatabase(f"it cannot be read as a database: {error}") from error


def read_export_tables(
    stream: Stream,
    tables: Mapping[str, str],
    read: Callable[[ForeignDatabase], Iterator[Entry]],
    columns: Mapping[str, str] | None = None,
) -> Iterator[Entry]:
    """What `read` finds in a JSON export, whose arrays, or whose `_type` of record, stand for these tables.

    Other records belong to the table of the empty name. Tables have these `columns` even if no record does.
    """
    try:
        with scratch_database() as connection:
            layout = _TableLayout(connection, columns or {})
            for element in records(stream, tables):
                if isinstance(element, Skipped):
                    yield element
                elif isinstance(element.value, dict):
                    layout.add(_table_of(element, tables), element.value)
                else:
                    yield Skipped(f"record {element.number}", "it is not an object", "item")
            layout.index()
            yield from read(ForeignDatabase(connection))
    except UnreadableDatabase as error:
        yield Skipped("its records", str(error), "file")


def _table_of(element: Element, tables: Mapping[str, str]) -> str:
    if "_meta" in element.value:
        return EXPORT_TABLE
    name = element.within or element.value.get("_type") or ""
    return tables.get(name, EXPORT_TABLE) if isinstance(name, str) else EXPORT_TABLE


class _TableLayout:
    """Tables that get a new column whenever a record has an unknown field."""

    def __init__(self, connection: apsw.Connection, columns: Mapping[str, str]) -> None:
        self._connection, self._expected = connection, columns
        self._columns: dict[str, set[str]] = {}

    def add(self, table: str, record: Mapping[str, Any]) -> None:
        # SQL does not distinguish case.
        names = {_name(field).lower(): _name(field) for field in record if field != "_type"}
        cells = {_name(field).lower(): _cell(value) for field, value in record.items() if field != "_type"}
        known = self._columns.setdefault(table, set())
        if not known:
            expected = self._expected.get(table, "id").split()
            self._connection.execute(f"CREATE TABLE {quote_name(table)} ({', '.join(map(quote_name, expected))})")
            known.update(name.lower() for name in expected)
        for name in cells:
            if name not in known:
                self._connection.execute(f"ALTER TABLE {quote_name(table)} ADD COLUMN {quote_name(names[name])}")
                known.add(name)
        into, marks = ", ".join(map(quote_name, cells)) or quote_name(min(known)), ", ".join("?" * len(cells)) or "NULL"
        self._connection.execute(f"INSERT INTO {quote_name(table)} ({into}) VALUES ({marks})", tuple(cells.values()))

    def index(self) -> None:
        """Index the columns by which rows are looked up."""
        for table, columns in self._columns.items():
            for column in sorted(columns):
                if column.endswith("id") or column in ("source", "target"):
                    name = quote_name(f"{table} {column}")
                    self._connection.execute(f"CREATE INDEX {name} ON {quote_name(table)} ({quote_name(column)})")


def _name(field: str) -> str:
    return UNSTORABLE.sub("\ufffd", field) or "?"


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


# The namespace of identities made here; never change it, or everything would be imported twice.
_NAMESPACE = uuid.UUID("5d1f6a2e-0c55-5e0b-9a3e-6f0c1d7c4a11")
MESSAGES_AT_ONCE = 5_000
"""Messages of one conversation that are read at once."""
REBUILT_HERE = "it is rebuilt here"
BOOKKEEPING = "it is the product's bookkeeping, not memory"
SELF_DESCRIPTION = "what the export says about itself"
MISSING_END = "one of its ends no longer exists"
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
