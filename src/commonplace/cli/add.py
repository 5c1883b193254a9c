"""`add`: remember one thing from the command line or a pipe, or many from a JSONL file, 500 to a transaction."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import click

from commonplace.cli.command import Call, StoppedEarly, command
from commonplace.cli.options import (
    STDIN,
    TYPES,
    field_option,
    parse_fields,
    place_options,
    root_metadata,
    split_names,
    validity_options,
)
from commonplace.cli.terminal import progress, read_stdin, stdin_is_piped
from commonplace.dialects.records import contradiction_record, validity_record
from commonplace.errors import CommonplaceError, InvalidInput, TooLarge
from commonplace.memory.draft import join_fields, make_draft
from commonplace.memory.edit_and_forget import is_read_from_text, with_validity
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.proposed_changes import is_only_proposed
from commonplace.memory.remember import NewItem, Remembered, remember_all, remember_item
from commonplace.model import DETAIL_FIELDS, KINDS, PROPOSED, Kind
from commonplace.text.dates import parse_time
from commonplace.text.paths import check_glob
from commonplace.text.project_names import base_name
from commonplace.text.untrusted_json import MAX_VALUES, check_json
from commonplace.text.validity import NO_BOUND, describe_interval

BATCH = 500
MAX_LINE = 16 << 20
DETAILS = tuple(dict.fromkeys(name for names in DETAIL_FIELDS.values() for name in names))
COMMA_SEPARATED = frozenset({"concepts", "files_read", "files_modified", "relevant_files", "paths"})
FIELD_ALIASES = {"text": "content", "session_id": "session", "created_at": "created_at_epoch"}
KNOWN_FIELDS = (
    *("content", "text", "kind", "type", "title", *DETAILS, "project", "session", "session_id", "tags"),
    *("importance", "created_at", "created_at_epoch", "valid_from", "valid_until", "expires", "metadata"),
)

Line = tuple[int, NewItem]


@command(
    "add",
    'commonplace add "Sessions are kept in Redis for 30 days" -t decision',
    'commonplace add "Never log request bodies" -t rule --global --tag privacy',
    'commonplace add "Validate input with zod" -t rule --path "src/api/**" --category api',
    'commonplace add "The staging database is read-only until the migration is done" --valid-until "31 May"',
    'git log -1 --format=%B | commonplace add - --kind observation -t commit --title "Last commit"',
    "commonplace add --jsonl notes.jsonl -p my-api",
)
@click.argument("text", required=False)
@click.option("-k", "--kind", type=click.Choice(KINDS), default="memory", show_default=True, help="What it is.")
@click.option(
    "-t",
    "--type",
    "type_",
    default="",
    help="decision, rule, fact, note, constraint, rejected, ... (any word).",
    shell_complete=TYPES,
)
@click.option("--title", default="", help="A short title (default: taken from the text).")
@click.option("--subtitle", default="", help="A line below the title.")
@click.option("--narrative", default="", help="What happened, in a sentence or two.")
@click.option("--facts", multiple=True, help="A fact; repeatable.")
@click.option("--concepts", multiple=True, help="Concepts, separated by commas or repeated.")
@click.option("--files-read", multiple=True, help="Files that were read, separated by commas or repeated.")
@click.option("--files-modified", multiple=True, help="Files that were changed, separated by commas or repeated.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="It applies only to these files; repeatable.")
@click.option("--category", default="", help="The rule file or skill folder it goes into.")
@field_option(
    "Any other field of its kind: request, investigated, learned, completed, next_steps, notes (summary);"
    " task, progress, open_questions, relevant_files (checkpoint); role, speaker (message); repeatable."
)
@click.option("--tag", "tags", multiple=True, help="A tag; repeatable.")
@place_options("The project it belongs to (default: that of the current folder).")
@click.option("--session", metavar="KEY", help="The session it is part of.")
@click.option("--importance", type=float, help="From 0 to 10.")
@validity_options
@click.option(
    "--at", metavar="TIME", help="When it happened: 2026-11-01T09:00 (local time), or milliseconds since 1970."
)
@click.option(
    "--jsonl",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="Add each line of FILE, a JSON object (- reads standard input).",
)
def add(
    call: Call,
    text: str | None,
    kind: Kind,
    type_: str,
    title: str,
    tags: Sequence[str],
    project: str | None,
    only_global: bool,
    session: str | None,
    importance: float | None,
    at: str | None,
    valid_from: str | None,
    valid_until: str | None,
    expires: str | None,
    jsonl: str | None,
    **details: Any,
) -> None:
    """Remember something. It can be found as soon as the command returns.

    `-`, or a pipe without TEXT, reads standard input. A project stores the same statement only once. Passwords and keys
    are removed first.

    --jsonl takes one object per line: content (or text), kind, type, title, the fields of its kind, project, session,
    tags, importance, created_at or created_at_epoch, valid_from, valid_until, expires, metadata. Times without an
    offset are UTC. An invalid line stops it; the lines before it are stored.
    """
    project = call.project(project, only_global)
    fields = _detail_fields(**details)
    if jsonl is not None:
        _refuse_with_jsonl(text, title, fields, tags, session, importance, at, valid_from, valid_until, expires)
        add_lines(call, jsonl, kind=kind, type_=type_, project=project)
        return
    new = NewItem(
        content=_content(text, optional=bool(title or fields)),
        kind=kind,
        type=type_,
        title=title,
        details=fields,
        meta=root_metadata(fields),
        project=project,
        session=session,
        tags=tags,
        importance=importance,
        created_ms=None if at is None else parse_time(at, local=True),
    )
    with call.local_memory() as memory:
        done = remember_item(memory, with_validity(new, memory.clock(), valid_from, valid_until, expires))
    call.answer(_reply(done), _sentence(done))
    for one in done.contradictions:
        pair = f"{one.item.id} {done.item.id}"
        call.note(
            f"This seems to contradict {one.item.id}: {one.item.title}\n"
            + ("Both are by the same author.\n" if one.supersede else "")
            + f"If it replaces {one.item.id}: commonplace supersede {one.item.id} --by {done.item.id}\n"
            f"If both are true: commonplace contradictions {pair} --keep both"
        )
    if done.twins and not done.duplicate:
        call.note(f"This says the same as {', '.join(str(twin.id) for twin in done.twins)}")


def _detail_fields(
    *, paths: Sequence[str], facts: Sequence[str], fields: Sequence[str], **others: Any
) -> dict[str, str]:
    """The fields of the item that have options of their own, and those given with --field."""
    named = {name: value if isinstance(value, str) else split_names(value) for name, value in others.items()}
    given = join_fields({**named, "facts": facts, "paths": [*map(check_glob, paths)]}) | parse_fields(fields)
    return {name: value for name, value in given.items() if value}


def _content(text: str | None, *, optional: bool) -> str:
    """The given or piped text. A pipe is read without `-` only if nothing else was given: it may never end."""
    if text is None and not optional and stdin_is_piped():
        text = STDIN
    content = read_stdin() if text == STDIN else text or ""
    if not (optional or content.strip()):
        raise InvalidInput("There is nothing to remember.", 'Give a text: commonplace add "We use PostgreSQL 16".')
    return content


def _refuse_with_jsonl(*given: object) -> None:
    if any(given):
        raise click.UsageError(
            "With --jsonl only --kind, --type, --project and --global are used; each line has its own fields.",
            click.get_current_context(),
        )


def _reply(done: Remembered) -> dict[str, Any]:
    item = done.item
    return {
        "id": item.id,
        "uid": item.uid,
        "short_id": item.short_id,
        "duplicate": done.duplicate,
        "project": item.project,
        "kind": item.kind,
        "type": item.type,
        **validity_record(item),
        "contradicts": [contradiction_record(one) for one in done.contradictions],
    }


def _sentence(done: Remembered) -> str:
    item = done.item
    place = f"in {base_name(item.project)}" if item.project else "for every project"
    if is_only_proposed(item):
        return f"It was taken back before; proposed as {item.id} to bring it back. A person decides: commonplace review"
    proposed = item.review == PROPOSED
    verb = "Already known:" if done.duplicate else "Proposed" if proposed else "Remembered"
    interval = describe_interval(item.valid_from_ms, item.valid_until_ms)
    read = " (read from the text)" if is_read_from_text(item) else ""
    holds = f"; valid {interval}{read}" if interval else ""
    waits = "; it waits for a person: commonplace review" if proposed and not done.duplicate else ""
    return f"{verb} {item.kind} {item.id} ({item.short_id}) {place}{holds}{waits}"


class BatchWriter:
    """Writes lines in batches, and counts what became of them."""

    def __init__(self, memory: LocalMemory) -> None:
        self.memory = memory
        self.waiting: list[Line] = []
        self.stored = self.duplicates = self.last_line = 0

    def add(self, number: int, new: NewItem) -> None:
        self.waiting.append((number, new))
        if len(self.waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write the waiting lines. If one is invalid, write those before it and say which one."""
        if not self.waiting:
            return
        try:
            results = remember_all(self.memory, [new for _number, new in self.waiting])
        except (InvalidInput, TooLarge):
            self._stop_at_first_invalid()
        except CommonplaceError as error:
            raise type(error)(f"{error.message} {self.so_far(self.waiting[0][0])}", error.hint) from error
        self.stored += sum(not result.duplicate for result in results)
        self.duplicates += sum(result.duplicate for result in results)
        self.last_line = self.waiting[-1][0]
        self.waiting = []

    def stop(self, number: int, error: CommonplaceError) -> NoReturn:
        """Store the lines before an invalid one, and say where to continue."""
        self.flush()
        done = {"line": number, "stored": self.stored, "duplicates": self.duplicates}
        raise StoppedEarly(f"Line {number}: {error.message} {self.so_far(number)}", error.hint, done) from error

    def _stop_at_first_invalid(self) -> NoReturn:
        now = self.memory.clock()
        for at, (number, new) in enumerate(self.waiting):
            try:
                make_draft(new, now)
            except (InvalidInput, TooLarge) as error:
                self.waiting = self.waiting[:at]
                self.stop(number, error)
        raise AssertionError("a batch was refused, but none of its lines")

    def so_far(self, number: int) -> str:
        before = f"Lines 1 to {self.last_line} are stored" if self.last_line else "No line is stored"
        return f"{before}; from line {number} on nothing is."


def add_lines(call: Call, source: str, *, kind: Kind, type_: str, project: str | None) -> None:
    """Remember every line of a file or of stdin. Kind, type and project are defaults for lines without their own."""
    with _opened(source) as (stream, size), call.local_memory() as memory, progress("Remembering", size) as advance:
        writer = BatchWriter(memory)
        try:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), 1):
                if raw.strip():
                    try:
                        if len(raw) > MAX_LINE:
                            raise TooLarge(f"It is longer than {MAX_LINE:,} bytes.", "Split it.")
                        new = parse_line(raw, kind=kind, type_=type_, project=project)
                    except (InvalidInput, TooLarge) as error:
                        writer.stop(number, error)
                    writer.add(number, new)
                advance(len(raw))
            writer.flush()
        except KeyboardInterrupt:
            call.note(f"Interrupted. {writer.so_far(writer.last_line + 1)}")
            raise
    lines = writer.stored + writer.duplicates
    known = f", {writer.duplicates:,} already known" if writer.duplicates else ""
    call.answer(
        {"stored": writer.stored, "duplicates": writer.duplicates, "lines": lines},
        f"Remembered {writer.stored:,} of {lines:,} lines{known}.",
    )


def parse_line(raw: bytes, *, kind: Kind, type_: str, project: str | None) -> NewItem:
    """One line as a new item. `"project": null` means every project; no project at all means the given one."""
    data = _object(raw)
    unknown = sorted(set(data) - set(KNOWN_FIELDS))
    if unknown:
        raise InvalidInput(f"Unknown fields: {', '.join(unknown)[:200]}.", f"Known fields: {', '.join(KNOWN_FIELDS)}.")
    values = {name: value for name, value in data.items() if value is not None}
    for name, other in FIELD_ALIASES.items():
        if name != "created_at" and name in values and other in values:
            raise InvalidInput(f"{name} and {other} are the same field.", "Give one of them.")
    details = {name: _detail(name, values[name]) for name in DETAILS if name in values}
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidInput("metadata must be an object.")
    chosen = _text(values, "kind", kind)
    if chosen not in KINDS:
        raise InvalidInput(f"{chosen[:60]!r} is not a kind of item.", f"Choose one of {', '.join(KINDS)}.")
    new = NewItem(
        content=_text(values, "content", _text(values, "text", "")),
        kind=chosen,
        type=_text(values, "type", type_),
        title=_text(values, "title", ""),
        details=details,
        # A line that names its own project may be about files elsewhere.
        meta=metadata if "project" in data else root_metadata(details) | metadata,
        project=_text(values, "project", "") or None if "project" in data else project,
        session=_text(values, "session", _text(values, "session_id", "")) or None,
        tags=_tags(values.get("tags", [])),
        importance=_number(values.get("importance")),
        created_ms=_created(values),
    )
    # Times without an offset are UTC in a line, as its other times are.
    bounds = {name: _bound(values[name]) for name in ("valid_from", "valid_until", "expires") if name in values}
    return with_validity(new, 0, **bounds)


def _bound(value: object) -> int | str:
    if isinstance(value, str):
        return value if value == NO_BOUND else parse_time(value, local=False)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput("valid_from, valid_until and expires must be ISO 8601 times, or milliseconds since 1970.")
    return value


def _object(raw: bytes) -> dict[str, Any]:
    check_json(raw, MAX_VALUES, "It")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput("It is not UTF-8 text.", "Save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {str(error)[:200]}.", "Write one JSON object per line.") from error
    if not isinstance(data, dict):
        raise InvalidInput("It is not a JSON object.", 'Write lines like {"content": "We use PostgreSQL 16"}.')
    return data


def _text(values: dict[str, Any], name: str, default: str) -> str:
    value = values.get(name, default)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text.")
    return value


def _detail(name: str, value: object) -> str:
    if isinstance(value, str):
        return ", ".join(split_names([value])) if name in COMMA_SEPARATED else value
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return join_fields({name: value})[name]
    raise InvalidInput(f"{name} must be text or a list of texts.")


def _tags(value: object) -> list[str]:
    if isinstance(value, str):
        return [tag.strip() for tag in value.split(",") if tag.strip()]
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return value
    raise InvalidInput("tags must be a list of texts.")


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput("importance must be a number.", "Give 0 to 10.")
    return float(value)


def _created(values: dict[str, Any]) -> int | None:
    value = values.get("created_at_epoch", values.get("created_at"))
    if value is None:
        return None
    if isinstance(value, str):
        return parse_time(value, local=False)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput("created_at must be an ISO 8601 time, created_at_epoch milliseconds since 1970.")
    return int(value)


@contextlib.contextmanager
def _opened(source: str) -> Iterator[tuple[IO[bytes], int | None]]:
    if source == STDIN:
        yield sys.stdin.buffer, None
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 (closed below, outside of what may be refused here)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"The file {source} cannot be read: {why}.", "Name a file, or - for stdin.") from error
    with stream:
        yield stream, Path(source).stat().st_size
