"""`store`: keep a conversation, from JSON or from a text with speakers."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from commonplace.capture.foreign import Skipped
from commonplace.capture.formats import FORMATS, detect
from commonplace.capture.long_messages import fitting
from commonplace.capture.speakers import MAX_BYTES
from commonplace.cli.call import Call, command
from commonplace.cli.terminal import stdin_is_piped
from commonplace.dialects.records import conversation_record
from commonplace.dialects.sekha_records import said
from commonplace.errors import InvalidInput, TooLarge
from commonplace.input_limits import check_json, values_for
from commonplace.memory.conversations import STATUSES, Conversation, Kept, Said, keep
from commonplace.text.folders import ROOT

STDIN = "-"
# How JSON begins; a text may begin with a bracket too.
_JSON = re.compile(r'\s*(?:\[\s*[{\]]|\{\s*["}])')
_SHAPE = 'Write [{"role": "user", "content": "..."}, ...], or an object with such messages.'


@command(
    "store",
    'commonplace store "Colours" chats/colours.txt --folder /desk/design',
    'commonplace store "Colours" chats/colours.txt --importance 8 --project my-api',
    'echo \'[{"role": "user", "content": "Hello"}]\' | commonplace store "Greetings" - --json',
)
@click.argument("label")
@click.argument("file", required=False)
@click.option("--folder", default=ROOT, show_default=True, help="Where to keep it, such as /desk/design.")
@click.option("--importance", type=float, help="0 to 10; 5 if omitted, 10 pins it.")
@click.option("--status", type=click.Choice(STATUSES), help="How it stands; active if omitted.")
@click.option("--project", help="The project it belongs to; none if omitted.")
def store(
    call: Call,
    label: str,
    file: str | None,
    folder: str,
    importance: float | None,
    status: str | None,
    project: str | None,
) -> None:
    """Keep a conversation under the title LABEL. The same one again is found instead of repeated.

    FILE (`-` or a pipe for stdin) is JSON: a list of messages with role, content and perhaps timestamp and metadata,
    or an object with such `messages`; or it is a text or Markdown with speakers, such as `User: ...` and `AI: ...`.
    """
    messages = _messages(_data(file), STDIN if file is None else file)
    conversation = Conversation(label, messages, folder, importance=importance, status=status, project=project or None)
    with call.book() as book:
        kept = keep(book, fitting(conversation))
    if call.json:
        call.reply(conversation_record(kept.session) | {"duplicate": kept.duplicate})
        return
    call.say(_sentence(kept))
    if len(messages) == 1 and not kept.duplicate:
        call.note("It is one message. Several begin with their speakers: `User: ...` and `Assistant: ...`.")


def _data(file: str | None) -> bytes:
    """The file, or what is piped in."""
    if file is None and not stdin_is_piped():
        raise InvalidInput("There is nothing to keep.", "Name a file, or pipe the conversation in.")
    if file in (None, STDIN):
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        try:
            with Path(str(file)).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InvalidInput(f"{file} could not be read: {why}.", "Name a file, or - for stdin.") from error
    if len(data) > MAX_BYTES:
        raise TooLarge(f"It has more than {MAX_BYTES:,} bytes.", "Keep it in parts.")
    return data


def _messages(data: bytes, name: str) -> Sequence[Said]:
    text = data.decode("utf-8-sig", "replace")
    if name.lower().endswith(".json") or _JSON.match(text):
        return _from_json(data)
    format_ = detect(data, name) if not name.lower().endswith(".jsonl") else None
    if format_ not in ("markdown", "text"):
        raise InvalidInput(f"{name} is neither a conversation as JSON nor a text.", _SHAPE)
    found = next(iter(FORMATS[format_].read(io.BytesIO(data), name)))
    if not isinstance(found, Conversation):
        why = found.why if isinstance(found, Skipped) else "it is no conversation"
        raise InvalidInput(f"{name}: {why}.", _SHAPE)
    return [Said(one.role, one.content, one.at_ms) for one in found.messages]


def _from_json(data: bytes) -> Sequence[Said]:
    check_json(data, values_for(len(data)), "It")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not JSON: {error}.", _SHAPE) from error
    if isinstance(value, dict) and isinstance(value.get("conversations"), list):
        raise InvalidInput("It holds several conversations.", "`commonplace import FILE` takes them all over.")
    entries = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput("It holds no list of messages.", _SHAPE)
    # A message of an export has the id it has there; here it becomes another.
    return [said({k: v for k, v in entry.items() if k != "id"}, number) for number, entry in enumerate(entries)]


def _sentence(kept: Kept) -> str:
    session = kept.session
    begin = "Already known:" if kept.duplicate else "Stored"
    counts = f"{session.messages:,} message{'' if session.messages == 1 else 's'}, {session.words:,} words"
    return f"{begin} conversation {session.short_id} in {session.folder}: {session.label} ({counts})"
