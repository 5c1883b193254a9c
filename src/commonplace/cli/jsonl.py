"""`add --jsonl`: many things at once, one JSON object per line, 500 to a transaction."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

from commonplace.cli.call import Call
from commonplace.cli.failure import Stopped
from commonplace.cli.fields import listed, root_of
from commonplace.cli.tables import progress
from commonplace.errors import CommonplaceError, InvalidInput, TooLarge
from commonplace.input_limits import MAX_VALUES, check_json
from commonplace.memory.book import Book
from commonplace.memory.remember import Note, draft_of, remember_all
from commonplace.model import DETAIL_FIELDS, KINDS, Kind
from commonplace.text.times import moment

BATCH = 500
MAX_LINE = 16 << 20
DETAILS = tuple(dict.fromkeys(name for names in DETAIL_FIELDS.values() for name in names))
LISTS = frozenset({"concepts", "files_read", "files_modified", "relevant_files", "paths"})
SAME = {"text": "content", "session_id": "session", "created_at": "created_at_epoch"}
KNOWN = (
    *("content", "text", "kind", "type", "title", *DETAILS, "project", "session", "session_id", "tags"),
    *("importance", "created_at", "created_at_epoch", "metadata"),
)

Line = tuple[int, Note]


class Bulk:
    """Lines on their way into the store, and what has become of those before them."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.waiting: list[Line] = []
        self.stored = self.duplicates = self.last_line = 0

    def add(self, number: int, note: Note) -> None:
        self.waiting.append((number, note))
        if len(self.waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits. If one of it is wrong, write those before it and say which one."""
        if not self.waiting:
            return
        try:
            results = remember_all(self.book, [note for _number, note in self.waiting])
        except (InvalidInput, TooLarge):
            self._stop_at_first_bad()
        except CommonplaceError as error:
            raise type(error)(f"{error.message} {self.so_far(self.waiting[0][0])}", error.hint) from error
        self.stored += sum(not result.duplicate for result in results)
        self.duplicates += sum(result.duplicate for result in results)
        self.last_line = self.waiting[-1][0]
        self.waiting = []

    def stop(self, number: int, error: CommonplaceError) -> NoReturn:
        """Keep the good lines before a bad one, and tell where to go on."""
        self.flush()
        done = {"line": number, "stored": self.stored, "duplicates": self.duplicates}
        raise Stopped(f"Line {number}: {error.message} {self.so_far(number)}", error.hint, done) from error

    def _stop_at_first_bad(self) -> NoReturn:
        now = self.book.clock()
        for at, (number, note) in enumerate(self.waiting):
            try:
                draft_of(note, now)
            except (InvalidInput, TooLarge) as error:
                self.waiting = self.waiting[:at]
                self.stop(number, error)
        raise AssertionError("a batch was refused, but none of its lines")

    def so_far(self, number: int) -> str:
        before = f"Lines 1 to {self.last_line} are stored" if self.last_line else "No line is stored"
        return f"{before}; from line {number} on nothing is."


def add_lines(call: Call, source: str, *, kind: Kind, type_: str, project: str | None) -> None:
    """Remember every line of a file or of stdin. Kind, type and project are for lines that do not name theirs."""
    with _opened(source) as (stream, size), call.book() as book, progress("Remembering", size) as advance:
        bulk = Bulk(book)
        try:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE + 1), b""), 1):
                if raw.strip():
                    try:
                        if len(raw) > MAX_LINE:
                            raise TooLarge(f"It is longer than {MAX_LINE:,} bytes.", "Split it.")
                        note = note_of(raw, kind=kind, type_=type_, project=project)
                    except (InvalidInput, TooLarge) as error:
                        bulk.stop(number, error)
                    bulk.add(number, note)
                advance(len(raw))
            bulk.flush()
        except KeyboardInterrupt:
            call.note(f"Interrupted. {bulk.so_far(bulk.last_line + 1)}")
            raise
    if call.json:
        call.reply({"stored": bulk.stored, "duplicates": bulk.duplicates, "lines": bulk.stored + bulk.duplicates})
    else:
        known = f", {bulk.duplicates:,} already known" if bulk.duplicates else ""
        call.say(f"Remembered {bulk.stored:,} of {bulk.stored + bulk.duplicates:,} lines{known}.")


def note_of(raw: bytes, *, kind: Kind, type_: str, project: str | None) -> Note:
    """One line as a note. `"project": null` means everywhere; no project at all means the given one."""
    data = _object(raw)
    unknown = sorted(set(data) - set(KNOWN))
    if unknown:
        raise InvalidInput(f"Unknown fields: {', '.join(unknown)[:200]}.", f"Known fields: {', '.join(KNOWN)}.")
    values = {name: value for name, value in data.items() if value is not None}
    for name, other in SAME.items():
        if name != "created_at" and name in values and other in values:
            raise InvalidInput(f"{name} and {other} are the same field.", "Give one of them.")
    details = {name: _words(name, values[name]) for name in DETAILS if name in values}
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InvalidInput("metadata must be an object.")
    chosen = _text(values, "kind", kind)
    if chosen not in KINDS:
        raise InvalidInput(f"{chosen[:60]!r} is not a kind of item.", f"Choose one of {', '.join(KINDS)}.")
    return Note(
        content=_text(values, "content", _text(values, "text", "")),
        kind=chosen,
        type=_text(values, "type", type_),
        title=_text(values, "title", ""),
        details=details,
        # A line that names its own project may speak of files elsewhere.
        meta=metadata if "project" in data else root_of(details) | metadata,
        project=_text(values, "project", "") or None if "project" in data else project,
        session=_text(values, "session", _text(values, "session_id", "")) or None,
        tags=_tags(values.get("tags", [])),
        importance=_number(values.get("importance")),
        created_ms=_created(values),
    )


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


def _words(name: str, value: object) -> str:
    if isinstance(value, str):
        return listed([value]) if name in LISTS else value
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        # A glob may hold a comma.
        return ("\n" if name == "paths" else ", ").join(value)
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
        return moment(value, local=False)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput("created_at must be an ISO 8601 time, created_at_epoch milliseconds since 1970.")
    return int(value)


@contextlib.contextmanager
def _opened(source: str) -> Iterator[tuple[IO[bytes], int | None]]:
    if source == "-":
        yield sys.stdin.buffer, None
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 (closed below, outside of what may be refused here)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"The file {source} cannot be read: {why}.", "Name a file, or - for stdin.") from error
    with stream:
        yield stream, Path(source).stat().st_size
