"""`conversations add`: store one conversation from a file or a pipe."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from commonplace.cli.command import Call, command
from commonplace.cli.options import STDIN, project_option
from commonplace.cli.terminal import stdin_is_piped
from commonplace.dialects.records import conversation_record
from commonplace.dialects.sekha_records import parse_message
from commonplace.errors import InvalidInput, TooLarge
from commonplace.input_limits import check_json, values_for
from commonplace.memory.conversations import (
    STATUSES,
    NewConversation,
    NewMessage,
    StoredConversation,
    store_conversation,
)
from commonplace.text.paths import ROOT_FOLDER

# How JSON begins; a text may begin with a bracket too.
_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
_SHAPE = 'Write [{"role": "user", "content": "..."}, ...], or an object with such messages.'


@command(
    "add",
    'commonplace conversations add "Brand colours" chats/colours.txt --folder /design',
    'commonplace conversations add "Brand colours" chats/colours.txt --importance 8 -p my-api',
    'echo \'[{"role": "user", "content": "Which cache?"}]\' | commonplace conversations add "Cache" -',
)
@click.argument("label")
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option("--folder", default=ROOT_FOLDER, show_default=True, help="Its folder, such as /design/web.")
@click.option("--importance", type=float, help="From 0 to 10 (default: 5); 10 pins it.")
@click.option("--status", type=click.Choice(STATUSES), help="Its status (default: active).")
@project_option("The project it belongs to (default: none).")
def add_conversation(
    call: Call,
    label: str,
    file: str | None,
    folder: str,
    importance: float | None,
    status: str | None,
    project: str | None,
) -> None:
    """Store a conversation under the title LABEL. The same one is stored only once.

    FILE (`-` or a pipe: standard input) is text with speakers, such as `User: ...` and `AI: ...`; or JSON: a list of
    messages with role, content and perhaps timestamp and metadata, or an object with such `messages`.
    """
    from commonplace.capture.import_files import split_long_messages

    messages = _messages(_read_input(file), STDIN if file is None else file)
    conversation = NewConversation(
        label, messages, folder, importance=importance, status=status, project=project or None
    )
    with call.local_memory() as memory:
        stored = store_conversation(memory, split_long_messages(conversation))
    call.answer(conversation_record(stored.session) | {"duplicate": stored.duplicate}, _describe_stored(stored))
    if len(messages) == 1 and not stored.duplicate:
        call.note(
            "It was stored as one message. To store several, begin each with its speaker: `User: ...`, `AI: ...`."
        )


def _read_input(file: str | None) -> bytes:
    """The file, or standard input."""
    from commonplace.capture.importers.text_files import MAX_TEXT_BYTES

    if file is None and not stdin_is_piped():
        raise InvalidInput("There is nothing to store.", "Name a file, or pipe the conversation in.")
    if file in (None, STDIN):
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    else:
        try:
            with Path(str(file)).open("rb") as stream:
                data = stream.read(MAX_TEXT_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{file} could not be read: {why}.", "Name a file, or - for stdin.") from error
    if len(data) > MAX_TEXT_BYTES:
        raise TooLarge(f"It has more than {MAX_TEXT_BYTES:,} bytes.", "Store it in parts.")
    return data


def _messages(data: bytes, name: str) -> Sequence[NewMessage]:
    from commonplace.capture.import_report import Skipped
    from commonplace.capture.importers.formats import FORMATS, detect_format

    text = data.decode("utf-8-sig", "replace")
    if name.lower().endswith(".json") or _JSON.match(text):
        return _from_json(data)
    format_ = detect_format(data, name) if not name.lower().endswith(".jsonl") else None
    if format_ not in ("markdown", "text"):
        raise InvalidInput(f"{name} is neither a conversation in JSON nor text.", _SHAPE)
    found = next(iter(FORMATS[format_].read(io.BytesIO(data), name)))
    if not isinstance(found, NewConversation):
        why = found.why if isinstance(found, Skipped) else "it is not a conversation"
        raise InvalidInput(f"{name}: {why}.", _SHAPE)
    return [NewMessage(one.role, one.content, one.at_ms) for one in found.messages]


def _from_json(data: bytes) -> Sequence[NewMessage]:
    check_json(data, values_for(len(data)), "It")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {error}.", _SHAPE) from error
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        raise InvalidInput("It contains several conversations.", "`commonplace import FILE` imports all of them.")
    entries = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput("It contains no list of messages.", _SHAPE)
    # A message in an export has an id of its own there; here it gets a new one.
    return [
        parse_message({k: v for k, v in entry.items() if k != "id"}, number) for number, entry in enumerate(entries)
    ]


def _describe_stored(stored: StoredConversation) -> str:
    session = stored.session
    begin = "Already known:" if stored.duplicate else "Stored"
    counts = f"{session.messages:,} message{'' if session.messages == 1 else 's'}, {session.words:,} words"
    return f"{begin} conversation {session.short_id} in {session.folder}: {session.label} ({counts})"
